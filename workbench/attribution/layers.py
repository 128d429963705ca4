"""Layers of a model: found by module, dotted name or node of a graph; what they give taken, or replaced.

A layer that runs several times in one pass is named with the number of the call, ``"relu#0"``. Of a layer that gives
a tuple, as recurrent ones do, the tensors in it are its values; what is nested deeper (their states) is passed on.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.attribution.modes import modules_behind
from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dispatch import grad_enabled
from workbench.core.value import dims_of
from workbench.fx import Interpreter
from workbench.fx import Node as FxNode
from workbench.graph.blocks import Node, Value
from workbench.graph.interpreter import tapped
from workbench.nn import Module
from workbench.ops.shape.join import stack
from workbench.tensor import Tensor

__all__ = [
    "Layer",
    "LayerForward",
    "NeuronForward",
    "Taken",
    "by_name",
    "find_layer",
    "run_layers",
    "select_neuron",
]

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]
Change = Callable[[Any], Any]
"""What is done with what a layer gives, or is given: it returns what goes on instead."""


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
    """Which of the values of a node is meant; None for all."""


def find_layer(method: str, forward: Forward, layer: Any, at_input: bool = False) -> Layer:
    """Return the layer that is meant by a module, a dotted name, or a node of a graph.

    A name may end in ``#`` and the number of a call, from 0, for a layer that runs several times.

    Raises:
        TypeError: `layer` is none of these.
        ValueError: the model has no such layer; what is nearly called so is named.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU())
    >>> find_layer("LayerActivation", model, "1").name, find_layer("LayerActivation", model, model[0]).name
    ('1', '0')
    """
    if isinstance(layer, Value) and layer.node is not None:
        several = len(layer.node.outputs) > 1
        return Layer(
            layer.name, layer.node, at_input, output=layer.node.outputs.index(layer) if several else None
        )
    if isinstance(layer, FxNode | Node):
        return Layer(layer.name, layer, at_input)
    roots = modules_behind(forward)
    if isinstance(layer, Module):
        for root in roots:
            for name, one in root.named_modules():
                if one is layer:
                    return Layer(name or type(layer).__name__, layer, at_input)
    known = {name: one for root in roots for name, one in root.named_modules()}
    if isinstance(layer, Module):
        if known:
            raise ValueError(
                f"{method}: this {type(layer).__name__} is not in the model, a {type(known['']).__name__}; its layers "
                f"are {_some(known)}"
            )
        return Layer(type(layer).__name__, layer, at_input)
    if not isinstance(layer, str):
        raise TypeError(
            f"{method}: a layer is a module, its dotted name or a node of a graph, got {type(layer).__name__}"
        )
    name, _, call = layer.partition("#")
    if call and not call.isdigit():
        raise ValueError(f"{method}: after # comes the number of a call, from 0; got {layer!r}")
    if name not in known:
        near = near_miss(name, known)
        raise ValueError(
            f"{method}: the model has no layer {name!r}"
            + (f"; did you mean {near!r}?" if near else f"; its layers are {_some(known)}" if known else "")
            + ("" if known else ": no module can be seen behind the function. Give the module itself")
        )
    return Layer(name, known[name], at_input, int(call) if call else None)


def by_name(method: str, forward: Forward, layer: Any) -> Any:
    """Return what finds the same layer in a copy of the model: its dotted name; a node, which has none, as it is."""
    found = find_layer(method, forward, layer)
    names = [
        name for root in modules_behind(forward) for name, one in root.named_modules() if one is found.place
    ]
    if not names or not names[0]:
        return layer
    return names[0] if found.call is None else f"{names[0]}#{found.call}"


def _some(known: dict[str, Module]) -> str:
    names = [name for name in known if name]
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "") if names else "none"


@dataclass
class _Tap:
    """What is seen of a layer in one pass, and done to it."""

    layer: Layer
    change: Change
    calls: int = 0

    def __call__(self, value: Any) -> Any:
        number, self.calls = self.calls, self.calls + 1
        if number != (self.layer.call or 0):
            return value
        one = self.layer.output
        if one is None or self.layer.at_input:
            return self.change(value)
        return (*value[:one], self.change(value[one]), *value[one + 1 :])

    def check(self, method: str) -> None:
        """Raise ValueError where the layer did not run as it was to."""
        layer = self.layer
        if (layer.call is not None and layer.call >= self.calls) or not self.calls:
            times = f"{self.calls} times" if self.calls else "not at all"
            raise ValueError(f"{method}: layer {layer.name!r} runs {times} when the model does")
        if layer.call is None and self.calls > 1:
            raise ValueError(
                f"{method}: layer {layer.name!r} runs {self.calls} times when the model does, and its attributions "
                f"would be of one of these only; say which: '{layer.name}#0' to '{layer.name}#{self.calls - 1}'"
            )


def run_layers(
    method: str,
    forward: Forward,
    arguments: Sequence[Any],
    layers: Sequence[Layer],
    changes: Sequence[Change],
) -> Any:
    """Return the model's output, with what each layer gives (or is given) changed on its way.

    Raises:
        ValueError: a layer does not run, or runs several times and no call is said.
    """
    taps = [_Tap(layer, change) for layer, change in zip(layers, changes, strict=True)]
    with ExitStack() as stack:
        for tap in taps:
            stack.enter_context(_tapping(tap))
        output = forward(*arguments)
    for tap in taps:
        tap.check(method)
    return output


@contextmanager
def _tapping(tap: _Tap) -> Iterator[None]:
    place, at_input = tap.layer.place, tap.layer.at_input
    if isinstance(place, Module):
        if at_input:
            handle = place.register_forward_pre_hook(lambda module, given: tap(given))
        else:
            handle = place.register_forward_hook(lambda module, given, found: tap(found))
        try:
            yield
        finally:
            handle.remove()
    elif isinstance(place, FxNode):
        with _interpreted(place, tap):
            yield
    else:
        with tapped(place, tap, at_input):
            yield


@contextmanager
def _interpreted(node: FxNode, tap: _Tap) -> Iterator[None]:
    """Let the module of an fx graph run node by node, with `tap` at one of them."""
    owner: Any = node.graph.owning_module

    class Tapping(Interpreter):
        def run_node(self, n: FxNode) -> Any:
            if n is node and tap.layer.at_input:
                args, kwargs = self.fetch_args_kwargs_from_env(n)
                return getattr(self, n.op)(n.target, tap(args), kwargs)
            found = super().run_node(n)
            return tap(found) if n is node else found

    object.__setattr__(owner, "forward", lambda *given: Tapping(owner).run(*given))
    try:
        yield
    finally:
        object.__delattr__(owner, "forward")


# ------------------------------------------------------------------------------------------ values of layers


def _tensors(value: Any) -> list[Tensor]:
    """Return the tensors of what a layer gives: itself, or those of a tuple, list or dict."""
    if isinstance(value, Tensor):
        return [value]
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [one for one in entries if isinstance(one, Tensor)]


def _with_tensors(value: Any, tensors: Sequence[Tensor]) -> Any:
    """Return what a layer gives with other tensors in the places of its own."""
    if isinstance(value, Tensor):
        return tensors[0]
    rest = iter(tensors)
    if isinstance(value, dict):
        return {key: next(rest) if isinstance(one, Tensor) else one for key, one in value.items()}
    entries = [next(rest) if isinstance(one, Tensor) else one for one in value]
    # A named tuple is made of its fields one by one.
    return type(value)(*entries) if hasattr(value, "_fields") else type(value)(entries)


@dataclass
class Taken:
    """What a layer gave in one pass."""

    method: str
    layer: Layer
    rows: int
    gradients: bool = False
    """Whether it is to be differentiated for."""
    apart: bool = False
    """Whether the tape may begin here, which leaves what is before it unrecorded."""
    values: list[Tensor] = field(default_factory=list)

    def __call__(self, value: Any) -> Any:
        found = _tensors(value)
        if not found:
            what = "is given" if self.layer.at_input else "gives"
            raise TypeError(f"{self.method}: layer {self.layer.name!r} {what} no tensors")
        self.values = [self._leaf(one) for one in found]
        # Copies go on: what changes in place behind the layer does not change what was taken.
        return _with_tensors(value, [one.clone() for one in self.values])

    def _leaf(self, value: Tensor) -> Tensor:
        if value.ndim == 0 or value.shape[0] != self.rows:
            raise DimensionError(
                f"layer {self.layer.name!r} has a value of shape {list(value.shape)} for {self.rows} samples: its "
                "first dim must be the samples",
                op=self.method,
                operands=(dims_of(value).operand(self.layer.name),),
            )
        if not self.gradients or not grad_enabled():
            return value
        if value.is_quantized or value.dtype.kind != "f":
            raise DTypeError(
                f"{self.method}: layer {self.layer.name!r} has {value.dtype.name} values, which have no gradients; "
                + (
                    "take what it gives, not what it is given"
                    if self.layer.at_input
                    else "take another layer"
                )
            )
        return value if value.requires_grad and not self.apart else value.detach().requires_grad_()


class LayerForward:
    """A model as a function of what a layer gives: ``forward(*values, *inputs, *further arguments)``.

    What is computed before the layer is computed from `inputs` and not used where the values replace it. Methods of
    inputs explain layers with it.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> layer = find_layer("Example", model, "0")
    >>> LayerForward("Example", model, [layer], [1])(wb.tensor([[5.0]]), wb.tensor([[-1.0]])).tolist()
    [[5.0]]
    """

    def __init__(
        self, method: str, forward_func: Forward, layers: Sequence[Layer], counts: Sequence[int]
    ) -> None:
        self.method = method
        self.forward_func = forward_func
        self.layers = list(layers)
        self.counts = list(counts)
        """How many tensors each of the layers has."""

    def __call__(self, *arguments: Any) -> Any:
        values, rest = arguments[: sum(self.counts)], arguments[sum(self.counts) :]
        firsts = np.cumsum([0, *self.counts])
        changes = [
            functools.partial(_replaced, values[first:last]) for first, last in itertools.pairwise(firsts)
        ]
        return run_layers(self.method, self.forward_func, rest, self.layers, changes)


def _replaced(values: Sequence[Tensor], value: Any) -> Any:
    return _with_tensors(value, values)


class NeuronForward:
    """A model as a function from inputs to one neuron of a layer, [rows]: what methods of neurons explain.

    `selector` is the neuron's place in the layer's value after the samples: a whole number, a tuple of whole numbers
    and slices (over which is summed), or a function from what the layer gives to one number a row, [rows]; one that
    sums up whatever it is given is asked row by row.

    Raises, when it is called:
        DimensionError: the selector does not pick one number a row.
        TypeError: a selector of another kind, or for a layer of several tensors one that is no function.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> NeuronForward("Example", model, find_layer("Example", model, "0"), 1)(wb.tensor([[1.0, 2.0]])).tolist()
    [2.0]
    """

    def __init__(self, method: str, forward_func: Forward, layer: Layer, selector: Any) -> None:
        self.method = method
        self.forward_func = forward_func
        self.layer = layer
        self.selector = selector

    def __call__(self, *arguments: Any) -> Any:
        rows = next(one.shape[0] for one in arguments if isinstance(one, Tensor))
        taken = Taken(self.method, self.layer, rows)
        run_layers(self.method, self.forward_func, arguments, [self.layer], [taken])
        return select_neuron(self.method, taken.values, self.selector, self.layer.name)


def _row_by_row(selector: Callable[..., Any], values: Sequence[Tensor]) -> Tensor:
    """Return what a selector makes of each row alone, [rows]: one number of a batch would mix its samples."""
    rows = [[one[row : row + 1] for one in values] for row in range(values[0].shape[0])]
    found: Tensor = stack([selector(one[0] if len(one) == 1 else tuple(one)) for one in rows])
    return found


def select_neuron(method: str, values: Sequence[Tensor], selector: Any, name: str) -> Tensor:
    """Return a neuron's value of each row, [rows], from what its layer gives."""
    if callable(selector):
        found = selector(values[0] if len(values) == 1 else tuple(values))
        if isinstance(found, Tensor) and found.ndim == 0:
            found = _row_by_row(selector, values)
        if not isinstance(found, Tensor) or found.numel() != values[0].shape[0]:
            shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise DimensionError(
                f"the selector of a neuron returns one number a row, {values[0].shape[0]} here, it returned {shape}",
                op=method,
            )
        return found.rename(None).reshape(-1)
    if len(values) > 1:
        raise TypeError(
            f"{method}: layer {name!r} has {len(values)} tensors; give a function as neuron_selector"
        )
    value = values[0].rename(None)
    places = selector if isinstance(selector, tuple) else (selector,)
    for one in places:
        if isinstance(one, bool) or not (hasattr(one, "__index__") or isinstance(one, slice)):
            raise TypeError(
                f"{method}: neuron_selector is a whole number, a tuple of whole numbers and slices, or a function; got "
                f"{one!r}"
            )
    if len(places) < value.ndim - 1 and all(size == 1 for size in value.shape[1 + len(places) :]):
        # Dims of one entry leave no choice.
        places = (*places, *(0,) * (value.ndim - 1 - len(places)))
    if len(places) != value.ndim - 1:
        raise DimensionError(
            f"a neuron_selector of {len(places)} indices does not pick a neuron of layer {name!r}, whose shape is "
            f"{list(value.shape)}: it takes {value.ndim - 1}",
            op=method,
            operands=(dims_of(values[0]).operand(name),),
        )
    for axis, one in enumerate(places, 1):
        if not isinstance(one, slice) and not -value.shape[axis] <= int(one) < value.shape[axis]:
            raise DimensionError(
                f"neuron {int(one)} is out of range: dim {axis} of layer {name!r} has {value.shape[axis]} entries",
                op=method,
                operands=(dims_of(values[0]).operand(name, [axis]),),
            )
    picked = value[(slice(None), *places)]
    return picked.reshape(picked.shape[0], -1).sum(1) if picked.ndim > 1 else picked
