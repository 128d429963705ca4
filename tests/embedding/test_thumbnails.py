"""Pictures of points: made grey, made small, laid out and cut again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.embedding import thumbnails as room
from workbench.embedding.thumbnails import as_images, cut, lay_out, thumbnails


def test_floats_are_stretched_over_all_images_together() -> None:
    images = np.array([[[0.0, 0.5]], [[1.0, np.nan]]])
    assert thumbnails(images, 2).tolist() == [[[0, 128]], [[255, 0]]]
    assert not thumbnails(np.full((2, 3, 3), 7.0), 2).any()
    assert not thumbnails(np.full((2, 3, 3), np.nan), 2).any()


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float16, np.bool_])
def test_other_numbers_are_stretched_as_floats_are(dtype: type) -> None:
    images = np.array([[[0, 1]], [[1, 0]]], dtype)
    assert thumbnails(images, 2).tolist() == [[[0, 255]], [[255, 0]]]


def test_bytes_and_colours_stay_what_they_are() -> None:
    grey = np.arange(8, dtype=np.uint8).reshape(2, 1, 2, 2)
    assert thumbnails(grey, 2).tolist() == grey[:, 0].tolist()
    colour = np.zeros((1, 3, 1, 1), np.uint8)
    colour[0, :, 0, 0] = [10, 20, 90]
    assert thumbnails(colour, 1).tolist() == [[[[10, 20, 90]]]]
    # All channels are stretched alike, or grey would become a colour.
    assert thumbnails(colour / 2, 1).tolist() == [[[[0, 32, 255]]]]
    np.testing.assert_array_equal(thumbnails(as_images(thumbnails(colour, 1)), 1), thumbnails(colour, 1))


def test_names_say_which_dim_is_which() -> None:
    images = wb.rand(N=4, H=5, W=6, C=3)
    np.testing.assert_array_equal(thumbnails(images, 4), thumbnails(images.numpy().transpose(0, 3, 1, 2), 4))


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.zeros((4, 2, 5, 5)), r"with C 1 or 3, got shape \[4, 2, 5, 5\]"),
        (np.zeros((4, 5)), r"images are \[N, H, W\]"),
        (np.zeros((3, 5, 5)), "3 images for 4 points"),
        (np.zeros((4, 0, 5)), "images are"),
    ],
)
def test_what_are_no_images_of_the_points(images: np.ndarray, words: str) -> None:
    with pytest.raises(wb.DimensionError, match=words):
        thumbnails(images, 4)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 5), st.sampled_from([(), (3,)]))
def test_what_was_laid_out_can_be_cut_again(
    count: int, height: int, width: int, colours: tuple[int, ...]
) -> None:
    tiles = np.random.default_rng(count).integers(0, 256, (count, height, width, *colours), np.uint8)
    sheet = lay_out(tiles)
    assert sheet.image.shape == (sheet.rows * height, sheet.columns * width, *colours)
    np.testing.assert_array_equal(cut(sheet.image, count, height, width), tiles)


def test_too_many_tiles_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = np.full((9, 4, 4), 100, np.uint8)
    tiles[:, ::2] = 200
    sheet = lay_out(tiles, most_bytes=40)
    assert (sheet.height, sheet.width) == (2, 2)
    assert sheet.image.tolist() == [[150] * 6] * 6
    coloured = lay_out(np.stack([tiles, tiles, tiles * 0], -1), most_bytes=120)
    assert coloured.image.tolist() == [[[150, 150, 0]] * 6] * 6
    monkeypatch.setattr(room, "MOST_SIDE", 9)
    assert lay_out(tiles).image.shape == (6, 6)


def test_ten_thousand_digits_keep_their_size() -> None:
    sheet = lay_out(np.zeros((10_000, 28, 28), np.uint8))
    assert (sheet.height, sheet.columns, sheet.image.nbytes) == (28, 100, 7_840_000)


def test_a_sheet_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="an image of 4 by 4 pixels holds 4 tiles of 2 by 2, not 5"):
        cut(np.zeros((4, 4), np.uint8), 5, 2, 2)
