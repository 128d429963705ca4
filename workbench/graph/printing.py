"""Graphs as text, in the style of TorchScript's; `workbench.graph.parse` reads it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.graph.blocks import Block, GraphError, Node, SubGraph, Value, called
from workbench.graph.ir import Graph
from workbench.graph.operand_text import written
from workbench.graph.rules import kind_of

__all__ = ["text", "where"]


def text(graph: Graph) -> str:
    """Return the graph, one node a line: ``%y : f32[N:2] = sum(%x, dim=(1,), keepdim=False)``.

    Functions that it calls stand in front of it; blocks stand below their node, indented.
    """
    parts = [_function(one, [], []) for one in graph.functions.values()]
    head = [f"{value!r} = parameter()" for value in graph.parameters]
    head += [f"{value!r} = constant()" for value in graph.constants]
    head += [f"{value!r} = seed()" for value in graph.seeds]
    tail = [f"update %{value.name} = %{after.name}" for value, after in graph.updates.items()]
    return "\n\n".join([*parts, _function(graph, head, tail)])


def _function(function: SubGraph, head: list[str], tail: list[str]) -> str:
    inputs = ", ".join(repr(one) for one in function.inputs)
    returned = _operand(function.outputs[0] if function.single else function.outputs)
    body = [*head, *_lines(function), *tail, f"return {returned}"]
    return "\n".join([f"{function.name}({inputs}):", *(f"  {line}" for line in body)])


def _lines(block: Block) -> Iterator[str]:
    for node in block.nodes:
        yield from _node(node)


def _node(node: Node) -> Iterator[str]:
    made = ", ".join(repr(one) for one in node.outputs)
    arguments = [_operand(one) for one in node.inputs]
    arguments += [f"{key}={_operand(value)}" for key, value in node.params.items()]
    writes = f" writes {', '.join(f'%{one.name}' for one in node.writes)}" if node.writes else ""
    colon = ":" if node.blocks else ""
    yield f"{made} = {called(node.callee)}({', '.join(arguments)}){writes}{colon}{where(node)}"
    kind = kind_of(node.callee)
    if kind is None or len(kind.blocks) != len(node.blocks):
        raise GraphError(
            f"{node.name} has {len(node.blocks)} blocks, which no call of {called(node.callee)} has"
        )
    for name, block in zip(kind.blocks, node.blocks, strict=True):
        yield f"  {name}({', '.join(repr(one) for one in block.inputs)}):"
        yield from (f"    {line}" for line in _lines(block))
        yield f"    return {', '.join(map(_operand, block.outputs))}"


def _operand(operand: Any) -> str:
    return written(operand, _named)


def _named(value: Value) -> str:
    return f"%{value.name}"


def where(node: Node) -> str:
    """Return where the node came from as a comment; a line break in a file's name must not begin another line."""
    found = " · ".join(part for part in (".".join(node.scope), node.source) if part)
    return "  # " + " ".join(found.splitlines()) if found else ""
