"""What quantization costs and what it buys: error layer by layer, accuracy, size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dtypes import dtype_of
from workbench.base.errors import DimensionError, QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core import dispatch
from workbench.core.value import Value, dims_of
from workbench.nn import Identity, Module
from workbench.quantization import quantized
from workbench.quantization.intrinsic.modules import ConvReLU2d, ConvReLUMaxPool2d, LinearReLU
from workbench.quantization.noise import decibels
from workbench.quantization.observer_base import unobserved

__all__ = [
    "LayerError",
    "accuracy",
    "compare_layers",
    "float_results",
    "model_size",
    "results_of",
    "sqnr",
    "together",
]


def _numbers(value: Any) -> Any:
    payload = value.payload if isinstance(value, Value) else value
    return payload.dequantize() if isinstance(payload, QuantizedArray) else np.asarray(payload)


def sqnr(signal: Any, approximation: Any) -> float:
    """Return the signal to quantization noise ratio, 10·log10(Σ x² / Σ (x - y)²), in dB.

    Infinite where both are equal. Takes tensors, quantized ones too, or arrays of one shape.

    >>> import workbench as wb
    >>> round(sqnr(wb.tensor([1.0, -1.0]), wb.tensor([1.1, -1.1])), 3)
    20.0
    """
    # In float64: squares of half precision overflow, and sums of very many values round.
    a, b = _numbers(signal).astype(np.float64), _numbers(approximation).astype(np.float64)
    if a.shape != b.shape:
        raise DimensionError(
            f"sqnr compares values of one shape, and got {list(a.shape)} and {list(b.shape)}"
        )
    return math.inf if np.array_equal(a, b) else float(decibels(np.sum(a * a), np.sum((a - b) ** 2)))


def float_results(output: Any) -> Iterator[Value]:
    """Yield the tensors of floating point, or codes, of a model's result: of dicts, tuples and lists in their order."""
    if isinstance(output, Value):
        dtype = dtype_of(output.payload)
        if dtype.is_floating_point or dtype.is_quantized:
            yield output
    elif isinstance(output, dict | tuple | list):
        for one in output.values() if isinstance(output, dict) else output:
            yield from float_results(one)


_NO_RESULT = "the model's result has no floating point values to compare: it is {}; return a tensor, or a dict or tuple"


def together(output: Any) -> Any:
    """Return all floating point values of a model's result in one row, codes as what they stand for.

    Those of 16 and of 8 bits are float32 there: several kinds of them have no type in common.
    """
    found = [_numbers(one).ravel() for one in float_results(output)]
    if not found:
        raise QuantizationError(_NO_RESULT.format(type(output).__name__))
    return np.concatenate([one.astype(np.float32) if one.itemsize < 4 else one for one in found])


def results_of(output: Any) -> tuple[Value, ...]:
    """Return the tensors of floating point of a model's result, of which there is one at least."""
    found = tuple(float_results(output))
    if not found:
        raise QuantizationError(_NO_RESULT.format(type(output).__name__))
    return found


def model_size(model: Module) -> int:
    """Return the bytes that the state of `model` takes: parameters, buffers, codes with their scales.

    Raises `QuantizationError` for what is no model.

    >>> import workbench as wb
    >>> model_size(wb.nn.Linear(10, 10))
    440
    """
    if not isinstance(model, Module):
        raise QuantizationError(
            f"the size of a model is asked for, and {type(model).__name__} was given: give the module itself"
        )
    held: list[Any] = [*model.parameters(), *model.buffers()]
    return sum(int(tensor.payload.nbytes) for tensor in held)


def accuracy(model: Any, batches: Iterable[Any]) -> float:
    """Return the fraction of the labels that the largest score hits, over batches (input, label)."""
    right = count = 0
    # What a model is measured by must not move its ranges.
    with dispatch.no_grad(), unobserved():
        for inputs, labels in batches:
            right += hits(model(inputs), labels)
            count += labels.shape[0]
    if count == 0:
        raise ValueError("there is nothing to evaluate: no batch was given")
    return right / count


def hit(scores: Any, labels: Any) -> Any:
    """Return which of the labels [N] the largest score of [N, classes] hits: bool [N], an array."""
    if len(scores.shape) != 2 or tuple(scores.shape[:1]) != tuple(labels.shape):
        raise DimensionError(
            "accuracy takes scores [N, classes] and labels [N].",
            op="accuracy",
            operands=(dims_of(scores).operand("scores"), dims_of(labels).operand("labels")),
        )
    return _numbers(scores).argmax(1) == _numbers(labels)


def hits(scores: Any, labels: Any) -> int:
    """Return how many of the labels [N] the largest score of [N, classes] hits."""
    return int(np.count_nonzero(hit(scores, labels)))


@dataclass(frozen=True)
class LayerError:
    """How far the output of one layer is from that of the floating point model."""

    name: str
    kind: str
    """Type of the layer in the quantized model."""
    sqnr: float
    """In dB."""


_SAME = {
    quantized.ConvReLU2d: ConvReLU2d,
    quantized.ConvReLUMaxPool2d: ConvReLUMaxPool2d,
    quantized.LinearReLU: LinearReLU,
}


def compare_layers(model: Module, converted: Module, *inputs: Any) -> list[LayerError]:
    """Call both models with the same inputs and compare the outputs of the layers that mean the same, in order.

    `model` is the floating point model; fused or not. Where a layer of `converted` has swallowed those behind it,
    the output of the last of these is compared. Of a layer that is called several times all outputs are.

    Raises `QuantizationError` where the two have no layer in common.
    """
    wanted = dict(model.named_modules())
    pairs = [
        name
        for name, made in _leaves(converted)
        if name in wanted and _comparable(name, made, wanted, converted)
    ]
    if not pairs:
        raise QuantizationError(
            "the two models have no layer in common: convert the model that you compare with"
        )
    before, after = _outputs(model, pairs, inputs), _outputs(converted, pairs, inputs)
    kinds = {name: type(module).__name__ for name, module in converted.named_modules()}
    return [
        LayerError(name, kinds[name], sqnr(together(before[name]), together(after[name])))
        for name in after
        if [one.shape for one in before.get(name, ())] == [one.shape for one in after[name]]
    ]


def _leaves(model: Module) -> Iterator[tuple[str, Module]]:
    return ((name, module) for name, module in model.named_modules() if name and not list(module.children()))


def _comparable(name: str, made: Module, wanted: dict[str, Module], converted: Module) -> bool:
    """Say whether the layer `made` computes what the one of that name does in the floating point model."""
    if type(made) in _SAME:
        return isinstance(wanted[name], _SAME[type(made)])
    names = [one for one, _ in _leaves(converted)]
    # An Identity in the place of what came next: this layer does the work of both, and is no match for the
    # first.
    following = names[names.index(name) + 1 : names.index(name) + 2]
    swallowed = (
        following
        and following[0] in wanted
        and isinstance(converted.get_submodule(following[0]), Identity)
        and not isinstance(wanted[following[0]], Identity)
    )
    return not swallowed and not (isinstance(made, Identity) and isinstance(wanted[name], Identity))


def _outputs(model: Module, names: list[str], inputs: tuple[Any, ...]) -> dict[str, list[Any]]:
    """Return what layers give, call by call."""
    found: dict[str, list[Any]] = {}

    def keep(name: str) -> Any:
        def hook(module: Any, arguments: tuple[Any, ...], output: Any) -> None:
            if isinstance(output, Value):
                found.setdefault(name, []).append(output)

        return hook

    stops = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    try:
        with dispatch.no_grad(), unobserved():
            model(*inputs)
    finally:
        for stop in stops:
            stop()
    return found
