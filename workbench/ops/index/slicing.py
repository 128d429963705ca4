"""Parts of a tensor along one dim: selected, narrowed, sliced, split. All of them are views by basic indexing."""

from __future__ import annotations

import operator
from builtins import slice as _slice
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_places
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.symbolic_size import SymbolicSize, whole
from workbench.core.dispatch import numbers
from workbench.core.index_types import check_index
from workbench.core.op import ops
from workbench.core.typing import Dim, Size, Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.index.indexing import index_dims
from workbench.ops.offer import offered
from workbench.ops.shape.movement import copying


def _along(dim: int, one: Any) -> tuple[Any, ...]:
    """Return the key that has `one` at position `dim` and takes all of the dims before."""
    return (*(_slice(None),) * dim, one)


def _dim(input: Any, dim: int | str, op: str) -> int:
    """Return the position of a dim of a tensor that has any."""
    ndim = len(input.payload.shape)
    if type(dim) is int and -ndim <= dim < ndim:
        return dim + ndim if dim < 0 else dim
    dims = dims_of(input)
    if not dims.sizes:
        raise DimensionIndexError(f"{op}() cannot be applied to a 0-dim tensor.", op=op)
    return dim_index(dims, dim, op)


def _whole(number: Any, what: str, op: str) -> Any:
    if isinstance(number, SymbolicSize):
        return number
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{op}(): {what} must be a whole number, got {number!r}.") from None


def _check_whole_numbers(value: Any, most: int, what: str, op: str) -> None:
    """Refuse a tensor that has more than `most` dims, or other values than whole numbers."""
    if len(dims_of(value).sizes) > most:
        raise DimensionError(
            f"{what} must be a tensor of whole numbers with {'no dims' if not most else 'at most one dim'}, but has "
            f"{len(dims_of(value).sizes)} dims.",
            op=op,
            operands=(dims_of(value).operand(what),),
        )
    if value.payload.dtype.kind not in "iu":
        raise DTypeError(
            f"{op}(): {what} must be a tensor of whole numbers, got {value.payload.dtype}. Cast it: "
            f"{as_places(what, value.payload.dtype)}"
        )


@offered()
def select(input: Tensor, dim: Dim, index: int) -> Tensor:
    """One entry of a dim, which goes with its name: a view.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3).select("C", -1).names
    ('N',)
    """
    return ops.index(input, key=_selecting(input, dim, index))


offered("workbench")(copying(select))


def _selecting(input: Any, dim: int | str, index: int) -> tuple[Any, ...]:
    at = _dim(input, dim, "select")
    size, index = dims_of(input).sizes[at], _whole(index, "index", "select")
    if not -size <= index < size:
        raise DimensionIndexError(
            f"select(): index {index} out of range for tensor of size {list(dims_of(input).sizes)} at dimension {at}",
            operands=(dims_of(input).operand("input", [at]),),
        )
    return _along(at, index)


@offered()
def select_scatter(input: Tensor, src: Tensor, dim: Dim, index: int) -> Tensor:
    """A copy of `input` in which one entry of a dim is replaced by `src`."""
    return _write(input, src, _selecting(input, dim, index), "select_scatter")


@offered("workbench")
def slice(
    input: Tensor, dim: Dim = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The entries of a dim from `start` up to `end`, every `step`-th, as Python slices them: a view.

    >>> import workbench as wb
    >>> wb.slice(wb.arange(6), 0, 1, -1, 2)
    tensor([1, 3])
    """
    return ops.index(input, key=_slicing(input, dim, start, end, step, "slice"))


offered("workbench")(copying(slice))


def _slicing(
    input: Any, dim: int | str, start: int | None, end: int | None, step: int, op: str
) -> tuple[Any, ...]:
    at = _dim(input, dim, op)
    if step <= 0:
        raise ValueError(f"{op}: slice step must be positive, got {step}")
    return _along(at, _slice(start, end, step))


@offered()
def slice_scatter(
    input: Tensor, src: Tensor, dim: Dim = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of `input` in which what `slice` shows is replaced by `src`."""
    return _write(input, src, _slicing(input, dim, start, end, step, "slice_scatter"), "slice_scatter")


def _write(input: Any, src: Any, key: tuple[Any, ...], op: str) -> Tensor:
    part = index_dims(dims_of(input), key)
    if part.sizes != dims_of(src).sizes:
        raise DimensionError(
            f"expected src to have a size equal to the slice of self. src size = {list(dims_of(src).sizes)}, slice "
            f"size = {list(part.sizes)}",
            op=op,
            operands=(dims_of(input).operand("input"), dims_of(src).operand("src")),
        )
    return ops.index_set(input, src, key=key)


@offered()
def narrow(input: Tensor, dim: Dim, start: int | Tensor, length: int) -> Tensor:
    """The `length` entries of a dim from `start` on; both are checked. A view.

    >>> import workbench as wb
    >>> wb.arange(6).narrow(0, 2, 3)
    tensor([2, 3, 4])
    """
    at = _dim(input, dim, "narrow")
    size = dims_of(input).sizes[at]
    if isinstance(start, Value):
        _check_whole_numbers(start, 0, "start", "narrow")
        start = int(numbers(start))
    begin = _whole(start, "start", "narrow")
    operand = dims_of(input).operand("input", [at])
    if length < 0:
        raise DimensionError("narrow(): length must be non-negative.", op="narrow", operands=(operand,))
    if not -size <= begin <= size:
        raise DimensionIndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {begin})",
            op="narrow",
            operands=(operand,),
        )
    begin = begin + size if begin < 0 else begin
    if begin + length > size:
        raise DimensionError(
            f"start ({begin}) + length ({length}) exceeds dimension size ({size}).",
            op="narrow",
            operands=(operand,),
        )
    return ops.index(input, key=_along(at, _slice(begin, begin + length)))


offered()(copying(narrow))


@offered()
def unbind(input: Tensor, dim: Dim = 0) -> tuple[Tensor, ...]:
    """Every entry of a dim by itself: a tuple of views.

    >>> import workbench as wb
    >>> [one.names for one in wb.zeros(N=2, C=3).unbind("N")]
    [('C',), ('C',)]
    """
    at = _dim(input, dim, "unbind")
    before = (_slice(None),) * at
    return tuple([ops.index(input, key=(*before, i)) for i in range(input.payload.shape[at])])


offered("workbench")(copying(unbind))


def _cut(input: Any, at: int, bounds: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
    index, before = ops.index, (_slice(None),) * at
    return tuple([index(input, key=(*before, _slice(start, end))) for start, end in bounds])


_PARTS = {"sections": "indices_or_sections", "indices": "indices_or_sections"}


@offered(aliases=["unsafe_split"], words={"split_size": "split_size_or_sections"})
def split(tensor: Tensor, split_size_or_sections: Size, dim: Dim = 0) -> tuple[Tensor, ...]:
    """Cut a dim into parts of a size (the last may be smaller), or of the sizes listed: a tuple of views.

    >>> import workbench as wb
    >>> [part.tolist() for part in wb.split(wb.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    if not hasattr(split_size_or_sections, "__index__"):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    size = whole(split_size_or_sections)
    at = _dim(tensor, dim, "split")
    length = dims_of(tensor).sizes[at]
    if size < 0 or (size == 0 and length):
        raise DimensionError(
            f"split expects split_size be non-negative, and positive where the dim is not empty, but got {size}",
            op="split",
            operands=(dims_of(tensor).operand("tensor", [at]),),
        )
    # An empty dim is one empty part.
    count = max(-(-length // size), 1) if size else 1
    return _cut(tensor, at, [(i * size, min((i + 1) * size, length)) for i in range(count)])


offered("workbench")(copying(split))


@offered(aliases=["unsafe_split_with_sizes"])
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: Dim = 0) -> tuple[Tensor, ...]:
    """Cut a dim into parts of the given sizes, which together are all of it: a tuple of views."""
    at = _dim(input, dim, "split_with_sizes")
    length = dims_of(input).sizes[at]
    sizes = [whole(size) for size in split_sizes]
    if sum(sizes) != length or any(size < 0 for size in sizes):
        raise DimensionError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {at}) "
            f"and to have only non-negative entries, but got split_sizes={sizes}",
            op="split_with_sizes",
            operands=(dims_of(input).operand("input", [at]),),
        )
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return _cut(input, at, [(end - size, end) for end, size in zip(ends, sizes, strict=True)])


offered("workbench")(copying(split_with_sizes))


@offered(aliases=["unsafe_chunk"])
def chunk(input: Tensor, chunks: int, dim: Dim = 0) -> tuple[Tensor, ...]:
    """Cut a dim into at most `chunks` parts of equal size, the last one smaller: a tuple of views."""
    if chunks <= 0:
        raise DimensionError(f"chunk expects `chunks` to be greater than 0, got: {chunks}", op="chunk")
    at = _dim(input, dim, "chunk")
    length = input.payload.shape[at]
    # PyTorch gives as many parts as were asked for, where of a dim that is not empty there may be fewer.
    if not length:
        return _cut(input, at, [(0, 0)] * chunks)
    size = -(-length // chunks)
    if type(size) is int and type(length) is int:  # no size of a trace: nothing is left to check
        return _cut(input, at, [(start, min(start + size, length)) for start in range(0, length, size)])
    return split(input, size, at)


@offered(words=_PARTS)
def tensor_split(input: Tensor, indices_or_sections: Size | Tensor, dim: Dim = 0) -> tuple[Tensor, ...]:
    """Cut a dim before each of the given indices, or into as many parts, the first ones longer by one.

    >>> import workbench as wb
    >>> [part.tolist() for part in wb.arange(5).tensor_split(3)]
    [[0, 1], [2, 3], [4]]
    """
    at = _dim(input, dim, "tensor_split")
    length = dims_of(input).sizes[at]
    where = indices_or_sections
    if isinstance(where, Value):
        _check_whole_numbers(where, 1, "indices_or_sections", "tensor_split")
        check_index("tensor_split", where, "int64", "indices_or_sections")
        where = numbers(where).tolist()
    if isinstance(where, list | tuple):
        edges = [0, *(_whole(one, "each index", "tensor_split") for one in where)]
        # Python's slices settle what lies outside and what counts from the end.
        return _cut(input, at, [*zip(edges, [*edges[1:], length], strict=True)])
    sections = _whole(where, "indices_or_sections", "tensor_split")
    if sections <= 0:
        raise DimensionError(
            f"number of sections must be larger than 0, got {sections}",
            op="tensor_split",
            operands=(dims_of(input).operand("input", [at]),),
        )
    size, longer = divmod(length, sections)
    edges = [i * size + min(i, longer) for i in range(sections + 1)]
    return _cut(input, at, [*pairwise(edges)])


@offered(words=_PARTS)
def hsplit(input: Tensor, indices_or_sections: Size | Tensor) -> tuple[Tensor, ...]:
    """Cut the second dim (of one dim: that) at indices or into equal parts."""
    return _numpy_split(input, indices_or_sections, 1 if len(dims_of(input).sizes) > 1 else 0, 1, "hsplit")


@offered(words=_PARTS)
def vsplit(input: Tensor, indices_or_sections: Size | Tensor) -> tuple[Tensor, ...]:
    """Cut the first of at least two dims at indices or into equal parts."""
    return _numpy_split(input, indices_or_sections, 0, 2, "vsplit")


@offered(words=_PARTS)
def dsplit(input: Tensor, indices_or_sections: Size | Tensor) -> tuple[Tensor, ...]:
    """Cut the third dim at indices or into equal parts."""
    return _numpy_split(input, indices_or_sections, 2, 3, "dsplit")


def _numpy_split(input: Any, where: Any, dim: int, least: int, op: str) -> tuple[Any, ...]:
    dims = dims_of(input)
    if len(dims.sizes) < least:
        raise DimensionError(
            f"{op} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a tensor "
            f"with {len(dims.sizes)} dimensions!",
            op=op,
            operands=(dims.operand(),),
        )
    # Only a number of parts has to divide the dim; places may stand anywhere.
    sections = where if hasattr(where, "__index__") and not isinstance(where, Value) else 1
    if sections <= 0 or dims.sizes[dim] % sections:
        raise DimensionError(
            f"{op} attempted to split along dimension {dim}, but the size of the dimension {dims.sizes[dim]} is not "
            f"divisible by the split_size {where}!",
            operands=(dims.operand("input", [dim]),),
            fix=f"input.tensor_split({where}, {dim})",
        )
    return tensor_split(input, where, dim)
