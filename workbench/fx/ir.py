"""The house's own graph of an `fx.Graph`: the very same calls, with what they call and hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from workbench.base.source_location import place
from workbench.core.op import Op
from workbench.fx.checks import at
from workbench.fx.node import Node
from workbench.graph import Graph as HouseGraph
from workbench.graph import GraphError, HeldFunction, LeafModule, Value
from workbench.graph.blocks import values_in
from workbench.graph.effects import written_by
from workbench.graph.inference import with_sizes
from workbench.graph.rules import results
from workbench.graph.types import symbolic, type_of
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.fx.graph import Graph

__all__ = ["graph_of"]


def graph_of(graph: Graph) -> HouseGraph:
    """Return the calls of `graph` as a graph of the house: its nodes are those of the calls, not copies.

    Raises `GraphError` where something is held that is no tensor, or where a module is not there.
    """
    made = HouseGraph(name="graph")
    if sum(node.op == "output" for node in graph.nodes) != 1:
        raise GraphError(
            "the graph has no output, or several: lint() names them, graph.output(result) adds one"
        )
    owner = graph.owning_module
    for node in graph.nodes:
        made.fresh(node.name)
        match node.op:
            case "placeholder":
                # Of what ShapeProp has seen the sizes are those of that run: each is a symbol, as in a trace.
                node.value.type = symbolic(node.name, node.value.type)
                made.inputs.append(node.value)
            case "get_attr":
                _hold(made, node, owner)
            case "output":
                (result,) = node._call.inputs
                made.single = not isinstance(result, tuple)
                made.outputs = (result,) if made.single else result
            case _:
                made.nodes.append(node._call)
                _describe(made, node, owner)
    return with_sizes(made)


def _hold(made: HouseGraph, node: Node, owner: Any) -> None:
    tensor = at(owner, node.target)
    if not isinstance(tensor, Tensor):
        raise GraphError(
            f"{node.name} is {node.target!r} of the module, {type(tensor).__name__} and no tensor: a "
            "graph holds tensors"
        )
    node.value.type = type_of(tensor)
    registered = (
        {id(one) for one in (*owner.parameters(), *owner.buffers())} if hasattr(owner, "buffers") else set()
    )
    held = made.parameters if id(tensor) in registered else made.constants
    held[node.value] = tensor


def _describe(made: HouseGraph, node: Node, owner: Any) -> None:
    """Bring a call up to date: what it calls is held, what it writes into is said, where it stood is known."""
    call = node._call
    if node.place is not None:
        call.source = place(*node.place)
    call.scope = tuple(node.meta.get("scope", ()))
    if node.op == "call_module":
        module = at(owner, node.target)
        if module is None:
            raise GraphError(
                f"{node.name} calls the module {node.target!r}, and the graph's owner has none there"
            )
        made.modules[node.target] = module
    elif isinstance(call.callee, HeldFunction):
        call.callee = _held(made, call.callee.name, node)
    elif isinstance(call.callee, Op) and len(results(call) or ()) > 1:
        # To fx a call gives one thing, a tuple here; to the house an op of several results gives several.
        call.callee = _held(made, call.callee.name, node)
    call.writes = tuple(dict.fromkeys(_written(made, node)))


def _held(made: HouseGraph, name: str, node: Node) -> HeldFunction:
    function = _method(node.target) if node.op == "call_method" else node.target
    count = 0
    # Two functions of one name are two to the graph.
    base = name
    while made.held_functions.setdefault(name, function) is not function:
        count += 1
        name = f"{base}_{count}"
    return HeldFunction(name)


@cache
def _method(name: str) -> Callable[..., Any]:
    """Return what calls a method that tensors have not: the value's own."""

    def method(value: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(value, name)(*arguments, **keywords)

    return method


def _written(made: HouseGraph, node: Node) -> Iterator[Value]:
    """Yield the values that a call writes into."""
    call = node._call
    yield from written_by(call.callee, call.inputs, call.params)
    # An activation that was made with `inplace=True` writes into what it is given.
    if isinstance(call.callee, LeafModule) and getattr(made.modules[call.callee.path], "inplace", False):
        yield from values_in(call.inputs[:1])
