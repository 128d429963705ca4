"""Attributions as matplotlib figures: what is drawn, and what is refused."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import workbench as wb
from workbench.attribution import visualization
from workbench.attribution.visualization import normalize, visualize_image_attr

VALUES = np.array([[1.0, -2.0], [0.0, 4.0]])


@pytest.mark.parametrize(
    ("sign", "expected"),
    [
        ("all", [[0.25, -0.5], [0, 1]]),
        ("positive", [[0.25, 0], [0, 1]]),
        ("negative", [[0, 1], [0, 0]]),
        ("absolute_value", [[0.25, 0.5], [0, 1]]),
    ],
)
def test_signs(sign: Any, expected: list[list[float]]) -> None:
    np.testing.assert_allclose(normalize(VALUES, sign, 0), expected)


def test_outliers_are_clipped_by_their_share_of_the_sum() -> None:
    values = np.array([[1.0] * 98 + [-1.0, 900.0]])
    drawn = normalize(values, "all", 5)
    assert drawn[0, -1] == 1 and drawn[0, 0] == pytest.approx(1 / 900)  # the outlier is most of the sum
    drawn = normalize(np.array([[1.0] * 98 + [-1.0, 3.0]]), "all", 5)
    assert drawn[0].tolist() == [1.0] * 98 + [-1.0, 1.0]


def test_channels_are_added_wherever_their_name_stands() -> None:
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    expected = normalize(values.sum(0), "all", 0)
    for names, order in [(("C", "H", "W"), (0, 1, 2)), (("W", "C", "H"), (2, 0, 1))]:
        tensor = wb.from_numpy(np.ascontiguousarray(values.transpose(order)), names=names)
        np.testing.assert_allclose(normalize(tensor, "all", 0), expected)
    np.testing.assert_allclose(normalize(values.transpose(1, 2, 0), "all", 0), expected)


def test_nothing_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="nearly zero, at most 0"):
        assert normalize(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]


def test_a_figure_shows_image_and_heat() -> None:
    image = np.linspace(0, 9, 4).reshape(2, 2)
    figure, axes = visualize_image_attr(
        VALUES, image, "blended_heat_map", outlier_perc=0, show_colorbar=True, title="$x_1$ <b>"
    )
    under, over = axes.get_images()
    np.testing.assert_allclose(under.get_array(), image / 9)
    np.testing.assert_allclose(over.get_array(), normalize(VALUES, "all", 0))
    assert (over.get_alpha(), over.get_clim()) == (0.5, (-1, 1))
    assert axes.get_title() == "$x_1$ <b>"
    assert len(figure.axes) == 2, "the colour bar"
    figure.savefig(io.BytesIO(), format="png")
    assert len(visualize_image_attr(VALUES)[1].get_images()) == 1
    (only,) = visualize_image_attr(None, image, "original_image")[1].get_images()
    np.testing.assert_allclose(only.get_array(), image / 9)


def test_a_mask_leaves_what_counts() -> None:
    image = np.array([[0.0, 1.0], [0.5, 1.0]])
    for picture in (image, np.stack([image] * 3, axis=2)):
        _, axes = visualize_image_attr(VALUES, picture, "masked_image", "positive", outlier_perc=0)
        (only,) = axes.get_images()
        shown = np.asarray(only.get_array())
        np.testing.assert_allclose(shown if shown.ndim == 2 else shown[:, :, 1], [[0, 0], [0, 1]])


def test_a_given_figure_is_drawn_on() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    assert visualize_image_attr(VALUES, plt_fig_axis=(figure, axes)) == (figure, axes)


def test_one_sample_of_a_result() -> None:
    x = wb.rand(2, 1, 4, 4, names=("N", "C", "H", "W"))
    result = wb.attribution.explain(lambda x: (x * x).sum(["C", "H"]), x, 2, class_names="abcd")
    figure = visualization.show(result, 1, outlier_perc=0)
    (axes,) = figure.axes
    expected = normalize(result.attributions.numpy()[1].transpose(1, 2, 0), "all", 0)
    np.testing.assert_allclose(axes.get_images()[1].get_array(), expected)
    assert axes.get_title() == "Integrated Gradients of c"
    with pytest.raises(IndexError, match="samples 0 to 1, not 2"):
        visualization.show(result, 2)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((VALUES,), {"sign": "both"}, ValueError, "there is no sign 'both'"),
        ((VALUES,), {"method": "masked"}, ValueError, "there is no method 'masked'"),
        ((VALUES,), {"outlier_perc": 100}, ValueError, "from 0 to below 100, got 100"),
        ((VALUES,), {"method": "original_image"}, ValueError, "give original_image="),
        ((VALUES, VALUES), {"method": "masked_image"}, ValueError, "cannot show both signs"),
        ((VALUES * np.nan,), {}, ValueError, "4 of 4 attributions are not finite"),
        ((np.zeros((1, 2, 2, 1)),), {}, wb.DimensionError, r"attribution is one image.*\[1, 2, 2, 1\]"),
        ((wb.zeros(N=2, W=2),), {}, wb.DimensionError, r"with names \('N', 'W'\)"),
        ((VALUES, np.zeros((3, 2))), {}, wb.DimensionError, r"\[2, 2\] pixels and the image \[3, 2\]"),
        ((np.zeros((0, 2)),), {}, wb.DimensionError, "has no pixels"),
    ],
)
def test_refusals(arguments: Any, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        visualize_image_attr(*arguments, **options)
