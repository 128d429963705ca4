"""Activations that weigh a value by a gate: silu, mish, gelu, glu."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError
from workbench.base.lazy import scipy_special
from workbench.core.batch_rules import all_along
from workbench.core.contribution import composed
from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import alike, binary, grid, unary
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, OWN, ROUNDED, Quantization, served
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import real_only
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.nn.activation.pointwise import settled
from workbench.ops.nn.activation.pointwise_ops import MISH
from workbench.ops.offer import offered

# Twice what the formula says: tanh u is 2σ(2u) - 1, and the gate is computed by σ.
_WIDTH = 2 * math.sqrt(2 / math.pi)
_CUBE = 0.044715 * _WIDTH


def _logistic(x: Any) -> Any:
    return scipy_special.expit(x)


def _normal_slope(x: Any) -> Any:
    return scipy_special.ndtr(x) + x * np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


def _normal_curvature(x: Any) -> Any:
    square = ops.mul(x, x)
    density = ops.mul(ops.exp(ops.mul(square, -0.5)), 1 / math.sqrt(2 * math.pi))
    return ops.mul(density, ops.sub(2.0, square))


def _tanh_slope(x: Any) -> Any:
    # Far out the slope is 0 or 1, and a cube might overflow; at infinity it is NaN, as the formula says.
    near = np.clip(x, -40, 40)
    share = _logistic(near * (_WIDTH + _CUBE * (near * near)))
    return share + near * (share * (1 - share)) * (_WIDTH + 3 * _CUBE * (near * near)) + x * 0


def _tanh_curvature(x: Any) -> Any:
    square = ops.mul(x, x)
    share = ops.sigmoid(ops.mul(x, ops.add(ops.mul(square, _CUBE), _WIDTH)))
    slope = ops.add(ops.mul(square, 3 * _CUBE), _WIDTH)
    spread = ops.mul(share, ops.sub(1.0, share))
    bend = ops.mul(ops.mul(slope, slope), ops.sub(1.0, ops.mul(share, 2.0)))
    inner = ops.add(ops.mul(slope, 2.0), ops.mul(x, ops.add(bend, ops.mul(x, 6 * _CUBE))))
    return ops.mul(spread, inner)


def _logistic_slope(x: Any) -> Any:
    share = _logistic(x)
    return share * (1 + x * (1 - share))


def _logistic_curvature(x: Any) -> Any:
    share = ops.sigmoid(x)
    spread = ops.mul(share, ops.sub(1.0, share))
    return ops.mul(spread, ops.add(ops.mul(x, ops.sub(1.0, ops.mul(share, 2.0))), 2.0))


def _gated(
    name: str,
    doc: str,
    equation: str,
    reference: str,
    share: Callable[[Any], Any],
    slope: Callable[[Any], Any],
    curvature: Callable[[Any], Any],
    quantized: Quantization = OWN,
) -> tuple[Op, Op]:
    """Declare y = x·share(x), and the op that takes a gradient through it."""
    op = unary(
        name,
        doc,
        equation,
        lambda x: x * share(x),
        lambda c, g: getattr(ops, f"{name}_gradient")(g, c.inputs[0]),
        saves=Saves(output=False),
        dtype=real_only(name, FLOAT),
        reference=reference,
        quantized=served(name, quantized),
    )
    gradient = binary(
        f"{name}_gradient",
        f"Take a gradient through {name}.",
        "y = g·f'(x)",
        alike(lambda g, x: g * slope(x)),
        lambda c, u: (
            lambda: getattr(ops, f"{name}_gradient")(u, c.inputs[1]),
            lambda: ops.mul(ops.mul(u, c.inputs[0]), curvature(c.inputs[1])),
        ),
        saves=Saves(output=False),
        dtype=PROMOTE,
        quantized=GRADIENT,
        reference=reference,
    )
    return op, gradient


GELU, GELU_GRADIENT = _gated(
    "gelu",
    "Gaussian error linear unit.",
    "y = x·Φ(x)",
    "Hendrycks and Gimpel 2016",
    lambda x: scipy_special.ndtr(x),  # looked up when it is needed
    _normal_slope,
    _normal_curvature,
    ROUNDED,
)
GELU_TANH, GELU_TANH_GRADIENT = _gated(
    "gelu_tanh",
    "Gaussian error linear unit by a hyperbolic tangent.",
    "y = x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))",
    "Hendrycks and Gimpel 2016",
    lambda x: _logistic(x * (_WIDTH + _CUBE * (x * x))),
    _tanh_slope,
    _tanh_curvature,
    ROUNDED,
)
SILU, SILU_GRADIENT = _gated(
    "silu",
    "Sigmoid linear unit.",
    "y = x/(1 + e^-x)",
    "Elfwing, Uchibe and Doya 2017",
    _logistic,
    _logistic_slope,
    _logistic_curvature,
)


# ------------------------------------------------------------------------------- gates that are half of the input


def _halves(x: Any, dim: int) -> tuple[Any, Any]:
    half, before = x.shape[dim] // 2, (slice(None),) * dim
    return x[(*before, slice(0, half))], x[(*before, slice(half, None))]


def _halves_of(x: Any, dim: int) -> tuple[Any, Any]:
    half, before = x.payload.shape[dim] // 2, (slice(None),) * dim
    return ops.index(x, key=(*before, slice(0, half))), ops.index(x, key=(*before, slice(half, 2 * half)))


def _glu(x: Any, *, dim: int) -> Any:
    value, gate = _halves(x, dim)
    return value * ops.sigmoid.forward(gate)


def _glu_dims(x: Dims, *, dim: int) -> Dims:
    if x.sizes[dim] % 2:
        raise DimensionError(
            f"Halving dimension must be even, but dimension {dim} is size {x.sizes[dim]}",
            op="glu",
            operands=(x.operand("input", [dim]),),
        )
    return Dims(x.names, (*x.sizes[:dim], x.sizes[dim] // 2, *x.sizes[dim + 1 :]))


def _glu_steps(constant: Callable[[Any], Any], x: Any, *, dim: int) -> Any:
    half = x.payload.shape[dim] // 2
    lead = (slice(None),) * dim
    value = ops.index(x, key=(*lead, slice(0, half)))
    return ops.mul(value, constant(ops.sigmoid(ops.index(x, key=(*lead, slice(half, None))))))


GLU = Op(
    name="glu",
    contribution=composed(_glu_steps),
    doc="Gated linear unit: one half along a dim, by the logistic function of the other.",
    equation="y = a·σ(b), x = (a, b)",
    reference="Dauphin et al. 2017",
    dims=_glu_dims,
    rule="names pass through, the size of the dim is halved",
    dtype=real_only("glu", FLOAT),
    forward=_glu,
    vjp=lambda c, g: (ops.glu_gradient(g, c.inputs[0], dim=c.params["dim"]),),
    saves=Saves(output=False),
    cost=lambda dims, out, **params: 4.0 * out.numel,
    samples=lambda: [
        Sample((grid(3, 4),), {"dim": 1}, names=(("N", "C"),)),
        Sample((grid(2, 4, 3),), {"dim": 1}),
        Sample((grid(6, 2),), {"dim": 0}),
        Sample((np.zeros((2, 0)),), {"dim": 1}),
    ],
    bad=lambda: [BadInput((grid(2, 3),), {"dim": 1}, DimensionError, "must be even")],
    batch=all_along,
    quantized=OWN,
)


def _glu_gradient(g: Any, x: Any, *, dim: int) -> Any:
    value, gate = _halves(x, dim)
    share = ops.sigmoid.forward(gate)
    passed = g * share
    return np.concatenate((passed, passed * value * (1 - share)), axis=dim)


def _glu_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    (g, x), dim = c.inputs, c.params["dim"]
    value, gate = _halves_of(x, dim)
    to_value, to_gate = _halves_of(u, dim)
    share = ops.sigmoid(gate)
    spread = ops.mul(share, ops.sub(1.0, share))
    along = ops.add(ops.mul(to_value, share), ops.mul(to_gate, ops.mul(value, spread)))
    if not c.needs[1]:
        return along, None
    bend = ops.mul(to_gate, ops.mul(value, ops.sub(1.0, ops.mul(share, 2.0))))
    slopes = ops.mul(g, spread)
    back = ops.cat(ops.mul(slopes, to_gate), ops.mul(slopes, ops.add(to_value, bend)), dim=dim)
    return along if c.needs[0] else None, back


GLU_GRADIENT = Op(
    name="glu_gradient",
    doc="Take a gradient through a gated linear unit.",
    equation="gx = (g·σ(b), g·a·σ(b)·(1 - σ(b)))",
    reference="Dauphin et al. 2017",
    dims=lambda g, x, dim: x,
    rule="as the operand of glu",
    dtype=FLOAT,
    forward=_glu_gradient,
    vjp=_glu_gradient_vjp,
    saves=Saves(output=False),
    cost=lambda dims, out, **params: 4.0 * out.numel,
    samples=lambda: [
        Sample((grid(3, 2, seed=1), grid(3, 4)), {"dim": 1}),
        Sample((grid(2, 2, 3, seed=1), grid(2, 4, 3)), {"dim": 1}),
    ],
    batch=all_along,
    quantized=GRADIENT,
)


@offered("nn.functional")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Sigmoid linear unit, also called swish: y = x/(1 + e^-x). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.silu(wb.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    if input.payload.dtype.kind == "c":
        # The op's gradient rule is for real numbers.
        return settled("silu", input, inplace, lambda x: ops.mul(x, ops.sigmoid(x)))
    return settled("silu", input, inplace, ops.silu)


@offered("nn.functional")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Self-regularized unit: y = x·tanh(ln(1 + e^x)). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.mish(wb.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    return settled("mish", input, inplace, MISH)


@offered("nn.functional")
@rounded_once
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit: y = x·Φ(x), or with "tanh" x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).

    Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.gelu(wb.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    if approximate == "none":
        return ops.gelu(input)
    if approximate != "tanh":
        raise ValueError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return ops.gelu_tanh(input)


@offered("nn.functional")
@rounded_once
def glu(input: Tensor, dim: Dim = -1) -> Tensor:
    """Gated linear unit: y = a·sigmoid(b), where a and b are the halves along `dim`, which keeps its name.

    Raises `DimensionError` unless the size of that dim is even.

    >>> import workbench as wb
    >>> wb.nn.functional.glu(wb.tensor([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
    """
    dims = dims_of(input)
    if not dims.sizes:
        raise DimensionError("glu does not support 0-dimensional tensors", op="glu")
    axis = dim_index(dims, dim, "glu")
    return GLU(input, dim=axis)
