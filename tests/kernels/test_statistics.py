from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]


def with_specials(x: Floats) -> Floats:
    flat = x.reshape(-1)
    for i, value in enumerate([np.nan, np.inf, -np.inf, np.nan, 0.0, -0.0]):
        flat[i * 37 % flat.size] = value
    return x


@pytest.mark.parametrize("shape", [(7,), (300,), (3, 5, 7, 11), (40_000,), (64, 32, 14, 14)])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_statistics_of_finite_values(shape: tuple[int, ...], offset: float, floats: Make) -> None:
    x = floats(*shape) + np.float32(offset)
    if x.size > 250:
        x = with_specials(x)
    finite = x[np.isfinite(x)].astype(np.float64)
    found = kernels.lookup("statistics").run(x)
    assert found["count"] == x.size
    assert found["min"] == finite.min()
    assert found["max"] == finite.max()
    assert found["mean"] == pytest.approx(finite.mean(), rel=1e-6, abs=1e-6)
    assert found["std"] == pytest.approx(finite.std(), rel=1e-5)
    assert found["nan"] == np.isnan(x).sum()
    assert found["inf"] == np.isinf(x).sum()
    assert found["zeros"] == (x == 0).sum()
    assert kernels.lookup("min_max_nan_inf").run(x) == (
        found["min"],
        found["max"],
        found["nan"],
        found["inf"],
    )


@pytest.mark.parametrize("shape", [(1, 300), (40, 9), (300, 1), (64, 4097), (7, 40_000)])
def test_extremes_of_rows(shape: tuple[int, ...], floats: Make) -> None:
    x = with_specials(floats(*shape))
    x[0] = np.nan
    finite = np.isfinite(x)
    low, high, nan, inf = kernels.lookup("row_extremes").run(x)
    np.testing.assert_array_equal(low, x.min(axis=1, where=finite, initial=np.inf))
    np.testing.assert_array_equal(high, x.max(axis=1, where=finite, initial=-np.inf))
    assert (low.dtype, high.dtype) == (np.float32, np.float32)
    assert (nan, inf) == (np.isnan(x).sum(), np.isinf(x).sum())


def test_nothing_finite() -> None:
    x = np.array([np.nan, np.inf], np.float32)
    low, high, nan, inf = kernels.lookup("min_max_nan_inf").run(x)
    assert np.isnan(low)
    assert np.isnan(high)
    assert (nan, inf) == (1, 1)
    found = kernels.lookup("statistics").run(x[:0])
    assert found["count"] == 0
    assert np.isnan(found["mean"])


@pytest.mark.parametrize("bins", [1, 7, 2048])
def test_histogram(bins: int, floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x = with_specials(floats(8, 9, 20, 21))
    counts = kernels.lookup("histogram_counts").run(lay(x), -1.5, 2.0, bins)
    inside = x[(x >= -1.5) & (x <= 2.0)].astype(np.float64)
    places = np.minimum(((inside + 1.5) * (bins / 3.5)).astype(np.int64), bins - 1)
    np.testing.assert_array_equal(counts, np.bincount(places, minlength=bins))
    assert counts.dtype == np.int64


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("special", [False, True])
def test_histogram_with_what_is_seen_on_the_way(
    rectified: bool, special: bool, floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    x = floats(8, 9, 20, 21)
    if rectified:
        x = np.where(x > 0, x, np.float32(0))
        x.reshape(-1)[::5] *= np.float32(-0.0)
    if special:
        x = with_specials(x)
    low, high = float(np.nanmin(x[np.isfinite(x)])), float(np.nanmax(x[np.isfinite(x)]))
    run, plain = (kernels.lookup(name).run for name in ("observed_histogram", "histogram_counts"))
    *seen, counts = run(lay(x), low, high, 500)
    assert tuple(seen) == kernels.lookup("min_max_nan_inf").run(x)
    finite = x[np.isfinite(x)].astype(np.float64)
    places = np.minimum(((finite - low) * (500 / (high - low))).astype(np.int64), 499)
    np.testing.assert_array_equal(counts, np.bincount(places, minlength=500))
    np.testing.assert_array_equal(counts, plain(x, low, high, 500))
    # One value outside is enough.
    for beyond in ((np.nextafter(np.float32(low), np.float32(9)), high), (low, np.nextafter(high, -9.0))):
        *again, none = run(lay(x), *map(float, beyond), 500)
        assert again == seen
        assert none is None


def test_histogram_ends_belong_to_it() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, np.nan, 4.1, -0.1], np.float32)
    assert kernels.lookup("histogram_counts").run(x, 0.0, 4.0, 4).tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("low", "high", "bins", "message"),
    [
        (0.0, 1.0, 0, "histogram with 0 bins; give 1 to"),
        (1.0, 1.0, 4, "both ends must be finite, and low below high"),
        (0.0, float("inf"), 4, "both ends must be finite"),
        (float("nan"), 1.0, 4, "both ends must be finite"),
    ],
)
def test_refused_histograms(low: float, high: float, bins: int, message: str, floats: Make) -> None:
    with pytest.raises(ValueError, match=message):
        kernels.lookup("histogram_counts").run(floats(10), low, high, bins)
