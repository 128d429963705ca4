"""Normalisation over groups of channels, wherever they lie, and running statistics: compiled and plain in doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench import kernels
from workbench.kernels.loader import native
from workbench.ops import ops

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not there")

DRAW = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return DRAW.standard_normal(shape).astype(np.float32)


def near(found: Any, expected: Any, size: float = 1.0) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * size)


def lying(x: np.ndarray[Any, Any], how: str) -> np.ndarray[Any, Any]:
    if how == "channels last":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    return x[::-1] if how == "backwards" else x


@pytest.mark.parametrize("how", ["rows", "channels last", "backwards"])
@pytest.mark.parametrize(
    ("shape", "groups"),
    [((3, 6), 2), ((2, 8, 5), 8), ((2, 8, 3, 3), 1), ((3, 12, 7, 9), 3), ((2, 64, 28, 28), 32), ((2, 70, 40, 2), 70),
     ((5, 1, 100), 1), ((1, 6, 16), 2), ((2, 4, 2, 2, 2, 3), 2)],
)  # fmt: skip
def test_groups(shape: tuple[int, ...], groups: int, how: str) -> None:
    x, g = lying(floats(*shape) + 3, how), floats(*shape)
    weight, bias = floats(shape[1]), floats(shape[1])
    for factors in ((), (weight,), (weight, bias)):
        wide = [one.astype(np.float64) for one in (x, *factors)]
        expected = ops.group_norm.forward(*wide, groups=groups, eps=1e-5)
        found = native.group_norm(x, *factors, groups=groups, eps=1e-5)
        for one, other in zip(found, expected, strict=True):
            near(one, other)
        slopes = ops.group_norm_gradient.forward(g, wide[0], *expected[1:], *wide[1:2], groups=groups)
        found = native.group_norm_gradient(g, x, *found[1:], *factors[:1], groups=groups)
        for one, other in zip(found, slopes, strict=True):
            near(one, other, 1 + expected[2].max())


@pytest.mark.parametrize("how", ["rows", "channels last"])
@pytest.mark.parametrize(("shape", "groups"), [((1, 24, 40, 40), 8), ((21, 8, 12, 31), 2)])
def test_results_are_the_same_with_any_number_of_threads(
    shape: tuple[int, ...], groups: int, how: str
) -> None:
    x, g, weight = lying(floats(*shape) + 3, how), lying(floats(*shape), how), floats(shape[1])
    before, seen = kernels.get_num_threads(), set()
    try:
        for threads in (1, 2, 3):
            kernels.set_num_threads(threads)
            y, *statistics = native.group_norm(x, weight, weight, groups=groups, eps=1e-5)
            back = native.group_norm_gradient(g, x, *statistics, weight, groups=groups)
            seen.add(b"".join([one.tobytes() for one in (y, *statistics, *back)]))
    finally:
        kernels.set_num_threads(before)
    assert len(seen) == 1


def test_nan_stays_in_its_group() -> None:
    x = floats(2, 4, 50)
    x[1, 2, 3] = np.nan
    y, mean, _ = native.group_norm(x, groups=2, eps=1e-5)
    assert np.isnan(y[1, 2:]).all()
    assert np.isnan(y).sum() == 100
    assert np.isnan(mean).sum() == 1


@pytest.mark.parametrize("columns", [1, 3, 7, 8, 9, 14, 16, 17, 31, 63])
def test_short_rows(columns: int) -> None:
    x, g, weight, bias = floats(37, columns), floats(37, columns), floats(columns), floats(columns)
    wide = [one.astype(np.float64) for one in (x, weight, bias)]
    expected = ops.layer_norm.forward(*wide, count=1, eps=1e-3)
    found = native.layer_norm(x, weight, bias, count=1, eps=1e-3)
    for one, other in zip(found, expected, strict=True):
        near(one, other)
    slopes = ops.layer_norm_gradient.forward(g, wide[0], *expected[1:], wide[1], count=1)
    for one, other in zip(native.layer_norm_gradient(g, x, *found[1:], weight, count=1), slopes, strict=True):
        near(one, other, 1 + expected[2].max())


def test_running_statistics_move() -> None:
    x = floats(40, 9) * 2 + 5
    mean, variance = floats(18)[::2], np.abs(floats(9))
    rstd = (1 / np.sqrt(x.var(0) + 1e-5)).astype(np.float32)
    wanted = 0.9 * mean + 0.1 * x.mean(0), 0.9 * variance + 0.1 * x.var(0, ddof=1)
    native.move_statistics(mean, variance, x.mean(0), rstd, 40, 1e-5, 0.1)
    near(mean, wanted[0])
    near(variance, wanted[1])


def test_what_does_not_fit_is_refused() -> None:
    x = floats(2, 6, 3)
    with pytest.raises(ValueError, match="do not make 4 groups"):
        native.group_norm(x, groups=4, eps=1e-5)
    with pytest.raises(ValueError, match=r"weight has shape \[5\]"):
        native.group_norm(x, floats(5), groups=2, eps=1e-5)
    with pytest.raises(ValueError, match="is empty"):
        native.group_norm(x[:0], groups=2, eps=1e-5)
    with pytest.raises(ValueError, match="statistics have shape"):
        native.group_norm_gradient(x, x, floats(2, 3), floats(2, 3), groups=2)
    with pytest.raises(ValueError, match="running statistics"):
        native.move_statistics(floats(3), floats(3), floats(4), floats(3), 9, 1e-5, 0.1)
    with pytest.raises(ValueError, match="unbiased variance"):
        native.move_statistics(floats(3), floats(3), floats(3), floats(3), 1, 1e-5, 0.1)
