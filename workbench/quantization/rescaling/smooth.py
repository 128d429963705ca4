"""SmoothQuant: what is large in the activations of a few channels moves into the weights behind them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from workbench import nn
from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.graph import Node, run
from workbench.nn import Linear, Module
from workbench.quantization.quantizable.separate_attention import separate
from workbench.quantization.rescaling.divided import Divided
from workbench.quantization.rescaling.joints import NORMS, Joint, joints
from workbench.quantization.rescaling.state import Numbers, traced
from workbench.quantization.swapping import put
from workbench.quantization.tuning.places import watching

__all__ = ["smooth"]

Array = np.ndarray[Any, Any]


def smooth(model: Module, data: Iterable[Any], *, alpha: float = 0.5, divide_inputs: bool = False) -> Any:
    """Return a copy of `model` that computes the same and whose activations have fewer outliers.

    For each channel j between a normalisation and the linear layers that read it, s = max|x_j|^α / max|w_j|^(1-α): the
    normalisation's weight and bias are divided by s, and the columns of the linear layers multiplied. `alpha` in 0 … 1
    says how much of the difficulty moves from activations to weights. `data` gives batches (tensors, or tuples of all
    inputs) for the ranges of the activations.

    A normalisation that something else reads too is left as it is: a sum, in encoders that normalise behind it. With
    `divide_inputs` linear layers whose input no normalisation can take over divide it themselves (`Divided`): one
    product a channel in front of them; attention is taken apart into its linear layers for it (``linear_Q`` and so on).

    Raises `QuantizationError` for another `alpha`, without data, and where there is nothing to smooth.

    G. Xiao and others, *SmoothQuant: Accurate and efficient post-training quantization for large language models*,
    2022.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.LayerNorm(4), wb.nn.Linear(4, 2))
    >>> x = wb.randn(8, 4)
    >>> bool(wb.allclose(smooth(model, [x])(x), model(x), atol=1e-5))
    True
    """
    if not 0 <= alpha <= 1:
        raise QuantizationError(f"alpha={alpha} says which part moves into the weights: give 0 … 1")
    batches = [batch if isinstance(batch, tuple) else (batch,) for batch in data]
    if not batches:
        raise QuantizationError("there is nothing to look at: the data gave no batch")
    made, graph = traced(_separated(model) if divide_inputs else model, batches[0])
    found = joints(graph, NORMS)
    taken = {reader.weight.name for joint in found for reader in joint.readers}
    others = {
        name: one
        for name, one in made.named_modules()
        if divide_inputs and name and type(one) is Linear and f"{name}.weight" not in taken
    }
    if not found and not others:
        raise QuantizationError(
            "no layer normalisation is read by linear layers alone: there is nothing to smooth (where a sum reads it "
            "too, as in encoders that normalise after it, its values cannot be divided; divide_inputs=True has linear "
            "layers divide what they take)"
        )
    largest: dict[str, Array] = {}
    with dispatch.no_grad(), watching({one: _widest(name, largest) for name, one in others.items()}):
        for batch in batches:
            run(graph, *batch, observe=_watch({joint.value.name for joint in found}, largest))
            if others:
                made(*batch)
    numbers = Numbers(graph)
    for joint in found:
        _apply(joint, largest[joint.value.name], numbers, alpha)
    numbers.write(made)
    for name, one in others.items():
        if name in largest:
            weights = np.abs(np.asarray(one.weight.detach().payload, np.float64)).max(0)
            put(made, name, Divided(one, _scale(largest[name], weights, alpha)))
    return made


def _separated(model: Module) -> Module:
    """Return a copy of a model whose attention projects by linear layers."""
    made = copy.deepcopy(model)
    for module in [*made.modules()]:
        if type(module) is nn.MultiheadAttention:
            separate(module, alone=True)
    return made


def _widest(name: str, largest: dict[str, Array]) -> Callable[[Any, tuple[Any, ...], Any], None]:
    def look(module: Any, inputs: tuple[Any, ...], output: Any) -> None:
        rows = np.abs(np.asarray(inputs[0].payload)).reshape(-1, inputs[0].shape[-1]).max(0, initial=0)
        largest[name] = np.maximum(largest.get(name, 0), rows)

    return look


def _watch(names: set[str], largest: dict[str, Array]) -> Callable[[Node, Any, float], None]:
    def observe(node: Node, results: Any, seconds: float) -> None:
        if node.name in names:
            value: Any = results[0] if isinstance(results, tuple | list) else results
            rows = np.abs(np.asarray(value.payload)).reshape(-1, value.shape[-1]).max(0, initial=0)
            largest[node.name] = np.maximum(largest.get(node.name, 0), rows)

    return observe


def _scale(activations: Array, weights: Array, alpha: float) -> Array:
    """Return what activations are divided by, and weights multiplied with."""
    scale = np.ones(weights.shape)
    told = (activations > 0) & (weights > 0) & np.isfinite(activations)
    scale[told] = activations[told] ** alpha / weights[told] ** (1 - alpha)
    return scale


def _apply(joint: Joint, activations: Array, numbers: Numbers, alpha: float) -> None:
    weights = np.max([reader.ranges(numbers[reader.weight.name]) for reader in joint.readers], axis=0)
    scale = _scale(activations, weights, alpha)
    for parameter in joint.made:
        numbers[parameter.name] /= scale
    for reader in joint.readers:
        reader.multiply(numbers[reader.weight.name], scale)
