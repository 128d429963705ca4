"""Which sign a result of nothing has: functions, and the signs of their zeros as PyTorch has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CASES", "DTYPES", "SIGNS", "VALUES", "signs"]

VALUES = (0.0, -0.0, math.inf, -math.inf)
DTYPES = ("float32", "float64", "float16", "bfloat16")


def signs(rows: Any) -> set[str]:
    """Return what rows there are, a character for each number: the sign of a zero, a dot for anything else."""
    rows = np.asarray(rows)
    kinds = np.where(rows != 0, 2, np.signbit(rows)).astype(np.int8)
    return {"".join("+-."[one] for one in row) for row in np.unique(kinds, axis=0)}


def _functional(name: str, *more: Any) -> Callable[..., Any]:
    return lambda lib, x: getattr(lib.nn.functional, name)(x, *more)


def _named(name: str, *more: Any, **words: Any) -> Callable[..., Any]:
    return lambda lib, x: getattr(lib, name)(x, *more, **words)


_ACTIVATIONS = (
    "elu selu celu relu relu6 leaky_relu hardshrink tanhshrink hardtanh hardswish hardsigmoid softplus softsign "
    "silu gelu mish logsigmoid"
)
_FUNCTIONS = (
    "abs neg exp expm1 log1p sin tan asin atan sinh asinh tanh atanh erf sqrt square sign round floor ceil trunc "
    "frac sgn positive deg2rad rad2deg nan_to_num sinc reciprocal"
)
CASES: dict[str, Callable[..., Any]] = {
    **{name: _functional(name) for name in _ACTIVATIONS.split()},
    **{name: _named(name) for name in _FUNCTIONS.split()},
    "elu, half": _functional("elu", 0.5),
    "celu, half": _functional("celu", 0.5),
    "threshold, 0": _functional("threshold", 0.0, 0.0),
    "threshold, -0": _functional("threshold", 0.0, -0.0),
    "clamp from 0": _named("clamp", min=0.0),
    "clamp to 0": _named("clamp", max=0.0),
    "clamp from 0 to 1": _named("clamp", 0.0, 1.0),
    "clamp from -1 to 0": _named("clamp", -1.0, 0.0),
    "remainder by 1": _named("remainder", 1.0),
    "remainder by -1": _named("remainder", -1.0),
    "fmod by 1": _named("fmod", 1.0),
    "plus 0": lambda lib, x: x + 0.0,
    "less 0": lambda lib, x: x - 0.0,
    "0 less": lambda lib, x: 0.0 - x,
    "times 0": lambda lib, x: x * 0.0,
    "times -1": lambda lib, x: x * -1.0,
    "over -2": lambda lib, x: x / -2.0,
    "over -2, down": lambda lib, x: x // -2.0,
    "cube": lambda lib, x: x**3,
    "relu, in a chain": lambda lib, x: lib.nn.functional.relu(x * 1.0) * -1.0,
    "elu, in a chain": lambda lib, x: lib.nn.functional.elu(-x) * 2.0,
    "erfinv": lambda lib, x: lib.erfinv(x),
    "glu": lambda lib, x: lib.nn.functional.glu(lib.stack([x, x]), 0),
}
"""Functions of one tensor, value by value: ``call(library, x)``.

Not softshrink, maximum and minimum: in PyTorch the sign of their zeros depends on where in memory a value lies.
"""

SIGNS = {  # what PyTorch 2.13 gives for `VALUES`
    "elu": "+-..",
    "selu": "+-..",
    "celu": "+-..",
    "relu": "+-.+",
    "relu6": "+-.+",
    "leaky_relu": "+-..",
    "hardshrink": "++..",
    "tanhshrink": "++..",
    "hardtanh": "+-..",
    "hardswish": "+-..",
    "hardsigmoid": "...+",
    "softplus": "...+",
    "softsign": "+-..",
    "silu": "+-..",
    "gelu": "+-..",
    "mish": "+-..",
    "logsigmoid": "..+.",
    "abs": "++..",
    "neg": "-+..",
    "exp": "...+",
    "expm1": "+-..",
    "log1p": "+-..",
    "sin": "+-..",
    "tan": "+-..",
    "asin": "+-..",
    "atan": "+-..",
    "sinh": "+-..",
    "asinh": "+-..",
    "tanh": "+-..",
    "atanh": "+-..",
    "erf": "+-..",
    "sqrt": "+-..",
    "square": "++..",
    "sign": "++..",
    "round": "+-..",
    "floor": "+-..",
    "ceil": "+-..",
    "trunc": "+-..",
    "frac": "++..",
    "sgn": "++..",
    "positive": "+-..",
    "deg2rad": "+-..",
    "rad2deg": "+-..",
    "nan_to_num": "+-..",
    "sinc": "....",
    "reciprocal": "..+-",
    "elu, half": "+-..",
    "celu, half": "+-..",
    "threshold, 0": "++.+",
    "threshold, -0": "--.-",
    "clamp from 0": "+-.+",
    "clamp to 0": "+-+.",
    "clamp from 0 to 1": "+-.+",
    "clamp from -1 to 0": "+-+.",
    "remainder by 1": "+-..",
    "remainder by -1": "+-..",
    "fmod by 1": "+-..",
    "plus 0": "++..",
    "less 0": "+-..",
    "0 less": "++..",
    "times 0": "+-..",
    "times -1": "-+..",
    "over -2": "-+..",
    "over -2, down": "-+..",
    "cube": "+-..",
    "relu, in a chain": "-+.-",
    "elu, in a chain": "-+..",
    "erfinv": "+-..",
    "glu": "+-..",
}
"""What becomes of `VALUES`, in every type and however many they are."""
