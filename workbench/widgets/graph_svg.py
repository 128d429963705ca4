"""A graph as a file: SVG whose text is text, written without a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from workbench.base.number_format import byte_figure, si
from workbench.graph import Graph
from workbench.live.messages import GraphEdge, GraphNode, GraphTensor
from workbench.widgets.graph_layout import Placed, Tree, place, tree
from workbench.widgets.graph_picture import GraphPicture

__all__ = ["graph_svg", "save_picture"]

LETTER = 0.62
"""How wide a letter is, in heights of its font: a little too wide rather than too narrow."""
RIM = 16.0
MOST_DIMS = 8

_INK, _QUIET, _LINE, _PAPER = "#1f2328", "#59636e", "#8c959f", "#ffffff"
_FILLS = {"input": "#eef1f4", "op": "#eef2ff", "output": "#eef1f4"}
# What XML has no place for, however it is written.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def save_picture(picture: GraphPicture, path: str | Path) -> None:
    """Write a picture of a graph to an SVG file; raises `ValueError` where it is to be of another kind."""
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise ValueError(
            f"Python writes graphs as SVG, not as {path.suffix or 'a file without an ending'}: save to "
            f"{path.with_suffix('.svg').name!r}, or take a PNG from the menu of the view (…, Export PNG)"
        )
    path.write_text(_svg(picture), encoding="utf-8")


def graph_svg(graph: Graph) -> str:
    """Return a picture of `graph` as SVG: its modules, blocks and functions as boxes, those that are alike once.

    >>> import workbench as wb
    >>> graph_svg(wb.graph.trace(lambda x: x.relu(), wb.ones(N=2)))[:4]
    '<svg'
    """
    return _svg(GraphPicture(graph))


def _svg(picture: GraphPicture) -> str:
    hidden = _background(picture)
    drawn = [node for node in picture.nodes if node.id not in hidden]
    root, instead = tree(drawn, picture.scopes)
    lines = {node.id: _lines(node) for node in drawn}
    sizes = {key: _size(text) for key, text in lines.items()}
    sizes |= {one.id: (_wide(_title(one), 11) + 40, 0.0) for one in _boxes(root)}
    edges = _joined((edge for edge in picture.edges if edge.source not in hidden), instead)
    placed, width, height = place(root, edges, sizes)
    at = {one.item.node.id: one for one in placed if one.item.node is not None}
    # Outer boxes lie under inner ones, and edges under nodes.
    parts = [_box(one) for one in sorted(placed, key=lambda one: one.depth) if one.item.node is None]
    told: set[tuple[str, str]] = set()
    for edge in edges:
        parts += _edge(edge, at, told)
    parts += [_node(one, lines[one.item.node.id]) for one in placed if one.item.node is not None]
    box = f"{-RIM:g} {-RIM:g} {width + 2 * RIM:.0f} {height + 2 * RIM:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width + 2 * RIM:.0f}" '
        f'height="{height + 2 * RIM:.0f}" font-family="system-ui, sans-serif" font-size="10" fill="{_INK}">'
        f"<title>{_text(picture.graph.name)}</title>"
        f'<rect x="{-RIM:g}" y="{-RIM:g}" width="100%" height="100%" fill="{_PAPER}"/>{"".join(parts)}</svg>\n'
    )


def _background(picture: GraphPicture) -> set[str]:
    """The ops that say nothing of the flow of data: those computed from parameters and constants alone."""
    sources: dict[str, list[str]] = {}
    for edge in picture.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    hidden: set[str] = set()
    # Nodes come after what feeds them, but for what a loop begins with, which is an input.
    for node in picture.nodes:
        fed = sources.get(node.id, [])
        if node.kind == "op" and (fed or node.held) and hidden.issuperset(fed):
            hidden.add(node.id)
    return hidden


def _joined(edges: Iterable[GraphEdge], instead: dict[str, str]) -> list[GraphEdge]:
    """The edges between what is drawn: of a stack, those into its first box and out of its last."""
    found: dict[tuple[str, str], GraphEdge] = {}
    for edge in edges:
        source, target = instead.get(edge.source, edge.source), instead.get(edge.target, edge.target)
        # From one box of a stack to the next is nothing that could be drawn.
        if edge.target in instead and edge.source not in instead and target != edge.target:
            continue
        if edge.target in instead or source == target:
            continue
        found.setdefault((source, target), GraphEdge(source, target, edge.dtype, edge.dims, edge.sizes))
    return list(found.values())


def _boxes(box: Tree) -> Iterable[Tree]:
    for child in box.children.values():
        if child.node is None:
            yield child
            yield from _boxes(child)


# ------------------------------------------------------------------------------------------------- the parts


def _lines(node: GraphNode) -> list[str]:
    """What stands on a node: its name first."""
    second = (
        node.op if node.kind == "op" and node.op != node.label else "" if node.kind == "op" else node.kind
    )
    facts = [
        f"{si(node.parameters)} parameters" if node.parameters else "",
        f"{si(node.flops)}flop" if node.flops else "",
        byte_figure(node.memory) if node.memory else "",
    ]
    lines = [node.label or node.id, second, " · ".join(filter(None, facts)), node.quantization]
    return [*filter(None, lines), *(_held(one, node.scope) for one in node.held)]


def _held(tensor: GraphTensor, scope: list[str]) -> str:
    # In the box of its module the way to it goes without saying.
    return f"{tensor.name.removeprefix('.'.join([*scope, '']))}  {_value(tensor)}"


def _value(one: GraphTensor | GraphEdge) -> str:
    """A type in words: ``f32[N 64, C 3]``."""
    dims = [
        f"{dim.name} {dim.size}" if dim.name is not None else f"·{dim.size}" for dim in one.dims[:MOST_DIMS]
    ]
    more = ["…"] if len(one.dims) > MOST_DIMS else []
    return f"{one.dtype}[{', '.join(dims + more)}]" if one.dims else one.dtype


def _wide(text: str, size: float) -> float:
    return LETTER * size * len(text)


def _size(lines: list[str]) -> tuple[float, float]:
    wide = max(_wide(lines[0], 12), *(_wide(line, 10) for line in lines[1:]), 50.0)
    return wide + 24, 22.0 + 14.0 * (len(lines) - 1) + 8


def _title(box: Tree) -> str:
    name = box.id.removeprefix("box ").rpartition(".")[2]
    return f"{name} ×{box.repeats}" if box.repeats > 1 else name


def _box(one: Placed) -> str:
    x, y, item = one.x, one.y, one.item
    stack = ""
    if item.repeats > 1:
        # The rims of the boxes below peep out.
        stack = "".join(
            f'<path d="M{x + 4 + step:.1f} {y + item.height + step:.1f}h{item.width - 8 - 2 * step:.1f}" '
            f'stroke="{_LINE}" fill="none"/>'
            for step in (3, 6)
        )
    return (
        f'{stack}<rect x="{x:.1f}" y="{y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" rx="8" '
        f'fill="#f6f8fa" fill-opacity="0.6" stroke="#d0d7de"/>'
        f'<text x="{x + 12:.1f}" y="{y + 17:.1f}" font-size="11" font-weight="600" fill="{_QUIET}">'
        f"{_text(_title(item))}</text>"
    )


def _node(one: Placed, lines: list[str]) -> str:
    node, x, y = one.item.node, one.x, one.y
    assert node is not None  # who calls has looked
    middle = x + one.item.width / 2
    words = "".join(
        f'<text x="{middle:.1f}" y="{y + 18 + 14 * index:.1f}" text-anchor="middle"'
        f"{_style(index)}>{_text(line)}</text>"
        for index, line in enumerate(lines)
    )
    stroke = "#b3261e" if node.wrong else _LINE
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{one.item.width:.1f}" height="{one.item.height:.1f}" '
        f'rx="{5 if node.kind == "op" else 12}" fill="{_FILLS[node.kind]}" stroke="{stroke}"/>{words}'
    )


def _style(index: int) -> str:
    return ' font-size="12" font-weight="600"' if index == 0 else f' fill="{_QUIET}"'


def _edge(edge: GraphEdge, at: dict[str, Placed], told: set[tuple[str, str]]) -> list[str]:
    start, end = at.get(edge.source), at.get(edge.target)
    if start is None or end is None:
        return []
    x, y = start.x + start.item.width / 2, start.y + start.item.height
    u, v = end.x + end.item.width / 2, end.y
    bend = max(12.0, (v - y) / 2)
    line = (
        f'<path d="M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {u:.1f} {v - bend:.1f} {u:.1f} {v:.1f}" fill="none" '
        f'stroke="{_LINE}"/><path d="M{u:.1f} {v:.1f}l-3.5 -7h7z" fill="{_LINE}"/>'
    )
    # Each value once, under what gives it.
    words = _value(edge)
    if (edge.source, words) in told:
        return [line]
    told.add((edge.source, words))
    label = f'<text x="{x + 6:.1f}" y="{y + 14:.1f}" fill="{_QUIET}">{_text(words)}</text>'
    return [line, label]


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("�", text))
