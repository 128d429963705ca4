"""Chance in a network: values or whole channels dropped, slopes drawn, classes drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError
from workbench.base.random import Generator
from workbench.core.inplace import write
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.random.counter_based import seed_from
from workbench.ops.random.noise import noise
from workbench.ops.shape.creation import arange

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _float(input: Any) -> Any:
    dtype = input.payload.dtype
    return dtype if dtype.kind in "fcV" else np.dtype(np.float32)


def _run(function: Callable[[Any], Tensor], input: Any, name: str, inplace: bool) -> Tensor:
    return write(input, name, function) if inplace else function(input)


def _dropped(
    input: Any,
    drawn: int,
    p: float,
    training: bool,
    generator: Generator | None,
    inplace: bool,
    name: str = "dropout",
) -> Tensor:
    """Drop values that differ in one of the first `drawn` dims each for itself, if `training`."""
    if not training or p == 0:
        return input  # type: ignore[no-any-return]
    places = (0, min(drawn, len(input.payload.shape)))
    params = {"p": float(p), "seed": seed_from(generator), "drawn": places, **_NUMBERS[name](p)}
    return _run(lambda x: ops.dropout(x, **params), input, name, inplace)


def _of_dropout(p: float) -> dict[str, float]:
    # With all of them dropped nothing is left to be scaled.
    return {"scale": 0.0 if p == 1 else 1 / (1 - p), "high": 0.0, "low": 0.0}


def _expected(name: str, input: Any, ndims: tuple[int, int], layout: str) -> int:
    """Return how many dims there are; warn where channels are dropped of something else than images or volumes."""
    ndim = len(dims_of(input).sizes)
    if ndim not in ndims:
        warnings.warn(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated; it drops channels of {layout}. For "
            "values one by one use dropout.",
            UserWarning,
            stacklevel=3,
        )
    return ndim


_SATURATED = 1.7580993408473766
"""The negative of the value that the self-normalising activation (selu) falls to: λ·α."""


def _of_alpha_dropout(p: float) -> dict[str, float]:
    """Set values to selu's floor, then scale and shift so that mean 0 and variance 1 stay."""
    if p == 1:
        return {"scale": 0.0, "high": 0.0, "low": 0.0}
    scale = 1 / math.sqrt((_SATURATED**2 * p + 1) * (1 - p))
    return {"scale": scale, "high": p * _SATURATED * scale, "low": (p - 1) * _SATURATED * scale}


_NUMBERS = {"dropout": _of_dropout, "alpha_dropout": _of_alpha_dropout}


@offered("nn.functional")
def dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Set each value to 0 with probability `p` and scale the rest by 1 / (1 - p), if `training`.

    >>> import workbench as wb
    >>> wb.nn.functional.dropout(wb.ones(4), 0.5, generator=wb.Generator(0))
    tensor([0., 2., 2., 2.])
    """
    _check(p)
    return _dropped(input, len(input.payload.shape), p, training, generator, inplace)


@offered("nn.functional")
def dropout1d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
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
    return _dropped(input, 2 if ndim == 3 else 1, p, training, generator, inplace)


@offered("nn.functional")
def dropout2d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Set whole channels of [N, C, H, W] to 0 with probability `p`, and scale the rest, if `training`.

    Input of three dims is taken for [N, C, L], as in PyTorch.
    """
    _check(p)
    _expected("dropout2d", input, (3, 4), "[N, C, H, W]")
    # Three dims are [N, C, L], as in PyTorch, and not one sample without a batch dim.
    return _dropped(input, 2, p, training, generator, inplace)


@offered("nn.functional")
def dropout3d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Set whole channels of [N, C, D, H, W] or [C, D, H, W] to 0 with probability `p`, and scale the rest."""
    _check(p)
    ndim = _expected("dropout3d", input, (4, 5), "[N, C, D, H, W]")
    # Here four dims are one sample.
    return _dropped(input, 2 if ndim != 4 else 1, p, training, generator, inplace)


@offered("nn.functional")
def alpha_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Set values to selu's floor with probability `p`, keeping mean 0 and variance 1. Klambauer et al. 2017."""
    _check(p)
    return _dropped(input, len(input.payload.shape), p, training, generator, inplace, "alpha_dropout")


@offered("nn.functional")
def feature_alpha_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """`alpha_dropout` of whole channels of [N, C, …]."""
    _check(p)
    if training and p > 0 and len(dims_of(input).sizes) < 2:
        raise DimensionError(
            "Feature dropout requires at least 2 dimensions in the input: [N, C, ...]",
            op="feature_alpha_dropout",
            operands=(dims_of(input).operand("input"),),
        )
    return _dropped(input, 2, p, training, generator, inplace, "alpha_dropout")


@offered("nn.functional")
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Value x where x > 0, a·x elsewhere, with the slope a drawn evenly from [lower, upper] for each value.

    Without `training` the slope is (lower + upper)/2. Xu et al. 2015.

    >>> import workbench as wb
    >>> wb.nn.functional.rrelu(wb.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    if not lower <= upper:
        raise ValueError(f"rrelu: slopes are drawn from [lower, upper], got lower={lower} and upper={upper}")
    if not training:
        mean = (lower + upper) / 2
        return _run(lambda x: ops.leaky_relu(x, slope=mean), input, "rrelu", inplace)
    seed, drawn = seed_from(generator), (0, len(input.payload.shape))
    return _run(
        lambda x: ops.rrelu(x, lower=float(lower), upper=float(upper), seed=seed, drawn=drawn),
        input, "rrelu", inplace,
    )  # fmt: skip


@offered("nn.functional")
def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: Dim = -1,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """A draw from the classes along `dim`, made differentiable: softmax((logits + Gumbel noise) / τ).

    With `hard`, 1 for the class drawn and 0 for others, with the soft draw's gradient. `eps` has no effect.
    Jang, Gu and Poole 2017.

    >>> import workbench as wb
    >>> wb.nn.functional.gumbel_softmax(wb.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    dims = dims_of(logits)
    axis = dim_index(dims, dim, "gumbel_softmax")
    drawn = noise("gumbel", dims.sizes, _float(logits), generator=generator)
    noisy = ops.div(ops.add(logits, drawn), float(tau))
    soft = ops.softmax(noisy, dim=axis)
    if not hard:
        return soft
    top = ops.argmax(soft, dim=(axis,), keepdim=True)
    count = dims.sizes[axis]
    places = arange(0, count, 1, np.dtype(np.int64))
    along = ops.reshape(places, sizes=(count, *(1,) * (len(dims.sizes) - axis - 1)))
    hit = ops.to(ops.eq(top, along), dtype=soft.payload.dtype)
    # The value of the draw, the gradient of the soft one.
    return ops.add(ops.detach(ops.sub(hit, soft)), soft)
