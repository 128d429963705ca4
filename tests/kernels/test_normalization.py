from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]
SHAPES = [(64, 32, 14, 14), (4, 1, 28, 28), (7, 3, 11, 13), (5, 17, 40), (300, 5), (2, 5, 3, 9, 11)]


def over_channels(values: npt.NDArray[Any], ndim: int) -> npt.NDArray[Any]:
    return values.reshape(1, -1, *[1] * (ndim - 2))


def channels_last(values: Floats) -> Floats:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, 1, -1)), -1, 1)


@pytest.mark.parametrize("lie", [np.ascontiguousarray, channels_last])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_batch_norm_and_its_gradient(
    shape: tuple[int, ...], offset: float, lie: Callable[[Floats], Floats], floats: Make
) -> None:
    x = lie(floats(*shape) + np.float32(offset))
    weight, bias, g = floats(shape[1]), floats(shape[1]), lie(floats(*shape))
    axes = tuple(i for i in range(x.ndim) if i != 1)
    y, mean, rstd = kernels.lookup("batch_norm").run(x, weight, bias, eps=1e-5)
    exact = x.astype(np.float64)
    exact_mean = exact.mean(axis=axes)
    exact_rstd = 1 / np.sqrt(exact.var(axis=axes) + 1e-5)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(rstd, exact_rstd, rtol=1e-5)
    standard = (exact - over_channels(exact_mean, x.ndim)) * over_channels(exact_rstd, x.ndim)
    tolerance = 1e-5 + 3e-7 * offset
    expected = standard * over_channels(weight, x.ndim) + over_channels(bias, x.ndim)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=tolerance)

    gx, gw, gb = kernels.lookup("batch_norm_gradient").run(g, x, mean, rstd, weight)
    exact_g = g.astype(np.float64)
    np.testing.assert_allclose(gb, exact_g.sum(axis=axes), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(gw, (exact_g * standard).sum(axis=axes), rtol=1e-4, atol=1e-2)
    count = x.size // shape[1]
    centred = exact_g - over_channels(exact_g.sum(axis=axes) / count, x.ndim)
    centred -= standard * over_channels((exact_g * standard).sum(axis=axes) / count, x.ndim)
    scale = over_channels(weight * exact_rstd, x.ndim)
    np.testing.assert_allclose(gx, centred * scale, rtol=1e-4, atol=tolerance * 10)


def test_any_layout(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x, weight, bias = floats(3, 5, 8, 9), floats(10)[::2], floats(5)
    run = kernels.lookup("batch_norm").run
    y, mean, rstd = run(lay(x), weight, bias, eps=1e-3)
    np.testing.assert_array_equal(y, run(lay(x), weight.copy(), bias, eps=1e-3)[0])
    again = run(x, weight, bias, eps=1e-3)
    np.testing.assert_allclose(y, again[0], rtol=1e-5, atol=1e-6)
    gradient = kernels.lookup("batch_norm_gradient").run
    expected = gradient(y.copy(), x, mean, rstd, weight.copy())
    for part, wanted in zip(gradient(lay(y), lay(x), mean, rstd, weight), expected, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 5, 8, 9), (3, 4, 40)])
def test_results_lie_as_the_values_do(shape: tuple[int, ...], floats: Make) -> None:
    rows, factors = floats(*shape), [floats(shape[1]) for _ in range(4)]
    run, slope = kernels.lookup("batch_norm").run, kernels.lookup("batch_norm_gradient").run
    still = kernels.lookup("batch_norm_inference").run
    for x in (rows, channels_last(rows)):
        y, mean, rstd = run(x, *factors[:2], eps=1e-3)
        gx = slope(rows, x, mean, rstd, factors[0])[0]
        known = still(x, factors[0], factors[1] ** 2, *factors[2:], eps=1e-3)
        assert {one.strides for one in (y, gx, known)} == {x.strides}


@pytest.mark.parametrize("lie", [np.ascontiguousarray, channels_last])
@pytest.mark.parametrize("relu", [False, True])
def test_inference(relu: bool, lie: Callable[[Floats], Floats], floats: Make) -> None:
    x, mean, weight, bias = lie(floats(3, 17, 8, 9)), floats(17), floats(17), floats(17)
    variance = floats(17) ** 2
    y = kernels.lookup("batch_norm_inference").run(x, mean, variance, weight, bias, eps=1e-3, relu=relu)
    expected = (x.astype(np.float64) - over_channels(mean, 4)) / np.sqrt(over_channels(variance, 4) + 1e-3)
    expected = expected * over_channels(weight, 4) + over_channels(bias, 4)
    np.testing.assert_allclose(y, np.maximum(expected, 0) if relu else expected, rtol=1e-5, atol=1e-5)


def test_nan_reaches_the_statistics_of_its_channel_only(floats: Make) -> None:
    x = floats(8, 3, 20, 20)
    x[0, 1, 2, 3] = np.nan
    y, mean, rstd = kernels.lookup("batch_norm").run(x, floats(3), floats(3), eps=1e-5)
    assert np.isnan(mean).tolist() == [False, True, False]
    assert np.isnan(y[:, 1]).all()
    assert np.isfinite(y[:, [0, 2]]).all()
    assert np.isfinite(rstd[[0, 2]]).all()


def test_refusals(floats: Make) -> None:
    run = kernels.lookup("batch_norm").run
    with pytest.raises(ValueError, match=r"batch_norm weight has shape \[4\]; expected \[3\]"):
        run(floats(2, 3, 4, 4), floats(4), floats(3), eps=1e-5)
    with pytest.raises(ValueError, match=r"batch_norm input \[0, 3, 4, 4\] is empty: it has no mean"):
        run(floats(0, 3, 4, 4), floats(3), floats(3), eps=1e-5)
    with pytest.raises(
        ValueError, match=r"batch_norm gradient has shape \[2, 3, 4, 5\]; expected \[2, 3, 4, 4\]"
    ):
        kernels.lookup("batch_norm_gradient").run(
            floats(2, 3, 4, 5), floats(2, 3, 4, 4), floats(3), floats(3), floats(3)
        )
