"""Normalization, recurrent layers, chance, and moves whose array code looks into memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.interop.xla.libraries import jnp, special

__all__ = ["KERNELS"]


def _reciprocal(variance: Any, eps: float) -> Any:
    # In double precision, for ε may be far below what the variance's type has.
    return (1 / jnp.sqrt(variance.astype(np.float64) + eps)).astype(variance.dtype)


def _standardise(x: Any, weight: Any, bias: Any, axes: tuple[int, ...], eps: float) -> Any:
    mean = x.mean(axis=axes, keepdims=True)
    y = x - mean
    rstd = _reciprocal((y * y).mean(axis=axes, keepdims=True), eps)
    y = y * rstd
    if weight is not None:
        y = y * weight
    return (y if bias is None else y + bias), mean, rstd


def _layer_norm(x: Any, weight: Any = None, bias: Any = None, *, count: int, eps: float) -> Any:
    return _standardise(x, weight, bias, tuple(range(x.ndim - count, x.ndim)), eps)


def _rms_norm(x: Any, weight: Any = None, *, count: int, eps: float) -> Any:
    axes = tuple(range(x.ndim - count, x.ndim))
    rstd = _reciprocal((x * x).mean(axis=axes, keepdims=True), eps)
    y = x * rstd
    return (y if weight is None else y * weight), rstd


def _group_norm(x: Any, weight: Any = None, bias: Any = None, *, groups: int, eps: float) -> Any:
    factors = (groups, x.shape[1] // groups, 1)
    y, mean, rstd = _standardise(
        x.reshape(x.shape[0], groups, x.shape[1] // groups, int(np.prod(x.shape[2:]))),
        None if weight is None else weight.reshape(factors),
        None if bias is None else bias.reshape(factors),
        (2, 3),
        eps,
    )
    return y.reshape(x.shape), mean.reshape(x.shape[0], groups), rstd.reshape(x.shape[0], groups)


def _batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    if not x.size:
        nothing = jnp.full(x.shape[1], np.nan, x.dtype)
        return x, nothing, nothing
    axes = (0, *range(2, x.ndim))
    mean = x.mean(axis=axes)
    rstd = _reciprocal(x.var(axis=axes), eps)
    scale = rstd * weight
    lying = (-1, *(1,) * (x.ndim - 2))
    return x * scale.reshape(lying) + (bias - mean * scale).reshape(lying), mean, rstd


def _running(
    mean: Any, variance: Any, batch_mean: Any, rstd: Any, *counted: Any,
    count: int, eps: float, momentum: float | None, by_sample: bool,
) -> Any:  # fmt: skip
    share = 1.0 / counted[0].astype(np.float64) if momentum is None else momentum
    spread = rstd.astype(np.float64)
    measured = jnp.maximum(1 / (spread * spread) - eps, 0) * (count / (count - 1))
    if by_sample:
        batch_mean, measured = batch_mean.mean(0), measured.mean(0)
    return (
        (mean * (1 - share) + share * batch_mean).astype(mean.dtype),
        (variance * (1 - share) + share * measured).astype(variance.dtype),
    )


def _diagonal(x: Any, offset: int, dim1: int, dim2: int, name: str | None = None) -> Any:
    return jnp.diagonal(x, offset, dim1, dim2)


def _windows(x: Any, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return x.reshape(1)[:size]
    starts = np.arange((x.shape[dim] - size) // step + 1) * step
    return jnp.moveaxis(jnp.take(x, starts[:, None] + np.arange(size), axis=dim), dim + 1, -1)


def _add_windows(x: Any, sizes: tuple[int, ...], dim: int, step: int) -> Any:
    if not sizes:
        return x.sum(axis=0) if x.size else jnp.zeros(sizes, x.dtype)
    places = np.arange(x.shape[dim])[:, None] * step + np.arange(x.shape[-1])
    front = jnp.moveaxis(x, (dim, -1), (0, 1))
    rest = [size for i, size in enumerate(sizes) if i != dim]
    out = jnp.zeros((sizes[dim], *rest), x.dtype).at[places].add(front)
    return jnp.moveaxis(out, 0, dim)


def _set(view: Callable[..., Any]) -> Callable[..., Any]:
    """Return what writes values into what a view would see: places are numbered, and the view sees their numbers."""

    def written(x: Any, value: Any, **params: Any) -> Any:
        places = view(np.arange(x.size).reshape(x.shape), **params)
        flat = x.reshape(-1).at[places].set(jnp.asarray(value).astype(x.dtype))
        return flat.reshape(x.shape)

    return written


def _diagonal_embed(x: Any, sizes: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    places = np.diagonal(np.arange(int(np.prod(sizes))).reshape(sizes), offset, dim1, dim2)
    return jnp.zeros(int(np.prod(sizes)), x.dtype).at[places].set(x).reshape(sizes)


def _kl_div(x: Any, target: Any, *, reduction: str, log_target: bool) -> Any:
    if log_target:
        loss = jnp.exp(target) * (target - x)
    else:
        loss = special.xlogy(target, target) - target * x
    return {"none": lambda: loss, "sum": loss.sum, "mean": loss.mean}[reduction]()


def _kl_div_gradient(g: Any, x: Any, target: Any, *, reduction: str, log_target: bool) -> Any:
    slopes = -(jnp.exp(target) if log_target else jnp.asarray(target))
    slopes = jnp.broadcast_to(slopes, np.broadcast_shapes(np.shape(x), np.shape(target)))
    return slopes * (g / slopes.size if reduction == "mean" else g)


def _sample(x: Any, index: Any, weight: Any) -> Any:
    corners = jnp.take_along_axis(x[:, :, None], index[:, None], axis=3)
    return (corners * weight[:, None]).sum(2).astype(x.dtype)


def _sample_back(g: Any, index: Any, weight: Any, size: int) -> Any:
    examples, channels = np.ix_(range(g.shape[0]), range(g.shape[1]))
    places = index.reshape(index.shape[0], 1, -1)
    shares = (weight[:, None] * g[:, :, None]).reshape(*g.shape[:2], -1)
    out = jnp.zeros((*g.shape[:2], size), g.dtype)
    return out.at[examples[..., None], channels[..., None], places].add(shares)


def _sample_shares(g: Any, index: Any, x: Any) -> Any:
    corners = jnp.take_along_axis(x[:, :, None], index[:, None], axis=3)
    return (corners * g[:, :, None]).sum(1).astype(g.dtype)


def _nan_to_num(x: Any, nan: float, posinf: float | None, neginf: float | None) -> Any:
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def _truth(reduce: str) -> Callable[..., Any]:
    def forward(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
        found = getattr(jnp, reduce)(x.astype(bool), axis=dim, keepdims=keepdim)
        # Bytes stay bytes, as PyTorch has it.
        return found.astype(np.uint8 if x.dtype == np.uint8 else bool)

    return forward


def _bits(x: Any, dtype: Any, last: int) -> Any:
    return x.view(dtype)


_SPREAD = 0x9E3779B9


def _drawn(sizes: tuple[int, ...], seed: Any) -> Any:
    """Return what `ops.random.counter_based.drawn` does, for a seed that may be an input."""
    seed = jnp.asarray(seed, np.int64)
    key = ((seed >> 32) * _SPREAD % 2**32).astype(np.uint32)
    h = jnp.arange(int(np.prod(sizes)), dtype=np.uint32) * np.uint32(_SPREAD) + (seed % 2**32).astype(
        np.uint32
    )
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7FEB352D) ^ key
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846CA68B)
    return (h ^ (h >> np.uint32(16))).reshape(sizes)


def _dropout(
    x: Any, *, p: float, seed: Any, drawn: tuple[int, int], scale: float, high: float, low: float
) -> Any:
    first, last = drawn
    laid = (1,) * first + x.shape[first:last] + (1,) * (x.ndim - last)
    kept = (_drawn(x.shape[first:last], seed) >= int(min(max(p, 0.0), 1.0) * 2**32)).reshape(laid)
    y = x * jnp.where(kept, scale, 0).astype(x.dtype)
    return y + jnp.where(kept, high, low).astype(x.dtype) if high or low else y


def _incomplete(name: str) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        # A number beside an array is of the array's type; JAX's functions would take it for one in double precision.
        kind = jnp.result_type(x, y)
        return getattr(special, name)(jnp.asarray(x, kind), jnp.asarray(y, kind))

    return call


def _std(x: Any, dim: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    # Always in double precision: only a run knows whether squares leave the range of single precision.
    wide = jnp.asarray(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    square = jnp.abs(wide - wide.mean(axis=dim, keepdims=True)) ** 2
    freedom = max(math.prod(x.shape[i] for i in dim) - correction, 0)
    return jnp.sqrt(square.sum(axis=dim, keepdims=keepdim) / freedom).astype(jnp.abs(x[:0]).dtype)


KERNELS: dict[str, Callable[..., Any]] = {
    "add_windows": _add_windows,
    "all": _truth("all"),
    "any": _truth("any"),
    "batch_norm": _batch_norm,
    "complex": lambda x, y: jnp.asarray(x) + 1j * jnp.asarray(y),
    "diagonal": _diagonal,
    "dropout": _dropout,
    "gammainc": _incomplete("gammainc"),
    "gammaincc": _incomplete("gammaincc"),
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "lay_out": lambda x, order: x,
    "nan_to_num": _nan_to_num,
    "rms_norm": _rms_norm,
    "running_statistics": _running,
    "std": _std,
    "to": lambda x, dtype: x.astype(dtype),
    "tril": lambda x, diagonal: jnp.tril(x, diagonal),
    "triu": lambda x, diagonal: jnp.triu(x, diagonal),
    "unfold": _windows,
    "view_as_complex": lambda x: x[..., 0] + 1j * x[..., 1],
    "view_dtype": _bits,
    "index_set": _set(lambda x, key: x[key]),
    "diagonal_scatter": _set(lambda x, offset, dim1, dim2, **_: np.diagonal(x, offset, dim1, dim2)),
    "diagonal_embed": _diagonal_embed,
    "kl_div": _kl_div,
    "kl_div_gradient": _kl_div_gradient,
    "sample_at": _sample,
    "sample_at_input_gradient": _sample_back,
    "sample_at_weight_gradient": _sample_shares,
    "digamma": lambda x: special.digamma(x),
    "polygamma": lambda x, n: special.polygamma(n, x) if n else special.digamma(x),
    "zeta": lambda x, q: special.zeta(x, q),
}
