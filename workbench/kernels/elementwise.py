"""Elementwise ops in float32 and bfloat16, and some in float64, above the size from which they beat NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, FLOAT64, LARGE, MEDIUM, is_large, is_medium
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _stretches(small: Any, large: Any) -> bool:
    """Say whether `small` broadcasts to the shape of `large`."""
    if small.shape == large.shape:
        return True
    missing = large.ndim - small.ndim
    return missing >= 0 and all(
        size in (1, other) for size, other in zip(small.shape, large.shape[missing:], strict=True)
    )


def _accepts_binary(a: Any, b: Any) -> bool:
    # What `is_large` says, without a call: this is asked before every sum and product.
    if type(a) is np.ndarray and a.size >= LARGE and a.dtype == FLOAT32:
        if type(b) is np.ndarray:
            # One of the two has the shape of the result: the compiled loop stretches one operand, not both.
            return b.dtype == FLOAT32 and (_stretches(b, a) or (b.size >= LARGE and _stretches(a, b)))
        # Only Python's own: NumPy's float64 is a `float` too, and would make the result float64.
        return type(b) is float or type(b) is int
    if is_large(b):
        if type(a) is np.ndarray:
            return a.dtype == FLOAT32 and _stretches(a, b)
        return type(a) is float or type(a) is int
    return False


_WORTH_A_CALL = 256
"""Number of doubles from which a compiled loop beats NumPy, which takes angles one at a time."""


def _accepts_doubles(a: Any) -> bool:
    return type(a) is np.ndarray and a.size >= _WORTH_A_CALL and a.dtype == FLOAT64


def _accepts_either(a: Any) -> bool:
    return is_medium(a) or _accepts_doubles(a)


def _accepts_same(a: Any, b: Any) -> bool:
    return is_medium(a) and type(b) is np.ndarray and b.dtype == FLOAT32 and a.shape == b.shape


def _accepts_slopes(a: Any, b: Any) -> bool:
    return is_medium(a) and type(b) is np.ndarray and b.dtype == FLOAT32 and _stretches(b, a)


def _accepts_halves(*arrays: Any, dim: int) -> bool:
    return all(type(one) is np.ndarray and one.dtype == FLOAT32 for one in arrays)


def _is_half(x: Any) -> bool:
    # What NumPy does in this type it does one value at a time: a call pays early.
    return type(x) is np.ndarray and x.size >= MEDIUM and x.dtype == BFLOAT16


def _accepts_half_binary(a: Any, b: Any) -> bool:
    if _is_half(a):
        if type(b) is np.ndarray:
            return b.dtype == BFLOAT16 and (_stretches(b, a) or (_is_half(b) and _stretches(a, b)))
        return type(b) is float or type(b) is int
    if _is_half(b):
        if type(a) is np.ndarray:
            return a.dtype == BFLOAT16 and _stretches(a, b)
        return type(a) is float or type(a) is int
    return False


def _accepts_half_same(a: Any, b: Any) -> bool:
    return _is_half(a) and type(b) is np.ndarray and b.dtype == BFLOAT16 and a.shape == b.shape


def _accepts_half_slopes(a: Any, b: Any) -> bool:
    return _is_half(a) and type(b) is np.ndarray and b.dtype == BFLOAT16 and _stretches(b, a)


def _either_way(forward: Callable[..., Any], swapped: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Give the larger operand first place, where the compiled code wants it."""

    def run(a: Any, b: Any) -> Any:
        # Of equal shapes the order stays as it is.
        if type(a) is np.ndarray and (type(b) is not np.ndarray or _stretches(b, a)):
            return forward(a, b)
        return swapped(b, a)

    return run


_BOUNDS = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""Ops that compute the same as others, and differ in their gradients."""

_SMOOTH = ("exp", "tanh", "sigmoid", "erf", "ndtr", "gelu", "gelu_tanh", "silu")
_SLOPED = ("relu", "tanh", "sigmoid", "gelu", "gelu_tanh", "silu")
"""Functions whose gradient is a kernel too."""


def _pairs(module: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """Return what computes with two operands in the type of `module`, by the name of the op."""
    commuting = {name: getattr(module, name) for name in ("add", "mul", "maximum", "minimum")}
    found = {name: _either_way(run, run) for name, run in commuting.items()}
    found |= {_BOUNDS[name]: found[name] for name in _BOUNDS}
    for name in ("sub", "div"):
        found[name] = _either_way(getattr(module, name), getattr(module, f"reversed_{name}"))
    return found


if native is not None:
    register(Kernel("prelu", native.prelu, _accepts_slopes, least=MEDIUM))
    for _name in ("glu", "glu_gradient"):
        register(Kernel(_name, getattr(native, _name), _accepts_halves))
    for _name in ("neg", "abs", "sqrt"):
        register(Kernel(_name, getattr(native, _name), is_large, least=LARGE))
    register(Kernel("relu", native.relu, is_medium, least=MEDIUM, into=native.relu_into))
    for _name in ("sin", "cos"):
        register(Kernel(_name, getattr(native, _name), _accepts_doubles, ("float64",), _WORTH_A_CALL))
    register(Kernel("sigmoid", native.sigmoid, _accepts_either, least=_WORTH_A_CALL))
    for _name in (name for name in _SMOOTH if name != "sigmoid"):
        register(Kernel(_name, getattr(native, _name), is_medium, least=MEDIUM))
    for _name, _run in _pairs(native).items():
        register(Kernel(_name, _run, _accepts_binary, least=LARGE))
    for _name in (f"{name}_gradient" for name in _SLOPED):
        register(Kernel(_name, getattr(native, _name), _accepts_same, least=MEDIUM))

    _half = native.bfloat16
    register(Kernel("prelu", _half.prelu, _accepts_half_slopes, ("bfloat16",), MEDIUM), half=True)
    for _name in ("neg", "abs", "sqrt", "relu", *_SMOOTH):
        register(Kernel(_name, getattr(_half, _name), _is_half, ("bfloat16",), MEDIUM), half=True)
    for _name, _run in _pairs(_half).items():
        register(Kernel(_name, _run, _accepts_half_binary, ("bfloat16",), MEDIUM), half=True)
    for _name in (f"{name}_gradient" for name in _SLOPED):
        register(Kernel(_name, getattr(_half, _name), _accepts_half_same, ("bfloat16",), MEDIUM), half=True)
