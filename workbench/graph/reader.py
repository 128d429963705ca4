"""What reading a graph has in common, whichever form it is written in: the names so far, and what is made of a line."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.base.size_expressions import Expression
from workbench.base.size_guards import Guard, SizeScope
from workbench.core.op import Op, ops
from workbench.core.value import dims_of
from workbench.graph.blocks import Block, GraphError, HeldFunction, LeafModule, Node, SubGraph, Value
from workbench.graph.draws import Noise
from workbench.graph.inference import with_sizes
from workbench.graph.ir import Graph
from workbench.graph.operand_text import read_guard, read_operand
from workbench.graph.spec import DEEPEST, check
from workbench.graph.symbols import own, symbols
from workbench.graph.type_reading import read_type
from workbench.graph.types import TensorType, Type, symbolic
from workbench.graph.vocabulary import named
from workbench.graph.walk import walk

__all__ = ["Reader"]


class Reader:
    """The graph as far as it was read."""

    def __init__(
        self, tensors: Mapping[str, Any], modules: Mapping[str, Any], held: Mapping[str, Any]
    ) -> None:
        self.graph = Graph()
        self.functions: dict[str, SubGraph] = {}
        self.tensors = tensors
        self.modules = modules
        self.held = held
        self.known: dict[str, Value] = {}
        self.line = 1
        self.returned = False
        self.open: list[Block] = [self.graph]
        """The blocks that are being read, from the outermost on."""

    def refuse(self, why: str) -> GraphError:
        """Return an error that names the line."""
        return GraphError(f"line {self.line} {why}")

    # ------------------------------------------------------------------------------- functions and blocks

    def begin(self, name: str) -> None:
        """Begin a function. What was read before is one that it may call."""
        if self.returned:
            before = self.graph
            kept = before.modules or before.held_functions
            if before.held() or before.seeds or before.updates or kept or before.takes:
                raise self.refuse(
                    f"comes after {before.name}, which holds something and is not the last function"
                )
            self.functions[before.name] = SubGraph(
                before.inputs,
                before.nodes,
                before.outputs,
                before.name,
                before.single,
                before.guards,
                before.kind,
            )
            # What was read first turns out to be a function when another begins; the last one is the graph.
            self.graph, self.known, self.returned = Graph(), {}, False
            self.open = [self.graph]
        self.graph.name = name
        if name in self.functions:
            raise self.refuse(f"defines {name} a second time")

    def enter(self, inputs: Sequence[Value]) -> Block:
        """Begin a block in the one that is being read."""
        # As deep as the spec allows: else the check itself would run out of stack.
        if len(self.open) > DEEPEST:
            raise self.refuse("is nested too deeply")
        self.open.append(Block([]))
        self.open[-1].inputs += [self._later(one) for one in inputs]
        return self.open[-1]

    def leave(self, outputs: Sequence[Any]) -> None:
        """End the innermost block."""
        self.open.pop().outputs = tuple(outputs)

    def give(self, result: Any) -> None:
        """End the function: it returns `result`, a tuple for several."""
        self.graph.single = not isinstance(result, tuple)
        self.graph.outputs = (result,) if self.graph.single else result
        self.returned = True

    def finish(self) -> Graph:
        """Return the graph, checked."""
        if not self.returned:
            raise self.refuse("is the last, and nothing was returned")
        graph = self.graph
        graph.functions = self.functions
        # Taken, so that what a pass adds gets other names.
        for name in self.known:
            graph.fresh(name)
        # From the callers on: what a function is given may be what its caller was given.
        for function in (graph, *reversed(self.functions.values())):
            _label_inputs(function)
        for function in (*self.functions.values(), graph):
            _guard_fixed(function)
        # Sizes are not written for values in between: they follow from the rules.
        return check(with_sizes(graph))

    # ------------------------------------------------------------------------------------------- values

    def take(self, value: Value) -> None:
        """Take an input of a function."""
        value.type = symbolic(value.name, value.type)
        self.graph.inputs.append(self.define(value))

    def _later(self, value: Value) -> Value:
        """Take a new name, of whose value the sizes are known when it is."""
        value.type = own(value.name, value.type)
        return self.define(value)

    def mark(self, kind: str) -> None:
        """Take in what kind of function is being read."""
        if self.graph.kind or self.graph.nodes or len(self.open) > 1:
            raise self.refuse("says what kind a function is a second time, or behind its first line")
        self.graph.kind = kind

    def take_apart(self, takes: Any) -> None:
        """Take in how a run puts the inputs together."""
        if self.graph.takes or not isinstance(takes, tuple) or not takes:
            raise self.refuse("says a second time what the graph takes, or says it of no arguments")
        self.graph.takes = takes

    def require(self, tree: ast.expr, find: Callable[[ast.expr], Value | None], source: str) -> None:
        """Take in what must hold of sizes."""
        self.graph.guards.append(read_guard(tree, find, self.refuse, source))

    def define(self, value: Value) -> Value:
        """Take a new name."""
        if value.name in self.known:
            raise self.refuse(f"makes {value.name} a second time")
        self.known[value.name] = value
        return value

    def find(self, name: str) -> Value:
        """Return the value of that name."""
        if name not in self.known:
            raise self.refuse(f"reads %{name}, which nothing above it makes")
        return self.known[name]

    def hold(self, kind: str, name: str, type: Type) -> None:
        """Take one of the tensors."""
        if name not in self.tensors:
            raise self.refuse(f"needs a tensor: no tensor called {name!r} was given")
        if not isinstance(type, TensorType):
            raise self.refuse(f"has {type} where the type of a tensor is expected, such as f32[N:2]")
        given = dims_of(self.tensors[name])
        if given.by_label() == type.dims:  # what is written of a parameter are its labels
            type = replace(type, dims=given)
        held = self.graph.parameters if kind == "parameter" else self.graph.constants
        held[self.define(Value(name, type))] = self.tensors[name]

    def seed(self, name: str, type: Type, operands: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Take a seed, or numbers that are drawn as `operands` say."""
        value = self.define(Value(name, type))
        if operands or keywords:
            try:
                drawn = Noise.read(operands, keywords)
            except GraphError as error:
                raise self.refuse(f"is not understood: {error}") from None
            if isinstance(type, TensorType) and type.accepts(drawn.type):
                value.type = drawn.type
            self.graph.noise[value] = drawn
        self.graph.seeds.append(value)

    def update(self, name: str, after: str) -> None:
        """Take in what a parameter becomes."""
        self.graph.updates[self.find(name)] = self.find(after)

    # -------------------------------------------------------------------------------------------- nodes

    def call(
        self,
        made: Sequence[Value],
        callee: Any,
        inputs: Sequence[Any],
        params: dict[str, Any],
        where: str,
        blocks: tuple[Block, ...] = (),
        writes: Sequence[str] = (),
    ) -> None:
        """Add a node to the block that is being read."""
        scope, mark, source = where.partition(" · ")
        # One part alone is a line of code where it has a colon, and else the path of a module.
        if not mark and ":" in scope:
            scope, source = "", scope
        path = tuple(scope.split(".")) if scope else ()
        node = Node(callee, tuple(inputs), params, tuple(made), path, source, blocks)
        node.writes = tuple(self.find(name) for name in writes)
        for value in made:
            # Even where they follow from others, a text may say `y.shape[0]`: `with_sizes` puts in what that is.
            (self.define if isinstance(callee, Op) else self._later)(value).node = node
        self.open[-1].nodes.append(node)

    def op(self, name: str) -> Any:
        """Return the op of that name."""
        # Asked first: `ops` has methods of its own, which are no ops.
        if name not in ops:
            raise self.refuse(f"calls {name!r}, which is not an op of the table")
        return getattr(ops, name)

    def named(self, name: str) -> Any:
        """Return the function that is offered under a name."""
        try:
            return named(name)
        except GraphError as error:
            raise self.refuse(f"calls {error}") from None

    def function(self, name: str) -> SubGraph:
        """Return a function that was read before."""
        if name not in self.functions:
            raise self.refuse(f"calls {name!r}, and no function above is called so")
        return self.functions[name]

    def module(self, path: str) -> LeafModule:
        """Return a call of a module, which the graph then holds."""
        if path not in self.modules:
            raise self.refuse(f"needs a module: no module called {path!r} was given")
        self.graph.modules[path] = self.modules[path]
        return LeafModule(path)

    def held_function(self, name: str) -> HeldFunction:
        """Return a call of a function of the program's own, which the graph then holds."""
        if name not in self.held:
            raise self.refuse(f"needs a function: no function called {name!r} was given")
        self.graph.held_functions[name] = self.held[name]
        return HeldFunction(name)

    # -------------------------------------------------------------------------------------------- parts

    def type(self, written: str) -> Type:
        """Read ``f32[N:2, C=3]``."""
        return read_type(written, self.refuse)

    def operand(self, tree: ast.expr, find: Callable[[ast.expr], Value | None]) -> Any:
        """Read an operand; `find` returns the value where one stands."""
        return read_operand(tree, find, self.refuse)

    def keywords(self, call: ast.Call, find: Callable[[ast.expr], Value | None]) -> dict[str, Any]:
        """Read the operands of a call that are given by keyword."""
        if any(one.arg is None for one in call.keywords):
            raise self.refuse("has ** among its arguments")
        return {str(one.arg): self.operand(one.value, find) for one in call.keywords}


def _label_inputs(function: SubGraph) -> None:
    """Take what is written of an input for labels, as of a parameter, where a call of the function gives it labels."""
    for node, _ in walk(function):
        if isinstance(node.callee, SubGraph):
            for value, operand in zip(node.callee.inputs, node.inputs, strict=False):
                given = operand.type if isinstance(operand, Value) else None
                if not (isinstance(value.type, TensorType) and isinstance(given, TensorType)):
                    continue
                if value.type.dims != given.dims and value.type.dims == given.dims.by_label():
                    value.type = replace(value.type, dims=given.dims)


def _guard_fixed(function: SubGraph) -> None:
    """Let ``C=3`` in a type say as much as a guard: in texts without guards it is all there is."""
    sizes = SizeScope(function.guards)
    for symbol, (value, dim) in symbols(function).items():
        if dim in value.tensor.fixed and isinstance(sizes.settle(Expression.of(symbol)), Expression):
            sizes.take(Guard(Expression.of(symbol), "==", symbol.hint))
    function.guards = sizes.guards
