"""Comparing: which is larger, what is equal, what is not a number; and logic on the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DTypeError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.contribution import CHOSEN
from workbench.core.dispatch import numbers
from workbench.core.dtype_rules import PREDICATE
from workbench.core.families import NOT_DIFFERENTIABLE, binary, comparison, unary
from workbench.core.op import Op, ops
from workbench.core.quantization import COMPARED, JOINED
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import UNNAMED, Value
from workbench.ops.elementwise.complex import is_complex_value, real_only
from workbench.ops.offer import offer, offered

# ------------------------------------------------------------------------------------------ predicates


def _predicate(
    name: str, doc: str, equation: str, forward: Callable[[Any], Any], ordered: bool = False
) -> Op:
    dtype = real_only(name, PREDICATE) if ordered else PREDICATE
    return unary(name, doc, equation, forward, NOT_DIFFERENTIABLE, dtype=dtype, quantized=COMPARED)


_TWO = ("[1.0, 2.0, 3.0]", "[2.0, 2.0, 2.0]")
_BOTH = ("[True, True, False]", "[True, False, False]")
_NUMBERS = "[1.0, wb.nan, -wb.inf]"
_SOME = ("[1.0, wb.nan]", "[2.0, 2.0]")
"""Examples of the documentation."""

ISNAN = _predicate("isnan", "True where not a number.", "y = (x ≠ x)", np.isnan)
offer(ISNAN, _NUMBERS, "tensor([False,  True, False])")
ISINF = _predicate("isinf", "True where infinite.", "y = (|x| = ∞)", np.isinf)
offer(ISINF, _NUMBERS, "tensor([False, False,  True])")
ISFINITE = _predicate("isfinite", "True where finite.", "y = (|x| < ∞)", np.isfinite)
offer(ISFINITE, _NUMBERS, "tensor([ True, False, False])")
ISPOSINF = _predicate("isposinf", "True where +infinity.", "y = (x = ∞)", lambda x: x == np.inf, True)
offer(ISPOSINF, _NUMBERS, "tensor([False, False, False])", out="exact")
ISNEGINF = _predicate("isneginf", "True where -infinity.", "y = (x = -∞)", lambda x: x == -np.inf, True)
offer(ISNEGINF, _NUMBERS, "tensor([False, False,  True])", out="exact")
SIGNBIT = _predicate(
    "signbit",
    "True where the sign is set: below 0, and at -0.",
    "y = (x < 0 or x = -0)",
    lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
    True,
)
offer(SIGNBIT, "[1.0, -0.0]", "tensor([False,  True])", out="exact")
LOGICAL_NOT = _predicate("logical_not", "True where zero.", "y = ¬x", np.logical_not)
offer(LOGICAL_NOT, "[True, False]", "tensor([False,  True])", out=True, in_place="Tensor")

# --------------------------------------------------------------------------------------- of two operands

EQ = comparison("eq", "Equal.", "y = (a = b)", np.equal, small="eq")
offer(EQ, _TWO, "tensor([False,  True, False])", out=True, in_place="Tensor")
NE = comparison("ne", "Not equal.", "y = (a ≠ b)", np.not_equal, small="ne")
offer(NE, _TWO, "tensor([ True, False,  True])", aliases=["not_equal"], out=True, in_place="Tensor")


def _order(name: str, doc: str, equation: str, forward: Callable[[Any, Any], Any]) -> Op:
    return binary(
        name,
        doc,
        equation,
        forward,
        NOT_DIFFERENTIABLE,
        dtype=real_only(name, PREDICATE),
        small=name,
        quantized=COMPARED,
    )


LT = _order("lt", "Less.", "y = (a < b)", np.less)
offer(LT, _TWO, "tensor([ True, False, False])", aliases=["less"], out=True, in_place="Tensor")
LE = _order("le", "Less or equal.", "y = (a ≤ b)", np.less_equal)
offer(LE, _TWO, "tensor([ True,  True, False])", aliases=["less_equal"], out=True, in_place="Tensor")
GT = _order("gt", "Greater.", "y = (a > b)", np.greater)
offer(GT, _TWO, "tensor([False, False,  True])", aliases=["greater"], out=True, in_place="Tensor")
GE = _order("ge", "Greater or equal.", "y = (a ≥ b)", np.greater_equal)
offer(GE, _TWO, "tensor([False,  True,  True])", aliases=["greater_equal"], out=True, in_place="Tensor")
LOGICAL_AND = comparison("logical_and", "Both non-zero.", "y = a ∧ b", np.logical_and)
offer(LOGICAL_AND, _BOTH, "tensor([ True, False, False])", out=True, in_place="Tensor")
LOGICAL_OR = comparison("logical_or", "Either non-zero.", "y = a ∨ b", np.logical_or)
offer(LOGICAL_OR, _BOTH, "tensor([ True,  True, False])", out=True, in_place="Tensor")
LOGICAL_XOR = comparison("logical_xor", "One non-zero and the other not.", "y = a ⊻ b", np.logical_xor)
offer(LOGICAL_XOR, _BOTH, "tensor([False,  True, False])", out=True, in_place="Tensor")
HEAVISIDE = binary(
    "heaviside",
    "Step from 0 to 1; at 0 the value of the second.",
    "y = 0 below 0, b at 0, 1 above",
    lambda x, at: np.where(x == 0, at, x > 0).astype(np.result_type(x, at), copy=False),
    NOT_DIFFERENTIABLE,
    dtype=real_only("heaviside"),
)

# ------------------------------------------------------------------------------- the larger, the smaller


def _picked(loses: str) -> Callable[[Call, Any], Any]:
    """Gradient of maximum and minimum: to the chosen operand, half to each where they tie."""

    def gradient(c: Call, g: Any) -> Any:
        a, b = c.inputs

        def side(x: Any, y: Any) -> Any:
            shared = ops.where(ops.eq(x, y), ops.mul(g, 0.5), g)
            return ops.where(getattr(ops, loses)(x, y), 0.0, shared)

        return (lambda: side(a, b)), (lambda: side(b, a))

    return gradient


def _picked_number(wins: str) -> Callable[[Call, Any], Any]:
    """Gradient of fmax and fmin: to the chosen operand, to the first where they tie."""

    def gradient(c: Call, g: Any) -> Any:
        a, b = c.inputs

        def side(first: bool) -> Any:
            chosen = ops.logical_or(getattr(ops, wins)(a, b), ops.ne(b, b))
            return ops.where(chosen, g, 0.0) if first else ops.where(chosen, 0.0, g)

        return (lambda: side(True)), (lambda: side(False))

    return gradient


MAXIMUM = binary(
    "maximum",
    "The larger of two; NaN where one is.",
    "y = max(a, b)",
    np.maximum,
    _picked("lt"),
    dtype=real_only("maximum"),
    contribution=CHOSEN,
    properties=["commutative"],
    reference="IEEE 754-2019 9.6, for NaN",
    quantized=JOINED,
)
offer(MAXIMUM, _SOME, "tensor([2., nan])", out=True)
MINIMUM = binary(
    "minimum",
    "The smaller of two; NaN where one is.",
    "y = min(a, b)",
    np.minimum,
    _picked("gt"),
    dtype=real_only("minimum"),
    contribution=CHOSEN,
    properties=["commutative"],
    reference="IEEE 754-2019 9.6, for NaN",
    quantized=JOINED,
)
offer(MINIMUM, _SOME, "tensor([1., nan])", out=True)
FMAX = binary(
    "fmax",
    "The larger of two; where one is NaN, the other.",
    "y = max(a, b)",
    np.fmax,
    _picked_number("ge"),
    dtype=real_only("fmax"),
    contribution=CHOSEN,
    reference="ISO C99 F.9.9",
    quantized=JOINED,
)
offer(FMAX, _SOME, "tensor([2., 2.])", out=True)
FMIN = binary(
    "fmin",
    "The smaller of two; where one is NaN, the other.",
    "y = min(a, b)",
    np.fmin,
    _picked_number("le"),
    dtype=real_only("fmin"),
    contribution=CHOSEN,
    reference="ISO C99 F.9.9",
    quantized=JOINED,
)
offer(FMIN, _SOME, "tensor([1., 2.])", out=True)

# ---------------------------------------------------------------------------------- the words people use


@offered()
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """True where two are nearly equal: |a - b| ≤ atol + rtol·|b|. Names unify from the right, sizes broadcast.

    Raises RuntimeError for tensors of different types and ValueError for negative tolerances.

    >>> import workbench as wb
    >>> wb.isclose(wb.tensor([1.0, 1.0]), wb.tensor([1.0 + 1e-7, 1.1]))
    tensor([ True, False])
    """
    if rtol < 0 or atol < 0:
        raise ValueError(
            f"isclose: rtol and atol must be greater than or equal to zero, got {rtol} and {atol}"
        )
    if input.dtype.is_quantized or other.dtype.is_quantized:
        raise DTypeError(
            "isclose is not supported for quantized inputs: call .dequantize() on what is in codes; equal() compares "
            "codes with their scales"
        )
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(
            f"{input.dtype.name} did not match {other.dtype.name}: cast one of them first, e.g. with .to(...)"
        )
    close = EQ(input, other)
    if equal_nan:
        close = LOGICAL_OR(close, LOGICAL_AND(NE(input, input), NE(other, other)))
    if input.payload.dtype.kind in "biu":
        if rtol == 0 and atol == 0:
            # Nothing is close that is not equal.
            return close
        # The difference of two integers may not be one of their type.
        input, other = ops.to(input, dtype=np.dtype(np.float64)), ops.to(other, dtype=np.dtype(np.float64))
    error = ops.abs(ops.sub(input, other))
    allowed = ops.add(ops.mul(ops.abs(other), rtol), atol)
    # The allowance beside an infinity is infinite: it must not make everything close to it.
    return LOGICAL_OR(close, LOGICAL_AND(ISFINITE(error), LE(error, allowed)))


@offered()
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Say whether all values of two are nearly equal, see `isclose`.

    >>> import workbench as wb
    >>> wb.allclose(wb.tensor([1.0]), wb.tensor([1.0 + 1e-7]))
    True
    """
    return bool(np.all(numbers(isclose(input, other, rtol, atol, equal_nan))))


@offered()
def equal(input: Tensor, other: Tensor) -> bool:
    """Say whether two tensors have the same names, sizes and values; codes also the same scale and zero point.

    >>> import workbench as wb
    >>> x = wb.tensor([1.0, 2.0], names=("C",))
    >>> wb.equal(x, x), wb.equal(x, x.rename(None))
    (True, False)
    """
    if _names(input) != _names(other) or input.shape != other.shape:
        return False
    a, b = numbers(input), numbers(other)
    if isinstance(a, QuantizedArray) or isinstance(b, QuantizedArray):
        if not (isinstance(a, QuantizedArray) and isinstance(b, QuantizedArray) and a.same_map(b)):
            return False
        a, b = a.codes, b.codes
    return bool(np.array_equal(a, b))


def _names(value: Value) -> Any:
    return value._names or UNNAMED[len(value.payload.shape)]


@offered(out="exact", in_place="Tensor")
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Step from 0 to 1: y = 0 below 0, `values` at 0, 1 above. Names unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.heaviside(wb.tensor([-1.0, 0.0, 1.0]), wb.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return HEAVISIDE(input, values)


@offered()
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0: everywhere in a real tensor. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.isreal(wb.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    # Zeros in place of the values first: for NaN the comparison would be False.
    return EQ(ops.imag(input), 0.0) if is_complex_value(input) else EQ(ops.fill(input, value=0), 0)
