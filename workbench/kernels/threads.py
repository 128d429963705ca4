"""One number of threads for the compiled kernels and for every BLAS of the process: NumPy's, and SciPy's own."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable

from workbench.base.lazy import after_import
from workbench.kernels.loader import native

__all__ = ["after_set_num_threads", "blas_library", "get_num_threads", "set_num_threads"]

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


def _setter(path: str) -> Callable[[int], None] | None:
    """Return the function that sets the threads of an OpenBLAS; None for any other library."""
    if "openblas" not in os.path.basename(path):
        return None
    try:
        # It is open already: this is a handle on it, and no second copy.
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            setter = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if setter is not None:
                setter.argtypes = [ctypes.c_int]
                setter.restype = None
                return setter  # type: ignore[no-any-return]
    return None


_blas: dict[str, Callable[[int], None]] = {}
"""What sets the threads of each BLAS found, by its path."""
after_set_num_threads: list[Callable[[], object]] = []
"""Called when the number has changed."""
_count = os.cpu_count() or 1
_chosen = False


def _adopt() -> None:
    """Look for libraries that have been loaded since, and tell them the number of threads if somebody chose one."""
    for path in _loaded_libraries():
        setter = None if path in _blas else _setter(path)
        if setter is not None:
            _blas[path] = setter
            if _chosen:
                setter(_count)


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
    for setter in _blas.values():
        setter(count)
    _count, _chosen = count, True
    for call in after_set_num_threads:
        call()
