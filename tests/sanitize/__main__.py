"""``python -m tests.sanitize [address|thread] [pytest's arguments …]``: run kernels under GCC's sanitizers.

Builds the kernels once more for each sanitizer, beside the usual ones, and runs the judges of kernels on them. Linux
and GCC; minutes. CONTRIBUTING.md says what each of the two can see.
"""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent

LIBRARY = {"address": "libasan.so", "thread": "libtsan.so"}
OPTIONS = {
    # Python and NumPy keep memory to the end on purpose. A segmentation fault is reported by the sanitizer itself.
    "address": {
        "ASAN_OPTIONS": "detect_leaks=0:handle_segv=1:abort_on_error=0:alloc_dealloc_mismatch=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    },
    # A child that was forked beside threads has none; ThreadSanitizer would end it for asking.
    "thread": {
        "TSAN_OPTIONS": f"suppressions={HERE / 'thread.supp'}:die_after_fork=0:report_signal_unsafe=0"
    },
}
TESTS = {
    # test_memory asks that the pool hands memory on, which it does not here, nor does the sanitizer, which keeps what
    # was freed. GCC 12's AddressSanitizer holds no lock of its own while a process forks: a child that is made while
    # other threads allocate hangs in `malloc`, with any program. Forks are run under the other sanitizer.
    "address": [
        "tests/kernels", "tests/core/test_eager.py", "tests/core/test_eager_refusals.py",
        "tests/core/test_direct_writes.py", "tests/core/test_eager_views.py", "tests/core/test_eager_halves.py",
        "tests/core/test_replaced_memory.py",
        "tests/tensor/test_compiled_factories.py", "tests/compiler", "--ignore=tests/kernels/test_memory.py",
        "--deselect=tests/kernels/test_convolution.py::test_nothing_is_kept_between_calls",
        "--deselect=tests/kernels/test_concurrent.py::test_a_child_may_be_forked_while_kernels_run",
        "--deselect=tests/kernels/test_concurrent.py::test_a_forked_child_is_refused_threads_that_would_never_answer",
    ],
    "thread": [
        "tests/kernels/test_concurrent.py", "tests/kernels/test_crews.py", "tests/kernels/test_threads.py",
        "tests/compiler/test_models.py",
    ],
}  # fmt: skip

# Loaded by every Python of the run, children included, before anything asks for the kernels.
_FINDER = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "workbench._kernels":
            return importlib.util.spec_from_file_location(name, {module!r})
sys.meta_path.insert(0, Finder)
"""


def build(kind: str) -> pathlib.Path:
    """Build the kernels for a sanitizer and return the folder that makes Python load them."""
    subprocess.run(
        [sys.executable, str(ROOT / "extensions" / "build_steps.py"), "sanitize", kind], check=True, cwd=ROOT
    )
    folder = ROOT / "build" / f"sanitize-{kind}"
    module = folder / "workbench" / f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
    finder = folder / "finder"
    finder.mkdir(exist_ok=True)
    (finder / "sitecustomize.py").write_text(_FINDER.format(module=str(module)))
    return finder


def _library(name: str) -> str:
    return subprocess.run(
        ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def run(kind: str, arguments: list[str]) -> int:
    """Run the tests on kernels built for a sanitizer; the exit code of pytest."""
    finder = build(kind)
    # What C++ throws is watched too, for which its library has to be there when the sanitizer begins.
    libraries = [_library(LIBRARY[kind]), _library("libstdc++.so.6")]
    environment = {
        **os.environ,
        **OPTIONS[kind],
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONPATH": os.pathsep.join([str(finder), str(ROOT)]),
        "PYTHONMALLOC": "malloc",  # or small blocks would lie in arenas, where nothing is watched
        "WORKBENCH_KERNELS": "",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--capture=sys",
    ]
    # ThreadSanitizer wants memory at places that a kernel with much randomness does not give.
    still = ["setarch", platform.machine(), "--addr-no-randomize"] if kind == "thread" else []
    return subprocess.run(
        [*still, *command, *(arguments or TESTS[kind])], env=environment, cwd=ROOT, check=False
    ).returncode


def main() -> int:
    """Run one sanitizer, or both; or say how, without building anything."""
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    kinds = [arguments.pop(0)] if arguments and arguments[0] in LIBRARY else list(LIBRARY)
    return max(run(kind, arguments) for kind in kinds)


if __name__ == "__main__":
    sys.exit(main())
