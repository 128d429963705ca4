"""Taking out what blocks hand on and nothing reads: until all is written, every name may be read."""

from __future__ import annotations

from typing import Any

from workbench.graph import Block, Control, Node, SubGraph, Value, walk
from workbench.graph.blocks import values_in
from workbench.graph.types import NONE

__all__ = ["tidy"]


def tidy(function: SubGraph) -> None:
    """Leave out results of control flow, and narrowed values, that nothing reads."""
    needed = _Needed(function)
    for block in [function, *(inner for node, _ in walk(function) for inner in node.blocks)]:
        block.nodes = [
            one for one in block.nodes if not (_narrows(one) and one.outputs[0] not in needed.values)
        ]
    for node, _ in list(walk(function)):
        if isinstance(node.callee, Control):
            _cut(node, needed.values)


def _narrows(node: Node) -> bool:
    return getattr(node.callee, "name", "") == "wb.graph.narrow"


class _Needed:
    """The values that something reads."""

    def __init__(self, function: SubGraph) -> None:
        self.values: set[Value] = set()
        self.inputs: dict[Value, tuple[Node, int]] = {}
        self.waiting: list[Value] = list(values_in(function.outputs))
        for node, _ in walk(function):
            self._enter(node)
        while self.waiting:
            value = self.waiting.pop()
            if value not in self.values:
                self.values.add(value)
                self._follow(value)

    def _enter(self, node: Node) -> None:
        if node.callee is Control.LOOP:
            self.inputs.update((value, (node, i)) for i, value in enumerate(node.blocks[0].inputs[1:]))
            self._read((node.inputs[:2], node.blocks[0].outputs[0]))
        elif not _narrows(node):
            # Whatever else there is runs: what it reads is read.
            self._read((node.inputs, list(node.params.values())))

    def _read(self, operand: Any) -> None:
        self.waiting += values_in(operand)

    def _follow(self, value: Value) -> None:
        if value in self.inputs:
            self._turns(*self.inputs[value])
            return
        node = value.node
        if node is None:
            return
        if node.callee is Control.IF:
            place = node.outputs.index(value)
            self._read(tuple(block.outputs[place] for block in node.blocks))
        elif node.callee is Control.LOOP:
            self._turns(node, node.outputs.index(value))
        elif _narrows(node):
            self._read(node.inputs)

    def _turns(self, node: Node, place: int) -> None:
        (body,) = node.blocks
        self._read((node.inputs[place + 2], body.outputs[place + 1], body.inputs[place + 1]))


def _cut(node: Node, needed: set[Value]) -> None:
    looped = node.callee is Control.LOOP
    first = node.blocks[0]
    kept = [
        i
        for i, value in enumerate(node.outputs)
        if value in needed or (looped and first.inputs[i + 1] in needed)
    ]
    if len(kept) == len(node.outputs):
        return
    if not kept:
        # A node gives something: the first, as None.
        node.outputs[0].type = NONE
        node.outputs = node.outputs[:1]
        for block in node.blocks:
            block.outputs = (block.outputs[0], None) if looped else (None,)
        if looped:
            first.inputs[1].type = NONE
            first.inputs, node.inputs = first.inputs[:2], (*node.inputs[:2], None)
        return
    node.outputs = tuple(node.outputs[i] for i in kept)
    for block in node.blocks:
        _keep(block, kept, looped)
    if looped:
        first.inputs = [first.inputs[0], *(first.inputs[i + 1] for i in kept)]
        node.inputs = (*node.inputs[:2], *(node.inputs[i + 2] for i in kept))


def _keep(block: Block, kept: list[int], looped: bool) -> None:
    head = block.outputs[:1] if looped else ()
    block.outputs = (*head, *(block.outputs[i + looped] for i in kept))
