"""Layers inside the loops and branches of a graph: what their modules give, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.graph import Graph, Node, Value
from workbench.graph.blocks import Block, Control, values_in
from workbench.graph.types import ANY, TENSOR, TensorType
from workbench.graph.walk import reads

__all__ = ["Turning", "scattered", "turning"]

MOST_TURNS = 16
"""Most turns of a layer that are offered; further ones are asked by their numbers all the same."""


@dataclass(frozen=True)
class Turning:
    """What a module inside loops and branches gives in each of its turns."""

    value: Value
    nodes: tuple[Node, ...]
    turns: int | None
    """How many there are to be; None where only a run knows."""
    looped: bool
    """Whether it is inside a loop, and not only in a branch, where it has one turn at most."""

    def offered(self, name: str) -> list[str]:
        """Return the names by which it is asked: of a loop whose turns nobody knows the first one's."""
        return (
            [f"{name}#{turn}" for turn in range(min(self.turns or 1, MOST_TURNS))] if self.looped else [name]
        )


def turning(graph: Graph) -> dict[str, Turning]:
    """Return by path the modules inside loops and branches that give one tensor, in one place of the graph.

    >>> import workbench as wb
    >>> class Again(wb.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = wb.nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         for _ in range(3):
    ...             x = self.fc(x)
    ...         return x
    >>> [(name, one.turns) for name, one in turning(wb.jit.script(Again().eval()).graph).items()]
    [('fc', 3)]
    """
    return {name: one for name, (one, *others) in _found(graph).items() if one is not None and not others}


def scattered(graph: Graph) -> set[str]:
    """Return the paths of modules that run in several places of which some are inside loops and branches.

    Their calls have no one order in which they could be counted.
    """
    return {name for name, places in _found(graph).items() if len(places) > 1}


def _found(graph: Graph) -> dict[str, list[Turning | None]]:
    """Return by path where modules inside loops and branches give something; None stands for a place outside."""
    found: dict[str, list[Turning | None]] = {}
    for node in graph.nodes:
        for name, one in _inside(node, 1, False):
            found.setdefault(name, []).append(one)
    outside = {node.scope[:length] for node in graph.nodes for length in range(1, len(node.scope) + 1)}
    for path in outside:
        found.get(".".join(path), []).append(None)
    return found


def _inside(control: Node, turns: int | None, looped: bool) -> Iterator[tuple[str, Turning]]:
    """Yield what the modules in the blocks of a node give, with their paths."""
    if control.callee is Control.LOOP:
        most = control.inputs[0]
        # As many turns as a loop has, each time that the loop around it turns.
        turns = turns * most if turns is not None and type(most) is int else None
        looped = True
    for block in control.blocks:
        paths = {node.scope[:length] for node in block.nodes for length in range(1, len(node.scope) + 1)}
        for path in sorted(paths):
            nodes = tuple(node for node in block.nodes if node.scope[: len(path)] == path)
            for value in _leaving(block, nodes):
                yield ".".join(path), Turning(value, nodes, turns, looped)
        for node in block.nodes:
            yield from _inside(node, turns, looped)


def _leaving(block: Block, nodes: tuple[Node, ...]) -> list[Value]:
    """Return the tensors that some nodes of a block make and others read."""
    read = set(values_in(block.outputs))
    for node in block.nodes:
        if node not in nodes:
            read.update(reads(node))
    made = (value for node in nodes for value in node.outputs)
    return [
        one for one in made if one in read and (isinstance(one.type, TensorType) or one.type in (ANY, TENSOR))
    ]
