"""Tensors of numbers in even steps: counted, between two ends, and along a logarithm."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, get_default_dtype, number_dtype, plain_dtype
from workbench.base.numbers import fitted
from workbench.base.size_guards import OPEN
from workbench.base.sizes import check_memory
from workbench.base.symbolic_size import SymbolicSize, plain
from workbench.core.typing import DeviceLike, DTypeLike
from workbench.ops.shape import creation
from workbench.ops.shape.creation_words import creating
from workbench.tensor.factories import finish, scalar, settled
from workbench.tensor.tensor import Tensor

__all__ = ["arange", "linspace", "logspace", "range"]


_MANY = 1 << 31
"""Fewer whole numbers than this have places in memory, as have their bounds."""


@creating()
def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return start, start + step, … below end: int64 for whole numbers, the default type otherwise.

    Raises ValueError for a step of 0, or one that leads away from the end.

    >>> arange(3), arange(1.0, 2.0, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    low, high = (0, start) if end is None else (start, end)
    if (
        type(low) is int
        and type(high) is int
        and type(step) is int
        and dtype is None
        and 0 < step <= high - low < _MANY
        and abs(low) < _MANY
    ):
        return finish(np.arange(low, high, step), names, False, device)  # nothing there to be refused
    # Only whole steps stay expressions: of fractions a graph keeps today's number.
    if OPEN and creation.is_symbolic(low, high, step) and all(map(_is_whole, (low, high, step))):
        return _counted(low, high, step, dtype, names, device)
    low, high, step = (
        scalar("arange", label, one) for label, one in (("start", low), ("end", high), ("step", step))
    )
    if any(isinstance(one, complex) for one in (low, high, step)):
        raise TypeError(f"arange: complex numbers have no order: from {low} to {high} by {step}")
    if step == 0:
        raise ValueError("arange: step must be nonzero")
    if (high - low) / step < 0:
        raise ValueError(
            f"arange: upper bound and lower bound inconsistent with step sign: from {low} to {high} by {step}"
        )
    if not math.isfinite((high - low) / step):
        raise ValueError(f"arange: unsupported range: from {low} to {high} by {step}")
    check_memory("arange", (math.ceil((high - low) / step),))
    whole = all(isinstance(one, int | np.integer) for one in (low, high, step))
    target = (number_dtype(int if whole else float) if dtype is None else plain_dtype(dtype)).numpy
    # Counted in float64 first: in fewer digits the steps would not be even.
    return finish(np.arange(low, high, step).astype(target), names, False, device)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer | SymbolicSize)


def _counted(low: Any, high: Any, step: Any, dtype: Any, names: Any, device: Any) -> Tensor:
    """Return what `arange` does for sizes of a trace."""
    if step == 0:
        raise ValueError("arange: step must be nonzero")
    if (high < low) if step > 0 else (high > low):
        raise ValueError(
            f"arange: upper bound and lower bound inconsistent with step sign: from {low} to {high} by {step}"
        )
    target = as_dtype(int if dtype is None else dtype).numpy
    return settled(creation.arange(low, high, step, target), names, False, device)


@creating()
def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return `steps` values from start to end, both included, evenly spaced.

    >>> linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    low, high, count, target = _ends("linspace", start, end, steps, dtype)
    if OPEN and creation.is_symbolic(count):
        return settled(creation.linspace(low, high, count, target), names, False, device)
    for one in (low, high):
        fitted("linspace", one, target)
    return finish(np.linspace(low, high, count).astype(target), names, False, device)


def _ends(op: str, start: Any, end: Any, steps: Any, dtype: Any) -> tuple[Any, Any, Any, np.dtype[Any]]:
    """Return both ends as numbers, how many there are from one to the other, and the type of these."""
    low, high, count = (
        scalar(op, label, one) for label, one in (("start", start), ("end", end), ("steps", steps))
    )
    if isinstance(count, bool | float | complex):
        raise TypeError(f"{op}: steps must be a whole number, got {count!r}")
    if count < 0:
        raise ValueError(f"number of steps must be non-negative, got {count}")
    check_memory(op, (count,))
    kind = complex if isinstance(low, complex) or isinstance(high, complex) else float
    size = count if isinstance(count, SymbolicSize) else int(count)
    return low, high, size, (number_dtype(kind) if dtype is None else plain_dtype(dtype)).numpy


@creating()
def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return `steps` values from base**start to base**end, evenly spaced in their logarithm.

    >>> logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    low, high, count, target = _ends("logspace", start, end, steps, dtype)
    powers = np.power(float(scalar("logspace", "base", base)), np.linspace(low, high, plain(count)))
    return finish(powers.astype(target), names, False, device)


@creating()
def range(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return start, start + step, … up to end, which is the last: `arange`, which stops before it, is today's word.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     range(1, 3)
    tensor([1., 2., 3.])
    """
    warnings.warn(
        "range is deprecated, since it ends otherwise than Python's: use arange, which produces values in [start, end)",
        UserWarning,
        stacklevel=3,
    )
    low, high = (0, start) if end is None else (start, end)
    if step == 0 or (high - low) / step < 0:
        raise ValueError(
            f"range: upper bound and lower bound inconsistent with step sign: from {low} to {high} by {step}"
        )
    count = math.floor((high - low) / step) + 1
    check_memory("range", (count,))
    target = (get_default_dtype() if dtype is None else plain_dtype(dtype)).numpy
    return finish((low + np.arange(count) * step).astype(target), None, False, device)
