"""The largest and smallest along a dim, and where they stand first, beside NumPy's code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench.ops  # noqa: F401  declares the ops
from workbench import kernels
from workbench.core.op import ops


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize(
    ("shape", "dim"), [((7,), 0), ((5, 9), -1), ((5, 9), 0), ((3, 4, 2100), 1), ((2, 40, 3, 5), -3)]
)
@pytest.mark.parametrize("name", ["max_dim", "min_dim"])
def test_ties_and_what_is_no_number(name: str, shape: tuple[int, ...], dim: int, dtype: Any) -> None:
    draw = np.random.default_rng(shape)
    x = draw.integers(-3, 4, shape).astype(dtype)
    if dtype != np.int64:
        x[draw.random(shape) < 0.1] = np.nan
        x[draw.random(shape) < 0.1] = -0.0
        x[draw.random(shape) < 0.1] = np.inf
    kernel = kernels.lookup(name)
    assert kernel is not None
    for keepdim in (False, True):
        assert kernel.accepts(x, dim=dim, keepdim=keepdim)
        values, indices = kernel.run(x, dim=dim, keepdim=keepdim)
        expected, places = getattr(ops, name).forward(x, dim=dim, keepdim=keepdim)
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))
        np.testing.assert_array_equal(indices, places)
        assert values.dtype == dtype
        assert indices.dtype == np.int64


def test_long_rows_are_left_to_numpy() -> None:
    accepts = kernels.lookup("max_dim").accepts
    assert not accepts(np.zeros((4, 4096), np.float32), dim=-1, keepdim=False)
    assert accepts(np.zeros((4, 4096), np.float32), dim=0, keepdim=False)
    assert not accepts(np.zeros((), np.float32), dim=0, keepdim=False)
    assert not accepts(np.zeros((0, 3), np.float32), dim=1, keepdim=False)


def test_a_dim_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dim 1 of \[3, 0\] has no largest or smallest value"):
        kernels.lookup("max_dim").run(np.zeros((3, 0), np.float32), dim=1, keepdim=False)
