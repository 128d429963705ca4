"""Order along a dim: sorting, the largest few, the one of a given rank, the middle one, the most frequent one."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError
from workbench.core.contribution import ORDERED
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import CHOSEN
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.reduce.extremes import (
    PICKED,
    ValuesIndices,
    along,
    index_pair,
    ordered,
    overall,
    pick_all,
    pick_along,
    selection,
    selection_samples,
)


def _order(x: Any, dim: int, descending: bool) -> Any:
    """Return the indices that sort `x`; equal values keep their order, NaN is larger than all."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # Sorted backwards from the back, equal values still keep their order.
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)


def _sort(x: Any, dim: int, descending: bool) -> tuple[Any, Any]:
    row = along(x)
    indices = _order(row, dim, descending)
    return np.take_along_axis(row, indices, dim).reshape(x.shape), indices.reshape(x.shape)


def to_places(c: Call, g: Any, _: Any) -> tuple[Any, ...]:
    """The gradient goes back to where the values came from."""
    x = c.inputs[0]
    if g is None or not x.payload.shape:
        return (g,)
    return (ops.scatter_add(g, c.outs[1], dim=c.params["dim"], sizes=x.payload.shape),)


SORT = Op(
    name="sort",
    contribution=ORDERED,
    doc="Values along a dim in order, and where they stood; equal values keep their order.",
    equation="y_1 ≤ y_2 ≤ …, y_i = x_{index i}",
    dims=lambda x, dim, descending: (x, x),
    rule="names and sizes pass through, for values and indices",
    dtype=PICKED,
    forward=_sort,
    vjp=to_places,
    saves=Saves((), output=True, outputs=(1,)),
    cost=lambda dims, out, **params: out.numel * float(np.log2(max(out.sizes or (1,), default=1) + 1)),
    samples=lambda: [
        Sample((grid(3, 4),), {"dim": 1, "descending": False}, names=(("N", "C"),)),
        Sample((grid(4, 3, 2).transpose(1, 2, 0),), {"dim": 0, "descending": True}),
        Sample((grid(),), {"dim": 0, "descending": True}),
        Sample((grid(2, 0),), {"dim": 1, "descending": True}),
    ],
    outputs=2,
    quantized=CHOSEN,
)


def _isnan(x: Any) -> Any:
    return np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, np.bool_)


def _is_less(a: Any, b: Any) -> Any:
    """Compare, where NaN is larger than all."""
    return (a < b) | (_isnan(b) & ~_isnan(a))


def _is_equal(a: Any, b: Any) -> Any:
    """Compare, where NaN equals NaN."""
    return (a == b) | (_isnan(a) & _isnan(b))


def _topk_dims(x: Dims, k: int, dim: int, largest: bool) -> tuple[Dims, Dims]:
    size = x.sizes[dim] if x.sizes else 1
    if not 0 <= k <= size:
        raise DimensionError(
            f"selected index k out of range: k is {k}, there are {size} values along dim {dim}.",
            op="topk",
            operands=(x.operand("input", [dim] if x.sizes else []),),
        )
    out = Dims(x.names, tuple(k if i == dim else one for i, one in enumerate(x.sizes)))
    return out, out


def _topk(x: Any, k: int, dim: int, largest: bool) -> tuple[Any, Any]:
    row = along(x)
    size = row.shape[dim]
    if 0 < k < size:
        # Part first and sort the few. Of values equal to the last one taken, the first are taken.
        rank = size - k if largest else k - 1
        last = np.take(np.partition(row, rank, axis=dim), [rank], dim)
        before, equal = (_is_less(last, row) if largest else _is_less(row, last)), _is_equal(row, last)
        room = k - np.sum(before, axis=dim, keepdims=True)
        taken = before | (equal & (np.cumsum(equal, axis=dim) <= room))
        shape = (*row.shape[:dim], *row.shape[dim + 1 :], k)
        part = np.moveaxis(np.nonzero(np.moveaxis(taken, dim, -1))[-1].reshape(shape), -1, dim)
    else:
        line = np.arange(k).reshape((-1,) + (1,) * (row.ndim - 1 - dim))
        part = np.broadcast_to(line, (*row.shape[:dim], k, *row.shape[dim + 1 :]))
    few = np.take_along_axis(row, part, dim)
    order = _order(few, dim, largest)
    values, indices = np.take_along_axis(few, order, dim), np.take_along_axis(part, order, dim)
    if x.ndim == 0 and k == 1:
        return values.reshape(()), indices.reshape(())
    return values, indices


TOPK = Op(
    name="topk",
    contribution=ORDERED,
    doc="The k largest (or smallest) values along a dim in order, and where they stood.",
    equation="y_1 ≥ … ≥ y_k, y_i = x_{index i}",
    reference="Hoare 1961, algorithm 65: find",
    dims=_topk_dims,
    rule="names pass through, the dim has k entries",
    dtype=PICKED,
    forward=_topk,
    vjp=to_places,
    saves=Saves((), output=True, outputs=(1,)),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(3, 5),), {"k": 2, "dim": 1, "largest": True}, names=(("N", "C"),)),
        Sample((grid(5, 3),), {"k": 3, "dim": 0, "largest": False}),
        Sample((grid(5, 3),), {"k": 3, "dim": 1, "largest": False}),
        Sample((grid(),), {"k": 1, "dim": 0, "largest": True}),
    ],
    bad=lambda: [
        BadInput((grid(3, 5),), {"k": 6, "dim": 1, "largest": True}, DimensionError, "k out of range"),
    ],
    outputs=2,
    quantized=CHOSEN,
)

# ------------------------------------------------------------------------------------- of a given rank


def _nth(x: Any, dim: int, rank: int) -> Any:
    """Index of the value of a rank; of equal values that which stands there once they are sorted in order."""
    value = np.take(np.partition(x, rank, axis=dim), [rank], dim)
    equal = _is_equal(x, value)
    place = rank + 1 - np.sum(_is_less(x, value), axis=dim, keepdims=True)
    return np.argmax(equal & (np.cumsum(equal, axis=dim) == place), axis=dim)


def _middle(x: Any, dim: int) -> Any:
    """Index of the lower middle value; of the first NaN where there is one."""
    nan = _isnan(x)
    middle = _nth(x, dim, (x.shape[dim] - 1) // 2)
    return np.where(nan.any(axis=dim), np.argmax(nan, axis=dim), middle)


def _middle_number(x: Any, dim: int) -> Any:
    """Index of the lower middle value of those that are numbers."""
    order = np.argsort(x, axis=dim, kind="stable")
    numbers = np.sum(~_isnan(x), axis=dim, keepdims=True)
    rank = np.maximum((numbers - 1) // 2, 0)
    return np.squeeze(np.take_along_axis(order, rank, dim), dim)


def _most_frequent(x: Any, dim: int) -> Any:
    """Index of the most frequent value; of several the smallest, and of that the last."""
    order = np.moveaxis(np.argsort(x, axis=dim, kind="stable"), dim, -1)
    # In order equal values are neighbours: a run is as long as its value is frequent.
    values = np.take_along_axis(np.moveaxis(x, dim, -1), order, -1)
    here = np.arange(values.shape[-1])
    fresh = np.ones(values.shape, np.bool_)
    fresh[..., 1:] = values[..., 1:] != values[..., :-1]
    # Where it stands in its run: the longest run reaches highest, and argmax takes the first of those.
    run = here - np.maximum.accumulate(np.where(fresh, here, 0), axis=-1)
    return np.take_along_axis(order, np.argmax(run, axis=-1)[..., None], -1)[..., 0]


KTHVALUE = selection(
    "kthvalue",
    "The k-th smallest value along a dim, and where it stands.",
    "y = x_(k)",
    lambda x, dim, k: _nth(x, dim, k - 1),
    lambda: [s for s in selection_samples(k=2) if s.inputs[0].ndim],
)
MEDIAN_DIM = selection(
    "median_dim",
    "Lower middle value along a dim, and where it stands; NaN where there is one.",
    "y = x_(⌈n/2⌉)",
    _middle,
)
NANMEDIAN_DIM = selection(
    "nanmedian_dim",
    "Lower middle value of the numbers along a dim, and where it stands.",
    "y = x_(⌈n/2⌉)",
    _middle_number,
)
MODE = selection(
    "mode",
    "Most frequent value along a dim, the smallest of several, and where it stands last.",
    "y = argmax_v |{i : x_i = v}|",
    _most_frequent,
)


def _of_all(pick: Any) -> Any:
    def forward(x: Any) -> Any:
        flat = x.reshape(-1)
        return flat[pick(flat, 0)] if flat.size else np.asarray(np.nan, x.dtype)

    return forward


MEDIAN = overall(
    "median", "Lower middle of all values; NaN where there is one.", "y = x_(⌈n/2⌉)", _of_all(_middle)
)
NANMEDIAN = overall(
    "nanmedian", "Lower middle of all values that are numbers.", "y = x_(⌈n/2⌉)", _of_all(_middle_number)
)

# ---------------------------------------------------------------------------------- the words people use


@offered(out="exact")
def sort(input: Tensor, dim: Dim = -1, descending: bool = False, stable: bool = False) -> ValuesIndices:
    """Values along a dim in order and where they stood, as a named tuple ``(values, indices)``.

    NaN is larger than all. Equal values keep their order, whether `stable` asks for it or not.

    >>> import workbench as wb
    >>> wb.tensor([2.0, 3.0, 1.0]).sort(descending=True)
    ValuesIndices(values=tensor([3., 2., 1.]), indices=tensor([1, 0, 2]))
    """
    ordered(input, "sort")
    return index_pair(SORT(input, dim=dim_index(dims_of(input), dim, "sort"), descending=bool(descending)))


@offered(out=True)
def argsort(input: Tensor, dim: Dim = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Indices (int64) that sort the values along a dim; equal values keep their order.

    >>> import workbench as wb
    >>> wb.tensor([2.0, 3.0, 1.0]).argsort()
    tensor([2, 0, 1])
    """
    return sort(input, dim, descending, stable).indices


@offered(out="exact")
def msort(input: Tensor) -> Tensor:
    """Values along the first dim in order.

    >>> import workbench as wb
    >>> wb.tensor([2, 3, 1]).msort()
    tensor([1, 2, 3])
    """
    return sort(input, 0).values


@offered(out="exact")
def topk(input: Tensor, k: int, dim: Dim = -1, largest: bool = True, sorted: bool = True) -> ValuesIndices:
    """The `k` largest (or smallest) values along a dim and where they stood, as a named tuple ``(values, indices)``.

    They come in order, whether `sorted` asks for it or not.

    >>> import workbench as wb
    >>> wb.tensor([2.0, 3.0, 1.0]).topk(2)
    ValuesIndices(values=tensor([3., 2.]), indices=tensor([1, 0]))
    """
    ordered(input, "topk")
    return index_pair(
        TOPK(input, k=int(k), dim=dim_index(dims_of(input), dim, "topk"), largest=bool(largest))
    )


@offered(out="exact")
def kthvalue(input: Tensor, k: int, dim: Dim = -1, keepdim: bool = False) -> ValuesIndices:
    """The `k`-th smallest value along a dim (from 1) and where it stands, as a named tuple ``(values, indices)``.

    >>> import workbench as wb
    >>> wb.tensor([2.0, 3.0, 1.0]).kthvalue(2)
    ValuesIndices(values=tensor(2.), indices=tensor(0))
    """
    ordered(input, "kthvalue")
    dims = dims_of(input)
    at = dim_index(dims, dim, "kthvalue")
    size = dims.sizes[at] if dims.sizes else 1
    if size and not 1 <= k <= size:
        raise DimensionError(
            f"kthvalue(): selected number k out of range for dimension {at}: k is {k}, there are {size} values.",
            op="kthvalue",
            operands=(dims.operand("input", [at] if dims.sizes else []),),
        )
    return pick_along(KTHVALUE, input, dim, keepdim, "kthvalue", k=int(k))


def _central(whole: Op, one: Op, input: Any, dim: Dim | None, keepdim: bool) -> Tensor | ValuesIndices:
    ordered(input, whole.name)
    if dim is not None:
        return pick_along(one, input, dim, keepdim, whole.name)
    return whole(input) if input.payload.dtype.kind in "fV" else pick_all(whole, input)


@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: Dim, keepdim: bool = False) -> ValuesIndices: ...
@offered(out="exact")
def median(input: Tensor, dim: Dim | None = None, keepdim: bool = False) -> Tensor | ValuesIndices:
    """Middle value, the lower of two; with `dim`, along it as a named tuple ``(values, indices)``.

    NaN where there is one. The gradient of the middle of all is shared between values equal to it.

    >>> import workbench as wb
    >>> wb.tensor([2.0, 3.0, 1.0, 7.0]).median()
    tensor(2.)
    """
    return _central(MEDIAN, MEDIAN_DIM, input, dim, keepdim)


@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: Dim, keepdim: bool = False) -> ValuesIndices: ...
@offered(out="exact")
def nanmedian(input: Tensor, dim: Dim | None = None, keepdim: bool = False) -> Tensor | ValuesIndices:
    """Middle of the values that are numbers, see `median`; NaN where there is none.

    >>> import workbench as wb
    >>> wb.tensor([2.0, wb.nan, 1.0]).nanmedian()
    tensor(1.)
    """
    return _central(NANMEDIAN, NANMEDIAN_DIM, input, dim, keepdim)


@offered(out="exact")
def mode(input: Tensor, dim: Dim = -1, keepdim: bool = False) -> ValuesIndices:
    """Most frequent value along a dim and where it stands last, as a named tuple ``(values, indices)``.

    Of several the smallest.

    >>> import workbench as wb
    >>> wb.tensor([2, 3, 2, 3, 1]).mode()
    ValuesIndices(values=tensor(2), indices=tensor(2))
    """
    ordered(input, "mode")
    return pick_along(MODE, input, dim, keepdim, "mode")
