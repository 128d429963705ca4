"""Attributions of time series and of text, drawn: what is on the axes, what is in the page, and what is refused."""

from __future__ import annotations

import functools
import io
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.dates import AutoDateFormatter, num2date
from matplotlib.figure import Figure

import workbench as wb
from workbench.attribution import visualization
from workbench.attribution.visualization import series

draw: Any = functools.partial(visualization.visualize_timeseries_attr, use_pyplot=False, outlier_perc=0)
HEAT = np.array([[1.0, -2.0], [0.0, 4.0], [2.0, 0.0]])  # [T, C]
DATA = np.array([[5.0, 1.0], [6.0, 1.0], [4.0, 1.0]])


def behind(panel: Any) -> list[float]:
    """Values of the mesh behind a panel's curves."""
    return [float(one) for one in panel.collections[0].get_array().ravel()]


def test_a_panel_for_each_channel() -> None:
    figure, axes = draw(HEAT, DATA, sign="all", channel_labels=["a", "$b"], title="$t", show_colorbar=True)
    assert [behind(one) for one in axes] == [[0.25, 0, 0.5], [-0.5, 1, 0]]
    assert [one.get_ylabel() for one in axes] == ["a", "$b"]
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), DATA[:, 0])
    low, high = draw(HEAT[:, 0], [0.05, 0.5, 0.99])[1].get_ylim()
    assert low < 0.05 and high > 1, "room around the curve, whatever is behind it"
    assert axes[1].get_xlim() == (0, 2) and axes[0].get_title() == "$t" and len(figure.axes) == 3
    figure.savefig(io.BytesIO(), format="png")


def test_curves_together_over_the_sum() -> None:
    _, axes = draw(HEAT, DATA, method="overlay_combined", sign="all", channel_labels=["a", "b"])
    assert behind(axes) == [-0.25, 1, 0.5] and len(axes.lines) == 2
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["a", "b"]
    assert draw(HEAT, DATA, method="overlay_combined")[1].get_legend() is None


def test_curves_in_colours() -> None:
    _, axes = draw(HEAT, DATA, method="colored_graph", linewidth=3)
    (lines,) = axes[0].collections
    assert isinstance(lines, LineCollection) and list(lines.get_linewidth()) == [3]
    assert [float(one) for one in lines.get_array()] == [0.25, 0]
    low, high = axes[0].get_ylim()
    assert low < 4 and high > 6, "the whole curve is seen"
    assert axes[1].get_ylim() == (0.9, 1.1), "a constant has room around it"


def test_channels_are_found_by_their_name() -> None:
    expected = [behind(one) for one in draw(HEAT, DATA)[1]]
    first = [wb.from_numpy(np.ascontiguousarray(one.T), names=("C", "T")) for one in (HEAT, DATA)]
    last = [wb.from_numpy(one, names=("T", "C")) for one in (HEAT, DATA)]
    for pair in (first, last, (HEAT, DATA), (first[0], DATA)):
        assert [behind(one) for one in draw(*pair)[1]] == expected
    assert [behind(one) for one in draw(HEAT.T, DATA.T, channels_last=False)[1]] == expected


def test_places_on_the_axis() -> None:
    _, axes = draw(HEAT[:, 0], DATA[:, 0], x_values=np.array([1.0, 2.0, 4.0]))
    corners = axes.collections[0].get_coordinates()[0, :, 0]
    assert corners.tolist() == [0.5, 1.5, 3, 5]
    dates = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[D]")
    figure, axes = draw(HEAT[:, 0], DATA[:, 0], x_values=dates)
    figure.savefig(io.BytesIO(), format="png")
    assert [num2date(one).day for one in axes.get_xlim()] == [1, 3]
    assert isinstance(axes.xaxis.get_major_formatter(), AutoDateFormatter)
    assert behind(draw([3.0], [5.0])[1]) == [1], "one point"


def test_series_of_every_length_take_one_mesh() -> None:
    count = 100_000
    _, axes = draw(np.sin(np.arange(count)), np.arange(float(count)))
    assert len(axes.collections) == 1 and not axes.patches


def test_more_channels_than_points_are_warned_of() -> None:
    with pytest.warns(
        UserWarning, match=r"more channels \(3\) than points in time \(2\).*channels_last=False"
    ):
        draw(HEAT.T, DATA.T)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((HEAT, DATA), {"method": "overlay"}, ValueError, "no method 'overlay'"),
        ((HEAT, DATA), {"sign": "both"}, ValueError, "no sign 'both'"),
        ((HEAT, DATA[:2]), {}, wb.DimensionError, "2 channels by 3 points do not go with data of 2 by 2"),
        (
            (HEAT[None], DATA),
            {},
            wb.DimensionError,
            r"one time series, \[T, C\] or \[T\], got shape \[1, 3, 2\]",
        ),
        ((HEAT[:0], DATA[:0]), {}, wb.DimensionError, "has no values"),
        ((HEAT, DATA), {"channel_labels": ["a"]}, ValueError, "1 labels for 2 channels"),
        ((HEAT, DATA), {"x_values": [1, 2]}, ValueError, r"shape \[2\]: give one place for each of 3"),
        ((HEAT, DATA), {"x_values": [1, 1, 2]}, ValueError, "x_values must grow"),
        ((HEAT + np.inf, DATA), {}, ValueError, "not finite"),
    ],
)
def test_series_that_are_refused(arguments: Any, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        draw(*arguments, **options)


def test_a_wrong_number_of_panels_is_refused() -> None:
    figure = Figure()
    with pytest.raises(ValueError, match="takes 2 panels, plt_fig_axis has 1"):
        draw(HEAT, DATA, plt_fig_axis=(figure, figure.add_subplot()))


def test_words_of_captum_name_what_there_is() -> None:
    assert {one.name for one in visualization.TimeseriesVisualizationMethod} == set(
        get_args(series.SeriesMethod)
    )
