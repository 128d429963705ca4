"""Memory that is read and written at once: what a change in place may not do, told from where arrays lie.

The answer is "no", "full" (the same entries at the same places), "partial", or "unknown" where finding out would take
looking at every entry: memory with gaps. As in PyTorch what is unknown is let through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from workbench.base.errors import DimensionError
from workbench.core.value import Value

__all__ = ["check_sources", "lies_apart", "overlap", "reads_apart", "repeats"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def reads_apart(function: _Function) -> _Function:
    """Mark a function that reads its operands while it writes: in place they may share no memory with the target."""
    function.reads_apart = True  # type: ignore[attr-defined]
    return function


def repeats(array: np.ndarray[Any, Any]) -> bool:
    """Say whether entries of an array share a place, as after ``expand``."""
    return bool(array.size) and any(
        stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)
    )


def lies_apart(array: np.ndarray[Any, Any]) -> bool:
    """Say whether the entries lie without gaps and each at a place of its own, in whatever order of dims."""
    expected = array.itemsize
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return True
    # The stride of a dim with one entry says nothing: nobody steps along it.
    dims = [(stride, size) for stride, size in zip(array.strides, array.shape, strict=True) if size != 1]
    for stride, size in sorted(dims):
        if stride != expected:
            return False
        expected *= size
    return True


def overlap(one: Any, other: Any) -> str:
    """Say how the memory of two arrays overlaps."""
    if not one.size or not other.size:
        return "no"
    if one is other:
        return "full"
    if not np.may_share_memory(one, other):  # by their bounds
        return "no"
    if not lies_apart(one) or not lies_apart(other):
        return "unknown"
    same = byte_bounds(one) == byte_bounds(other) and one.ndim == other.ndim and _steps(one) == _steps(other)
    return "full" if same else "partial"


def _steps(array: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Return sizes and strides of the dims that tell entries apart."""
    return [(size, stride) for size, stride in zip(array.shape, array.strides, strict=True) if size != 1]


def check_sources(target: Any, sources: Iterable[Any], name: str, apart: bool = False) -> None:
    """Refuse to write into `target` (an array) while reading what overlaps it partly, or at all where `apart`."""
    for source in sources:
        array = source.payload if isinstance(source, Value) else source
        if type(array) is not np.ndarray:
            continue
        found = overlap(target, array)
        if found == "partial" or (found == "full" and apart):
            raise DimensionError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation.",
                op=name,
            )
