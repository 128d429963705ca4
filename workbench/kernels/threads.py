"""One number of threads for the compiled kernels and for NumPy's BLAS."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable

from workbench.kernels.loader import native

__all__ = ["blas_library", "get_num_threads", "set_num_threads"]

_SUFFIXES = ("64_", "_64", "")
_PREFIXES = ("scipy_openblas", "openblas")


def _loaded_libraries() -> list[str]:
    """Paths of the shared libraries of this process (Linux); empty where the system does not say."""
    try:
        lines = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = (line.partition("/") for line in lines)
    return sorted({slash + rest for _, slash, rest in paths if slash and ".so" in rest})


def _find_blas() -> tuple[str, Callable[[int], None] | None]:
    for path in _loaded_libraries():
        if "openblas" not in os.path.basename(path):
            continue
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                setter = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if setter is not None:
                    setter.argtypes = [ctypes.c_int]
                    setter.restype = None
                    return os.path.basename(path), setter
    return "", None


_blas_name, _set_blas_threads = _find_blas()
_count = os.cpu_count() or 1


def blas_library() -> str:
    """Return the file name of the BLAS whose threads are governed; empty when none was recognised."""
    return _blas_name


def get_num_threads() -> int:
    """Return how many threads a kernel may use."""
    return int(native.get_num_threads()) if native is not None else _count


def set_num_threads(count: int) -> None:
    """Set how many threads a kernel, and NumPy's matrix product, may use.

    Raises ValueError unless 1 ≤ count ≤ 1024.
    """
    global _count
    if type(count) is not int or not 1 <= count <= 1024:
        raise ValueError(f"number of threads is {count!r}; give an integer from 1 to 1024")
    if native is not None:
        native.set_num_threads(count)
    if _set_blas_threads is not None:
        _set_blas_threads(count)
    _count = count
