"""Attributions of sound and of tables, drawn."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import visualization

sound: Any = functools.partial(visualization.visualize_sound_attr, use_pyplot=False, outlier_perc=0)
table: Any = functools.partial(visualization.visualize_table_attr, use_pyplot=False)
WAVE = np.sin(2 * np.pi * 1000 * np.arange(4000) / 8000)


def test_a_tone_and_its_attribution() -> None:
    heat = np.where(np.arange(4000) < 2000, 2.0, -1.0)
    figure, (above, below) = sound(heat, WAVE, 8000, title="$")
    assert above.collections[0].get_array().ravel()[[0, -1]].tolist() == [1, -0.5]
    spectrogram, over = below.get_images()
    frequency = np.asarray(spectrogram.get_array()).mean(1).argmax() * 8000 / 256
    assert frequency == 1000
    assert spectrogram.get_extent() == [0, 3999 / 8000, 0, 4] and np.asarray(over.get_array()).shape == (
        1,
        4000,
    )
    figure.savefig(io.BytesIO(), format="png")


def test_an_attribution_of_a_spectrogram() -> None:
    heat = np.zeros((3, 4))
    heat[1, 2] = 5
    for one in (
        heat,
        wb.from_numpy(heat, names=("F", "T")),
        wb.from_numpy(np.ascontiguousarray(heat.T), names=("T", "F")),
    ):
        _, (above, below) = sound(one, WAVE, 8000)
        assert np.argwhere(np.asarray(below.get_images()[1].get_array())).tolist() == [[1, 2]]
        assert np.flatnonzero(above.collections[0].get_array().ravel()).tolist() == list(range(2000, 3000))


def test_a_tone_between_two_frequencies_stays_where_it_is() -> None:
    wave = np.sin(2 * np.pi * 1015.625 * np.arange(4000) / 8000)
    (spectrogram, _) = sound(wave, wave, 8000)[1][1].get_images()
    assert np.asarray(spectrogram.get_array())[64:].max() < -70


@pytest.mark.filterwarnings("ignore:the attributions are nearly zero")
def test_silence_and_short_sounds() -> None:
    for wave in (np.zeros(10), np.full(300, np.nan), np.ones(1, np.float16)):
        sound(np.zeros(len(wave)), wave, 16000)[0].savefig(io.BytesIO(), format="png")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((WAVE, WAVE, 0), ValueError, "greater than 0, got 0"),
        ((WAVE[:5], WAVE, 8000), wb.DimensionError, "5 attributions for 4000 values"),
        ((WAVE, np.stack([WAVE, WAVE], 1), 8000), wb.DimensionError, "wave has 2 channels"),
        ((WAVE[None, None], WAVE, 8000), wb.DimensionError, r"\[T\] or \[F, T\], got shape \[1, 1, 4000\]"),
        ((WAVE * np.nan, WAVE, 8000), ValueError, "not finite"),
    ],
)
def test_sounds_that_are_refused(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sound(*arguments)


def test_a_row_of_a_table() -> None:
    figure, axes = table(
        [0.5, -2.0, 1.0], ["age", "$h", "<w>"], wb.tensor([30.0, 1.8, 70.0]), title="$", most=2
    )
    assert [one.get_text() for one in axes.get_yticklabels()] == ["$h = 1.8", "<w> = 70"]
    assert [one.get_width() for one in axes.patches] == [-2, 1]
    figure.savefig(io.BytesIO(), format="png")


def test_many_rows_of_a_table() -> None:
    rows = wb.from_numpy(np.array([[1.0, -1.0], [3.0, 0.0], [2.0, 1.0]]), names=("N", "column"))
    _, axes = table(rows, ["a", "b"])
    np.testing.assert_allclose([one.get_width() for one in axes.patches], [2, 2 / 3])
    np.testing.assert_allclose(axes.collections[0].get_segments(), [[[1.5, 0], [2.5, 0]], [[0.5, 1], [1, 1]]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], ["a", "b"]), r"shape \[1\] for 2 columns"),
        (([], []), r"shape \[0\] for 0 columns"),
        (([1.0, 2.0], ["a", "b"], [1.0]), "1 values for 2 columns"),
        (([[1.0, 2.0]], ["a", "b"], [1.0, 2.0]), "those of the one row"),
    ],
)
def test_tables_that_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(wb.DimensionError, match=words):
        table(*arguments)
