"""What the layers of a model give, or are given, in one pass: taken, or replaced.

Of a layer that gives a tuple, as recurrent ones do, the tensors in it are its values; what is nested deeper (their
states) is passed on.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.attribution.layers import Layer
from workbench.attribution.precision import is_floating
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dispatch import grad_enabled
from workbench.core.value import dims_of
from workbench.fx import Interpreter
from workbench.fx import Node as FxNode
from workbench.graph.interpreter import tapped
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["LayerForward", "Taken", "run_layers"]

Forward = Callable[..., Any]
Change = Callable[[Any], Any]
"""What is done with what a layer gives, or is given: it returns what goes on instead."""


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
        if one is None:
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


def _tapping(tap: _Tap) -> AbstractContextManager[Any]:
    """Return a block in which `tap` is called at its place."""
    place, at_input = tap.layer.place, tap.layer.at_input
    if isinstance(place, FxNode):
        return _interpreted(place, tap)
    if not isinstance(place, Module):
        return tapped(place, tap, at_input)
    if at_input:
        return place.register_forward_pre_hook(lambda module, given: tap(given))
    return place.register_forward_hook(lambda module, given, found: tap(found))


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
    follow: Callable[[Sequence[Tensor]], None] | None = None
    """Told of what was taken before it goes on."""
    values: list[Tensor] = field(default_factory=list)

    def __call__(self, value: Any) -> Any:
        found = _tensors(value)
        if not found:
            what = "is given" if self.layer.at_input else "gives"
            raise TypeError(f"{self.method}: layer {self.layer.name!r} {what} no tensors")
        self.values = [self._leaf(one) for one in found]
        if self.follow is not None:
            self.follow(self.values)
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
        if value.is_quantized or not is_floating(value.dtype.numpy):
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
    >>> from workbench.attribution.layers import find_layer
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
    # Copies: what is explained may be changed in place behind the layer, and is a leaf of the tape.
    return _with_tensors(value, [one.clone() for one in values])
