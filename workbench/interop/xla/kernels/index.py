"""Indexing, sorting and moving by index. An index out of bounds cannot be refused on a device: it reads NaN, or 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.interop.xla.libraries import jnp

__all__ = ["KERNELS", "along"]


def along(index: Any, dim: int) -> tuple[Any, ...]:
    """Return the key that reads `index` along a dim, and each place's own position along the others."""
    own = np.ix_(*map(np.arange, index.shape))
    return tuple(index if i == dim else own[i] for i in range(index.ndim))


def _gather(x: Any, index: Any, dim: int) -> Any:
    return x.at[along(index, dim)].get(mode="fill") if x.ndim else jnp.broadcast_to(x, index.shape)


def _put(how: str) -> Callable[..., Any]:
    def put(x: Any, value: Any, index: Any, dim: int) -> Any:
        if not x.ndim:
            x, index = x.reshape(1), index.reshape(1)
            return put(x, value.reshape(1) if value.ndim else value, index, 0).reshape(())
        if value.ndim:  # only as many values as there are indices take part
            value = value[tuple(slice(size) for size in index.shape)]
        return getattr(x.at[along(index, dim)], how)(jnp.asarray(value).astype(x.dtype))

    return put


def _scatter_add(x: Any, index: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    return _put("add")(jnp.zeros(sizes, x.dtype), x, index, dim)


_MEET = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min"}


def _scatter_reduce(x: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool) -> Any:
    key = along(index, dim)
    if not include_self:
        x = x.at[key].set(_start(reduce, x.dtype))
    src = src[tuple(slice(size) for size in index.shape)]
    return getattr(x.at[key], _MEET[reduce])(src.astype(x.dtype))


def _start(reduce: str, dtype: Any) -> Any:
    if reduce in ("sum", "prod"):
        return reduce == "prod"
    if jnp.issubdtype(dtype, jnp.inexact):
        return -np.inf if reduce == "amax" else np.inf
    return jnp.iinfo(dtype).min if reduce == "amax" else jnp.iinfo(dtype).max


def _to_front(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return (*dims, *(i for i in range(ndim) if i not in dims))


def _positions(indices: Any, lengths: Any) -> tuple[Any, ...]:
    return tuple(jnp.where(one < 0, one + length, one) for one, length in zip(indices, lengths, strict=True))


def _pick(x: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    order = _to_front(dims, x.ndim)
    key = _positions(indices, [x.shape[i] for i in dims])
    found = x.transpose(order).at[key].get(mode="fill")
    return _from_front(found, indices, dims, x.ndim)


def _from_front(found: Any, indices: Any, dims: tuple[int, ...], ndim: int) -> Any:
    """Move the dims that were picked, which stand in front, to where NumPy puts them."""
    picked = len(np.broadcast_shapes(*[one.shape for one in indices]))
    at = _at(dims, ndim)
    return jnp.moveaxis(found, range(picked), range(at, at + picked))


def _at(dims: tuple[int, ...], ndim: int) -> int:
    """Return where the dims picked stand: in the place of a run of neighbours, else in front."""
    together = list(dims) == list(range(dims[0], dims[0] + len(dims)))
    return dims[0] if together else 0


def _fronted(value: Any, indices: Any, dims: tuple[int, ...], ndim: int) -> Any:
    picked = len(np.broadcast_shapes(*[one.shape for one in indices]))
    at = _at(dims, ndim)
    return jnp.moveaxis(value, range(at, at + picked), range(picked))


def _pick_add(x: Any, *indices: Any, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    order = _to_front(dims, len(sizes))
    out = jnp.zeros([sizes[i] for i in order], x.dtype)
    key = _positions(indices, [sizes[i] for i in dims])
    out = out.at[key].add(_fronted(x, indices, dims, len(sizes)))
    return out.transpose(np.argsort(order))


def _index_put(x: Any, value: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    order = _to_front(dims, x.ndim)
    front = x.transpose(order)
    key = _positions(indices, [x.shape[i] for i in dims])
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest, at = [x.shape[i] for i in order[len(dims) :]], _at(dims, x.ndim)
    value = jnp.broadcast_to(value, (*rest[:at], *shape, *rest[at:]))
    front = front.at[key].set(_fronted(value, indices, dims, x.ndim).astype(x.dtype))
    return front.transpose(np.argsort(order))


def _one_hot(x: Any, count: int, dtype: Any) -> Any:
    return (x[..., None] == np.arange(count)).astype(dtype)


def _embedding(indices: Any, weight: Any) -> Any:
    return weight.at[indices].get(mode="fill")


def _embedding_gradient(indices: Any, g: Any, count: int) -> Any:
    width = g.shape[-1]
    return jnp.zeros((count, width), g.dtype).at[indices.reshape(-1)].add(g.reshape(-1, width))


def _searchsorted(sequence: Any, values: Any, right: bool, narrow: bool) -> Any:
    kind, side = np.int32 if narrow else np.int64, "right" if right else "left"
    if sequence.ndim == 1:
        return jnp.searchsorted(sequence, values, side=side).astype(kind)
    less = (
        sequence[..., None, :] <= values[..., None] if right else sequence[..., None, :] < values[..., None]
    )
    return less.sum(-1).astype(kind)


def _order(x: Any, dim: int, descending: bool) -> Any:
    """Return the order of values, equal ones as they stand; NaN counts as largest."""
    if not descending:
        return jnp.argsort(x, axis=dim, stable=True)
    turned = jnp.flip(x, dim)
    order = jnp.flip(jnp.argsort(turned, axis=dim, stable=True), dim)
    return x.shape[dim] - 1 - order


def _sort(x: Any, dim: int, descending: bool) -> Any:
    row = x.reshape(1) if x.ndim == 0 else x
    order = _order(row, dim, descending)
    return jnp.take_along_axis(row, order, dim).reshape(x.shape), order.reshape(x.shape)


def _topk(x: Any, k: int, dim: int, largest: bool) -> Any:
    row = x.reshape(1) if x.ndim == 0 else x
    order = jnp.take(_order(row, dim, largest), np.arange(k), axis=dim)
    values = jnp.take_along_axis(row, order, dim)
    return (values.reshape(()), order.reshape(())) if x.ndim == 0 and k == 1 else (values, order)


def _kept(pick: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, dim: int, keepdim: bool, **params: Any) -> Any:
        row = x.reshape(1) if x.ndim == 0 else x
        index = jnp.expand_dims(pick(row, dim, **params), dim)
        value = jnp.take_along_axis(row, index, dim)
        if x.ndim == 0 or not keepdim:
            return jnp.squeeze(value, dim), jnp.squeeze(index, dim)
        return value, index

    return reduced


def _kth(row: Any, dim: int, k: int) -> Any:
    return jnp.take(_order(row, dim, False), k - 1, axis=dim)


def _pad(x: Any, padding: tuple[tuple[int, int], ...], value: float) -> Any:
    cut = tuple(
        slice(max(-before, 0), x.shape[i] - max(-after, 0)) for i, (before, after) in enumerate(padding)
    )
    grow = [(max(before, 0), max(after, 0)) for before, after in padding]
    return jnp.pad(x[cut], grow, constant_values=value)


def _place(x: Any, key: tuple[Any, ...], sizes: tuple[int, ...]) -> Any:
    return jnp.zeros(sizes, x.dtype).at[key].set(x)


KERNELS: dict[str, Callable[..., Any]] = {
    "embedding": _embedding,
    "embedding_gradient": _embedding_gradient,
    "gather": _gather,
    "index_put": _index_put,
    "kthvalue": _kept(_kth),
    "one_hot": _one_hot,
    "pad": _pad,
    "pick": _pick,
    "pick_add": _pick_add,
    "place": _place,
    "scatter": lambda x, value, index, dim: _put("set")(x, jnp.asarray(value), index, dim),
    "scatter_add": _scatter_add,
    "scatter_add_to": lambda x, added, index, dim: _put("add")(x, added, index, dim),
    "scatter_reduce": _scatter_reduce,
    "searchsorted": _searchsorted,
    "sort": _sort,
    "topk": _topk,
}
