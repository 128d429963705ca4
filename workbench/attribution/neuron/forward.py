"""A model as a function to one neuron of a layer, and how that neuron is picked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.attribution.layer_values import Taken, run_layers
from workbench.attribution.layers import Layer
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.ops.shape.join import stack
from workbench.tensor import Tensor

__all__ = ["NeuronForward", "select_neuron"]

Forward = Callable[..., Any]


class NeuronForward:
    """A model as a function from inputs to one neuron of a layer, [rows]: what methods of neurons explain.

    `selector` is the neuron's place in the layer's value after the samples: a whole number, a tuple of whole numbers
    and slices (over which is summed), or a function from what the layer gives to one number a row, [rows]; one that
    sums up whatever it is given is asked row by row.

    Raises, when it is called:
        DimensionError: the selector does not pick one number a row.
        TypeError: a selector of another kind, or for a layer of several tensors one that is no function.

    >>> import workbench as wb
    >>> from workbench.attribution.layers import find_layer
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
    places = tuple(selector) if isinstance(selector, tuple | list) else (selector,)
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
