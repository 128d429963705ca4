"""Stretching and repeating: broadcasting to sizes, and its transpose, the sum over what was stretched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, broadcast_sizes
from workbench.base.errors import DimensionError
from workbench.base.sizes import check_memory
from workbench.base.symbolic_size import is_one, whole
from workbench.core.bases import eager
from workbench.core.families import grid
from workbench.core.op import BadInput, Sample, ops
from workbench.core.quantization import GRADIENT, MOVED
from workbench.core.tape import Call
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.movement import MOVES, copying, move, sizes_from

_FEW = 2**32
"""So many values of any type have addresses."""


def _expand_dims(x: Dims, sizes: tuple[int, ...]) -> Dims:
    extra = len(sizes) - len(x.sizes)
    full = (
        *sizes[: max(extra, 0)],
        *(own if size == -1 else size for own, size in zip(x.sizes, sizes[max(extra, 0) :], strict=False)),
    )
    if extra < 0 or not all(map(_stretches, x.sizes, full[extra:])):
        raise DimensionError(
            f"The expanded size of the tensor {list(sizes)} must match the existing size {list(x.sizes)} at "
            "non-singleton dimensions, counted from the right.",
            op="expand",
            operands=(x.operand(),),
        )
    return Dims((None,) * extra + x.names, full)


def _stretches(own: int, size: int) -> bool:
    """Say whether a dim can be stretched to `size`; what always has size 1 can, whatever `size` is in a run."""
    return is_one(own) or own == size or own == 1


def _expand(x: Any, sizes: tuple[int, ...]) -> Any:
    extra = len(sizes) - x.ndim
    if -1 in sizes:
        sizes = tuple([size if size != -1 else x.shape[i - extra] for i, size in enumerate(sizes)])
    # NumPy's own is written in Python, and costs more than the sum that often follows.
    view = None if eager is None else eager.stretched(x, sizes)
    return np.broadcast_to(x, sizes) if view is None else view


EXPAND = move(
    "expand",
    "Stretch dims of size 1, and add dims at the left.",
    "y[…, i] = x[…, 0]",
    dims=_expand_dims,
    rule="stretched dims keep their names, new dims have none",
    forward=_expand,
    vjp=lambda c, g: (ops.sum_to(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [
        Sample((grid(3, 1),), {"sizes": (2, 3, 4)}, names=(("N", "C"),)),
        Sample((grid(),), {"sizes": (2, 3)}),
    ],
    bad=lambda: [BadInput((grid(3, 2),), {"sizes": (3, 4)}, DimensionError, "must match the existing size")],
    batch=batching.expand,
    small="expand",
)


def _sum_to(x: Any, sizes: tuple[int, ...]) -> Any:
    extra = x.ndim - len(sizes)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, size in enumerate(sizes) if size == 1 and x.shape[i + extra] != 1
    )
    return np.add.reduce(x, axis=axes, keepdims=True).reshape(sizes) if axes else x


SUM_TO = move(
    "sum_to",
    "Sum over the dims along which smaller sizes would be stretched: the transpose of expand.",
    "y = Σ x",
    dims=lambda x, sizes: Dims(x.names[len(x.sizes) - len(sizes) :], sizes),
    rule="dims at the left end, dims of size 1 are summed, the others pass through",
    forward=_sum_to,
    vjp=lambda c, g: (ops.expand(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [Sample((grid(2, 3, 4),), {"sizes": (3, 1)}, names=(("N", "C", "T"),))],
    properties=frozenset({"linear"}),
    batch=batching.sum_to,
    small="sum_to",
    quantized=GRADIENT,
)


def _repeat_dims(x: Dims, counts: tuple[int, ...]) -> Dims:
    extra = len(counts) - len(x.sizes)
    sizes = tuple(count * size for count, size in zip(counts, (1,) * extra + x.sizes, strict=True))
    return Dims((None,) * extra + x.names, sizes)


def _repeat_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """Give each dim one before it that counts the repeats, and sum over those."""
    own = c.inputs[0].payload.shape
    counts = c.params["counts"]
    sizes = (1,) * (len(counts) - len(own)) + own
    wide = tuple(one for pair in zip(counts, sizes, strict=True) for one in pair)
    once = tuple(one for size in sizes for one in (1, size))
    return (ops.reshape(ops.sum_to(ops.reshape(g, sizes=wide), sizes=once), sizes=own),)


REPEAT = move(
    "repeat",
    "The tensor several times along each dim.",
    "y_i = x_{i mod n}",
    dims=_repeat_dims,
    rule="names stay with their dims, new dims at the left have none",
    forward=lambda x, counts: np.tile(x, counts),
    vjp=_repeat_vjp,
    samples=lambda: [
        Sample((grid(2, 3),), {"counts": (2, 1, 3)}, names=(("N", "C"),)),
        Sample((grid(2),), {"counts": (0,)}),
    ],
    properties=MOVES,
    batch=batching.repeat,
    quantized=MOVED,
)

# ---------------------------------------------------------------------------------- the words people use


@offered()
def expand(input: Tensor, *sizes: Size, size: Size | None = None) -> Tensor:
    """Stretch dims of size 1 without copying, and add dims at the left; -1 keeps a size.

    Stretched dims keep their names, new ones have none. Its values share memory: one number can be
    written to all of them, different ones cannot.

    >>> import workbench as wb
    >>> wb.zeros(N=3, C=1).expand(-1, 4).shape
    (3, 4)
    """
    full = sizes_from(sizes if size is None else (size,))
    extra = len(full) - len(input.payload.shape)
    if extra > 0 and -1 in full[:extra]:
        raise DimensionError(
            f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {full.index(-1)}",
            op="expand",
            operands=(dims_of(input).operand(),),
        )
    # Refused although nothing is stored: past 2⁶³ bytes the strides overflow. Of few values that needs no look.
    count = math.prod(full)
    if type(count) is not int or abs(count) > _FEW:
        check_memory("expand", [size for size in full if size != -1], input.payload.dtype.itemsize)
    return ops.expand(input, sizes=full)


offered("workbench")(copying(expand))


@offered("Tensor")
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Stretch to the sizes of `other`: a view."""
    return ops.expand(input, sizes=dims_of(other).sizes)


@offered()
def broadcast_to(input: Tensor, size: Size) -> Tensor:
    """Stretch to the sizes `size`: `expand` by another name."""
    return expand(input, size)


@offered("workbench")
def broadcast_shapes(*shapes: Size) -> tuple[int, ...]:
    """Return the sizes that shapes (or numbers, for one dim) broadcast to together.

    >>> broadcast_shapes((2, 1), (3,), 1)
    (2, 3)
    """
    several = [
        (whole(one),) if hasattr(one, "__index__") else tuple(whole(size) for size in one) for one in shapes
    ]
    if any(size < 0 for one in several for size in one):
        raise DimensionError("Trying to create tensor with negative dimension", op="broadcast_shapes")
    try:
        return broadcast_sizes(*several)
    except ValueError:
        raise DimensionError(
            f"Shape mismatch: objects cannot be broadcast to a single shape: {several}", op="broadcast_shapes"
        ) from None


@offered("workbench")
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Stretch tensors to the sizes that they have together: views; each keeps its own names.

    >>> import workbench as wb
    >>> a, b = wb.broadcast_tensors(wb.zeros(N=2, C=1), wb.zeros(C=3))
    >>> a.shape, b.names
    ((2, 3), (None, 'C'))
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    if not several:
        return ()
    # By pairs, so that a clash names the two that do not fit.
    together = reduce(lambda a, b: broadcast("broadcast_tensors", a, b), map(dims_of, several))
    return tuple(ops.expand(one, sizes=together.sizes) for one in several)


@offered("Tensor")
def repeat(input: Tensor, *sizes: Size, repeats: Size | None = None) -> Tensor:
    """The tensor several times along each dim: `repeats` counts from the left, new dims come first. A copy.

    Names stay with their dims.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = sizes_from(sizes if repeats is None else (repeats,))
    return _repeat(input, counts, "repeat")


@offered()
def tile(input: Tensor, *sizes: Size, dims: Size | None = None) -> Tensor:
    """The tensor several times along each dim: `dims` counts from the right, what is missing is 1. A copy."""
    counts = sizes_from(sizes if dims is None else (dims,))
    ndim = len(dims_of(input).sizes)
    return _repeat(input, (1,) * (ndim - len(counts)) + counts, "tile")


def _repeat(input: Any, counts: tuple[int, ...], op: str) -> Tensor:
    own = dims_of(input)
    extra = len(counts) - len(own.sizes)
    if extra < 0:
        raise DimensionError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: got "
            f"{list(counts)}",
            op=op,
            operands=(own.operand(),),
        )
    if any(count < 0 for count in counts):
        raise DimensionError(
            f"repeats are not negative: got {list(counts)}", op=op, operands=(own.operand(),)
        )
    check_memory(op, [count * size for count, size in zip(counts, (1,) * extra + own.sizes, strict=True)])
    return ops.repeat(input, counts=counts)
