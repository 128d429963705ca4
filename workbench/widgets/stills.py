"""What an output shows of a view where no widget can be made: HTML without JavaScript, drawn from one state.

It stands beside the widget's type in the output. GitHub, nbconvert and editors without the widget manager show it;
in JupyterLab it stands until the widget is there. It is made when the output is displayed, not at each change.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from workbench.base.number_format import figure, percent, si
from workbench.live.messages import (
    BoardState,
    ClashState,
    DiffNode,
    DiffRow,
    DiffState,
    FlowOperand,
    FlowState,
    GraphState,
    HeatmapPart,
    HeatmapState,
    HistogramState,
    RunsState,
    ScatterState,
    TensorState,
    TrainingCurve,
    TrainingState,
)
from workbench.live.model import Snapshot
from workbench.widgets.charts import bars, fitting, lines, painted, points
from workbench.widgets.clash import clash_state_html
from workbench.widgets.html import BOX, QUIET, dim_chip, picture_html, state_line, statistics_line
from workbench.widgets.scatter_places import decode_places

__all__ = ["MOST_BYTES", "OUTPUT", "still"]

OUTPUT = "application/vnd.workbench.view+json"
"""The type that tells JupyterLab's extension of ours that an output is a view: ``extensions/lab/src/outputs.ts``."""

MOST_BYTES = 64 * 1024
"""A still longer than this is its title only."""

MOST_ROWS = 30
MOST_DIMS = 8
LONGEST = 80

Buffers = Sequence[bytes]


def still(snapshot: Snapshot) -> str:
    """Return `snapshot` as HTML that needs no JavaScript, of at most `MOST_BYTES`, every text escaped."""
    head = getattr(snapshot.state, "head", None)
    title = f"<b>{_cut(head.title)}</b>" if head is not None else ""
    body = _body(snapshot.state, snapshot.buffers)
    if len(title) + len(body.encode()) > MOST_BYTES - 1024:
        body = f'<div style="{QUIET}">too large to be drawn here: run the cell again</div>'
    return f'<div class="wb-still" style="{BOX};overflow-x:auto"><div>{title}</div>{body}</div>'


@functools.singledispatch
def _body(state: object, buffers: Buffers) -> str:
    """Draw a state of a kind that has no still: its title says what it is."""
    return f'<div style="{QUIET}">run the cell again to see it</div>'


@_body.register
def _tensor(state: TensorState, buffers: Buffers) -> str:
    body = state_line(state)
    if state.statistics is not None:
        body += statistics_line(state.statistics)
    drawn = state.picture
    if drawn is not None:
        shape = (drawn.tiles, drawn.height, drawn.width, drawn.channels)
        values = np.frombuffer(buffers[drawn.values_buffer], np.float32).reshape(shape)
        body += picture_html(drawn, fitting(values))
    return body


@_body.register
def _flow(state: FlowState, buffers: Buffers) -> str:
    rows = [
        (_cut(row.scope), _cut(row.op), "".join(map(_operand, row.inputs[:MOST_DIMS])), _operand(row.output))
        for row in state.rows[:MOST_ROWS]
    ]
    return _table(("where", "op", "takes", "gives"), rows) + _more(len(state.rows), "ops")


def _operand(operand: FlowOperand) -> str:
    return f"<div>{''.join(map(dim_chip, operand.dims[:MOST_DIMS])) or 'scalar'}</div>"


@_body.register
def _clash(state: ClashState, buffers: Buffers) -> str:
    return clash_state_html(state)


@_body.register
def _graph(state: GraphState, buffers: Buffers) -> str:
    ops = [node for node in state.nodes if node.kind == "op"]
    facts = f"{len(ops) + state.truncated:,} ops · {si(sum(node.parameters for node in ops))} parameters"
    rows = [
        (
            _cut(".".join(node.scope)),
            _cut(node.label),
            "".join(map(dim_chip, node.dims[:MOST_DIMS])),
            si(node.parameters) if node.parameters else "",
            si(node.flops) if node.flops else "",
        )
        for node in ops[:MOST_ROWS]
    ]
    head = ("where", "op", "gives", "parameters", "flop")
    return _quiet(facts) + _table(head, rows) + _more(len(ops), "ops")


@_body.register
def _diff(state: DiffState, buffers: Buffers) -> str:
    counts = " · ".join(f"{SIGNS.get(status, '')} {int(count):,} {status}" for status, count in state.counts)
    told = [row for row in state.rows if row.status not in ("same", "follows")]
    rows = [
        (
            SIGNS[row.status],
            _cut((row.after or row.before or _NO_NODE).place),
            _diff_op(row),
            "<br>".join(_cut(line) for line in row.what[:MOST_DIMS]),
            _cut((row.after or row.before or _NO_NODE).source),
        )
        for row in told[:MOST_ROWS]
    ]
    nothing = _quiet("no difference") if not told and not state.notes else ""
    notes = "".join(_quiet(note) for note in state.notes[:MOST_ROWS])
    table = _table(("", "where", "op", "what", "line"), rows) if rows else ""
    return nothing + _quiet(counts) + notes + table + _more(len(told), "differences")


SIGNS = {
    "same": "", "follows": "·", "changed": "~", "moved": "›", "added": "+", "removed": "−", "replaced": "±",
}  # fmt: skip
"""What stands before a row, as in the view."""
_NO_NODE = DiffNode("", "", "", "", "", [])


def _diff_op(row: DiffRow) -> str:
    ops = [_cut(node.op) for node in (row.before, row.after) if node is not None]
    return " → ".join(dict.fromkeys(ops))


@_body.register
def _histogram(state: HistogramState, buffers: Buffers) -> str:
    rows = [
        (
            _cut(row.name) + (" (set by hand)" if row.overridden else ""),
            _cut(f"{row.dtype} {row.scheme}"),
            bars(row.spark, 120, 16),
            f"{row.batches:,}",
            "" if row.sqnr is None else f"{figure(row.sqnr)} dB",
        )
        for row in state.observers[:MOST_ROWS]
    ]
    body = _table(("observer", "type", "values", "batches", "SQNR"), rows) if rows else ""
    body += _more(len(state.observers), "observers")
    detail = state.detail
    if detail is not None:
        counts = np.frombuffer(buffers[detail.counts_buffer], np.float32)
        most = max(1.0, float(counts.max(initial=0.0)))
        text = f"{detail.id}: {detail.bits} bits, range {figure(detail.low)} to {figure(detail.high)}"
        body += _quiet(text) + bars((counts / most).tolist(), 600, 80)
    return body


def _heat_part(part: HeatmapPart, buffers: Buffers) -> str:
    shape = (part.height, part.width)
    shown = ""
    if part.channels:
        image = np.frombuffer(buffers[part.input_buffer], np.float32).reshape(*shape, part.channels)
        shown += painted(image, part.input_low, part.input_high, "grey", "the input")
    if part.attribution_buffer is not None:
        found = np.frombuffer(buffers[part.attribution_buffer], np.float32).reshape(shape)
        finite = np.abs(found[np.isfinite(found)])
        most = float(finite.max(initial=0.0)) or 1.0
        shown += painted(found[..., None], -most, most, "signed", "the attribution")
    return shown + _quiet(" ".join(part.tokens)) if part.tokens else shown


@_body.register
def _heatmap(state: HeatmapState, buffers: Buffers) -> str:
    shown = "".join(_heat_part(part, buffers) for part in state.parts)
    delta = "" if state.delta is None else f" · convergence delta {figure(state.delta)}"
    said = " · ".join(f"{entry.label} {percent(entry.probability)}" for entry in state.predictions[:5])
    sample = f"sample {state.sample} of {state.samples}" if state.samples > 1 else ""
    facts = " · ".join(filter(None, [state.method, f"target {state.target}" if state.target else "", sample]))
    return _quiet(facts + delta) + f"<div>{shown}</div>" + _quiet(said)


@_body.register
def _board(state: BoardState, buffers: Buffers) -> str:
    heads = ("method", *(column.title for column in state.columns))
    rows = [
        (row.title, *("–" if cell.value is None else figure(cell.value) for cell in row.cells))
        for row in state.rows[:MOST_ROWS]
    ]
    troubles = "".join(_quiet(f"{row.title}: {row.trouble}") for row in state.rows[:MOST_ROWS] if row.trouble)
    return _quiet(state.question) + _table(heads, rows) + troubles


@_body.register
def _scatter(state: ScatterState, buffers: Buffers) -> str:
    data = buffers[state.positions_buffer]
    places = decode_places(data, state.positions_coding, state.low, state.high)
    label = next(
        (one for one in state.columns if one.name == state.label_name and one.kind == "category"), None
    )
    groups = None
    if label is not None and label.buffer is not None:
        groups = np.frombuffer(buffers[label.buffer], np.uint16).astype(np.intp)
    picture, colours = points(places[:, :2], groups)
    legend = " ".join(
        f'<span style="color:{colour}">●</span>&nbsp;{_cut(name)}'
        for name, colour in zip([] if label is None else label.values[:MOST_ROWS], colours, strict=False)
    )
    words = [state.method, *filter(None, [state.facts]), _drawn(state, places)]
    return _quiet(" · ".join(words)) + picture + f"<div>{legend}</div>"


def _drawn(state: ScatterState, places: np.ndarray[Any, Any]) -> str:
    """Say how many of how many points are drawn."""
    window = state.window
    together = window is not None and window.weights_buffer is not None
    count = window.inside if window is not None and together else int(np.isfinite(places).all(axis=1).sum())
    of = f" of {state.total:,}" if state.total > count else ""
    return f"{count:,}{of} points{' as density' if together else ''}"


@_body.register
def _training(state: TrainingState, buffers: Buffers) -> str:
    counters = state.counters
    epochs = "" if counters.epochs is None else f" of {counters.epochs}"
    facts = f"{state.status} · epoch {counters.epoch}{epochs} · step {counters.step:,}"
    rows = [_curve(curve, buffers) for curve in state.curves[:MOST_ROWS] if curve.points]
    message = f"<div>{escape(state.message[:500])}</div>" if state.message else ""
    return _quiet(facts) + message + _table(("curve", "", "last", "over the steps"), rows)


def _curve(curve: TrainingCurve, buffers: Buffers) -> tuple[str, ...]:
    steps, values = np.frombuffer(buffers[curve.points_buffer], np.float64).reshape(2, curve.points)
    finite = values[np.isfinite(values)]
    last = figure(float(finite[-1])) if finite.size else "–"
    return _cut(curve.name), curve.part, last, lines(steps, values, 360, 40)


@_body.register
def _runs(state: RunsState, buffers: Buffers) -> str:
    cards = " · ".join(f"{one.cards:,} {one.page}" for one in state.pages)
    names = [run.name for run in state.runs]
    rows = []
    for chart in state.charts[:MOST_ROWS]:
        for line in chart.lines[:MOST_DIMS]:
            points = np.frombuffer(buffers[line.points_buffer], np.float64).reshape(3, line.points)
            finite = points[1][np.isfinite(points[1])]
            last = figure(float(finite[-1])) if finite.size else "–"
            rows.append((_cut(chart.tag), _cut(names[line.run]), last, lines(points[0], points[1], 360, 40)))
    runs = [(_cut(run.name), f"{run.values:,}", f"{run.last:,}") for run in state.runs[:MOST_ROWS]]
    body = _quiet(cards) + _table(("run", "scalars", "last step"), runs) + _more(len(names), "runs")
    if rows:
        body += _table(("tag", "run", "last", "over the steps"), rows[:MOST_ROWS]) + _more(
            len(rows), "curves"
        )
    return body + "".join(_quiet(problem) for problem in state.problems)


# ------------------------------------------------------------------------------------------------ words


def _cut(text: str) -> str:
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _quiet(text: str) -> str:
    return f'<div style="{QUIET}">{escape(text[:1000])}</div>' if text else ""


def _more(count: int, what: str) -> str:
    return _quiet(f"… {count - MOST_ROWS:,} more {what}") if count > MOST_ROWS else ""


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already."""
    cell = "padding:0 12px 0 0;text-align:left"
    titles = "".join(f'<th style="{cell};font-weight:normal;{QUIET}">{title}</th>' for title in head)
    body = "".join(
        '<tr style="background:none">'
        + "".join(f'<td style="{cell}">{entry}</td>' for entry in row)
        + "</tr>"
        for row in rows
    )
    return (
        f'<table style="font:inherit;border-collapse:collapse;margin:4px 0 0"><tr>{titles}</tr>{body}</table>'
    )
