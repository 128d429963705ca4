"""What expressions give, as values of a graph: numbers, text, tuples, lists and dicts."""

from __future__ import annotations

import ast
from abc import abstractmethod
from types import EllipsisType
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.graph.types import (
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
)
from workbench.jit.kinds import (
    DEVICE,
    DTYPE,
    OPAQUE,
    EnumKind,
    Item,
    RecordKind,
    UnionKind,
    joined,
    kind_of_operand,
    shown,
)
from workbench.jit.scripting.builder import Builder
from workbench.jit.scripting.things import Known, Many, Part

__all__ = ["Values"]


class Values(Builder):
    """Makes values, and says what things are as values."""

    @abstractmethod
    def _expression(self, tree: ast.expr, wanted: Type | None) -> Any:
        """Read an expression of any kind."""

    @abstractmethod
    def call(self, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call."""

    @abstractmethod
    def part_attribute(self, part: Part, name: str, tree: ast.AST) -> Any:
        """Return an attribute of a module of layers."""

    @abstractmethod
    def part_item(self, part: Part, index: ast.expr, tree: ast.AST) -> Any:
        """Return an item of a list or dict of modules."""

    @abstractmethod
    def object_attribute(self, item: Item, name: str, tree: ast.AST) -> Any:
        """Return an attribute of an object of a scripted class."""

    @abstractmethod
    def comprehension(self, tree: ast.ListComp | ast.DictComp, wanted: Type | None) -> Item:
        """Read a comprehension."""

    @abstractmethod
    def generated(self, tree: ast.GeneratorExp) -> Many:
        """Read a generator over what is known while compiling, such as the items of a tuple."""

    @abstractmethod
    def magic(self, item: Item, name: str, others: tuple[Item, ...], tree: ast.AST) -> Item | None:
        """Call a special method of an object, where it has that one."""

    # ------------------------------------------------------------------------------------------------------ entry

    def value(self, tree: ast.expr, wanted: Type | None = None) -> Item:
        """Return the value of an expression; `wanted` is the type that is asked for, for what is empty."""
        return self.as_item(self.expression(tree, wanted), tree)

    def typed(self, tree: ast.expr, wanted: Type, what: str) -> Item:
        """Return the value of an expression as one of a type."""
        return self.coerced(self.value(tree, wanted), wanted, tree, what)

    def solid(self, tree: ast.expr, what: str) -> Item:
        """Return the value of an expression that cannot be None."""
        item = self.value(tree)
        self.refuse_none(item, tree, what)
        return item

    def refuse_none(self, item: Item, tree: ast.AST, what: str) -> None:
        """Raise where an item may be None, or is one of several types."""
        if isinstance(item.kind, OptionalType) or item.kind == NONE:
            raise self.error(
                tree, f"{what} needs a value, and this is {shown(item.kind)}",
                "Ask `if name is not None:` before, of a name in this function: it is no None in there",
            )  # fmt: skip
        if isinstance(item.kind, UnionKind):
            raise self.error(
                tree,
                f"{what} needs one type, and this is {shown(item.kind)}",
                "Ask `if isinstance(name, …):` before",
            )

    def expression(self, tree: ast.expr, wanted: Type | None = None) -> Any:
        """Return what an expression stands for: an `Item`, or what is known while compiling."""
        before, self.tree = self.tree, tree
        try:
            return self._expression(tree, wanted)
        finally:
            self.tree = before

    # ----------------------------------------------------------------------------------------------------- things

    def as_item(self, thing: Any, tree: ast.AST) -> Item:
        """Return a thing as a value; raise where it is none."""
        if isinstance(thing, Item):
            return thing
        if isinstance(thing, Known):
            found = self.constant_of(thing.value)
            if found is not None:
                return found
            raise self.error(tree, *_no_value(thing.value))
        if isinstance(thing, Many):
            items = [self.as_item(one, tree) for one in thing.things]
            return Item(tuple(one.operand for one in items), TupleType(tuple(one.kind for one in items)))
        if isinstance(thing, Part):
            raise self.error(
                tree,
                f"the module {thing.path or 'itself'} is no value of a run",
                "Call it, or read one of its attributes",
            )
        raise self.error(tree, "a function is no value of a run", "Call it")

    def constant_of(self, value: Any) -> Item | None:
        """Return an object of Python's as a literal; None where it is none that never changes."""
        kind = kind_of_operand(value)
        if kind is not None:
            return Item(value, kind)
        if isinstance(value, DType | np.dtype):
            return Item(value, DTYPE)
        if isinstance(value, Device):
            return Item(value, DEVICE)
        if isinstance(value, slice | EllipsisType):
            return Item(value, OPAQUE)
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            items = [self.constant_of(one) for one in value]
            known = [one for one in items if one is not None]
            if len(known) == len(items):
                return Item(tuple(one.operand for one in known), TupleType(tuple(one.kind for one in known)))
        return None

    def member(self, member: Any) -> Any:
        """Return a member of an enum."""
        value = kind_of_operand(getattr(member, "value", None))
        if value is None or not hasattr(member, "name"):
            return Known(member)
        return Item((member.name, member.value), EnumKind(type(member), value))

    # ------------------------------------------------------------------------------------------------------- text

    def text_of(self, parts: list[Any]) -> Item:
        """Return pieces of text as one."""
        if all(isinstance(one, str) for one in parts):
            return Item("".join(parts), TEXT)
        return Item(parts[0], TEXT) if len(parts) == 1 else self.emit("str.join", ("", parts), TEXT)

    def formatted(self, item: Item, words: Any) -> Item:
        """Return a value as text, as a format says."""
        if isinstance(item.kind, EnumKind):
            name = self.item_of(Item(item.operand, TupleType((TEXT, item.kind.value))), 0, self.tree)
            return self.emit("operator.add", (f"{item.kind.cls.__name__}.", name.operand), TEXT)
        return self.emit("builtins.format", (item.operand, words), TEXT)

    # ------------------------------------------------------------------------------------------------- containers

    def spread(self, elements: list[ast.expr], wanted: Type | None = None) -> list[Any]:
        """Return the things of a display, those of ``*items`` in their place."""
        found: list[Any] = []
        for i, one in enumerate(elements):
            if isinstance(one, ast.Starred):
                found += self.things_of(self.expression(one.value), one)
                continue
            inner = wanted.item if isinstance(wanted, ListType) else None
            if isinstance(wanted, TupleType) and i < len(wanted.items):
                inner = wanted.items[i]
            found.append(self.expression(one, inner))
        return found

    def things_of(self, thing: Any, tree: ast.AST) -> list[Any]:
        """Return what is in a tuple, of which it is known how many there are."""
        if isinstance(thing, Many):
            return list(thing.things)
        return list(self.items_of(self.as_item(thing, tree), tree))

    def items_of(self, item: Item, tree: ast.AST) -> list[Item]:
        """Return the items of a tuple."""
        if not isinstance(item.kind, TupleType | RecordKind):
            raise self.error(
                tree, f"it is not known how many items a {shown(item.kind)} has", "Write a tuple, or a loop"
            )
        return [self.item_of(item, i, tree) for i in range(len(item.kind.items))]

    def item_of(self, item: Item, place: int, tree: ast.AST) -> Item:
        """Return an item of a tuple."""
        assert isinstance(item.kind, TupleType | RecordKind)
        kind = item.kind.items[place]
        if isinstance(item.operand, tuple):
            return Item(item.operand[place], kind)
        return self.emit("operator.getitem", (item.operand, place), kind)

    def new_list(self, items: list[Item], wanted: Type | None, tree: ast.AST) -> Item:
        """Return a list of items."""
        kind = wanted
        if kind is None:
            # As in TorchScript: an empty list is one of tensors, until an annotation says otherwise.
            kind = joined(one.kind for one in items) if items else TENSOR
        if kind is None:
            several = dict.fromkeys(shown(one.kind) for one in items)
            raise self.error(
                tree, f"a list has items of one type, and here are {', '.join(several)}",
                "Write a tuple, or let all be of one type",
            )  # fmt: skip
        items = [self.coerced(one, kind, tree, "an item of the list") for one in items]
        return self.emit("list.copy", ([one.operand for one in items],), ListType(kind))

    def new_dict(self, pairs: list[tuple[Item, Item]], wanted: DictType | None, tree: ast.AST) -> Item:
        """Return a dict."""
        if wanted is None:
            key, value = (
                joined(one.kind for one in side) for side in (zip(*pairs, strict=True) if pairs else ((), ()))
            )
            if key is None or value is None:
                raise self.error(
                    tree, "a dict has keys of one type, and values of one type", "Let all be of one type"
                )
            wanted = DictType(key, value) if pairs else DictType(TEXT, TENSOR)
        made = self.emit("dict.copy", ({},), wanted)
        for key_, value_ in pairs:
            given = self.coerced(value_, wanted.value, tree, "a value of the dict")
            self.emit("operator.setitem", (made.operand, key_.operand, given.operand), NONE)
        return made


def _no_value(value: Any) -> tuple[str, str]:
    """Say why an object from around the function is no value of a script."""
    name = getattr(value, "__name__", type(value).__name__)
    if callable(value) or isinstance(value, type):
        return f"{name} is a function or class, and no value of a run", "Call it"
    return (
        f"python value of type '{type(value).__name__}' cannot be used as a value. It stands outside of the function, "
        "where it may change",
        "Pass it as an argument, or keep it in a module as an attribute",
    )
