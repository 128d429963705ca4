"""Layers of a model: which there are, and how one is found by module, dotted name or node of a graph.

A layer that runs several times in one pass is named with the number of the call, ``"relu#0"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.attribution.behind import graph_of, models_behind, modules_behind
from workbench.attribution.graph_layers import GraphLayers, has_node
from workbench.attribution.graph_turns import scattered
from workbench.base.dims import near_miss
from workbench.base.foreign import mending_module
from workbench.fx import Node as FxNode
from workbench.graph.blocks import Node, Value
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["Layer", "by_name", "find_layer", "find_part", "first_layer_to_ask", "layers_of"]

Forward = Callable[..., Any]


@dataclass(frozen=True)
class Layer:
    """A place in a model: what a module or a node of a graph gives, or is given."""

    name: str
    place: Module | FxNode | Node
    at_input: bool = False
    """Whether it is what the layer is given that counts, not what it gives."""
    call: int | None = None
    """Which of its calls in one pass is meant; None where there is to be one only."""
    output: int | None = None
    """Which of the values of a node is meant, or of its operands; None for all."""


def find_layer(method: str, forward: Forward, layer: Any, at_input: bool = False) -> Layer:
    """Return the layer that is meant by a module, a dotted name, or a node of a graph.

    A name may end in ``#`` and the number of a call, from 0, for a layer that runs several times. Of a model that runs
    a graph (traced, scripted, or read) a layer is what a module made there, or a node by its name. A module that is not
    seen behind a function says itself when it runs.

    Raises:
        TypeError: `layer` is none of these.
        ValueError: the model has no such layer; what is nearly called so is named.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU())
    >>> find_layer("LayerActivation", model, "1").name, find_layer("LayerActivation", model, model[0]).name
    ('1', '0')
    """
    if isinstance(layer, str | Module) and (known := _of_module(forward, layer, at_input)):
        return known
    if isinstance(layer, FxNode):
        return Layer(layer.name, layer, at_input)
    models = models_behind(forward)
    if isinstance(layer, Node) or (isinstance(layer, Value) and layer.node is not None):
        return _by_node(method, models, layer, at_input)
    if isinstance(layer, Module):
        return _by_module(method, forward, models, layer, at_input)
    if layer is None:
        raise ValueError(
            f"{method}: no layer is chosen yet: set its layer to a module of the model, or to its dotted name"
        )
    if not isinstance(layer, str):
        mending = mending_module(layer)
        raise TypeError(
            f"{method}: a layer is a module, its dotted name or a node of a graph, got {type(layer).__name__}"
            + (f"; {mending}, and a layer of that is one of its parts, or the same name" if mending else "")
        )
    return _by_text(method, forward, models, layer, at_input)


def find_part(method: str, forward: Forward, layer: Any) -> Layer:
    """Return the module that is meant, for what it holds: that of a model that runs a graph has its parameters, too.

    Raises as `find_layer` does, and ValueError where a node of a graph is meant.

    >>> import workbench as wb
    >>> traced = wb.jit.trace(wb.nn.Sequential(wb.nn.Linear(2, 3)).eval(), wb.ones(1, 2))
    >>> find_part("weights", traced, "0").place.weight.shape
    (3, 2)
    """
    parts = (each for root in modules_behind(forward) for each in root.named_modules())
    for name, part in parts:
        if part is layer or (isinstance(layer, str) and name == layer):
            return Layer(name or type(part).__name__, part)
    found = find_layer(method, forward, layer)
    if not isinstance(found.place, Module):
        raise ValueError(
            f"{method}: {found.name!r} is a node of a graph, which holds nothing itself; give a module of the model"
        )
    return found


def layers_of(forward: Forward) -> list[str]:
    """Return the names by which layers of a model can be explained, in order.

    Of a model that runs a graph these are the paths of modules that gave something there, and other nodes; those inside
    loops come last, turn by turn. Of any other these are its parts, but for those that only hold others.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU()).eval()
    >>> layers_of(model), layers_of(wb.graph.trace(lambda x: model(x).exp(), wb.ones(1, 2)))
    (['0', '1'], ['linear', 'relu', 'exp'])
    """
    found: list[str] = []
    for one in models_behind(forward):
        graph = _graph_layers(one)
        if graph is None:
            found += [name for name, part in one.named_modules() if name and _runs(part)]
        else:
            found += graph.offered
    return list(dict.fromkeys(found))


def first_layer_to_ask(forward: Forward) -> str | None:
    """Return the layer that one begins to explain by: the last convolution, else the one before the last; None where
    there is none.

    >>> import workbench as wb
    >>> nn = wb.nn
    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    >>> first_layer_to_ask(model), first_layer_to_ask(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)))
    ('0', '1')
    """
    names = layers_of(forward)
    parts = {name: part for root in modules_behind(forward) for name, part in root.named_modules()}
    weights = [(name, getattr(parts.get(name.partition("#")[0]), "weight", None)) for name in names]
    convolutions = [name for name, one in weights if isinstance(one, Tensor) and one.ndim > 2]
    return convolutions[-1] if convolutions else next(iter(names[-2:]), None)


def _runs(module: Module) -> bool:
    return type(module).forward is not Module.forward


def _graph_layers(model: Any) -> GraphLayers | None:
    graph = graph_of(model)
    return None if graph is None else GraphLayers(graph, getattr(model, "places", None))


def _names(model: Any, graph: GraphLayers | None) -> list[str]:
    """Return the names that layers of a module, or of what runs a graph, have."""
    return [name for name, _ in model.named_modules()] if graph is None else graph.names


def _of_module(forward: Forward, layer: str | Module, at_input: bool) -> Layer | None:
    """Return the layer of a module that is asked itself: as nearly always, in every call, nothing else is looked at."""
    if not isinstance(forward, Module) or graph_of(forward) is not None:
        return None
    if isinstance(layer, Module):
        paths = (path for path, one in forward.named_modules() if one is layer)
        path = next(paths, None)
        return None if path is None else Layer(path or type(layer).__name__, layer, at_input)
    name, _, call = layer.partition("#")
    if not name or (call and not call.isdigit()):
        return None
    try:
        return Layer(name, forward.get_submodule(name), at_input, int(call) if call else None)
    except AttributeError:
        return None


def _by_text(method: str, forward: Forward, models: Sequence[Any], layer: str, at_input: bool) -> Layer:
    name, _, call = layer.partition("#")
    if call and not call.isdigit():
        raise ValueError(f"{method}: after # comes the number of a call, from 0; got {layer!r}")
    known = [(one, graph, _names(one, graph)) for one in models for graph in [_graph_layers(one)]]
    having = [(one, graph) for one, graph, names in known if name in names]
    # Of a module that is asked itself, a part is meant, not that of another which it happens to name.
    having = having[:1] if having and having[0][0] is forward else having
    if len(having) > 1:
        raise ValueError(
            f"{method}: {len(having)} models behind the function have a layer {name!r}; give the module itself"
        )
    if not having:
        if any(graph is not None and name in scattered(graph.graph) for _, graph, _ in known):
            raise ValueError(
                f"{method}: layer {name!r} runs in several places of loops and branches, so that its calls have no "
                "numbers; give one of its nodes in the graph of the model"
            )
        near = near_miss(name, [one for _, _, names in known for one in names])
        raise ValueError(
            f"{method}: the model has no layer {name!r}"
            + (f"; did you mean {near!r}?" if near else f"; its layers are {_some(forward)}" if known else "")
            + ("" if known else ": no module can be seen behind the function. Give the module itself")
        )
    model, graph = having[0]
    number = int(call) if call else None
    if graph is None:
        return Layer(name, dict(model.named_modules())[name], at_input, number)
    return _in_graph(method, graph, name, number, at_input)


def _by_node(method: str, models: Sequence[Any], layer: Node | Value, at_input: bool) -> Layer:
    node = layer if isinstance(layer, Node) else layer.node
    assert node is not None
    graphs = [graph for graph in map(graph_of, models) if graph is not None]
    owner = next((one for one in graphs if has_node(one, node)), None)
    if owner is None and models:
        raise ValueError(
            f"{method}: {layer.name!r} is of a graph that the model, a {type(models[0]).__name__}, does not run; give "
            "that graph as the model"
            + (f", or the layer by its name: {'.'.join(node.scope)!r}" if node.scope else "")
        )
    if at_input:
        which = None if owner is None else GraphLayers(owner).operand(node)
    else:
        which = node.outputs.index(layer) if isinstance(layer, Value) and len(node.outputs) > 1 else None
    return Layer(layer.name, node, at_input, output=which)


def _by_module(method: str, forward: Forward, models: Sequence[Any], layer: Module, at_input: bool) -> Layer:
    for root in models:
        for name, one in root.named_modules() if isinstance(root, Module) else ():
            if one is layer and graph_of(root) is None:
                return Layer(name or type(layer).__name__, layer, at_input)
            if one is layer and name:
                return find_layer(method, root, name, at_input)
    if isinstance(forward, Module):
        raise ValueError(
            f"{method}: this {type(layer).__name__} is not in the model, a {type(forward).__name__}; its layers are "
            f"{_some(forward)}"
        )
    return Layer(type(layer).__name__, layer, at_input)


def _in_graph(method: str, graph: GraphLayers, name: str, call: int | None, at_input: bool) -> Layer:
    if name in graph.turning:
        # How often it runs is seen when it does.
        inside = graph.place_inside(name, at_input)
        if inside is None:
            raise ValueError(_not_apart(method, name))
        return Layer(name, inside.node, inside.at_input, call, inside.at)
    count = len(graph.gives[name])
    if count > 1 and call is None:
        raise ValueError(
            f"{method}: layer {name!r} gives {count} values in the graph of the model; say which: '{name}#0' to "
            f"'{name}#{count - 1}'"
        )
    if call is not None and call >= count:
        raise ValueError(f"{method}: layer {name!r} runs {count} times when the model does; got call {call}")
    place = graph.place(name, call or 0, at_input)
    if place is None:
        raise ValueError(_not_apart(method, name))
    return Layer(name, place.node, place.at_input, output=place.at)


def _not_apart(method: str, name: str) -> str:
    return (
        f"{method}: what layer {name!r} is given cannot be told apart in the graph of the model, as other nodes "
        "read it as well; take what it gives, or what the layer before it gives"
    )


def by_name(forward: Forward, layer: Any) -> Any:
    """Return what finds the same layer in a copy of the model: its dotted name; a node, which has none, as it is."""
    named = (each for root in modules_behind(forward) for each in root.named_modules())
    return next((name for name, one in named if name and one is layer), layer)


def _some(forward: Forward) -> str:
    names = layers_of(forward)
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "") if names else "none"
