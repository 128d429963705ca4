"""Following a script: its graph is run on values without numbers, and what only a run decides becomes blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workbench.base.errors import DimensionError, DTypeError, NoNumbersError
from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.dispatch import find
from workbench.core.op import Op
from workbench.graph import (
    Block,
    Control,
    Graph,
    GraphError,
    HeldFunction,
    LeafModule,
    NamedFunction,
    Node,
    SubGraph,
    Value,
)
from workbench.graph.binding import Binding
from workbench.graph.blocks import filled
from workbench.graph.interpreter import Run
from workbench.graph.tracing import Tracer
from workbench.graph.types import INT, ListType
from workbench.jit.boundary import State
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts import arithmetic, branches, loops, places, rows
from workbench.onnx.scripts.carried import NUMBERS
from workbench.onnx.scripts.room import AtLine, Room
from workbench.onnx.scripts.rows import Items
from workbench.tensor import Tensor

__all__ = ["Follow"]

_MAKERS = ("wb.tensor", "wb.as_tensor", "wb.scalar_tensor")


class Follow(Run):
    """A run of a script on values without numbers, under the trace that is going on, which writes down what it does."""

    room: Room
    frames: list[Follow]
    """The runs that are under way: that of the script, and of the functions that it is in."""

    def __init__(self, graph: Graph, owner: Any) -> None:
        super().__init__(graph, None, owner)
        tracer = find(Tracer)
        assert tracer is not None
        self.room, self.frames = Room(tracer), []
        # Blocks are followed more often than once: nothing is let go.
        self.ends = {}

    def whole(self, inputs: tuple[Any, ...]) -> Any:
        """Follow the graph on what it is given, and return what it gives."""
        graph = self.graph
        self.known.update(zip(graph.inputs, map(self.taken, inputs), strict=True))
        self.frames.append(self)
        outputs = self.block(graph)
        self.frames.pop()
        return outputs[0] if graph.single else outputs

    def taken(self, value: Any) -> Any:
        """Return a value as a script is followed with it: lists can become sequences, tensors have no numbers."""
        if type(value) is list:
            return Items(map(self.taken, value))
        if type(value) is tuple:
            return tuple(map(self.taken, value))
        if type(value) is dict:
            return {key: self.taken(one) for key, one in value.items()}
        return self.room.traced(value)

    # ------------------------------------------------------------------------------------------- nodes

    def node(self, node: Node) -> None:
        """Follow a node; what it writes has its line."""
        nodes, asked = self.room.tracer.graph.nodes, len(self.room.tracer.sizes.guards)
        start = len(nodes)
        try:
            results = self.call(node)
            if not node.blocks and (fixed := self.room.fixes(asked)):
                raise OnnxError(f"it needs a size that only a run knows as a number ({fixed})")
        except AtLine:
            raise
        except OnnxError as error:
            raise AtLine(f"{node.source}: {error}") from error
        except (DimensionError, DTypeError) as error:
            error.add_note(f"at {node.source}")
            raise
        for one in nodes[start:]:
            if not one.blocks:
                one.source, one.scope = node.source, node.scope
        several = (results,) if len(node.outputs) == 1 else results
        self.known.update(zip(node.outputs, several, strict=True))

    def call(self, node: Node) -> Any:
        """Return what a node gives."""
        callee = node.callee
        inputs = [self.operand(one) for one in node.inputs]
        params = {key: self.operand(one) for key, one in node.params.items()}
        match callee:
            case Control.IF:
                found = branches.either(self, node, inputs[0])
                return found[0] if len(node.outputs) == 1 else found
            case Control.LOOP:
                found = loops.turns(self, node, *inputs)
                return found[0] if len(node.outputs) == 1 else found
            case SubGraph():
                return self.function(callee, inputs)
            case LeafModule(path=path):
                return self.taken(self.module(path)(*inputs, **params))
            case HeldFunction(name=name):
                return self.taken(self.graph.held_functions[name](*inputs, **params))
            case NamedFunction():
                return self.named(node, callee, inputs, params)
            case Op():
                return self.taken(callee(*inputs, **params))
        raise GraphError(f"a node cannot call {callee!r}")

    def operand(self, operand: Any) -> Any:
        """Return what stands for an operand now."""
        return filled(operand, self.known.__getitem__, self.size)

    def function(self, function: SubGraph, arguments: list[Any]) -> Any:
        """Follow a function of the graph on values of its own."""
        inner = object.__new__(type(self))
        inner.graph, inner.observe, inner.owner, inner.ends = self.graph, None, self.owner, {}
        inner.room, inner.frames, inner.changed = self.room, self.frames, {}
        inner.known = dict(zip(function.inputs, arguments, strict=True))
        inner.binding = Binding(function, inner.known)
        inner.binding.begin(arguments)
        self.frames.append(inner)
        outputs = inner.block(function)
        self.frames.pop()
        return outputs[0] if function.single else outputs

    # ----------------------------------------------------------------------------------------- functions

    def named(self, node: Node, function: NamedFunction, inputs: list[Any], params: dict[str, Any]) -> Any:
        """Return what a function gives that is called by its name."""
        name, room = function.name, self.room
        first = inputs[0] if inputs else None
        match name:
            case "wb.graph.throw":
                raise branches.Thrown(inputs[0], inputs[1] if len(inputs) > 1 else "", node.source)
            case "builtins.print":
                return None  # a file prints nothing
            case "wb.graph.narrow":
                return first
            case "builtins.range" if any(map(arithmetic.is_open, inputs)):
                return arithmetic.count(room, *inputs)
            case "builtins.len" if isinstance(first, Tensor):
                return first.shape[0]
        if isinstance(first, arithmetic.Count):
            return first.turns() if name == "builtins.len" else first.at(inputs[1])
        if isinstance(first, State) and name == "operator.setitem" and room.inside:
            raise OnnxError(
                f"{inputs[1]} is assigned where only a run knows whether, and a file keeps no attributes"
            )
        if name in arithmetic.ASKING and isinstance(first, Tensor):
            return arithmetic.item(room, first, name)
        if _is_text(name, (*inputs, *params.values())):
            return _OpenText("…")
        kinds = [one.type if isinstance(one, Value) else None for one in node.inputs]
        if isinstance(first, Items):
            opened = len(inputs) > 1 and arithmetic.is_open(inputs[1])
            placed = name in (
                "operator.getitem",
                "operator.setitem",
                "operator.delitem",
                "list.pop",
                "list.insert",
            )
            if placed and opened and first.row is None:
                first.become(rows.row_of(room, first, rows.kind_of_items(room, first)))
            if first.row is not None:
                return rows.called(room, name, first, inputs, params)
        if (
            name in ("operator.getitem", "operator.setitem")
            and isinstance(first, Tensor)
            and places.is_open(inputs[1])
        ):
            return places.at(room, name, first, *inputs[1:])
        if name in _MAKERS and arithmetic.has_open(first):
            made = room.made(first)
            kind = params.get("dtype")
            return made if kind is None else made.to(kind)
        if name == "wb.full" and arithmetic.is_open(inputs[1] if len(inputs) > 1 else None):
            made = room.made(inputs[1])
            kind = params.get("dtype")
            return (made if kind is None else made.to(kind)).expand(tuple(inputs[0])).clone()
        result = node.outputs[0].type
        house = name.partition(".")[0]
        plain = house in ("operator", "builtins", "math") and result in NUMBERS
        if plain and any(map(arithmetic.is_open, inputs)) and all(map(_is_number, kinds, inputs)):
            found = arithmetic.calculated(room, function, inputs, NUMBERS[result])
            if isinstance(found, Tensor) and not any(isinstance(one, Tensor) for one in inputs):
                room.questions[id(found.payload)] = found.payload, lambda: function.call(*inputs)
            return found
        return self.taken(self._called(node, function, inputs, params))

    def _called(self, node: Node, function: NamedFunction, inputs: list[Any], params: dict[str, Any]) -> Any:
        """Call a function; where it wants numbers and is given some that only a run knows, they become sizes."""
        if function.name.partition(".")[0] in _PYTHON and not isinstance(
            inputs[0] if inputs else None, Tensor
        ):
            return _called_plain(node, function, inputs, params)
        nodes = self.room.tracer.graph.nodes
        start = len(nodes)
        try:
            return function.call(*inputs, **params)
        except (NoNumbersError, TypeError, ValueError) as error:
            del nodes[start:]
            given = [self._sized(one, value) for one, value in zip(node.inputs, inputs, strict=True)]
            keywords = {key: self._sized(node.params[key], value) for key, value in params.items()}
            same = all(
                a is b for a, b in zip((*given, *keywords.values()), (*inputs, *params.values()), strict=True)
            )
            if same and isinstance(error, NoNumbersError):
                raise OnnxError(f"{function.name} asks for numbers that only a run knows") from error
            if same:
                raise
        return function.call(*given, **keywords)

    def _sized(self, operand: Any, value: Any) -> Any:
        """Return what a function is given with numbers of runs as sizes."""
        kind = operand.type if isinstance(operand, Value) else None
        if isinstance(value, Tensor) and kind == INT:
            return self.room.size(value)
        if isinstance(value, list | tuple) and (kind is None or kind == ListType(INT)):
            parts = operand if isinstance(operand, list | tuple) else [None] * len(value)
            found = [
                self.room.size(one)
                if isinstance(one, Tensor) and (kind is not None or _of_int(part))
                else one
                for part, one in zip(parts, value, strict=True)
            ]
            return value if all(a is b for a, b in zip(found, value, strict=True)) else type(value)(found)
        return value

    # ------------------------------------------------------------------------------------------ blocks

    @contextmanager
    def inside(self, made: Block) -> Iterator[None]:
        """Follow what stands in a block of control flow: what it makes is known there alone."""
        known = [dict(one.known) for one in self.frames]
        depth = len(self.frames)
        try:
            with self.room.block(made):
                yield
        finally:
            del self.frames[depth:]
            for frame, before in zip(self.frames, known, strict=True):
                frame.known = before


def _is_number(kind: Any, value: Any) -> bool:
    """Say whether an operand is a number by its type, or is one that stands in the graph."""
    return kind in NUMBERS or isinstance(value, bool | int | float | SymbolicNumber)


_PYTHON = frozenset({"builtins", "dict", "list", "math", "operator", "str"})
"""Functions of Python's: given tensors in the places of numbers they would compare objects."""

_PUTS = frozenset(
    {
        "add", "append", "clear", "copy", "extend", "getattr", "iadd", "insert", "items", "keys", "len", "list",
        "reverse", "tuple", "values",
    }
)  # fmt: skip
"""What looks at no item of a list or a dict."""


def _called_plain(node: Node, function: NamedFunction, inputs: list[Any], params: dict[str, Any]) -> Any:
    """Call a function of Python's; refuse one that would look into numbers that only a run knows."""
    _, _, word = function.name.partition(".")
    # What is put into a container is not looked at; where it is put, and what it is compared with, is.
    keyed = isinstance(inputs[0], dict) if inputs else False
    placed = word in ("getitem", "setitem", "delitem", "get", "pop", "setdefault", "insert")
    looked = inputs[1:2] if placed or (keyed and word == "contains") else [*inputs, *params.values()]
    if word not in _PUTS - {"insert"} and any(isinstance(one, Tensor) for one in _all_in(looked)):
        raise OnnxError(
            f"{function.name} looks into numbers that only a run knows, and has no form in the format"
        )
    try:
        return function.call(*inputs, **params)
    except (LookupError, ArithmeticError, ValueError) as error:
        # What this way does in any run: another way may be taken.
        raise branches.Thrown(type(error).__name__, str(error), node.source) from error


def _all_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, tuple | list):
        for one in value:
            yield from _all_in(one)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    else:
        yield value


class _OpenText(str):
    """Text of numbers that only a run knows: it can be put into more text, which what is raised says, and no more."""


_SAYS = frozenset(
    {"builtins.str", "builtins.repr", "builtins.format", "operator.add", "operator.mod", "str.join"}
)


def _is_text(name: str, inputs: tuple[Any, ...]) -> bool:
    """Say whether a function makes text of numbers that only a run knows; refuse what looks into such text."""
    told = any(isinstance(one, _OpenText) for one in _leaves(inputs))
    if told and name not in _SAYS:
        raise OnnxError(f"{name} looks into text of numbers that only a run knows, and a file has no text")
    house = name.partition(".")[0]
    says = house == "str" or name in _SAYS - {"operator.add", "operator.mod"} or name == "builtins.hex"
    return told or (says and any(map(arithmetic.is_open, _leaves(inputs))))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _of_int(operand: Any) -> bool:
    return isinstance(operand, Value) and operand.type == INT
