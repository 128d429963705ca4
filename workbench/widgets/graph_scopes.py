"""Which boxes of a drawn graph compute the same: found by structure, so that names and identities play no part."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

from workbench.live.messages import GraphEdge, GraphNode, GraphScope, GraphTensor

__all__ = ["Box", "scopes_of"]

Box = Literal["module", "function", "if", "loop", "block"]


def scopes_of(
    nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], kinds: Mapping[tuple[str, ...], Box]
) -> list[GraphScope]:
    """Return the boxes that `nodes` stand in; `kinds` says what the box of a path is where it is no module.

    Two are the same where their nodes are, one after the other: what is called, with which parameters, on what types,
    with weights of which types, in which box inside, and fed by which nodes of the box or by which of its inputs.
    """
    inside: dict[tuple[str, ...], list[GraphNode]] = {}
    for node in nodes:
        for depth in range(1, len(node.scope) + 1):
            inside.setdefault(tuple(node.scope[:depth]), []).append(node)
    own = {node.id: _own(node) for node in nodes}
    sources: dict[str, list[str]] = {}
    for edge in edges:
        sources.setdefault(edge.target, []).append(edge.source)
    known: dict[Hashable, int] = {}
    found: list[GraphScope] = []
    for path, members in inside.items():
        key = _structure(members, len(path), own, sources)
        kind = kinds.get(path, "module")
        found.append(GraphScope(".".join(path), kind, known.setdefault((kind, key), len(known))))
    return found


def _structure(
    members: Sequence[GraphNode],
    depth: int,
    own: Mapping[str, Hashable],
    sources: Mapping[str, Sequence[str]],
) -> Hashable:
    """Return what a box computes: equal for boxes that compute the same."""
    place = {node.id: index for index, node in enumerate(members)}
    entries: dict[str, int] = {}
    rows: list[Hashable] = []
    for node in members:
        # What comes from around is counted in the order in which it is read: a box does not know who feeds it.
        fed = tuple(
            place[source] if source in place else ~entries.setdefault(source, len(entries))
            for source in sources.get(node.id, ())
        )
        rows.append((own[node.id], tuple(node.scope[depth:]), fed))
    return tuple(rows)


def _own(node: GraphNode) -> Hashable:
    """Return what a node does by itself."""
    attributes = tuple(map(tuple, node.attributes))
    held = tuple(_type(one) for one in node.held)
    return (node.kind, node.op, node.quantization, _type(node), attributes, held)


def _type(one: GraphNode | GraphTensor) -> tuple[Any, ...]:
    return (one.dtype, tuple((dim.name, dim.size) for dim in one.dims))
