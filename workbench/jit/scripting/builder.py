"""Writing a graph: nodes into the block that is open, names that stand for values, and blocks of control flow."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from workbench.base.source_location import place
from workbench.core.op import Op
from workbench.graph import Block, Control, Graph, NamedFunction, Node, SubGraph, Value, named
from workbench.graph.blocks import operand_type
from workbench.graph.effects import written_by
from workbench.graph.python_printing import RESERVED
from workbench.graph.types import BOOL, NONE, TENSOR, DictType, ListType, TensorType, Type
from workbench.graph.walk import made, walk
from workbench.jit.kinds import Item, RecordKind, fits, joined, lowered, optional, shown
from workbench.jit.scripting.errors import ScriptError, Source

__all__ = [
    "RESULT",
    "RETURNED",
    "BROKE",
    "LEFT",
    "Builder",
    "Environment",
    "Flow",
    "Place",
    "Undefined",
    "Variable",
]

RETURNED, RESULT, BROKE, LEFT = "$returned", "$result", "$broke", "$left"
"""What a function knows beside its names: did it return, what, did the loop end, is the rest of the block left out."""


class Flow(Enum):
    """How a piece of code ends."""

    FALLS = auto()
    """It goes on behind it, always."""
    MAY_LEAVE = auto()
    """It may have left: the flag `LEFT` says so in a run."""
    LEAVES = auto()
    """By ``return``, ``break`` or ``continue``, always."""
    DIES = auto()
    """By an exception, always."""


@dataclass(frozen=True)
class Variable:
    """What a name stands for."""

    item: Any
    """An `Item`; or what is known while compiling, such as a function or a module."""
    declared: Type | None = None
    """The type that an annotation gives it."""


@dataclass(frozen=True)
class Undefined:
    """A name that has a value on some ways only."""

    why: str


Environment = dict[str, Variable | Undefined]


@dataclass
class Place:
    """The function that is being read: its source, and the module whose method it is."""

    source: Source
    around: Mapping[str, Any]
    name: str
    scope: tuple[str, ...] = ()
    result: Type | None = None
    """The type that it returns, where that is known by now."""
    loops: int = 0
    depth: int = 0
    """How many blocks are open around its own."""
    outer: Place | None = None
    no_grad: bool = False
    """Do gradients end with each tensor that is computed?"""
    functions: dict[str, Any] = field(default_factory=dict)
    part: Any = None
    """The module whose method it is."""


class Builder:
    """The graph that is being written."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.block: Block = graph
        self.names: Environment = {}
        self.tree: ast.AST = ast.Pass(lineno=1, col_offset=0)
        """What is being read, for lines of nodes."""
        self.place: Place

    # ------------------------------------------------------------------------------------------- errors

    def error(self, tree: ast.AST, why: str, fix: str = "") -> ScriptError:
        """Return the error for a part of the source."""
        return self.place.source.error(tree, why, fix)

    # -------------------------------------------------------------------------------------------- nodes

    def fresh(self, base: str) -> str:
        """Return a name that no value has, and that Python can have."""
        word = base if base.isidentifier() and not keyword.iskeyword(base) else "value"
        return self.graph.fresh(f"{word}_" if word in RESERVED else word)

    def emit(
        self,
        callee: Any,
        operands: tuple[Any, ...],
        kind: Type,
        *,
        blocks: tuple[Block, ...] = (),
        types: tuple[Type, ...] | None = None,
        writes: tuple[Value, ...] | None = None,
        **params: Any,
    ) -> Item:
        """Add a call that gives one value of a type; return it."""
        if isinstance(callee, str):
            callee = named(callee)
        node = Node(callee, operands, params, (), self.place.scope, "", blocks)
        node.source = place(self.place.source.file, self.place.source.line_of(self.tree))
        wanted = (lowered(kind),) if types is None else types
        node.outputs = tuple(Value(self.fresh(_word(callee)), one, node) for one in wanted)
        node.writes = tuple(written_by(callee, operands, params)) if writes is None else writes
        self.block.nodes.append(node)
        made = Item(node.outputs[0] if types is None else node.outputs, kind)
        return self._cut_off(made) if self.place.no_grad and _computes(node) else made

    def _cut_off(self, item: Item) -> Item:
        """Return what was computed under no_grad() without its history."""
        if item.kind == TENSOR:
            return self.emit("Tensor.detach", (item.operand,), TENSOR)
        if "Tensor" in shown(item.kind) or isinstance(item.kind, RecordKind):
            raise self.error(
                self.tree,
                f"{shown(item.kind)} is computed under no_grad(), where a graph cuts off one tensor at a time",
                "Compute it outside, and detach what needs no gradients",
            )
        return item

    def narrow(self, item: Item) -> Item:
        """Return an item whose value the graph knows to be of its type."""
        wanted = lowered(item.kind)
        if wanted.accepts(operand_type(item.operand)):
            return item
        return self.emit("wb.graph.narrow", (item.operand,), item.kind)

    def coerced(self, item: Item, wanted: Type, tree: ast.AST, what: str) -> Item:
        """Return an item as one of the type `wanted`; raise where it is none."""
        if item.kind == wanted:
            return item
        if not fits(wanted, item.kind):
            raise self.error(
                tree, f"{what} is {shown(wanted)}, and this is {shown(item.kind)}", _advice(wanted, item)
            )
        # A list that is still empty becomes one of the items that are asked for.
        return Item(item.operand, wanted)

    # ---------------------------------------------------------------------------------------- variables

    def assign(self, name: str, thing: Any, declared: Type | None = None) -> None:
        """Let a name stand for something from here on."""
        self.names[name] = Variable(thing, declared)

    def flag(self, name: str) -> Any:
        """Return the operand of a flag."""
        found = self.names.get(name)
        return found.item.operand if isinstance(found, Variable) else False

    def set_flag(self, name: str, operand: Any) -> None:
        """Set a flag."""
        self.assign(name, Item(operand, BOOL))

    # ------------------------------------------------------------------------------------------- blocks

    def enclosed(
        self, write: Callable[[], Flow], inputs: list[Value] | None = None
    ) -> tuple[Block, Environment, Flow]:
        """Write a block; return it with what names stand for at its end, and how it ends."""
        block, outer, before = Block(inputs or []), self.block, self.names
        self.block, self.names = block, dict(before)
        self.place.depth += 1
        try:
            flow = write()
            return block, self.names, flow
        finally:
            self.block, self.names = outer, before
            self.place.depth -= 1

    def branch(self, condition: Any, first: Callable[[], Flow], second: Callable[[], Flow]) -> Flow:
        """Write an ``if``; names stand for what the branch that ran gave them."""
        if isinstance(condition, bool):
            # Only what runs is compiled: in the other branch a name may well be None.
            return first() if condition else second()
        sides = [self.enclosed(first), self.enclosed(second)]
        flow = _flow_of(sides[0][2], sides[1][2])
        names = list(dict.fromkeys([*sides[0][1], *sides[1][1]]))
        joins: list[tuple[str, tuple[Item, Item], Type, Type | None]] = []
        for name in names:
            merged = self._merged(name, sides)
            if isinstance(merged, tuple) and (plain := _decided(condition, merged[0])) is not None:
                self.assign(name, Item(plain, BOOL), merged[2])
            elif isinstance(merged, tuple):
                joins.append((name, *merged))
            elif merged is not None:
                self.names[name] = merged
            else:
                self.names.pop(name, None)
        kinds = []
        for i, (block, _, _) in enumerate(sides):
            block.outputs = tuple(pair[i].operand for _, pair, _, _ in joins)
        for _, pair, kind, _ in joins:
            missing = any(operand_type(one.operand) == NONE for one in pair) and kind != NONE
            loose = any(not lowered(kind).accepts(operand_type(one.operand)) for one in pair)
            kinds.append(optional(lowered(kind)) if missing or loose else lowered(kind))
        if not joins:
            for block, _, _ in sides:
                block.outputs = (None,)
            kinds = [NONE]
        made_ = self.control(Control.IF, (condition,), tuple(one[0] for one in sides), tuple(kinds))
        for (name, _, kind, declared), value in zip(joins, made_, strict=False):
            item = Item(value, kind)
            dead = Flow.DIES in (sides[0][2], sides[1][2])
            self.assign(name, self.narrow(item) if dead and name[0] != "$" else item, declared)
        return flow

    def control(
        self, callee: Control, operands: tuple[Any, ...], blocks: tuple[Block, ...], types: tuple[Type, ...]
    ) -> tuple[Value, ...]:
        """Add a node of control flow."""
        inside = dict.fromkeys(value for block in blocks for node, _ in walk(block) for value in node.writes)
        own = {value for block in blocks for value in made(block)}
        writes = tuple(value for value in inside if value not in own)
        item = self.emit(callee, operands, NONE, blocks=blocks, types=types, writes=writes)
        return item.operand  # type: ignore[no-any-return]

    def _merged(
        self, name: str, sides: list[tuple[Block, Environment, Flow]]
    ) -> Variable | Undefined | tuple[tuple[Item, Item], Type, Type | None] | None:
        """Return what a name stands for behind an ``if``: a variable, nothing, or two items that become one."""
        found = [side[1].get(name) for side in sides]
        gone = [side[2] in (Flow.LEAVES, Flow.DIES) for side in sides]
        for i, word in enumerate(("true", "false")):
            one = found[i]
            if isinstance(one, Variable) or (gone[i] and not gone[1 - i]) or (name[0] == "$"):
                continue
            if all(gone):
                return one if isinstance(one, Undefined) else None
            if isinstance(one, Undefined):
                return one
            return Undefined(f"{name} is not defined in the {word} branch")
        first, second = found
        declared = next((one.declared for one in found if isinstance(one, Variable) and one.declared), None)
        if isinstance(first, Variable) and isinstance(second, Variable):
            return self._both(name, first, second, sides, declared)
        one = first if isinstance(first, Variable) else second
        if not isinstance(one, Variable):
            return one
        if not isinstance(one.item, Item):
            return one
        # In the other branch nobody comes to where it is read.
        empty = Item(False if one.item.kind == BOOL and name[0] == "$" else None, one.item.kind)
        if empty.operand is one.item.operand:
            return one
        pair = (one.item, empty) if one is first else (empty, one.item)
        return pair, one.item.kind, declared

    def _both(
        self,
        name: str,
        first: Variable,
        second: Variable,
        sides: list[tuple[Block, Environment, Flow]],
        declared: Type | None,
    ) -> Variable | Undefined | tuple[tuple[Item, Item], Type, Type | None]:
        if first.item is second.item:
            return first
        one, other = first.item, second.item
        if not (isinstance(one, Item) and isinstance(other, Item)):
            same = type(one) is type(other) and one == other
            return first if same else Undefined(f"{name} is something else in each branch, and no value")
        before = self.names.get(name)
        if _same(one.operand, other.operand):
            kind = joined((one.kind, other.kind))
            if kind is None and isinstance(before, Variable) and isinstance(before.item, Item):
                kind = before.item.kind
            if kind is not None:
                return Variable(Item(one.operand, kind), declared)
        kind = joined((one.kind, other.kind))
        # What only one way comes from need not fit the other, but what is declared it fits.
        live = [side[2] not in (Flow.LEAVES, Flow.DIES) for side in sides]
        if kind is None and declared is not None:
            kind = declared
        if kind is None and live.count(True) == 1 and self.place.loops == 0:
            return Undefined(f"{name} has another type where the function is left")
        if kind is None:
            return Undefined(
                f"Type mismatch: {name} is set to type {shown(one.kind)} in the true branch and type "
                f"{shown(other.kind)} in the false branch"
            )
        # Not narrowed here: where a branch has left, nothing of the type need be there.
        return (one, other), kind, declared

    def _narrowed_in(self, block: Block, item: Item) -> Item:
        outer, self.block = self.block, block
        try:
            return self.narrow(item)
        finally:
            self.block = outer

    def carried(self, name: str, variable: Variable, wide: bool) -> Variable:
        """Return a variable as a block of a loop is given it."""
        item: Item = variable.item
        kind = (variable.declared if wide else None) or item.kind
        return replace(variable, item=Item(Value(self.fresh(name.strip("$")), lowered(kind)), kind))


def _computes(node: Node) -> bool:
    """Say whether a call makes tensors, and does not only hand on those that are there."""
    match node.callee:
        case Control():
            return False
        case NamedFunction(name="Tensor.detach" | "wb.graph.narrow"):
            return False
        case NamedFunction(name=name) if name.partition(".")[0] in ("builtins", "list", "dict"):
            return False
        case NamedFunction(name="operator.getitem"):
            return TENSOR.accepts(operand_type(node.inputs[0]))
    return True


def _decided(condition: Any, pair: tuple[Item, Item]) -> Any:
    """Return the condition where the branches give True and False: it is what they give; else None."""
    holds = pair[0].operand is True or pair[0].operand is condition
    fails = pair[1].operand is False or pair[1].operand is condition
    return condition if holds and fails else None


def _flow_of(first: Flow, second: Flow) -> Flow:
    """Return how an ``if`` ends, by how its branches do."""
    if Flow.DIES in (first, second):
        return second if first is Flow.DIES else first
    return first if first is second else Flow.MAY_LEAVE


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or (
        type(one) is type(other) and isinstance(one, bool | int | str | type(None)) and one == other
    )


def _word(callee: Any) -> str:
    if isinstance(callee, Control):
        return f"{callee.value}_" if callee is Control.IF else callee.value
    if isinstance(callee, SubGraph):
        return "result"
    if isinstance(callee, Op | NamedFunction):
        return str(callee.name.rpartition(".")[2])
    return str(getattr(callee, "path", None) or getattr(callee, "name", "value")).replace(".", "_")


def _advice(wanted: Type, item: Item) -> str:
    """Say what to write where an item is not of the type that is asked for."""
    if isinstance(item.kind, ListType | DictType) and isinstance(wanted, type(item.kind)):
        return f"Annotate it where it is made: name: {shown(wanted)} = …"
    if fits(optional(wanted), item.kind):
        return "Ask `if name is not None:` before, and it is one in there"
    if wanted == TENSOR or isinstance(wanted, TensorType):
        return f"Without an annotation it is a Tensor: annotate it as {shown(item.kind)}"
    return ""
