"""What loops go over: how many turns there are, and what each is given."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.graph.types import (
    ANY,
    BOOL,
    INT,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import Item, RecordKind, shown
from workbench.jit.scripting.builder import Flow
from workbench.jit.scripting.expressions import Expressions
from workbench.jit.scripting.things import Known, Many, Part

__all__ = ["Turns", "TurnsOf"]


@dataclass
class Turns:
    """What a loop goes over."""

    count: Any
    """How many turns there are, an operand; for a list, which may grow while the loop goes over it, the list."""
    item: Callable[[Any], Any]
    """What the turn of a number is given."""
    grows: tuple[Any, ...] = ()
    """Lists whose length is asked before each turn."""


class TurnsOf(Expressions):
    """Finds the turns of a loop."""

    @abstractmethod
    def part_items(self, part: Part, tree: ast.AST) -> Any:
        """Return what a loop over a list or dict of modules goes over."""

    def turns_of(self, thing: Any, tree: ast.AST) -> Turns | list[Any]:
        """Return what a loop over a thing goes over: things that are known now, or turns of a run."""
        if isinstance(thing, Turns):
            return thing
        if isinstance(thing, Many):
            return list(thing.things)
        if isinstance(thing, Part):
            return list(self.part_items(thing, tree).things)
        if isinstance(thing, Known) and isinstance(thing.value, type) and hasattr(thing.value, "__members__"):
            return [self.member(one) for one in thing.value.__members__.values()]
        item = self.as_item(thing, tree)
        self.refuse_none(item, tree, "a loop")
        kind = item.kind
        if isinstance(kind, TupleType | RecordKind):
            return list(self.items_of(item, tree))
        if isinstance(kind, ListType):
            return Turns(None, lambda turn: self._at(item, turn, kind.item), (item.operand,))
        if isinstance(kind, DictType):
            keys = self.emit("builtins.list", (item.operand,), ListType(kind.key))
            return Turns(self._length(keys), lambda turn: self._at(keys, turn, kind.key))
        if kind in (TENSOR, TEXT):
            return Turns(self._length(item), lambda turn: self._at(item, turn, kind))
        raise self.error(
            tree,
            f"'{shown(kind)}' object is not iterable",
            "Write a range, a list, a tuple, a dict or a tensor",
        )

    def _at(self, item: Item, turn: Any, kind: Type) -> Item:
        return self.emit("operator.getitem", (item.operand, turn), kind)

    def _length(self, item: Item) -> Any:
        return self.emit("builtins.len", (item.operand,), INT).operand

    def range_of(self, items: list[Item], tree: ast.AST) -> Turns:
        """Return the turns of a ``range``."""
        for one in items:
            self.coerced(one, INT, tree, "a number of range")
        operands = tuple(one.operand for one in items)
        if len(operands) == 1:
            return Turns(operands[0], lambda turn: Item(turn, INT))
        whole = self.emit("builtins.range", operands, ANY)
        return Turns(self._length(whole), lambda turn: self._at(whole, turn, INT))

    def enumerated(self, thing: Any, start: Item, tree: ast.AST) -> Turns | Many:
        """Return the turns of an ``enumerate``."""
        turns = self.turns_of(thing, tree)
        if isinstance(turns, list):
            return Many(tuple(Many((self._counted(Item(i, INT), start), one)) for i, one in enumerate(turns)))
        return Turns(
            turns.count,
            lambda turn: Many((self._counted(Item(turn, INT), start), turns.item(turn))),
            turns.grows,
        )

    def _counted(self, turn: Item, start: Item) -> Item:
        if start.operand == 0 and isinstance(start.operand, int):
            return turn
        if isinstance(turn.operand, int) and isinstance(start.operand, int):
            return Item(turn.operand + start.operand, INT)
        return self.emit("operator.add", (start.operand, turn.operand), INT)

    def zipped(self, things: list[Any], tree: ast.AST) -> Turns | Many:
        """Return the turns of a ``zip``."""
        found = [self.turns_of(one, tree) for one in things]
        known = [one for one in found if isinstance(one, list)]
        if len(known) == len(found):
            return Many(tuple(Many(row) for row in zip(*known, strict=False)))
        if known:
            # Written out, as the items of a tuple may be of several types; the others must then have as many.
            fewest = min(map(len, known))
            if not all(isinstance(one, list) or one.grows for one in found):
                raise self.error(
                    tree,
                    "zip goes over tuples, or over what only a run knows the length of",
                    "Index with a range",
                )
            for one in found:
                if isinstance(one, Turns):
                    self._at_least(one.grows[0], fewest, tree)
            rows = [
                Many(tuple(one[i] if isinstance(one, list) else one.item(i) for one in found))
                for i in range(fewest)
            ]
            return Many(tuple(rows))
        turns = [one for one in found if isinstance(one, Turns)]
        counts = [one.count for one in turns if one.count is not None]
        count = counts[0] if len(counts) == 1 else None
        if len(counts) > 1:
            count = self.emit("builtins.min", tuple(counts), INT).operand
        grows = tuple(operand for one in turns for operand in one.grows)
        return Turns(count, lambda turn: Many(tuple(one.item(turn) for one in turns)), grows)

    def _at_least(self, operand: Any, count: int, tree: ast.AST) -> None:
        length = self.emit("builtins.len", (operand,), INT).operand
        short = self.emit("operator.lt", (length, count), BOOL).operand

        def refuse() -> Flow:
            message = f"zip: a list is shorter than the tuple of {count} beside it"
            self.emit("wb.graph.throw", ("ValueError", message), NONE)
            return Flow.DIES

        self.branch(short, refuse, lambda: Flow.FALLS)
