"""Conditions of a script: what holds, and what is known of names where it does."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from workbench.graph.types import (
    ANY,
    BOOL,
    NONE,
    OptionalType,
    Type,
)
from workbench.jit.kinds import (
    OPAQUE,
    Item,
    ObjectKind,
    UnionKind,
)
from workbench.jit.scripting.builder import Flow, Variable
from workbench.jit.scripting.operators import Operators
from workbench.jit.scripting.things import Known

__all__ = ["Conditions", "Refined"]

Refined = dict[str, Type]
"""What names are known to be where a condition holds."""


class Conditions(Operators):
    """Reads conditions."""

    @abstractmethod
    def is_instance(self, tree: ast.expr, thing: ast.expr, classes: ast.expr) -> tuple[Any, Refined, Refined]:
        """Read ``isinstance(thing, classes)``."""

    def truth(self, item: Item, tree: ast.AST) -> Any:
        """Return the operand of a condition: True, False, or a value that is a bool."""
        if item.kind == BOOL:
            return item.operand
        if item.kind == NONE:
            return False
        self.refuse_none(item, tree, "a condition")
        if isinstance(item.kind, ObjectKind):
            found = self.magic(item, "__bool__", (), tree)
            if found is not None:
                return found.operand
        if item.operand is not None and isinstance(item.operand, int | float | str):
            return bool(item.operand)
        return self.emit("builtins.bool", (item.operand,), BOOL).operand

    def condition(self, tree: ast.expr) -> tuple[Any, Refined, Refined]:
        """Return the operand of a condition, and what names are known to be where it holds and where it does not."""
        before, self.tree = self.tree, tree
        try:
            return self._condition(tree)
        finally:
            self.tree = before

    def _condition(self, tree: ast.expr) -> tuple[Any, Refined, Refined]:
        match tree:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                found, holds, fails = self.condition(operand)
                return self._not(found).operand, fails, holds
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
            ):
                return self._is_none(left, isinstance(op, ast.Is))
            case ast.BoolOp(op=op, values=parts):
                return self._conditions(isinstance(op, ast.And), parts)
            case ast.Call(func=ast.Name(id="isinstance"), args=[thing, classes]) if (
                "isinstance" not in self.names
            ):
                return self.is_instance(tree, thing, classes)
            case ast.Call(func=ast.Attribute(attr="isinstance"), args=[thing, classes]):
                return self.is_instance(tree, thing, classes)
        return self.truth(self.value(tree), tree), {}, {}

    def _is_none(self, left: ast.expr, wanted: bool) -> tuple[Any, Refined, Refined]:
        thing = self.expression(left)
        if not isinstance(thing, Item):
            return (thing.value is None) is wanted if isinstance(thing, Known) else not wanted, {}, {}
        kind = thing.kind
        if kind == NONE:
            return wanted, {}, {}
        if isinstance(kind, OptionalType):
            rest: Type = kind.item
        elif isinstance(kind, UnionKind) and NONE in kind.options:
            others = tuple(one for one in kind.options if one != NONE)
            rest = others[0] if len(others) == 1 else UnionKind(others)
        elif kind in (ANY, OPAQUE):
            rest = kind
        else:
            return not wanted, {}, {}
        found = self.emit(
            "operator.is_" if wanted else "operator.is_not", (thing.operand, None), BOOL
        ).operand
        names: tuple[Refined, Refined] = ({}, {})
        if isinstance(left, ast.Name):
            names = ({left.id: NONE}, {left.id: rest})
        return (found, *(names if wanted else names[::-1]))

    def _conditions(self, every: bool, parts: list[ast.expr]) -> tuple[Any, Refined, Refined]:
        """Read ``a and b``, or ``a or b``, as a condition: the second is asked only where the first leaves it open."""
        first, holds, fails = self.condition(parts[0])
        if len(parts) == 1:
            return first, holds, fails
        if isinstance(first, bool) and first is not every:
            return first, {}, {}
        known = holds if every else fails
        more: list[Refined] = []

        def rest() -> Flow:
            self.refine(known)
            found, *both = self._conditions(every, parts[1:])
            more.extend(both)
            self.assign("$asked", Item(found, BOOL))
            return Flow.FALLS

        def decided() -> Flow:
            self.assign("$asked", Item(not every, BOOL))
            return Flow.FALLS

        self.names.pop("$asked", None)
        outer = dict(self.names)
        self.branch(first, rest if every else decided, decided if every else rest)
        found = self.flag("$asked")
        self.names = outer
        both = {**known, **(more[0] if every else more[1])}
        return (found, both, {}) if every else (found, {}, both)

    def refine(self, known: Refined) -> None:
        """Take names for what a condition says they are."""
        for name, kind in known.items():
            found = self.names.get(name)
            if isinstance(found, Variable) and isinstance(found.item, Item):
                operand = None if kind == NONE else found.item.operand
                self.names[name] = Variable(Item(operand, kind), found.declared or found.item.kind)

    # --------------------------------------------------------------------------------------- values by conditions

    def _and_or(self, tree: ast.BoolOp) -> Item:
        """Read ``a and b`` as a value: of one type, it is that of Python; else whether it holds."""
        every = isinstance(tree.op, ast.And)
        mark, names = len(self.block.nodes), dict(self.names)
        if len(tree.values) == 2 and not _asks_none(tree):
            one = self.value(tree.values[0])
            if one.kind not in (BOOL, NONE) and not isinstance(one.kind, OptionalType):
                decided = self.truth(one, tree)

                def second() -> Item:
                    return self.value(tree.values[1])

                def first() -> Item:
                    return one

                return self.chosen(tree, decided, *((second, first) if every else (first, second)))
        del self.block.nodes[mark:]
        self.names = names
        return Item(self._conditions(every, tree.values)[0], BOOL)

    def chosen(
        self, tree: ast.AST, condition: Any, first: Callable[[], Item], second: Callable[[], Item]
    ) -> Item:
        """Return the value of one of two expressions, of which only that one is computed."""
        if isinstance(condition, bool):
            return first() if condition else second()

        def write(one: Callable[[], Item]) -> Callable[[], Flow]:
            def branch() -> Flow:
                self.assign("$value", one())
                return Flow.FALLS

            return branch

        outer = dict(self.names)
        self.names.pop("$value", None)
        self.branch(condition, write(first), write(second))
        found = self.names.get("$value")
        self.names = outer
        if not isinstance(found, Variable):
            raise self.error(
                tree, getattr(found, "why", "").replace("$value", "the value"), "Let both be of one type"
            )
        return found.item  # type: ignore[no-any-return]

    def _if_else(
        self, tree: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr, wanted: Type | None
    ) -> Any:
        condition, holds, fails = self.condition(test)
        if isinstance(condition, bool):
            return self.expression(body if condition else orelse, wanted)

        def side(part: ast.expr, known: Refined) -> Callable[[], Item]:
            def read() -> Item:
                self.refine(known)
                item = self.value(part, wanted)
                # To one type where both may be of several; else it stays as narrow as it is.
                several = isinstance(wanted, UnionKind) or wanted == ANY
                return self.coerced(item, wanted, part, "what is asked for") if several and wanted else item

            return read

        return self.chosen(tree, condition, side(body, holds), side(orelse, fails))

    def _compare(self, tree: ast.Compare) -> Item:
        if any(isinstance(op, ast.Is | ast.IsNot) for op in tree.ops) and len(tree.ops) == 1:
            other = tree.comparators[0]
            if isinstance(other, ast.Constant) and other.value is None:
                return Item(self.condition(tree)[0], BOOL)
        left = self.value(tree.left)
        return self._chain(tree, left, list(zip(tree.ops, tree.comparators, strict=True)))

    def _chain(self, tree: ast.Compare, left: Item, rest: list[tuple[ast.cmpop, ast.expr]]) -> Item:
        (op, part), *more = rest
        right = self.value(part)
        found = self._compared(tree, op, left, right)
        if not more:
            return found
        no = Item(False, BOOL)
        return self.chosen(
            tree,
            self.truth(found, tree),
            lambda: self._as_bool(self._chain(tree, right, more), tree),
            lambda: no,
        )

    def _as_bool(self, item: Item, tree: ast.AST) -> Item:
        return Item(self.truth(item, tree), BOOL)


def _asks_none(tree: ast.expr) -> bool:
    """Say whether a condition asks whether something is None, or of a class: what follows then knows."""
    return any(
        (isinstance(one, ast.Constant) and one.value is None)
        or (isinstance(one, ast.Name) and one.id == "isinstance")
        for one in ast.walk(tree)
    )
