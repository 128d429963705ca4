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
