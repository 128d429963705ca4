"""Which values there are and where: distinct values, places in a sorted sequence, membership, non-zeros."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.dtypes import as_places
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.dispatch import numbers
from workbench.core.dtype_rules import PREDICATE
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import COMPARED
from workbench.core.typing import Dim, Operand, Size, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.index.indexing import getitem
from workbench.ops.offer import offered

NOTHING = Saves((), output=False)

# ------------------------------------------------------------------------------- places in a sequence


def _search_dims(sequence: Dims, values: Dims, right: bool, narrow: bool) -> Dims:
    if len(sequence.sizes) == 0:
        raise DimensionError(
            "searchsorted(): the sorted sequence needs at least one dim",
            op="searchsorted",
            operands=(sequence.operand("sorted_sequence"), values.operand("input")),
        )
    if len(sequence.sizes) > 1 and sequence.sizes[:-1] != values.sizes[:-1]:
        raise DimensionError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sequence.sizes)} and input value "
            f"tensor {list(values.sizes)}",
            op="searchsorted",
            operands=(sequence.operand("sorted_sequence"), values.operand("input")),
        )
    return values


def _search(sequence: Any, values: Any, right: bool, narrow: bool) -> Any:
    side: Any = "right" if right else "left"
    kind = np.int32 if narrow else np.int64
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side)).astype(kind)
    out = np.empty(values.shape, kind)
    # NumPy searches one sequence at a time.
    for place in np.ndindex(sequence.shape[:-1]):
        out[place] = np.searchsorted(sequence[place], values[place], side)
    return out


SEARCHSORTED = Op(
    name="searchsorted",
    doc="Where values would be put into a sorted sequence, or each into its own, so that it stays sorted.",
    equation="s[y - 1] < x ≤ s[y]; with right, s[y - 1] ≤ x < s[y]",
    reference="Knuth 1998, 6.2.1",
    dims=_search_dims,
    rule="as the values",
    dtype=DTypeRule(
        "int64, or int32 where asked",
        lambda dtype: dtype,
        lambda dtype, params: np.dtype(np.int32 if params["narrow"] else np.int64),
    ),
    forward=_search,
    vjp=NOT_DIFFERENTIABLE,
    saves=NOTHING,
    cost=lambda dims, out, **params: out.numel * float(np.log2(dims[0].sizes[-1] + 1)),
    samples=lambda: [
        Sample((np.sort(grid(5)), grid(3, 4, seed=1)), {"right": False, "narrow": False}, (None, ("N", "C"))),
        Sample((np.sort(grid(3, 5)), grid(3, 4, seed=1)), {"right": True, "narrow": True}),
    ],
    bad=lambda: [
        BadInput((grid(2, 5), grid(3, 4)), {"right": False, "narrow": False}, DimensionError, "must match")
    ],
    quantized=COMPARED,
)

ISIN = Op(
    name="isin",
    doc="Whether each value is one of the test values.",
    equation="y_i = ∃ j: x_i = t_j",
    dims=lambda x, test, invert: x,
    rule="as the elements",
    dtype=PREDICATE,
    forward=lambda x, test, invert: np.isin(x, test, invert=invert),
    vjp=NOT_DIFFERENTIABLE,
    saves=NOTHING,
    cost=lambda dims, out, **params: float(dims[0].numel + dims[1].numel),
    samples=lambda: [
        Sample((np.arange(6.0).reshape(2, 3), np.array([1.0, 4.0])), {"invert": False}, (("N", "C"), None)),
        Sample((np.arange(3), 1), {"invert": True}),
    ],
    quantized=COMPARED,
)

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", out="exact")
def searchsorted(
    sorted_sequence: Tensor,
    input: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where the values of `input` would be put into the sorted sequence: the first place, or with `right` the last.

    The sequence is a vector, or has the leading dims of `input` and one sequence for each. `side` is
    another word for `right`; `sorter` are the indices that sort a sequence that is not.

    >>> import workbench as wb
    >>> wb.searchsorted(wb.tensor([1.0, 3.0, 5.0]), wb.tensor([3.0, 4.0]))
    tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left and right"
        )
    if sorter is not None:
        check_index("searchsorted", sorter, "int64", "sorter")
        sorted_sequence = ops.gather(sorted_sequence, sorter, dim=len(dims_of(sorted_sequence).sizes) - 1)
    # In the type of the sequence: as a float64, 0.1 would not find the float32 that is written so.
    values = input if isinstance(input, Value) else new(np.asarray(input, sorted_sequence.payload.dtype))
    return SEARCHSORTED(sorted_sequence, values, right=right or side == "right", narrow=out_int32)


@offered("workbench", out="exact")
def bucketize(input: Operand, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Index of the bucket of each value between sorted boundaries: b[y - 1] < x ≤ b[y].

    With `right`, b[y - 1] ≤ x < b[y].

    >>> import workbench as wb
    >>> wb.bucketize(wb.tensor([0.5, 3.0, 9.0]), wb.tensor([1.0, 3.0, 5.0]))
    tensor([0, 1, 3])
    """
    if len(dims_of(boundaries).sizes) != 1:
        raise DimensionError(
            f"boundaries tensor must be 1 dimension, but got dim({len(dims_of(boundaries).sizes)})",
            op="bucketize",
            operands=(dims_of(boundaries).operand("boundaries"),),
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@offered(out="exact")
def isin(
    elements: Operand, test_elements: Operand, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is one of the test elements; with `invert`, whether it is none.

    >>> import workbench as wb
    >>> wb.isin(wb.tensor([1, 2, 3]), wb.tensor([2, 5]))
    tensor([False,  True, False])
    """
    values = elements if isinstance(elements, Value) else new(np.asarray(elements))
    return ISIN(values, test_elements, invert=invert)


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@offered()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Indices (int64) of the values that are not zero, one a row; with `as_tuple` one vector a dim.

    >>> import workbench as wb
    >>> wb.tensor([[0, 5], [7, 0]]).nonzero()
    tensor([[0, 1],
            [1, 0]])
    """
    given = numbers(input)
    array = given.dequantize() if isinstance(given, QuantizedArray) else np.asarray(given)
    # np.nonzero takes no array without dims.
    found = (
        np.nonzero(array.reshape(1) if array.ndim == 0 and as_tuple else array)
        if array.ndim or as_tuple
        else ()
    )
    if as_tuple:
        return tuple(new(one.astype(np.int64)) for one in found)
    if array.ndim == 0:
        return new(np.zeros((int(bool(array)), 0), np.int64))
    return new(np.ascontiguousarray(np.stack(found, axis=1).astype(np.int64)))


@offered()
def argwhere(input: Tensor) -> Tensor:
    """Indices (int64) of the values that are not zero, one a row."""
    return nonzero(input)


def _given(
    values: Tensor, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool
) -> Tensor | tuple[Tensor, ...]:
    """Return what was asked for: the values alone, or a tuple."""
    asked = [values]
    if return_inverse:
        asked.append(new(inverse.astype(np.int64)))
    if return_counts:
        asked.append(new(counts.astype(np.int64)))
    return tuple(asked) if len(asked) > 1 else values


def _rows(input: Any, dim: int | str | None, name: str) -> tuple[Any, int]:
    """Return what is compared as a matrix, one row each, and the dim it lies along (-1 for all values)."""
    if input.dtype.is_quantized:
        raise DTypeError(
            f"{name} compares plain numbers, and was given codes, {input.dtype.name}: call .dequantize() for the "
            "numbers, or .int_repr() for the codes"
        )
    array = np.asarray(numbers(input))
    if dim is None:
        return array.reshape(-1, 1), -1
    at = dim_index(dims_of(input), dim, name)
    if array.ndim and array.shape[at] and array.size == 0:
        raise DimensionError(
            f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied",
            op=name,
            operands=(dims_of(input).operand("input"),),
        )
    moved = np.moveaxis(array, at, 0) if array.ndim else array.reshape(1)
    return moved.reshape(moved.shape[0], -1 if moved.size else 1), at


def _counted(values: Any) -> tuple[Any, Any, Any] | None:
    """Return where each distinct value stands, which of them each value is, and how often each occurs, by counting.

    None where there are few integers in a wide range, or no integers: those are sorted.
    """
    if values.dtype.kind not in "iub" or not values.size:
        return None
    least = int(values.min())
    span = int(values.max()) - least + 1
    if span > 4 * values.size + 1024:
        return None
    code = values.astype(np.int64) - least
    counts = np.bincount(code, minlength=span)
    distinct = np.flatnonzero(counts)
    place, rank = np.empty(span, np.int64), np.empty(span, np.int64)
    place[code] = np.arange(len(code))
    rank[distinct] = np.arange(len(distinct))
    return place[distinct], rank[code], counts[distinct]


def _chosen(input: Any, places: Any, at: int) -> Any:
    """Return the entries at `places` along dim `at`, or of all values in a row."""
    if at < 0:
        input, at = ops.reshape(input, sizes=(dims_of(input).numel,)), 0
    elif not dims_of(input).sizes:
        input = ops.reshape(input, sizes=(1,))
    return getitem(input, (*(slice(None),) * at, places))


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: Dim | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Dim | None = None,
) -> Tensor | tuple[Tensor, ...]: ...
@offered()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Dim | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct values in order, or with `dim` the distinct entries along it.

    With `return_inverse` also which of them each value is; with `return_counts` also how often each occurs.
    They come in order, whether `sorted` asks for it or not. No two NaN are the same.

    >>> import workbench as wb
    >>> wb.tensor([3, 1, 3]).unique(return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    rows, at = _rows(input, dim, "unique")
    if at < 0 and (found := _counted(rows[:, 0])) is not None:
        places, inverse, counts = found
        inverse = inverse.reshape(np.shape(numbers(input)))
        return _given(_chosen(input, places, at), inverse, counts, return_inverse, return_counts)
    # For lexsort the last key counts most.
    order = np.lexsort(rows.T[::-1]) if len(rows) else np.zeros(0, np.int64)
    ordered = rows[order]
    first = np.ones(len(rows), np.bool_)
    # NaN differs from itself: each counts once for itself, as in PyTorch.
    first[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(rows)))
    shape = np.shape(numbers(input)) if at < 0 else (len(rows),)
    return _given(
        _chosen(input, order[starts], at), inverse.reshape(shape), counts, return_inverse, return_counts
    )


@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: Dim | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Dim | None = None
) -> Tensor | tuple[Tensor, ...]: ...
@offered()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Dim | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The values without those equal to the one before them, or with `dim` the entries along it; see `unique`.

    >>> import workbench as wb
    >>> wb.tensor([3, 3, 1, 3]).unique_consecutive()
    tensor([3, 1, 3])
    """
    rows, at = _rows(input, dim, "unique_consecutive")
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(rows)))
    inverse = np.cumsum(first) - 1
    shape = np.shape(numbers(input)) if at < 0 else (len(rows),)
    return _given(_chosen(input, starts, at), inverse.reshape(shape), counts, return_inverse, return_counts)


@offered("workbench")
def unravel_index(indices: Tensor, shape: Size) -> tuple[Tensor, ...]:
    """Places in a tensor of sizes `shape` from places in its values in a row: one tensor of indices a dim.

    Raises IndexError for a place that is not there.

    >>> import workbench as wb
    >>> [one.tolist() for one in wb.unravel_index(wb.tensor([4, 1]), (2, 3))]
    [[1, 0], [1, 1]]
    """
    sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    sizes = tuple(int(size) for size in sizes)
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    given = indices.payload.dtype
    if given.kind not in "iu":
        raise DTypeError(
            f"expected 'indices' to be integer dtype, but got {given}. Cast them: {as_places('indices', given)}"
        )
    rows = np.asarray(numbers(indices))
    total = math.prod(sizes)
    if rows.size and (rows.min() < 0 or rows.max() >= total):
        raise IndexError(
            f"unravel_index: places from 0 to {total - 1} are in sizes {list(sizes)}, got {rows.tolist()}"
        )
    found = np.unravel_index(rows, sizes) if sizes else ()
    return tuple(new(np.asarray(one, np.int64), indices._names) for one in found)
