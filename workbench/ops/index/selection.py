"""Entries of a dim by a vector of indices, values of the flat tensor, values where a mask is true: read and written."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from workbench.base.dims import Dims, broadcast, dim_index, unify_along, unify_names
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.numbers import fitted
from workbench.core.dispatch import numbers
from workbench.core.index_types import check_index
from workbench.core.op import ops
from workbench.core.outcome import seen_dims
from workbench.core.overlap import reads_apart
from workbench.core.typing import Dim, Operand, Scalar, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.index.indexing import index_put, index_tensor
from workbench.ops.offer import offered

# ------------------------------------------------------------------------------------ entries of one dim


def _whole_numbers(op: str, index: Any, types: Literal["int64", "int32/int64"]) -> Any:
    """Return an index as a tensor; refuse a tensor of another type than `types`."""
    if not isinstance(index, Value):
        return index_tensor(index)
    check_index(op, index, types)
    return index


def _vector(
    input: Any,
    dim: int | str,
    index: Any,
    op: str,
    types: Literal["int64", "int32/int64"] = "int32/int64",
    negative: bool = False,
) -> tuple[int, Any]:
    """Return the position of `dim` and the index as a vector; refuse what is none."""
    at = dim_index(dims_of(input), dim, op)
    index = _whole_numbers(op, index, types)
    if len(dims_of(index).sizes) > 1 or index.payload.dtype.kind == "b":
        raise DimensionIndexError(
            f"{op}(): Index is supposed to be a vector of integers, but got dim: {len(dims_of(index).sizes)} and type "
            f"{index.payload.dtype}",
            op=op,
            operands=(
                dims_of(input).operand("input", [at] if dims_of(input).sizes else []),
                dims_of(index).operand("index"),
            ),
        )
    array = index.payload
    if not negative and isinstance(array, np.ndarray) and array.size and array.min() < 0:
        raise DimensionIndexError(
            f"{op}(): index {int(array.min())} is out of range: it counts from 0", op=op
        )
    return at, index if dims_of(index).sizes else ops.reshape(index, sizes=(1,))


def _at_least_one(value: Any) -> Any:
    return value if dims_of(value).sizes else ops.reshape(value, sizes=(1,))


@offered(out="exact")
def index_select(input: Tensor, dim: Dim, index: Tensor) -> Tensor:
    """Pick entries along one dim by a vector of indices; the dim keeps its name, or takes the index's.

    >>> import workbench as wb
    >>> wb.zeros(N=4, C=3).index_select("N", wb.tensor([3, 0])).shape
    (2, 3)
    """
    at, index = _vector(input, dim, index, "index_select")
    if dims_of(input).sizes:
        return ops.pick(input, index, dims=(at,))
    return ops.reshape(ops.pick(_at_least_one(input), index, dims=(0,)), sizes=())


@offered(in_place="Tensor")
def index_fill(input: Tensor, dim: Dim, index: Tensor, value: Operand) -> Tensor:
    """A copy of `input` in which entries of a dim are one number (or that of a tensor without dims).

    >>> import workbench as wb
    >>> wb.zeros(2, 3).index_fill(1, wb.tensor([0, 2]), 1.0).tolist()
    [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    at, index = _vector(input, dim, index, "index_fill", "int64", negative=True)
    if isinstance(value, Value):
        if dims_of(value).sizes:
            raise DimensionError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{len(dims_of(value).sizes)} dimension(s).",
                op="index_fill",
                operands=(dims_of(input).operand("input"), dims_of(value).operand("value")),
            )
        if value.payload.dtype != input.payload.dtype:
            value = ops.to(value, dtype=input.payload.dtype)
        # By a mask, so that the value's gradient counts an entry once that `index` names twice.
        own = _at_least_one(input)
        sizes = dims_of(own).sizes
        mask = ops.index_put(new(np.zeros(sizes[at], np.bool_)), True, index, dims=(0,))
        mask = ops.reshape(mask, sizes=(sizes[at], *(1,) * (len(sizes) - at - 1)))
        filled = ops.where(mask, value, own)
        return filled if dims_of(input).sizes else ops.reshape(filled, sizes=())
    if isinstance(value, complex) and input.payload.dtype.kind != "c":
        raise DTypeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return _put(input, at, index, fitted("index_fill", value, input.payload.dtype))


def _put(input: Any, at: int, index: Any, value: Any) -> Tensor:
    """Write at entries of a dim; a tensor without dims counts as one of a single entry."""
    if dims_of(input).sizes:
        return ops.index_put(input, value, index, dims=(at,))
    return ops.reshape(ops.index_put(_at_least_one(input), value, index, dims=(0,)), sizes=())


def _source(input: Any, at: int, index: Any, source: Any, op: str) -> Any:
    """Return what is written to entries of a dim; it has the sizes of what is there."""
    if source.payload.dtype != input.payload.dtype:
        raise DTypeError(f"{op}_(): self and source expected to have the same dtype")
    own, given = dims_of(_at_least_one(input)).sizes, dims_of(_at_least_one(source)).sizes
    expected = (*own[:at], dims_of(index).sizes[0], *own[at + 1 :])
    if given != expected:
        raise DimensionError(
            f"Source/destination tensor must have same slice shapes: expected a source of shape {list(expected)}, got "
            f"{list(given)}",
            op=op,
            operands=(dims_of(input).operand("input"), dims_of(source).operand("source")),
        )
    if source.payload.shape and input.payload.shape:
        there, new_ones = seen_dims((input, source))
        unify_along(op, there, new_ones, at, ("input", "source"))
        unify_names(op, Dims(new_ones.names[at : at + 1], new_ones.sizes[at : at + 1]), dims_of(index))
    return _at_least_one(source)


@offered(out="exact", in_place="Tensor")
@reads_apart
def index_copy(input: Tensor, dim: Dim, index: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` in which entries of a dim are those of `source`.

    >>> import workbench as wb
    >>> wb.zeros(3).index_copy(0, wb.tensor([2, 0]), wb.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    at, index = _vector(input, dim, index, "index_copy", "int64")
    return _put(input, at, index, _source(input, at, index, source, "index_copy"))


@offered(out="exact", in_place="Tensor")
@reads_apart
def index_add(input: Tensor, dim: Dim, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """A copy of `input` to which entries of `source`, times alpha, are added at entries of a dim.

    >>> import workbench as wb
    >>> wb.zeros(3).index_add(0, wb.tensor([2, 2]), wb.ones(2), alpha=2)
    tensor([0., 0., 4.])
    """
    at, index = _vector(input, dim, index, "index_add")
    source = _source(input, at, index, source, "index_add")
    if alpha != 1:
        source = ops.mul(source, alpha)
    own = dims_of(input).sizes
    added = ops.pick_add(source, index, dims=(at,), sizes=own or (1,))
    return ops.add(input, added if own else ops.reshape(added, sizes=()))


# ---------------------------------------------------------------------------------------- flat positions


@offered(out="exact")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Values of the tensor taken as flat, in the shape (and with the names) of `index`.

    >>> import workbench as wb
    >>> wb.tensor([[3, 4], [5, 6]]).take(wb.tensor([0, -1])).tolist()
    [3, 6]
    """
    return ops.pick(_flat(input), _whole_numbers("take", index, "int64"), dims=(0,))


def _flat(input: Any) -> Any:
    return ops.rename(ops.reshape(input, sizes=(dims_of(input).numel,)), names=None)


@offered(in_place="Tensor")
@reads_apart
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input`, taken as flat, with `source` written (or, with `accumulate`, added) at positions.

    >>> import workbench as wb
    >>> wb.zeros(2, 2).put(wb.tensor([1, 2]), wb.tensor([5.0, 6.0])).tolist()
    [[0.0, 5.0], [6.0, 0.0]]
    """
    index = _whole_numbers("put", index, "int64")
    own, at = dims_of(input), _flat(index)
    if dims_of(source).numel != dims_of(at).numel:
        raise DimensionError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{dims_of(source).numel}, index.numel() = {dims_of(at).numel}",
            op="put",
            operands=(own.operand("input"), dims_of(source).operand("source")),
        )
    seen = seen_dims((index, source))
    if len(seen[0].sizes) == len(seen[1].sizes):
        unify_names("put", seen[0], seen[1])  # values go to the indices one by one
    written = index_put(_flat(input), (at,), _flat(source), accumulate)
    names = own.names if any(own.names) else None
    return ops.rename(ops.reshape(written, sizes=own.sizes), names=names)


# ------------------------------------------------------------------------------------------------ masks


def _mask(mask: Any, op: str) -> Any:
    if mask.payload.dtype.kind != "b":
        raise DTypeError(
            f"{op}: expected BoolTensor for mask, got {mask.payload.dtype}: compare first, as x > 0"
        )
    return mask


@offered(out="exact")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The values where a mask is true, in row-major order, as one dim; mask and input broadcast.

    >>> import workbench as wb
    >>> x = wb.tensor([[1, -2], [-3, 4]])
    >>> x.masked_select(x > 0)
    tensor([1, 4])
    """
    together = broadcast("masked_select", dims_of(input), dims_of(_mask(mask, "masked_select"))).sizes
    where = np.flatnonzero(np.broadcast_to(numbers(mask), together))
    return ops.pick(_flat(ops.expand(input, sizes=together)), new(where), dims=(0,))


@offered(in_place="Tensor")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` in which the values where a mask is true are those of `source`, one after another.

    Mask and input broadcast. Raises `DimensionError` where `source` has fewer values than the mask asks for.

    >>> import workbench as wb
    >>> wb.zeros(3).masked_scatter(wb.tensor([True, False, True]), wb.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 2.])
    """
    if input.payload.dtype != source.payload.dtype:
        raise DTypeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.payload.dtype} and "
            f"{source.payload.dtype}"
        )
    together = broadcast("masked_scatter", dims_of(input), dims_of(_mask(mask, "masked_scatter")))
    where = np.flatnonzero(np.broadcast_to(numbers(mask), together.sizes))
    if dims_of(source).numel < len(where):
        raise DimensionError(
            f"masked_scatter: source has {dims_of(source).numel} values and the mask asks for {len(where)}",
            op="masked_scatter",
            operands=(
                dims_of(input).operand("input"),
                dims_of(mask).operand("mask"),
                dims_of(source).operand("source"),
            ),
        )
    seen = seen_dims((input, source))
    if len(seen[0].sizes) == len(seen[1].sizes):
        unify_names("masked_scatter", seen[0], seen[1])  # values are taken in the order of the dims
    values = ops.index(_flat(source), key=(slice(len(where)),))
    written = ops.index_put(_flat(ops.expand(input, sizes=together.sizes)), values, new(where), dims=(0,))
    names = together.names if any(together.names) else None
    return ops.rename(ops.reshape(written, sizes=together.sizes), names=names)
