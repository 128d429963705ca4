"""One number of threads for the compiled kernels and for every BLAS of the process: NumPy's, and SciPy's own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import threading
from collections.abc import Callable, Iterator

from workbench.base.lazy import after_import
from workbench.kernels.loader import native

__all__ = ["after_set_num_threads", "blas_library", "get_num_threads", "one_blas_thread", "set_num_threads"]

# NumPy's and SciPy's wheels rename the functions, so that two libraries can be in one process; systems do not.
_SUFFIXES = ("64_", "_64", "")
_PREFIXES = ("scipy_openblas", "openblas")


def _loaded_libraries() -> list[str]:
    """Paths of the shared libraries of this process (Linux); empty where the system does not say."""
    try:
        lines = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = (line.partition("/") for line in lines)
    # A library has a line for each of its segments.
    return sorted({slash + rest for _, slash, rest in paths if slash and ".so" in rest})


class _Blas:
    """An OpenBLAS: what sets its number of threads, and what tells it."""

    def __init__(self, library: ctypes.CDLL, setter: str, getter: str) -> None:
        self.set: Callable[[int], None] = getattr(library, setter)
        self.set.argtypes, self.set.restype = [ctypes.c_int], None
        self.get: Callable[[], int] = getattr(library, getter)
        self.get.argtypes, self.get.restype = [], ctypes.c_int


def _governed(path: str) -> _Blas | None:
    """Return the functions of an OpenBLAS; None for any other library."""
    if "openblas" not in os.path.basename(path):
        return None
    try:
        # It is open already: this is a handle on it, and no second copy.
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            setter, getter = (f"{prefix}_{verb}_num_threads{suffix}" for verb in ("set", "get"))
            if hasattr(library, setter) and hasattr(library, getter):
                return _Blas(library, setter, getter)
    return None


_blas: dict[str, _Blas] = {}
"""Each BLAS found, by its path."""
after_set_num_threads: list[Callable[[], object]] = []
"""Called when the number has changed."""
_count = os.cpu_count() or 1
_chosen = False


def _adopt() -> None:
    """Look for libraries that have been loaded since, and tell them the number of threads if somebody chose one."""
    for path in _loaded_libraries():
        found = None if path in _blas else _governed(path)
        if found is not None:
            _blas[path] = found
            if _chosen:
                found.set(_count)


_adopt()
# SciPy brings an OpenBLAS of its own, with threads of its own, when it is first asked for something.
after_import.append(_adopt)


def blas_library() -> str:
    """Return the file names of the BLAS libraries whose threads are governed; empty when none was recognised."""
    return ", ".join(sorted({os.path.basename(path) for path in _blas}))


def get_num_threads() -> int:
    """Return how many threads a kernel may use."""
    return int(native.get_num_threads()) if native is not None else _count


def set_num_threads(count: int) -> None:
    """Set how many threads a kernel, a matrix product or a factorization may use.

    Raises ValueError unless 1 ≤ count ≤ 1024.
    """
    global _count, _chosen
    # True is an int to `isinstance`.
    if type(count) is not int or not 1 <= count <= 1024:
        raise ValueError(f"number of threads is {count!r}; give an integer from 1 to 1024")
    if native is not None:
        native.set_num_threads(count)
    # NumPy's products run in OpenBLAS's threads, which know nothing of OpenMP's number.
    with _alone.lock:
        for path, blas in _blas.items():
            if path in _alone.before:
                _alone.before[path] = count
            else:
                blas.set(count)
    _count, _chosen = count, True
    for call in after_set_num_threads:
        call()


class _Alone:
    """Who wants one thread of each BLAS at present, and how many they had before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before: dict[str, int] = {}


_alone = _Alone()


def _forked() -> None:
    # Whoever held the lock is not there any more, nor is anyone who would give the threads back.
    global _alone
    before, _alone = _alone.before, _Alone()
    for path, count in before.items():
        _blas[path].set(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let each BLAS use one thread within: for small factorizations the others do little, and go on waiting afterwards
    by spinning, where our own would work.

    Numbers that are set meanwhile hold from its end on.
    """
    with _alone.lock:
        _alone.users += 1
        if _alone.users == 1:
            _alone.before = {path: blas.get() for path, blas in _blas.items()}
            for path in _alone.before:
                _blas[path].set(1)
    try:
        yield
    finally:
        with _alone.lock:
            _alone.users -= 1
            if _alone.users == 0:
                before, _alone.before = _alone.before, {}
                for path, count in before.items():
                    _blas[path].set(count)
