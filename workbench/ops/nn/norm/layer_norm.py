"""Normalisation of each sample by itself over its last dims: layer and root mean square normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_indices
from workbench.base.dtypes import half_width
from workbench.base.errors import DimensionError
from workbench.core.contribution import composed
from workbench.core.dtype_rules import FLOAT, LEARNED_FLOAT
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, PLAIN, served
from workbench.core.tape import Call
from workbench.core.typing import Shape, Tensor
from workbench.core.value import dims_of
from workbench.kernels._range import inverse_deviation, normalise_in_range
from workbench.ops.linalg.matrices import plus
from workbench.ops.nn import batching
from workbench.ops.nn.norm.standardise import (
    Axes,
    gradients,
    second_order,
    standardise,
    through_statistics,
    wanted,
)
from workbench.ops.nn.norm.steps import scaled, standardised
from workbench.ops.offer import offered


def _last(ndim: int, count: int) -> Axes:
    return tuple(range(ndim - count, ndim))


def _check_factors(op: str, x: Dims, count: int, factors: dict[str, Dims | None]) -> None:
    shape = x.sizes[len(x.sizes) - count :]
    for label, factor in factors.items():
        if factor is not None and factor.sizes != shape:
            raise DimensionError(
                f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                f"{list(factor.sizes)} and normalized_shape = {list(shape)}",
                op=op,
                operands=(x.operand("input", _last(len(x.sizes), count)), factor.operand(label)),
            )


def _statistic(x: Dims, axes: Axes) -> Dims:
    return Dims(x.names, tuple(1 if i in axes else size for i, size in enumerate(x.sizes)))


def _layer_norm_dims(
    x: Dims, weight: Dims | None = None, bias: Dims | None = None, *, count: int, eps: float
) -> tuple[Dims, Dims, Dims]:
    _check_factors("layer_norm", x, count, {"weight": weight, "bias": bias})
    statistic = _statistic(x, _last(len(x.sizes), count))
    return x, statistic, statistic


def _layer_norm_vjp(c: Call, g: Any, g_mean: Any, g_rstd: Any) -> tuple[Any, ...]:
    x, *factors = c.inputs
    count = c.params["count"]
    found: list[Any] = [None, None, None]
    if g is not None:
        found = list(ops.layer_norm_gradient(g, x, c.outs[1], c.outs[2], *factors[:1], count=count))
    axes = _last(len(x.payload.shape), count)
    found[0] = plus(found[0], through_statistics(x, c.outs[1], c.outs[2], g_mean, g_rstd, axes))
    return wanted(found, c.needs)


def _layer_norm_steps(
    constant: Callable[[Any], Any], x: Any, weight: Any = None, bias: Any = None, *, count: int, eps: float
) -> tuple[Any, Any, Any]:
    y, mean, rstd = standardised(constant, x, _last(len(x.payload.shape), count), eps)
    return scaled(y, weight, bias), mean, rstd


LAYER_NORM = Op(
    name="layer_norm",
    contribution=composed(_layer_norm_steps),
    doc="Scale each sample by the mean and variance of its last dims; also returns mean and reciprocal deviation.",
    equation="y = (x - E[x]) / √(Var[x] + ε)·w + b, over the last dims",
    reference="Ba, Kiros and Hinton 2016",
    dims=_layer_norm_dims,
    rule="names and sizes pass through; the normalised dims of the statistics have size 1",
    dtype=LEARNED_FLOAT,
    forward=lambda x, weight=None, bias=None, *, count, eps: standardise(
        x, weight, bias, _last(x.ndim, count), eps
    ),
    vjp=_layer_norm_vjp,
    saves=Saves(None, output=True, outputs=(1, 2)),
    cost=lambda dims, out, **params: 8.0 * dims[0].numel,
    samples=lambda: [
        Sample(
            (grid(3, 2, 4), grid(4, seed=1), grid(4, seed=2)),
            {"count": 1, "eps": 1e-5},
            names=(("N", "T", "C"), ("C",), ("C",)),
        ),
        Sample((grid(3, 2, 4), grid(2, 4, seed=1)), {"count": 2, "eps": 1e-3}),
        Sample((grid(3, 4),), {"count": 1, "eps": 1e-5}, names=(("N", "C"),)),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 4), grid(3)), {"count": 1, "eps": 1e-5}, DimensionError, "same shape as normalized"
        ),
    ],
    outputs=3,
    tolerance=1e-5,
    properties=frozenset({"wide"}),
    batch=batching.last_dims,
    small="layer_norm",
    quantized=served("layer_norm", PLAIN),
)


def _of_last_dims(g: Dims, x: Dims, count: int) -> tuple[Dims, Dims]:
    at = len(x.sizes) - count
    return Dims(x.names, x.sizes), Dims(x.names[at:], x.sizes[at:])


def _layer_norm_gradient_dims(
    g: Dims, x: Dims, mean: Dims, rstd: Dims, weight: Dims | None = None, *, count: int
) -> tuple[Dims, Dims, Dims]:
    values, factor = _of_last_dims(g, x, count)
    return values, factor, factor


def _layer_norm_gradient_vjp(c: Call, *directions: Any) -> tuple[Any, ...]:
    g, x, mean, rstd, *weight = c.inputs
    axes = _last(len(x.payload.shape), c.params["count"])
    return wanted(second_order(directions, g, x, mean, rstd, weight[0] if weight else None, axes), c.needs)


LAYER_NORM_GRADIENT = Op(
    name="layer_norm_gradient",
    doc="Gradients of layer normalisation for its input, weight and bias.",
    equation="gx = rstd·(h - E[h] - x̂·E[h·x̂]), gw = Σ g·x̂, gb = Σ g, with h = g·w and x̂ = (x - mean)·rstd",
    reference="Ba, Kiros and Hinton 2016",
    dims=_layer_norm_gradient_dims,
    rule="as the input of the normalisation, and its last dims twice",
    dtype=FLOAT,
    forward=lambda g, x, mean, rstd, weight=None, *, count: gradients(
        g, x, mean, rstd, weight, _last(x.ndim, count), x.shape[x.ndim - count :]
    ),
    vjp=_layer_norm_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 12.0 * dims[1].numel,
    samples=lambda: [
        Sample(
            (
                grid(3, 4, seed=1),
                grid(3, 4, seed=2),
                grid(3, 1, seed=3),
                grid(3, 1, low=0.5, seed=4),
                grid(4, seed=5),
            ),
            {"count": 1},
        ),
        Sample(
            (grid(3, 4, seed=1), grid(3, 4, seed=2), grid(3, 1, seed=3), grid(3, 1, low=0.5, seed=4)),
            {"count": 1},
        ),
    ],
    outputs=3,
    tolerance=1e-5,
    batch=batching.last_dims_gradient,
    quantized=GRADIENT,
)


def _rms_norm_dims(x: Dims, weight: Dims | None = None, *, count: int, eps: float) -> tuple[Dims, Dims]:
    _check_factors("rms_norm", x, count, {"weight": weight})
    return x, _statistic(x, _last(len(x.sizes), count))


def _rms_norm(x: Any, weight: Any = None, *, count: int, eps: float) -> tuple[Any, Any]:
    def normalise(x: Any, eps: float) -> tuple[Any, Any]:
        with np.errstate(invalid="ignore", over="ignore"):
            rstd = inverse_deviation(np.mean(x * x, axis=_last(x.ndim, count), keepdims=True), eps)
            return x * rstd, rstd

    y, rstd = normalise_in_range(normalise, x, eps, lambda statistic: statistic)
    return y if weight is None else y * weight, rstd


def _rms_norm_vjp(c: Call, g: Any, g_rstd: Any) -> tuple[Any, ...]:
    x, *weight = c.inputs
    count = c.params["count"]
    found: list[Any] = [None, None]
    if g is not None:
        found = list(ops.rms_norm_gradient(g, x, c.outs[1], *weight, count=count))
    axes = _last(len(x.payload.shape), count)
    found[0] = plus(found[0], through_statistics(x, None, c.outs[1], None, g_rstd, axes))
    return wanted(found, c.needs)


def _rms_norm_steps(
    constant: Callable[[Any], Any], x: Any, weight: Any = None, *, count: int, eps: float
) -> tuple[Any, Any]:
    y, _, rstd = standardised(constant, x, _last(len(x.payload.shape), count), eps, centred=False)
    return scaled(y, weight, None), rstd


RMS_NORM = Op(
    name="rms_norm",
    contribution=composed(_rms_norm_steps),
    doc="Scale each sample by the root mean square of its last dims; also returns that reciprocal.",
    equation="y = x / √(E[x²] + ε)·w, over the last dims",
    reference="Zhang and Sennrich 2019",
    dims=_rms_norm_dims,
    rule="names and sizes pass through; the normalised dims of the statistic have size 1",
    dtype=LEARNED_FLOAT,
    forward=_rms_norm,
    vjp=_rms_norm_vjp,
    saves=Saves(None, output=True, outputs=(1,)),
    cost=lambda dims, out, **params: 5.0 * dims[0].numel,
    samples=lambda: [
        Sample((grid(3, 2, 4), grid(4, seed=1)), {"count": 1, "eps": 1e-5}, names=(("N", "T", "C"), ("C",))),
        Sample((grid(3, 2, 4),), {"count": 2, "eps": 1e-3}),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 4), grid(3)), {"count": 1, "eps": 1e-5}, DimensionError, "same shape as normalized"
        ),
    ],
    outputs=2,
    tolerance=1e-5,
    properties=frozenset({"wide"}),
    batch=batching.last_dims,
    quantized=served("rms_norm", PLAIN),
)


def _rms_norm_gradient_vjp(c: Call, *directions: Any) -> tuple[Any, ...]:
    g, x, rstd, *weight = c.inputs
    axes = _last(len(x.payload.shape), c.params["count"])
    d_g, d_x, _, d_rstd, d_weight = second_order(
        (*directions, None), g, x, None, rstd, weight[0] if weight else None, axes
    )
    return wanted((d_g, d_x, d_rstd, d_weight), c.needs)


RMS_NORM_GRADIENT = Op(
    name="rms_norm_gradient",
    doc="Gradients of root mean square normalisation for its input and weight.",
    equation="gx = rstd·(h - x̂·E[h·x̂]), gw = Σ g·x̂, with h = g·w and x̂ = x·rstd",
    reference="Zhang and Sennrich 2019",
    dims=lambda g, x, rstd, weight=None, *, count: _of_last_dims(g, x, count),
    rule="as the input of the normalisation, and its last dims",
    dtype=FLOAT,
    forward=lambda g, x, rstd, weight=None, *, count: gradients(
        g, x, None, rstd, weight, _last(x.ndim, count), x.shape[x.ndim - count :]
    )[:2],
    vjp=_rms_norm_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 9.0 * dims[1].numel,
    samples=lambda: [
        Sample(
            (grid(3, 4, seed=1), grid(3, 4, seed=2), grid(3, 1, low=0.5, seed=4), grid(4, seed=5)),
            {"count": 1},
        ),
    ],
    outputs=2,
    tolerance=1e-5,
    batch=batching.last_dims_gradient,
    quantized=GRADIENT,
)


# ---------------------------------------------------------------------------------- the words people use


def _count_of(op: str, input: Any, normalized_shape: Any) -> int:
    """Return how many last dims `normalized_shape` (sizes, or names of dims) stands for."""
    sizes = input.payload.shape
    # The sizes as modules keep them, which is the usual way to give them: no names are looked up.
    if (
        type(normalized_shape) is tuple
        and normalized_shape
        and sizes[-len(normalized_shape) :] == normalized_shape
    ):
        return len(normalized_shape)
    dims = dims_of(input)
    if isinstance(normalized_shape, int | str):
        normalized_shape = (normalized_shape,)
    shape = tuple(normalized_shape)
    # By name the sizes are those of the dims: only their place is left to check.
    if shape and all(isinstance(one, str) for one in shape):
        axes = dim_indices(dims, shape, op)
        fits = axes == _last(len(dims.sizes), len(axes))
    else:
        fits = 0 < len(shape) <= len(dims.sizes) and dims.sizes[len(dims.sizes) - len(shape) :] == shape
    if not fits:
        tail = "".join(f", {one}" for one in shape)
        raise DimensionError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{tail}], but got input of size"
            f"{list(dims.sizes)}: the last dims are normalised.",
            op=op,
            operands=(dims.operand("input"),),
        )
    return len(shape)


@offered("workbench")
def native_layer_norm(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, with the mean and the reciprocal deviation 1/√(Var + ε) it used; no gradient flows through those.

    >>> import workbench as wb
    >>> [one.shape for one in wb.native_layer_norm(wb.zeros(2, 3), [3], None, None, 1e-5)]
    [(2, 3), (2, 1), (2, 1)]
    """
    y, mean, rstd = _normalised(input, normalized_shape, weight, bias, eps)
    return y, ops.detach(mean), ops.detach(rstd)


def _normalised(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, ...]:
    count = _count_of("layer_norm", input, normalized_shape)
    # The op takes a bias only beside a weight.
    factors = [one for one in (weight, bias if weight is not None else None) if one is not None]
    y, mean, rstd = ops.layer_norm(input, *factors, count=count, eps=eps)
    if weight is None and bias is not None:
        y = ops.add(y, bias)
    return y, mean, rstd


@offered("workbench", "nn.functional")
def layer_norm(
    input: Tensor,
    normalized_shape: Shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Scale each sample by the mean and variance of its last dims: (x - E[x]) / √(Var[x] + ε)·weight + bias.

    `normalized_shape` gives the sizes of those dims, or their names; `weight` and `bias` have these sizes.

    >>> import workbench as wb
    >>> wb.layer_norm(wb.tensor([[1.0, 3.0]], names=("N", "C")), ["C"], eps=0.0)
    tensor([[-1.,  1.]], names=('N', 'C'))
    """
    y: Tensor = _normalised(input, normalized_shape, weight, bias, eps)[0]
    return y


@offered("workbench", "nn.functional")
def rms_norm(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Scale each sample by the root mean square of its last dims: x / √(E[x²] + ε)·weight.

    `normalized_shape` gives the sizes of those dims, or their names; ε is the type's own resolution by default.

    >>> import workbench as wb
    >>> wb.rms_norm(wb.tensor([[3.0, 4.0], [0.0, 2.0]]), [2])
    tensor([[0.8485, 1.1314],
            [0.0000, 1.4142]])
    """
    count = _count_of("rms_norm", input, normalized_shape)
    if eps is None:
        eps = _resolution(input.payload.dtype)
    # PyTorch squares complex values as they are, without a conjugate.
    if input.payload.dtype.kind == "c":
        axes = _last(len(input.payload.shape), count)
        square = ops.mean(ops.mul(input, input), dim=axes, keepdim=True)
        y = ops.mul(input, ops.rsqrt(ops.add(square, eps)))
        return y if weight is None else ops.mul(y, weight)
    return ops.rms_norm(input, *(() if weight is None else (weight,)), count=count, eps=eps)[0]


def _resolution(dtype: np.dtype[Any]) -> float:
    """Return the distance from 1 to the next number of the type that values are computed in."""
    # 16-bit floats are computed in float32, whose step counts.
    wide = dtype.kind in "fc" and not half_width(dtype)
    return float(np.finfo(dtype if wide else np.float32).eps)
