"""Loops: turn by turn where their number is known and small, else a block that is followed once."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import int64
from workbench.graph import Block, Control, Node
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts import arithmetic
from workbench.onnx.scripts.branches import roots
from workbench.onnx.scripts.carried import (
    NUMBERS,
    as_value,
    copied,
    flat,
    given,
    is_number,
    joined,
    kind_of,
    put_together,
    result_of,
)
from workbench.onnx.scripts.memory import Memory, Slot, alike
from workbench.onnx.scripts.room import Kind
from workbench.onnx.scripts.rows import Items
from workbench.tensor import Tensor

__all__ = ["UNROLLED", "turns"]

UNROLLED = 32
"""Most turns that are written out, where it is known how many there are: else the file has a loop."""

_ROUNDS = 12
"""How often a block is followed until what it carries has one type: each round knows less of it than the one before."""

_NUMBER = Kind(int64, (), (), ())


def turns(run: Any, node: Node, most: Any, condition: Any, *carried: Any) -> tuple[Any, ...]:
    """Return what a loop carries at its end."""
    (body,) = node.blocks
    turn = 0
    while not arithmetic.is_open(condition) and _is_few(most):
        if not condition or (most is not None and turn >= most):
            return carried
        if turn >= UNROLLED:
            break  # of a `while` it is not known how many are to come
        run.known.update(zip(body.inputs, (turn, *carried), strict=True))
        condition, *rest = run.leave(body)
        carried, turn = tuple(rest), turn + 1
    if type(most) is int:
        most = max(most - turn, 0)
    elif most is not None and turn:
        most = run.room.number(most) - turn
    return _Loop(run, body, turn, carried).written(most, condition)


def _is_few(most: Any) -> bool:
    return most is None or (type(most) is int and most <= UNROLLED)


class _Loop:
    """A loop whose block is followed until what it carries, and what it changes, has one type in all turns."""

    def __init__(self, run: Any, body: Block, turn: int, carried: tuple[Any, ...]) -> None:
        self.run, self.room, self.body, self.turn = run, run.room, body, turn
        self.leaves: list[Any] = []
        self.shape = flat(carried, self.leaves)
        types = [one.type for one in body.inputs[1:]]
        # A leaf is one that is carried, where no tuple is among them.
        self.types = types if len(types) == len(self.leaves) else [None] * len(self.leaves)
        self.kinds: list[Any] = [self._begun(i) for i in range(len(self.leaves))]
        """What is known of each leaf; None for one that is the same in all turns."""
        self.slots: dict[Slot, Any] = {}
        """What turns change beside, and what is known of it."""

    def _begun(self, i: int) -> Any:
        one = self.leaves[i]
        if isinstance(one, Tensor) or (is_number(one) and self.types[i] in NUMBERS):
            return kind_of(self.room, one, self.types[i])
        return None

    def written(self, most: Any, condition: Any) -> tuple[Any, ...]:
        """Write the loop, and return what it carries at its end."""
        room = self.room
        asked = len(room.tracer.sizes.guards)
        for _ in range(_ROUNDS):
            room.forget(asked)
            before = Memory(roots(self.run))
            made = Block()
            with self.run.inside(made):
                stable = self._followed(made, before)
            before.restore()
            if stable:
                break
        else:
            raise OnnxError("a loop carries what has no one type in all its turns")
        open_ = [i for i, kind in enumerate(self.kinds) if kind is not None]
        kinds = [*(self.kinds[i] for i in open_), *self.slots.values()]
        first = [as_value(room, self.leaves[i], self.kinds[i]) for i in open_]
        first += [as_value(room, slot.get(), kind) for slot, kind in self.slots.items()]
        if isinstance(condition, Tensor):
            condition = arithmetic.item(room, condition, "bool")
        ends = room.insert(
            Control.LOOP,
            [most, condition, *first],
            [kind if isinstance(kind, Kind) else None for kind in kinds],
            "loop",
            blocks=[made],
        )
        found = [result_of(one, kind) for one, kind in zip(ends, kinds, strict=True)]
        for i, one in zip(open_, found, strict=False):
            self.leaves[i] = one
        for slot, one in zip(self.slots, found[len(open_) :], strict=True):
            slot.put(one)
        result: tuple[Any, ...] = put_together(self.shape, iter(self.leaves))
        return result

    def _followed(self, made: Block, before: Memory) -> bool:
        """Follow the block once; say whether what was known of the carried values holds, and know less if not."""
        room, run, body = self.room, self.run, self.body
        turn = room.given("turn", _NUMBER)
        stands = [
            one if kind is None else given(room, value.name, kind)
            for one, kind, value in zip(self.leaves, self.kinds, self._named(), strict=True)
        ]
        changing = {slot: given(room, "carried", kind) for slot, kind in self.slots.items()}
        held = {slot: copied(slot.get()) for slot in self.slots}
        for slot, one in changing.items():
            slot.put(one)
        inputs = [turn, *(one for one, kind in zip(stands, self.kinds, strict=True) if kind is not None)]
        made.inputs = [_value(room, one) for one in (*inputs, *changing.values())]
        given_now = put_together(self.shape, iter(stands))
        place = turn + self.turn if self.turn else turn
        run.known.update(zip(body.inputs, (place, *given_now), strict=True))
        again, *rest = run.leave(body)
        after: list[Any] = []
        if flat(tuple(rest), after) != self.shape:
            raise OnnxError("a loop carries tuples or dicts of other lengths or keys from turn to turn")
        slots = {slot: copied(slot.get()) for slot in before.changed()}
        stable = self._compared(after, slots, held, before)
        if stable:
            condition = arithmetic.item(room, again, "bool") if isinstance(again, Tensor) else bool(again)
            outputs = [
                as_value(room, one, kind)
                for one, kind in zip(after, self.kinds, strict=True)
                if kind is not None
            ]
            outputs += [
                as_value(room, slots.get(slot, changing[slot]), kind) for slot, kind in self.slots.items()
            ]
            made.outputs = (room.operand(condition), *outputs)
        return stable

    def _compared(
        self, after: list[Any], slots: dict[Slot, Any], held: dict[Slot, Any], before: Memory
    ) -> bool:
        """Take in what a turn gives; say whether nothing new was learnt."""
        stable = True
        for i, (one, now) in enumerate(zip(self.leaves, after, strict=True)):
            known = self.kinds[i]
            if known is None:
                if alike(one, now):
                    continue
                known = kind_of(self.room, one, self.types[i])
                self.kinds[i] = self._less(known, now, self.types[i])
                stable = False
            else:
                self.kinds[i] = self._less(known, now, self.types[i])
                stable &= self.kinds[i] == known
        for slot, now in slots.items():
            if slot not in self.slots:
                self.slots[slot] = self._less(kind_of(self.room, before.was(slot)), now, None)
                stable = False
            else:
                known, self.slots[slot] = self.slots[slot], self._less(self.slots[slot], now, None)
                stable &= self.slots[slot] == known
        return stable

    def _less(self, known: Any, now: Any, static: Any) -> Any:
        """Return what is known of a value that is one of two: seen from around the block, which is open still."""
        room = self.room
        found = kind_of(room, now, static)
        block = room.open.pop()
        try:
            return joined(room, known, found, "what a loop carries")
        finally:
            room.open.append(block)

    def _named(self) -> list[Any]:
        inputs = self.body.inputs[1:]
        return list(inputs) if len(inputs) == len(self.leaves) else [self.body.inputs[0]] * len(self.leaves)


def _value(room: Any, one: Any) -> Any:
    if isinstance(one, Items):
        assert one.row is not None
        return one.row.value
    return room.operand(one)
