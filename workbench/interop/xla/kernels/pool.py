"""Pooling and resampling: sums by `reduce_window`, the largest and its place tap by tap, maps by their matrices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from workbench.interop.xla.libraries import jax, jnp, lax
from workbench.ops.nn.conv.window_geometry import Sizes, output_size
from workbench.ops.nn.pool.adaptive_mean import even_windows
from workbench.ops.nn.pool.means import divisor
from workbench.ops.nn.resample.separable import Along, matrix_of

__all__ = ["KERNELS"]


def _outcome(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool) -> Sizes:
    each = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    return tuple(output_size(*one, ceil) for one in each)


def _lowest(dtype: Any) -> Any:
    return -np.inf if np.issubdtype(dtype, np.inexact) or dtype.kind == "V" else np.iinfo(dtype).min


def _larger(best: Any, where: Any, value: Any, place: Any) -> tuple[Any, Any]:
    """Keep the first of the largest values and its place; NaN counts as largest."""
    more = (value > best) | ((value != value) & (best == best))
    return jnp.where(more, value, best), jnp.where(more, place, where)


def _max_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> Any:
    out = _outcome(x, kernel, stride, padding, dilation, ceil_mode)
    sizes = x.shape[2:]
    starts = [np.arange(o) * s - p for o, s, p in zip(out, stride, padding, strict=True)]
    # A window of nothing but the lowest value has its first value's place.
    first = [np.where(one < 0, one + -(one // d) * d, one) for one, d in zip(starts, dilation, strict=True)]
    best = jnp.full((*x.shape[:2], *out), _lowest(x.dtype), x.dtype)
    where = jnp.broadcast_to(_in_plane(first, sizes), best.shape)
    for tap in itertools.product(*map(range, kernel)):
        reads = [one + t * d for one, t, d in zip(starts, tap, dilation, strict=True)]
        value, inside = x, np.ones(out, bool)
        for axis, (read, size) in enumerate(zip(reads, sizes, strict=True)):
            value = jnp.take(value, np.clip(read, 0, size - 1), axis=2 + axis)
            within = (read >= 0) & (read < size)
            inside &= within.reshape([-1 if i == axis else 1 for i in range(len(out))])
        value = jnp.where(inside, value, _lowest(x.dtype))
        best, where = _larger(best, where, value, _in_plane(reads, sizes))
    return best, where


def _in_plane(reads: list[Any], sizes: Sizes) -> Any:
    """Return where in its plane, row by row, each combination of positions lies."""
    place = np.zeros((), np.int64)
    for read, size in zip(reads, sizes, strict=True):
        place = place[..., None] * size + read
    return place


def _max_gradient(g: Any, indices: Any, input_shape: Sizes) -> Any:
    planes = input_shape[0] * input_shape[1]
    flat = jnp.zeros((planes, int(np.prod(input_shape[2:]))), g.dtype)
    rows = np.arange(planes)[:, None]
    return flat.at[rows, indices.reshape(planes, -1)].add(g.reshape(planes, -1)).reshape(input_shape)


def _sums(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool) -> Any:
    ones = (1,) * len(kernel)
    out = _outcome(x, kernel, stride, padding, ones, ceil_mode)
    each = zip(x.shape[2:], out, kernel, stride, padding, strict=True)
    # Behind, as much as the last window reaches, which may be less than the padding.
    widths = [(0, 0), (0, 0), *((p, (o - 1) * s + k - size - p) for size, o, k, s, p in each)]
    zero = np.zeros((), x.dtype)
    return lax.reduce_window(x, zero, lax.add, (1, 1, *kernel), (1, 1, *stride), widths)


def _avg_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:  # fmt: skip
    total = _sums(x, kernel, stride, padding, ceil_mode)
    count = divisor(
        x.shape[2:],
        total.shape[2:],
        kernel,
        stride,
        padding,
        count_include_pad,
        divisor_override,
        np.dtype(x.dtype),
    )
    if jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.sign(total) * np.sign(count) * (jnp.abs(total) // np.abs(count))
    return total / count


def _avg_gradient(g: Any, input_shape: Sizes, **params: Any) -> Any:
    like = jax.ShapeDtypeStruct(input_shape, g.dtype)
    return jax.linear_transpose(partial(_avg_pool, **params), like)(g)[0]


def _resample(x: Any, sizes: Sizes, mode: str, scales: Any, align_corners: bool, antialias: bool) -> Any:
    whole = not jnp.issubdtype(x.dtype, jnp.inexact)
    kept = mode.startswith("nearest")
    for axis in reversed(range(2, x.ndim)):
        along = Along(mode, x.shape[axis], sizes[axis - 2], scales[axis - 2], align_corners, antialias)
        if along.size == along.out and along.scale in (None, 1.0) and not antialias:
            continue
        matrix = matrix_of(along, x.dtype == np.float64)
        if kept:
            x = jnp.take(x, matrix.argmax(1), axis=axis)
            continue
        y = jnp.moveaxis(
            jnp.matmul(jnp.moveaxis(x.astype(matrix.dtype), axis, -1), matrix.T, precision="highest"),
            -1,
            axis,
        )
        x = jnp.clip(jnp.rint(y), *_range(x.dtype)).astype(x.dtype) if whole else y.astype(x.dtype)
    return x


def _range(dtype: Any) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _resample_gradient(g: Any, input_shape: Sizes, **params: Any) -> Any:
    like = jax.ShapeDtypeStruct(input_shape, g.dtype)
    return jax.linear_transpose(partial(_resample, **params), like)(g)[0]


_AREA: dict[str, Any] = {"mode": "area", "align_corners": False, "antialias": False}


def _adaptive_mean(x: Any, sizes: Sizes) -> Any:
    windows: dict[str, Any] | None = even_windows(x.shape[2:], sizes)
    if windows is not None:
        return _avg_pool(x, **windows)
    return _resample(x, sizes, scales=(None,) * len(sizes), **_AREA)


def _adaptive_mean_gradient(g: Any, input_shape: Sizes, sizes: Sizes) -> Any:
    like = jax.ShapeDtypeStruct(input_shape, g.dtype)
    return jax.linear_transpose(partial(_adaptive_mean, sizes=sizes), like)(g)[0]


def _adaptive_max(x: Any, sizes: Sizes) -> Any:
    tables = []
    for size, out in zip(x.shape[2:], sizes, strict=True):
        start, end = np.arange(out) * size // out, -(-(np.arange(out) + 1) * size // out)
        width = int((end - start).max()) if out else 0
        tables.append([np.minimum(start + tap, end - 1) for tap in range(width)])
    first = [table[0] if table else np.zeros(0, np.int64) for table in tables]
    best = jnp.full((*x.shape[:2], *sizes), _lowest(x.dtype), x.dtype)
    where = jnp.broadcast_to(_in_plane(first, x.shape[2:]), best.shape)
    for tap in itertools.product(*tables):
        value = x
        for axis, read in enumerate(tap):
            value = jnp.take(value, read, axis=2 + axis)
        best, where = _larger(best, where, value, _in_plane(list(tap), x.shape[2:]))
    return best, where


KERNELS: dict[str, Callable[..., Any]] = {
    "adaptive_avg_pool": _adaptive_mean,
    "adaptive_avg_pool_gradient": _adaptive_mean_gradient,
    "adaptive_max_pool": _adaptive_max,
    "resample": _resample,
    "resample_gradient": _resample_gradient,
    **{f"avg_pool{n}d": _avg_pool for n in (1, 2, 3)},
    **{f"avg_pool{n}d_gradient": _avg_gradient for n in (1, 2, 3)},
    **{f"max_pool{n}d": _max_pool for n in (1, 2, 3)},
    **{f"max_pool{n}d_gradient": _max_gradient for n in (1, 2, 3)},
}
