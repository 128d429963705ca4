"""Elementwise ops in float32, above the size from which they beat NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, LARGE, MEDIUM, is_large, is_medium
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


def _accepts_same(a: Any, b: Any) -> bool:
    return is_medium(a) and type(b) is np.ndarray and b.dtype == FLOAT32 and a.shape == b.shape


def _accepts_slopes(a: Any, b: Any) -> bool:
    return is_medium(a) and type(b) is np.ndarray and b.dtype == FLOAT32 and _stretches(b, a)


def _accepts_halves(*arrays: Any, dim: int) -> bool:
    return all(type(one) is np.ndarray and one.dtype == FLOAT32 for one in arrays)


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

if native is not None:
    register(Kernel("prelu", native.prelu, _accepts_slopes, least=MEDIUM))
    for _name in ("glu", "glu_gradient"):
        register(Kernel(_name, getattr(native, _name), _accepts_halves))
    for _name in ("neg", "abs", "sqrt"):
        register(Kernel(_name, getattr(native, _name), is_large, least=LARGE))
    register(Kernel("relu", native.relu, is_medium, least=MEDIUM, into=native.relu_into))
    for _name in ("exp", "tanh", "sigmoid", "erf", "ndtr", "gelu", "gelu_tanh", "silu"):
        register(Kernel(_name, getattr(native, _name), is_medium, least=MEDIUM))
    for _name in ("add", "mul", "maximum", "minimum"):
        _run = _either_way(getattr(native, _name), getattr(native, _name))
        register(Kernel(_name, _run, _accepts_binary, least=LARGE))
        if _name in _BOUNDS:
            register(Kernel(_BOUNDS[_name], _run, _accepts_binary, least=LARGE))
    for _name in ("sub", "div"):
        register(
            Kernel(
                _name,
                _either_way(getattr(native, _name), getattr(native, f"reversed_{_name}")),
                _accepts_binary,
                least=LARGE,
            )
        )
    for _name in ("relu", "tanh", "sigmoid", "gelu", "gelu_tanh", "silu"):
        register(
            Kernel(f"{_name}_gradient", getattr(native, f"{_name}_gradient"), _accepts_same, least=MEDIUM)
        )
