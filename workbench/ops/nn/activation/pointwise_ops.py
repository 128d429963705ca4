"""Records of activations that numbers shape, and of what takes gradients through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.core.contribution import Contribution, rectifying
from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import grid
from workbench.core.op import DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import COMPUTED, GRADIENT, OWN, ROUNDED, UNIT, Quantization, served
from workbench.core.tape import Call
from workbench.ops.elementwise.complex import real_only, zeros

INPUT = Saves(output=False)


def _shaped(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[..., Any],
    passed: Callable[..., Any],
    params: Mapping[str, Any],
    *,
    curvature: Callable[..., Any] | None = None,
    dtype: DTypeRule = FLOAT,
    reference: str | None = None,
    small: str | None = None,
    quantized: Quantization = OWN,
    contribution: Contribution | None = None,
) -> tuple[Op, Op]:
    """Declare y = f(x), and the op ``<name>_gradient`` that takes a gradient through it.

    ``passed(g, x, …)`` is array code for g·f'(x), and chooses where it can: where f' is 0, nothing of an infinite g
    goes through. ``curvature(x, …)`` is f''(x) in other ops (None: 0 wherever there is one). `params` are those of
    the samples.
    """

    def gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        g, x = c.inputs
        through = getattr(ops, f"{name}_gradient")(u, x, **c.params) if c.needs[0] else None
        if not c.needs[1]:
            return through, None
        if curvature is None:
            return through, zeros(x)
        return through, ops.mul(ops.mul(u, g), curvature(x, **c.params))

    op = Op(
        name=name,
        doc=doc,
        equation=equation,
        reference=reference,
        dims=lambda x, **params: x,
        rule="names and sizes pass through",
        dtype=real_only(name, dtype),
        forward=forward,
        vjp=lambda c, g: (getattr(ops, f"{name}_gradient")(g, c.inputs[0], **c.params),),
        saves=INPUT,
        quantized=quantized,
        contribution=contribution,
        samples=lambda: [
            Sample((grid(3, 4),), params, names=(("N", "C"),)),
            Sample((grid(),), params),
            Sample((grid(4, 3, 2).transpose(2, 0, 1),), params),
        ],
        properties=frozenset({"elementwise", "same"}),
        small=small,
    )
    gradient = Op(
        name=f"{name}_gradient",
        doc=f"Take a gradient through {name}.",
        equation="y = g·f'(x)",
        reference=reference,
        dims=lambda g, x, **params: broadcast(f"{name}_gradient", g, x),
        rule="names unify from the right, sizes broadcast",
        dtype=PROMOTE,
        forward=passed,
        vjp=gradient_vjp,
        saves=INPUT,
        quantized=GRADIENT,
        samples=lambda: [
            Sample((grid(3, 4, seed=1), grid(3, 4)), params, names=(("N", "C"), ("N", "C"))),
            Sample((grid(seed=1), grid()), params),
        ],
        properties=frozenset({"elementwise"}),
    )
    return op, gradient


def logistic(x: Any) -> Any:
    """Without overflow, and with all digits of what is near 0."""
    # By its logarithm: no exponential overflows on the way.
    return np.exp(-np.logaddexp(-x, x.dtype.type(0)))


# ------------------------------------------------------------------------------------------- by pieces


def _hardtanh(x: Any, low: float, high: float) -> Any:
    if x.dtype.kind in "iu":  # fractions of a bound are dropped, so that integers stay integers
        low, high = int(low), int(high)
    return np.clip(x, low, high)


HARDTANH, HARDTANH_GRADIENT = _shaped(
    "hardtanh",
    "Keep values within bounds; at a bound the gradient is 0.",
    "y = min(max(x, low), high)",
    _hardtanh,
    lambda g, x, low, high: np.where((x <= low) | (x >= high), 0.0, g),
    {"low": -0.6, "high": 0.7},
    dtype=PROMOTE,
    quantized=COMPUTED,
    contribution=rectifying(lambda params: params["low"] == 0),
)
HARDSIGMOID, HARDSIGMOID_GRADIENT = _shaped(
    "hardsigmoid",
    "Piecewise linear stand-in of the logistic function.",
    "y = min(max(x + 3, 0), 6)/6",
    lambda x: np.clip(x + 3, 0, 6) / 6,
    lambda g, x: np.where((x > -3) & (x < 3), g / 6, 0.0),
    {},
    reference="Howard et al. 2019",
    quantized=UNIT,
)
HARDSWISH, HARDSWISH_GRADIENT = _shaped(
    "hardswish",
    "Piecewise quadratic stand-in of silu.",
    "y = x·min(max(x + 3, 0), 6)/6",
    lambda x: x * (np.clip(x + 3, 0, 6) / 6),
    lambda g, x: np.where(x <= -3, 0.0, np.where(x >= 3, g, g * (x / 3 + 0.5))),
    {},
    curvature=lambda x: ops.where(ops.logical_and(ops.gt(x, -3.0), ops.lt(x, 3.0)), 1 / 3, 0.0),
    reference="Howard et al. 2019",
    quantized=served("hardswish"),
)
LEAKY_RELU, LEAKY_RELU_GRADIENT = _shaped(
    "leaky_relu",
    "Rectified linear unit with a slope below 0.",
    "y = x above 0, slope·x below",
    lambda x, slope: np.where(x > 0, x, x * slope),
    lambda g, x, slope: np.where(x > 0, g, g * slope),
    {"slope": 0.1},
    reference="Maas, Hannun and Ng 2013",
    quantized=served("leaky_relu", ROUNDED),
)
SOFTSHRINK, SOFTSHRINK_GRADIENT = _shaped(
    "softshrink",
    "Move values towards 0 by a number, and no further.",
    "y = x - bound above it, x + bound below its negative, 0 between",
    lambda x, bound: x - np.clip(x, -bound, bound),
    lambda g, x, bound: np.where((x >= -bound) & (x <= bound), 0.0, g),
    {"bound": 0.3},
)
HARDSHRINK, HARDSHRINK_GRADIENT = _shaped(
    "hardshrink",
    "Drop values near 0.",
    "y = x where |x| > bound, 0 elsewhere",
    lambda x, bound: np.where((x >= -bound) & (x <= bound), 0.0, x),
    lambda g, x, bound: np.where((x >= -bound) & (x <= bound), 0.0, g),
    {"bound": 0.3},
)
THRESHOLD, THRESHOLD_GRADIENT = _shaped(
    "threshold",
    "Replace what is not above a threshold.",
    "y = x where x > threshold, value elsewhere",
    lambda x, threshold, value: np.where(x <= threshold, value, x),
    lambda g, x, threshold, value: np.where(x <= threshold, 0.0, g),
    {"threshold": 0.3, "value": 2.0},
    dtype=PROMOTE,
    quantized=ROUNDED,
    contribution=rectifying(lambda params: params["threshold"] == params["value"] == 0),
)

# ------------------------------------------------------------------------------------ by an exponential


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    # Either zero keeps its sign.
    return np.where(x < 0, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale), x * scale)


def _elu_passed(g: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    # What lies above 0 is bounded: its exponential is not taken, and cannot overflow. NaN is not below 0.
    below = np.exp(np.minimum(x, 0) * input_scale) * (alpha * scale * input_scale)
    return np.where(x <= 0, g * below, g * scale)


def _elu_curvature(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = ops.exp(ops.mul(ops.clamp(x, low=None, high=0.0), input_scale))
    return ops.where(ops.gt(x, 0.0), 0.0, ops.mul(below, alpha * scale * input_scale**2))


ELU, ELU_GRADIENT = _shaped(
    "elu",
    "Exponential linear unit.",
    "y = scale·x above 0, scale·alpha·(e^(input_scale·x) - 1) below",
    _elu,
    _elu_passed,
    {"alpha": 1.2, "scale": 1.1, "input_scale": 0.8},
    curvature=_elu_curvature,
    reference="Clevert, Unterthiner and Hochreiter 2015",
)


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    return np.where(x * beta > threshold, x, np.logaddexp(x * beta, x.dtype.type(0)) / beta)


def _softplus_passed(g: Any, x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    return np.where(scaled > threshold, g, g * logistic(scaled))


def _softplus_curvature(x: Any, beta: float, threshold: float) -> Any:
    scaled = ops.mul(x, beta)
    share = ops.sigmoid(scaled)
    return ops.where(ops.gt(scaled, threshold), 0.0, ops.mul(ops.mul(share, ops.sub(1.0, share)), beta))


SOFTPLUS, SOFTPLUS_GRADIENT = _shaped(
    "softplus",
    "Smooth rectified linear unit; x itself where beta·x is beyond the threshold.",
    "y = ln(1 + e^(beta·x))/beta",
    _softplus,
    _softplus_passed,
    {"beta": 1.5, "threshold": 20.0},
    curvature=_softplus_curvature,
    reference="Dugas et al. 2001",
    small="softplus",
)


def _logsigmoid_curvature(x: Any) -> Any:
    share = ops.sigmoid(x)
    return ops.mul(share, ops.sub(share, 1.0))


LOGSIGMOID, LOGSIGMOID_GRADIENT = _shaped(
    "logsigmoid",
    "Logarithm of the logistic function.",
    "y = -ln(1 + e^-x)",
    lambda x: 0 - np.logaddexp(-x, x.dtype.type(0)),  # of infinity 0, not -0
    lambda g, x: g * logistic(-x),
    {},
    curvature=_logsigmoid_curvature,
)


def _mish_share(x: Any) -> tuple[Any, Any]:
    """Return tanh(ln(1 + e^x)) and what it lacks of 1: n/(n + 2) and 2/(n + 2), n = e^x·(e^x + 2).

    Beyond 20 it lacks less than a rounding, and nothing here: x, however large, is multiplied by that.
    """
    # From 20 on tanh(softplus(x)) is 1, in float64 too. Below it is n/(n + 2), without a logarithm.
    power = np.exp(np.minimum(x, 20))
    n = power * (power + 2)
    return n / (n + 2), np.where(x > 20, 0, 2 / (n + 2)).astype(x.dtype)


def _mish_passed(g: Any, x: Any) -> Any:
    share, rest = _mish_share(x)
    return g * (share + x * logistic(x) * (rest * (1 + share)))


def _mish_curvature(x: Any) -> Any:
    share, gate = ops.tanh(ops.softplus(x, beta=1.0, threshold=20.0)), ops.sigmoid(x)
    spread = ops.mul(ops.sub(1.0, ops.mul(share, share)), gate)
    inner = ops.sub(ops.sub(1.0, gate), ops.mul(ops.mul(share, gate), 2.0))
    return ops.mul(spread, ops.add(ops.mul(x, inner), 2.0))


MISH, MISH_GRADIENT = _shaped(
    "mish",
    "Self-regularized unit.",
    "y = x·tanh(ln(1 + e^x))",
    lambda x: x * _mish_share(x)[0],
    _mish_passed,
    {},
    curvature=_mish_curvature,
    reference="Misra 2019",
    quantized=served("mish"),
)
