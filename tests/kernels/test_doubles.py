"""Functions of doubles: to the last places near every multiple of a quarter turn, and at the ends of the type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(native is None, reason="there are no compiled kernels")


def _units(found: Any, exact: Any) -> float:
    """Return the largest distance in units of the last place."""
    rounded = exact.astype(np.float64)
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(rounded))))


ANGLES = {
    "small": np.linspace(-1e-3, 1e-3, 5001),
    "some": np.linspace(-40, 40, 20001),
    "quarter turns": np.arange(1, 200001) * (np.pi / 2),
    "beside quarter turns": np.nextafter(np.arange(1, 200001) * (np.pi / 2), 0),
    "far": np.linspace(3e5, 7e5, 20001),
    "very far": np.geomspace(1e6, 1e300, 5001),
}


@pytest.mark.parametrize("where", ANGLES)
@pytest.mark.parametrize("function", ["sin", "cos"])
def test_angles_are_right_to_the_last_places(function: str, where: str) -> None:
    x = ANGLES[where]
    of: Callable[[Any], Any] = getattr(np, function)
    assert _units(getattr(native, function)(x), of(x.astype(np.longdouble))) < 1.5


def test_the_logistic_function_is_right_over_its_range() -> None:
    x = np.concatenate([np.linspace(-705, 40, 20001), np.linspace(-1e-3, 1e-3, 501)])
    exact = 1 / (1 + np.exp(-x.astype(np.longdouble)))
    assert _units(native.sigmoid(x), exact) < 2.5


@pytest.mark.parametrize("count", [1, 3, 8, 9, 300])
def test_the_ends_of_the_type(count: int) -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -800.0, 800.0, 1e308])
    x = np.resize(special, count)
    with np.errstate(all="ignore"):
        for function in (np.sin, np.cos):
            found = getattr(native, function.__name__)(x)
            np.testing.assert_array_max_ulp(found, function(x), 1)
            same = ~np.isnan(found)
            assert (np.signbit(found) == np.signbit(function(x)))[same].all()
        np.testing.assert_allclose(native.sigmoid(x), 1 / (1 + np.exp(-x)), rtol=1e-15)


@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell"])
@pytest.mark.parametrize("size", [1, 5, 51])
def test_a_cell_in_double_precision_is_what_plain_array_code_says(
    cell: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wb.manual_seed(0)
    layer = getattr(wb.nn, cell)(3, size).double()
    x = wb.randn(7, 3, dtype=wb.float64)
    wide = wb.randn(7, 2 * size, dtype=wb.float64)
    start = wide[:, ::2]  # a state that lies in steps

    def found() -> list[Any]:
        layer.zero_grad()
        state: Any = (start, start) if cell == "LSTMCell" else start
        for _ in range(3):
            state = layer(x, state)
        both = state if isinstance(state, tuple) else (state,)
        sum(one.square().sum() for one in both).backward()
        return [one.detach().numpy().copy() for one in both] + [
            p.grad.numpy().copy() for p in layer.parameters()
        ]

    compiled = found()
    for name in ("lstm", "lstm_gradient", "gru", "gru_gradient"):
        monkeypatch.setitem(vars(getattr(wb.core.op.ops, name)), "kernel", None)
    for one, other in zip(compiled, found(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def _rows(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape)


def _exact_softmax(x: Any, dim: int, logarithm: bool) -> Any:
    away = x.astype(np.longdouble) - x.max(dim, keepdims=True)
    powers = np.exp(away)
    total = powers.sum(dim, keepdims=True)
    return away - np.log(total) if logarithm else powers / total


@pytest.mark.parametrize("shape", [(3, 1), (5, 7), (6, 16), (4, 70000), (3, 33, 5)])
@pytest.mark.parametrize("dim", [-1, -2])
def test_softmax_is_right_to_the_last_places(shape: tuple[int, ...], dim: int) -> None:
    # Whole numbers, so that no digit is lost where the largest is taken away, also of what lies far below.
    x = np.round(_rows(*shape) * 8)
    # Columns are added up one row after the other, as NumPy and PyTorch do.
    assert _units(native.softmax(x, dim=dim), _exact_softmax(x, dim, False)) < (4 if dim == -1 else 8)
    found = native.softmax(x, dim=dim, logarithm=True)
    np.testing.assert_allclose(found, _exact_softmax(x, dim, True).astype(float), rtol=4e-16, atol=2e-15)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("size", [2, 9, 300])
def test_gradients_of_softmax_are_right_to_the_last_places(size: int, dim: int) -> None:
    y, g = np.abs(_rows(size, size)) / size, _rows(size, size)[::-1].copy()
    wide_y, wide_g = y.astype(np.longdouble), g.astype(np.longdouble)
    expected = wide_y * (wide_g - (wide_g * wide_y).sum(dim, keepdims=True))
    np.testing.assert_allclose(
        native.softmax_gradient(g, y, dim=dim), expected.astype(float), rtol=0, atol=4e-16
    )
    # Logarithms, of which some are no probability's: it is a function of any two arrays.
    y = np.linspace(-760, 5, size * size).reshape(size, size)
    total = wide_g.sum(dim, keepdims=True)
    expected = wide_g - np.exp(y.astype(np.longdouble)) * total
    found = native.softmax_gradient(g, y, dim=dim, logarithm=True)
    np.testing.assert_allclose(
        found, expected.astype(float), rtol=4e-15, atol=4e-15 * float(np.abs(expected).max())
    )


def test_exponentials_of_logarithms_reach_the_ends_of_the_type() -> None:
    y = np.array([[-800.0, -745.0, -720.0, 0.0, 709.0, 709.7, 710.0, np.inf, -np.inf, np.nan]])
    g = np.zeros_like(y)
    g[0, 0] = 1.0
    with np.errstate(over="ignore"):
        expected = g - np.exp(y)
    np.testing.assert_allclose(
        native.softmax_gradient(g, y, dim=1, logarithm=True), expected, rtol=1e-15, atol=5e-324
    )


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_softplus_is_right_over_its_range(beta: float) -> None:
    x = (
        np.concatenate(
            [np.linspace(-735, 30, 20001), np.linspace(-2, 2, 2001), np.linspace(-1e-3, 1e-3, 501)]
        )
        / beta
    )
    scaled = (x * beta).astype(np.longdouble)
    exact = (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / beta
    assert _units(native.softplus(x, beta, 1e9), exact) < 3
    np.testing.assert_array_equal(native.softplus(x, beta, -1e9), x)
    slopes = 1 / (1 + np.exp(-scaled))
    assert _units(native.softplus_gradient(np.ones_like(x), x, beta, 1e9), slopes) < 2.5
    ends = np.array([np.inf, -np.inf, np.nan, -0.0, 1e308, -1e308])
    with np.errstate(all="ignore"):
        expected = np.where(ends * beta > 20, ends, np.logaddexp(ends * beta, 0) / beta)
    np.testing.assert_allclose(native.softplus(ends, beta, 20.0), expected, rtol=1e-15)


@pytest.mark.parametrize("size", [1, 3, 8, 21, 5000])
def test_rows_are_normalised_to_the_last_places(size: int) -> None:
    x, weight, bias = _rows(7, size) + 3, _rows(1, size)[0], _rows(2, size)[1]
    wide = x.astype(np.longdouble)
    mean = wide.mean(1, keepdims=True)
    rstd = 1 / np.sqrt(((wide - mean) ** 2).mean(1, keepdims=True) + np.longdouble(1e-5))
    normal = (wide - mean) * rstd
    y, means, rstds = native.layer_norm(x, weight, bias, count=1, eps=1e-5)
    # 1 / √eps times the rounding of a mean, where a row is all one value.
    np.testing.assert_allclose(
        y, (normal * weight + bias).astype(float), rtol=0, atol=2e-13 if size == 1 else 1e-14
    )
    assert _units(means, mean) < 2 and _units(rstds, rstd) < 4
    y, rstds = native.rms_norm(x, weight, count=1, eps=1e-5)
    scale = 1 / np.sqrt((wide**2).mean(1, keepdims=True) + np.longdouble(1e-5))
    assert _units(y, wide * scale * weight) < 6 and _units(rstds, scale) < 4

    g = _rows(9, size)[2:]
    outer = g.astype(np.longdouble) * weight
    gx, gw, gb = native.layer_norm_gradient(g, x, means, rstds, weight, count=1)
    along = (wide - means) * rstds
    first, second = outer.mean(1, keepdims=True), (outer * along).mean(1, keepdims=True)
    for found, expected in (
        (gx, (outer - first - along * second) * rstds), (gw, (g * along).sum(0)), (gb, g.astype(np.longdouble).sum(0)),
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected.astype(float), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("function", ["softmax", "log_softmax", "layer_norm", "rms_norm", "softplus"])
def test_gradients_in_double_precision_are_those_of_differences(function: str) -> None:
    x = wb.tensor(_rows(6, 9), requires_grad=True)
    run: Callable[..., Any] = getattr(wb.nn.functional, function)
    rest: tuple[Any, ...] = {"softplus": (), "softmax": (-1,), "log_softmax": (0,)}.get(function, ((9,),))
    assert wb.autograd.gradcheck(lambda x: run(x, *rest), (x,))
    assert wb.autograd.gradgradcheck(lambda x: run(x, *rest), (x,))
