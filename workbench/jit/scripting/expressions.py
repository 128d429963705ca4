"""Expressions of a script as nodes of a graph."""

from __future__ import annotations

import ast
import operator
from abc import abstractmethod
from collections.abc import Callable
from enum import Enum as _Enum
from types import EllipsisType
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.graph.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NEVER,
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
    NUMBER,
    OPAQUE,
    EnumKind,
    Item,
    ObjectKind,
    RecordKind,
    UnionKind,
    joined,
    kind_of_operand,
    shown,
)
from workbench.jit.scripting.annotations import static
from workbench.jit.scripting.builder import Builder, Flow, Undefined, Variable
from workbench.jit.scripting.declared import attribute_kind
from workbench.jit.scripting.things import Bound, Known, Many, Part

__all__ = ["Expressions", "Refined"]

Refined = dict[str, Type]
"""What names are known to be where a condition holds."""

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_OF_DEVICE: dict[str, Type] = {"type": TEXT, "index": OptionalType(INT)}
EXAMPLES: dict[Type, Any] = {INT: 1, FLOAT: 1.0, BOOL: True, COMPLEX: 1j, TEXT: "a"}
NUMBERS = (INT, FLOAT, BOOL, COMPLEX, NUMBER)

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


class Expressions(Builder):
    """Reads expressions."""

    @abstractmethod
    def call(self, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call."""

    @abstractmethod
    def part_attribute(self, part: Part, name: str, tree: ast.AST) -> Any:
        """Return an attribute of a module of layers."""

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

    # --------------------------------------------------------------------------------------------- entry

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

    # --------------------------------------------------------------------------------------------- names

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

    def member(self, member: Any) -> Any:
        """Return a member of an enum."""
        value = kind_of_operand(getattr(member, "value", None))
        if value is None or not hasattr(member, "name"):
            return Known(member)
        return Item((member.name, member.value), EnumKind(type(member), value))

    # ---------------------------------------------------------------------------------------- operators

    def _binary(self, tree: ast.expr, name: str, left: ast.expr, right: ast.expr) -> Item:
        one, other = self.value(left), self.value(right)
        return self.operated(tree, name, one, other)

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

    # --------------------------------------------------------------------------------------- conditions

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

    @abstractmethod
    def is_instance(self, tree: ast.expr, thing: ast.expr, classes: ast.expr) -> tuple[Any, Refined, Refined]:
        """Read ``isinstance(thing, classes)``."""

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

    # ----------------------------------------------------------------------------------- text, containers

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

    def _dict(self, tree: ast.Dict, wanted: DictType | None) -> Item:
        pairs: list[tuple[Item, Item]] = []
        for key, value in zip(tree.keys, tree.values, strict=True):
            if key is None:
                raise self.error(value, "** cannot stand in a dict of a script", "Write its items one by one")
            pairs.append((self.value(key, wanted and wanted.key), self.value(value, wanted and wanted.value)))
        return self.new_dict(pairs, wanted, tree)

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

    # ---------------------------------------------------------------------------------------- subscripts

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

    @abstractmethod
    def part_item(self, part: Part, index: ast.expr, tree: ast.AST) -> Any:
        """Return an item of a list or dict of modules."""

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


def _asks_none(tree: ast.expr) -> bool:
    """Say whether a condition asks whether something is None, or of a class: what follows then knows."""
    return any(
        (isinstance(one, ast.Constant) and one.value is None)
        or (isinstance(one, ast.Name) and one.id == "isinstance")
        for one in ast.walk(tree)
    )


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
