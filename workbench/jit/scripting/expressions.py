"""Expressions of a script as nodes of a graph."""

from __future__ import annotations

import ast
from enum import Enum as _Enum
from typing import Any

from workbench.graph.types import (
    ANY,
    INT,
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
    EnumKind,
    Item,
    ObjectKind,
    RecordKind,
    UnionKind,
    kind_of_operand,
)
from workbench.jit.scripting.annotations import static
from workbench.jit.scripting.builder import Undefined, Variable
from workbench.jit.scripting.declared import attribute_kind
from workbench.jit.scripting.subscripts import Subscripts
from workbench.jit.scripting.things import Bound, Known, Many, Part

__all__ = ["Expressions"]

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip

_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}

_OF_DEVICE: dict[str, Type] = {"type": TEXT, "index": OptionalType(INT)}

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("lambda functions aren't supported", "Write it with def"),
    ast.Yield: ("yield aren't supported: a script is no generator", "Append to a list, and return that"),
    ast.YieldFrom: (
        "yield from aren't supported: a script is no generator",
        "Append to a list, and return that",
    ),
    ast.Await: ("await aren't supported", "Call jit.fork and jit.wait"),
    ast.NamedExpr: (
        "named expressions, (name := value), aren't supported",
        "Assign the name in a line before",
    ),
    ast.Set: ("sets aren't supported", "Write a list, or a dict with values of no meaning"),
    ast.SetComp: ("set comprehensions aren't supported", "Write a list or dict comprehension"),
    ast.Starred: ("*items cannot stand here", "Write the items one by one"),
}


class Expressions(Subscripts):
    """Reads expressions."""

    def _expression(self, tree: ast.expr, wanted: Type | None) -> Any:
        match tree:
            case ast.Constant(value=plain):
                return self._constant(tree, plain)
            case ast.Name(id=name):
                return self.name(tree, name)
            case ast.Attribute(value=owner, attr=name):
                return self.attribute(self.expression(owner), name, tree)
            case ast.BinOp(left=left, op=kind, right=right):
                return self._binary(tree, _BINARY[type(kind)], left, right)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._not(self.condition(operand)[0])
            case ast.UnaryOp(op=kind, operand=operand):
                return self._unary(tree, _UNARY[type(kind)], operand)
            case ast.BoolOp():
                return self._and_or(tree)
            case ast.Compare():
                return self._compare(tree)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._if_else(tree, test, body, orelse, wanted)
            case ast.Tuple() | ast.List() | ast.Dict():
                return self._display(tree, wanted)
            case ast.Subscript(value=owner, slice=index):
                return self._subscript(tree, self.expression(owner), index)
            case ast.Call():
                return self.call(tree, wanted)
            case ast.JoinedStr(values=parts):
                return self._joined(parts)
            case ast.ListComp() | ast.DictComp():
                return self.comprehension(tree, wanted)
            case ast.GeneratorExp():
                return self.generated(tree)
        why, fix = _REFUSED.get(type(tree), (f"{type(tree).__name__} cannot be scripted", ""))
        raise self.error(tree, why, fix)

    def _constant(self, tree: ast.expr, plain: Any) -> Item:
        kind = kind_of_operand(plain)
        if kind is None:
            raise self.error(tree, f"{plain!r} is no value that a script has")
        return Item(plain, kind)

    def _binary(self, tree: ast.expr, name: str, left: ast.expr, right: ast.expr) -> Item:
        one, other = self.value(left), self.value(right)
        return self.operated(tree, name, one, other)

    # ------------------------------------------------------------------------------------------------------ names

    def name(self, tree: ast.expr, name: str) -> Any:
        """Return what a name stands for."""
        found = self.names.get(name)
        if isinstance(found, Undefined):
            raise self.error(
                tree, f"{found.why}, and it is read here", f"Give {name} a value of one type before"
            )
        if isinstance(found, Variable):
            return self.narrow(found.item) if isinstance(found.item, Item) else found.item
        try:
            return Known(static(ast.Name(id=name), self.place.around))
        except LookupError:
            raise self.error(tree, f"{name} is not defined: nothing gives it a value before this") from None

    def attribute(self, thing: Any, name: str, tree: ast.AST) -> Any:
        """Return an attribute of a thing."""
        if isinstance(thing, Known):
            return self._attribute_of_known(thing.value, name, tree)
        if isinstance(thing, Part):
            return self.part_attribute(thing, name, tree)
        if not isinstance(thing, Item):
            raise self.error(tree, f"there is no attribute {name} to be read here")
        match thing.kind:
            case RecordKind(fields=fields) if name in fields:
                return self.item_of(thing, fields.index(name), tree)
            case EnumKind() if name in ("name", "value"):
                return self.item_of(
                    Item(thing.operand, TupleType((TEXT, thing.kind.value))), int(name == "value"), tree
                )
            case ObjectKind():
                return self.object_attribute(thing, name, tree)
            case OptionalType() | UnionKind():
                self.refuse_none(thing, tree, f".{name}")
        if thing.kind == DEVICE and name in _OF_DEVICE:
            return self.emit("builtins.getattr", (thing.operand, name), _OF_DEVICE[name])
        if thing.kind == TENSOR:
            kind = attribute_kind(name)
            if kind is not None:
                found = self.emit(
                    "builtins.getattr", (thing.operand, name), ANY if isinstance(kind, ListType) else kind
                )
                return (
                    self.emit("builtins.list", (found.operand,), kind)
                    if isinstance(kind, ListType)
                    else found
                )
        return Bound(thing, name)

    def _attribute_of_known(self, owner: Any, name: str, tree: ast.AST) -> Any:
        if not hasattr(owner, name):
            raise self.error(tree, f"{getattr(owner, '__name__', owner)!r} has no attribute {name!r}")
        found = getattr(owner, name)
        if isinstance(owner, type) and issubclass(owner, _Enum) and isinstance(found, owner):
            return self.member(found)
        return Known(found)

    # --------------------------------------------------------------------------------------------------- displays

    def _joined(self, parts: list[ast.expr]) -> Item:
        found: list[Any] = []
        for part in parts:
            match part:
                case ast.Constant(value=str() as text):
                    found.append(text)
                case ast.FormattedValue(value=tree, conversion=conversion, format_spec=spec):
                    item = self.value(tree)
                    if conversion in (ord("r"), ord("a"), ord("s")):
                        item = self.emit(
                            f"builtins.{'str' if conversion == ord('s') else 'repr'}", (item.operand,), TEXT
                        )
                    words: Any = ""
                    if isinstance(spec, ast.JoinedStr):
                        words = self._joined(spec.values).operand
                    found.append(self.formatted(item, words).operand)
        return self.text_of(found)

    def _display(self, tree: ast.Tuple | ast.List | ast.Dict, wanted: Type | None) -> Any:
        if isinstance(wanted, OptionalType):
            wanted = wanted.item
        if isinstance(tree, ast.Dict):
            return self._dict(tree, wanted if isinstance(wanted, DictType) else None)
        things = self.spread(tree.elts, wanted)
        if isinstance(tree, ast.Tuple):
            if any(not isinstance(one, Item) for one in things) and not all(
                isinstance(one, Known) and self.constant_of(one.value)
                for one in things
                if not isinstance(one, Item)
            ):
                return Many(tuple(things))
            return self.as_item(Many(tuple(things)), tree)
        items = [self.as_item(one, tree) for one in things]
        return self.new_list(items, wanted.item if isinstance(wanted, ListType) else None, tree)

    def _dict(self, tree: ast.Dict, wanted: DictType | None) -> Item:
        pairs: list[tuple[Item, Item]] = []
        for key, value in zip(tree.keys, tree.values, strict=True):
            if key is None:
                raise self.error(value, "** cannot stand in a dict of a script", "Write its items one by one")
            pairs.append((self.value(key, wanted and wanted.key), self.value(value, wanted and wanted.value)))
        return self.new_dict(pairs, wanted, tree)
