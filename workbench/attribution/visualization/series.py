"""Attributions of time series: behind their curves, or as the curves' own colours."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal

import numpy as np
from cycler import cycler
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.dates import date2num

from workbench.attribution.visualization.arrays import as_series
from workbench.attribution.visualization.colours import chosen_map
from workbench.attribution.visualization.figures import axes_of, bar_below, finish, panels
from workbench.attribution.visualization.normalization import Sign, check_choice, scaled
from workbench.base.errors import DimensionError

__all__ = ["SeriesMethod", "TimeseriesVisualizationMethod", "visualize_timeseries_attr"]

Array = np.ndarray[Any, Any]
SeriesMethod = Literal["overlay_individual", "overlay_combined", "colored_graph"]

CURVES = ("#0072b2", "#d55e00", "#009e73", "#b5629a", "#56b4e9", "#e69f00", "#7a7f87")
"""Colours of curves that share a panel."""


class TimeseriesVisualizationMethod(Enum):
    """Ways to draw the attribution of a time series, under Captum's names."""

    overlay_individual = 1
    overlay_combined = 2
    colored_graph = 3


def visualize_timeseries_attr(
    attr: Any,
    data: Any,
    x_values: Any = None,
    method: SeriesMethod = "overlay_individual",
    sign: Sign = "absolute_value",
    channel_labels: Sequence[str] | None = None,
    channels_last: bool = True,
    plt_fig_axis: tuple[Any, Any] | None = None,
    outlier_perc: float = 2,
    cmap: Any = None,
    alpha_overlay: float = 0.7,
    show_colorbar: bool = False,
    title: str | None = None,
    fig_size: tuple[float, float] = (6, 6),
    use_pyplot: bool = True,
    **pyplot_kwargs: Any,
) -> tuple[Any, Any]:
    """Draw the attribution of a time series over it and return (figure, axes or an array of them).

    `attr` and `data` are [T, C], with `channels_last=False` [C, T], or [T]; a dim that is named C is the channels
    wherever it stands. `x_values` [T] are the places on the x axis, which grow: numbers or dates. `method` is

    - ``"overlay_individual"``: a panel for each channel, its attribution as colour behind the curve;
    - ``"overlay_combined"``: all curves in one panel over the sum of their attributions;
    - ``"colored_graph"``: a panel for each channel, its curve in the colours of the attribution.

    What the other arguments mean `visualize_image_attr` says; `pyplot_kwargs` (``linewidth=3``) are for the curves.

    Warns where there are more channels than points in time, which are likely in the wrong order.

    Raises:
        ValueError: an unknown method, sign or map, or a wrong number of labels, panels or `x_values`.
        DimensionError: not one time series, or two of different sizes.

    >>> _, axes = visualize_timeseries_attr([0.0, 2.0, 1.0], [5.0, 6.0, 4.0], outlier_perc=0, use_pyplot=False)
    >>> axes.collections[0].get_array().ravel().tolist()  # the colours behind the curve
    [0.0, 1.0, 0.5]
    """
    check_choice("method", method, SeriesMethod)
    heat, curves = as_series(attr, "attr", channels_last), as_series(data, "data", channels_last)
    if heat.shape != curves.shape:
        raise DimensionError(
            f"attributions of {heat.shape[0]} channels by {heat.shape[1]} points do not go with data of "
            f"{curves.shape[0]} by {curves.shape[1]}",
            op="visualize_timeseries_attr",
        )
    channels, points = curves.shape
    if channels > points:
        warnings.warn(
            f"there are more channels ({channels}) than points in time ({points}); if they are the wrong way round, "
            f"say channels_last={not channels_last}, or name the dim C",
            stacklevel=2,
        )
    if channel_labels is not None and len(channel_labels) != channels:
        raise ValueError(f"{len(channel_labels)} labels for {channels} channels: give one for each")
    places = _places(x_values, points)
    together = method == "overlay_combined"
    heat = scaled(heat.sum(axis=0) if together else heat, sign, outlier_perc)
    colours, norm = chosen_map(cmap, sign), Normalize(-1 if sign == "all" else 0, 1)
    count = 1 if together else channels
    figure, axes = axes_of(plt_fig_axis, use_pyplot, fig_size, nrows=count, sharex=True)
    each = panels(axes)
    if len(each) != count:
        raise ValueError(
            f"{method} of {channels} channels takes {count} panels, plt_fig_axis has {len(each)}"
        )
    if together:
        _all_curves(each[0], places, curves, channel_labels, pyplot_kwargs)
        _behind(each[0], places, heat, colours, norm, alpha_overlay)
    else:
        for channel, panel in enumerate(each):
            if method == "overlay_individual":
                panel.plot(places, curves[channel], **pyplot_kwargs)
                _behind(panel, places, heat[channel], colours, norm, alpha_overlay)
            else:
                _coloured(panel, places, curves[channel], heat[channel], colours, norm, pyplot_kwargs)
            if channel_labels is not None:
                panel.set_ylabel(channel_labels[channel], parse_math=False)
        if plt_fig_axis is None:
            figure.subplots_adjust(hspace=0)
    if np.asarray(x_values).dtype.kind == "M":
        each[-1].xaxis_date()
    if points > 1:
        each[-1].set_xlim(places[0], places[-1])
    if show_colorbar:
        alpha = 1.0 if method == "colored_graph" else alpha_overlay
        bar_below(figure, each[-1], ScalarMappable(norm, colours), pad=0.4, alpha=alpha)
    if title:
        each[0].set_title(title, parse_math=False)
    finish(use_pyplot)
    return figure, axes


def _places(x_values: Any, points: int) -> Array:
    places = np.arange(points) if x_values is None else np.asarray(x_values)
    if places.shape != (points,):
        raise ValueError(
            f"x_values have shape {list(places.shape)}: give one place for each of {points} points in time"
        )
    if places.dtype.kind == "M":
        places = np.asarray(date2num(places))  # type: ignore[no-untyped-call]
    if points > 1 and not (np.diff(places) > 0).all():
        raise ValueError("x_values must grow: sort the series by time")
    return places


def _edges(places: Array) -> Array:
    """Return where each point's stretch of the axis begins, and where the last ends: half way to its neighbours."""
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    between = places[:-1] + np.diff(places) / 2
    first, last = places[0] - (places[1] - places[0]) / 2, places[-1] + (places[-1] - places[-2]) / 2
    return np.concatenate([[first], between, [last]])


def _behind(panel: Any, places: Array, heat: Array, cmap: Any, norm: Any, alpha: float) -> None:
    limits = panel.get_ylim()
    # One mesh from bottom to top: a patch for each point would take minutes where there are many.
    panel.pcolormesh(
        _edges(places), [0, 1], heat[None], cmap=cmap, norm=norm, alpha=alpha, zorder=0,
        transform=panel.get_xaxis_transform(), edgecolors="none", rasterized=True,
    )  # fmt: skip
    # The mesh reaches as far as the panel, and says nothing of how far the curve does.
    panel.set_ylim(limits)


def _all_curves(panel: Any, places: Array, curves: Array, labels: Any, options: dict[str, Any]) -> None:
    panel.set_prop_cycle(cycler(color=CURVES))
    for channel, curve in enumerate(curves):
        panel.plot(places, curve, label=None if labels is None else labels[channel], **options)
    if labels is not None:
        panel.legend(loc="best")


def _coloured(
    panel: Any, places: Array, curve: Array, heat: Array, cmap: Any, norm: Any, options: dict[str, Any]
) -> None:
    # Where the colour is that of zero, the curve goes on.
    panel.plot(places, curve, color="0.7", linewidth=1, zorder=1)
    points = np.stack([places, curve], axis=1)
    lines = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)), cmap=cmap, norm=norm, array=heat[:-1], **options
    )
    panel.add_collection(lines)
    low, high = float(np.nanmin(curve)), float(np.nanmax(curve))
    # A tenth of the range around it: also where a curve is constant, or far from zero.
    room = 0.1 * (high - low) or 0.1 * abs(high) or 1
    panel.set_ylim(low - room, high + room)
