"""Elementwise ops in float32 whose shape numbers decide, softplus in float64 too; choosing between two operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, FLOAT64, LARGE, MEDIUM, is_large, is_medium
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_BOOL = np.dtype(np.bool_)


def _is_number(one: Any) -> bool:
    return type(one) is float or type(one) is int


def _accepts_bounds(x: Any, *, low: Any, high: Any) -> bool:
    # A bound of NaN makes all results NaN: NumPy's code knows.
    return (
        is_large(x)
        and (low is None or (_is_number(low) and low == low))
        and (high is None or (_is_number(high) and high == high))
    )


def _clamp(x: Any, *, low: float | None, high: float | None) -> Any:
    return native.clamp(x, -math.inf if low is None else low, math.inf if high is None else high)


def _clamp_into(out: Any, x: Any, low: float, high: float) -> None:
    if low == low and high == high:
        native.clamp_into(out, x, low, high)
    else:  # as in `_accepts_bounds`
        np.clip(x, low, high, out=out)


def _accepts_numbers(x: Any, **numbers: Any) -> bool:
    return is_medium(x) and all(map(_is_number, numbers.values()))


def _floats(x: Any) -> bool:
    """Say whether `x` has floats, however few: what NumPy does in several passes pays at once."""
    return type(x) is np.ndarray and x.size > 0 and x.dtype == FLOAT32


def _accepts_few(x: Any, **numbers: Any) -> bool:
    return _floats(x) and all(map(_is_number, numbers.values()))


def _accepts_few_of_either(x: Any, **numbers: Any) -> bool:
    return (
        type(x) is np.ndarray
        and x.size > 0
        and (x.dtype == FLOAT32 or x.dtype == FLOAT64)
        and all(map(_is_number, numbers.values()))
    )


def _elu(x: Any, *, alpha: float, scale: float, input_scale: float) -> Any:
    # PyTorch multiplies the two first, too.
    return native.elu(x, alpha * scale, scale, input_scale)


def _by_bound(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays, bound: run(*arrays, bound)


def _threshold(x: Any, *, threshold: float, value: float) -> Any:
    return native.threshold(x, threshold, value)


def _accepts_gradient(g: Any, x: Any, **numbers: Any) -> bool:
    return (
        is_medium(x)
        and type(g) is np.ndarray
        and g.dtype == FLOAT32
        and g.shape == x.shape
        and all(map(_is_number, numbers.values()))
    )


def _accepts_gradient_of_either(g: Any, x: Any, **numbers: Any) -> bool:
    return (
        _accepts_few_of_either(x, **numbers)
        and type(g) is np.ndarray
        and g.dtype == x.dtype
        and g.shape == x.shape
    )


def _gradients() -> dict[str, Callable[..., Any]]:
    """Return what takes gradients through ops, by their names."""
    return {
        "hardtanh": lambda g, x, *, low, high: native.between(g, x, low, high),
        "hardsigmoid": lambda g, x: native.within(g, x, -3.0, 3.0, 1 / 6),
        "hardswish": native.hardswish_gradient,
        "leaky_relu": lambda g, x, *, slope: native.leaky_relu_gradient(g, x, slope),
        "softshrink": _by_bound(native.beyond),
        "hardshrink": _by_bound(native.beyond),
        "threshold": lambda g, x, *, threshold, value: native.above(g, x, threshold),
        "elu": lambda g, x, *, alpha, scale, input_scale: native.elu_gradient(
            g, x, alpha * scale * input_scale, scale, input_scale
        ),
        "logsigmoid": native.logsigmoid_gradient,
        "mish": native.mish_gradient,
    }


def _powers() -> dict[float, Callable[[Any], Any]]:
    """Return what takes a power without a logarithm, by exponent."""
    return {
        2: lambda x: native.mul(x, x),
        3: native.cube,
        # A copy, as in PyTorch: x ** 1 is no view of x.
        1: lambda x: native.mul(x, 1.0),
        0.5: native.sqrt,
        -0.5: native.rsqrt,
        -1: native.reciprocal,
        -2: native.inverse_square,
    }


def _pow(x: Any, p: Any) -> Any:
    run = _POWERS.get(p)
    if run is None:
        raise ValueError(f"the kernel takes the powers {sorted(_POWERS)}, not {p}")
    return run(x)


def _accepts_pow(x: Any, p: Any) -> bool:
    return _is_number(p) and p in _POWERS and is_large(x)


def _accepts_where(condition: Any, a: Any, b: Any) -> bool:
    if type(condition) is not np.ndarray or condition.size < MEDIUM or condition.dtype != _BOOL:
        return False
    several = 0
    for one in (a, b):
        if type(one) is np.ndarray:
            if one.dtype != FLOAT32 or one.shape != condition.shape:
                return False
            several += 1
        elif not _is_number(one):
            return False
    # Two numbers say nothing of the type of the result.
    return several > 0


def _where(condition: Any, a: Any, b: Any) -> Any:
    return native.where(
        # NumPy's bools are bytes of 0 or 1.
        condition.view(np.uint8),
        *[one if type(one) is np.ndarray else np.array([one], np.float32) for one in (a, b)],
    )


if native is not None:
    _POWERS = _powers()
    register(Kernel("clamp", _clamp, _accepts_bounds, least=LARGE, into=_clamp_into))
    register(Kernel("hardtanh", _clamp, _accepts_bounds, least=LARGE))
    register(Kernel("rsqrt", native.rsqrt, is_large, least=LARGE))
    register(Kernel("pow", _pow, _accepts_pow, least=LARGE))
    register(
        Kernel("leaky_relu", lambda x, *, slope: native.leaky_relu(x, slope), _accepts_numbers, least=MEDIUM)
    )
    register(Kernel("elu", _elu, _accepts_few))
    register(
        Kernel(
            "softplus",
            lambda x, *, beta, threshold: native.softplus(x, beta, threshold),
            _accepts_few_of_either,
            ("float32 or float64",),
        )
    )
    for _name in ("logsigmoid", "hardsigmoid", "hardswish", "mish"):
        register(Kernel(_name, getattr(native, _name), _floats))
    for _name in ("softshrink", "hardshrink"):
        register(Kernel(_name, _by_bound(getattr(native, _name)), _accepts_numbers, least=MEDIUM))
    register(Kernel("threshold", _threshold, _accepts_numbers, least=MEDIUM))
    register(
        Kernel(
            "softplus_gradient",
            lambda g, x, *, beta, threshold: native.softplus_gradient(g, x, beta, threshold),
            _accepts_gradient_of_either,
            ("float32 or float64",),
        )
    )
    for _name, _run in _gradients().items():
        register(Kernel(f"{_name}_gradient", _run, _accepts_gradient, least=MEDIUM))
    register(Kernel("where", _where, _accepts_where, ("a condition of their size, float32",), least=MEDIUM))
