"""Elementwise ops in float32 and bfloat16, and some in float64, above the size from which they beat NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, FLOAT64, LARGE, MEDIUM, is_medium
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


_LEAST = {"float32": LARGE, "bfloat16": MEDIUM}
"""Number of values from which a call pays where NumPy has a loop of its own. In bfloat16 it takes one at a time."""


def _loops(dtype: np.dtype[Any]) -> Callable[[Any], bool]:
    """Return a predicate for arrays of a type for which NumPy has a loop."""
    name = dtype.name
    # By `type`: subclasses, such as masked arrays, mean something else by the same memory.
    return lambda a: type(a) is np.ndarray and a.size >= _LEAST[name] and a.dtype == dtype


def _binary(dtype: np.dtype[Any]) -> Callable[[Any, Any], bool]:
    """Return a predicate for two operands of a type, or one and a number."""
    fits, name = _loops(dtype), dtype.name

    def accepts(a: Any, b: Any) -> bool:
        # What `fits` says, without a call: this is asked before every sum and product.
        if type(a) is np.ndarray and a.size >= _LEAST[name] and a.dtype == dtype:
            if type(b) is np.ndarray:
                # One of the two has the shape of the result: the compiled loop stretches one operand, not both.
                return b.dtype == dtype and (_stretches(b, a) or (fits(b) and _stretches(a, b)))
            # Only Python's own: NumPy's float64 is a `float` too, and would make the result float64.
            return type(b) is float or type(b) is int
        if fits(b):
            if type(a) is np.ndarray:
                return a.dtype == dtype and _stretches(a, b)
            return type(a) is float or type(a) is int
        return False

    return accepts


def _medium(dtype: np.dtype[Any]) -> Callable[[Any], bool]:
    """Return a predicate for arrays of a type of MEDIUM size or more."""
    return lambda a: type(a) is np.ndarray and a.size >= MEDIUM and a.dtype == dtype


def _same(dtype: np.dtype[Any]) -> Callable[[Any, Any], bool]:
    """Return a predicate for two operands of a type and of one shape."""
    fits = _medium(dtype)
    return lambda a, b: fits(a) and type(b) is np.ndarray and b.dtype == dtype and a.shape == b.shape


def _slopes(dtype: np.dtype[Any]) -> Callable[[Any, Any], bool]:
    """Return a predicate for an operand of a type, and a second one that is stretched to it."""
    fits = _medium(dtype)
    return lambda a, b: fits(a) and type(b) is np.ndarray and b.dtype == dtype and _stretches(b, a)


_WORTH_A_CALL = 256
"""Number of doubles from which a compiled loop beats NumPy, which takes angles one at a time."""


def _accepts_doubles(a: Any) -> bool:
    return type(a) is np.ndarray and a.size >= _WORTH_A_CALL and a.dtype == FLOAT64


def _accepts_either(a: Any) -> bool:
    # Of any size: NumPy goes through the logistic function in five passes.
    return type(a) is np.ndarray and a.size > 0 and a.dtype in (FLOAT32, FLOAT64)


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


def _enter(module: Any, dtype: np.dtype[Any], needs: tuple[str, ...], smooth: tuple[str, ...]) -> None:
    """Enter what there is in both types."""
    half, least = dtype == BFLOAT16, _LEAST[dtype.name]
    for name in ("neg", "abs", "sqrt"):
        register(Kernel(name, getattr(module, name), _loops(dtype), needs, least), half=half)
    for name in smooth:
        register(Kernel(name, getattr(module, name), _medium(dtype), needs, MEDIUM), half=half)
    for name, run in _pairs(module).items():
        register(Kernel(name, run, _binary(dtype), needs, least), half=half)
    for name in (f"{name}_gradient" for name in _SLOPED):
        register(Kernel(name, getattr(module, name), _same(dtype), needs, MEDIUM), half=half)
    register(Kernel("prelu", module.prelu, _slopes(dtype), needs, MEDIUM), half=half)


if native is not None:
    _enter(native, FLOAT32, ("float32",), tuple(name for name in _SMOOTH if name != "sigmoid"))
    _enter(native.bfloat16, BFLOAT16, ("bfloat16",), ("relu", *_SMOOTH))
    for _name in ("glu", "glu_gradient"):
        register(Kernel(_name, getattr(native, _name), _accepts_halves))
    register(
        Kernel(
            "relu",
            native.relu,
            lambda x: is_medium(x) or _accepts_doubles(x),
            ("float32 or float64",),
            MEDIUM,
            native.relu_into,
        )
    )
    for _name in ("sin", "cos"):
        register(Kernel(_name, getattr(native, _name), _accepts_doubles, ("float64",), _WORTH_A_CALL))
    register(Kernel("sigmoid", native.sigmoid, _accepts_either))
