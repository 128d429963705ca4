"""Subscripts of a script."""

from __future__ import annotations

import ast
from enum import Enum as _Enum
from typing import Any

from workbench.graph.types import (
    NEVER,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import (
    Item,
    ObjectKind,
    RecordKind,
    joined,
    shown,
)
from workbench.jit.scripting.conditions import Conditions
from workbench.jit.scripting.things import Known, Many, Part

__all__ = ["Subscripts"]


class Subscripts(Conditions):
    """Reads what stands in square brackets."""

    def _subscript(self, tree: ast.Subscript, thing: Any, index: ast.expr) -> Any:
        if isinstance(thing, Many):
            place = self._place(index, len(thing.things))
            return Many(thing.things[place]) if isinstance(place, slice) else thing.things[place]
        if isinstance(thing, Part):
            return self.part_item(thing, index, tree)
        if isinstance(thing, Known) and isinstance(thing.value, type) and issubclass(thing.value, _Enum):
            key = self.value(index)
            if isinstance(key.operand, str) and key.operand in thing.value.__members__:
                return self.member(thing.value[key.operand])
        item = self.as_item(thing, tree)
        self.refuse_none(item, tree, "a subscript")
        return self.item_at(item, index, tree)

    def item_at(self, item: Item, index: ast.expr, tree: ast.AST) -> Item:
        """Return what stands in a value at an index."""
        kind = item.kind
        if isinstance(kind, TupleType | RecordKind):
            return self._tuple_at(item, index, tree)
        operand = self.index(index)
        sliced = isinstance(operand, slice)
        found: Type | None = None
        if kind == TENSOR:
            found = TENSOR
        elif isinstance(kind, ListType):
            found = kind if sliced else kind.item
        elif isinstance(kind, DictType):
            found = kind.value
        elif kind == TEXT:
            found = TEXT
        elif isinstance(kind, ObjectKind):
            own = self.magic(item, "__getitem__", (self.value(index),), tree)
            if own is not None:
                return own
        if found is None:
            raise self.error(tree, f"{shown(kind)} has no items")
        return self.emit("operator.getitem", (item.operand, operand), found)

    def _tuple_at(self, item: Item, index: ast.expr, tree: ast.AST) -> Item:
        assert isinstance(item.kind, TupleType | RecordKind)
        place = self._place(index, len(item.kind.items), any_index=True)
        if isinstance(place, slice):
            items = self.items_of(item, tree)[place]
            return Item(tuple(one.operand for one in items), TupleType(tuple(one.kind for one in items)))
        if isinstance(place, int):
            return self.item_of(item, place, tree)
        kind = joined(item.kind.items)
        if kind is None or kind == NEVER:
            raise self.error(
                tree, "the items of this tuple have several types, and only a run knows which is asked for",
                "Write the number of the item, or make it a list",
            )  # fmt: skip
        return self.emit("operator.getitem", (item.operand, place), kind)

    def _place(self, index: ast.expr, count: int, any_index: bool = False) -> Any:
        """Return an index that is known while compiling."""
        operand = self.index(index)
        if isinstance(operand, slice):
            parts = (operand.start, operand.stop, operand.step)
            if all(one is None or isinstance(one, int) for one in parts):
                return operand
        elif isinstance(operand, int):
            if not -count <= operand < count:
                raise self.error(index, f"there are {count} items, and none at {operand}")
            return operand % count
        elif any_index:
            return operand
        raise self.error(
            index, "this index must be a number that is written here", "A loop over the items works, too"
        )

    def index(self, tree: ast.expr) -> Any:
        """Return an index as an operand: slices, ``…`` and None stand for themselves."""
        match tree:
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(
                    *(None if one is None else self.value(one).operand for one in (lower, upper, step))
                )
            case ast.Constant(value=plain) if plain is Ellipsis:
                return plain
            case ast.Tuple(elts=parts) if parts:
                return tuple([self.index(one) for one in parts])
        return self.value(tree).operand
