"""Records of units that weigh a value by how likely it is kept: GELU and SiLU, and what their gradients multiply by."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.lazy import scipy_special
from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import alike, binary, unary
from workbench.core.op import Op, Saves, ops
from workbench.ops.complexes import real_only

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
    share = _logistic(x * (_WIDTH + _CUBE * (x * x)))
    return share + x * (share * (1 - share)) * (_WIDTH + 3 * _CUBE * (x * x))


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
)
GELU_TANH, GELU_TANH_GRADIENT = _gated(
    "gelu_tanh",
    "Gaussian error linear unit by a hyperbolic tangent.",
    "y = x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))",
    "Hendrycks and Gimpel 2016",
    lambda x: _logistic(x * (_WIDTH + _CUBE * (x * x))),
    _tanh_slope,
    _tanh_curvature,
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
