"""Results computed straight into the memory they are to go into: changes in place without new memory and a copy.

That is done where nobody can tell: elementwise, on floats of one type and shape without names, with nothing recorded
and nobody looking on. Everything else, and every refusal, is `core.inplace`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from workbench.base.quiet import QUIET, WARNINGS
from workbench.core.bases import eager
from workbench.core.op import Op, ops
from workbench.core.overlap import lies_apart, overlap
from workbench.core.stack import IN_FORCE
from workbench.core.value import Value
from workbench.core.views import asks, refresh

__all__ = ["computes", "written_directly", "written_scaled"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_compiled: Callable[..., bool] | None = None if eager is None else eager.written
"""The same for few values in rows of memory, which says no to everything else."""
_MOST = 1 << 24
"""Whole numbers up to here are floats of every type, so that it does not matter who rounds them."""


def computes(op: Op, count: int, scales: bool = False) -> Callable[[_Function], _Function]:
    """Mark a function that is nothing but `op` where it is given `count` operands and no words.

    With `scales` it takes the word ``alpha``, by which it multiplies the second operand first.
    """

    def mark(function: _Function) -> _Function:
        if op.into is not None:
            function.computes = op, count  # type: ignore[attr-defined]
            function.scales = scales  # type: ignore[attr-defined]
        return function

    return mark


def written_directly(target: Any, op: Op, operands: tuple[Any, ...]) -> bool:
    """Write ``op(*operands)`` into the memory of `target`, and say so; where that would show, do nothing."""
    if _compiled is not None and len(operands) == 2 and _compiled(target, op, operands):
        return True
    if not isinstance(target, Value) or target._names is not None or target._inference:
        return False
    array = target.payload
    if type(array) is not np.ndarray or array.dtype.char not in "fd":
        return False
    state = IN_FORCE.get()
    if state.top is not None:
        return False
    if target._view is not None:
        refresh(target)
    if state.grad and _asked(target):
        return False
    arrays = _plain_operands(array, operands, state.grad)
    if arrays is None or not _takes_all(array):
        return False
    kernel = op.kernel
    rows = None
    if kernel is not None and kernel.into is not None and array.size >= kernel.least:
        rows = _rows(array, arrays)
    if rows is not None:
        kernel.into(*rows)  # type: ignore[union-attr, misc]
    else:
        token = WARNINGS.set(QUIET)
        try:
            op.into(*arrays, out=array)  # type: ignore[misc]
        finally:
            WARNINGS.reset(token)
    target._version += 1
    return True


def written_scaled(target: Any, op: Op, operands: tuple[Any, ...], alpha: Any) -> bool:
    """Write what ``op(one, alpha · other)`` gives into the memory of `target`, and say so, as `written_directly`."""
    one, other = operands
    if type(alpha) is not float or not isinstance(other, Value) or not isinstance(target, Value):
        return False
    arrays = (target.payload, other.payload)
    if any(type(array) is not np.ndarray or array.dtype.char not in "fd" for array in arrays):
        return False
    # Looked at first: a product that is not used would stand on the tape, or in a graph.
    state = IN_FORCE.get()
    if state.top is not None or (state.grad and (_asked(target) or asks(other))):
        return False
    return written_directly(target, op, (one, ops.mul(other, alpha)))


def _rows(array: Any, arrays: list[Any]) -> tuple[Any, ...] | None:
    """Return result and operands as a kernel goes through memory: float32 without gaps, of one tensor and numbers.

    None where they do not lie so. Channels that lie last are as good as any order, in which both lie.
    """
    first, *rest = arrays
    if array.dtype != np.float32 or any(type(one) is np.ndarray for one in rest):
        return None
    if array.flags.c_contiguous and first.flags.c_contiguous:
        return array, first, *rest
    if array.strides != first.strides:
        return None
    order = sorted(range(array.ndim), key=array.strides.__getitem__, reverse=True)
    turned = array.transpose(order)
    return (turned, first.transpose(order), *rest) if turned.flags.c_contiguous else None


def _asked(target: Any) -> bool:
    """Say whether a value, or one whose memory it shows, requires a gradient."""
    while target is not None:
        if target._requires_grad:
            return True
        target = target._view[0] if target._view is not None else None
    return False


def _takes_all(array: Any) -> bool:
    """Say whether every entry of an array has a place of its own that can be written to."""
    flags = array.flags
    return bool(flags.carray or (flags.behaved and lies_apart(array)))


def _plain_operands(array: Any, operands: tuple[Any, ...], grad: bool) -> list[Any] | None:
    """Return what is computed with to fill `array`; None where it is not plain, or is read while it is written."""
    found: list[Any] = []
    alike = False
    for one in operands:
        if isinstance(one, Value):
            other = one.payload
            if other is not array:
                if type(other) is not np.ndarray or other.dtype != array.dtype or other.shape != array.shape:
                    return None
                if overlap(array, other) not in _HARMLESS:
                    return None
            if one._names is not None or (grad and asks(one)):
                return None
            alike = True
            found.append(other)
        elif type(one) is float or (type(one) is int and -_MOST <= one <= _MOST):
            found.append(one)
        else:
            return None
    return found if alike else None


_HARMLESS = ("no", "full")
"""Entries are read before they are written where they lie at the same places."""
