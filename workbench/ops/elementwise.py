"""Elementwise ops: one value out for each value in, names pass through or unify."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast
from workbench.base.dtypes import as_dtype, float32, float64, int32, int64
from workbench.core.dtype_rules import KEEP, PREDICATE, PROMOTE
from workbench.core.families import (
    NOT_DIFFERENTIABLE,
    NOT_QUANTIZED,
    binary,
    comparison,
    grid,
    per_value,
    unary,
    unbroadcast,
)
from workbench.core.op import Absent, DTypeRule, Op, Sample, Saves, ops
from workbench.core.tape import Call

NOTHING = Saves((), output=False)
OUTPUT = Saves((), output=True)
INPUT = Saves(output=False)

# ------------------------------------------------------------------------------------------ one operand

NEG = unary(
    "neg",
    "Negate.",
    "y = -x",
    np.negative,
    lambda c, g: ops.neg(g),
    saves=NOTHING,
    dtype=PROMOTE,
    properties=["linear"],
)
ABS = unary(
    "abs", "Absolute value.", "y = |x|", np.abs, lambda c, g: ops.mul(g, ops.sign(c.inputs[0])), dtype=PROMOTE
)
SIGN = unary("sign", "Sign: -1, 0 or 1.", "y = sgn(x)", np.sign, NOT_DIFFERENTIABLE, dtype=PROMOTE)
EXP = unary("exp", "Exponential.", "y = e^x", np.exp, lambda c, g: ops.mul(g, c.out), saves=OUTPUT)
LOG = unary(
    "log", "Natural logarithm.", "y = ln x", np.log, lambda c, g: ops.div(g, c.inputs[0]), domain=(0.2, 3.0)
)
LOG1P = unary(
    "log1p",
    "Natural logarithm of 1 + x, exact near 0.",
    "y = ln(1 + x)",
    np.log1p,
    lambda c, g: ops.div(g, ops.add(c.inputs[0], 1.0)),
    domain=(-0.5, 2.0),
)
EXPM1 = unary(
    "expm1",
    "Exponential minus 1, exact near 0.",
    "y = e^x - 1",
    np.expm1,
    lambda c, g: ops.mul(g, ops.add(c.out, 1.0)),
    saves=OUTPUT,
)
SQRT = unary(
    "sqrt",
    "Square root.",
    "y = √x",
    np.sqrt,
    lambda c, g: ops.div(g, ops.mul(c.out, 2.0)),
    saves=OUTPUT,
    domain=(0.2, 3.0),
)
RSQRT = unary(
    "rsqrt",
    "Reciprocal of the square root.",
    "y = 1/√x",
    lambda x: 1 / np.sqrt(x),
    lambda c, g: ops.mul(g, ops.mul(ops.mul(ops.mul(c.out, c.out), c.out), -0.5)),
    saves=OUTPUT,
    domain=(0.2, 3.0),
)
RECIPROCAL = unary(
    "reciprocal",
    "Reciprocal.",
    "y = 1/x",
    lambda x: 1 / x,
    lambda c, g: ops.neg(ops.mul(g, ops.mul(c.out, c.out))),
    saves=OUTPUT,
    domain=(0.3, 2.0),
)
SIN = unary(
    "sin", "Sine of an angle in radians.", "y = sin x", np.sin, lambda c, g: ops.mul(g, ops.cos(c.inputs[0]))
)
COS = unary(
    "cos",
    "Cosine of an angle in radians.",
    "y = cos x",
    np.cos,
    lambda c, g: ops.neg(ops.mul(g, ops.sin(c.inputs[0]))),
)
TANH = unary(
    "tanh",
    "Hyperbolic tangent.",
    "y = tanh x",
    np.tanh,
    lambda c, g: ops.mul(g, ops.sub(1.0, ops.mul(c.out, c.out))),
    saves=OUTPUT,
)


def _sigmoid(x: Any) -> Any:
    """Through tanh: no overflow on either side."""
    return 0.5 * (np.tanh(0.5 * x) + 1)


SIGMOID = unary(
    "sigmoid",
    "Logistic function.",
    "y = 1/(1 + e^-x)",
    _sigmoid,
    lambda c, g: ops.mul(g, ops.mul(c.out, ops.sub(1.0, c.out))),
    saves=OUTPUT,
)
RELU = unary(
    "relu",
    "Rectified linear unit.",
    "y = max(x, 0)",
    lambda x: np.maximum(x, 0),
    lambda c, g: ops.relu_gradient(g, c.out),
    saves=OUTPUT,
    dtype=PROMOTE,
    quantized=lambda q: q.with_codes(np.maximum(q.codes, q.zero_point_like_codes()), same_places=True),
)
FLOOR = unary("floor", "Largest integer not above.", "y = ⌊x⌋", np.floor, NOT_DIFFERENTIABLE, dtype=PROMOTE)
CEIL = unary("ceil", "Smallest integer not below.", "y = ⌈x⌉", np.ceil, NOT_DIFFERENTIABLE, dtype=PROMOTE)
ROUND = unary("round", "Nearest integer, halves to even.", "y = rne(x)", np.rint, NOT_DIFFERENTIABLE)
ISNAN = unary(
    "isnan", "True where not a number.", "y = (x ≠ x)", np.isnan, NOT_DIFFERENTIABLE, dtype=PREDICATE
)
ISINF = unary("isinf", "True where infinite.", "y = (|x| = ∞)", np.isinf, NOT_DIFFERENTIABLE, dtype=PREDICATE)
ISFINITE = unary(
    "isfinite", "True where finite.", "y = (|x| < ∞)", np.isfinite, NOT_DIFFERENTIABLE, dtype=PREDICATE
)
LOGICAL_NOT = unary(
    "logical_not", "True where zero.", "y = ¬x", np.logical_not, NOT_DIFFERENTIABLE, dtype=PREDICATE
)

# ----------------------------------------------------------------------------------------- two operands


def _true_divide(x: Any, y: Any) -> Any:
    return np.true_divide(x, y)


def _max_gradient(pick: str) -> Any:
    """Gradient of maximum and minimum: to the chosen operand, half to each where they tie."""

    def gradient(c: Call, g: Any) -> Any:
        a, b = c.inputs
        chosen, tied = getattr(ops, pick), ops.mul(g, ops.mul(ops.to(ops.eq(a, b), dtype=_type(g)), 0.5))

        def side(x: Any, y: Any) -> Any:
            return ops.add(ops.mul(g, ops.to(chosen(x, y), dtype=_type(g))), tied)

        return (lambda: side(a, b)), (lambda: side(b, a))

    return gradient


def _type(value: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = value._array.dtype
    return dtype


ADD = binary(
    "add",
    "Add.",
    "y = a + b",
    np.add,
    lambda c, g: ((lambda: g), (lambda: g)),
    saves=NOTHING,
    properties=["commutative", "linear"],
)
SUB = binary(
    "sub",
    "Subtract.",
    "y = a - b",
    np.subtract,
    lambda c, g: ((lambda: g), (lambda: ops.neg(g))),
    saves=NOTHING,
)
MUL = binary(
    "mul",
    "Multiply.",
    "y = a·b",
    np.multiply,
    lambda c, g: ((lambda: ops.mul(g, c.inputs[1])), (lambda: ops.mul(g, c.inputs[0]))),
    saves=Saves(output=False, crossed=True),
    properties=["commutative"],
)
DIV = binary(
    "div",
    "Divide; integers give floats.",
    "y = a/b",
    _true_divide,
    lambda c, g: (
        (lambda: ops.div(g, c.inputs[1])),
        (lambda: ops.neg(ops.div(ops.mul(g, c.out), c.inputs[1]))),
    ),
    saves=Saves((1,), output=True),
    dtype=DTypeRule(
        "promoted, integers become float32", lambda t: t if t.kind in "fc" else np.dtype("f4"), lambda t, p: t
    ),
)


def _pow_gradient(c: Call, g: Any) -> Any:
    x, p = c.inputs

    def base() -> Any:
        return ops.mul(g, ops.mul(ops.pow(x, p - 1.0), p))

    def exponent() -> Any:
        # ln 0 meets 0^p = 0: the product is 0 there, not NaN.
        safe = ops.where(ops.eq(x, 0.0), ops.add(ops.mul(x, 0.0), 1.0), x)
        return ops.mul(g, ops.mul(c.out, ops.log(safe)))

    return base, exponent


POW = binary("pow", "Raise to a power.", "y = a^b", np.power, _pow_gradient, saves=Saves(None, output=True))
MAXIMUM = binary(
    "maximum",
    "The larger of two.",
    "y = max(a, b)",
    np.maximum,
    _max_gradient("gt"),
    properties=["commutative"],
)
MINIMUM = binary(
    "minimum",
    "The smaller of two.",
    "y = min(a, b)",
    np.minimum,
    _max_gradient("lt"),
    properties=["commutative"],
)
EQ = comparison("eq", "Equal.", "y = (a = b)", np.equal)
NE = comparison("ne", "Not equal.", "y = (a ≠ b)", np.not_equal)
LT = comparison("lt", "Less.", "y = (a < b)", np.less)
LE = comparison("le", "Less or equal.", "y = (a ≤ b)", np.less_equal)
GT = comparison("gt", "Greater.", "y = (a > b)", np.greater)
GE = comparison("ge", "Greater or equal.", "y = (a ≥ b)", np.greater_equal)
LOGICAL_AND = comparison("logical_and", "Both non-zero.", "y = a ∧ b", np.logical_and)
LOGICAL_OR = comparison("logical_or", "Either non-zero.", "y = a ∨ b", np.logical_or)

# ------------------------------------------------------------------------------------------- the others

RELU_GRADIENT = Op(
    name="relu_gradient",
    doc="Let a gradient through where the output of relu is positive.",
    equation="y = g·[out > 0]",
    reference="elementary",
    dims=lambda g, out: broadcast("relu_gradient", g, out),
    rule="names unify from the right, sizes broadcast",
    dtype=PROMOTE,
    forward=lambda g, out: g * (out > 0),
    vjp=lambda c, g: (ops.relu_gradient(g, c.inputs[1]) if c.needs[0] else None, None),
    saves=Saves((1,), output=False),
    quantized=NOT_QUANTIZED,
    cost=per_value,
    samples=lambda: [Sample((grid(3, 4, seed=1), grid(3, 4, seed=2)), names=(("N", "C"), ("N", "C")))],
    bad=list,
)


def _where_dims(condition: Dims, x: Dims, y: Dims) -> Dims:
    return broadcast("where", condition, broadcast("where", x, y))


def _where_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    condition, x, y = c.inputs
    zero = ops.mul(g, 0.0)
    return (
        None,
        unbroadcast(ops.where(condition, g, zero), x) if c.needs[1] else None,
        unbroadcast(ops.where(condition, zero, g), y) if c.needs[2] else None,
    )


WHERE = Op(
    name="where",
    doc="Choose from two operands by a condition.",
    equation="y = condition ? a : b",
    reference="elementary",
    dims=_where_dims,
    rule="names of all three unify from the right, sizes broadcast",
    dtype=DTypeRule(
        "as the chosen operands together", lambda dtype: dtype, lambda dtype, params: dtype, skip=1
    ),
    forward=lambda condition, x, y: np.where(condition.astype(np.bool_, copy=False), x, y),
    vjp=_where_vjp,
    saves=Saves((0,), output=False),
    quantized=NOT_QUANTIZED,
    cost=per_value,
    samples=lambda: [
        Sample((grid(3, 4) > 0, grid(3, 4, seed=1), grid(4, seed=2)), names=(("N", "C"), ("N", "C"), ("C",))),
        Sample((grid(3, 1) > 0, grid(3, 4, seed=1), grid(3, 4, seed=2))),
    ],
    bad=list,
)


def _clamp_vjp(c: Call, g: Any, low: float | None, high: float | None) -> Any:
    x = c.inputs[0]
    inside = None
    for bound, compare in ((low, ops.ge), (high, ops.le)):
        if bound is not None:
            one = compare(x, bound)
            inside = one if inside is None else ops.logical_and(inside, one)
    return g if inside is None else ops.mul(g, ops.to(inside, dtype=_type(g)))


CLAMP = Op(
    name="clamp",
    doc="Keep values within bounds.",
    equation="y = min(max(x, low), high)",
    reference="elementary",
    dims=lambda x, low, high: x,
    rule="names and sizes pass through",
    dtype=KEEP,
    forward=lambda x, low, high: np.clip(x, low, high) if (low, high) != (None, None) else x.copy(),
    vjp=lambda c, g: (_clamp_vjp(c, g, **c.params),),
    saves=INPUT,
    quantized=NOT_QUANTIZED,
    cost=per_value,
    samples=lambda: [
        Sample((grid(3, 4),), {"low": -0.5, "high": 0.9}, names=(("N", "C"),)),
        Sample((grid(3, 4),), {"low": None, "high": 0.9}),
    ],
    bad=list,
)

TO = Op(
    name="to",
    doc="Cast to another data type.",
    equation="y = cast(x)",
    reference="elementary",
    dims=lambda x, dtype: x,
    rule="names and sizes pass through",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=lambda x, dtype: x.astype(dtype),
    vjp=lambda c, g: (ops.to(g, dtype=_type(c.inputs[0])) if _type(c.inputs[0]).kind in "fc" else None,),
    saves=NOTHING,
    quantized=Absent("a quantized tensor is cast through dequantize()"),
    cost=per_value,
    samples=lambda: [Sample((grid(3, 4),), {"dtype": np.dtype("f8")}, names=(("N", "C"),))],
    bad=list,
    properties=frozenset({"linear"}),
)

CLONE = unary(
    "clone",
    "Copy.",
    "y = x",
    lambda x: x.copy(),
    lambda c, g: g,
    saves=NOTHING,
    dtype=PROMOTE,
    quantized=lambda q: q.with_codes(q.codes.copy(), same_places=True),
    properties=["linear"],
)

# ---------------------------------------------------------------------------------- the words people use


def clamp(input: Any, min: float | None = None, max: float | None = None) -> Any:
    """Keep values within [min, max]: y = min(max(x, low), high). Shapes and names pass through.

    >>> import workbench as wb
    >>> wb.clamp(wb.tensor([-2.0, 0.5, 3.0]), min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise ValueError("clamp: at least one of 'min' or 'max' must not be None")
    return ops.clamp(input, low=min, high=max)


def to(input: Any, dtype: Any) -> Any:
    """Cast to another data type; a tensor that has it already is returned as it is."""
    target = as_dtype(dtype).numpy
    return input if input._array.dtype == target else ops.to(input, dtype=target)


def where(condition: Any, input: Any, other: Any) -> Any:
    """Choose from two operands by a condition: y = condition ? a : b. Names unify, sizes broadcast."""
    return WHERE(condition, input, other)


def _plain(op: Op, operands: int) -> Any:
    """Return the function people call for an elementwise op: its operands and nothing else."""
    if operands == 1:

        def function(input: Any) -> Any:
            return op(input)
    else:

        def function(input: Any, other: Any) -> Any:  # type: ignore[misc]
            return op(input, other)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.doc} {op.equation}. Dims: {op.rule}."
    return function


_ONE = (
    "neg",
    "abs",
    "sign",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "floor",
    "ceil",
    "round",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "clone",
)
_TWO = (
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
)

FUNCTIONS: dict[str, Any] = {
    **{name: _plain(getattr(ops, name), 1) for name in _ONE},
    **{name: _plain(getattr(ops, name), 2) for name in _TWO},
    "clamp": clamp,
    "where": where,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("where",)
"""Functions that are no methods of a tensor."""

METHODS: dict[str, Any] = {
    "to": to,
    "type": to,
    "float": lambda self: to(self, float32),
    "double": lambda self: to(self, float64),
    "long": lambda self: to(self, int64),
    "int": lambda self: to(self, int32),
}
"""What only a tensor offers."""

NN: dict[str, Any] = {name: FUNCTIONS[name] for name in ("relu", "sigmoid", "tanh")}
"""What `workbench.nn.functional` offers of this file."""

INPLACE = ("add", "sub", "mul", "div")
