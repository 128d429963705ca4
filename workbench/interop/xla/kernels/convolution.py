"""Convolutions and windows, in XLA's own convolution; gradients are its transposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from workbench.interop.xla.libraries import jax, jnp, lax
from workbench.ops.nn.conv.window_geometry import Sizes

__all__ = ["KERNELS"]


def _convolution(x: Any, weight: Any, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    spatial = "DHW"[3 - len(stride) :]
    return lax.conv_general_dilated(
        x,
        weight,
        stride,
        [(one, one) for one in padding],
        rhs_dilation=dilation,
        dimension_numbers=("NC" + spatial, "OI" + spatial, "NC" + spatial),
        feature_group_count=groups,
        precision="highest",
    )


def _conv(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    y = _convolution(x, weight, **params)
    return y if bias is None else y + bias.reshape(-1, *(1,) * len(params["stride"]))


def _input_gradient(g: Any, weight: Any, *, input_shape: Sizes, **params: Any) -> Any:
    like = jax.ShapeDtypeStruct(input_shape, g.dtype)
    return jax.linear_transpose(lambda x: _convolution(x, weight, **params), like)(g)[0]


def _weight_gradient(g: Any, x: Any, *, weight_shape: Sizes, **params: Any) -> Any:
    like = jax.ShapeDtypeStruct(weight_shape, g.dtype)
    return jax.linear_transpose(lambda weight: _convolution(x, weight, **params), like)(g)[0]


def _patches(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """Return the values of each window one after the other: of all channels, by places that are known now."""
    widths = [(0, 0), (0, 0), *((one, one) for one in padding)]
    x = jnp.pad(x, widths)
    count = len(kernel)
    for axis, (k, s, d) in enumerate(zip(kernel, stride, dilation, strict=True)):
        size = x.shape[2 + 2 * axis]
        out = (size - d * (k - 1) - 1) // s + 1
        reads = np.arange(k)[:, None] * d + np.arange(out) * s
        # Each dim becomes two: the place in the window, and the window.
        x = jnp.take(x, reads, axis=2 + 2 * axis)
    order = (0, 1, *range(2, 2 + 2 * count, 2), *range(3, 2 + 2 * count, 2))
    x = x.transpose(order)
    return x.reshape(x.shape[0], x.shape[1] * int(np.prod(kernel)), int(np.prod(x.shape[2 + count :])))


def _fold(x: Any, sizes: Sizes, kernel: Sizes, **params: Any) -> Any:
    channels = x.shape[1] // int(np.prod(kernel))
    like = jax.ShapeDtypeStruct((x.shape[0], channels, *sizes), x.dtype)
    return jax.linear_transpose(partial(_patches, kernel=kernel, **params), like)(x)[0]


KERNELS: dict[str, Callable[..., Any]] = {
    "fold": _fold,
    "unfold_patches": _patches,
    **{f"conv{n}d": _conv for n in (1, 2, 3)},
    **{f"conv{n}d_input_gradient": _input_gradient for n in (1, 2, 3)},
    **{f"conv{n}d_weight_gradient": _weight_gradient for n in (1, 2, 3)},
}
