"""`if` where only a run decides: both ways are followed, and what they give becomes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.base.symbolic_size import SymbolicNumber
from workbench.graph import Block, Control, Node
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts import arithmetic
from workbench.onnx.scripts.carried import as_value, copied, flat, joined, kind_of, put_together, result_of
from workbench.onnx.scripts.memory import Memory, Slot, alike
from workbench.tensor import Tensor

__all__ = ["Thrown", "either", "roots"]


class Thrown(Exception):
    """A script came to a `raise`: what it says, and where."""

    def __init__(self, kind: str, message: Any, source: str) -> None:
        super().__init__(kind, message)
        self.line = f"{source}: {kind}" + (f": {message}" if isinstance(message, str) and message else "")


@dataclass
class _Way:
    """What one block does."""

    made: Block = field(default_factory=Block)
    outputs: tuple[Any, ...] = ()
    thrown: Thrown | None = None
    changed: dict[Slot, Any] = field(default_factory=dict)


def roots(run: Any) -> list[Any]:
    """Return what a script can reach at this moment."""
    return [one for frame in run.frames for one in frame.known.values()]


def either(run: Any, node: Node, condition: Any) -> tuple[Any, ...]:
    """Return what an `if` gives: of a decided one what its block gives, else both ways in one."""
    room = run.room
    question = room.questions.get(id(condition.payload)) if isinstance(condition, Tensor) else None
    if isinstance(condition, Tensor):
        condition = arithmetic.item(room, condition, "bool")
    elif isinstance(condition, SymbolicNumber):
        condition = room.number(condition) != 0
    else:
        return tuple(run.leave(node.blocks[0 if condition else 1]))
    ways, slots = _followed(run, node)
    for i, way in enumerate(ways):
        if way.thrown is not None:
            if ways[1 - i].thrown is not None:
                raise way.thrown
            # A file raises nothing: what is computed where the script goes on is written.
            room.said.append(way.thrown.line)
            return tuple(run.leave(node.blocks[1 - i]))
    try:
        return _joined(run, node, condition, ways, slots)
    except OnnxError:
        if question is None or run.room.inside:
            raise
    # Decided by today's sizes, as a trace does: the file says for which it holds.
    return tuple(run.leave(node.blocks[0 if question[1]() else 1]))


def _followed(run: Any, node: Node) -> tuple[list[_Way], list[Slot]]:
    """Follow both blocks, each from how things are now; return what they do, and the places that either changes."""
    before, ways = Memory(roots(run)), []
    for block in node.blocks:
        way = _Way()
        with run.inside(way.made):
            try:
                way.outputs = tuple(run.leave(block))
            except Thrown as thrown:
                way.thrown = thrown
            else:
                way.changed = {slot: copied(slot.get()) for slot in before.changed()}
        before.restore()
        ways.append(way)
    return ways, list(dict.fromkeys(slot for way in ways for slot in way.changed))


def _joined(run: Any, node: Node, condition: Any, ways: list[_Way], slots: list[Slot]) -> tuple[Any, ...]:
    room = run.room
    shapes, sides = [], []
    for way in ways:
        leaves: list[Any] = []
        shapes.append(flat(way.outputs, leaves))
        sides.append(leaves + [way.changed.get(slot, slot.get()) for slot in slots])
    if shapes[0] != shapes[1]:
        raise OnnxError("an if gives tuples or dicts of other lengths or keys one way than another")
    types = [one.type for one in node.outputs] if len(node.outputs) == len(shapes[0]) else []
    differing = [i for i, pair in enumerate(zip(*sides, strict=True)) if not alike(*pair)]
    kinds: dict[int, Any] = {}
    for i in differing:
        static = types[i] if i < len(types) and len(sides[0]) - len(slots) == len(types) else None
        found = []
        for way, side in zip(ways, sides, strict=True):
            with room.block(way.made):
                found.append(kind_of(room, side[i], static))
        kinds[i] = joined(room, found[0], found[1], "what an if gives")
    results = list(sides[0])
    if differing:
        for way, side in zip(ways, sides, strict=True):
            with room.block(way.made):
                way.made.outputs = tuple(as_value(room, side[i], kinds[i]) for i in differing)
        made = room.insert(
            Control.IF, [condition], [kinds[i] for i in differing], "if_", blocks=[way.made for way in ways]
        )
        for i, one in zip(differing, made, strict=True):
            results[i] = result_of(one, kinds[i])
    count = len(results) - len(slots)
    for slot, one in zip(slots, results[count:], strict=True):
        slot.put(one)
    found_: tuple[Any, ...] = put_together(shapes[0], iter(results[:count]))
    return found_
