"""Running a graph: node by node, each value let go after its last use."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from workbench.base.dtypes import dtype_of
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.size_expressions import Symbolic, evaluate
from workbench.core.dispatch import grad_enabled, no_grad
from workbench.core.inplace import write
from workbench.core.op import Op, ops
from workbench.core.value import Value as Tensor
from workbench.core.value import dims_of
from workbench.graph.arguments import taken_apart
from workbench.graph.binding import Binding
from workbench.graph.blocks import (
    Block,
    Control,
    GraphError,
    HeldFunction,
    LeafModule,
    NamedFunction,
    Node,
    SubGraph,
    Value,
    called,
    filled,
)
from workbench.graph.ir import Graph
from workbench.graph.types import ANY, TensorType, type_of_value
from workbench.graph.walk import last_uses
from workbench.ops.random.counter_based import seed_from

__all__ = ["Run", "run", "run_apart", "tapped"]

_DETACH = ops.detach
Observer = Callable[[Node, Any, float], None]


def run(
    graph: Graph,
    *inputs: Any,
    observe: Observer | None = None,
    seeds: Mapping[str, Any] | None = None,
    owner: Any = None,
    typed: bool = True,
) -> Any:
    """Run `graph` on what the traced function takes, and return what that would return, to the bit.

    Sizes may differ from those of the trace where the ops and the graph's guards allow it. Several threads may run one
    graph at once. With `observe`, ``observe(node, results, seconds)`` is called after each node. `seeds` gives seeds,
    and numbers that are drawn, by name; others are drawn from the default generator, so that a run draws what the
    function would draw. Afterwards the parameters and inputs in `Graph.updates` have their new numbers; `run_apart`
    returns those instead. With `owner`, parameters and modules are those which that module has now under their paths,
    not those that the graph holds. Unless `typed`, inputs may be of another data type than the trace's.

    Raises `DimensionError` where inputs are missing, have other names or another number of dims than the trace, or
    where sizes are such that the traced function would have done something else; `DTypeError` where an input is of
    another kind or data type.
    """
    # All is computed before anything changes: a run that fails leaves the module as it was.
    once = Run(graph, observe, owner, typed)
    result, after = once.all(inputs, seeds or {})
    # What was given comes first: a leaf that asks for a gradient refuses to be changed, and then nothing is.
    for name, tensor in once.changed.items():
        write(tensor, "update", partial(_instead, after.pop(name)[1]))
    with no_grad():
        for tensor, numbers in after.values():
            # By `write`, so that versions count and a gradient that needs the old numbers says so.
            write(tensor, "update", partial(_instead, numbers))
    return once.result() if once.changed else result


def run_apart(
    graph: Graph,
    *inputs: Any,
    observe: Observer | None = None,
    seeds: Mapping[str, Any] | None = None,
    owner: Any = None,
) -> tuple[Any, dict[str, Any]]:
    r"""Run `graph` and change nothing: return its result, and by name what its parameters would become.

    >>> import workbench as wb
    >>> count = wb.zeros(())
    >>> graph = wb.graph.parse(
    ...     "g(%x : f32[]):\n  %n : f32[] = parameter()\n  %m : f32[] = add(%n, %x)\n  update %n = %m\n  return %x",
    ...     {"n": count},
    ... )
    >>> run_apart(graph, wb.tensor(2.0))
    (tensor(2.), {'n': tensor(2.)})
    >>> graph(wb.tensor(2.0)), count
    (tensor(2.), tensor(2.))
    """
    result, after = Run(graph, observe, owner).all(inputs, seeds or {})
    return result, {name: numbers.detach() for name, (_, numbers) in after.items()}


Tap = Callable[[Any], Any]
_TAPS: ContextVar[dict[Node, tuple[Tap, bool]] | None] = ContextVar("taps", default=None)


@contextmanager
def tapped(node: Node, tap: Tap, at_input: bool = False) -> Iterator[None]:
    """Let runs in this context give `tap` what `node` gives, or the list that it is given; what it returns goes on.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: x.exp() + 1, wb.ones(2))
    >>> with tapped(graph.nodes[0], lambda value: value * 0):
    ...     graph(wb.ones(2)).tolist()
    [1.0, 1.0]
    """
    token = _TAPS.set({**(_TAPS.get() or {}), node: (tap, at_input)})
    try:
        yield
    finally:
        _TAPS.reset(token)


def _instead(numbers: Any, old: Any) -> Any:
    return numbers


class Run:
    """One run: the values that are known by now. Who computes otherwise overrides what a method does."""

    def __init__(
        self, graph: Graph, observe: Observer | None = None, owner: Any = None, typed: bool = True
    ) -> None:
        self.graph = graph
        self.observe = observe
        self.owner = owner
        self.typed = typed
        # Of this run alone: a graph keeps nothing of a run, so that threads can share it.
        self.known: dict[Value, Any] = dict(graph.held())
        if owner is not None:
            # Names have dots, and lead through the modules: `features.0.weight`.
            self.known |= {value: operator.attrgetter(value.name)(owner) for value in graph.parameters}
        self.ends = last_uses(graph, graph.updates.values())
        self.binding = Binding(graph, self.known)
        self.taps = _TAPS.get()
        self.changed: dict[str, Any] = {}
        """What is given and has other numbers afterwards, by the names of the inputs."""

    def all(
        self, inputs: tuple[Any, ...], seeds: Mapping[str, Any]
    ) -> tuple[Any, dict[str, tuple[Any, Any]]]:
        """Return the result, and for the parameters that change their tensors and the new values."""
        graph = self.graph
        self.begin(taken_apart(graph.takes, inputs, graph.name) if graph.takes else inputs, seeds)
        outputs = self.block(graph)
        after = {
            value.name: (
                self.changed.get(value.name) if value.name in self.changed else self.known[value],
                self.known[new],
            )
            for value, new in graph.updates.items()
        }
        return outputs[0] if graph.single else outputs, after

    def result(self) -> Any:
        """Return what the function returns once all is written: a tensor that it was given and changed is that one."""
        graph, known = self.graph, dict(self.known)
        known |= {
            new: self.changed[value.name]
            for value, new in graph.updates.items()
            if value.name in self.changed
        }
        outputs = filled(graph.outputs, known.__getitem__, self.size)
        return outputs[0] if graph.single else outputs

    def begin(self, inputs: tuple[Any, ...], seeds: Mapping[str, Any]) -> None:
        """Take in inputs and seeds: refuse what the graph does not take, and draw what is to be drawn."""
        graph = self.graph
        if len(inputs) != len(graph.inputs):
            raise DimensionError(
                f"the graph takes {len(graph.inputs)} inputs ({', '.join(one.name for one in graph.inputs)}), "
                f"got {len(inputs)}.",
                op=graph.name,
            )
        for value, given in zip(graph.inputs, inputs, strict=True):
            _check(graph, value, given, self.typed)
            self.known[value] = given
            if value in graph.updates:
                self.changed[value.name] = given
        self.binding.begin(inputs)
        if self.changed:
            _check_apart(graph, self.known)
            if grad_enabled():
                # Calls that are recorded read the numbers as they were before.
                self.known |= {one: self.known[one].clone() for one in graph.inputs if one in graph.updates}
        names = [one.name for one in graph.seeds]
        if not set(seeds) <= set(names):
            raise GraphError(
                f"the graph has the seeds {names}, and {sorted(set(seeds) - set(names))} were given"
            )
        for value in graph.seeds:
            if value.name in seeds:
                _check(graph, value, seeds[value.name], self.typed)
                self.known[value] = seeds[value.name]
            else:
                drawn = graph.noise.get(value)
                self.known[value] = seed_from() if drawn is None else drawn.drawn(self.size)

    def block(self, block: Block) -> tuple[Any, ...]:
        """Run the nodes of a block, and return what it gives."""
        for node in block.nodes:
            self.node(node)
        outputs: tuple[Any, ...] = filled(block.outputs, self.known.__getitem__, self.size)
        return outputs

    def node(self, node: Node) -> None:
        """Run a node: its results become known, and what nothing reads any more is forgotten."""
        known = self.known
        start = time.perf_counter() if self.observe is not None else 0.0
        results = self.call(node)
        if self.taps and node in self.taps and not self.taps[node][1]:
            results = self.taps[node][0](results)
        if self.observe is not None:
            self.observe(node, results, time.perf_counter() - start)
        several = (results,) if len(node.outputs) == 1 else results
        for value, result in zip(node.outputs, several, strict=True):
            known[value] = result
        # What an op gives follows from what it is given.
        if not isinstance(node.callee, Op):
            self.binding.bind(node.outputs, several)
        # Else the frame would hold what the next lines let go of.
        del results, several
        for value in self.ends.get(node, ()):
            del known[value]

    def call(self, node: Node) -> Any:
        """Return what a node gives: a tuple where it has several outputs."""
        callee, get, size = node.callee, self.known.__getitem__, self.size
        # Values are nearly all there is, and a call of `filled` costs more than the look-up.
        arguments = [get(one) if isinstance(one, Value) else filled(one, get, size) for one in node.inputs]
        params = filled(node.params, get, size) if node.params else {}
        if self.taps and node in self.taps and self.taps[node][1]:
            arguments = list(self.taps[node][0](arguments))
        # Asked first: what an op gives has been checked by its own rules, and needs no promise.
        if isinstance(callee, Op):
            # As a program says it: the op alone gives a view, of which it depends on what it shows whether it asks.
            return callee(*arguments, **params) if callee is not _DETACH else arguments[0].detach()
        match callee:
            case Control.IF:
                return _one_or_all(self.leave(node.blocks[0 if arguments[0] else 1]))
            case Control.LOOP:
                return _one_or_all(self.loop(node.blocks[0], *arguments))
            case SubGraph():
                return self.function(callee, arguments)
            case LeafModule(path=path):
                result = self.module(path)(*arguments, **params)
            case HeldFunction(name=name):
                result = self.graph.held_functions[name](*arguments, **params)
            case NamedFunction(call=call):
                result = call(*arguments, **params)
        _check_promise(self.graph, node, result)
        return result

    def size(self, size: Symbolic) -> Any:
        """Return what a size, or a formula of sizes, is in this run."""
        return evaluate(size, self.binding.sizes)

    def module(self, path: str) -> Any:
        """Return a module that was kept whole."""
        return self.graph.modules[path] if self.owner is None else operator.attrgetter(path)(self.owner)

    def leave(self, block: Block) -> tuple[Any, ...]:
        """Run a block inside another, and forget what it made."""
        outputs = self.block(block)
        for value in self.ends.get(block, ()):
            del self.known[value]
        return outputs

    def loop(self, body: Block, most: int | None, condition: Any, *carried: Any) -> tuple[Any, ...]:
        """Run a block as long as the condition holds, at most so often."""
        turn = 0
        while condition and (most is None or turn < most):
            given = (turn, *carried)
            self.known.update(zip(body.inputs, given, strict=True))
            self.binding.bind(body.inputs, given)
            # What the block made is forgotten at each turn, so that a loop needs the memory of one.
            condition, *carried = self.leave(body)  # type: ignore[assignment]
            turn += 1
        return tuple(carried)

    def function(self, function: SubGraph, arguments: list[Any]) -> Any:
        """Run a function of the graph on values of its own."""
        # Past __init__, which takes in what a graph holds: a function is given all that it knows.
        inner = object.__new__(type(self))
        inner.graph, inner.observe, inner.owner = self.graph, self.observe, self.owner
        inner.typed, inner.taps = self.typed, self.taps
        inner.known = dict(zip(function.inputs, arguments, strict=True))
        # Its sizes are its own, too: each call may be for others.
        inner.binding = Binding(function, inner.known)
        inner.binding.begin(arguments)
        inner.ends = last_uses(function)
        outputs = inner.block(function)
        return outputs[0] if function.single else outputs


def _one_or_all(outputs: tuple[Any, ...]) -> Any:
    return outputs[0] if len(outputs) == 1 else outputs


def _check_promise(graph: Graph, node: Node, result: Any) -> None:
    """Hold what came out against what is written for it, where no rule has said it beforehand."""
    several = (result,) if len(node.outputs) == 1 else result
    if not isinstance(several, tuple | list) or len(several) != len(node.outputs):
        raise GraphError(f"{node.name}: {called(node.callee)} gave no {len(node.outputs)} values")
    for value, one in zip(node.outputs, several, strict=True):
        if value.type != ANY and not value.type.holds(one):
            raise GraphError(
                f"{value.name} is written as {value.type}, and {called(node.callee)} gave {type_of_value(one)}"
            )


def _check(graph: Graph, value: Value, given: Any, typed: bool) -> None:
    """Refuse an input of another kind, of another data type where `typed`, with other names or number of dims."""
    kind = value.type
    if not isinstance(kind, TensorType):
        if not kind.holds(given):
            raise DTypeError(f"{value.name} of {graph.name} is {kind}, got {type_of_value(given)}")
        return
    if not isinstance(given, Tensor):
        raise DTypeError(f"{value.name} of {graph.name} is a tensor {kind}, got {type(given).__name__}")
    wanted, has = dtype_of(kind), dtype_of(given.payload)
    if typed and has is not wanted:
        raise DTypeError(
            f"{value.name} of {graph.name} is {wanted.name}, got {has.name}: what the graph computes was worked "
            f"out for the one. Convert it, {value.name}.to(wb.{wanted.name}), or trace again with the other"
        )
    _check_dims(graph, value.name, kind, given)


def _check_apart(graph: Graph, known: Mapping[Value, Any]) -> None:
    """Refuse an input that changes and shares memory with another: the graph was made for two that do not."""
    arrays = {one: getattr(tensor, "payload", None) for one, tensor in known.items()}
    for value in graph.inputs:
        for other, array in arrays.items():
            if value not in graph.updates or other is value:
                continue
            if type(array) is type(arrays[value]) is np.ndarray and np.shares_memory(array, arrays[value]):
                raise GraphError(
                    f"{graph.name} changes {value.name} in place, which shares memory with {other.name} here: give it "
                    "a clone() of one of them"
                )


def _check_dims(graph: Graph, label: str, kind: TensorType, tensor: Any) -> None:
    expected, given = kind.dims, dims_of(tensor)
    if len(expected.sizes) != len(given.sizes):
        raise DimensionError(
            f"{label} has {len(expected.sizes)} dims {expected} in the graph, got {len(given.sizes)}.",
            op=graph.name,
            operands=(given.operand(label),),
        )
    for i, (wanted, name) in enumerate(zip(expected.names, given.names, strict=True)):
        # A dim without a name fits any, as everywhere.
        if wanted is not None and name is not None and wanted != name:
            raise DimensionError(
                f"{label} was traced with dims {list(expected.names)}, got {list(given.names)}.",
                op=graph.name,
                operands=(expected.operand("traced", [i]), given.operand(label, [i])),
                fix=f"{label}.align_to({', '.join(repr(one) for one in expected.names)})",
            )
