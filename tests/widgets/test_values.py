"""Statistics and pictures of tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from workbench.live.messages import Dim
from workbench.widgets import values as room
from workbench.widgets.values import BINS, EXACT, Drawn, draw, statistics_of


def dims(*pairs: tuple[str | None, int]) -> list[Dim]:
    return [Dim(name, size) for name, size in pairs]


def picture(
    array: np.ndarray, *names: str | None, chosen: dict[int, int] | None = None, most: int = 1 << 18
) -> Drawn:
    named = names or (None,) * array.ndim
    drawn = draw(array, dims(*zip(named, array.shape, strict=True)), chosen or {}, statistics_of(array), most)
    assert drawn is not None
    shape = (drawn.picture.tiles, drawn.picture.height, drawn.picture.width, drawn.picture.channels)
    assert drawn.values.shape == shape
    assert drawn.values.dtype == np.dtype("<f4")
    return drawn


floats = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=3, max_side=20), elements=floats))
def test_statistics_agree_with_numpy(array: np.ndarray) -> None:
    found = statistics_of(array)
    finite = array[np.isfinite(array)].astype(np.float64)
    assert (found.nan, found.inf) == (int(np.isnan(array).sum()), int(np.isinf(array).sum()))
    assert found.zeros == pytest.approx(float((array == 0).mean()))
    assert not found.sampled
    if not finite.size:
        assert (found.minimum, found.maximum, found.mean, found.std, found.counts) == (
            None,
            None,
            None,
            None,
            [],
        )
        return
    assert (found.minimum, found.maximum) == (finite.min(), finite.max())
    size = float(np.abs(finite).max())
    assert found.mean == pytest.approx(float(finite.mean()), rel=1e-9, abs=1e-9 * size)
    assert found.std == pytest.approx(float(finite.std()), rel=1e-6, abs=1e-9 * size)
    assert sum(found.counts) == finite.size - (int((finite == 0).sum()) if found.apart else 0)


def test_the_histogram_is_numpys() -> None:
    array = np.random.default_rng(0).standard_normal(5000)
    expected, _ = np.histogram(array, BINS)
    assert np.abs(np.array(statistics_of(array).counts) - expected).sum() <= 4, (
        "rounding at the edges of bins"
    )


def test_numbers_near_the_ends_of_the_range_stay_finite() -> None:
    found = statistics_of(np.array([-1.7e308, 1.7e308]))
    assert found.mean == 0
    assert found.std == pytest.approx(1.7e308)
    assert sum(found.counts) == 2


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "broadcast"])
def test_of_a_large_tensor_a_sample_is_read(layout: str) -> None:
    array = np.random.default_rng(0).standard_normal((600, 1000))
    array = {
        "contiguous": array,
        "transposed": array.T,
        "sliced": np.repeat(array, 2, axis=1)[:, ::2],
        "broadcast": np.broadcast_to(array[0], (600, 1000)),
    }[layout]
    found = statistics_of(array)
    assert found.sampled
    assert sum(found.counts) == EXACT
    assert found.mean == pytest.approx(float(array.mean()), abs=0.02)
    assert found.std == pytest.approx(float(array.std()), rel=0.02)


def test_a_tensor_larger_than_memory_is_described() -> None:
    array = np.broadcast_to(np.float32(2.0), (1 << 20, 1 << 20))
    found = statistics_of(array)
    assert (found.minimum, found.maximum, found.sampled) == (2.0, 2.0, True)
    drawn = picture(array)
    assert drawn.values.size <= 1 << 18


def test_truth_values_whole_and_complex_numbers_are_described() -> None:
    assert statistics_of(np.array([True, False, True])).mean == pytest.approx(2 / 3)
    assert statistics_of(np.array([1, 2, 2**40])).maximum == 2.0**40
    assert statistics_of(np.array([3 + 4j])).mean == 5.0


def test_a_batch_of_images_is_drawn_as_images() -> None:
    batch = np.random.default_rng(0).random((64, 3, 8, 6)).astype(np.float32)
    drawn = picture(batch, "N", "C", "H", "W")
    shown = drawn.picture
    assert (shown.kind, shown.tiles, shown.height, shown.width, shown.channels) == ("images", 16, 8, 6, 3)
    assert not shown.signed
    assert [(slider.dim.name, slider.axis, slider.index) for slider in shown.sliders] == [("N", 0, 0)]
    np.testing.assert_array_equal(drawn.values[5], batch[5].transpose(1, 2, 0))


@pytest.mark.parametrize(("height", "width"), [(24, 32), (100, 300), (300, 100)])
def test_an_image_that_is_made_smaller_keeps_its_proportions(height: int, width: int) -> None:
    drawn = picture(np.ones((8, 3, height, width)), "N", "C", "H", "W", most=19_000).picture
    assert drawn.height / drawn.width == pytest.approx(height / width, rel=0.1)


def test_names_decide_what_is_an_image_wherever_they_stand() -> None:
    batch = np.random.default_rng(0).random((8, 6, 5, 4)).astype(np.float32)
    drawn = picture(batch, "H", "W", "N", "C")
    np.testing.assert_array_equal(drawn.values, batch.transpose(2, 0, 1, 3))


def test_the_tiles_begin_where_the_slider_stands_and_stay_inside() -> None:
    batch = np.arange(20, dtype=np.float32)[:, None, None] * np.ones((1, 4, 4), np.float32)
    drawn = picture(batch, "N", "H", "W", chosen={0: 2})
    np.testing.assert_array_equal(drawn.values[:, 0, 0, 0], np.arange(2, 18))
    drawn = picture(batch, "N", "H", "W", chosen={0: 19})
    np.testing.assert_array_equal(drawn.values[:, 0, 0, 0], np.arange(4, 20))
    assert drawn.picture.sliders[0].index == 4


def test_many_channels_get_a_slider() -> None:
    maps = np.random.default_rng(0).random((2, 16, 8, 8)).astype(np.float32)
    drawn = picture(maps, "N", "C", "H", "W", chosen={1: 7})
    assert (drawn.picture.tiles, drawn.picture.channels) == (2, 1)
    assert [(slider.dim.name, slider.index) for slider in drawn.picture.sliders] == [("C", 7)]
    np.testing.assert_array_equal(drawn.values[..., 0], maps[:, 7])


def test_two_dims_are_a_heatmap_and_zero_is_fixed_where_there_are_signs() -> None:
    weights = np.random.default_rng(0).standard_normal((5, 3, 4)).astype(np.float32)
    drawn = picture(weights, "T", "out", "in", chosen={0: 2})
    shown = drawn.picture
    assert (shown.kind, shown.signed, shown.row_dim, shown.column_dim) == (
        "heatmap",
        True,
        Dim("out", 3),
        Dim("in", 4),
    )
    np.testing.assert_array_equal(drawn.values[0, :, :, 0], weights[2])
    assert not picture(np.abs(weights), "T", "out", "in").picture.signed


def test_dims_of_one_entry_are_neither_drawn_nor_slid() -> None:
    drawn = picture(np.ones((1, 5, 1, 4), np.float32))
    assert (drawn.picture.height, drawn.picture.width, drawn.picture.sliders) == (5, 4, [])
    assert picture(np.ones((1, 5, 1), np.float32)).picture.kind == "line"
    assert picture(np.ones((1, 1), np.float32)).picture.kind == "scalar"
    assert picture(np.float32(3).reshape(())).values.item() == 3.0


def test_nothing_is_drawn_of_a_tensor_without_values() -> None:
    array = np.zeros((0, 3))
    assert draw(array, dims((None, 0), (None, 3)), {}, statistics_of(array), 100) is None


@given(
    arrays.array_shapes(min_dims=0, max_dims=5, max_side=70),
    st.permutations(["N", "C", "H", "W", "T"]),
    st.integers(100, 30_000),
)
def test_no_picture_holds_more_values_than_asked_for(
    shape: tuple[int, ...], names: list[str], most: int
) -> None:
    array = np.broadcast_to(np.float32(1), shape)
    assert picture(array, *names[: len(shape)], most=most).values.size <= most


def test_doubles_beyond_float32_are_drawn_as_infinite() -> None:
    drawn = picture(np.array([1e300, 0.0]))
    assert math.isinf(drawn.values.reshape(-1)[0])


def test_dims_that_lie_one_after_another_count_as_one() -> None:
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    for seen, ndim in (
        (array, 1),
        (array[:, :, ::2], 2),
        (array.transpose(1, 0, 2, 3), 3),
        (array[:1, :, :1], 2),
    ):
        fewer = room._fewer_dims(seen)
        assert fewer.ndim <= ndim
        np.testing.assert_array_equal(fewer.ravel(), seen.ravel())
    assert room._fewer_dims(np.broadcast_to(np.float32(1), (2,) * 60)).ndim == 1
    assert room._fewer_dims(np.float32(1)[None][0].reshape(())).size == 1


def test_the_sample_is_read_in_blocks() -> None:
    array = np.arange(10 * EXACT)
    sample = room._sample(array)
    blocks = sample.reshape(-1, room.BLOCK)
    np.testing.assert_array_equal(np.diff(blocks, axis=1), 1)
    assert (sample[0], sample[-1]) == (0, array[-1])


def test_where_most_values_are_zeros_the_histogram_shows_the_others() -> None:
    array = np.concatenate([np.zeros(800), np.linspace(0.1, 1.0, 200)])
    found = statistics_of(array)
    assert found.apart and found.zeros == pytest.approx(0.8)
    assert sum(found.counts) == 200 and max(found.counts) <= 10, "the zeros would be a hundred times as high"
    few = statistics_of(array[600:])
    assert few.zeros == 0.5 and few.apart
    assert not statistics_of(array[700:]).apart
    assert not statistics_of(array > 0).apart, "a mask has two bars"
    assert not statistics_of(np.zeros(5)).apart, "of nothing but zeros a bar is all there is"
