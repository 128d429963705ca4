"""The graph of a graph's gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.autograd import grad
from workbench.base.dtypes import dtype_of
from workbench.core.dispatch import find
from workbench.core.views import asks
from workbench.graph.arguments import tensors_in
from workbench.graph.blocks import Control, GraphError, Node, Value, values_in
from workbench.graph.interpreter import run_apart
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.tracing import Tracer, trace
from workbench.graph.types import TensorType

__all__ = ["Joined", "differentiate", "joined"]


def differentiate(graph: Graph, wanted: Sequence[str] | None = None) -> Graph:
    """Return a graph of the result of `graph` and its gradients: ``(result, {name: gradient})``.

    Gradients are with respect to the parameters that ask for them, or to the parameters and inputs called as `wanted`
    says. Where one number is all of the result that has gradients they are its own; otherwise the graph takes behind
    its inputs, for each tensor that has, the gradient that arrives there: ``gradient``, ``gradient_1``, ….

    Raises `GraphError` where a name is that of no parameter or input, where the graph takes other values than tensors,
    and where a run decides what it does: `passes.unroll` and `passes.inline` write out what is known before.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: (x * x).sum(), wb.ones(3))
    >>> result, gradients = differentiate(graph, ["x"])(wb.tensor([1.0, 2.0, 3.0]))
    >>> result, gradients["x"]
    (tensor(14.), tensor([2., 4., 6.]))
    """
    function = _Gradients(graph, _wanted(graph, wanted))
    made = _made(function)
    if not any(function.asks):
        raise GraphError(
            f"nothing that {graph.name} gives has gradients: it is detached, or reads nothing that asks for any"
        )
    return made


@dataclass(frozen=True)
class Joined:
    """A graph with its gradients in one, as a tape needs it: what arrives is given, whatever the result is."""

    graph: Graph
    """Returns ``(result, {name: gradient})``; behind the inputs come the gradients that arrive, one for each tensor of
    the result that can have one, whether anything is made of it or not."""
    asks: tuple[bool, ...]
    """For each of these tensors, whether a gradient goes on from it."""


def joined(graph: Graph, wanted: Sequence[str], arriving: Sequence[bool] | None = None) -> Joined:
    """Return `graph` and its gradients with respect to `wanted`, for gradients that arrive from behind.

    `arriving` says for which of the result's tensors one does; else none is computed from it. Raises `GraphError` as
    `differentiate` does.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: (x * 2, (x * x).detach()), wb.ones(3))
    >>> found = joined(graph, ["x"])
    >>> [value.name for value in found.graph.inputs], found.asks
    (['x', 'gradient', 'gradient_1'], (True, False))
    """
    function = _Gradients(graph, _wanted(graph, wanted), alone=False, arriving=arriving)
    made = _made(function)
    return Joined(made, tuple(function.asks))


def _made(function: _Gradients) -> Graph:
    """Trace a function that asks for gradients, and say in the graph what parameters become."""
    graph = function.graph
    made = trace(function, *function.examples())
    # The trace takes the gradients off the tape at the end.
    function.places.end()
    made.name = graph.name
    # What the function returns last is what parameters become.
    *given, after = made.outputs
    made.outputs = tuple(given)
    held = {value.name: value for value in made.parameters}
    for value, tensor in graph.parameters.items():
        if value.name in after:
            # One that is changed and never read is no parameter of the trace yet.
            here = held.get(value.name) or Value(value.name, value.type)
            made.parameters[here] = tensor
            made.updates[here] = after[value.name]
    for value, here in zip(graph.inputs, made.inputs, strict=False):
        if value.name in after:
            made.updates[here] = after[value.name]
    return dead_code(made)


def _wanted(graph: Graph, wanted: Sequence[str] | None) -> list[str]:
    asking = {value.name: tensor.requires_grad for value, tensor in graph.parameters.items()}
    if wanted is None:
        return [name for name, asks in asking.items() if asks]
    inputs = [value.name for value in graph.inputs]
    for name in wanted:
        if name not in inputs and name not in asking:
            known = ", ".join([*inputs, *asking][:8])
            raise GraphError(f"{graph.name} has no parameter and no input {name!r}; it has {known}")
        if not asking.get(name, True):
            raise GraphError(
                f"the parameter {name} of {graph.name} asks for no gradient: requires_grad is False"
            )
    return list(wanted)


GRADIENTS = "gradients"
"""The scope of what computes gradients."""


class _Gradients:
    """A function that runs a graph and asks for gradients; to a trace it is a module with the graph's parameters."""

    def __init__(
        self, graph: Graph, wanted: list[str], alone: bool = True, arriving: Sequence[bool] | None = None
    ) -> None:
        self.graph = graph
        self._wanted = wanted
        self._arriving = arriving
        self.places: _Places
        """Where the nodes of the trace that runs belong."""
        self.asks: list[bool] = []
        """For each tensor of the result that can have a gradient, whether one goes on from it."""
        for node, _ in graph.walk():
            if isinstance(node.callee, Control):
                raise GraphError(
                    f"{node.name} of {graph.name} is decided by a run, and has no gradients in a graph; passes.unroll "
                    "writes out what is known before"
                )
        self._ends = [value for value in values_in(graph.outputs) if _has_gradients(value)]
        if not self._ends:
            raise GraphError(f"{graph.name} gives nothing that has gradients")
        self._alone = alone and len(self._ends) == 1 and self._ends[0].tensor.dims.numel == 1
        # The graph has these names already, so that those behind get others.
        given = [] if self._alone else ["gradient"] * len(self._ends)
        self.forward = _signed(self._run, [value.name for value in graph.inputs], given)

    def examples(self) -> list[Any]:
        """What it is traced for."""
        inputs = [
            self._example(value).requires_grad_(value.name in self._wanted) for value in self.graph.inputs
        ]
        return inputs + ([] if self._alone else [self._example(value) for value in self._ends])

    def _example(self, value: Value) -> Any:
        if not isinstance(value.type, TensorType):
            raise GraphError(
                f"{value.name} of {self.graph.name} is {value.type}: gradients are of graphs of tensors"
            )
        return value.type.stand_in()

    def __call__(self, *inputs: Any) -> Any:
        return self.forward(*inputs)

    def _run(self, *inputs: Any) -> Any:
        graph, count = self.graph, len(self.graph.inputs)
        self.places = places = _Places()
        result, after = run_apart(graph, *inputs[:count], observe=places.forward)
        ends = [
            one
            for one, value in zip(tensors_in((result,)), values_in(graph.outputs), strict=True)
            if _has_gradients(value)
        ]
        known = {value.name: tensor for value, tensor in graph.parameters.items()}
        known |= {value.name: tensor for value, tensor in zip(graph.inputs, inputs, strict=False)}
        starts = [known[name] for name in self._wanted]
        given = [None] if self._alone else inputs[count:]
        self.asks = [asks(one) and not one._borrowed for one in ends]
        # What was detached, or is computed from nothing that asks, has no gradient to go on from.
        used = [
            (end, one)
            for end, one, goes_on, arrives in zip(
                ends, given, self.asks, self._arriving or [True] * len(ends), strict=True
            )
            if goes_on and arrives
        ]
        found: Sequence[Any] = [None] * len(starts)
        if used:
            found = grad([end for end, _ in used], starts, [one for _, one in used], allow_unused=True)
            places.end()
        return result, dict(zip(self._wanted, found, strict=True)), after

    # What a trace asks a module.

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        return ((value.name, tensor) for value, tensor in self.graph.parameters.items())

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        return iter(())


def _has_gradients(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TensorType) and (dtype_of(kind).is_floating_point or kind.dtype.kind == "c")


def _signed(function: Callable[..., Any], names: list[str], more: list[str]) -> Callable[..., Any]:
    """Return the function with a signature, by which a trace calls its inputs."""

    def forward(*inputs: Any) -> Any:
        return function(*inputs)

    taken: list[str] = []
    for name in (*names, *more):
        free = (one for one in (name, *(f"{name}_{i}" for i in range(1, len(names) + len(more) + 1))))
        taken.append(next(one for one in free if one not in taken))
    if all(map(str.isidentifier, taken)):
        positional = inspect.Parameter.POSITIONAL_ONLY
        signature = inspect.Signature([inspect.Parameter(name, positional) for name in taken])
        forward.__signature__ = signature  # type: ignore[attr-defined]
    return forward


class _Places:
    """Gives the nodes that a trace makes of a node that node's scope and line of code, and those of its gradient, too.

    The latter stand in a scope of their own, `GRADIENTS`, which has in it the scopes of the forward nodes: so a picture
    folds a layer's gradient as it folds the layer.
    """

    def __init__(self) -> None:
        tracer = find(Tracer)
        assert tracer is not None
        self._nodes = tracer.graph.nodes
        self._seen = len(self._nodes)
        self._of: Node | None = None
        """The node whose gradient rule runs."""

    def forward(self, node: Node, results: Any, seconds: float) -> None:
        for made in self._nodes[self._seen :]:
            made.scope, made.source = node.scope, node.source
        self._seen = len(self._nodes)
        for one in tensors_in((results,)):
            # A value that the node hands on has the call of another node, which was asked before.
            call = one._grad_fn
            if call is not None and not call.before:
                call.register_prehook(partial(self._backward, node))

    def _backward(self, node: Node, gradients: Any) -> None:
        self.end()
        self._of = node

    def end(self) -> None:
        """Give what was made since the last rule began to the node whose rule that was."""
        for made in self._nodes[self._seen :]:
            made.scope = (GRADIENTS,)
            if self._of is not None:
                made.scope, made.source = (GRADIENTS, *self._of.scope), self._of.source
        self._seen, self._of = len(self._nodes), None
