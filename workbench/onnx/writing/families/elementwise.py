"""Ops that compute each value by itself, or of values at the same place."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.dtypes import bool_, float32, float64, int32, int64
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.table import written

__all__: list[str] = []

# ----------------------------------------------------------------------------------------------------- of one

_OF_ONE = {
    "abs": "Abs", "neg": "Neg", "sign": "Sign", "reciprocal": "Reciprocal", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "sigmoid": "Sigmoid",
    "erf": "Erf", "relu": "Relu", "sgn": "Sign",
}  # fmt: skip


@written(*_OF_ONE)
def _of_one(call: Any) -> Any:
    kind = call.common
    if kind.is_complex:
        raise OnnxError("complex numbers are no data type of the operator")
    if kind == bool_:
        raise OnnxError(f"the operator {_OF_ONE[call.op.name]} takes no truth values")
    return call(_OF_ONE[call.op.name], call.x(0))


@written("floor", "ceil", "round", "trunc")
def _rounded(call: Any) -> Any:
    x = call.x(0)
    if not call.common.is_floating_point:
        return call("Identity", x)
    if call.op.name == "trunc":
        return call("Mul", call("Floor", call("Abs", x)), call("Sign", x))
    return call({"floor": "Floor", "ceil": "Ceil", "round": "Round"}[call.op.name], x)


@written("exp2", "expm1", "log2", "log10", "log1p", "rsqrt", "logit", "sinc", "erfc", "ndtr", "entr")
def _by_others(call: Any) -> Any:
    x, number = call.x(0), call.number_like
    one = number(1.0)
    match call.op.name:
        case "exp2":
            return call("Pow", number(2.0), x)
        case "expm1":
            # e^x - 1 = 2 sinh(x/2) e^(x/2) loses no digits near 0.
            half = call("Mul", x, number(0.5))
            return call("Mul", call("Mul", call("Sinh", half), call("Exp", half)), number(2.0))
        case "log2":
            return call("Mul", call("Log", x), number(1 / math.log(2)))
        case "log10":
            return call("Mul", call("Log", x), number(1 / math.log(10)))
        case "log1p":
            # log(1 + x) = 2 atanh(x / (x + 2)) loses no digits near 0.
            part = call("Div", x, call("Add", x, number(2.0)))
            return call("Mul", call("Atanh", part), number(2.0))
        case "rsqrt":
            return call("Reciprocal", call("Sqrt", x))
        case "logit":
            return call("Log", call("Div", x, call("Sub", one, x)))
        case "sinc":
            angle = call("Mul", x, number(math.pi))
            none = call("Equal", x, number(0.0))
            safe = call("Where", none, one, angle)
            return call("Where", none, one, call("Div", call("Sin", safe), safe))
        case "erfc":
            return call("Sub", one, call("Erf", x))
        case "ndtr":
            half = call("Mul", call("Erf", call("Mul", x, number(math.sqrt(0.5)))), number(0.5))
            return call("Add", half, number(0.5))
    none = call("Equal", x, number(0.0))
    found = call("Neg", call("Mul", x, call("Log", call("Where", none, one, x))))
    return call("Where", call("Less", x, number(0.0)), number(-math.inf), found)


@written("isnan")
def _isnan(call: Any) -> Any:
    return call("IsNaN", _floating(call))


@written("isinf", "isposinf", "isneginf", "isfinite")
def _isinf(call: Any) -> Any:
    x, name = _floating(call), call.op.name
    if name == "isfinite":
        # Of what is no number and of infinities nothing is left.
        return call("Not", call("IsNaN", call("Sub", x, x)))
    positive, negative = name != "isneginf", name != "isposinf"
    return call("IsInf", x, detect_positive=int(positive), detect_negative=int(negative))


def _floating(call: Any) -> Any:
    kind = call.kind(0)
    if kind.is_complex:
        raise OnnxError("complex numbers are no data type of the operator")
    # The runtimes know these for float32 and float64 alone.
    return call.x(0, kind if kind in (float32, float64) else float32)


@written("signbit")
def _signbit(call: Any) -> Any:
    x = call.raw(0)
    zero = call.number(0, call.kind(0))
    if not call.kind(0).is_floating_point:
        return call("Less", x, zero)
    # 1/x tells -0 from 0.
    below = call("Less", x, zero)
    return call("Or", below, call("Less", call("Reciprocal", x), zero))


@written("nan_to_num")
def _nan_to_num(call: Any) -> Any:
    x, params = call.x(0), call.params
    if not call.common.is_floating_point:
        return call("Identity", x)
    if call.common not in (float32, float64):
        raise OnnxError("the operators IsNaN and IsInf take numbers of 32 and 64 bits")
    largest = 3.4028234663852886e38 if call.common == float32 else 1.7976931348623157e308
    high = largest if params["posinf"] is None else params["posinf"]
    low = -largest if params["neginf"] is None else params["neginf"]
    x = call("Where", call("IsNaN", x), call.number_like(float(params["nan"])), x)
    x = call("Where", call("IsInf", x, detect_negative=0), call.number_like(float(high)), x)
    return call("Where", call("IsInf", x, detect_positive=0), call.number_like(float(low)), x)


# ----------------------------------------------------------------------------------------------------- of two

_ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow"}
_COMPARED = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}


@written("add", "sub", "mul", "div", "pow")
def _arithmetic(call: Any) -> Any:
    kind, name = call.common, call.op.name
    if kind.is_complex:
        raise OnnxError("complex numbers are no data type of the operator")
    if kind == bool_:
        if name not in ("add", "mul"):
            raise OnnxError("truth values are not computed with")
        return call("Or" if name == "add" else "And", call.x(0), call.x(1))
    if name == "pow" and not kind.is_floating_point:
        # In float64 whole numbers up to 2⁵³ are exact.
        found = call("Pow", call.x(0, float64), call.x(1, float64))
        return call.cast(found, float64, kind)
    return call(_ARITHMETIC[name], call.x(0), call.x(1))


@written("div_floor", "div_trunc")
def _quotient(call: Any) -> Any:
    x, y = call.x(0), call.x(1)
    if call.common.is_floating_point:
        found = call("Div", x, y)
        if call.op.name == "div_floor":
            return call("Floor", found)
        return call("Mul", call("Floor", call("Abs", found)), call("Sign", found))
    if call.op.name == "div_trunc":
        return call("Div", x, y)
    return call("Div", call("Sub", x, call("Mod", x, y)), y)


@written("remainder", "fmod")
def _remainder(call: Any) -> Any:
    x, y = call.x(0), call.x(1)
    if not call.common.is_floating_point:
        return call("Mod", x, y, fmod=int(call.op.name == "fmod"))
    found = call("Mod", x, y, fmod=1)
    if call.op.name == "fmod":
        return found
    # What is left has the sign of the dividend, and is to have that of the divisor.
    zero = call.number_like(0.0)
    other = call("Less", call("Mul", call("Sign", found), call("Sign", y)), zero)
    return call("Where", other, call("Add", found, y), found)


@written("maximum", "minimum", "clamp_min", "clamp_max")
def _extreme(call: Any) -> Any:
    operator = "Max" if call.op.name in ("maximum", "clamp_min") else "Min"
    if call.common == bool_:
        return call("Or" if operator == "Max" else "And", call.x(0), call.x(1))
    return call(operator, call.x(0), call.x(1))


@written("fmax", "fmin")
def _extreme_of_numbers(call: Any) -> Any:
    x, y = call.x(0), call.x(1)
    operator = "Max" if call.op.name == "fmax" else "Min"
    if not call.common.is_floating_point:
        return call(operator, x, y)
    if call.common not in (float32, float64):
        raise OnnxError("the operator IsNaN takes numbers of 32 and 64 bits")
    found = call(operator, x, y)
    return call("Where", call("IsNaN", x), y, call("Where", call("IsNaN", y), x, found))


@written("eq", "lt", "le", "gt", "ge", "ne")
def _compared(call: Any) -> Any:
    kind, name = call.common, call.op.name
    if kind.is_complex:
        raise OnnxError("complex numbers are no data type of the operator")
    if kind == bool_ and name not in ("eq", "ne"):
        kind = int32
    x, y = call.x(0, kind), call.x(1, kind)
    return call("Not", call("Equal", x, y)) if name == "ne" else call(_COMPARED[name], x, y)


@written("logical_and", "logical_or", "logical_xor")
def _logical(call: Any) -> Any:
    operator = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}[call.op.name]
    return call(operator, call.x(0, bool_), call.x(1, bool_))


@written("logical_not")
def _logical_not(call: Any) -> Any:
    return call("Not", call.x(0, bool_))


@written("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
def _bitwise(call: Any) -> Any:
    word = call.op.name.removeprefix("bitwise_").capitalize()
    names = [call.x(i) for i in range(len(call.inputs))]
    if call.common == bool_:
        return call(word, *names)
    if not call.has(18):
        raise OnnxError("operators on the bits of numbers came with version 18: pass opset=18")
    return call(f"Bitwise{word}", *names)


@written("bitwise_left_shift")
def _shifted(call: Any) -> Any:
    kind = call.common
    if kind == bool_:
        raise OnnxError("truth values are not shifted")
    # The operator BitShift takes no signed numbers; to the left it is a product.
    power = call("Pow", call.number(2.0, float64), call.x(1, float64))
    return call("Mul", call.x(0), call.cast(power, float64, kind))


@written("bitwise_right_shift")
def _shifted_back(call: Any) -> Any:
    kind = call.common
    if kind == bool_:
        raise OnnxError("truth values are not shifted")
    power = call.cast(call("Pow", call.number(2.0, float64), call.x(1, float64)), float64, kind)
    x = call.x(0)
    # Downwards, as a shift of signed numbers goes.
    return call("Div", call("Sub", x, call("Mod", x, power)), power)


@written("hypot", "copysign", "heaviside", "xlogy", "xlog1py", "logaddexp", "logaddexp2")
def _by_others_of_two(call: Any) -> Any:
    x, y, number = call.x(0), call.x(1), call.number_like
    match call.op.name:
        case "hypot":
            return call("Sqrt", call("Add", call("Mul", x, x), call("Mul", y, y)))
        case "copysign":
            zero = number(0.0)
            below = call("Or", call("Less", y, zero), call("Less", call("Reciprocal", y), zero))
            size = call("Abs", x)
            return call("Where", below, call("Neg", size), size)
        case "heaviside":
            zero, one = number(0), number(1)
            return call("Where", call("Less", x, zero), zero, call("Where", call("Equal", x, zero), y, one))
        case "xlogy" | "xlog1py":
            inner = call("Log", call("Add", y, number(1.0)) if call.op.name == "xlog1py" else y)
            return call("Where", call("Equal", x, number(0.0)), number(0.0), call("Mul", x, inner))
    base = 1.0 if call.op.name == "logaddexp" else math.log(2)
    most, least = call("Max", x, y), call("Min", x, y)
    gap = call("Mul", call("Sub", least, most), number(base))
    rest = call("Log", call("Add", call("Exp", gap), number(1.0)))
    found = call("Add", most, call("Mul", rest, number(1 / base)))
    # Two equal infinities have no difference.
    return call("Where", call("Equal", x, y), call("Add", x, number(math.log(2) / base)), found)


@written("atan2")
def _atan2(call: Any) -> Any:
    y, x, number = call.x(0), call.x(1), call.number_like
    zero = number(0.0)
    below, left = call("Less", y, zero), call("Less", x, zero)
    none = call("Equal", x, zero)
    slope = call("Atan", call("Div", y, call("Where", none, number(1.0), x)))
    turned = call("Where", below, call("Sub", slope, number(math.pi)), call("Add", slope, number(math.pi)))
    beside = call("Where", left, turned, slope)
    upright = call("Mul", call("Sign", y), number(math.pi / 2))
    return call("Where", none, upright, beside)


@written("where")
def _where(call: Any) -> Any:
    condition = call.x(0, bool_)
    x, y = call.x(1), call.x(2)
    if call.common == bool_:
        either = call("And", call("Not", condition), y)
        return call("Or", call("And", condition, x), either)
    return call("Where", condition, x, y)


@written("clamp")
def _clamp(call: Any) -> Any:
    x, kind = call.raw(0), call.kind(0)
    low, high = call.params["low"], call.params["high"]
    if low is not None:
        x = call("Max", x, call.number(low, kind))
    if high is not None:
        x = call("Min", x, call.number(high, kind))
    return x if low is not None or high is not None else call("Identity", x)


# ----------------------------------------------------------------------------------------------- types, places


@written("to")
def _to(call: Any) -> Any:
    own, kind = call.kind(0), call.out
    if own.is_complex or kind.is_complex:
        raise OnnxError("complex numbers are not cast")
    x = call.raw(0)
    if own == kind:
        return call("Identity", x)
    if kind == bool_:
        return call("Not", call("Equal", x, call.number(0, own)))
    if own.is_floating_point and not kind.is_floating_point and kind not in (int32, int64):
        # To fewer bits a runtime may cut or wrap: of int64 it wraps, as here.
        x, own = call.cast(x, own, int64), int64
    return call.cast(x, own, kind) if own != kind else str(x)


@written("clone", "detach", "rename", "lay_out", "pass_share", "conj", "conj_view", "to_device", "real")
def _same(call: Any) -> Any:
    if call.kind(0).is_complex:
        raise OnnxError("complex numbers have no operators in the format")
    return call.raw(0)


@written("copy")
def _copy(call: Any) -> Any:
    return call.raw(1)


@written("fill")
def _fill(call: Any) -> Any:
    value = call.number(call.params["value"], call.kind(0))
    return call("Expand", value, call("Shape", call.raw(0)))
