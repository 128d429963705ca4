"""Compiled dropout and drawn slopes against plain, in any order of memory; what does not fit is refused in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.kernels.loader import native
from workbench.ops import ops

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not there")

HALF: dict[str, Any] = {"p": 0.5, "seed": 2**53 - 1, "scale": 2.0}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)])
@pytest.mark.parametrize("drawn", [(0, 4), (0, 2), (1, 4), (2, 3), (1, 1)])
def test_the_same_bits(order: tuple[int, ...], drawn: tuple[int, int]) -> None:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((2, 3, 37, 11)).astype(np.float32)
    lying = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    for high, low in ((0.0, 0.0), (0.3, -0.7)):
        params = {**HALF, "drawn": drawn, "high": high, "low": low}
        np.testing.assert_array_equal(native.dropout(lying, **params), ops.dropout.forward(x, **params))
    between: dict[str, Any] = {"lower": 0.1, "upper": 0.7, "seed": 3, "drawn": drawn}
    np.testing.assert_array_equal(native.rrelu(lying, **between), ops.rrelu.forward(x, **between))
    g = draw.standard_normal(x.shape).astype(np.float32)
    found = native.rrelu_gradient(g, lying, **between)
    np.testing.assert_array_equal(found, ops.rrelu_gradient.forward(g, x, **between))


def test_numbers_are_even_and_do_not_go_together() -> None:
    x = np.ones((512, 512), np.float32)
    first, second, third = (
        native.dropout(x, **{**HALF, "seed": seed}, drawn=(0, 2)) for seed in (1, 2, 1 + 2**32)
    )
    for one in (first, second, third):
        assert abs(one.mean() - 1) < 0.01
        assert abs((one[1:] * one[:-1]).mean() - 1) < 0.01
        assert abs((one[:, 1:] * one[:, :-1]).mean() - 1) < 0.01
    assert abs((first * second).mean() - 1) < 0.01
    assert abs((first * third).mean() - 1) < 0.01


def test_what_does_not_fit_is_refused() -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="places drawn along dims 0 to 3"):
        native.dropout(x, **HALF, drawn=(0, 3))
    with pytest.raises(ValueError, match="a gradient of"):
        native.rrelu_gradient(x[:1], x, lower=0.1, upper=0.2, seed=0, drawn=(0, 2))
