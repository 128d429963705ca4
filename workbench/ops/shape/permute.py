"""Dims and their entries in another order: permuted, exchanged, reversed, rolled, rotated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index, dim_indices
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import whole
from workbench.core import sparse_rules
from workbench.core.families import grid
from workbench.core.op import Sample, ops
from workbench.core.quantization import MOVED
from workbench.core.typing import Dim, DimsLike, Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import conj
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.movement import MOVES, copying, move


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


PERMUTE = move(
    "permute",
    "The dims in another order.",
    "y[i_p] = x[i]",
    dims=lambda x, dim: Dims(tuple(x.names[i] for i in dim), tuple(x.sizes[i] for i in dim)),
    rule="names move with their dims",
    forward=lambda x, dim: x.transpose(dim),
    quantized=MOVED,
    vjp=lambda c, g: (ops.permute(g, dim=_inverse(c.params["dim"])),),
    samples=lambda: [Sample((grid(2, 3, 4),), {"dim": (2, 0, 1)}, names=(("N", "C", "T"),))],
    sparse=sparse_rules.permute,
    batch=batching.permute,
    small="permute",
)

FLIP = move(
    "flip",
    "Dims in reverse order of their entries.",
    "y_i = x_{n-1-i}",
    dims=lambda x, dim: x,
    rule="names and sizes pass through",
    # A copy, as in PyTorch: writing into the result leaves the input alone.
    forward=lambda x, dim: np.flip(x, dim).copy(),
    quantized=MOVED,
    vjp=lambda c, g: (ops.flip(g, dim=c.params["dim"]),),
    samples=lambda: [
        Sample((grid(2, 3),), {"dim": (1,)}, names=(("N", "C"),)),
        Sample((grid(2, 3),), {"dim": ()}),
    ],
    properties=MOVES,
)

ROLL = move(
    "roll",
    "Entries moved along dims; what leaves at one end enters at the other.",
    "y_i = x_{(i - shift) mod n}",
    dims=lambda x, shifts, dim: x,
    rule="names and sizes pass through",
    forward=lambda x, shifts, dim: np.roll(x, shifts, dim),
    quantized=MOVED,
    vjp=lambda c, g: (
        ops.roll(g, shifts=tuple(-shift for shift in c.params["shifts"]), dim=c.params["dim"]),
    ),
    samples=lambda: [
        Sample((grid(3, 4),), {"shifts": (1, -6), "dim": (0, 1)}, names=(("N", "C"),)),
        Sample((grid(0, 4),), {"shifts": (1,), "dim": (0,)}),
    ],
    properties=MOVES,
    batch=batching.roll,
)

# ---------------------------------------------------------------------------------- the words people use


_PLAIN = frozenset({int})
_IN_ORDER = [[*range(ndim)] for ndim in range(65)]
"""By rank, up to as many dims as NumPy has."""


@offered()
def permute(input: Tensor, *order: DimsLike, dims: DimsLike | None = None) -> Tensor:
    """The dims in another order, by position or by name: a view.

    Raises `DimensionError` unless each dim is named once.

    >>> import workbench as wb
    >>> wb.zeros(N=2, H=4, C=3).permute("N", "C", "H").shape
    (2, 3, 4)
    """
    given: Any = dims
    if dims is None:
        # As nearly always: each position, as it is.
        ndim = len(input.payload.shape)
        if _PLAIN.issuperset(map(type, order)) and sorted(order) == _IN_ORDER[ndim]:  # type: ignore[type-var]
            return ops.permute(input, dim=order)
        given = order[0] if len(order) == 1 and not isinstance(order[0], int | str) else order
    ndim = len(input.payload.shape)
    if len(given) == ndim and _PLAIN.issuperset(map(type, given)):
        positions = tuple([d + ndim if d < 0 else d for d in given])
        if sorted(positions) == _IN_ORDER[ndim]:
            return ops.permute(input, dim=positions)
    own = dims_of(input)
    positions = tuple(dim_index(own, dim, "permute") for dim in given)
    # Too few and repeated ones at once.
    if sorted(positions) != list(range(len(own.sizes))):
        raise DimensionError(
            f"permute(dims): {list(given)} must name each of the {len(own.sizes)} dims once.",
            op="permute",
            operands=(own.operand(),),
        )
    return ops.permute(input, dim=positions)


offered("workbench")(copying(permute))

_REVERSED: tuple[tuple[int, ...], ...] = ((), (0,), (1, 0))
"""The dims of at most two in reverse order."""


@offered(inplace_view=True)
def transpose(input: Tensor, dim0: Dim, dim1: Dim) -> Tensor:
    """Exchange two dims: a view.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3, H=4).transpose("C", "H").names
    ('N', 'H', 'C')
    """
    ndim = len(input.payload.shape)
    if type(dim0) is int and type(dim1) is int and -ndim <= dim0 < ndim and -ndim <= dim1 < ndim:
        a, b = dim0, dim1
    else:
        dims = dims_of(input)
        a, b = dim_index(dims, dim0, "transpose"), dim_index(dims, dim1, "transpose")
    order = list(range(ndim))
    # PyTorch lets a number be transposed: dims 0 and -1 of it are there.
    if order:
        order[a], order[b] = order[b], order[a]
    return ops.permute(input, dim=tuple(order))


offered("workbench")(copying(transpose))


@offered(inplace_view=True)
def swapaxes(input: Tensor, axis0: Dim, axis1: Dim) -> Tensor:
    """Exchange two dims: `transpose` by another name."""
    return transpose(input, axis0, axis1)


@offered(inplace_view=True)
def swapdims(input: Tensor, dim0: Dim, dim1: Dim) -> Tensor:
    """Exchange two dims: `transpose` by another name."""
    return transpose(input, dim0, dim1)


@offered()
def movedim(input: Tensor, source: DimsLike, destination: DimsLike) -> Tensor:
    """Move the dims `source`, one or several, to the positions `destination`; the others keep their order. A view.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3, H=4).movedim("C", -1).names
    ('N', 'H', 'C')
    """
    dims = dims_of(input)
    both: tuple[Any, Any] = (source, destination)
    sources, targets = (list(one) if isinstance(one, list | tuple) else [one] for one in both)
    if len(sources) != len(targets):
        raise DimensionError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of "
            f"dims as destination ({targets} dims)",
            op="movedim",
            operands=(dims.operand(),),
        )
    moved, places = (
        tuple(dim_index(dims, one, "movedim") for one in several) for several in (sources, targets)
    )
    for what, several in (("source", moved), ("destination", places)):
        if len(set(several)) != len(several):
            raise DimensionError(
                f"movedim: repeated dim in `{what}` ({list(several)})",
                op="movedim",
                operands=(dims.operand(),),
            )
    # A number has dims 0 and -1 to be moved, and none to be permuted.
    if not dims.sizes:
        return ops.permute(input, dim=())
    taken = dict(zip(places, moved, strict=True))
    # The others fill the free places from the left.
    rest = iter(i for i in range(len(dims.sizes)) if i not in moved)
    return ops.permute(
        input, dim=tuple(taken[i] if i in taken else next(rest) for i in range(len(dims.sizes)))
    )


@offered()
def moveaxis(input: Tensor, source: DimsLike, destination: DimsLike) -> Tensor:
    """Move dims to other positions: `movedim` by another name."""
    return movedim(input, source, destination)


@offered(inplace_view=True)
def t(input: Tensor) -> Tensor:
    """Transpose a tensor of at most two dims: a view."""
    ndim = len(input.payload.shape)
    if ndim > 2:
        raise DimensionError(
            f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D",
            op="t",
            operands=(dims_of(input).operand(),),
            fix="x.transpose(-2, -1)",
        )
    return ops.permute(input, dim=_REVERSED[ndim])


offered("workbench")(copying(t))


@offered()
def adjoint(input: Tensor) -> Tensor:
    """The last two dims exchanged, and complex values conjugated: Aᴴ.

    >>> import workbench as wb
    >>> wb.zeros(N=2, H=3, W=4).adjoint().names
    ('N', 'W', 'H')
    """
    return conj(_matrix_transposed(input, "adjoint()"))


def _matrix_transposed(input: Any, what: str) -> Any:
    dims = dims_of(input)
    if len(dims.sizes) < 2:
        raise DimensionError(
            f"tensor.{what} is only supported on matrices or batches of matrices. Got {len(dims.sizes)}-D tensor.",
            operands=(dims.operand(),),
        )
    return transpose(input, -2, -1)


def _conjugate_transposed(input: Tensor) -> Tensor:
    """Return a matrix transposed and conjugated."""
    dims = dims_of(input)
    # PyTorch: a number is its own transpose, a vector has none.
    if len(dims.sizes) not in (0, 2):
        raise DimensionError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(dims.sizes)}-D tensor.",
            operands=(dims.operand(),),
            fix="x.mH",
        )
    return conj(t(input) if dims.sizes else input)


offered("Tensor", name="H")(
    property(_conjugate_transposed, doc="A matrix transposed, and conjugated where it is complex.")
)
offered("Tensor", name="mH")(
    property(adjoint, doc="The last two dims exchanged, and complex values conjugated.")
)
offered("Tensor", name="mT")(
    property(lambda input: _matrix_transposed(input, "mT"), doc="The last two dims exchanged.")
)


@offered()
def flip(input: Tensor, *order: DimsLike, dims: DimsLike | None = None) -> Tensor:
    """Reverse the order of entries along the given dims: a copy.

    >>> import workbench as wb
    >>> wb.tensor([[1, 2], [3, 4]], names=("N", "C")).flip("C")
    tensor([[2, 1],
            [4, 3]], names=('N', 'C'))
    """
    given: Any = dims
    if dims is None:
        given = order[0] if len(order) == 1 else order
    # No dims reverse nothing here, where elsewhere they mean all of them.
    several = (given,) if isinstance(given, int | str) else tuple(given)
    return ops.flip(input, dim=dim_indices(dims_of(input), several, "flip") if several else ())


@offered()
def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dim: left and right change places."""
    _at_least(input, 2, "fliplr()", "2-d")
    return flip(input, 1)


@offered()
def flipud(input: Tensor) -> Tensor:
    """Reverse the first dim: up and down change places."""
    _at_least(input, 1, "flipud()", "1-d")
    return flip(input, 0)


def _at_least(input: Any, ndim: int, what: str, words: str) -> None:
    dims = dims_of(input)
    if len(dims.sizes) < ndim:
        raise DimensionError(f"Input must be >= {words}.", op=what[:-2], operands=(dims.operand(),))


@offered()
def roll(input: Tensor, shifts: Size, dims: DimsLike | None = None) -> Tensor:
    """Move entries along dims by `shifts`; what leaves at one end enters at the other.

    Without `dims` the tensor is rolled as if it were flat. Raises `DimensionError` unless there is one shift a dim.

    >>> import workbench as wb
    >>> wb.tensor([1, 2, 3]).roll(1)
    tensor([3, 1, 2])
    """
    own = dims_of(input)
    steps = (whole(shifts),) if hasattr(shifts, "__index__") else tuple(whole(shift) for shift in shifts)
    where = () if dims is None else (dims,) if isinstance(dims, int | str) else tuple(dims)
    if not steps:
        raise DimensionError("`shifts` required", op="roll")
    # With several shifts and no dims PyTorch finds that they do not align.
    if not where and len(steps) == 1:
        flat = ops.roll(ops.reshape(input, sizes=(own.numel,)), shifts=steps, dim=(0,))
        names = own.names if any(own.names) else None
        return ops.rename(ops.reshape(flat, sizes=own.sizes), names=names)
    if len(steps) != len(where):
        raise DimensionError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(where)}",
            op="roll",
            operands=(own.operand(),),
        )
    positions = tuple(dim_index(own, dim, "roll") for dim in where)
    # NumPy rolls no number: it has no axis 0.
    return ops.roll(input, shifts=steps, dim=positions) if own.sizes else ops.clone(input)


@offered()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int | str] = (0, 1)) -> Tensor:
    """Rotate by k quarter turns in the plane of two dims, from the first towards the second: a copy.

    >>> import workbench as wb
    >>> wb.tensor([[0, 1], [2, 3]]).rot90()
    tensor([[1, 3],
            [0, 2]])
    """
    own = dims_of(input)
    if len(dims) != 2:
        raise DimensionError(f"expected total rotation dims == 2, but got dims = {len(dims)}", op="rot90")
    if len(own.sizes) < 2:
        raise DimensionError(
            f"expected total dims >= 2, but got total dims = {len(own.sizes)}",
            op="rot90",
            operands=(own.operand(),),
        )
    a, b = (dim_index(own, dim, "rot90") for dim in dims)
    if a == b:
        raise DimensionError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
            op="rot90",
            operands=(own.operand("input", [a]),),
        )
    turns = int(k) % 4
    if turns == 0:
        return ops.clone(input)
    if turns == 2:
        return ops.flip(input, dim=(a, b))
    # A quarter turn is a reversal and an exchange. The result is a view of the reversed copy.
    return transpose(ops.flip(input, dim=(b if turns == 1 else a,)), a, b)
