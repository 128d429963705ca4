"""Operators that compute each value by itself, or of values at the same place."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.onnx import integers
from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import Integers, data_type, is_floating, wb
from workbench.tensor.factories import from_numpy

__all__: list[str] = []

Rule = Callable[..., Any]

# ------------------------------------------------------------------------------------------------- of one


def _one(rule: Rule) -> Rule:
    """Return a function of one tensor and no attribute."""

    def compute(x: Any) -> Any:
        return rule(x)

    return compute


_OF_ONE: dict[str, Rule] = {
    "Abs": wb.abs, "Acos": wb.acos, "Acosh": wb.acosh, "Asin": wb.asin, "Asinh": wb.asinh, "Atan": wb.atan,
    "Atanh": wb.atanh, "BitwiseNot": wb.bitwise_not, "Ceil": wb.ceil, "Cos": wb.cos, "Cosh": wb.cosh, "Erf": wb.erf,
    "Exp": wb.exp, "Floor": wb.floor, "HardSwish": wb.hardswish, "IsNaN": wb.isnan, "Log": wb.log, "Mish": wb.mish,
    "Not": wb.logical_not, "Reciprocal": wb.reciprocal, "Relu": wb.relu, "Round": wb.round, "Sigmoid": wb.sigmoid,
    "Sign": wb.sign, "Sin": wb.sin, "Sinh": wb.sinh, "Softsign": wb.softsign, "Sqrt": wb.sqrt, "Tan": wb.tan,
    "Tanh": wb.tanh,
}  # fmt: skip

for _name, _rule in _OF_ONE.items():
    operator(_name)(_one(_rule))


@operator("Neg", integers=lambda x: Integers(-x.numbers[0] if x.single else [-one for one in x.numbers]))
def _neg(x: Any) -> Any:
    return -x


@operator("Softplus")
def _softplus(x: Any) -> Any:
    # Without the threshold beyond which PyTorch's is the identity.
    return wb.logaddexp(x, wb.zeros_like(x))


@operator("Identity", raw=True)
def _identity(x: Any) -> Any:
    return x


@operator("IsInf")
def _is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    found = wb.zeros_like(wb.isinf(x))
    if detect_negative:
        found = wb.logical_or(found, wb.isneginf(x))
    return wb.logical_or(found, wb.isposinf(x)) if detect_positive else found


@operator("Elu")
def _elu(x: Any, *, alpha: float = 1.0) -> Any:
    return wb.where(x > 0, x, alpha * wb.expm1(wb.clamp(x, max=0)))


@operator("Selu")
def _selu(x: Any, *, alpha: float = 1.6732632423543772848, gamma: float = 1.0507009873554804934) -> Any:
    return gamma * wb.where(x > 0, x, alpha * wb.expm1(wb.clamp(x, max=0)))


@operator("Celu")
def _celu(x: Any, *, alpha: float = 1.0) -> Any:
    return wb.celu(x, alpha)


@operator("LeakyRelu")
def _leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    return wb.leaky_relu(x, alpha)


@operator("ThresholdedRelu")
def _thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    return wb.threshold(x, alpha, 0.0)


@operator("HardSigmoid")
def _hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return wb.clamp(x * alpha + beta, 0, 1)


@operator("Gelu")
def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return wb.gelu(x, approximate=approximate)


@operator("Swish")
def _swish(x: Any, *, alpha: float = 1.0) -> Any:
    return x * wb.sigmoid(x * alpha)


@operator("SwiGLU")
def _swiglu(a: Any, b: Any, *, alpha: float = 1.0) -> Any:
    return _swish(a, alpha=alpha) * b


@operator("Shrink")
def _shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    low, high = wb.where(x < -lambd, x + bias, 0), wb.where(x > lambd, x - bias, 0)
    return (low + high).to(x.dtype)


@operator("PRelu")
def _prelu(x: Any, slope: Any) -> Any:
    return wb.where(x >= 0, x, x * slope)


@operator("Clip", since=7)
def _clip_by_attributes(x: Any, *, min: float | None = None, max: float | None = None) -> Any:
    return x if min is None and max is None else wb.clamp(x, min, max)


@operator("Clip", since=11, still=(1, 2))
def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    # Where the bounds cross, the upper one holds.
    x = x if low is None else wb.maximum(x, low)
    return x if high is None else wb.minimum(x, high)


# ------------------------------------------------------------------------------------------------- of two


@operator("Add", since=7, integers=integers.PLUS)
def _add(a: Any, b: Any) -> Any:
    return a + b


@operator("Sub", since=7, integers=integers.MINUS)
def _sub(a: Any, b: Any) -> Any:
    return a - b


@operator("Mul", since=7, integers=integers.TIMES)
def _mul(a: Any, b: Any) -> Any:
    return a * b


@operator("Div", since=7, integers=integers.OVER)
def _div(a: Any, b: Any) -> Any:
    return a / b if is_floating(a) else wb.div(a, b, rounding_mode="trunc")


@operator("Pow", since=7)
def _pow(a: Any, b: Any) -> Any:
    kind = a.dtype
    if is_floating(a):
        return wb.pow(a, b.to(kind) if is_floating(b) else b).to(kind)
    # Of whole numbers to a broken power the result is whole again.
    return wb.pow(a.double(), b.double()).to(kind) if is_floating(b) else wb.pow(a, b).to(kind)


@operator("Mod", since=10, integers=integers.remainder)
def _mod(a: Any, b: Any, *, fmod: int = 0) -> Any:
    return wb.fmod(a, b) if fmod else wb.remainder(a, b)


_COMPARED = {
    "Equal": (wb.eq, python.eq), "Greater": (wb.gt, python.gt), "GreaterOrEqual": (wb.ge, python.ge),
    "Less": (wb.lt, python.lt), "LessOrEqual": (wb.le, python.le),
}  # fmt: skip
_BITS = {
    "And": wb.logical_and, "Or": wb.logical_or, "Xor": wb.logical_xor, "BitwiseAnd": wb.bitwise_and,
    "BitwiseOr": wb.bitwise_or, "BitwiseXor": wb.bitwise_xor,
}  # fmt: skip


def _two(rule: Rule) -> Rule:
    """Return a function of two tensors and no attribute."""

    def compute(a: Any, b: Any) -> Any:
        return rule(a, b)

    return compute


for _name, (_rule, _numbers) in _COMPARED.items():
    operator(_name, since=7, integers=integers.compared(_numbers))(_two(_rule))
for _name, _rule in _BITS.items():
    operator(_name, since=7)(_two(_rule))


@operator("BitShift", since=11)
def _bit_shift(a: Any, b: Any, *, direction: str) -> Any:
    if direction not in ("LEFT", "RIGHT"):
        raise OnnxError(f"BitShift goes LEFT or RIGHT, not {direction!r}")
    return wb.bitwise_left_shift(a, b) if direction == "LEFT" else wb.bitwise_right_shift(a, b)


@operator("Where", since=9, integers=integers.chosen)
def _where(condition: Any, a: Any, b: Any) -> Any:
    return wb.where(condition, a, b)


# ------------------------------------------------------------------------------------------------ of many


def _folded(rule: Rule) -> Rule:
    def compute(*inputs: Any) -> Any:
        if not inputs:
            raise OnnxError("it needs an input")
        result = inputs[0]
        for one in inputs[1:]:
            result = rule(result, one)
        return result

    return compute


operator("Max", since=6, integers=integers.MOST)(_folded(wb.maximum))
operator("Min", since=6, integers=integers.LEAST)(_folded(wb.minimum))
operator("Sum", since=6)(_folded(python.add))


@operator("Mean", since=6)
def _mean(*inputs: Any) -> Any:
    return _folded(python.add)(*inputs) / len(inputs)


# ------------------------------------------------------------------------------------------------- types


@operator("Cast", integers=integers.cast)
def _cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    kind = data_type(to)
    return wb.ne(x, 0) if kind.numpy == np.bool_ else x.to(kind)


@operator("CastLike", since=15)
def _cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    return x.to(like.dtype)


@operator("BitCast", since=26)
def _bit_cast(x: Any, *, to: int) -> Any:
    # The bits are read again as numbers of another type: what a gradient of that would be, nobody can say.
    return from_numpy(x.detach().numpy().copy(order="C").view(data_type(to).numpy))
