"""Figures and axes to draw on, with pyplot or without."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure
from mpl_toolkits.axes_grid1 import make_axes_locatable

__all__ = ["axes_of", "bar_below", "finish", "panels"]


def axes_of(
    plt_fig_axis: Any,
    use_pyplot: bool,
    fig_size: tuple[float, float],
    layout: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Return (figure, axes): those given, or new ones; axes are an array where there are several."""
    if plt_fig_axis is not None:
        figure, axes = plt_fig_axis
        return figure, axes
    if use_pyplot:
        figure, axes = pyplot.subplots(figsize=fig_size, layout=layout, **kwargs)
        return figure, axes
    # Not by pyplot, which keeps every figure until it is closed.
    figure = Figure(figsize=fig_size, layout=layout)
    return figure, figure.subplots(**kwargs)


def panels(axes: Any) -> list[Any]:
    """Return one axes, a list or an array of them as a list."""
    return list(np.ravel(np.asarray(axes, dtype=object)))


def bar_below(figure: Any, axes: Any, drawn: Any, pad: float, alpha: float | None = None) -> None:
    """Put a colour bar below the axes; where nothing is drawn in colours, its empty room.

    So panels with and without a bar beside each other are of one size.
    """
    room = make_axes_locatable(axes).append_axes("bottom", size="5%", pad=pad)
    if drawn is None:
        room.axis("off")
    else:
        figure.colorbar(drawn, orientation="horizontal", cax=room, alpha=alpha)


def finish(use_pyplot: bool) -> None:
    """Show the figure where pyplot was asked for."""
    if use_pyplot:
        pyplot.show()
