"""What a cell shows of a graph without any JavaScript: a row an op, bounded in size, every text escaped."""

from __future__ import annotations

from html import escape

from workbench.base.number_format import byte_figure, si
from workbench.graph import Graph, Node, TensorType, Value, called, cost, total
from workbench.graph.blocks import values_in
from workbench.graph.cost import bytes_of
from workbench.live.messages import Dim
from workbench.widgets.graph_types import dims_of_type, short_name
from workbench.widgets.html import BOX, QUIET, dim_chip

__all__ = ["graph_html"]

MOST_ROWS = 60
"""Ops beyond these are counted only."""

MOST_DIMS = 8
"""Dims of one value beyond these are counted only."""

LONGEST = 60
"""Most characters of a name, a scope or a source."""


def graph_html(graph: Graph) -> str:
    """Return `graph` as HTML: what it costs, what goes in, and for each op its scope, what it gives, and its line."""
    price = total(graph)
    held = sum(map(bytes_of, graph.held()))
    nodes = [node for node, _ in graph.walk()]
    facts = (
        f"{len(nodes):,} op{'' if len(nodes) == 1 else 's'} · {si(price.parameters)} parameters · "
        f"{byte_figure(held)} · {si(price.flops)} flop"
    )
    rows = [_row("", f"input {_cut(value.name)}", _dims(value), "", "", "") for value in graph.inputs]
    before: Node | None = None
    for node in nodes[:MOST_ROWS]:
        rows.append(_op_row(graph, node, before))
        before = node
    if len(nodes) > MOST_ROWS:
        rows.append(_row("", f"… {len(nodes) - MOST_ROWS:,} more ops", "", "", "", ""))
    outputs = ", ".join(_cut(value.name) for value in [*values_in(graph.outputs)][:MOST_DIMS])
    rows.append(_row("", f"gives {outputs}", "", "", "", ""))
    head = "".join(
        f'<th style="text-align:{side};font-weight:normal;{QUIET};padding:0 12px 0 0">{title}</th>'
        for title, side in (
            ("where", "left"),
            ("op", "left"),
            ("gives", "left"),
            ("parameters", "right"),
            ("flop", "right"),
            ("line", "left"),
        )
    )
    return (
        f'<div class="wb-graph-html" style="{BOX};max-width:none;overflow-x:auto"><b>{_cut(graph.name)}</b> '
        f'<span style="{QUIET}">{facts}</span>'
        f'<table style="font:inherit;border-collapse:collapse;margin-top:4px"><tr>{head}</tr>'
        f"{''.join(rows)}</table></div>"
    )


def _op_row(graph: Graph, node: Node, before: Node | None) -> str:
    """One op; its scope is written where it changes, and its dims where they do."""
    scope = _cut(".".join(node.scope)) if before is None or before.scope != node.scope else ""
    out = node.outputs[0].type
    same = bool(node.values) and isinstance(out, TensorType) and node.values[0].type.accepts(out)
    price = cost(graph, node)
    gives = f'<span style="{QUIET}">the same</span>' if same else _dims(node.outputs[0])
    parameters, flops = (si(one) if one else "" for one in (price.parameters, price.flops))
    return _row(scope, _cut(called(node.callee)), gives, parameters, flops, _cut(node.source))


def _row(scope: str, op: str, gives: str, parameters: str, flops: str, source: str) -> str:
    """One row of cells; what is given is HTML already."""
    quiet = f'style="padding:0 12px 0 0;{QUIET};text-align:left"'
    numbers = "".join(
        f'<td style="padding:0 12px 0 0;text-align:right">{number}</td>' for number in (parameters, flops)
    )
    return (
        f'<tr style="background:none"><td {quiet}>{scope}</td>'
        f'<td style="padding:0 12px 0 0;text-align:left">{op}</td>'
        f'<td style="padding:0 12px 0 0;text-align:left;white-space:nowrap">{gives}</td>'
        f"{numbers}<td {quiet}>{source}</td></tr>"
    )


def _dims(value: Value) -> str:
    dims: list[Dim] = dims_of_type(value.type)
    more = f" … {len(dims) - MOST_DIMS} more" if len(dims) > MOST_DIMS else ""
    chips = "".join(map(dim_chip, dims[:MOST_DIMS]))
    tensor = isinstance(value.type, TensorType)
    return f"<code>{_cut(short_name(value.type))}</code> {chips or ('scalar' if tensor else '')}{more}"


def _cut(text: str) -> str:
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
