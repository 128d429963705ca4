"""Chance in a network: values or whole channels dropped, slopes drawn, classes drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError
from workbench.base.random import Generator, default_generator
from workbench.core.inplace import write
from workbench.core.op import ops
from workbench.core.value import dims_of, new

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(sizes: tuple[int, ...], p: float, generator: Generator | None) -> Any:
    """Return an array that is True with probability 1 - p."""
    return (generator or default_generator).numpy.random(sizes, np.float32) >= p


def _float(input: Any) -> Any:
    dtype = input._array.dtype
    return dtype if dtype.kind in "fcV" else np.dtype(np.float32)


def _run(function: Callable[[Any], Any], input: Any, name: str, inplace: bool) -> Any:
    return write(input, name, function) if inplace else function(input)


def _dropped(input: Any, sizes: tuple[int, ...], p: float, generator: Generator | None, inplace: bool) -> Any:
    scale = 0.0 if p == 1 else 1 / (1 - p)
    mask = _kept(sizes, p, generator) * np.asarray(scale, _float(input))
    return _run(lambda x: ops.dropout_mask(x, new(mask)), input, "dropout", inplace)


def dropout(
    input: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """Set each value to 0 with probability `p` and scale the rest by 1 / (1 - p), if `training`.

    >>> import workbench as wb
    >>> wb.nn.functional.dropout(wb.ones(4), 0.5, generator=wb.Generator(0))
    tensor([2.0000, 2.0000, 2.0000, 0.0000])
    """
    _check(p)
    if not training or p == 0:
        return input
    return _dropped(input, dims_of(input).sizes, p, generator, inplace)


def _channels(input: Any, batched: bool) -> tuple[int, ...]:
    """Return the sizes of a mask with one value for each channel of [N, C, …] or [C, …]."""
    sizes = dims_of(input).sizes
    own = 2 if batched else 1
    return sizes[:own] + (1,) * (len(sizes) - own)


def dropout1d(
    input: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """Set whole channels of [N, C, L] or [C, L] to 0 with probability `p`, and scale the rest, if `training`."""
    _check(p)
    ndim = len(dims_of(input).sizes)
    if ndim not in (2, 3):
        raise DimensionError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. It drops channels of [N, C, L] or "
            "[C, L].",
            op="dropout1d",
            operands=(dims_of(input).operand("input"),),
        )
    if not training or p == 0:
        return input
    return _dropped(input, _channels(input, ndim == 3), p, generator, inplace)


def dropout2d(
    input: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """Set whole channels of [N, C, H, W] to 0 with probability `p`, and scale the rest, if `training`.

    Input of three dims is taken for [N, C, L], as in PyTorch.
    """
    _check(p)
    ndim = len(dims_of(input).sizes)
    if ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {ndim}-D input to dropout2d, which is deprecated; it drops channels of "
            "[N, C, H, W]. For values one by one use dropout.",
            UserWarning,
            stacklevel=2,
        )
    if not training or p == 0:
        return input
    return _dropped(input, _channels(input, True), p, generator, inplace)


def dropout3d(
    input: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """Set whole channels of [N, C, D, H, W] or [C, D, H, W] to 0 with probability `p`, and scale the rest."""
    _check(p)
    ndim = len(dims_of(input).sizes)
    if ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {ndim}-D input to dropout3d, which is deprecated; it drops channels of "
            "[N, C, D, H, W]. For values one by one use dropout.",
            UserWarning,
            stacklevel=2,
        )
    if not training or p == 0:
        return input
    return _dropped(input, _channels(input, ndim != 4), p, generator, inplace)


_SATURATED = 1.7580993408473766
"""The negative of the value that the self-normalising activation (selu) falls to: λ·α."""


def _alpha_dropped(
    input: Any, sizes: tuple[int, ...], p: float, generator: Generator | None, inplace: bool
) -> Any:
    """Set values to selu's floor, then scale and shift so that mean 0 and variance 1 stay."""
    if p == 1:
        return _run(lambda x: ops.mul(x, 0.0), input, "alpha_dropout", inplace)
    scale = 1 / math.sqrt((_SATURATED**2 * p + 1) * (1 - p))
    kept = _kept(sizes, p, generator).astype(_float(input))
    shift = new(((kept - 1 + p) * _SATURATED * scale).astype(_float(input), copy=False))
    mask = new((kept * scale).astype(_float(input), copy=False))
    return _run(lambda x: ops.add(ops.dropout_mask(x, mask), shift), input, "alpha_dropout", inplace)


def alpha_dropout(
    input: Any,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """Set values to selu's floor with probability `p`, keeping mean 0 and variance 1. Klambauer et al. 2017."""
    _check(p)
    if not training or p == 0:
        return input
    return _alpha_dropped(input, dims_of(input).sizes, p, generator, inplace)


def feature_alpha_dropout(
    input: Any,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """`alpha_dropout` of whole channels of [N, C, …]."""
    _check(p)
    if not training or p == 0:
        return input
    if len(dims_of(input).sizes) < 2:
        raise DimensionError(
            "Feature dropout requires at least 2 dimensions in the input: [N, C, ...]",
            op="feature_alpha_dropout",
            operands=(dims_of(input).operand("input"),),
        )
    return _alpha_dropped(input, _channels(input, True), p, generator, inplace)


def rrelu(
    input: Any,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """Value x where x > 0, a·x elsewhere, with the slope a drawn evenly from [lower, upper] for each value.

    Without `training` the slope is (lower + upper)/2. Xu et al. 2015.

    >>> import workbench as wb
    >>> wb.nn.functional.rrelu(wb.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    if not training:
        mean = (lower + upper) / 2
        return _run(lambda x: ops.leaky_relu(x, slope=mean), input, "rrelu", inplace)
    drawn = (generator or default_generator).numpy.uniform(lower, upper, dims_of(input).sizes)
    slope = new(np.asarray(drawn).astype(_float(input)))
    return _run(lambda x: ops.where(ops.gt(x, 0.0), x, ops.mul(x, slope)), input, "rrelu", inplace)


def gumbel_softmax(
    logits: Any,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int | str = -1,
    *,
    generator: Generator | None = None,
) -> Any:
    """A draw from the classes along `dim`, made differentiable: softmax((logits + Gumbel noise) / τ).

    With `hard`, 1 for the class drawn and 0 for others, with the soft draw's gradient. `eps` has no effect.
    Jang, Gu and Poole 2017.

    >>> import workbench as wb
    >>> wb.nn.functional.gumbel_softmax(wb.zeros(2, 3), hard=True).sum(-1)
    tensor([1.0000, 1.0000])
    """
    dims = dims_of(logits)
    axis = dim_index(dims, dim, "gumbel_softmax")
    noise = (generator or default_generator).numpy.gumbel(size=dims.sizes)
    noisy = ops.div(ops.add(logits, new(np.asarray(noise).astype(_float(logits)))), float(tau))
    soft = ops.softmax(noisy, dim=axis)
    if not hard:
        return soft
    top = ops.argmax(soft, dim=(axis,), keepdim=True)
    places = new(np.arange(dims.sizes[axis]).reshape((-1,) + (1,) * (len(dims.sizes) - axis - 1)))
    drawn = ops.to(ops.eq(top, places), dtype=soft._array.dtype)
    # The value of the draw, the gradient of the soft one.
    return ops.add(ops.detach(ops.sub(drawn, soft)), soft)


NN: dict[str, Any] = {
    "alpha_dropout": alpha_dropout,
    "dropout": dropout,
    "dropout1d": dropout1d,
    "dropout2d": dropout2d,
    "dropout3d": dropout3d,
    "feature_alpha_dropout": feature_alpha_dropout,
    "gumbel_softmax": gumbel_softmax,
    "rrelu": rrelu,
}
"""What `workbench.nn.functional` offers of this file."""
