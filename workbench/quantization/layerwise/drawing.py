"""Tables of text, and figures by matplotlib, for what was measured of layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from workbench.base.lazy import Lazy

__all__ = ["bars", "curve", "text_table"]

_matplotlib = Lazy("matplotlib.figure")

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#888888"
MOST_BARS = 60
"""Most layers in one figure: the dearest are shown."""


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table: the first column to the left, numbers to the right.

    >>> print(text_table(["layer", "dB"], [["conv1", "31.0"], ["fc", "8.5"]]))
    layer    dB
    ─────  ────
    conv1  31.0
    fc      8.5
    """
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = [heads, ["─" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def bars(
    names: Sequence[str], values: Sequence[float], title: str, mark: float | None = None, marked: str = ""
) -> Any:
    """Return a figure of horizontal bars, the first on top, with a line at `mark`."""
    shown = [(name, value) for name, value in zip(names, values, strict=True) if math.isfinite(value)][
        :MOST_BARS
    ]
    # Not by pyplot, which keeps every figure, and would show it a second time in a notebook.
    made = _matplotlib.Figure(figsize=(7, 1.2 + 0.26 * max(1, len(shown))), layout="constrained")
    axes = made.add_subplot()
    axes.barh([name for name, _ in shown], [value for _, value in shown], color=BLUE, height=0.7)
    axes.invert_yaxis()
    if mark is not None and math.isfinite(mark):
        axes.axvline(mark, color=ORANGE, linewidth=1.2, label=f"{marked}: {mark:.1f} dB")
        # Above the bars: over them its words could not be read.
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)
    axes.set_xlabel(title)
    axes.spines[["top", "right"]].set_visible(False)
    return made


def curve(
    x: Sequence[float],
    y: Sequence[float],
    points: Sequence[tuple[str, float, float]],
    names: tuple[str, str],
    figure: Callable[[float], str],
    binary: bool = False,
) -> Any:
    """Return a figure of steps `y` over `x`, with named points.

    `figure` writes what stands below the axis, at powers of two where they are `binary`, as bytes are.
    """
    made = _matplotlib.Figure(figsize=(6, 3.6), layout="constrained")
    axes = made.add_subplot()
    finite = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    axes.plot(
        [a for a, _ in finite],
        [b for _, b in finite],
        color=BLUE,
        drawstyle="steps-post",
        label="best that fits",
    )
    for name, across, up in points:
        if math.isfinite(up):
            axes.plot([across], [up], marker="o", color=ORANGE, linestyle="none")
            axes.annotate(name, (across, up), textcoords="offset points", xytext=(6, -10), fontsize=9)
    axes.legend(frameon=False, loc="lower right")
    # The name of a point at the edge stays within the axes.
    axes.margins(x=0.08, y=0.14)
    left, right = axes.get_xlim()
    left = max(0.0, left)
    axes.set_xlim(left, right)
    if binary:
        step = 2.0 ** math.ceil(math.log2((right - left) / 6))
        axes.set_xticks([step * at for at in range(math.ceil(left / step), math.floor(right / step) + 1)])
    else:
        axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, place: figure(value))
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.spines[["top", "right"]].set_visible(False)
    return made
