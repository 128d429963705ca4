"""Exponentials and logarithms, and what is made of them: the logistic function, sums in logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.lazy import scipy_special
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import binary, unary
from workbench.core.op import DTypeRule, Op, Saves, ops
from workbench.core.quantization import GRADIENT, UNIT
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.ops.elementwise.complex import conjugate, is_complex_value, real_only
from workbench.ops.elementwise.filling import clamp
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.offer import offer, offered

OUTPUT = Saves((), output=True)

EXP = unary(
    "exp",
    "Exponential.",
    "y = e^x",
    np.exp,
    lambda c, g: ops.mul(g, conjugate(c.out)),
    saves=OUTPUT,
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(EXP, "[0.0, 1.0]", "tensor([1.0000, 2.7183])", out=True, in_place=True)
EXP2 = unary(
    "exp2",
    "Power of 2.",
    "y = 2^x",
    np.exp2,
    lambda c, g: ops.mul(ops.mul(g, conjugate(c.out)), math.log(2)),
    saves=OUTPUT,
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(EXP2, "[0.0, 3.0]", "tensor([1., 8.])", "workbench", "Tensor", "special", out=True, in_place=True)
EXPM1 = unary(
    "expm1",
    "Exponential minus 1, exact near 0.",
    "y = e^x - 1",
    np.expm1,
    lambda c, g: ops.mul(g, conjugate(ops.add(c.out, 1.0))),
    saves=OUTPUT,
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(
    EXPM1, "[0.0, 1.0]", "tensor([0.0000, 1.7183])", "workbench", "Tensor", "special", out=True, in_place=True
)
LOG = unary(
    "log",
    "Natural logarithm.",
    "y = ln x",
    np.log,
    lambda c, g: ops.div(g, conjugate(c.inputs[0])),
    domain=(0.2, 3.0),
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(LOG, "[1.0, 2.0]", "tensor([0.0000, 0.6931])", out=True, in_place=True)
LOG2 = unary(
    "log2",
    "Logarithm to base 2.",
    "y = log₂ x",
    np.log2,
    lambda c, g: ops.div(g, ops.mul(conjugate(c.inputs[0]), math.log(2))),
    domain=(0.2, 3.0),
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(LOG2, "[1.0, 8.0]", "tensor([0., 3.])", out=True, in_place=True)
LOG10 = unary(
    "log10",
    "Logarithm to base 10.",
    "y = log₁₀ x",
    np.log10,
    lambda c, g: ops.div(g, ops.mul(conjugate(c.inputs[0]), math.log(10))),
    domain=(0.2, 3.0),
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(LOG10, "[2.0, 5.0]", "tensor([0.3010, 0.6990])", out=True, in_place=True)
LOG1P = unary(
    "log1p",
    "Natural logarithm of 1 + x, exact near 0.",
    "y = ln(1 + x)",
    np.log1p,
    lambda c, g: ops.div(g, conjugate(ops.add(c.inputs[0], 1.0))),
    domain=(-0.5, 2.0),
    properties=frozenset({"wide"}),
    reference="ISO C99 F.9.3",
)
offer(
    LOG1P, "[0.0, 1.0]", "tensor([0.0000, 0.6931])", "workbench", "Tensor", "special", out=True, in_place=True
)


def _sigmoid(x: Any) -> Any:
    """By an exponential that does not overflow; as half of tanh it would lose the digits of what is near 0."""
    if x.dtype.kind == "c":
        return 0.5 * (np.tanh(0.5 * x) + 1)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, x.dtype.type(1), small) / (1 + small)


SIGMOID = unary(
    "sigmoid",
    "Logistic function.",
    "y = 1/(1 + e^-x)",
    _sigmoid,
    lambda c, g: (
        ops.mul(g, conjugate(ops.mul(c.out, ops.sub(1.0, c.out))))
        if is_complex_value(c.out)
        else ops.sigmoid_gradient(g, c.out)
    ),
    saves=OUTPUT,
    small="sigmoid",
    quantized=UNIT,
)
offer(SIGMOID, "[0.0, 2.0]", "tensor([0.5000, 0.8808])", out=True, in_place=True)
offer(SIGMOID, "[0.0, 2.0]", "tensor([0.5000, 0.8808])", "nn.functional")
offer(SIGMOID, "[0.0, 2.0]", "tensor([0.5000, 0.8808])", "special", name="expit", out=True)
SIGMOID_GRADIENT = binary(
    "sigmoid_gradient",
    "Take a gradient through sigmoid, whose output is given.",
    "y = g·out·(1 - out)",
    lambda g, out: g * (out * (1 - out)),
    lambda c, u: (
        lambda: ops.sigmoid_gradient(u, c.inputs[1]),
        lambda: ops.mul(ops.mul(u, c.inputs[0]), ops.sub(1.0, ops.mul(c.inputs[1], 2.0))),
    ),
    dtype=real_only("sigmoid_gradient"),
    quantized=GRADIENT,
)


def _logit_gradient(c: Call, g: Any) -> Any:
    x = c.inputs[0]
    slope = ops.div(g, ops.mul(x, ops.sub(1.0, x)))
    # Outside of [0, 1] the function is NaN, and so is its slope.
    return ops.where(ops.logical_and(ops.ge(x, 0.0), ops.le(x, 1.0)), slope, math.nan)


LOGIT = unary(
    "logit",
    "Inverse of the logistic function.",
    "y = ln(x/(1 - x))",
    # A lambda, since the name is to be looked up at the first call: SciPy takes time to import.
    lambda x: scipy_special.logit(x),
    _logit_gradient,
    domain=(0.1, 0.9),
    dtype=real_only("logit", FLOAT),
)


def _together(name: str, doc: str, equation: str, forward: Any, power: str, dtype: DTypeRule = FLOAT) -> Op:
    """Declare a sum in logarithms; each operand's share of the gradient is its share of the sum."""

    def gradient(c: Call, g: Any) -> Any:
        a, b = c.inputs
        raised = getattr(ops, power)

        def share(x: Any, y: Any) -> Any:
            # 1/(1 + e^(y - x)), where an exponential of x or of y alone may overflow.
            return ops.div(g, conjugate(ops.add(raised(ops.sub(y, x)), 1.0)))

        return (lambda: share(a, b)), (lambda: share(b, a))

    return binary(name, doc, equation, forward, gradient, dtype=dtype, properties=["commutative"])


def _logaddexp(x: Any, y: Any) -> Any:
    if np.result_type(x, y).kind != "c":
        return np.logaddexp(x, y)
    # The larger one is taken out, so that the exponential stays below 1.
    larger, smaller = np.where(np.real(x) >= np.real(y), x, y), np.where(np.real(x) >= np.real(y), y, x)
    return larger + np.log1p(np.exp(smaller - larger))


LOGADDEXP = _together(
    "logaddexp", "Logarithm of the sum of exponentials.", "y = ln(e^a + e^b)", _logaddexp, "exp"
)
offer(LOGADDEXP, ("[0.0, 100.0]", "[0.0, 100.0]"), "tensor([  0.6931, 100.6931])", out=True)
LOGADDEXP2 = _together(
    "logaddexp2",
    "Logarithm to base 2 of the sum of powers of 2.",
    "y = log₂(2^a + 2^b)",
    np.logaddexp2,
    "exp2",
    real_only("logaddexp2", FLOAT),
)
offer(LOGADDEXP2, ("[1.0, 100.0]", "[1.0, 100.0]"), "tensor([  2., 101.])", out=True)

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", "Tensor", "special", out=True, in_place=True)
@rounded_once
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Inverse of the logistic function: y = ln(x/(1 - x)), with x kept within [eps, 1 - eps] where `eps` is given.

    Names and sizes pass through. Outside of [0, 1] the result is NaN.

    >>> import workbench as wb
    >>> wb.logit(wb.tensor([0.5, 0.9])), wb.logit(wb.tensor([1.0]), eps=0.1)
    (tensor([0.0000, 2.1972]), tensor([2.1972]))
    """
    return LOGIT(input if eps is None else clamp(input, eps, 1 - eps))
