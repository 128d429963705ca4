"""Methods of values: of tensors, text, lists and dicts."""

from __future__ import annotations

import ast
import string
from abc import abstractmethod
from typing import Any

from workbench.graph import GraphError, named
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
from workbench.jit.kinds import (
    FutureKind,
    Item,
    ObjectKind,
    RecordKind,
    joined,
    optional,
    shown,
)
from workbench.jit.scripting.offered import Arguments, Offered
from workbench.jit.scripting.operators import NUMBERS
from workbench.tensor import Tensor

__all__ = ["Methods"]


_TEXT_METHODS: dict[str, Type] = {
    **dict.fromkeys(
        ("startswith", "endswith", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower",
         "isnumeric", "isprintable", "isspace", "istitle", "isupper"), BOOL,
    ),
    **dict.fromkeys(("find", "index", "rfind", "rindex", "count"), INT),
    **dict.fromkeys(("split", "rsplit", "splitlines"), ListType(TEXT)),
    **dict.fromkeys(("partition", "rpartition"), TupleType((TEXT, TEXT, TEXT))),
}  # fmt: skip
"""What methods of text give; the others give text."""


_FORMATTER = string.Formatter()


class Methods(Offered):
    """Reads calls of methods of values."""

    @abstractmethod
    def call_method(self, item: Item, name: str, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a method of an object of a scripted class."""

    def _method(
        self, item: Item, name: str, arguments: Arguments, tree: ast.Call, wanted: Type | None
    ) -> Any:
        self.refuse_none(item, tree, f".{name}()")
        kind = item.kind
        if kind == TENSOR:
            return self._tensor_method(item, name, arguments, tree, wanted)
        if isinstance(kind, ObjectKind):
            return self.call_method(item, name, arguments, tree)
        if isinstance(kind, FutureKind) and name in ("wait", "value"):
            return Item(item.operand, kind.item)
        inputs, params = self.operands(arguments, tree)
        found: Item | None = None
        if kind == TEXT:
            found = self._text_method(item, name, inputs, params, tree)
        elif isinstance(kind, ListType):
            found = self._list_method(item, kind, name, inputs, params, tree)
        elif isinstance(kind, DictType):
            found = self._dict_method(item, kind, name, inputs, params, tree)
        elif isinstance(kind, RecordKind) and name == "_asdict":
            pairs = [
                (Item(field, TEXT), one)
                for field, one in zip(kind.fields, self.items_of(item, tree), strict=True)
            ]
            found = self.new_dict(pairs, None, tree)
        elif kind in NUMBERS and name in ("item",):
            found = item
        if found is None:
            raise self.error(tree, f"'{shown(kind)}' object has no attribute or method '{name}' in a script")
        return found

    def _tensor_method(
        self, item: Item, name: str, arguments: Arguments, tree: ast.Call, wanted: Type | None
    ) -> Item:
        function = getattr(Tensor, name, None)
        try:
            entry = named(f"Tensor.{name}")
        except GraphError:
            raise self.error(tree, f"'Tensor' object has no attribute or method '{name}'") from None
        arguments.things.insert(0, item)
        return self.offered(entry, function, arguments, tree, wanted)

    def _text_method(
        self, item: Item, name: str, inputs: list[Item], params: dict[str, Item], tree: ast.Call
    ) -> Item | None:
        if name == "format":
            return self._format(item, inputs, params, tree)
        try:
            entry = named(f"str.{name}")
        except GraphError:
            return None
        for one in inputs:
            self.refuse_none(one, tree, f".{name}()")
        operands = (item.operand, *(one.operand for one in inputs))
        keywords = {key: one.operand for key, one in params.items()}
        return self.emit(entry, operands, _TEXT_METHODS.get(name, TEXT), **keywords)

    def _format(self, item: Item, inputs: list[Item], params: dict[str, Item], tree: ast.Call) -> Item:
        """Read ``"{} of {}".format(…)``, whose template must be written there: what it asks for is known then."""
        if not isinstance(item.operand, str):
            raise self.error(tree, "the template of format is no text that is written here", 'Write f"{x}"')
        pieces: list[Any] = []
        number = 0
        for text, field, words, _ in _FORMATTER.parse(item.operand):
            if text:
                pieces.append(text)
            if field is None:
                continue
            key: Any = field
            if field == "" or field.isdigit():
                key = int(field) if field else number
                number += 1
            found = inputs[key] if isinstance(key, int) and key < len(inputs) else params.get(str(key))
            if found is None:
                raise self.error(tree, f"format has no argument for {{{field}}}")
            pieces.append(self.formatted(found, words or "").operand)
        return self.text_of(pieces) if pieces else Item("", TEXT)

    def _list_method(
        self,
        item: Item,
        kind: ListType,
        name: str,
        inputs: list[Item],
        params: dict[str, Item],
        tree: ast.Call,
    ) -> Item | None:
        wanted: dict[str, tuple[Type, ...]] = {
            "append": (kind.item,), "insert": (INT, kind.item), "extend": (kind,), "pop": (INT,),
            "remove": (kind.item,), "index": (kind.item, INT, INT), "count": (kind.item,),
        }  # fmt: skip
        gives: dict[str, Type] = {"pop": kind.item, "index": INT, "count": INT, "copy": kind}
        if name not in (*wanted, *gives, "clear", "reverse", "sort"):
            return None
        given = wanted.get(name, ())
        if len(inputs) > len(given):
            raise self.error(tree, f"list.{name} takes {len(given)} arguments, and here are {len(inputs)}")
        operands = [
            self.coerced(
                one, there, tree, "what is put into the list" if name != "pop" else "a place"
            ).operand
            for one, there in zip(inputs, given, strict=False)
        ]
        keywords = {key: one.operand for key, one in params.items()}
        return self.emit(f"list.{name}", (item.operand, *operands), gives.get(name, NONE), **keywords)

    def _dict_method(
        self,
        item: Item,
        kind: DictType,
        name: str,
        inputs: list[Item],
        params: dict[str, Item],
        tree: ast.Call,
    ) -> Item | None:
        operands = (item.operand, *(one.operand for one in inputs))
        if name in ("keys", "values", "items"):
            found = self.emit(f"dict.{name}", operands, ANY)
            gives: Type = {"keys": kind.key, "values": kind.value}.get(
                name, TupleType((kind.key, kind.value))
            )
            return self.emit("builtins.list", (found.operand,), ListType(gives))
        if name == "get":
            if len(inputs) < 2 or inputs[1].kind == NONE:
                return self.emit("dict.get", operands, optional(kind.value))
            both = joined((kind.value, inputs[1].kind))
            if both is None:
                raise self.error(
                    tree, f"the dict has {shown(kind.value)}, and the default is {shown(inputs[1].kind)}"
                )
            return self.emit("dict.get", operands, both)
        if name in ("pop", "setdefault"):
            return self.emit(f"dict.{name}", operands, kind.value)
        if name in ("update", "clear"):
            return self.emit(f"dict.{name}", operands, NONE)
        return self.emit("dict.copy", operands, kind) if name == "copy" else None
