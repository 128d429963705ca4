"""Arithmetic: sums and products, quotients and remainders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DTypeError
from workbench.core import sparse_rules
from workbench.core.contribution import FACTORS, SCALED
from workbench.core.direct_writes import computes
from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import alike, binary, unary
from workbench.core.op import Saves, ops
from workbench.core.quantization import DIGITS, served
from workbench.core.tape import Call
from workbench.core.typing import Operand, Scalar, Tensor
from workbench.core.value import Value
from workbench.ops.elementwise.complex import MAGNITUDE, conjugate, real_only, zeros
from workbench.ops.elementwise.sign import sign_of
from workbench.ops.offer import offer, offered

NOTHING = Saves((), output=False)
OUTPUT = Saves((), output=True)

# ----------------------------------------------------------------------------------------- one operand


def _negative(x: Any) -> Any:
    if x.dtype.kind == "b":
        raise DTypeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return np.negative(x)


NEG = unary(
    "neg",
    "Negate.",
    "y = -x",
    _negative,
    lambda c, g: ops.neg(g),
    saves=NOTHING,
    dtype=PROMOTE,
    properties=["linear"],
    small="neg",
    into=np.negative,
)
offer(NEG, "[1.0, -2.0]", "tensor([-1.,  2.])", aliases=["negative"], out="exact", in_place=True)
ABS = unary(
    "abs",
    "Absolute value.",
    "y = |x|",
    np.abs,
    lambda c, g: ops.mul(g, ops.sgn(c.inputs[0])),
    dtype=MAGNITUDE,
    reference="ISO C99 F.9.4",
    into=np.abs,
)
offer(ABS, "[1.0, -2.0]", "tensor([1., 2.])", out=True, in_place=True)
offer(ABS, "[1.0, -2.0]", "tensor([1., 2.])", name="absolute", out=True, in_place="Tensor")
SIGN = unary(
    "sign",
    "Sign: -1, 0 or 1.",
    "y = sgn(x)",
    sign_of,
    lambda c, g: zeros(g),
    saves=NOTHING,
    dtype=real_only("sign"),
)
offer(SIGN, "[1.5, -2.0, 0.0]", "tensor([ 1., -1.,  0.])", out="exact", in_place="Tensor")
RECIPROCAL = unary(
    "reciprocal",
    "Reciprocal.",
    "y = 1/x",
    lambda x: 1 / x,
    lambda c, g: ops.neg(ops.mul(g, conjugate(ops.mul(c.out, c.out)))),
    saves=OUTPUT,
    domain=(0.3, 2.0),
)
offer(RECIPROCAL, "[4.0, 2.0]", "tensor([0.2500, 0.5000])", out=True, in_place=True)

# ----------------------------------------------------------------------------------------- two operands


def _wrapping(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a forward that takes a Python number outside of an integer type's range around its end, into it."""

    def forward(x: Any, y: Any) -> Any:
        try:
            return function(x, y)
        except OverflowError:
            dtype = x.dtype if hasattr(x, "dtype") else y.dtype
            return function(*[np.asarray(one).astype(dtype) for one in (x, y)])

    return forward


def _subtract(x: Any, y: Any) -> Any:
    if all(type(one) is bool or getattr(one, "dtype", None) == np.bool_ for one in (x, y)):
        raise DTypeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    return np.subtract(x, y)


ADD = binary(
    "add",
    "Add.",
    "y = a + b",
    _wrapping(np.add),
    lambda c, g: ((lambda: g), (lambda: g)),
    saves=NOTHING,
    quantized=served("add", absorbs=("relu",), settings={"relu": False}),
    properties=["commutative", "linear"],
    small="add",
    into=np.add,
    sparse=sparse_rules.add,
)
SUB = binary(
    "sub",
    "Subtract.",
    "y = a - b",
    _wrapping(_subtract),
    lambda c, g: ((lambda: g), (lambda: ops.neg(g))),
    saves=NOTHING,
    properties=["linear"],
    small="sub",
    into=np.subtract,
    sparse=sparse_rules.subtract,
)
MUL = binary(
    "mul",
    "Multiply.",
    "y = a·b",
    _wrapping(np.multiply),
    lambda c, g: (
        (lambda: ops.mul(g, conjugate(c.inputs[1]))),
        (lambda: ops.mul(g, conjugate(c.inputs[0]))),
    ),
    saves=Saves(output=False, crossed=True),
    quantized=served("mul", absorbs=("relu",), settings={"relu": False}),
    properties=["commutative"],
    small="mul",
    contribution=FACTORS,
    into=np.multiply,
    sparse=sparse_rules.mul,
)
offer(
    MUL,
    ("[1.0, 2.0]", "[10.0, 20.0]"),
    "tensor([10., 40.])",
    aliases=["multiply"],
    out=True,
    in_place="Tensor",
)
DIV = binary(
    "div",
    "Divide; integers give floats.",
    "y = a/b",
    np.true_divide,
    lambda c, g: (
        (lambda: ops.div(g, conjugate(c.inputs[1]))),
        # Divided twice: b² is 0 or infinite long before b is.
        (lambda: ops.neg(ops.mul(g, conjugate(ops.div(ops.div(c.inputs[0], c.inputs[1]), c.inputs[1]))))),
    ),
    saves=Saves(output=False, crossed=True, own=(1,)),
    dtype=FLOAT,
    small="div",
    contribution=SCALED,
    into=np.true_divide,
    sparse=sparse_rules.div,
)


def _checked(ufunc: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a division that refuses to divide an integer by 0, where NumPy warns and gives 0."""

    def forward(x: Any, y: Any) -> Any:
        if np.result_type(x, y).kind in "biu" and not np.all(y):
            raise RuntimeError(
                "ZeroDivisionError: an integer cannot be divided by 0; divide floats, which give inf or NaN"
            )
        return ufunc(x, y)

    return forward


def _truncated_quotient(x: Any, y: Any) -> Any:
    if np.result_type(x, y).kind in "biu":
        # Not through floats, which do not hold large integers.
        quotient = np.floor_divide(x, y)
        return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)
    return np.trunc(np.true_divide(x, y))


def _no_slope(c: Call, g: Any) -> Any:
    return (lambda: zeros(g)), (lambda: zeros(g))


DIV_FLOOR = binary(
    "div_floor",
    "Divide and round down.",
    "y = ⌊a/b⌋",
    _checked(np.floor_divide),
    _no_slope,
    saves=NOTHING,
    dtype=real_only("div_floor"),
)
offer(
    DIV_FLOOR,
    ("[7.0, -7.0]", "[2.0, 2.0]"),
    "tensor([ 3., -4.])",
    name="floor_divide",
    out=True,
    in_place="Tensor",
)
DIV_TRUNC = binary(
    "div_trunc",
    "Divide and round towards 0.",
    "y = sgn(a/b)·⌊|a/b|⌋",
    _checked(_truncated_quotient),
    _no_slope,
    saves=NOTHING,
    dtype=real_only("div_trunc"),
)


def _remainder(a: Any, b: Any) -> Any:
    found = np.remainder(a, b)
    # Nothing that is left has the sign of the dividend, as what C leaves; NumPy gives it that of the divisor.
    if found.dtype.kind == "f":
        found = np.where(found == 0, np.copysign(found, a), found)
    return found


REMAINDER = binary(
    "remainder",
    "Remainder of the division that rounds down: it has the sign of the divisor.",
    "y = a - b·⌊a/b⌋",
    _checked(_remainder),
    lambda c, g: (
        (lambda: g),
        (lambda: ops.neg(ops.mul(g, ops.div_floor(*c.inputs)))),
    ),
    dtype=real_only("remainder"),
)
offer(REMAINDER, ("[7.0, -7.0]", "[2.0, 2.0]"), "tensor([1., 1.])", out=True, in_place="Tensor")
FMOD = binary(
    "fmod",
    "Remainder of the division that rounds towards 0: it has the sign of the dividend.",
    "y = a - b·trunc(a/b)",
    _checked(np.fmod),
    lambda c, g: (
        (lambda: g),
        (lambda: ops.neg(ops.mul(g, ops.div_trunc(*c.inputs)))),
    ),
    dtype=real_only("fmod"),
    reference="ISO C99 F.9.7",
)
offer(FMOD, ("[7.0, -7.0]", "[2.0, 2.0]"), "tensor([ 1., -1.])", out=True, in_place="Tensor")


HYPOT = binary(
    "hypot",
    "Length of the hypotenuse.",
    "y = √(a² + b²)",
    np.hypot,
    lambda c, g: (
        (lambda: ops.mul(g, ops.div(c.inputs[0], c.out))),
        # At the origin 0/0 is NaN, which PyTorch's gradient is there too.
        (lambda: ops.mul(g, ops.div(c.inputs[1], c.out))),
    ),
    saves=Saves(None, output=True),
    dtype=real_only("hypot"),
    properties=["commutative"],
    reference="ISO C99 F.9.4",
)
offer(HYPOT, ("[3.0, 1.0]", "[4.0, 1.0]"), "tensor([5.0000, 1.4142])", out=True, in_place="Tensor")


def _copysign_gradient(c: Call, g: Any) -> Any:
    x = c.inputs[0]

    def size() -> Any:
        # Both signs of a zero are equal: a gradient there would depend on which one it is, so it is 0 as in PyTorch.
        same = ops.eq(x, c.out)
        return ops.mul(ops.where(same, g, ops.neg(g)), ops.to(ops.ne(x, 0.0), dtype=g.payload.dtype))

    return size, lambda: zeros(g)


COPYSIGN = binary(
    "copysign",
    "The size of the first with the sign of the second.",
    "y = |a|·sgn(b), with the sign bit of b",
    np.copysign,
    _copysign_gradient,
    saves=Saves((0,), output=True),
    dtype=real_only("copysign", FLOAT),
    reference="ISO C99 F.9.8",
)
offer(COPYSIGN, ("[1.0, -2.0]", "[-1.0, 1.0]"), "tensor([-1.,  2.])", out=True, in_place="Tensor")
NEXTAFTER = binary(
    "nextafter",
    "The next floating point number from the first towards the second.",
    "y = a ± 1 ulp",
    alike(lambda x, y: np.nextafter(x, y)),
    # Where the two are equal the result is the second, which is held to be constant.
    lambda c, g: ((lambda: ops.where(ops.eq(*c.inputs), 0.0, g)), (lambda: zeros(g))),
    saves=Saves(output=False),
    dtype=real_only("nextafter", FLOAT),
    properties=["moves"],  # to the neighbour in its own type: never by way of a wider one
    reference="ISO C99 F.9.8",
    quantized=DIGITS,
)
offer(NEXTAFTER, ("[1.0]", "[2.0]"), "tensor([1.0000])", out=True, in_place="Tensor")

# ---------------------------------------------------------------------------------- the words people use


def scaled(op: str, input: Any, other: Any, alpha: Any) -> Any:
    """Return alpha·other; an integer result cannot take a fraction of it."""
    if alpha == 1:
        return other
    kinds = {value.payload.dtype.kind for value in (input, other) if isinstance(value, Value)}
    if isinstance(alpha, float) and kinds <= set("biu") and not isinstance(other, float | complex):
        raise DTypeError(
            f"{op}: For integral input tensors, argument alpha must not be a floating point number, got {alpha}: "
            "cast the tensors first, e.g. x.float()"
        )
    if isinstance(alpha, int) and kinds == {"b"}:
        alpha = bool(alpha)
    return ops.mul(other, alpha) if isinstance(other, Value) else other * alpha


@offered(out=True, in_place="Tensor")
@computes(ADD, 2, scales=True)
def add(input: Operand, other: Operand, *, alpha: Scalar = 1) -> Tensor:
    """Add: y = a + alpha·b. Names unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.add(wb.tensor([1.0, 2.0]), wb.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    return ADD(input, scaled("add", input, other, alpha))


@offered(aliases=["subtract"], out=True, in_place="Tensor")
@computes(SUB, 2, scales=True)
def sub(input: Operand, other: Operand, *, alpha: Scalar = 1) -> Tensor:
    """Subtract: y = a - alpha·b. Names unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.sub(wb.tensor([1.0, 2.0]), wb.tensor([10.0, 20.0]), alpha=2)
    tensor([-19., -38.])
    """
    return SUB(input, scaled("sub", input, other, alpha))


@offered("workbench")
def rsub(input: Tensor, other: Operand, *, alpha: Scalar = 1) -> Tensor:
    """Subtract from the other: y = b - alpha·a. Names unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.rsub(wb.tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
    return SUB(other, scaled("rsub", input, input, alpha))


_ROUNDED = {"floor": DIV_FLOOR, "trunc": DIV_TRUNC}


@offered(aliases=["divide"], out=True, in_place="Tensor")
@computes(DIV, 2)
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """Divide: y = a/b, rounded down with "floor" and towards 0 with "trunc". Names unify, sizes broadcast.

    Without rounding integers give floats; with it they stay integers, and dividing one by 0 raises RuntimeError.

    >>> import workbench as wb
    >>> wb.div(wb.tensor([7, -7]), 2), wb.div(wb.tensor([7, -7]), 2, rounding_mode="floor")
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -4]))
    """
    if rounding_mode is None:
        return DIV(input, other)
    if rounding_mode not in _ROUNDED:
        raise ValueError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    return _ROUNDED[rounding_mode](input, other)


@offered(out=True, in_place="Tensor")
def true_divide(input: Operand, other: Operand) -> Tensor:
    """Divide: y = a/b; integers give floats. Names unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.true_divide(wb.tensor([7, -7]), 2)
    tensor([ 3.5000, -3.5000])
    """
    return DIV(input, other)


@offered()
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself: y = +x. Raises `DTypeError` for bool.

    >>> import workbench as wb
    >>> wb.positive(wb.tensor([-2.0]))
    tensor([-2.])
    """
    if input.payload.dtype.kind == "b":
        raise DTypeError("The `+` operator, on a bool tensor is not supported: cast it first, e.g. x.int()")
    return input
