"""Attributions as matplotlib figures: what is drawn, and what is refused."""

from __future__ import annotations

import functools
import io
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import workbench as wb
from workbench.attribution import visualization
from workbench.attribution.visualization import normalize, visualize_image_attr, visualize_image_attr_multiple

draw: Any = functools.partial(visualize_image_attr, use_pyplot=False)
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


def test_everything_may_be_an_outlier() -> None:
    assert normalize(VALUES, "all", 100).tolist() == [[1, -1], [0, 1]]


def test_nothing_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="nearly zero, at most 0"):
        assert normalize(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]


def test_a_figure_shows_image_and_heat() -> None:
    image = np.linspace(0, 9, 4).reshape(2, 2)
    figure, axes = draw(
        VALUES, image, "blended_heat_map", "all", outlier_perc=0, show_colorbar=True, title="$x_1$ <b>"
    )
    under, over = axes.get_images()
    np.testing.assert_array_equal(under.get_array(), image)
    assert under.get_clim() == (0, 9), "stretched"
    np.testing.assert_allclose(over.get_array(), normalize(VALUES, "all", 0))
    assert (over.get_alpha(), over.get_clim()) == (0.5, (-1, 1))
    assert axes.get_title() == "$x_1$ <b>"
    assert len(figure.axes) == 2, "the colour bar"
    figure.savefig(io.BytesIO(), format="png")
    assert len(draw(VALUES)[1].get_images()) == 1
    (only,) = draw(None, image, "original_image")[1].get_images()
    np.testing.assert_array_equal(only.get_array(), image)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ([0.0, 0.5, 1.0], [0, 127, 255]),
        ([0.0, 128.0, 254.0], [0, 128, 254]),
        ([-2.0, 0.0, 2.0], [0, 127, 255]),
        ([0.0, 300.0, 600.0], [0, 127, 255]),
        ([np.nan, 0.0, 1.0], [0, 0, 255]),
        ([-7.0, -7.0, -7.0], [0, 0, 0]),
        ([0.5, 0.5, 0.5], [127, 127, 127]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_images_of_every_range_are_shown(image: list[float], expected: list[int], dtype: Any) -> None:
    (only,) = draw(None, np.array([image], dtype), "original_image")[1].get_images()
    assert np.asarray(only.get_array()).ravel().tolist() == expected


def test_pictures_side_by_side() -> None:
    image = np.full((2, 2, 3), 0.2)
    methods: Any = ["original_image", "heat_map", "alpha_scaling"]
    figure, axes = visualize_image_attr_multiple(
        VALUES,
        image,
        methods,
        ["all", "all", "positive"],
        ["one", "two", "three"],
        use_pyplot=False,
        outlier_perc=0,
        show_colorbar=True,
    )
    assert [one.get_title() for one in axes] == ["one", "two", "three"]
    transparent = np.asarray(axes[2].get_images()[0].get_array())
    assert transparent[..., :3].ravel().tolist() == [51] * 12
    assert transparent[..., 3].tolist() == [[63, 0], [0, 255]]
    assert [one.axison for one in figure.axes[3:]] == [False, True, False], "room for a bar, and one bar"
    one = visualize_image_attr_multiple(VALUES, None, ["heat_map"], ["all"], use_pyplot=False)[1]
    assert len(one.get_images()) == 1


def test_pyplot_shows_its_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf()))
    figure, _ = visualize_image_attr(VALUES)
    assert shown == [figure]
    pyplot.close(figure)


def test_colours_that_everybody_can_tell_apart_and_those_of_captum() -> None:
    def colour(**options: Any) -> list[float]:
        (only,) = draw([[1.0, 0.0, -1.0]], sign="all", **options)[1].get_images()
        return [round(float(one), 2) for one in only.cmap(1.0)[:3]]

    assert colour() == [0.78, 0.39, 0]
    assert colour(cmap="captum") == [0, 0.5, 0]
    assert colour(cmap="viridis") == [0.99, 0.91, 0.14]
    with pytest.raises(ValueError, match="no colour map 'viridiss'; did you mean 'viridis'"):
        colour(cmap="viridiss")


def test_a_region_is_outlined_and_labelled() -> None:
    axes = Figure().add_subplot()
    mask = np.zeros((6, 6), bool)
    mask[1:6, 1:5] = True
    visualization.draw_mask_border(axes, wb.from_numpy(mask), border_color="red")
    drawn = np.asarray(axes.get_images()[0].get_array())
    assert int(drawn[..., 3].sum()) == 14 and drawn[1, 1].tolist() == [1, 0, 0, 1]
    visualization.draw_mask_legend(axes, mask, "$x")
    assert axes.texts[0].get_position() == (2.5, 3.0)
    visualization.draw_mask_border(axes, mask & False)
    visualization.draw_mask_legend(axes, mask & False, "nothing")
    assert (len(axes.get_images()), len(axes.texts)) == (1, 1)
    with pytest.raises(wb.DimensionError, match=r"mask \[H, W\], got shape \[6\]"):
        visualization.draw_mask_border(axes, mask[0])
    with pytest.raises(ValueError, match="at least one pixel wide"):
        visualization.draw_mask_border(axes, mask, border_width=0)


def test_words_of_captum_name_what_there_is() -> None:
    assert {one.name for one in visualization.VisualizeSign} == set(get_args(visualization.Sign))
    assert {one.name for one in visualization.ImageVisualizationMethod} == set(get_args(visualization.Method))
    assert wb.attribution.visualization is visualization


def test_a_mask_leaves_what_counts() -> None:
    image = np.array([[0.0, 1.0], [0.5, 1.0]])
    for picture in (image, np.stack([image] * 3, axis=2)):
        _, axes = draw(VALUES, picture, "masked_image", "positive", outlier_perc=0)
        (only,) = axes.get_images()
        shown = np.asarray(only.get_array())
        np.testing.assert_array_equal(shown if shown.ndim == 2 else shown[:, :, 1], [[0, 0], [0, 255]])


def test_a_given_figure_is_drawn_on() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    assert draw(VALUES, plt_fig_axis=(figure, axes)) == (figure, axes)


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
        ((VALUES,), {"method": "heatmap"}, ValueError, "did you mean 'heat_map'"),
        (
            (np.ones((4, 5)), np.ones((3, 4, 5))),
            {},
            wb.DimensionError,
            r"\[4, 5\] pixels and the image \[3, 4\]",
        ),
        ((None, np.ones((3, 4, 5))), {"method": "original_image"}, wb.DimensionError, "channels come last"),
        ((VALUES,), {"outlier_perc": 101}, ValueError, "from 0 to 100, got 101"),
        ((VALUES,), {"method": "original_image"}, ValueError, "give original_image="),
        ((VALUES, VALUES), {"method": "masked_image", "sign": "all"}, ValueError, "cannot show both signs"),
        ((VALUES * np.nan,), {}, ValueError, "4 of 4 attributions are not finite"),
        ((np.zeros((1, 2, 2, 1)),), {}, wb.DimensionError, r"attribution is one image.*\[1, 2, 2, 1\]"),
        ((wb.zeros(N=2, W=2),), {}, wb.DimensionError, r"with names \('N', 'W'\)"),
        ((VALUES, np.zeros((3, 2))), {}, wb.DimensionError, r"\[2, 2\] pixels and the image \[3, 2\]"),
        ((np.zeros((0, 2)),), {}, wb.DimensionError, "has no pixels"),
    ],
)
def test_refusals(arguments: Any, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        draw(*arguments, **options)
