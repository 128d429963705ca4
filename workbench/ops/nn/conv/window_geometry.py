"""Where windows lie: what convolutions, poolings and patches share, for any number of spatial dims.

Arrays are [N, C, *sizes]; kernel, stride, padding and dilation hold one whole number for each spatial dim. A *tap* is
a position within the window: for each, the values that the windows see there are one strided slice of the array.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from workbench.base.dims import Dims, Names
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import SymbolicSize, whole
from workbench.core.op import ops
from workbench.core.value import dims_of

Sizes = tuple[int, ...]
_Values = TypeVar("_Values")
Slices = tuple[slice, ...]

LAYOUT: dict[int, Names] = {1: ("N", "C", "L"), 2: ("N", "C", "H", "W"), 3: ("N", "C", "D", "H", "W")}
"""What the dims are called, by the number of spatial dims."""


def output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False
) -> int:
    """Return how many positions a window takes along one dim; `ceil_mode` counts those that begin inside."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    # A window that would begin in the padding behind is none.
    return count - 1 if (count - 1) * stride >= size + padding else count


def several(value: Any, n: int, what: str) -> Sizes:
    """Return one whole number for all of `n` directions, or `n` of them, as a tuple.

    >>> several(3, 2, "stride"), several((1, 2), 2, "stride")
    ((3, 3), (1, 2))
    """
    if type(value) is int:
        return (value,) * n
    each: tuple[Any, ...] = tuple(value) if isinstance(value, Iterable) else (value,)
    each = each * n if len(each) == 1 else each
    if len(each) != n or not all(isinstance(one, int | np.integer | SymbolicSize) for one in each):
        wanted = {1: "a whole number", 2: "a whole number or a pair of them"}.get(
            n, f"a whole number or {n} of them"
        )
        raise ValueError(f"{what} is {wanted}, got {value!r}")
    return tuple(map(whole, each))


def positive(values: Sizes, what: str, op: str) -> Sizes:
    """Return `values` if all of them are at least 1."""
    if any(one < 1 for one in values):
        raise DimensionError(f"{what} should be greater than zero, but got {list(values)}.", op=op)
    return values


def not_negative(values: Sizes, what: str, op: str) -> Sizes:
    """Return `values` if none of them is negative."""
    if any(one < 0 for one in values):
        raise DimensionError(f"negative {what} is not supported, but got {list(values)}.", op=op)
    return values


def batched(input: Any, n: int, op: str) -> tuple[Any, bool]:
    """Return `input` with a dim of examples, and whether that had to be added."""
    dims = dims_of(input)
    if len(dims.sizes) == n + 1:
        return ops.unsqueeze(input, dim=0, name=None), True
    if len(dims.sizes) != n + 2:
        raise DimensionError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {op}, but got input of size: "
            f"{list(dims.sizes)}.",
            op=op,
            operands=(dims.operand("input"),),
        )
    return input, False


def unbatched(value: _Values, added: bool) -> _Values:
    """Take the dim of examples away again where `batched` added it; of one value or of several."""
    if not added:
        return value
    if isinstance(value, tuple):
        return tuple(ops.squeeze(one, dim=(0,)) for one in value)  # type: ignore[return-value]
    return ops.squeeze(value, dim=(0,))  # type: ignore[return-value]


def check_layout(op: str, x: Dims, n: int) -> None:
    """Refuse what is not [N, C, …] with `n` spatial dims."""
    if len(x.sizes) != n + 2:
        raise DimensionError(
            f"Expected {n + 2}D input [{', '.join(map(str, LAYOUT[n]))}], but got {len(x.sizes)}D.",
            op=op,
            operands=(x.operand("input"),),
            fix="input.unsqueeze(0)" if len(x.sizes) == n + 1 else "",
        )


def check_kernel(op: str, weight: Dims) -> None:
    """Refuse a weight [O, C, …] whose kernel has no values."""
    if any(one < 1 for one in weight.sizes[2:]):
        raise DimensionError(
            f"kernel size should be greater than zero, but got {list(weight.sizes[2:])}.",
            op=op,
            operands=(weight.operand("weight", range(2, len(weight.sizes))),),
        )


def padded(x: Any, before: Sizes, after: Sizes, fill: Any = 0) -> Any:
    """Return the array with a constant border around its spatial dims, or itself where there is none."""
    if not any(before) and not any(after):
        return x
    return np.pad(x, ((0, 0), (0, 0), *zip(before, after, strict=True)), constant_values=fill)


def windows(x: Any, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> Any:
    """Return a view [N, C, *kernel, *out] of the windows of an array that has its border already."""
    steps = x.strides[2:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *kernel, *out),
        (
            *x.strides[:2],
            *(step * d for step, d in zip(steps, dilation, strict=True)),
            *(step * s for step, s in zip(steps, stride, strict=True)),
        ),
        # Windows share their places.
        writeable=False,
    )


def columns(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Any:
    """Return a view [N, C, *kernel, *out] of the windows of an array and of its border of zeros."""
    # As much border as the last window reaches into, and no more.
    after = tuple(
        max(0, (o - 1) * s + d * (k - 1) + 1 - size - p)
        for size, k, s, p, d, o in zip(x.shape[2:], kernel, stride, padding, dilation, out, strict=True)
    )
    return windows(padded(x, padding, after), kernel, stride, dilation, out)


def overlap_add(parts: Any, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """Add windows [N, C, *kernel, *out] up where they lie in [N, C, *sizes]: the transpose of `columns`."""
    n = len(sizes)
    kernel, out = parts.shape[2 : 2 + n], parts.shape[2 + n :]
    # The loop runs over taps or over windows, whichever are fewer.
    if math.prod(out) < math.prod(kernel):
        return _windows_added(parts, sizes, stride, padding, dilation)
    result: Any = np.zeros((*parts.shape[:2], *sizes), parts.dtype)
    for tap, there, here in taps(sizes, out, kernel, stride, padding, dilation):
        result[(..., *here)] += parts[(slice(None), slice(None), *tap, *there)]
    return result


def _windows_added(parts: Any, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """`overlap_add` window by window: for few windows with many taps."""
    n = len(sizes)
    kernel, out = parts.shape[2 : 2 + n], parts.shape[2 + n :]
    # The same windows, with the parts of position and tap exchanged.
    result: Any = np.zeros((*parts.shape[:2], *sizes), parts.dtype)
    for position, there, here in taps(sizes, kernel, out, dilation, padding, stride):
        result[(..., *here)] += parts[(slice(None), slice(None), *there, *position)]
    return result


def taps(
    sizes: Sizes, out: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Iterator[tuple[Sizes, Slices, Slices]]:
    """Yield for each tap: the tap, which windows see a value of the array there, and which values those are."""
    each: list[list[tuple[int, slice, slice]]] = []
    for size, o, k, s, p, d in zip(sizes, out, kernel, stride, padding, dilation, strict=True):
        found = []
        for tap in range(k):
            offset = tap * d - p
            # Rounded up: the first window whose tap is inside.
            low = max(0, -(offset // s))
            high = min(o, (size - 1 - offset) // s + 1)
            if low < high:
                start = low * s + offset
                found.append((tap, slice(low, high), slice(start, start + (high - low - 1) * s + 1, s)))
        each.append(found)
    for combination in itertools.product(*each):
        yield (
            tuple(one[0] for one in combination),
            tuple(one[1] for one in combination),
            tuple(one[2] for one in combination),
        )
