"""Graphs as text, in the style of TorchScript's; `workbench.graph.parse` reads it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.base.size_expressions import Symbol
from workbench.base.size_guards import Guard
from workbench.graph.blocks import Block, GraphError, Node, SubGraph, Value, called
from workbench.graph.ir import Graph
from workbench.graph.operand_text import size_names, written
from workbench.graph.rules import kind_of
from workbench.graph.symbols import bare, due, symbols

__all__ = ["asserted", "comment", "text", "where", "written_guards"]

Sizes = Callable[[Symbol], str]


def text(graph: Graph) -> str:
    """Return the graph, one node a line: ``%y : f32[N:2] = sum(%x, dim=(1,), keepdim=False)``.

    Functions that it calls stand in front of it; blocks stand below their node, indented. Types have the sizes of the
    trace. A size in an operand is written as what it is in every run, and what must hold of sizes stands on top.

    >>> import workbench as wb
    >>> print(text(wb.graph.trace(lambda x: x.reshape(x.numel()) if len(x) == 2 else x, wb.ones(2, 3))))
    graph(%x : f32[·=2, ·:3]):
      assert %x.shape[0] == 2  # ...
      %reshape : f32[·:6] = reshape(%x, sizes=(2*%x.shape[1],))  # ...
      return %reshape
    """
    parts = [_function(one, [], [], []) for one in graph.functions.values()]
    sizes = size_names(graph, _named)
    takes = [f"takes {_operand(graph.takes, sizes)}"] if graph.takes else []
    head = [f"{value!r} = parameter()" for value in graph.parameters]
    head += [f"{value!r} = constant()" for value in graph.constants]
    head += [f"{value!r} = seed({_drawn(graph, value, sizes)})" for value in graph.seeds]
    tail = [f"update %{value.name} = %{after.name}" for value, after in graph.updates.items()]
    return "\n\n".join([*parts, _function(graph, takes, head, tail)])


def written_guards(function: SubGraph) -> dict[Value, list[Guard]]:
    """Return the guards that have lines of their own, by the values behind which they stand.

    The others are those that nobody's line asked for and that the type of an input says, ``C=3``: a reader knows them.
    """
    shown = symbols(function)

    def told(guard: Guard) -> bool:
        own = bare(guard.left)
        if guard.source or guard.relation != "==" or own not in shown:
            return False
        value, dim = shown[own]
        return value in function.inputs and dim in value.tensor.fixed and guard.right == own.hint

    return {value: [one for one in guards if not told(one)] for value, guards in due(function).items()}


@dataclass(frozen=True)
class _Sizes:
    """What the sizes of a function are called, and which guards stand behind which values."""

    name: Sizes
    due: dict[Value, list[Guard]]

    def asserted(self, values: Iterable[Value]) -> Iterator[str]:
        for value in values:
            yield from asserted(self.due.get(value, ()), self.name)


def asserted(guards: Iterable[Guard], name: Sizes) -> Iterator[str]:
    """Yield guards as lines: ``assert %x.shape[0] > 4  # net.py:12``."""
    for one in guards:
        yield f"assert {one.written(name)}{comment(one.source)}"


def _function(function: SubGraph, takes: list[str], head: list[str], tail: list[str]) -> str:
    inputs = ", ".join(repr(one) for one in function.inputs)
    sizes = _Sizes(size_names(function, _named), written_guards(function))
    returned = _operand(function.outputs[0] if function.single else function.outputs, sizes.name)
    known = sizes.asserted(function.inputs)
    marked = [f"kind {function.kind!r}"] if function.kind else []
    body = [*marked, *takes, *known, *head, *_lines(function, sizes), *tail, f"return {returned}"]
    return "\n".join([f"{function.name}({inputs}):", *(f"  {line}" for line in body)])


def _drawn(graph: Graph, value: Value, sizes: Sizes) -> str:
    """Return how a value is drawn: nothing where it is a seed."""
    drawn = graph.noise.get(value)
    return "" if drawn is None else _arguments(drawn.operands, drawn.keywords, sizes)


def _arguments(operands: tuple[Any, ...], keywords: dict[str, Any], sizes: Sizes) -> str:
    found = [_operand(one, sizes) for one in operands]
    return ", ".join([*found, *(f"{key}={_operand(value, sizes)}" for key, value in keywords.items())])


def _lines(block: Block, sizes: _Sizes) -> Iterator[str]:
    for node in block.nodes:
        yield from _node(node, sizes)


def _node(node: Node, sizes: _Sizes) -> Iterator[str]:
    made = ", ".join(repr(one) for one in node.outputs)
    arguments = _arguments(node.inputs, node.params, sizes.name)
    writes = f" writes {', '.join(f'%{one.name}' for one in node.writes)}" if node.writes else ""
    colon = ":" if node.blocks else ""
    yield f"{made} = {called(node.callee)}({arguments}){writes}{colon}{where(node)}"
    # Refused here, as a text without the names of its blocks could not be read back.
    kind = kind_of(node.callee)
    if kind is None or len(kind.blocks) != len(node.blocks):
        raise GraphError(
            f"{node.name} has {len(node.blocks)} blocks, which no call of {called(node.callee)} has"
        )
    for name, block in zip(kind.blocks, node.blocks, strict=True):
        yield f"  {name}({', '.join(repr(one) for one in block.inputs)}):"
        yield from (f"    {line}" for line in (*sizes.asserted(block.inputs), *_lines(block, sizes)))
        yield f"    return {', '.join(_operand(one, sizes.name) for one in block.outputs)}"
    yield from sizes.asserted(node.outputs)


def _operand(operand: Any, sizes: Sizes) -> str:
    return written(operand, _named, sizes)


def _named(value: Value) -> str:
    return f"%{value.name}"


def where(node: Node) -> str:
    """Return where the node came from as a comment."""
    return comment(" · ".join(part for part in (".".join(node.scope), node.source) if part))


def comment(found: str) -> str:
    """Return a comment; a line break in a file's name must not begin another line."""
    # `splitlines` knows all the line breaks that a reader may split at.
    return "  # " + " ".join(found.splitlines()) if found else ""
