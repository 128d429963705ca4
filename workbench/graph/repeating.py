"""Whether two traces of a function are the same: what it was told from outside, as the time, is in one of them only."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np

from workbench.graph.blocks import GraphError, Node, Value, filled
from workbench.graph.ir import Graph

__all__ = ["check_repeats"]


def check_repeats(graph: Graph, again: Graph) -> None:
    """Raise `GraphError`, with the line, where the second trace of a function is not the first once more."""
    known = _alike(graph, again)
    for (node, _), (other, _) in zip_longest(graph.walk(), again.walk(), fillvalue=(None, None)):
        if (
            node is None
            or other is None
            or (node.callee is not other.callee and repr(node.callee) != repr(other.callee))
        ):
            raise _refusal(node or other, "it calls other functions")
        operands = zip(_plain(node, known), _plain(other, {}), strict=False)
        told = next(((one, two) for one, two in operands if one != two), None)
        if told is not None:
            raise _refusal(node, f"{_short(told[0])} and then {_short(told[1])}")
        known |= {value: twin.name for value, twin in zip(node.outputs, other.outputs, strict=False)}
    for value, twin in zip(graph.constants, again.constants, strict=False):
        if not _same(graph.constants[value], again.constants[twin]):
            reader = next((node for node, _ in graph.walk() if value in node.values), None)
            raise _refusal(reader, f"a tensor of other numbers, {value.name}")


def _alike(graph: Graph, again: Graph) -> dict[Value, str]:
    """Return what the values before the first node are called in the second trace."""
    return {one: two.name for one, two in zip(graph.given(), again.given(), strict=False)}


def _plain(node: Node, known: dict[Value, str]) -> list[str]:
    """Return the operands of a node as text, values by what they are called in the second trace."""
    named = filled((*node.inputs, *sorted(node.params.items())), lambda one: f"%{known.get(one, one.name)}")
    return [repr(one) for one in named]


def _same(one: Any, other: Any) -> bool:
    one, other = one.payload, other.payload
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return True
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"


def _refusal(node: Node | None, what: str) -> GraphError:
    line = f"{node.source}: " if node is not None and node.source else ""
    return GraphError(
        f"{line}the traced function is told something else each time it runs ({what}), and a graph would keep the "
        "first for good. Pass what it is told, such as the time or a random number, as an input"
    )
