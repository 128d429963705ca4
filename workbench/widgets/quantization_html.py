"""What was measured of a model's quantization, in plain HTML: heads explain themselves, every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from workbench.base.number_format import byte_figure, figure, percent, si
from workbench.quantization.layerwise.judge import decibel_figure, harm_shares
from workbench.widgets.html import BOX, CUT, QUIET

__all__ = ["layers_html", "report_html"]

MOST_ROWS = 200
"""Most layers in a table: notebooks keep outputs."""
MOST_ADVICE = 8

BLUE, ORANGE = "#0072b2", "#d55e00"
_WIDE = f"{BOX};max-width:1080px"
# JupyterLab gives all columns of a table in an output one width, and cuts what does not fit.
_TABLE = "border-collapse:collapse;width:100%;font-size:13px;table-layout:auto"
_LINE = "var(--jp-border-color2,rgba(127,127,127,.35))"
_NUMBER = "text-align:right;white-space:nowrap;padding:3px 8px"
_NAME = f"text-align:left;padding:3px 8px 3px 0;max-width:17em;white-space:nowrap;{CUT}"
_FILL = "var(--jp-layout-color2,rgba(127,127,127,.12))"

_SCALES = {None: "", True: "a scale for each channel", False: "one scale for all channels"}
_VALUES = ("values", "how its values are spread; shaded: what the range of its codes leaves out")


def _head(columns: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<th scope="col" title="{escape(what)}" style="{_NAME if place == 0 else _NUMBER};'
        f"{'text-align:left;' if name == _VALUES[0] else ''}{QUIET};"
        f"font-weight:normal;"
        f'font-size:11px;vertical-align:bottom;cursor:help">{escape(name)}</th>'
        for place, (name, what) in enumerate(columns)
    )
    return f'<thead><tr style="border-bottom:1px solid {_LINE}">{cells}</tr></thead>'


def _label(name: str, kind: str) -> str:
    title = escape(f"{name} ({kind})")
    return (
        f'<th scope="row" title="{title}" style="{_NAME};font-weight:normal"><b>{escape(name)}</b> '
        f'<span style="{QUIET}">{escape(kind)}</span></th>'
    )


def _bar(share: float, text: str, colour: str = BLUE, title: str = "") -> str:
    """A number over a bar that starts at the right, like the number."""
    width = 100 * min(1.0, max(0.0, share))
    told = f' title="{escape(title)}"' if title else ""
    return (
        f'<td{told} style="{_NUMBER};background:linear-gradient(to left,color-mix(in srgb,{colour} 34%,transparent) '
        f'{width:.1f}%,transparent 0) no-repeat right 2px center/calc(100% - 4px) 76%">{escape(text)}</td>'
    )


def _cell(text: str, title: str = "") -> str:
    told = f' title="{escape(title)}"' if title else ""
    return f'<td{told} style="{_NUMBER}">{escape(text)}</td>'


def _more(count: int) -> str:
    left = count - MOST_ROWS
    return f'<div style="{QUIET}">… {left:,} more: print(…) shows them</div>' if left > 0 else ""


def layers_html(found: Any) -> str:
    """Return a table of layers, `Sensitivity` or `MixedPrecision`, as HTML; longer bars lose more."""
    shares = found.shares()[:MOST_ROWS]
    column = found.barred
    body = []
    for place, (row, share) in enumerate(zip(found.rows()[:MOST_ROWS], shares, strict=True)):
        name, _, kind = row[0].rpartition(" (")
        colour = ORANGE if share == max(shares) and place == shares.index(share) else BLUE
        cells = "".join(
            _bar(share, cell, colour) if at == column else _cell(cell) for at, cell in enumerate(row) if at
        )
        body.append(
            f'<tr style="border-bottom:1px solid {_FILL}">{_label(name, kind.removesuffix(")"))}{cells}</tr>'
        )
    return (
        f'<div class="wb-quantization" style="{_WIDE};max-width:760px">'
        f'<div style="margin-bottom:4px">{escape(found.summary())}</div>'
        f'<div style="overflow-x:auto"><table style="{_TABLE}">{_head(found.columns())}<tbody>{"".join(body)}</tbody>'
        f"</table></div>{_more(len(found.rows()))}</div>"
    )


# ----------------------------------------------------------------------------------------------- report


def report_html(report: Any) -> str:
    """Return a report as HTML: figures of the whole model, what to do, and a table of its points."""
    totals = report.totals
    head = (
        f"<b>{escape(totals.title)}</b> in codes "
        f'<span style="{QUIET}">against floating point, on {totals.samples:,} samples</span>'
    )
    return (
        f'<div class="wb-quantization" style="{_WIDE}"><div style="margin-bottom:6px">{head}</div>'
        f"{_tiles(totals)}{_advice(report.advice)}{_left(report.left)}{_points(report)}</div>"
    )


def _tiles(totals: Any) -> str:
    before, after = totals.sizes
    told = [
        (
            "output",
            f"{decibel_figure(totals.loss.sqnr)} dB",
            "SQNR: 6 dB more halve the error",
        )
    ]
    if totals.loss.accuracy is not None and totals.float_accuracy is not None:
        plain = percent(totals.float_accuracy)
        lost = 100 * (totals.loss.accuracy - totals.float_accuracy)
        told.append(
            ("accuracy", percent(totals.loss.accuracy), f"{plain} in floating point: {lost:+.2f} points")
        )  # fmt: skip
    told.append(
        (
            "size",
            byte_figure(after),
            f"{byte_figure(before)} before: {before / max(1, after):.1f} times smaller",
        )
    )
    if totals.operations:
        share = percent(totals.operations_on_codes / totals.operations)
        told.append(("integer layers", share, f"of {si(totals.operations)} operations for one sample"))
    cells = "".join(
        f'<div style="padding:6px 12px;border-radius:4px;background:{_FILL}"><div style="font-size:11px;{QUIET}">'
        f'{escape(name)}</div><div style="font-size:18px;line-height:1.3">{escape(value)}</div>'
        f'<div style="font-size:11px;{QUIET}">{escape(note)}</div></div>'
        for name, value, note in told
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{cells}</div>'


def _advice(advice: Sequence[Any]) -> str:
    if not advice:
        return f'<div style="margin:10px 0;{QUIET}">Nothing that was tried makes the output better by 0.2 dB.</div>'
    rows = "".join(
        f'<li style="margin:3px 0"><span style="display:inline-block;min-width:5.2em;white-space:nowrap"><b>'
        f"{one.gain:+.1f} dB</b></span>{_told(one)}</li>"
        for one in advice[:MOST_ADVICE]
    )
    left = len(advice) - MOST_ADVICE
    more = f'<div style="{QUIET}">… {left} more: report.advice has them</div>' if left > 0 else ""
    return (
        '<div style="margin:12px 0 2px"><b>What to do</b> '
        f'<span style="{QUIET}">each was tried by itself; the gain is that of the model’s output</span></div>'
        f'<ol style="margin:0;padding-left:1.6em">{rows}</ol>{more}'
    )


def _told(one: Any) -> str:
    place = f"<b>{escape(one.target)}</b>: " if one.target else ""
    action = escape(one.action[:1].upper() + one.action[1:])
    before, after = decibel_figure(one.before), decibel_figure(one.after)
    return (
        f"{place}{escape(one.problem)}. {action} gives {after} dB instead of {before}."
        f'<code style="display:block;font-size:12px;white-space:pre-wrap;{QUIET}">{escape(one.code)}</code>'
    )


def _left(left: Sequence[Any]) -> str:
    if not left:
        return ""
    rows = "".join(
        f'<li style="margin:3px 0"><b>{escape(one.name)}</b> <span style="{QUIET}">{escape(one.kind)}, '
        f"{byte_figure(one.size)}</span>: {escape(one.reason)}"
        f'<div style="font-size:12px;{QUIET}">{escape(one.action)}</div></li>'
        for one in left[:MOST_ADVICE]
    )
    count = len(left) - MOST_ADVICE
    more = f'<div style="{QUIET}">… {count} more: report.left has them</div>' if count > 0 else ""
    return (
        '<div style="margin:12px 0 2px"><b>Left in floating point</b> '
        f'<span style="{QUIET}">what has weights and is not in codes</span></div>'
        f'<ul style="margin:0;padding-left:1.6em">{rows}</ul>{more}'
    )


def _points(report: Any) -> str:
    points = report.points[:MOST_ROWS]
    kept, columns = report.told(), report.columns()
    heads = [columns[0], _VALUES, *(columns[place] for place in kept[1:])]
    dearest = report.worst.name
    shares = harm_shares([one.cost for one in points])
    body = "".join(
        _row(one, share, ORANGE if one.name == dearest else BLUE, kept)
        for one, share in zip(points, shares, strict=True)
    )
    return (
        '<div style="margin:12px 0 2px"><b>Layer by layer</b> '
        f'<span style="{QUIET}">in the model’s order; a longer bar loses more</span></div>'
        f'<div style="overflow-x:auto"><table style="{_TABLE}">{_head(heads)}<tbody>{body}</tbody></table></div>'
        f"{_more(len(report.points))}"
    )


def _row(one: Any, loss: float, colour: str, kept: Sequence[int]) -> str:
    outliers = one.outlier_channels
    named = ", ".join(map(str, outliers[:12])) + (" …" if len(outliers) > 12 else "")
    size = f"{byte_figure(one.size[0])} → {byte_figure(one.size[1])}" if one.size[0] else ""
    cells = [
        f'<td style="padding:3px 8px">{_histogram(one)}</td>',
        _bar(loss, decibel_figure(one.cost), colour),
        _cell(decibel_figure(one.output_sqnr), f"its own rounding alone leaves {decibel_figure(one.rounding_sqnr)} dB"),
        _cell(decibel_figure(one.weight_sqnr), _SCALES[one.per_channel]),
        f'<td style="{_NUMBER}">{_bits(one)}</td>',
        _cell(percent(one.clipped) if one.clipped else "", f"codes span {figure(one.low)} … {figure(one.high)}"),
        _cell(str(len(outliers) or ""), f"channels {named}" if outliers else ""),
        _cell(size),
        _cell(si(one.products) if one.products else "", f"{one.products:,}" if one.products else ""),
    ]  # fmt: skip
    shown = [cells[0], *(cells[place] for place in kept[1:])]
    return f'<tr style="border-bottom:1px solid {_FILL}">{_label(one.name, one.kind)}{"".join(shown)}</tr>'


def _bits(one: Any) -> str:
    """As many boxes as there are bits, filled as far as they are used."""
    boxes = "".join(
        f'<rect x="{8 * place}" width="7" height="9" rx="1" fill="currentColor" opacity=".18"/>'
        + (
            f'<rect x="{8 * place}" width="{7 * min(1.0, one.bits_used - place):.1f}" height="9" rx="1" fill="{BLUE}"/>'
            if one.bits_used > place
            else ""
        )
        for place in range(one.bits)
    )
    text = f"{one.bits_used:.1f} of {one.bits} bits tell 99.9 % of the values apart"
    return (
        f'<svg width="{8 * one.bits}" height="9" role="img" aria-label="{text}"><title>{text}</title>{boxes}</svg> '
        f"{one.bits_used:.1f}"
    )


def _histogram(one: Any) -> str:
    """A histogram a line high, heights by the fourth root so that outliers show; what codes leave out is shaded."""
    if not one.counts:
        return ""
    width, height = 120, 20
    first, last = one.ends
    span = (last - first) or 1.0
    most, step = max(one.counts), width / len(one.counts)
    path = "".join(
        f"M{place * step:.1f} {height}v{-max(1.0, (count / most) ** 0.25 * height):.1f}h{step * 0.85:.1f}V{height}z"
        for place, count in enumerate(one.counts)
        if count
    )
    left = max(0.0, min(1.0, (one.low - first) / span)) * width
    right = max(0.0, min(1.0, (one.high - first) / span)) * width
    # A sliver at the end is rounding of the range, not a loss.
    shade = "".join(
        f'<rect x="{x:.1f}" width="{wide:.1f}" height="{height}" fill="{ORANGE}" opacity=".3"/>'
        for x, wide in ((0.0, left), (right, width - right))
        if wide > 1
    )
    told = f"values {figure(first)} … {figure(last)}, codes span {figure(one.low)} … {figure(one.high)}"
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{told}" '
        'style="vertical-align:middle;max-width:none">'
        f'<title>{told}</title>{shade}<path d="{path}" fill="currentColor" opacity=".65"/></svg>'
    )
