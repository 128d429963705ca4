"""Pooling in float32 and bfloat16 over [N, C, H, W], channels-last in memory; the largest also of planes row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import is_floats
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_INT64 = np.dtype(np.int64)


def _accepts_input(x: Any, **params: Any) -> bool:
    # Windows that reach over the end, and a divisor of the user's, are NumPy's.
    return is_floats(x, 4) and not params.get("ceil_mode", False) and "divisor_override" not in params


def _accepts_max_gradient(gradient: Any, indices: Any, **params: Any) -> bool:
    return is_floats(gradient, 4) and type(indices) is np.ndarray and indices.dtype == _INT64


def _accepts_planes(x: Any, *, ceil_mode: bool = False, **params: Any) -> bool:
    # Rows are copied with their padding, and read eight steps on.
    return (
        is_floats(x, 5)
        and not ceil_mode
        and params["padding"][-1] <= x.shape[-1]
        and params["stride"][-1] <= x.shape[-1]
    )


def _accepts_planes_gradient(gradient: Any, indices: Any, **params: Any) -> bool:
    return is_floats(gradient, 5) and type(indices) is np.ndarray and indices.dtype == _INT64


def _is_half(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == BFLOAT16 and x.ndim == 4


def _accepts_half(x: Any, **params: Any) -> bool:
    return _is_half(x) and not params.get("ceil_mode", False) and "divisor_override" not in params


def _accepts_half_gradient(gradient: Any, indices: Any, **params: Any) -> bool:
    return _is_half(gradient) and type(indices) is np.ndarray and indices.dtype == _INT64


def _avg_pool2d(x: Any, **params: Any) -> Any:
    if params["kernel"] == x.shape[2:] and params["padding"] == (0, 0) and x.size:
        # One window holds the whole image: a mean, which reads the image as it lies.
        return native.mean(x, dim=(2, 3), keepdim=True)
    return native.avg_pool2d(x, **params)


def _has_even_windows(x: Any, *, sizes: tuple[int, ...]) -> bool:
    """Say whether windows of one size, side by side, give these sizes: a plain pooling."""
    return (
        (is_floats(x, 3) or is_floats(x, 4))
        and x.size > 0
        and min(sizes) > 0
        and not any(one % out for one, out in zip(x.shape[2:], sizes, strict=True))
    )


def _adaptive_max_pool(x: Any, *, sizes: tuple[int, ...]) -> Any:
    along = range(2, x.ndim)
    window = tuple([x.shape[i] // sizes[i - 2] for i in along])
    none, one = (0,) * len(window), (1,) * len(window)
    if len(window) == 2:
        return native.max_pool2d(x, kernel=window, stride=window, padding=none, dilation=one)
    # A plane of height 1: places in it are those in the line.
    found = native.max_pool2d(
        x[:, :, None], kernel=(1, *window), stride=(1, *window), padding=(0, 0), dilation=(1, 1)
    )
    return tuple([part[:, :, 0] for part in found])


if native is not None:
    register(Kernel("adaptive_max_pool", _adaptive_max_pool, _has_even_windows))
    register(Kernel("max_pool2d", native.max_pool2d, _accepts_input))
    register(Kernel("max_pool2d_gradient", native.max_pool2d_gradient, _accepts_max_gradient))
    register(Kernel("max_pool3d", native.max_pool_planes, _accepts_planes))
    register(Kernel("max_pool3d_gradient", native.max_pool_planes_gradient, _accepts_planes_gradient))
    register(Kernel("avg_pool2d", _avg_pool2d, _accepts_input))
    register(Kernel("avg_pool2d_gradient", native.avg_pool2d_gradient, _accepts_input))

    for _name in ("max_pool2d", "avg_pool2d", "avg_pool2d_gradient"):
        register(Kernel(_name, getattr(native.bfloat16, _name), _accepts_half, ("bfloat16",)), half=True)
    _run = native.bfloat16.max_pool2d_gradient
    register(Kernel("max_pool2d_gradient", _run, _accepts_half_gradient, ("bfloat16",)), half=True)
