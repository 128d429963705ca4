"""Powers and roots."""

from __future__ import annotations

import cmath
import math
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dtypes import as_numbers, complex128, float64
from workbench.base.errors import DTypeError
from workbench.base.numbers import wrapped
from workbench.core.families import NOT_DIFFERENTIABLE, binary, unary
from workbench.core.op import DTypeRule, Saves, ops
from workbench.core.quantization import COMPARED
from workbench.core.tape import Call
from workbench.core.typing import Operand, Tensor
from workbench.core.value import Value
from workbench.ops.elementwise.complex import conjugate, is_complex_value, zeros
from workbench.ops.offer import offer, offered

OUTPUT = Saves((), output=True)

SQRT = unary(
    "sqrt",
    "Square root.",
    "y = √x",
    np.sqrt,
    lambda c, g: ops.div(g, conjugate(ops.mul(c.out, 2.0))),
    saves=OUTPUT,
    domain=(0.2, 3.0),
    reference="ISO C99 F.9.4",
    into=np.sqrt,
)
offer(SQRT, "[4.0, 2.0]", "tensor([2.0000, 1.4142])", out=True, in_place=True)
RSQRT = unary(
    "rsqrt",
    "Reciprocal of the square root.",
    "y = 1/√x",
    lambda x: 1 / np.sqrt(x),
    lambda c, g: ops.mul(g, conjugate(ops.mul(ops.mul(ops.mul(c.out, c.out), c.out), -0.5))),
    saves=OUTPUT,
    domain=(0.2, 3.0),
)
offer(RSQRT, "[4.0, 2.0]", "tensor([0.5000, 0.7071])", out=True, in_place=True)


def _pow(x: Any, p: Any) -> Any:
    kind = np.result_type(x, p).kind
    if kind not in "biu":
        if kind != "c" and type(p) is float and p == -0.5:
            # The reciprocal of a root, as 1/2 is one to NumPy and to PyTorch: C's power is 0 at -∞ and ∞ at -0.
            return 1 / np.sqrt(x)
        return np.power(x, p)
    if kind == "b":
        return np.logical_or(x, np.logical_not(p))
    if not hasattr(x, "dtype"):
        x = wrapped(int(x), p.dtype)
    # Negative exponents in a tensor are let through, as in PyTorch: what they give stands below.
    if not hasattr(p, "dtype") and p < 0:
        raise RuntimeError(
            "Integers to negative integer powers are not allowed: cast the base first, e.g. x.float()"
        )
    if kind == "u" or np.all(p >= 0):
        return np.power(x, p)
    # Of integers only 1 and -1 have an integer reciprocal; the others are rounded to 0.
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(p % 2 == 0, 1, -1), 0))
    return np.where(p < 0, inverse, np.power(x, np.maximum(p, 0))).astype(np.result_type(x, p), copy=False)


def _logarithm(x: Any, branch: bool) -> Any:
    """The logarithm of a Python number: that of a negative one is complex if there is a `branch` for it, else NaN."""
    if isinstance(x, complex) or (branch and x < 0):
        return cmath.log(x)
    return math.log(x) if x > 0 else math.nan


def _pow_gradient(c: Call, g: Any) -> Any:
    x, p = c.inputs

    def base() -> Any:
        # x⁰ is constant, at 0 too, where 0·0⁻¹ would be NaN.
        if not isinstance(p, Value):
            if p == 0.5:
                # A root, as PyTorch has it: C's power -1/2 is 0 at -∞ and ∞ at -0, where a root has no slope.
                return ops.mul(g, conjugate(ops.mul(ops.rsqrt(x), 0.5)))
            return zeros(g) if p == 0 else ops.mul(g, conjugate(ops.mul(ops.pow(x, p - 1), p)))
        constant = ops.eq(p, 0.0)
        safe = ops.where(constant, 1.0, p)
        slope = ops.mul(ops.pow(x, ops.sub(safe, 1.0)), p)
        return ops.mul(g, conjugate(ops.where(constant, 0.0, slope)))

    def exponent() -> Any:
        # ln 0 meets 0^p = 0: the product is 0 there, not NaN.
        if not isinstance(x, Value):
            if x == 0:
                return ops.where(
                    ops.ge(ops.real(p), 0.0), 0.0, ops.mul(g, conjugate(ops.mul(c.out, -math.inf)))
                )
            return ops.mul(g, conjugate(ops.mul(c.out, _logarithm(x, is_complex_value(p)))))
        nothing = ops.logical_and(ops.eq(x, 0.0), ops.ge(ops.real(p), 0.0))
        safe = ops.where(nothing, 1.0, x)
        return ops.mul(g, conjugate(ops.where(nothing, 0.0, ops.mul(c.out, ops.log(safe)))))

    return base, exponent


POW = binary(
    "pow",
    "Raise to a power.",
    "y = a^b",
    _pow,
    _pow_gradient,
    saves=Saves(None, output=True, output_for=(1,)),
    properties=frozenset({"wide", "exponent"}),
    reference="ISO C99 F.9.4",
)

# ---------------------------------------------------------------------------------- the words people use


@offered(out=True, in_place="Tensor")
def pow(input: Operand, exponent: Operand) -> Tensor:
    """Raise to a power: y = a^b. Names unify from the right, sizes broadcast.

    Raises RuntimeError for integers to the power of a negative Python integer.

    >>> import workbench as wb
    >>> wb.pow(wb.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    return POW(input, exponent)


@offered(out="exact", in_place="Tensor")
def float_power(input: Operand, exponent: Operand) -> Tensor:
    """Raise to a power in double precision: y = a^b as float64, or complex128 where one is complex. Names unify.

    >>> import workbench as wb
    >>> wb.float_power(wb.tensor([1, 2, 3]), 2)
    tensor([1., 4., 9.], dtype=workbench.float64)
    """
    operands = (input, exponent)
    imaginary = any(
        is_complex_value(one) if isinstance(one, Value) else isinstance(one, complex) for one in operands
    )
    target = (complex128 if imaginary else float64).numpy
    return POW(*[ops.to(one, dtype=target) if isinstance(one, Value) else one for one in operands])


@offered(out=True, in_place=True)
def square(input: Tensor) -> Tensor:
    """Square: y = x². Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.square(wb.tensor([-2.0, 3.0]))
    tensor([4., 9.])
    """
    return POW(input, 2)


@offered(out=True, in_place=True)
def ldexp(input: Tensor, other: Operand) -> Tensor:
    """Multiply by a power of 2: y = a·2^b. Names unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.ldexp(wb.tensor([1.0, 3.0]), wb.tensor([2, 3]))
    tensor([ 4., 24.])
    """
    return ops.mul(input, POW(2.0, other))


class MantissaExponent(NamedTuple):
    """The two parts of numbers in base 2."""

    mantissa: Tensor
    exponent: Tensor


def _float_only(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "biucq":
        raise DTypeError(
            f"frexp() only supports floating-point dtypes, got {dtype}: cast it first, {as_numbers('input', dtype)}"
        )
    return dtype


FREXP_EXPONENT = unary(
    "frexp_exponent",
    "The exponent in base 2: how often to halve a number until its magnitude is in [0.5, 1).",
    "y = ⌊log₂|x|⌋ + 1; 0 for 0, infinity and NaN",
    lambda x: np.frexp(x)[1],
    NOT_DIFFERENTIABLE,
    dtype=DTypeRule("int32 of a floating one", _float_only, lambda dtype, params: np.dtype(np.int32)),
    reference="ISO C99 7.12.6.4",
    quantized=COMPARED,
)


@offered(out="exact")
def frexp(input: Tensor) -> MantissaExponent:
    """Split into mantissa and exponent: x = mantissa · 2^exponent with 0.5 ≤ |mantissa| < 1.

    Names and sizes pass through. The mantissa has the input's type and its gradient, g · 2^-exponent; the exponent is
    int32. 0, infinity and NaN are their own mantissas, of exponent 0. Raises DTypeError for integers and complex
    numbers (ISO C99 7.12.6.4).

    >>> import workbench as wb
    >>> wb.frexp(wb.tensor([6.0, -0.1]))
    MantissaExponent(mantissa=tensor([ 0.7500, -0.8000]), exponent=tensor([ 3, -3], dtype=workbench.int32))
    """
    _float_only(input.payload.dtype)
    exponent = FREXP_EXPONENT(input)
    # In two steps: a single factor for the smallest numbers is beyond the type's range.
    whole = ops.neg(ops.to(exponent, dtype=input.payload.dtype))
    half = ops.floor(ops.mul(whole, 0.5))
    for part in (half, ops.sub(whole, half)):
        input = ops.mul(input, POW(2.0, part))
    return MantissaExponent(input, exponent)
