"""What a chain is before it has slots: steps, each computed from others, and the ops written as such."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.ops.random.counter_based import least

__all__ = ["RULES", "Builder", "NotAChain", "Step"]


class NotAChain(ValueError):
    """A function that the interpreter cannot run, and why."""


@dataclass(frozen=True)
class Step:
    """One instruction before it has slots: what it does, and of which steps; of an input or constant, which."""

    does: str
    of: tuple[int, ...]
    number: float = 0.0


class Builder:
    """Writes steps, each once however often it is asked for."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.steps: list[Step] = []
        self._known: dict[Any, int] = {}

    def __call__(self, does: str, *of: int | float) -> int:
        """Return the number of the step that does this; what is no step, a float, becomes a constant."""
        return self._step(Step(does, tuple(one if type(one) is int else self.constant(one) for one in of)))

    def input(self, number: int) -> int:
        """Return the step that is an input."""
        return self._step(Step("input", (number,)))

    def constant(self, number: Any) -> int:
        """Return the step that is a number, rounded as the type of the chain holds it."""
        if isinstance(number, complex | str) or number is None:
            raise NotAChain(f"{number!r} is no real number")
        if self.dtype.startswith("int"):
            if number != int(number) or float(int(number)) != number or abs(number) >= 2**53:
                raise NotAChain(f"{number} is no whole number of {self.dtype} that a float64 holds")
            return self._step(Step("constant", (), float(number)))
        with np.errstate(over="ignore"):
            return self._step(Step("constant", (), float(np.dtype(self.dtype).type(number))))

    def _step(self, step: Step) -> int:
        # By its bits: 0 and -0 are equal, and NaN is not.
        key = (step.does, step.of, np.float64(step.number).tobytes())
        if key not in self._known:
            self._known[key] = len(self.steps)
            self.steps.append(step)
        return self._known[key]


# --------------------------------------------------------------------------------------------------- the table

Rule = Callable[..., int]
"""Writes an op: ``rule(builder, *steps of the operands, **parameters)`` returns the step of the result."""


def _same(name: str) -> Rule:
    return lambda do, *of: do(name, *of)


def _passed(do: Builder, x: int) -> int:
    return x


def _whole(name: str) -> Rule:
    """Return the rule of a rounding, which leaves whole numbers as they are."""
    return lambda do, x: x if do.dtype.startswith("int") else do(name, x)


def _clamp(do: Builder, x: int, low: float | None, high: float | None) -> int:
    if any(bound is not None and bound != bound for bound in (low, high)):
        raise NotAChain("a bound is NaN")
    if low is None or high is None:
        return _clamp_one(do, x, low, high)
    return do("clamp", x, do.constant(low), do.constant(high))


def _clamp_one(do: Builder, x: int, low: float | None, high: float | None) -> int:
    # The bound comes first: of two zeros the second stays, which is x.
    if low is not None:
        return do("maximum", do.constant(low), x)
    return x if high is None else do("minimum", do.constant(high), x)


def _pow(do: Builder, x: int, power: int) -> int:
    known = do.steps[power]
    if known.does == "constant" and known.number in _POWERS:
        return _POWERS[known.number](do, x)
    if do.dtype.startswith("int"):
        raise NotAChain("a power of whole numbers")
    return do("pow", x, power)


def _reciprocal(do: Builder, x: int) -> int:
    return do("div", 1.0, x)


def _rsqrt(do: Builder, x: int) -> int:
    return do("div", 1.0, do("sqrt", x))


_POWERS: dict[float, Rule] = {
    1.0: _passed,
    2.0: lambda do, x: do("mul", x, x),
    3.0: lambda do, x: do("mul", do("mul", x, x), x),
    0.5: lambda do, x: do("sqrt", x),
    -0.5: _rsqrt,
    -1.0: _reciprocal,
    -2.0: lambda do, x: do("mul", _reciprocal(do, x), _reciprocal(do, x)),
}
"""Powers without a logarithm, as the kernels compute them."""


def _dropout(
    do: Builder, x: int, p: float, seed: int, drawn: Any, scale: float, high: float, low: float
) -> int:
    if high or low:
        raise NotAChain("what is dropped becomes another number than 0")
    # In two halves, which floats hold: a number is dropped where its place draws less.
    upper, lower = divmod(least(p), 1 << 16)
    return do("drop", x, seed, float(upper), float(lower), float(scale))


def _truth(do: Builder, x: int) -> int:
    return do("ne", x, 0.0)


def _not(do: Builder, x: int) -> int:
    return do("eq", x, 0.0)


def _elu(do: Builder, x: int, alpha: float, scale: float, input_scale: float) -> int:
    return do("elu", x, float(alpha * scale), float(scale), float(input_scale))


def _elu_gradient(do: Builder, g: int, x: int, alpha: float, scale: float, input_scale: float) -> int:
    return do("elu_gradient", g, x, float(alpha * scale * input_scale), float(scale), float(input_scale))


_ALIKE = (
    "neg", "abs", "sign", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tanh",
    "sigmoid", "erf", "ndtr", "gelu", "gelu_tanh", "silu", "logsigmoid", "hardsigmoid", "hardswish", "mish", "relu",
    "add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "prelu", "where",
    "relu_gradient", "tanh_gradient", "sigmoid_gradient", "gelu_gradient", "gelu_tanh_gradient", "silu_gradient",
    "logsigmoid_gradient", "hardswish_gradient", "mish_gradient",
)  # fmt: skip
"""Ops that are one instruction of their own name."""

RULES: dict[str, Rule] = {
    **{name: _same(name) for name in _ALIKE},
    **{name: _whole(name) for name in ("floor", "ceil", "trunc", "round")},
    "clone": _passed,
    "detach": _passed,
    "rename": lambda do, x, **names: x,
    "to": lambda do, x, dtype: x,
    "clamp": _clamp,
    "hardtanh": _clamp,
    "clamp_min": _same("maximum"),
    "clamp_max": _same("minimum"),
    "dropout": _dropout,
    "reciprocal": _reciprocal,
    "rsqrt": _rsqrt,
    "pow": _pow,
    "leaky_relu": lambda do, x, slope: do("prelu", x, float(slope)),
    "elu": _elu,
    "softplus": lambda do, x, beta, threshold: do("softplus", x, float(beta), float(threshold)),
    "softshrink": lambda do, x, bound: do("softshrink", x, float(bound)),
    "hardshrink": lambda do, x, bound: do("hardshrink", x, float(bound)),
    "threshold": lambda do, x, threshold, value: do("threshold", x, float(threshold), float(value)),
    "isnan": lambda do, x: do("ne", x, x),
    "isinf": lambda do, x: do("eq", do("abs", x), math.inf),
    "isfinite": lambda do, x: do("lt", do("abs", x), math.inf),
    "logical_not": _not,
    "bitwise_not": _not,
    "logical_and": lambda do, x, y: do("mul", _truth(do, x), _truth(do, y)),
    "logical_or": lambda do, x, y: do("maximum", _truth(do, x), _truth(do, y)),
    "logical_xor": lambda do, x, y: do("ne", _truth(do, x), _truth(do, y)),
    "bitwise_and": _same("mul"),
    "bitwise_or": _same("maximum"),
    "bitwise_xor": _same("ne"),
    "hardtanh_gradient": lambda do, g, x, low, high: do("between", g, x, float(low), float(high)),
    "hardsigmoid_gradient": lambda do, g, x: do("within", g, x, -3.0, 3.0, 1 / 6),
    "leaky_relu_gradient": lambda do, g, x, slope: do("leaky_relu_gradient", g, x, float(slope)),
    "softshrink_gradient": lambda do, g, x, bound: do("beyond", g, x, float(bound)),
    "hardshrink_gradient": lambda do, g, x, bound: do("beyond", g, x, float(bound)),
    "threshold_gradient": lambda do, g, x, threshold, value: do("above", g, x, float(threshold)),
    "elu_gradient": _elu_gradient,
    "softplus_gradient": lambda do, g, x, beta, threshold: do(
        "softplus_gradient", g, x, float(beta), float(threshold)
    ),
}
"""Ops that a chain may have, by name."""
