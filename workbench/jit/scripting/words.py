"""This room's own words, such as `annotate` and `isinstance`, in a script."""

from __future__ import annotations

import ast
import typing
from typing import Any

from workbench.graph.types import ANY, BOOL, NONE, TENSOR, ListType, OptionalType, Type
from workbench.jit import guards
from workbench.jit.kinds import (
    FutureKind,
    Item,
    RecordKind,
    UnionKind,
    fits,
    joined,
    lowered,
    optional,
)
from workbench.jit.scripting.conditions import Refined
from workbench.jit.scripting.functions import Functions

__all__ = ["Words"]


class Words(Functions):
    """Reads calls of the room's own words."""

    def call_word(self, value: Any, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call of one of this room's own words; None where it is none."""
        if value is guards.annotate or value is typing.cast:
            kind = self.annotations().kind(tree.args[0])
            return self.coerced(self.value(tree.args[1], kind), kind, tree.args[1], "what is annotated")
        if value is guards.is_scripting or value is guards.is_tracing:
            return Item(value is guards.is_scripting, BOOL)
        if value is guards.isinstance:
            return Item(self.condition(tree)[0], BOOL)
        if value is guards.fork:
            callee = self.expression(tree.args[0])
            call = ast.copy_location(
                ast.Call(func=tree.args[0], args=tree.args[1:], keywords=tree.keywords), tree
            )
            if isinstance(callee, Item):
                raise self.error(tree, "jit.fork takes a function")
            item = self.as_item(self.call(call, None), tree)
            return Item(item.operand, FutureKind(item.kind))
        if value is guards.wait:
            item = self.value(tree.args[0])
            return Item(item.operand, item.kind.item) if isinstance(item.kind, FutureKind) else item
        if value is guards._assert:
            test = ast.Assert(test=tree.args[0], msg=tree.args[1])
            self.statement(ast.copy_location(test, tree))
            return Item(None, NONE)
        return None

    def is_instance(self, tree: ast.expr, thing: ast.expr, classes: ast.expr) -> tuple[Any, Refined, Refined]:
        """Read ``isinstance(thing, classes)``: decided now where the type says it, else in the run."""
        read = self.annotations()
        parts = classes.elts if isinstance(classes, ast.Tuple | ast.List) else [classes]
        asked = [read.kind(one) for one in parts]
        found = self.expression(thing)
        if not isinstance(found, Item):
            known = getattr(found, "module", getattr(found, "value", None))
            kinds = tuple(
                one
                for part in parts
                if isinstance(one := getattr(self.expression(part), "value", None), type)
            )
            return isinstance(known, kinds), {}, {}
        options = _options(found.kind)
        yes = [one for one in options if any(_is(kind, one) for kind in asked)]
        no = [one for one in options if one not in yes]
        if found.kind == ANY:
            yes, no = asked, [ANY]
        if not no:
            return True, {}, {}
        if not yes:
            return False, {}, {}
        condition: Any = None
        for kind in yes:
            one = self.emit("wb.graph.holds", (found.operand, str(lowered(kind))), BOOL).operand
            condition = (
                one if condition is None else self.emit("operator.or_", (condition, one), BOOL).operand
            )
        names: tuple[Refined, Refined] = ({}, {})
        if isinstance(thing, ast.Name):
            names = ({thing.id: _one_of(yes)}, {thing.id: _one_of(no)})
        return (condition, *names)


def _options(kind: Type) -> list[Type]:
    if isinstance(kind, OptionalType):
        return [*_options(kind.item), NONE]
    return list(kind.options) if isinstance(kind, UnionKind) else [kind]


def _is(asked: Type, kind: Type) -> bool:
    """Say whether a value of a type is of the one that is asked for; a bare ``list`` asks for lists of anything."""
    if asked == ListType(TENSOR) and isinstance(kind, ListType):
        return True
    if isinstance(kind, RecordKind) and not isinstance(asked, RecordKind):
        return False
    return fits(asked, kind)


def _one_of(kinds: list[Type]) -> Type:
    rest = [one for one in kinds if one != NONE]
    whole = joined(rest) if len(rest) > 0 else NONE
    made = whole if whole is not None else UnionKind(tuple(rest))
    return optional(made) if len(rest) < len(kinds) and rest else made
