"""Calls: of what the workbench and Python offer, and of methods of values."""

from __future__ import annotations

import ast
import inspect
import string
from abc import abstractmethod
from typing import Any

from workbench.core.op import Op
from workbench.graph import GraphError, NamedFunction, named
from workbench.graph.types import (
    ANY,
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
from workbench.graph.vocabulary import named_for
from workbench.jit.kinds import (
    NUMBER,
    EnumKind,
    FutureKind,
    Item,
    ObjectKind,
    RecordKind,
    joined,
    kind_of_operand,
    optional,
    shown,
)
from workbench.jit.scripting.annotations import MODULES
from workbench.jit.scripting.declared import arguments_of, result_kind
from workbench.jit.scripting.errors import ScriptError
from workbench.jit.scripting.operators import EXAMPLES, NUMBERS
from workbench.jit.scripting.statements import Statements
from workbench.jit.scripting.things import Bound, Known, Many, Nested, Part, PartMethod
from workbench.nn.graph_words import word_for
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = ["Arguments", "Calls"]

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


class Arguments:
    """The arguments of a call."""

    def __init__(self, things: list[Any], keywords: dict[str, Any], trees: list[ast.expr]) -> None:
        self.things = things
        self.keywords = keywords
        self.trees = trees


def _put(callee: Any) -> Type | None:
    """Return the type of what a call puts into a list; None for any other call."""
    kind = callee.receiver.kind if isinstance(callee, Bound) and callee.name == "append" else None
    return kind.item if isinstance(kind, ListType) else None


def _offered_as(function: Any) -> NamedFunction | None:
    """Return the function that is offered, of the one that the house's own code calls: that takes no ``out=``."""
    name = getattr(function, "__name__", "")
    offered = FUNCTIONS.get(name)
    return named(f"wb.{name}") if offered is not None and inspect.unwrap(offered) is function else None


class Calls(Statements):
    """Reads calls."""

    @abstractmethod
    def call_function(self, function: Any, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a function of the program's own."""

    @abstractmethod
    def call_class(self, cls: type, arguments: Arguments, tree: ast.Call) -> Any:
        """Make an object, a named tuple or a member of an enum; None where the class is another."""

    @abstractmethod
    def call_part(self, part: Part, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a module of layers."""

    @abstractmethod
    def call_part_method(self, method: PartMethod, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a method of a module of layers."""

    @abstractmethod
    def call_nested(self, nested: Nested, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a function that is written in the one that is compiled."""

    @abstractmethod
    def call_method(self, item: Item, name: str, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a method of an object of a scripted class."""

    @abstractmethod
    def call_word(self, value: Any, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call of one of this room's own words, such as `annotate`; None where it is none."""

    def arguments(self, tree: ast.Call, wanted: Type | None = None) -> Arguments:
        """Read the arguments of a call; `wanted` is the type of the one argument that it has, for what is empty."""
        things = self.spread(tree.args, None if wanted is None else TupleType((wanted,)))
        keywords: dict[str, Any] = {}
        for one in tree.keywords:
            if one.arg is None:
                raise self.error(one.value, "** cannot stand in a call", "Write the arguments one by one")
            keywords[one.arg] = self.expression(one.value)
        return Arguments(things, keywords, tree.args)

    def call(self, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call."""
        callee = self.expression(tree.func)
        if isinstance(callee, Known):
            found = self.call_word(callee.value, tree, wanted)
            if found is not None:
                return found
            builtin = getattr(self, f"_call_{getattr(callee.value, '__name__', '')}", None)
            if builtin is not None and any(one is callee.value for one in _BUILTINS):
                return builtin(tree, wanted)
        arguments = self.arguments(tree, _put(callee))
        match callee:
            case Known(value=value):
                return self._call_known(value, arguments, tree, wanted)
            case Bound(receiver=item, name=name):
                return self._method(item, name, arguments, tree, wanted)
            case Part():
                return self.call_part(callee, arguments, tree)
            case PartMethod():
                return self.call_part_method(callee, arguments, tree)
            case Nested():
                return self.call_nested(callee, arguments, tree)
            case Item(kind=ObjectKind()):
                return self.call_method(callee, "__call__", arguments, tree)
        raise self._not_called(callee, tree)

    def _not_called(self, callee: Any, tree: ast.Call) -> ScriptError:
        name = ast.unparse(tree.func)
        if not isinstance(callee, Item):
            return self.error(tree, f"{name} cannot be called")
        fix = f"An argument without an annotation is a Tensor; {MODULES}" if callee.kind == TENSOR else ""
        return self.error(tree, f"{name} is {shown(callee.kind)}, and cannot be called", fix)

    def _call_known(self, value: Any, arguments: Arguments, tree: ast.Call, wanted: Type | None) -> Any:
        entry = value if isinstance(value, Op) else named_for(value) or word_for(value) or _offered_as(value)
        if entry is not None:
            name = entry.name
            if not isinstance(entry, Op) and name.partition(".")[0] in ("math", "operator"):
                return self._number(name, arguments, tree)
            return self.offered(entry, value, arguments, tree, wanted)
        if isinstance(value, type):
            found = self.call_class(value, arguments, tree)
            if found is not None:
                return found
        return self.call_function(value, arguments, tree)

    # ------------------------------------------------------------------------------------ what is offered

    def operands(self, arguments: Arguments, tree: ast.Call) -> tuple[list[Item], dict[str, Item]]:
        """Return the arguments of a call as values."""
        return (
            [self.as_item(one, tree) for one in arguments.things],
            {name: self.as_item(one, tree) for name, one in arguments.keywords.items()},
        )

    def offered(
        self, entry: Any, function: Any, arguments: Arguments, tree: ast.Call, wanted: Type | None
    ) -> Item:
        """Call a function that the workbench offers."""
        inputs, params = self.operands(arguments, tree)
        signature = arguments_of(function)
        if signature is not None and not isinstance(entry, Op):
            try:
                signature.bind(*inputs, **params)
            except TypeError as error:
                raise self.error(tree, f"{entry.name}: {error}", f"It takes {signature}") from None
        kind = TENSOR if isinstance(entry, Op) else result_kind(function, inputs, params)
        if isinstance(entry, Op) and entry.outputs > 1:
            kind = TupleType((TENSOR,) * entry.outputs)
        if kind is None:
            raise self.error(
                tree, f"{entry.name} does not declare what it gives when it is called so",
                "Let it run as Python: put it into a function with @jit.ignore and an annotated result",
            )  # fmt: skip
        return self._result(entry, inputs, params, kind, wanted)

    def _result(
        self, entry: Any, inputs: list[Item], params: dict[str, Item], kind: Type, wanted: Type | None
    ) -> Item:
        if kind == ANY and wanted is not None:
            kind = wanted
        operands = tuple(one.operand for one in inputs)
        keywords = {name: one.operand for name, one in params.items()}
        if isinstance(kind, TupleType) and isinstance(entry, Op):
            made = self.emit(entry, operands, kind, types=(TENSOR,) * len(kind.items), **keywords)
            return Item(tuple(made.operand), kind)
        if (
            isinstance(kind, ListType)
            and kind.item in (TENSOR, INT)
            and getattr(entry, "name", "") != "Tensor.tolist"
        ):
            # The workbench gives a tuple, where a script knows a list.
            several = self.emit(entry, operands, ANY, **keywords)
            return self.emit("builtins.list", (several.operand,), kind)
        return self.emit(entry, operands, kind, **keywords)

    def _number(self, name: str, arguments: Arguments, tree: ast.Call) -> Item:
        """Call a function of numbers, or an operator."""
        inputs, _ = self.operands(arguments, tree)
        for one in inputs:
            self.refuse_none(one, tree, name)
        entry = named(name)
        kind: Type | None = None
        if any(one.kind == TENSOR for one in inputs) and name.startswith("operator."):
            kind = TENSOR
        elif name in (
            "math.gcd",
            "math.lcm",
            "math.floor",
            "math.ceil",
            "math.trunc",
            "math.factorial",
            "math.isqrt",
        ):
            kind = INT
        else:
            kind = self._by_example(entry.call, [one.kind for one in inputs])
        if kind is None:
            raise self.error(
                tree, f"{name} takes no {', '.join(shown(one.kind) for one in inputs) or 'no arguments'}"
            )
        return self.emit(entry, tuple(one.operand for one in inputs), kind)

    def _by_example(self, function: Any, kinds: list[Type]) -> Type | None:
        for examples in (EXAMPLES, {**EXAMPLES, INT: 2, FLOAT: 0.5}):
            if not all(one in examples or one == NUMBER for one in kinds):
                return None
            try:
                return kind_of_operand(function(*(examples.get(one, 1.0) for one in kinds)))
            except (ArithmeticError, ValueError):
                continue
            except TypeError:
                return None
        return None

    # ------------------------------------------------------------------------------------------- methods

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

    # ------------------------------------------------------------------------------------------ builtins

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


_BUILTINS = (
    print, len, abs, int, float, bool, str, range, enumerate, zip, reversed, list, dict, tuple, sorted, any, all, sum,
    round, min, max, ord, chr, hex, divmod, isinstance, hasattr, getattr, super,
)  # fmt: skip
_FORMATTER = string.Formatter()
