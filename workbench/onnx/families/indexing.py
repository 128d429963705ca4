"""Operators that pick values by places, or write them there."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.onnx import integers
from workbench.onnx.errors import OnnxError
from workbench.onnx.families.shapes import placed
from workbench.onnx.table import operator
from workbench.onnx.values import bounded, wb
from workbench.tensor.factories import from_numpy

__all__: list[str] = []


def _forward(places: Any, size: Any) -> Any:
    """Return places counted from the front, as int64."""
    places = places.long()
    return wb.where(places < 0, places + size, places)


@operator("Gather", integers=integers.gather)
def _gather(x: Any, places: Any, *, axis: int = 0) -> Any:
    axis = placed(axis, x.dim())
    picked = wb.index_select(x, axis, _forward(places, x.shape[axis]).reshape(-1))
    return picked.reshape([*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]])


@operator("GatherElements", since=11)
def _gather_elements(x: Any, places: Any, *, axis: int = 0) -> Any:
    axis = placed(axis, x.dim())
    return wb.gather(x, axis, _forward(places, x.shape[axis]))


def _rows(places: Any, sizes: list[Any]) -> Any:
    """Return rows of coordinates as places in a flat row of those sizes."""
    found = None
    for i, size in enumerate(sizes):
        one = _forward(places.select(-1, i), size)
        found = one if found is None else found * size + one
    return found


@operator("GatherND", since=11)
def _gather_nd(x: Any, places: Any, *, batch_dims: int = 0) -> Any:
    depth = places.shape[-1]
    if batch_dims + depth > x.dim():
        raise OnnxError(f"rows of {depth} coordinates behind {batch_dims} dims, for {x.dim()} dims")
    batch = list(x.shape[:batch_dims])
    sizes, rest = list(x.shape[batch_dims : batch_dims + depth]), list(x.shape[batch_dims + depth :])
    flat = x.reshape([_product(batch), _product(sizes), *rest]).flatten(0, 1)
    found = _rows(places, sizes)
    shape = list(found.shape)
    starts = wb.arange(_product(batch)) * _product(sizes)
    found = found.reshape([_product(batch), -1]) + starts.reshape(-1, 1)
    return wb.index_select(flat, 0, found.reshape(-1)).reshape([*shape, *rest])


def _product(sizes: list[Any]) -> Any:
    total = 1
    for one in sizes:
        total = total * one
    return total


_REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _written(x: Any, axis: int, places: Any, values: Any, reduction: str) -> Any:
    if reduction == "none":
        return wb.scatter(x, axis, places, values)
    if reduction not in _REDUCE:
        raise OnnxError(f"a reduction is none, {', '.join(_REDUCE)}, not {reduction!r}")
    return wb.scatter_reduce(x, axis, places, values, reduce=_REDUCE[reduction], include_self=True)


@operator("ScatterElements", since=11)
def _scatter_elements(x: Any, places: Any, values: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    axis = placed(axis, x.dim())
    return _written(x, axis, _forward(places, x.shape[axis]), values, reduction)


@operator("Scatter", since=9)
def _scatter(x: Any, places: Any, values: Any, *, axis: int = 0) -> Any:
    return _scatter_elements(x, places, values, axis=axis)


@operator("ScatterND", since=11)
def _scatter_nd(x: Any, places: Any, values: Any, *, reduction: str = "none") -> Any:
    depth = places.shape[-1]
    sizes, rest = list(x.shape[:depth]), list(x.shape[depth:])
    width = _product(rest)
    rows = _rows(places, sizes).reshape(-1, 1).expand([-1, width]) if sizes else wb.zeros([1, width]).long()
    flat = x.reshape([_product(sizes), width])
    return _written(flat, 0, rows, values.reshape([-1, width]), reduction).reshape(x.shape)


@operator("TensorScatter", since=24)
def _tensor_scatter(
    cache: Any, update: Any, starts: Any = None, *, axis: int = -2, mode: str = "linear"
) -> Any:
    axis = placed(axis, cache.dim())
    count = update.shape[axis]
    places = wb.arange(count).reshape([-1 if i == axis else 1 for i in range(cache.dim())])
    if starts is not None:
        places = places + starts.reshape([-1] + [1] * (cache.dim() - 1))
    if mode == "circular":
        places = wb.remainder(places, cache.shape[axis])
    return wb.scatter(cache, axis, places.expand(update.shape), update)


@operator("OneHot", since=9, numbers=(1,))
def _one_hot(places: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    size = int(depth[0] if isinstance(depth, list) else depth)
    axis = axis if axis >= 0 else axis + places.dim() + 1
    bounded([*places.shape, size])
    # Places are read from the back where they are negative, and fall out beyond both ends.
    places = wb.where(places < 0, places + size, places).unsqueeze(axis)
    steps = wb.arange(size).to(places.dtype).reshape([-1 if i == axis else 1 for i in range(places.dim())])
    off, on = values[0], values[1]
    return wb.where(places == steps, on, off)


@operator("TopK", since=10, numbers=(1,))
def _top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1, outputs: int) -> Any:
    axis = placed(axis, x.dim())
    count = int(k[0] if isinstance(k, list) else k)
    if not 0 <= count <= x.shape[axis]:
        raise OnnxError(f"the {count} greatest of {x.shape[axis]} are none")
    # Stable: of equal values the one that stands first.
    places = wb.argsort(x, dim=axis, descending=bool(largest), stable=True)
    places = wb.narrow(places, axis, 0, count)
    return wb.gather(x, axis, places), places


@operator("TopK")
def _top_k_by_attribute(x: Any, *, k: int, axis: int = -1, outputs: int) -> Any:
    return _top_k(x, k, axis=axis, outputs=outputs)


@operator("NonZero", since=9)
def _non_zero(x: Any) -> Any:
    found = wb.nonzero(x.reshape(1) if x.dim() == 0 else x).t()
    return found[:0] if x.dim() == 0 else found


@operator("Compress", since=9)
def _compress(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    x, axis = (x.flatten(), 0) if axis is None else (x, placed(axis, x.dim()))
    places = wb.nonzero(condition).reshape(-1)
    return wb.index_select(x, axis, places)


@operator("Unique", since=11)
def _unique(x: Any, *, axis: int | None = None, sorted: int = 1, outputs: int) -> Any:
    # Found by values, which have no gradient.
    values, first, inverse, counts = np.unique(
        x.detach().numpy(), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        values, first, counts = values.take(order, axis=axis or 0), first[order], counts[order]
        inverse = back[inverse]
    places = from_numpy(np.ascontiguousarray(first).astype(np.int64))
    kept = wb.index_select(
        x.flatten() if axis is None else x, 0 if axis is None else placed(axis, x.dim()), places
    )
    rest = (from_numpy(np.ascontiguousarray(one).astype(np.int64)) for one in (inverse, counts))
    return kept, places, *rest
