"""Angles and hyperbolas: trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.core.dtype_rules import FLOAT
from workbench.core.families import binary, unary
from workbench.core.op import Saves, ops
from workbench.core.quantization import AROUND_ZERO, GRADIENT
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.ops.elementwise.complex import conjugate, is_complex_value, real_only
from workbench.ops.offer import offer, offered

OUTPUT = Saves((), output=True)


def _square(x: Any) -> Any:
    return ops.mul(x, x)


SIN = unary(
    "sin",
    "Sine of an angle in radians.",
    "y = sin x",
    np.sin,
    lambda c, g: ops.mul(g, conjugate(ops.cos(c.inputs[0]))),
    reference="ISO C99 F.9.1",
)
offer(SIN, "[0.0, 1.0]", "tensor([0.0000, 0.8415])", out=True, in_place=True)
COS = unary(
    "cos",
    "Cosine of an angle in radians.",
    "y = cos x",
    np.cos,
    lambda c, g: ops.neg(ops.mul(g, conjugate(ops.sin(c.inputs[0])))),
    reference="ISO C99 F.9.1",
)
offer(COS, "[0.0, 1.0]", "tensor([1.0000, 0.5403])", out=True, in_place=True)
TAN = unary(
    "tan",
    "Tangent of an angle in radians.",
    "y = tan x",
    np.tan,
    lambda c, g: ops.mul(g, conjugate(ops.add(_square(c.out), 1.0))),
    saves=OUTPUT,
    domain=(-1.2, 1.2),
    reference="ISO C99 F.9.1",
)
offer(TAN, "[0.0, 1.0]", "tensor([0.0000, 1.5574])", out=True, in_place=True)
ASIN = unary(
    "asin",
    "Angle in radians whose sine is given.",
    "y = arcsin x",
    np.arcsin,
    lambda c, g: ops.mul(g, conjugate(ops.rsqrt(ops.sub(1.0, _square(c.inputs[0]))))),
    domain=(-0.8, 0.8),
    reference="ISO C99 F.9.1",
)
offer(ASIN, "[0.0, 1.0]", "tensor([0.0000, 1.5708])", aliases=["arcsin"], out=True, in_place=True)
ACOS = unary(
    "acos",
    "Angle in radians whose cosine is given.",
    "y = arccos x",
    np.arccos,
    lambda c, g: ops.neg(ops.mul(g, conjugate(ops.rsqrt(ops.sub(1.0, _square(c.inputs[0])))))),
    domain=(-0.8, 0.8),
    reference="ISO C99 F.9.1",
)
offer(ACOS, "[0.0, 1.0]", "tensor([1.5708, 0.0000])", aliases=["arccos"], out=True, in_place=True)
ATAN = unary(
    "atan",
    "Angle in radians whose tangent is given.",
    "y = arctan x",
    np.arctan,
    lambda c, g: ops.div(g, conjugate(ops.add(_square(c.inputs[0]), 1.0))),
    reference="ISO C99 F.9.1",
)
offer(ATAN, "[0.0, 1.0]", "tensor([0.0000, 0.7854])", aliases=["arctan"], out=True, in_place=True)
SINH = unary(
    "sinh",
    "Hyperbolic sine.",
    "y = (e^x - e^-x)/2",
    np.sinh,
    lambda c, g: ops.mul(g, conjugate(ops.cosh(c.inputs[0]))),
    reference="ISO C99 F.9.2",
)
offer(SINH, "[0.0, 1.0]", "tensor([0.0000, 1.1752])", out=True, in_place=True)
COSH = unary(
    "cosh",
    "Hyperbolic cosine.",
    "y = (e^x + e^-x)/2",
    np.cosh,
    lambda c, g: ops.mul(g, conjugate(ops.sinh(c.inputs[0]))),
    reference="ISO C99 F.9.2",
)
offer(COSH, "[0.0, 1.0]", "tensor([1.0000, 1.5431])", out=True, in_place=True)
TANH = unary(
    "tanh",
    "Hyperbolic tangent.",
    "y = tanh x",
    np.tanh,
    lambda c, g: (
        ops.mul(g, conjugate(ops.sub(1.0, _square(c.out))))
        if is_complex_value(c.out)
        else ops.tanh_gradient(g, c.out)
    ),
    saves=OUTPUT,
    reference="ISO C99 F.9.2",
    quantized=AROUND_ZERO,
)
offer(TANH, "[0.0, 1.0]", "tensor([0.0000, 0.7616])", out=True, in_place=True)
offer(TANH, "[0.0, 1.0]", "tensor([0.0000, 0.7616])", "nn.functional")
TANH_GRADIENT = binary(
    "tanh_gradient",
    "Take a gradient through tanh, whose output is given.",
    "y = g·(1 - out²)",
    lambda g, out: g * (1 - out * out),
    lambda c, u: (
        lambda: ops.tanh_gradient(u, c.inputs[1]),
        lambda: ops.mul(ops.mul(u, c.inputs[0]), ops.mul(c.inputs[1], -2.0)),
    ),
    dtype=real_only("tanh_gradient"),
    quantized=GRADIENT,
)
ASINH = unary(
    "asinh",
    "Inverse of the hyperbolic sine.",
    "y = arsinh x",
    np.arcsinh,
    lambda c, g: ops.mul(g, conjugate(ops.rsqrt(ops.add(_square(c.inputs[0]), 1.0)))),
    reference="ISO C99 F.9.2",
)
offer(ASINH, "[0.0, 1.0]", "tensor([0.0000, 0.8814])", aliases=["arcsinh"], out=True, in_place=True)


def _acosh_gradient(c: Call, g: Any) -> Any:
    x = c.inputs[0]
    if is_complex_value(x):  # two roots, so that the branch is that of the function
        return ops.div(g, ops.conj(ops.mul(ops.sqrt(ops.sub(x, 1.0)), ops.sqrt(ops.add(x, 1.0)))))
    return ops.mul(g, ops.rsqrt(ops.sub(_square(x), 1.0)))


ACOSH = unary(
    "acosh",
    "Inverse of the hyperbolic cosine.",
    "y = arcosh x",
    np.arccosh,
    _acosh_gradient,
    domain=(1.2, 3.0),
    reference="ISO C99 F.9.2",
)
offer(ACOSH, "[1.0, 2.0]", "tensor([0.0000, 1.3170])", aliases=["arccosh"], out=True, in_place=True)
ATANH = unary(
    "atanh",
    "Inverse of the hyperbolic tangent.",
    "y = artanh x",
    np.arctanh,
    lambda c, g: ops.div(g, conjugate(ops.sub(1.0, _square(c.inputs[0])))),
    domain=(-0.8, 0.8),
    reference="ISO C99 F.9.2",
)
offer(ATANH, "[0.0, 0.5]", "tensor([0.0000, 0.5493])", aliases=["arctanh"], out=True, in_place=True)


def _atan2_gradient(c: Call, g: Any) -> Any:
    y, x = c.inputs
    # At the origin there is no direction: the gradient is 0 there, not NaN.
    nowhere = ops.logical_and(ops.eq(y, 0.0), ops.eq(x, 0.0))
    size = ops.hypot(y, ops.where(nowhere, 1.0, x))

    def share(one: Any) -> Any:
        # Divided by the distance twice: its square is 0 or infinite long before it is itself.
        return ops.mul(g, ops.div(ops.div(one, size), size))

    return (lambda: share(x)), (lambda: ops.neg(share(y)))


ATAN2 = binary(
    "atan2",
    "Angle in radians of the point (other, input), in its own quadrant.",
    "y = atan2(a, b)",
    np.arctan2,
    _atan2_gradient,
    dtype=real_only("atan2", FLOAT),
    reference="ISO C99 F.9.1",
)
offer(
    ATAN2,
    ("[1.0, -1.0]", "[1.0, -1.0]"),
    "tensor([ 0.7854, -2.3562])",
    aliases=["arctan2"],
    out=True,
    in_place="Tensor",
)


def _sinc(x: Any) -> Any:
    angle = np.pi * x
    return np.where(x == 0, 1, np.sin(angle) / np.where(x == 0, 1, angle)).astype(x.dtype, copy=False)


def _sinc_gradient(c: Call, g: Any) -> Any:
    x = c.inputs[0]
    nothing = ops.eq(x, 0.0)
    angle = ops.mul(ops.where(nothing, 1.0, x), math.pi)
    # Divided by the angle twice: its square is 0 or infinite long before it is itself.
    slope = ops.div(ops.sub(ops.cos(angle), ops.div(ops.sin(angle), angle)), angle)
    return ops.mul(g, conjugate(ops.where(nothing, 0.0, ops.mul(slope, math.pi))))


SINC = unary(
    "sinc",
    "Normalized sine over its argument, 1 at 0.",
    "y = sin(πx)/(πx)",
    _sinc,
    _sinc_gradient,
)
offer(
    SINC, "[0.0, 0.5]", "tensor([1.0000, 0.6366])", "workbench", "Tensor", "special", out=True, in_place=True
)

# ---------------------------------------------------------------------------------- the words people use


@offered(out=True, in_place=True)
def deg2rad(input: Tensor) -> Tensor:
    """Angles in degrees as radians: y = x·π/180. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.deg2rad(wb.tensor([90.0, 180.0]))
    tensor([1.5708, 3.1416])
    """
    return ops.mul(input, math.pi / 180)


@offered(out=True, in_place=True)
def rad2deg(input: Tensor) -> Tensor:
    """Angles in radians as degrees: y = x·180/π. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.rad2deg(wb.tensor([0.0, 3.14159265]))
    tensor([  0., 180.])
    """
    return ops.mul(input, 180 / math.pi)
