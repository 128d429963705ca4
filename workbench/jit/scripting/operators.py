"""Operators and comparisons of a script."""

from __future__ import annotations

import ast
import operator
from typing import Any

from workbench.graph.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    TENSOR,
    TEXT,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import (
    NUMBER,
    EnumKind,
    Item,
    ObjectKind,
    joined,
    kind_of_operand,
    shown,
)
from workbench.jit.scripting.values import Values

__all__ = ["EXAMPLES", "NUMBERS", "Operators"]

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}

EXAMPLES: dict[Type, Any] = {INT: 1, FLOAT: 1.0, BOOL: True, COMPLEX: 1j, TEXT: "a"}

NUMBERS = (INT, FLOAT, BOOL, COMPLEX, NUMBER)


class Operators(Values):
    """Reads operators of values."""

    def operated(self, tree: ast.AST, name: str, one: Item, other: Item) -> Item:
        """Return what an operator of two operands gives."""
        self.refuse_none(one, tree, f"operator {name.strip('_')}")
        self.refuse_none(other, tree, f"operator {name.strip('_')}")
        kinds = (one.kind, other.kind)
        if isinstance(one.kind, ObjectKind) or isinstance(other.kind, ObjectKind):
            found = self.magic(one, f"__{name.strip('_')}__", (other,), tree)
            if found is not None:
                return found
        if isinstance(one.kind, TupleType) and isinstance(other.kind, TupleType) and name == "add":
            first, second = self.items_of(one, tree), self.items_of(other, tree)
            items = [*first, *second]
            return Item(tuple(x.operand for x in items), TupleType(tuple(x.kind for x in items)))
        if one.kind == TEXT and name == "mod":
            # Python's own formatting: what does not fit its template, it refuses in the run.
            return self.emit("operator.mod", (one.operand, other.operand), TEXT)
        kind = self._kind_of_operation(name, *kinds)
        if kind is None:
            raise self.error(
                tree, f"operator {name.strip('_')} takes no {shown(kinds[0])} and {shown(kinds[1])}"
            )
        made = self.emit(
            f"operator.{name}",
            (one.operand, other.operand),
            ANY if kinds == (INT, INT) and name == "pow" else kind,
        )
        if name == "pow" and kinds in ((INT, INT), (BOOL, INT), (INT, BOOL), (BOOL, BOOL)):
            # Only the sign of the exponent says whether it is whole.
            whole = isinstance(other.operand, int) and other.operand >= 0
            return self.emit(
                "builtins.int" if whole else "builtins.float", (made.operand,), INT if whole else FLOAT
            )
        return made

    def _kind_of_operation(self, name: str, one: Type, other: Type) -> Type | None:
        if TENSOR in (one, other):
            return TENSOR if {one, other} <= {TENSOR, *NUMBERS} else None
        if one in EXAMPLES and other in EXAMPLES:
            if name == "pow":
                # A root of a negative number is complex in Python: what it is, the run says.
                return (
                    ANY
                    if COMPLEX not in (one, other) and FLOAT not in (one, other)
                    else COMPLEX
                    if COMPLEX in (one, other)
                    else FLOAT
                )
            if one == TEXT and name == "mod":
                return None
            try:
                return kind_of_operand(getattr(operator, name)(EXAMPLES[one], EXAMPLES[other]))
            except (TypeError, ValueError):
                return None
        if one in NUMBERS and other in NUMBERS:
            return NUMBER
        if isinstance(one, ListType) and isinstance(other, ListType) and name == "add":
            return joined((one, other))
        if isinstance(one, ListType) and other == INT and name == "mul":
            return one
        if one == INT and isinstance(other, ListType) and name == "mul":
            return other
        return None

    def _unary(self, tree: ast.expr, name: str, operand: ast.expr) -> Item:
        item = self.solid(operand, f"operator {name}")
        if isinstance(item.operand, int | float) and not isinstance(item.operand, bool) and name == "neg":
            return Item(-item.operand, item.kind)
        if isinstance(item.kind, ObjectKind):
            found = self.magic(item, f"__{name}__", (), tree)
            if found is not None:
                return found
        if item.kind in (TENSOR, NUMBER):
            return self.emit(f"operator.{name}", (item.operand,), item.kind)
        if item.kind in (INT, FLOAT, BOOL, COMPLEX):
            try:
                kind = kind_of_operand(getattr(operator, name)(EXAMPLES[item.kind]))
            except TypeError:
                kind = None
            if kind is not None:
                return self.emit(f"operator.{name}", (item.operand,), kind)
        raise self.error(tree, f"operator {name} takes no {shown(item.kind)}")

    def _not(self, condition: Any) -> Item:
        if isinstance(condition, bool):
            return Item(not condition, BOOL)
        return self.emit("operator.not_", (condition,), BOOL)

    def _compared(self, tree: ast.AST, op: ast.cmpop, one: Item, other: Item) -> Item:
        if isinstance(op, ast.Is | ast.IsNot):
            name = "operator.is_" if isinstance(op, ast.Is) else "operator.is_not"
            if isinstance(one.kind, EnumKind):  # members are what they are equal to
                name = "operator.eq" if isinstance(op, ast.Is) else "operator.ne"
            return self.emit(name, (one.operand, other.operand), BOOL)
        if isinstance(op, ast.In | ast.NotIn):
            self.refuse_none(other, tree, "in")
            found = (
                self.magic(other, "__contains__", (one,), tree)
                if isinstance(other.kind, ObjectKind)
                else None
            )
            found = found or self.emit("operator.contains", (other.operand, one.operand), BOOL)
            return found if isinstance(op, ast.In) else self._not(found.operand)
        name = _COMPARE[type(op)]
        if isinstance(one.kind, ListType) != isinstance(other.kind, ListType):
            # A shape is a list in a script, and a tuple where code runs as Python: both are equal to either.
            one, other = self._as_list(one, tree), self._as_list(other, tree)
        if isinstance(one.kind, ObjectKind):
            own = self.magic(one, f"__{name}__", (other,), tree)
            if own is not None:
                return own
        if TENSOR in (one.kind, other.kind):
            if NONE in (one.kind, other.kind):
                raise self.error(tree, "a Tensor is compared with None by its values", "Write `is None`")
            self.refuse_none(one, tree, "a comparison")
            self.refuse_none(other, tree, "a comparison")
            return self.emit(f"operator.{name}", (one.operand, other.operand), TENSOR)
        if name not in ("eq", "ne"):
            self.refuse_none(one, tree, "a comparison")
            self.refuse_none(other, tree, "a comparison")
            alike = {one.kind, other.kind} <= set(NUMBERS) - {COMPLEX} or joined(
                (one.kind, other.kind)
            ) is not None
            if not alike:
                raise self.error(tree, f"{shown(one.kind)} and {shown(other.kind)} have no order")
        return self.emit(f"operator.{name}", (one.operand, other.operand), BOOL)

    def _as_list(self, item: Item, tree: ast.AST) -> Item:
        """Return a tuple of items of one type as a list; anything else as it is."""
        if not isinstance(item.kind, TupleType):
            return item
        items = self.items_of(item, tree)
        kinds = {one.kind for one in items}
        return self.new_list(list(items), None, tree) if len(kinds) == 1 else item
