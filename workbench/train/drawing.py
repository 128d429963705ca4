"""Pictures of a history: curves as SVG inside HTML for a notebook, and as a matplotlib figure for a paper."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.base.lazy import Lazy
from workbench.base.number_format import si
from workbench.train.curves import smooth, spikes, thin

__all__ = ["figure", "page"]

_matplotlib = Lazy("matplotlib.figure")

BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#b5629a"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#e69f00", "#56b4e9")
WIDTH, HEIGHT = 300, 150
MOST_DOTS = 40
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 20, 20


@dataclass(frozen=True)
class Line:
    """One curve of a chart."""

    label: str
    steps: Sequence[float]
    values: Sequence[float]
    colour: str
    quiet: bool = False
    """Drawn behind, thin and without a label: the raw values of a smoothed curve."""
    dots: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves over the steps."""

    title: str
    lines: list[Line]
    marks: list[float] = field(default_factory=list)
    """Steps at which something stood out."""


def charts(history: Any) -> list[Chart]:
    """Return what there is to draw: the loss, each kind of metric, and the gradient norm."""
    steps = list(history.steps)
    ends = [epoch.step for epoch in history.epochs]
    loss = [
        Line("loss of each step", steps, history.losses, BLUE, quiet=True),
        Line("train", steps, smooth(history.losses), BLUE),
    ]
    if any("loss" in epoch.validation for epoch in history.epochs):
        values = [epoch.validation.get("loss", math.nan) for epoch in history.epochs]
        loss.append(Line("validation", ends, values, ORANGE, dots=True))
    found = [Chart("loss", loss, [steps[i] for i in spikes(history.losses)])]
    names = dict.fromkeys(
        name for epoch in history.epochs for name in (*epoch.metrics, *epoch.validation) if name != "loss"
    )
    for name in names:
        lines = []
        for label, colour, entries in (
            ("train", BLUE, [epoch.metrics for epoch in history.epochs]),
            ("validation", ORANGE, [epoch.validation for epoch in history.epochs]),
        ):
            if any(name in entry for entry in entries):
                values = [entry.get(name, math.nan) for entry in entries]
                lines.append(Line(label, ends, values, colour, dots=True))
        found.append(Chart(name.replace("_", " "), lines))
    if history.norms:
        norm = [
            Line("of each step", steps, history.norms, GREEN, quiet=True),
            Line("smoothed", steps, smooth(history.norms), GREEN),
        ]
        found.append(Chart("gradient norm", norm))
    return found


def rounded(value: float) -> str:
    """Return a figure with three significant digits, in letters that every terminal has.

    >>> rounded(0.97612), rounded(1.1), rounded(-140.2), rounded(float("nan"))
    ('0.976', '1.10', '-140', 'nan')
    """
    return f"{value:#.3g}".rstrip(".")


# ------------------------------------------------------------------------------------------------- HTML


def page(history: Any) -> str:
    """Return HTML with the head, small charts and the last figures; it follows JupyterLab's theme."""
    if not history.losses:
        return (
            '<div style="font-family:var(--jp-ui-font-family,sans-serif);color:var(--jp-ui-font-color2,#666)">'
            "Nothing was trained yet: <code>trainer.fit(loader, epochs=1)</code></div>"
        )
    last = history.epochs[-1] if history.epochs else None
    steps = len(history.losses)
    words = [f"{steps:,} step{'' if steps == 1 else 's'}", f"loss {rounded(history.losses[-1])}"]
    if last is not None:
        words[1:] = [f"{name} {rounded(one)}" for name, one in last.values.items()]
    words.append(f"{si(history.speeds[-1])} samples/s")
    head = f"epoch {last.number}" if last is not None else "epoch 1, unfinished"
    drawn = "".join(_svg(chart) for chart in charts(history))
    return (
        '<div style="font-family:var(--jp-ui-font-family,sans-serif);font-size:12px;'
        'font-variant-numeric:tabular-nums;color:var(--jp-ui-font-color1,#222)">'
        f"<div><b>{head}</b> · {html.escape(' · '.join(words))}</div>"
        f'<div style="display:flex;flex-wrap:wrap;gap:8px">{drawn}</div></div>'
    )


def _svg(chart: Chart) -> str:
    """Return one chart; the exact figures stand in titles, which show on hover."""
    low_x, high_x, low, high = _range(chart)

    def x(step: float) -> float:
        # A single step has no width.
        return LEFT + (step - low_x) / (high_x - low_x or 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low or 1) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
        'stroke="var(--jp-border-color2,#ddd)"/>'
        f'<text x="{LEFT - 4}" y="{y(value) + 3.5:.1f}" text-anchor="end">{words}</text>'
        for value, words in _round_values(low, high)
    ]
    parts.append(f'<text x="{LEFT - 4}" y="{HEIGHT - 6}" text-anchor="end">step</text>')
    parts += [
        f'<text x="{x(step):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{step:,}</text>'
        # A dict, since the first step may be the last: then one text is enough.
        for step, anchor in {low_x: "start", high_x: "end"}.items()
    ]
    parts += [
        f'<path d="M{x(step) - 3:.1f} {TOP - 4}h6l-3 5z" fill="{PURPLE}">'
        f"<title>spike at step {step:g}</title></path>"
        for step in chart.marks
    ]
    parts += [_path(line, x, y, low, high) for line in chart.lines]
    parts.append(_legend(chart))
    title = html.escape(chart.title)
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}" '
        'font-size="10" fill="var(--jp-ui-font-color2,#666)">'
        f'<text x="{LEFT}" y="12" font-size="11" fill="var(--jp-ui-font-color1,#222)">{title}</text>'
        f"{''.join(parts)}</svg>"
    )


def _round_values(low: float, high: float) -> list[tuple[float, str]]:
    """Return two to five round values from `low` to `high`, with their texts.

    >>> _round_values(0.0137, 3.28), _round_values(0.895, 0.925)
    ([(1.0, '1'), (2.0, '2'), (3.0, '3')], [(0.9, '0.90'), (0.91, '0.91'), (0.92, '0.92')])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / 2))
    # A little more than nothing, so that a bound that is a round value is one after division, too.
    step = next(
        digit * power for digit in (1, 2, 5, 10) if math.floor((high - low) / (digit * power) + 1e-9) <= 4
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    shape = f".{decimals}f" if decimals <= 4 and abs(high) < 1e5 else ".3g"
    # 3 · 0.1 is 0.30000000000000004, which is no text for an axis.
    values = [float(f"{i * step:.12g}") for i in range(first, last + 1)]
    return [(value, f"{value:{shape}}") for value in values]


def _legend(chart: Chart) -> str:
    """Return what the curves are called, where there are several: right of the title."""
    shown = [line for line in chart.lines if not line.quiet]
    if len(shown) < 2:
        return ""
    words = " ".join(f'<tspan fill="{line.colour}">●</tspan> {html.escape(line.label)}' for line in shown)
    return f'<text x="{WIDTH - RIGHT}" y="12" text-anchor="end">{words}</text>'


def _range(chart: Chart) -> tuple[float, float, float, float]:
    """Return the steps and values that a chart reaches over; a lone spike does not flatten the rest."""
    steps = [step for line in chart.lines for step in line.steps]
    loud = [one for line in chart.lines if not line.quiet for one in line.values if math.isfinite(one)]
    quiet = sorted(one for line in chart.lines if line.quiet for one in line.values if math.isfinite(one))
    # All but the outermost hundredth on each side.
    inner = quiet[len(quiet) // 100 : len(quiet) - len(quiet) // 100] or quiet
    values = loud + inner or [0.0]
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) * 0.1 or 1), high + (abs(high) * 0.1 or 1)
    return min(steps, default=0), max(steps, default=1), low, high


def _path(line: Line, x: Any, y: Any, low: float, high: float) -> str:
    """Return one curve, broken where a value is not finite."""
    words, pen = [], "M"
    dots = []
    for i in thin(line.values):
        value = line.values[i]
        if not math.isfinite(value):
            pen = "M"
            continue
        # What is beyond the range runs along its border.
        height = y(min(max(value, low), high))
        words.append(f"{pen}{x(line.steps[i]):.1f} {height:.1f}")
        pen = "L"
        if line.dots and len(line.values) <= MOST_DOTS:
            dots.append(
                f'<circle cx="{x(line.steps[i]):.1f}" cy="{height:.1f}" r="2.5" fill="{line.colour}">'
                f"<title>{html.escape(line.label)}, step {line.steps[i]:g}: {value!r}</title></circle>"
            )
    style = 'stroke-width="1" opacity="0.3"' if line.quiet else 'stroke-width="1.5"'
    return f'<path d="{"".join(words)}" fill="none" stroke="{line.colour}" {style}/>{"".join(dots)}'


# ------------------------------------------------------------------------------------------- matplotlib


def figure(history: Any) -> Any:
    """Return the same charts as a matplotlib figure."""
    if not history.losses:
        raise ValueError("there is nothing to plot: nothing was trained yet")
    found = charts(history)
    # Not by pyplot, which keeps every figure, and would show it a second time in a notebook.
    drawn = _matplotlib.Figure(figsize=(4.2 * len(found), 3.0), layout="constrained")
    for place, chart in enumerate(found, 1):
        axes = drawn.add_subplot(1, len(found), place)
        for line in chart.lines:
            axes.plot(
                line.steps, line.values, color=line.colour, label=None if line.quiet else line.label,
                alpha=0.3 if line.quiet else 1.0, linewidth=0.8 if line.quiet else 1.6,
                marker="o" if line.dots and len(line.values) <= MOST_DOTS else None, markersize=3,
            )  # fmt: skip
        for step in chart.marks:
            axes.axvline(step, color=PURPLE, linewidth=0.8, linestyle=":")
        _, _, low, high = _range(chart)
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        axes.set_title(chart.title)
        axes.set_xlabel("step")
        if sum(not line.quiet for line in chart.lines) > 1:
            axes.legend(frameon=False)
    return drawn
