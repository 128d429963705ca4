"""Tensors put together: one after another, one beside another, all with all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as _combinations
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index, unify_names
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.foreign import called, mending
from workbench.core.batch_rules import all_along
from workbench.core.dtype_rules import PROMOTE
from workbench.core.families import grid
from workbench.core.op import BadInput, Sample, ops
from workbench.core.overlap import reads_apart
from workbench.core.quantization import JOINED
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.movement import move
from workbench.ops.shape.reshape import atleast_1d, atleast_2d, atleast_3d


def _cat_dims(*tensors: Dims, dim: int) -> Dims:
    first = tensors[0]
    names = first.names
    for i, other in enumerate(tensors[1:], 1):
        if len(other.sizes) != len(first.sizes):
            raise DimensionError(
                f"Tensors must have same number of dimensions: got {len(first.sizes)} and {len(other.sizes)}.",
                op="cat",
                operands=(first.operand("tensors[0]"), other.operand(f"tensors[{i}]")),
            )
        clash = [
            k for k, (a, b) in enumerate(zip(first.sizes, other.sizes, strict=True)) if k != dim and a != b
        ]
        if clash:
            raise DimensionError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {first.sizes[clash[0]]} but got "
                f"size {other.sizes[clash[0]]} for tensor number {i} in the list.",
                op="cat",
                operands=(first.operand("tensors[0]", clash), other.operand(f"tensors[{i}]", clash)),
            )
        # With the sizes of the first: the names are compared, sizes along `dim` may differ.
        names = unify_names("cat", Dims(names, first.sizes), other)
    total = sum(one.sizes[dim] for one in tensors)
    return Dims(names, (*first.sizes[:dim], total, *first.sizes[dim + 1 :]))


def _cat_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    dim, start, parts = c.params["dim"], 0, []
    for value, need in zip(c.inputs, c.needs, strict=True):
        size = value.payload.shape[dim]
        key = (slice(None),) * dim + (slice(start, start + size),)
        # Views of the gradient: nothing is copied for inputs side by side.
        parts.append(ops.index(g, key=key) if need else None)
        start += size
    return tuple(parts)


CAT = move(
    "cat",
    "Tensors one after another along a dim.",
    "y = (x₁, x₂, …)",
    dims=_cat_dims,
    rule="names unify, sizes add along the dim",
    dtype=PROMOTE,
    forward=lambda *tensors, dim: np.concatenate(tensors, axis=dim),
    vjp=_cat_vjp,
    samples=lambda: [Sample((grid(2, 3), grid(2, 1)), {"dim": 1}, names=(("N", "C"), ("N", None)))],
    bad=lambda: [
        BadInput((grid(2, 3), grid(3, 3)), {"dim": 1}, DimensionError, "must match except in dimension 1"),
        BadInput((grid(2, 3), grid(2, 3, 1)), {"dim": 1}, DimensionError, "same number of dimensions"),
    ],
    properties=frozenset({"linear"}),
    batch=all_along,
    small="cat",
    quantized=JOINED,
)


def _stack_dims(*tensors: Dims, dim: int, name: str | None) -> Dims:
    first = tensors[0]
    names = first.names
    for i, other in enumerate(tensors):
        if other.sizes != first.sizes:
            raise DimensionError(
                f"stack expects each tensor to be equal size, but got {list(first.sizes)} at entry 0 and "
                f"{list(other.sizes)} at entry {i}",
                op="stack",
                operands=(first.operand("tensors[0]"), other.operand(f"tensors[{i}]")),
            )
        names = unify_names("stack", Dims(names, first.sizes), other)
    # Asked last: until all tensors are unified their names are not known.
    if name is not None and name in names:
        raise DimensionError(
            f"stack: the name {name!r} for the new dim is taken already.",
            op="stack",
            operands=(first.operand(),),
        )
    return Dims((*names[:dim], name, *names[dim:]), (*first.sizes[:dim], len(tensors), *first.sizes[dim:]))


def _stack(*tensors: Any, dim: int, name: str | None) -> Any:
    # `np.stack` does the same, by way of Python that takes as long again for small tensors.
    new_dim = (*(slice(None),) * dim, None)
    return np.concatenate([one[new_dim] for one in tensors], axis=dim)


def _stack_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    before = (slice(None),) * c.params["dim"]
    return tuple(ops.index(g, key=(*before, i)) if need else None for i, need in enumerate(c.needs))


STACK = move(
    "stack",
    "Tensors of equal sizes one after another along a new dim.",
    "y[…, i, …] = x_i[…]",
    dims=_stack_dims,
    rule="names unify, and a new dim with the given name or none",
    dtype=PROMOTE,
    forward=_stack,
    vjp=_stack_vjp,
    samples=lambda: [
        Sample((grid(2, 3), grid(2, 3, seed=1)), {"dim": 1, "name": "T"}, names=(("N", "C"), ("N", None))),
        Sample((grid(), grid(seed=1), grid(seed=2)), {"dim": 0, "name": "N"}),
    ],
    bad=lambda: [
        BadInput((grid(2, 3), grid(2, 4)), {"dim": 1, "name": None}, DimensionError, "to be equal size"),
        BadInput(
            (grid(2, 3), grid(2, 3)), {"dim": 1, "name": "N"}, DimensionError, "taken already",
            names=(("N", "C"), ("N", "C")),
        ),
    ],
    properties=frozenset({"linear"}),
batch=batching.stack,
    small="stack", quantized=JOINED,
)  # fmt: skip

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", out=True)
@reads_apart
def cat(tensors: Sequence[Tensor], dim: Dim = 0) -> Tensor:
    """Put tensors one after another along a dim; names unify, other sizes are equal.

    An empty tensor of one dim goes with any other, as in PyTorch.

    >>> import workbench as wb
    >>> wb.cat([wb.zeros(N=2, C=3), wb.zeros(N=1, C=3)], "N").shape
    (3, 3)
    """
    several = _several(tensors, "cat")
    # What is no tensor counts as rank 0, and is refused further down.
    ranks = {len(one.payload.shape) if isinstance(one, Value) else 0 for one in several}
    if len(ranks) == 1 and 0 not in ranks:  # as nearly always: nothing to look after
        (rank,) = ranks
        plain = type(dim) is int and -rank <= dim < rank
        return ops.cat(*several, dim=dim % rank if plain else dim_index(dims_of(several[0]), dim, "cat"))
    for place, one in enumerate(several):
        if not isinstance(one, Value):
            raise TypeError(
                f"cat(): expected Tensor as element {place} in argument 0, but got {called(one)}: {mending(one)}"
            )
    # What counts for sizes are tensors other than the empty one that PyTorch lets stand for "nothing yet".
    fitting = [one for one in several if not _is_nothing(one)] or several
    for one in fitting:
        if not dims_of(one).sizes:
            raise DimensionError(
                "zero-dimensional tensor cannot be concatenated", op="cat", fix="wb.stack(tensors)"
            )
    at = dim_index(dims_of(fitting[0]), dim, "cat")
    sizes = dims_of(fitting[0]).sizes
    empty = (*sizes[:at], 0, *sizes[at + 1 :])
    # The empty ones take part all the same: they count for the type of the result, and get gradients.
    return ops.cat(
        *[ops.reshape(one, sizes=empty) if _is_nothing(one) and sizes != (0,) else one for one in several],
        dim=at,
    )


def _is_nothing(one: Any) -> bool:
    """Say whether a tensor is the one without values that goes with any."""
    sizes = dims_of(one).sizes
    return len(sizes) == 1 and sizes[0] == 0


def _several(tensors: Any, op: str) -> list[Any]:
    """Return a list of tensors; refuse none, and what is no list."""
    if isinstance(tensors, Value):
        raise TypeError(f"{op}(): argument 'tensors' must be tuple of Tensors, not Tensor")
    several = list(tensors)
    if not several:
        raise DimensionError("expected a non-empty list of tensors", op=op)
    return several


@offered("workbench", out=True)
def concat(tensors: Sequence[Tensor], dim: Dim = 0) -> Tensor:
    """Put tensors one after another: `cat` by another name."""
    return cat(tensors, dim)


@offered("workbench", out=True)
def concatenate(tensors: Sequence[Tensor], dim: Dim = 0) -> Tensor:
    """Put tensors one after another: `cat` by another name."""
    return cat(tensors, dim)


@offered("workbench", out=True)
def stack(tensors: Sequence[Tensor], dim: int = 0, name: str | None = None) -> Tensor:
    """Put tensors of equal sizes one after another along a new dim, under `name` if given.

    >>> import workbench as wb
    >>> wb.stack([wb.zeros(C=3), wb.zeros(C=3)], name="N").names
    ('N', 'C')
    """
    several = _several(tensors, "stack")
    first = several[0]
    ndim = len(first.payload.shape) if isinstance(first, Value) else len(dims_of(first).sizes)
    if not -ndim - 1 <= dim <= ndim:
        raise DimensionIndexError(
            f"Dimension out of range (expected to be in range of [{-ndim - 1}, {ndim}], but got {dim})",
            op="stack",
            operands=(dims_of(several[0]).operand(),),
        )
    return ops.stack(*several, dim=dim % (ndim + 1), name=name)


@offered("workbench", out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors side by side: along the second dim, or the first of vectors."""
    several = atleast_1d(_several(tensors, "hstack"))
    return cat(several, 0 if len(dims_of(several[0]).sizes) == 1 else 1)


@offered("workbench", out=True)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors below each other: along the first dim; vectors become rows.

    >>> import workbench as wb
    >>> wb.vstack([wb.zeros(3), wb.zeros(2, 3)]).shape
    (3, 3)
    """
    return cat(atleast_2d(_several(tensors, "vstack")), 0)


@offered("workbench", out=True)
def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors below each other: `vstack` by another name."""
    return vstack(tensors)


@offered("workbench", out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors behind each other: along the third dim."""
    return cat(atleast_3d(_several(tensors, "dstack")), 2)


@offered("workbench", out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors side by side: along the second dim; vectors and numbers become columns."""
    columns = [
        ops.reshape(one, sizes=(dims_of(one).numel, 1)) if len(dims_of(one).sizes) <= 1 else one
        for one in _several(tensors, "column_stack")
    ]
    return hstack(columns)


@offered("workbench")
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as rows.

    >>> import workbench as wb
    >>> wb.block_diag(wb.tensor([[1]]), wb.tensor([2, 3])).tolist()
    [[1, 0, 0], [0, 2, 3]]
    """
    for i, one in enumerate(tensors):
        if len(dims_of(one).sizes) > 2:
            raise DimensionError(
                "block_diag(): Input tensors must have 2 or fewer dimensions. Input "
                f"{i} has {len(dims_of(one).sizes)} dimensions",
                op="block_diag",
                operands=(dims_of(one).operand(f"tensors[{i}]"),),
            )
    # Rows of different blocks have nothing in common but the place: names would clash.
    blocks = [ops.rename(atleast_2d(one), names=None) for one in tensors]
    widths = [dims_of(one).sizes[1] for one in blocks]
    total = sum(widths)
    rows = []
    for i, one in enumerate(blocks):
        before = sum(widths[:i])
        rows.append(ops.pad(one, padding=((0, 0), (before, total - before - widths[i])), value=0.0))
    return ops.cat(*rows, dim=0) if rows else new(np.zeros((1, 0), np.float32))


@offered("workbench")
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Stretch vectors to the grid of all of their values: as many tensors, each varying along its own dim.

    ``indexing="xy"`` exchanges the first two dims. The dims have the names of the vectors.

    >>> import workbench as wb
    >>> x, y = wb.meshgrid(wb.arange(2), wb.arange(3))
    >>> x.tolist(), y.shape
    ([[0, 0, 0], [1, 1, 1]], (2, 3))
    """
    several: list[Any] = (
        list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)
    )
    if not several:
        raise DimensionError("meshgrid expects a non-empty TensorList", op="meshgrid")
    if indexing not in ("ij", "xy"):
        raise DimensionError(
            f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing!r}', op="meshgrid"
        )
    for one in several:
        if len(dims_of(one).sizes) > 1:
            raise DimensionError(
                f"meshgrid: Expected 0D or 1D tensor in the tensor list but got: {dims_of(one)}",
                op="meshgrid",
            )
        # Nothing is computed, so that nothing is promoted either: PyTorch refuses.
        if one.payload.dtype != several[0].payload.dtype:
            raise DTypeError("meshgrid expects all tensors to have the same dtype")
    several = [atleast_1d(one) for one in several]
    exchanged = indexing == "xy" and len(several) > 1
    if exchanged:
        # "xy" is "ij" of the first two exchanged, given back in the order in which they came.
        several[:2] = several[1::-1]
    sizes = tuple(dims_of(one).sizes[0] for one in several)
    names = tuple(dims_of(one).names[0] for one in several)
    # Before the views are made, whose names would clash one op later with a worse message.
    _check_axes(several)
    grids = []
    for i, one in enumerate(several):
        own = (*(1,) * i, sizes[i], *(1,) * (len(sizes) - i - 1))
        grid = ops.expand(ops.reshape(one, sizes=own), sizes=sizes)
        grids.append(ops.rename(grid, names=names if any(names) else None))
    if exchanged:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def _check_axes(several: Sequence[Any]) -> None:
    """Refuse vectors whose dims are called the same: in the grid they are two dims."""
    names = [dims_of(one).names[0] for one in several]
    for at, name in enumerate(names):
        if name is not None and name in names[:at]:
            raise DimensionError(
                f"meshgrid: {name!r} would stand twice among the dims {names} of the grid: each vector is a dim of "
                "its own.",
                op="meshgrid",
                operands=tuple(
                    dims_of(one).operand(f"tensor {i}", [0] * (names[i] == name))
                    for i, one in enumerate(several)
                ),
                fix=f"rename one of them, or both: tensor.rename({name}='{name}_{at}')",
            )


@offered("workbench")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one value of each vector, as rows, the last one varying fastest.

    >>> import workbench as wb
    >>> wb.cartesian_prod(wb.tensor([1, 2]), wb.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    for one in tensors:
        if len(dims_of(one).sizes) != 1:
            raise DimensionError(
                f"Expect a 1D vector, but got shape {list(dims_of(one).sizes)}",
                op="cartesian_prod",
                operands=(dims_of(one).operand(),),
            )
    if len(tensors) == 1:
        # As it is, names and all, as in PyTorch.
        return tensors[0]
    # Rows are combinations: no vector's name says what they are.
    grids = meshgrid(*[ops.rename(one, names=None) if one._names else one for one in tensors])
    return stack([ops.reshape(one, sizes=(dims_of(one).numel,)) for one in grids], 1)


@offered("workbench")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` values of a vector, as rows, in the order of `itertools`.

    >>> import workbench as wb
    >>> wb.combinations(wb.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    dims = dims_of(input)
    if len(dims.sizes) != 1:
        raise DimensionError(
            f"Expect a 1D vector, but got shape {list(dims.sizes)}",
            op="combinations",
            operands=(dims.operand(),),
        )
    if r < 0:
        raise DimensionError(f"Expect a non-negative number, but got {r}", op="combinations")
    if r == 0:
        return new(np.empty(0, input.payload.dtype))
    choose = combinations_with_replacement if with_replacement else _combinations
    # Reshaped, as without any combination NumPy would see no second dim.
    rows = np.array([*choose(range(int(dims.sizes[0])), r)], np.int64).reshape(-1, r)
    return ops.pick(ops.rename(input, names=None), new(rows), dims=(0,))
