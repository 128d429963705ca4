"""Comprehensions, and generators over what is known while compiling."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from workbench.graph import Value
from workbench.graph.types import (
    INT,
    NEVER,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    Type,
)
from workbench.jit.kinds import Item, joined, lowered
from workbench.jit.scripting.builder import Flow
from workbench.jit.scripting.control import Loops
from workbench.jit.scripting.things import Many

__all__ = ["Comprehensions"]


class Comprehensions(Loops):
    """Reads comprehensions."""

    def comprehension(self, tree: ast.ListComp | ast.DictComp, wanted: Type | None) -> Item:
        """Read a comprehension: a list or dict that a loop fills."""
        outer = dict(self.names)
        listed = isinstance(tree, ast.ListComp)
        made = self.emit("list.copy" if listed else "dict.copy", ([] if listed else {},), ListType(NEVER))
        kinds: list[tuple[Type, ...]] = []

        def fill() -> None:
            if isinstance(tree, ast.ListComp):
                inner = wanted.item if isinstance(wanted, ListType) else None
                item = self.value(tree.elt, inner)
                kinds.append((item.kind,))
                self.emit("list.append", (made.operand, item.operand), NONE)
            else:
                key, value = self.value(tree.key), self.value(tree.value)
                kinds.append((key.kind, value.kind))
                self.emit("operator.setitem", (made.operand, key.operand, value.operand), NONE)

        self._generate(tree.generators, fill)
        found = [joined(column) for column in zip(*kinds, strict=True)] or [
            TENSOR if listed else TEXT,
            TENSOR,
        ]
        parts = [one for one in found if one is not None]
        if len(parts) != len(found):
            raise self.error(
                tree, "a comprehension gives items of one type, and here are several", "Write a tuple"
            )
        kind: Type = ListType(parts[0]) if listed else DictType(parts[0], parts[1])
        if wanted is not None and not kinds:
            kind = wanted
        made.operand.type = lowered(kind)
        self.names = outer
        return Item(made.operand, kind)

    def generated(self, tree: ast.GeneratorExp) -> Many:
        """Read a generator over what is known while compiling, such as the items of a tuple."""
        outer, found = dict(self.names), []
        first = tree.generators[0]
        turns = self.turns_of(self.expression(first.iter), first.iter)
        if not isinstance(turns, list) or len(tree.generators) > 1 or first.ifs:
            raise self.error(tree, "generators aren't supported", "Write a list: [… for …]")
        for one in turns:
            self.bind(first.target, one)
            found.append(self.expression(tree.elt))
        self.names = outer
        return Many(tuple(found))

    def _generate(self, generators: list[ast.comprehension], fill: Callable[[], None]) -> None:
        if not generators:
            fill()
            return
        first, *rest = generators
        turns = self.turns_of(self.expression(first.iter), first.iter)

        def turn_of(thing: Any) -> Flow:
            self.bind(first.target, thing)
            return self._filtered(first.ifs, lambda: self._generate(rest, fill))

        if isinstance(turns, list):
            for one in turns:
                turn_of(one)
            return
        turn = Value(self.fresh("turn"), INT)
        goes: list[Any] = []

        def write() -> Flow:
            flow = turn_of(turns.item(turn))
            following = self.emit("operator.add", (turn, 1), INT).operand if turns.grows else None
            goes.append(self._goes_on(turns, following) if turns.grows else True)
            return flow

        start = self._goes_on(turns, 0) if turns.grows else True
        block, _, _ = self.enclosed(write, [turn])
        block.outputs = (goes[0],)
        self._finish(turns.count, start, block, [], {}, {}, [])

    def _filtered(self, tests: list[ast.expr], fill: Callable[[], None]) -> Flow:
        if not tests:
            fill()
            return Flow.FALLS
        condition, holds, _ = self.condition(tests[0])

        def write() -> Flow:
            self.refine(holds)
            return self._filtered(tests[1:], fill)

        return self.branch(condition, write, lambda: Flow.FALLS)
