from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]

GEOMETRIES = [
    ((2, 32, 28, 28), {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}),
    ((2, 1, 7, 5), {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}),
    ((1, 3, 9, 9), {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}),
    ((2, 17, 9, 8), {"kernel": (3, 2), "stride": (1, 2), "padding": (1, 0), "dilation": (1, 2)}),
    # One window that holds the whole image, and windows of its size that reach over its edges.
    ((2, 5, 6, 7), {"kernel": (6, 7), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}),
    ((2, 5, 6, 7), {"kernel": (6, 7), "stride": (3, 2), "padding": (3, 2), "dilation": (1, 1)}),
    ((2, 5, 9, 9), {"kernel": (2, 3), "stride": (3, 1), "padding": (0, 1), "dilation": (3, 2)}),
]


def taps(row: int, axis: int, size: int, p: dict[str, Any]) -> range:
    first = row * p["stride"][axis] - p["padding"][axis]
    gap = p.get("dilation", (1, 1))[axis]
    inside = [t for t in range(first, first + gap * p["kernel"][axis], gap) if 0 <= t < size]
    return range(inside[0], inside[-1] + 1, gap)


def out_size(axis: int, size: int, p: dict[str, Any]) -> int:
    span = p.get("dilation", (1, 1))[axis] * (p["kernel"][axis] - 1) + 1
    return (size + 2 * p["padding"][axis] - span) // p["stride"][axis] + 1


def max_pool(x: Floats, p: dict[str, Any]) -> tuple[Floats, npt.NDArray[np.int64]]:
    n, c, h, w = x.shape
    values = np.empty((n, c, out_size(0, h, p), out_size(1, w, p)), np.float32)
    indices = np.empty(values.shape, np.int64)
    for i, j in np.ndindex(values.shape[2:]):
        ys, xs = taps(i, 0, h, p), taps(j, 1, w, p)
        window = x[:, :, ys.start : ys.stop : ys.step, xs.start : xs.stop : xs.step].reshape(n, c, -1)
        best = np.argmax(np.where(np.isnan(window), np.inf, window), axis=2)
        values[:, :, i, j] = np.take_along_axis(window, best[..., None], 2)[..., 0]
        places = np.array([y * w + x_ for y in ys for x_ in xs])
        indices[:, :, i, j] = places[best]
    return values, indices


@pytest.mark.parametrize(("shape", "p"), GEOMETRIES)
def test_max_pool(
    shape: tuple[int, ...], p: dict[str, Any], floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    x = floats(*shape)
    values, indices = kernels.lookup("max_pool2d").run(lay(x), **p)
    expected_values, expected_indices = max_pool(x, p)
    np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_array_equal(indices, expected_indices)
    assert indices.dtype == np.int64
    assert np.moveaxis(values, 1, -1).flags.c_contiguous

    g = floats(*values.shape)
    gx = kernels.lookup("max_pool2d_gradient").run(lay(g), lay(indices), input_shape=shape)
    expected = np.zeros(shape, np.float64).reshape(shape[0], shape[1], -1)
    for n, c in np.ndindex(shape[:2]):
        np.add.at(expected[n, c], indices[n, c].ravel(), g[n, c].ravel())
    np.testing.assert_allclose(gx, expected.reshape(shape), rtol=1e-5, atol=1e-5)


def test_first_of_equal_values_wins_and_nan_wins_over_all() -> None:
    p = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}
    x = np.zeros((1, 9, 2, 2), np.float32)
    x[0, 1, 1, 0] = np.nan
    x[0, 2] = -np.inf
    values, indices = kernels.lookup("max_pool2d").run(x, **p)
    assert indices.ravel().tolist() == [0, 2, 0, 0, 0, 0, 0, 0, 0]
    assert np.isnan(values[0, 1, 0, 0])
    assert values[0, 2, 0, 0] == -np.inf


def test_gradient_where_indices_leave_their_tile(floats: Make) -> None:
    """Sizes that look like tiles, indices of another geometry: each gradient goes where its index says."""
    g = floats(1, 9, 2, 2)
    indices = np.zeros((1, 9, 2, 2), np.int64) + 5
    gx = kernels.lookup("max_pool2d_gradient").run(g, indices, input_shape=(1, 9, 4, 4))
    expected = np.zeros((1, 9, 16), np.float32)
    expected[..., 5] = g.sum(axis=(2, 3))
    np.testing.assert_allclose(gx.reshape(1, 9, 16), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 16, 2**40])
def test_gradient_refuses_indices_outside(wrong: int, floats: Make) -> None:
    indices = np.zeros((1, 3, 2, 2), np.int64)
    indices[0, 1, 1, 1] = wrong
    with pytest.raises(ValueError, match="indices point outside the input's plane of 4 x 4"):
        kernels.lookup("max_pool2d_gradient").run(floats(1, 3, 2, 2), indices, input_shape=(1, 3, 4, 4))


@pytest.mark.parametrize("count_include_pad", [True, False])
@pytest.mark.parametrize(("shape", "p"), [case for case in GEOMETRIES if case[1]["dilation"] == (1, 1)])
def test_average_pool(
    shape: tuple[int, ...], p: dict[str, Any], count_include_pad: bool, floats: Make
) -> None:
    p = {key: value for key, value in p.items() if key != "dilation"}
    x = floats(*shape)
    y = kernels.lookup("avg_pool2d").run(x, **p, count_include_pad=count_include_pad)
    g = floats(*y.shape)
    gx = kernels.lookup("avg_pool2d_gradient").run(
        g, input_shape=shape, **p, count_include_pad=count_include_pad
    )
    expected = np.empty(y.shape)
    expected_gradient = np.zeros(shape)
    for i, j in np.ndindex(y.shape[2:]):
        ys, xs = taps(i, 0, shape[2], p), taps(j, 1, shape[3], p)
        window = np.s_[:, :, ys.start : ys.stop, xs.start : xs.stop]
        count = p["kernel"][0] * p["kernel"][1] if count_include_pad else len(ys) * len(xs)
        expected[:, :, i, j] = x[window].astype(np.float64).sum(axis=(2, 3)) / count
        expected_gradient[window] += g[:, :, i, j][:, :, None, None] / count
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(gx, expected_gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": (0, 2)}, "pooling height: kernel 0"),
        ({"padding": (2, 0)}, "padding must be 0 to half the kernel"),
        ({"kernel": (2, 9)}, "does not fit an input of 6"),
        ({"stride": (1, 0)}, "pooling width: kernel 2, stride 0"),
    ],
)
def test_refusals(change: dict[str, Any], message: str, floats: Make) -> None:
    p = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), **change}
    with pytest.raises(ValueError, match=message):
        kernels.lookup("max_pool2d").run(floats(1, 2, 6, 6), **p)


def test_no_samples(floats: Make) -> None:
    p = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}
    values, indices = kernels.lookup("max_pool2d").run(floats(0, 3, 8, 8), **p)
    assert values.shape == indices.shape == (0, 3, 4, 4)
    assert kernels.lookup("max_pool2d_gradient").run(values, indices, input_shape=(0, 3, 8, 8)).shape == (
        0,
        3,
        8,
        8,
    )
