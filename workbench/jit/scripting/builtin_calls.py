"""Calls of Python's builtins."""

from __future__ import annotations

import ast
from typing import Any

from workbench.graph.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import (
    NUMBER,
    EnumKind,
    Item,
    ObjectKind,
    RecordKind,
    joined,
    shown,
)
from workbench.jit.scripting.methods import Methods
from workbench.jit.scripting.operators import NUMBERS
from workbench.jit.scripting.things import Many, Part

__all__ = ["BUILTINS", "BuiltinCalls"]


BUILTINS = (
    print, len, abs, int, float, bool, str, range, enumerate, zip, reversed, list, dict, tuple, sorted, any, all, sum,
    round, min, max, ord, chr, hex, divmod, isinstance, hasattr, getattr, super,
)  # fmt: skip


class BuiltinCalls(Methods):
    """Reads calls of Python's builtins."""

    def _one(self, tree: ast.Call, name: str) -> Item:
        if len(tree.args) != 1 or tree.keywords:
            raise self.error(tree, f"{name} takes one argument in a script")
        return self.solid(tree.args[0], f"{name}()")

    def _call_print(self, tree: ast.Call, wanted: Type | None) -> Item:
        inputs, params = self.operands(self.arguments(tree), tree)
        keywords = {key: one.operand for key, one in params.items()}
        return self.emit("builtins.print", tuple(one.operand for one in inputs), NONE, **keywords)

    def _call_len(self, tree: ast.Call, wanted: Type | None) -> Any:
        thing = self.expression(tree.args[0]) if tree.args else None
        if isinstance(thing, Many):
            return Item(len(thing.things), INT)
        if isinstance(thing, Part):
            return Item(len(thing.module), INT)
        item = self._one(tree, "len")
        if isinstance(item.kind, TupleType | RecordKind):
            return Item(len(item.kind.items), INT)
        if isinstance(item.kind, ObjectKind):
            return self.magic(item, "__len__", (), tree)
        if not (isinstance(item.kind, ListType | DictType) or item.kind in (TEXT, TENSOR)):
            raise self.error(tree, f"{shown(item.kind)} has no length")
        return self.emit("builtins.len", (item.operand,), INT)

    def _call_abs(self, tree: ast.Call, wanted: Type | None) -> Item:
        item = self._one(tree, "abs")
        kind = item.kind if item.kind in (TENSOR, NUMBER) else self._by_example(abs, [item.kind])
        if kind is None:
            raise self.error(tree, f"abs takes no {shown(item.kind)}")
        return self.emit("builtins.abs", (item.operand,), kind)

    def _converted(self, tree: ast.Call, name: str, kind: Type) -> Item:
        if not tree.args:
            return Item({"int": 0, "float": 0.0, "bool": False, "str": ""}[name], kind)
        if len(tree.args) == 2 and name == "int":
            text, base = self.value(tree.args[0]), self.value(tree.args[1])
            return self.emit("builtins.int", (text.operand, base.operand), INT)
        if name == "bool":
            return Item(self.truth(self.value(tree.args[0]), tree), BOOL)
        item = self.value(tree.args[0])
        if name != "str":
            self.refuse_none(item, tree, f"{name}()")
            if item.kind not in (*NUMBERS, TENSOR, TEXT):
                raise self.error(tree, f"{name}() takes no {shown(item.kind)}")
        elif isinstance(item.kind, EnumKind):
            return self.formatted(item, "")
        return self.emit(f"builtins.{name}", (item.operand,), kind)

    def _call_int(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self._converted(tree, "int", INT)

    def _call_float(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self._converted(tree, "float", FLOAT)

    def _call_bool(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self._converted(tree, "bool", BOOL)

    def _call_str(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self._converted(tree, "str", TEXT)

    def _call_range(self, tree: ast.Call, wanted: Type | None) -> Any:
        return self.range_of([self.solid(one, "range()") for one in tree.args], tree)

    def _call_enumerate(self, tree: ast.Call, wanted: Type | None) -> Any:
        start = [*tree.args[1:], *(one.value for one in tree.keywords)]
        first = self.solid(start[0], "enumerate()") if start else Item(0, INT)
        return self.enumerated(self.expression(tree.args[0]), first, tree)

    def _call_zip(self, tree: ast.Call, wanted: Type | None) -> Any:
        return self.zipped([self.expression(one) for one in tree.args], tree)

    def _call_reversed(self, tree: ast.Call, wanted: Type | None) -> Item:
        item = self._listed(tree.args[0], tree)
        return self.emit("operator.getitem", (item.operand, slice(None, None, -1)), item.kind)

    def _call_list(self, tree: ast.Call, wanted: Type | None) -> Item:
        if not tree.args:
            return self.new_list([], wanted.item if isinstance(wanted, ListType) else None, tree)
        return self._listed(tree.args[0], tree)

    def _listed(self, part: ast.expr, tree: ast.Call) -> Item:
        """Return a new list of what something goes over."""
        thing = self.expression(part)
        if isinstance(thing, Item) and isinstance(thing.kind, ListType):
            return self.emit("list.copy", (thing.operand,), thing.kind)
        if isinstance(thing, Item) and thing.kind in (TENSOR, TEXT):
            return self.emit("builtins.list", (thing.operand,), ListType(thing.kind))
        self.assign("$over", thing)
        target = ast.copy_location(ast.Name(id="$item", ctx=ast.Store()), tree)
        elt = ast.copy_location(ast.Name(id="$item", ctx=ast.Load()), tree)
        over = ast.copy_location(ast.Name(id="$over", ctx=ast.Load()), tree)
        made = ast.ListComp(
            elt=elt, generators=[ast.comprehension(target=target, iter=over, ifs=[], is_async=0)]
        )
        found = self.comprehension(ast.copy_location(made, tree), None)
        self.names.pop("$over", None)
        return found

    def _call_dict(self, tree: ast.Call, wanted: Type | None) -> Item:
        if not tree.args and not tree.keywords:
            return self.new_dict([], wanted if isinstance(wanted, DictType) else None, tree)
        if tree.keywords:
            pairs = [(Item(one.arg, TEXT), self.value(one.value)) for one in tree.keywords if one.arg]
            return self.new_dict(pairs, None, tree)
        item = self._one(tree, "dict")
        if not isinstance(item.kind, DictType):
            raise self.error(
                tree, f"dict takes no {shown(item.kind)}", "Write {key: value for key, value in …}"
            )
        return self.emit("dict.copy", (item.operand,), item.kind)

    def _call_tuple(self, tree: ast.Call, wanted: Type | None) -> Any:
        return (
            Many(tuple(self.things_of(self.expression(tree.args[0]), tree)))
            if tree.args
            else Item((), TupleType(()))
        )

    def _call_sorted(self, tree: ast.Call, wanted: Type | None) -> Item:
        item = self._listed(tree.args[0], tree)
        keywords = {str(one.arg): self.value(one.value).operand for one in tree.keywords}
        return self.emit("builtins.sorted", (item.operand,), item.kind, **keywords)

    def _call_any(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self.emit("builtins.any", (self._listed(tree.args[0], tree).operand,), BOOL)

    def _call_all(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self.emit("builtins.all", (self._listed(tree.args[0], tree).operand,), BOOL)

    def _call_sum(self, tree: ast.Call, wanted: Type | None) -> Item:
        item = self._listed(tree.args[0], tree)
        assert isinstance(item.kind, ListType)
        kind = INT if item.kind.item == BOOL else item.kind.item
        more = tuple(self.value(one).operand for one in tree.args[1:])
        if kind not in (*NUMBERS, TENSOR):
            raise self.error(tree, f"sum takes no {shown(item.kind)}")
        # The sum of no floats is the int 0 in Python, and a float in a type.
        made = self.emit("builtins.sum", (item.operand, *more), NUMBER if kind == FLOAT else kind)
        return self.emit("builtins.float", (made.operand,), FLOAT) if kind == FLOAT else made

    def _call_round(self, tree: ast.Call, wanted: Type | None) -> Item:
        items = [self.solid(one, "round()") for one in tree.args]
        kind: Type = INT if len(items) == 1 or items[0].kind == INT else FLOAT
        if items[0].kind == TENSOR:
            kind = TENSOR
        return self.emit("builtins.round", tuple(one.operand for one in items), kind)

    def _call_min(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self._extreme(tree, "min")

    def _call_max(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self._extreme(tree, "max")

    def _extreme(self, tree: ast.Call, name: str) -> Item:
        if tree.keywords:
            raise self.error(tree, f"{name} takes no keywords in a script", "Write a loop")
        if len(tree.args) == 1:
            item = self._listed(tree.args[0], tree)
            assert isinstance(item.kind, ListType)
            return self.emit(f"builtins.{name}", (item.operand,), item.kind.item)
        items = [self.solid(one, f"{name}()") for one in tree.args]
        kinds = [one.kind for one in items]
        kind = joined(kinds)
        if kind is None and set(kinds) <= {INT, FLOAT, BOOL}:
            made = self.emit(f"builtins.{name}", tuple(one.operand for one in items), NUMBER)
            return self.emit("builtins.float", (made.operand,), FLOAT)
        if kind is None:
            raise self.error(
                tree, f"{name} takes values of one type, and these are {', '.join(map(shown, kinds))}"
            )
        return self.emit(f"builtins.{name}", tuple(one.operand for one in items), kind)

    def _call_ord(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self.emit("builtins.ord", (self._one(tree, "ord").operand,), INT)

    def _call_chr(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self.emit("builtins.chr", (self._one(tree, "chr").operand,), TEXT)

    def _call_hex(self, tree: ast.Call, wanted: Type | None) -> Item:
        return self.emit("builtins.hex", (self._one(tree, "hex").operand,), TEXT)

    def _call_divmod(self, tree: ast.Call, wanted: Type | None) -> Item:
        one, other = (self.solid(part, "divmod()") for part in tree.args)
        kind = joined((one.kind, other.kind)) if {one.kind, other.kind} <= {INT, FLOAT} else None
        if kind is None:
            kind = FLOAT
        return self.emit("builtins.divmod", (one.operand, other.operand), TupleType((kind, kind)))

    def _call_isinstance(self, tree: ast.Call, wanted: Type | None) -> Item:
        return Item(self.condition(tree)[0], BOOL)

    def _call_hasattr(self, tree: ast.Call, wanted: Type | None) -> Item:
        thing, name = self.expression(tree.args[0]), self.value(tree.args[1]).operand
        owner = thing.module if isinstance(thing, Part) else getattr(thing, "value", None)
        if isinstance(thing, Item) or not isinstance(name, str):
            raise self.error(tree, "hasattr is known of modules alone, with a name that is written here")
        return Item(hasattr(owner, name), BOOL)

    def _call_getattr(self, tree: ast.Call, wanted: Type | None) -> Any:
        name = self.value(tree.args[1]).operand
        if not isinstance(name, str):
            raise self.error(tree, "getattr takes a name that is written here")
        return self.attribute(self.expression(tree.args[0]), name, tree)
