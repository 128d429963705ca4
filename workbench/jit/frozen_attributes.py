"""Attributes of modules in graphs that are frozen: those that never change become constants."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from workbench.graph import Block, Graph, NamedFunction, Value, passes, walk
from workbench.graph.blocks import filled
from workbench.graph.walk import blocks

__all__ = ["decided", "paths_in"]


def paths_in(graph: Graph) -> Iterator[str]:
    """Yield the paths of the attributes that a graph reads or assigns."""
    for path, _ in _asked(graph, "operator.getitem", "operator.setitem"):
        yield path


def _asked(graph: Graph, *names: str) -> Iterator[tuple[str, Value]]:
    """Yield the calls that read, or assign, an attribute of the module: its path, and the value that it gives."""
    for node, _ in walk(graph):
        callee = node.callee
        if not isinstance(callee, NamedFunction) or callee.name not in names or not graph.inputs:
            continue
        if node.inputs[0] is graph.inputs[-1] and isinstance(node.inputs[1], str):
            yield node.inputs[1], node.outputs[0]


def decided(module: Any) -> dict[str, Graph]:
    """Return the graphs of a script with the attributes put in that no method assigns, and with what that decides."""
    graphs: dict[str, Graph] = module._graphs
    stateful = [name for name, one in module._boundaries.items() if one.stateful]
    changed = {path for name in stateful for path, _ in _asked(graphs[name], "operator.setitem")}
    return {
        name: _with_constants(graph, module, changed) if name in stateful else graph
        for name, graph in graphs.items()
    }


def _with_constants(graph: Graph, module: Any, changed: set[str]) -> Graph:
    graph = graph.copy()
    known: dict[Value, Any] = {}
    for path, value in _asked(graph, "operator.getitem"):
        found = operator.attrgetter(path)(module)
        if path not in changed and isinstance(found, bool | int | float | str):
            known[value] = found

    def put(value: Value) -> Any:
        return known.get(value, value)

    for block in blocks(graph):
        _put(block, put)
    return passes.dead_code(passes.unroll(graph))


def _put(block: Block, put: Any) -> None:
    block.outputs = filled(block.outputs, put)
    for node in block.nodes:
        node.inputs, node.params = filled(node.inputs, put), filled(node.params, put)
