"""``workbench doctor``: what was found on this machine, what is missing, and what to do about it.

Each finding is one line with a mark: ✓ found, · not there and not needed for the rest to work, ✗ broken. Only
the last makes the exit code 1.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any, Literal

from jupyter_core.paths import jupyter_path
from jupyterlab_server.config import get_federated_extensions, get_page_config

from workbench.kernels import info as kernel_info
from workbench.kernels import kept_choices
from workbench.kernels.matmul import measured_products
from workbench.lab.browser import browser_version, find_browser
from workbench.lab.extension import EXTENSION, widget_bundles

__all__ = ["Finding", "examine", "healthy", "report"]

State = Literal["found", "absent", "broken"]

_MARKS: dict[State, str] = {"found": "✓", "absent": "·", "broken": "✗"}
_COLOURS: dict[State, str] = {"found": "\x1b[34m", "absent": "\x1b[2m", "broken": "\x1b[33m"}
_RESET = "\x1b[0m"

_REQUIRED = (
    "numpy",
    "jupyterlab",
    "ipykernel",
    "ipywidgets",
    "anywidget",
    "matplotlib",
    "tensorboardX",
    "safetensors",
)
_OPTIONAL = {
    "torch": "the peer of `make bench` and `make peers`",
    "captum": "a peer of `make peers`",
    "scipy": "numbers of the tests are compared with it",
    "tensorboard": "shows the logs that training writes",
}


@dataclass(frozen=True)
class Finding:
    """One line of the report: which part, what was found, and whether that is well."""

    part: str
    subject: str
    state: State
    text: str


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


# Kernels and processor


def read_record(path: Path) -> dict[str, Any]:
    """What the build wrote about the kernels; an empty record if there is none or it cannot be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def kernels(record: Mapping[str, Any], info: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether compiled kernels run, and otherwise in one line why NumPy does.

    `record` is what the build wrote, `info` what `workbench.kernels.info` says of this process.
    """
    if not info["available"]:
        wanted = os.environ.get("WORKBENCH_KERNELS", "").strip().lower() != "off"
        # The build's reason explains a missing module; a module that is there but does not load is a defect.
        reason = record.get("reason") or info["reason"]
        state: State = "broken" if record.get("built") and wanted else "absent"
        yield Finding("kernels", "compiled", state, f"NumPy runs in their place: {reason}")
        return
    compiler = record.get("compiler") or info["compiler"]
    yield Finding("kernels", "compiled", "found", f"{len(info['ops'])} ops, built with {compiler}")
    yield Finding("kernels", "oneDNN", "found", f"{info['onednn']}, using {info['isa']}")
    by = str(info["bfloat16_products"])
    slow = "float32: the processor has no instructions for them, or may not use them"
    yield Finding("kernels", "bfloat16 products", *(("absent", slow) if by == "float32" else ("found", by)))


def products(chosen: Mapping[str, str]) -> Iterator[Finding]:
    """How products of matrices are computed here, by size: what was measured to be the fastest."""
    ways = sorted(set(chosen.values()))
    for way in ways:
        sizes = "; ".join(size for size, one in chosen.items() if one == way)
        yield Finding("kernels", f"products by {way}", "found", sizes)


def kept_products(path: Path | None, count: int, trouble: str) -> Iterator[Finding]:
    """Where the choices between products are kept for later processes, or why they are not."""
    subject = "products kept"
    if path is None:
        text = f"nowhere ({kept_choices.SETTING}=off, or no home folder): every process measures anew"
        yield Finding("kernels", subject, "absent", text)
    elif trouble:
        text = f"not: {trouble}; every process measures anew until the file can be read and written, or is removed"
        yield Finding("kernels", subject, "absent", text)
    else:
        yield Finding(
            "kernels",
            subject,
            "found",
            f"{count} of this machine, in {path}; without it, all are measured anew",
        )


def threads(info: Mapping[str, Any]) -> Iterator[Finding]:
    """How many threads kernels and NumPy's matrix products use, of how many cores."""
    # Not all that the machine has: a container may use fewer.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("kernels", "threads", "found", f"{info['threads']}, on {usable} of {os.cpu_count()} cores")
    blas = info["blas"]
    text = blas or "not recognised: its threads are not governed by wb.set_num_threads"
    yield Finding("kernels", "BLAS", "found" if blas else "absent", text)


def processor(info: Path = Path("/proc/cpuinfo")) -> Iterator[Finding]:
    """The processor and those of its features that kernels choose by."""
    wanted = (
        "avx2",
        "fma",
        "avx512f",
        "avx512_vnni",
        "avx_vnni",
        "avx512_bf16",
        "amx_bf16",
        "amx_int8",
        "asimd",
        "sve",
    )
    model = platform.processor() or platform.machine()
    flags: set[str] = set()
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            elif key.strip().lower() in ("flags", "features"):
                flags = set(value.split())
                # The first core speaks for all.
                break
    features = " ".join(flag for flag in wanted if flag in flags)
    yield Finding("processor", "model", "found", model)
    yield Finding(
        "processor", "features", "found" if features else "absent", features or "unknown on this system"
    )


# Front end


def _disabled(page: dict[str, Any]) -> list[str]:
    """Entries of JupyterLab's page config that switch off the extension or one of its plugins."""
    entries = page.get("disabledExtensions", {})
    # JupyterLab has written it as a dict, and before that as a list.
    names = [name for name, off in entries.items() if off] if isinstance(entries, dict) else list(entries)
    return [name for name in names if name == EXTENSION or name.startswith(f"{EXTENSION}:")]


def panels(folders: list[str], settings: str) -> Iterator[Finding]:
    """Whether JupyterLab finds the extension in `folders`, whole and enabled."""
    found = get_federated_extensions(folders).get(EXTENSION)
    if found is None:
        text = f"{EXTENSION} is not installed: `pip install tensor-workbench`, or `make install` in a clone"
        yield Finding("front end", "panels", "broken", text)
        return
    entry = found["jupyterlab"].get("_build", {}).get("load", "")
    if not entry or not (Path(found["ext_path"]) / entry).is_file():
        yield Finding(
            "front end",
            "panels",
            "broken",
            f"the bundle in {found['ext_path']} is incomplete: build it again",
        )
        return
    off = _disabled(get_page_config(folders, settings))
    if off:
        text = f"{', '.join(off)} disabled: `jupyter labextension enable {off[0]}`"
        yield Finding("front end", "panels", "broken", text)
        return
    yield Finding(
        "front end", "panels", "found", f"{EXTENSION} {found['version']}, enabled, in {found['ext_dir']}"
    )


def widgets() -> Iterator[Finding]:
    """Whether the anywidget bundles were built."""
    bundles = widget_bundles()
    if bundles:
        yield Finding("front end", "widgets", "found", ", ".join(bundles))
    else:
        yield Finding(
            "front end",
            "widgets",
            "broken",
            "no bundle was built: install again, or `make install` in a clone",
        )


def browser() -> Iterator[Finding]:
    """The Chromium that the browser tests would drive."""
    try:
        path = find_browser()
    except FileNotFoundError as error:
        yield Finding("front end", "browser", "broken", str(error))
        return
    if path is None:
        yield Finding(
            "front end", "browser", "absent", "no Chromium; only the tests need one, and `make test` gets it"
        )
        return
    version = browser_version(path)
    if version is None:
        yield Finding("front end", "browser", "broken", f"{path} does not start; only the tests need it")
    else:
        yield Finding("front end", "browser", "found", f"{version} at {path}")


# Versions


def versions() -> Iterator[Finding]:
    """This package, Python and what it stands on."""
    own = _version("tensor-workbench")
    where = Path(__file__).resolve().parent.parent
    yield Finding(
        "versions", "workbench", "found" if own else "absent", f"{own or 'not installed'}, from {where}"
    )
    yield Finding("versions", "python", "found", f"{platform.python_version()} at {sys.executable}")
    for name in _REQUIRED:
        version = _version(name)
        yield Finding(
            "versions", name, "found" if version else "broken", version or f"missing: `pip install {name}`"
        )


def optional() -> Iterator[Finding]:
    """Parts that are used where they are installed and missed by nothing else."""
    for name, use in _OPTIONAL.items():
        # Looked for and not imported, which would take seconds.
        present = util.find_spec(name) is not None
        version = _version(name) or "found" if present else "not installed"
        yield Finding("optional", name, "found" if present else "absent", f"{version}; {use}")


# The report


def examine() -> list[Finding]:
    """Look at everything, in the order of the report."""
    info = kernel_info()
    record = read_record(Path(__file__).resolve().parent.parent / "_build.json")
    settings = str(Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings")
    return [
        *versions(),
        *kernels(record, info),
        *threads(info),
        *products(measured_products()),
        *kept_products(kept_choices.where(), len(kept_choices.kept()), kept_choices.trouble()),
        *processor(),
        *panels(jupyter_path("labextensions"), settings),
        *widgets(),
        *browser(),
        *optional(),
    ]


def healthy(findings: Iterable[Finding]) -> bool:
    """Whether nothing is broken; what is merely absent does not count."""
    return all(finding.state != "broken" for finding in findings)


def report(findings: Iterable[Finding], *, colour: bool) -> str:
    """The findings as a table with one line each, and a last line that sums them up.

    >>> print(report([Finding("kernels", "compiled", "absent", "NumPy's kernels run")], colour=False), end="")
    kernels    compiled     · NumPy's kernels run
    <BLANKLINE>
    healthy: nothing is broken, 1 optional part is absent
    """
    shown = list(findings)
    lines = []
    part = None
    for finding in shown:
        mark = _MARKS[finding.state]
        if colour:
            mark = f"{_COLOURS[finding.state]}{mark}{_RESET}"
        head = finding.part if finding.part != part else ""
        # One finding is one line, whatever a compiler or a file name put into it.
        text = " ".join(finding.text.split())
        lines.append(f"{head:<10} {finding.subject:<12} {mark} {text}")
        part = finding.part
    broken = [finding.subject for finding in shown if finding.state == "broken"]
    absent = sum(finding.state == "absent" for finding in shown)
    parts = "1 optional part is absent" if absent == 1 else f"{absent} optional parts are absent"
    if broken:
        lines += ["", f"not healthy: {', '.join(broken)}"]
    else:
        lines += ["", f"healthy: nothing is broken, {parts}"]
    return "\n".join(lines) + "\n"
