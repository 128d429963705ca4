from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import workbench as wb
from workbench import kernels
from workbench.core.op import ops

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("clamp", (), {"low": -0.5, "high": 0.7}),
    ("clamp", (), {"low": None, "high": 0.7}),
    ("clamp", (), {"low": 1, "high": None}),
    ("clamp", (), {"low": 2.0, "high": -1.0}),
    ("hardtanh", (), {"low": -1.0, "high": 1.0}),
    ("rsqrt", (), {}),
    *[("pow", (p,), {}) for p in (1, 2, 3, 3.0, 0.5, -0.5, -1, -2)],
    ("leaky_relu", (), {"slope": 0.01}),
    ("leaky_relu", (), {"slope": -2}),
    ("elu", (), {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0}),
    ("elu", (), {"alpha": 1.6732632, "scale": 1.0507, "input_scale": 1.0}),
    ("elu", (), {"alpha": -0.7, "scale": 1.1, "input_scale": -1.4}),
    ("softplus", (), {"beta": 1.0, "threshold": 20.0}),
    ("softplus", (), {"beta": 2.5, "threshold": 1.0}),
    ("softplus", (), {"beta": -1.5, "threshold": 20.0}),
    ("logsigmoid", (), {}),
    ("hardsigmoid", (), {}),
    ("hardswish", (), {}),
    ("softshrink", (), {"bound": 0.5}),
    ("hardshrink", (), {"bound": 1}),
    ("threshold", (), {"threshold": 0.25, "value": -3.0}),
]
GRADIENTS: list[tuple[str, dict[str, Any]]] = [
    ("hardtanh", {"low": -1.0, "high": 1.5}),
    ("hardsigmoid", {}),
    ("hardswish", {}),
    ("leaky_relu", {"slope": -0.2}),
    ("softshrink", {"bound": 0.5}),
    ("hardshrink", {"bound": 1}),
    ("threshold", {"threshold": 0.25, "value": -3.0}),
    ("elu", {"alpha": 1.6732632, "scale": 1.0507, "input_scale": 0.7}),
    ("softplus", {"beta": 1.5, "threshold": 20.0}),
    ("softplus", {"beta": -1.5, "threshold": 4.0}),
    ("logsigmoid", {}),
    ("mish", {}),
]


def values() -> Floats:
    """From the least number to the largest, both signs, and what is no number."""
    sizes = np.concatenate([np.geomspace(1e-44, 3e38, 40_000), np.linspace(1e-3, 30, 40_000)])
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 88.0, 89.5, -87.5, -104.5]
    return np.concatenate([sizes, -sizes, special]).astype(np.float32)


@pytest.mark.parametrize(("name", "more", "params"), CASES)
def test_within_two_units_of_numpy_in_double_precision(
    name: str, more: tuple[Any, ...], params: dict[str, Any]
) -> None:
    x, op, kernel = values(), getattr(ops, name), kernels.lookup(name)
    assert kernel.accepts(x, *more, **params)
    found = kernel.run(x, *more, **params)
    with np.errstate(all="ignore"):
        exact = op.forward(x.astype(np.float64), *more, **params)
        expected = exact.astype(np.float32)
        plain = op.forward(x, *more, **params)
        unit = np.spacing(np.maximum(np.abs(expected), np.float32(1.2e-38)))
        # Where NumPy's own float32 code rounds the argument of a function, so may we.
        error = np.minimum(np.abs(found - exact), np.abs(found.astype(np.float64) - plain)) / unit
    finite = np.isfinite(expected) & np.isfinite(found)
    known = finite | (np.abs(exact) < 3.3e38) | ~np.isfinite(x)
    np.testing.assert_array_equal(found[known & ~finite], plain[known & ~finite])
    limit = 3 if set(params.values()) - {1.0, 20.0} else 2  # factors round, too
    assert np.max(error[finite]) <= limit


def test_mish_keeps_its_digits() -> None:
    x = values()
    x = x[np.isfinite(x) | np.isnan(x) | (x > 0)]  # -inf times 0 is left open
    with np.errstate(all="ignore"):
        exact = ops.mish.forward(x.astype(np.float64))
    np.testing.assert_allclose(kernels.lookup("mish").run(x), exact.astype(np.float32), rtol=1e-6, atol=1e-42)


@pytest.mark.parametrize(("name", "params"), GRADIENTS)
def test_gradients(name: str, params: dict[str, Any], floats: Make, lay: Callable[[Floats], Floats]) -> None:
    kernel, op = kernels.lookup(f"{name}_gradient"), getattr(ops, f"{name}_gradient")
    g, x = floats(3, 5, 16, 17), floats(3, 5, 16, 17) * 4
    assert kernel.accepts(g, x, **params)
    exact = op.forward(g.astype(np.float64), x.astype(np.float64), **params)
    np.testing.assert_allclose(kernel.run(lay(g), lay(x), **params), exact, rtol=3e-6, atol=1e-6)
    np.testing.assert_allclose(kernel.run(g, lay(x), **params), exact, rtol=3e-6, atol=1e-6)
    assert not kernel.accepts(g[0], x, **params)
    # At the edges of its pieces, and where there is nothing to say.
    edges = [-3, 3, -1, 1, 1.5, 0.5, -0.5, 0.25, 0, 0.0, 1e30, -1e30, np.inf, -np.inf]
    x = np.resize(np.array(edges, np.float32), 2800)
    for gradient in (1.0, np.inf):
        g = np.full_like(x, gradient)
        with np.errstate(all="ignore"):
            plain = op.forward(g, x, **params)
        found = kernel.run(g, x, **params)
        known = np.isfinite(plain) | np.isposinf(plain)
        np.testing.assert_allclose(found[known], plain[known], rtol=1e-6, atol=1e-37)


def test_what_numpy_knows_better_is_left_to_it(floats: Make) -> None:
    x = floats(300, 300)
    assert not kernels.lookup("clamp").accepts(x, low=math.nan, high=1.0)
    assert not kernels.lookup("pow").accepts(x, 1.7)
    assert not kernels.lookup("pow").accepts(x, x)
    assert not kernels.lookup("pow").accepts(2.0, x)
    assert not kernels.lookup("elu").accepts(x, alpha=1.0, scale="a", input_scale=1.0)
    assert not kernels.lookup("where").accepts(x > 0, 1.0, 2.0)
    assert not kernels.lookup("where").accepts(x > 0, x[0], 2.0)
    assert not kernels.lookup("where").accepts(x > 0, x.astype(np.float64), 2.0)
    assert not kernels.lookup("where").accepts(x, x, x)


def test_where(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x, y = floats(7, 9, 31), floats(7, 9, 31)
    kernel = kernels.lookup("where")
    for condition in (x > 0, np.asfortranarray(x > 0), np.broadcast_to(x[0] > 0, x.shape)):
        assert kernel.accepts(condition, x, y)
        np.testing.assert_array_equal(kernel.run(condition, lay(x), lay(y)), np.where(condition, x, y))
        np.testing.assert_array_equal(kernel.run(condition, x, 2), np.where(condition, x, np.float32(2)))
        np.testing.assert_array_equal(kernel.run(condition, 0.1, y), np.where(condition, np.float32(0.1), y))
    with pytest.raises(ValueError, match=r"where of \[9, 31\]"):
        kernel.run(x > 0, x[0], y)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_gradients_by_the_output(name: str) -> None:
    x = wb.randn(300, 300)
    x.requires_grad_()
    y = getattr(wb, name)(x)
    g = wb.randn(300, 300)
    y.backward(g)
    assert x.grad is not None
    out = y.detach().numpy().astype(np.float64)
    slope = 1 - out * out if name == "tanh" else out * (1 - out)
    np.testing.assert_allclose(x.grad.numpy(), g.numpy() * slope, rtol=2e-6, atol=1e-7)


def test_too_small_arguments_are_not_asked_about() -> None:
    """`least` is a promise about `accepts`: no call whose largest argument is smaller is taken."""
    for name in kernels.names():
        kernel = kernels.lookup(name)
        assert kernel is not None
        if kernel.least < 2 or name not in ops:
            continue
        for sample in getattr(ops, name).samples():
            arrays = [
                one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype == np.float64 else one
                for one in sample.inputs
            ]
            if max((np.size(one) for one in arrays), default=0) < kernel.least:
                assert not kernel.accepts(*arrays, **sample.params), name
