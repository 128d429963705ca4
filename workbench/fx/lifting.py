"""The way back: a graph of the house as a `GraphModule`, to be looked at and edited in PyTorch's words."""

from __future__ import annotations

import operator
from typing import Any

from workbench.base.size_expressions import Expression, Symbol, Symbolic, evaluate
from workbench.base.size_guards import RELATIONS, Guard
from workbench.fx.graph import Graph
from workbench.fx.graph_module import GraphModule
from workbench.fx.node import Node
from workbench.fx.proxies import Proxy
from workbench.fx.proxy import GraphAppendingTracer
from workbench.fx.tracer import _assert
from workbench.graph import Graph as HouseGraph
from workbench.graph import GraphError, HeldFunction, LeafModule, NamedFunction, Value, passes
from workbench.graph import Node as Call
from workbench.graph.blocks import Control, filled, values_in
from workbench.graph.interpreter import Run
from workbench.graph.types import TensorType, type_of
from workbench.graph.vocabulary import introduce
from workbench.graph.walk import reads
from workbench.nn import Module
from workbench.ops.random.counter_based import seed_from

__all__ = ["from_graph"]


def from_graph(graph: HouseGraph) -> GraphModule:
    """Return a graph of the house as a `GraphModule`: what was traced, compiled in part, or opened from a file.

    Parameters and constants are its own under their names, ops and functions are called as they are, and functions of
    the graph stand in the places of their calls. Sizes that differ from run to run are computed by nodes, and guards
    are assertions. An `if` or a loop is a module that is called whole.

    Raises `GraphError` where the graph draws random numbers, which no node of PyTorch's vocabulary does.

    >>> import workbench as wb
    >>> module = from_graph(wb.graph.trace(wb.nn.ReLU(), wb.ones(2)))
    >>> print(module.code.strip())
    def forward(self, input):
        input_1 = input
        relu = workbench.core.ops.relu(input_1);  input_1 = None
        return relu
    """
    return _Lifting(passes.inline(graph)).lifted()


class _Lifting:
    """One graph on its way."""

    def __init__(self, graph: HouseGraph) -> None:
        if graph.noise:
            names = ", ".join(value.name for value in list(graph.noise)[:3])
            raise GraphError(
                f"{graph.name} draws random numbers ({names}), which no node of fx does: give them as an input"
            )
        self.graph = graph
        self.made = Graph()
        self.root: dict[str, Any] = {}
        self.nodes: dict[Value, Any] = {}
        self.sizes: dict[Symbol, Any] = {}
        self.tracer = GraphAppendingTracer(self.made)
        self.shown = graph.symbols()

    def lifted(self) -> GraphModule:
        """Write all nodes, and return the module."""
        graph = self.graph
        if graph.takes:
            for i, one in enumerate(graph.takes):
                self._take(self.made.placeholder(_argument(one, i)), one)
        else:
            for value in graph.inputs:
                self.nodes[value] = self._typed(self.made.placeholder(value.name), value)
        for value, tensor in graph.held().items():
            self.root[value.name] = tensor
            self.nodes[value] = self.made.get_attr(value.name)
        for value in graph.seeds:
            self.nodes[value] = self.made.call_function(seed_from)
        waiting = [one for one in graph.guards if not one.later]
        for guard in waiting:
            self._assert(guard)
        for call in graph.nodes:
            self._call(call)
        for guard in graph.guards:
            if guard.later:
                self._assert(guard)
        outputs = self._operand(graph.outputs)
        for value, after in graph.updates.items():
            # What an input becomes is recorded for gradients, what a buffer becomes is not.
            new = self.nodes[after]
            kept = value in graph.inputs
            self.made.call_method(
                "copy_", (self.nodes[value], new if kept else self.made.call_method("detach", (new,)))
            )
        self.made.output(outputs[0] if graph.single else outputs)
        return GraphModule(self.root, self.made, graph.name)

    def _take(self, node: Node, wanted: Any) -> None:
        """Say which parts of an argument are the inputs."""
        if isinstance(wanted, Value):
            self.nodes[wanted] = self._typed(node, wanted)
        elif isinstance(wanted, tuple | list | dict):
            for key, one in wanted.items() if isinstance(wanted, dict) else enumerate(wanted):
                if any(True for _ in values_in(one)):
                    self._take(self.made.call_function(operator.getitem, (node, key)), one)

    def _typed(self, node: Node, value: Value) -> Node:
        """Give what stands for an input its type, with the sizes of today."""
        node.value.type = type_of(value.type.stand_in()) if isinstance(value.type, TensorType) else value.type
        return node

    def _operand(self, operand: Any) -> Any:
        return filled(operand, self.nodes.__getitem__, self._size)

    def _size(self, size: Symbolic) -> Any:
        """Return the node of a size: Python's own arithmetic on what stands for its symbols."""
        for symbol in size.symbols():
            if symbol not in self.sizes:
                value, dim = self.shown[symbol]
                self.sizes[symbol] = Proxy(
                    self.made.call_method("size", (self.nodes[value], dim)), self.tracer
                )
        alone = size.symbol if isinstance(size, Expression) else None
        found = evaluate(size, self.sizes) if alone is None else self.sizes[alone]
        return found.node if isinstance(found, Proxy) else found

    def _assert(self, guard: Guard) -> None:
        sides = [self._size(one) if isinstance(one, Symbolic) else one for one in (guard.left, guard.right)]
        holds = self.made.call_function(RELATIONS[guard.relation], tuple(sides))
        line = f"{guard.source}: " if guard.source else ""
        self.made.call_function(_assert, (holds, f"{line}the graph is for sizes with {guard}"))

    def _call(self, call: Call) -> None:
        node = self._made(call)
        file, _, line = call.source.rpartition(":")
        if line.isdigit():
            node.place = (file, int(line))
        if call.scope:
            node.meta["scope"] = call.scope
        if len(call.outputs) == 1:
            self.nodes[call.outputs[0]] = node
            return
        for i, value in enumerate(call.outputs):
            self.nodes[value] = self.made.call_function(operator.getitem, (node, i))

    def _made(self, call: Call) -> Node:
        callee = call.callee
        if isinstance(callee, Control):
            return self._whole(call)
        args = tuple(self._operand(one) for one in call.inputs)
        kwargs = {key: self._operand(one) for key, one in call.params.items()}
        match callee:
            case LeafModule(path=path):
                self.root[path] = self.graph.modules[path]
                return self.made.call_module(path, args, kwargs)
            case HeldFunction(name=name):
                return self.made.call_function(self.graph.held_functions[name], args, kwargs)
            case NamedFunction(name=name) if name.startswith("Tensor."):
                return self.made.call_method(name.removeprefix("Tensor."), args, kwargs)
            case NamedFunction():
                return self.made.call_function(introduce(callee).call, args, kwargs, name=call.name)
        return self.made.call_function(callee, args, kwargs, name=call.name)

    def _whole(self, call: Call) -> Node:
        """Keep control flow whole: a module that is given what its blocks read."""
        # Sizes that stand in the blocks are those of values, which are then given too.
        given = list(dict.fromkeys([*reads(call), *(value for value, _ in self.shown.values())]))
        given = [one for one in given if one in self.nodes]
        path = call.name
        while path in self.root:
            path = f"{path}_"
        self.root[path] = ControlFlow(self.graph, call, given)
        return self.made.call_module(path, tuple(self.nodes[one] for one in given))


class ControlFlow(Module):
    """An `if` or a loop of a graph of the house, as a module of what it reads."""

    def __init__(self, graph: HouseGraph, call: Call, given: list[Value]) -> None:
        super().__init__()
        self.graph, self.call, self.given = graph, call, given

    def forward(self, *values: Any) -> Any:
        """Run it."""
        run = Run(self.graph)
        run.known |= dict(zip(self.given, values, strict=True))
        run.binding.bind(self.given, values)
        return run.call(self.call)


def _argument(wanted: Any, number: int) -> str:
    return wanted.name if isinstance(wanted, Value) else f"argument_{number}"
