"""Bias correction: what codes add to the mean of a layer's output, channel by channel, is taken off its bias."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.core.value import labelled, new
from workbench.fx import GraphModule
from workbench.nn import Module, Parameter
from workbench.nn import functional as F
from workbench.ops.quantized.quantize import DEQUANTIZE
from workbench.quantization import quantized
from workbench.quantization.batches import Batch, batches_of
from workbench.quantization.given import require_own
from workbench.quantization.graph_mode.fusion import require_use
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.mappings import WEIGHTED
from workbench.quantization.quantize_fx import float_graph
from workbench.quantization.tuning.float_results import FloatResults
from workbench.quantization.tuning.places import (
    converted,
    is_prepared,
    limits,
    paused,
    require_prepared,
    watching,
)
from workbench.quantization.workflow import fuse_automatically

__all__ = ["correct_bias"]

Array = np.ndarray[Any, Any]

_INTEGER = (
    quantized.Linear,
    quantized.Conv1d,
    quantized.Conv2d,
    quantized.Conv3d,
    quantized.ConvTranspose1d,
    quantized.ConvTranspose2d,
    quantized.ConvTranspose3d,
)
"""Integer layers with a weight; joined ones are kinds of these."""


def correct_bias(model: Module, float_model: Module, data: Any) -> Any:
    """Return a copy of a quantized `model` whose layers have the mean outputs of `float_model`, channel by channel.

    b'[o] = b[o] - Σ(c(W̃·x̃) - c(W·x))[o] / n[o]: x and x̃ are what the layer is given in the two models, W̃ is the weight
    as codes stand for it, c cuts off what the layer's codes and its rectifier cut off, and n counts the places where
    one of the two is not cut off: what lies far below a ReLU or above a ReLU6 says nothing about what goes on. Layers
    are corrected in the order of their calls, each with those before it corrected. `model` is prepared and calibrated,
    or converted, by layers (`prepare`, `convert`, `quantize`) or as a graph (`prepare_fx`, `convert_fx`); what is
    prepared is measured as it would be converted. `float_model` is the model before, fused or not; `data` gives
    batches, of which labels are left aside. A layer without a bias gets one.

    Raises `QuantizationError` for a model in training, for one that has no integer layer, where the two have no layer
    in common, without data, for layers that are called more often in one of them, and for NaN or infinite values.

    Where nothing is cut off this is the mean of M. Nagel and others, *Data-free quantization through weight
    equalization and bias correction*, 2019, section 4.2.

    >>> import workbench as wb
    >>> model, x = wb.nn.Sequential(wb.nn.Linear(8, 4), wb.nn.ReLU(), wb.nn.Linear(4, 2)).eval(), wb.rand(64, 8)
    >>> better = correct_bias(wb.quantization.quantize(model, [x]), model, x)
    >>> bool((better(x) - model(x)).mean(0).abs().max() < 0.02)
    True
    """
    if not isinstance(float_model, Module):
        raise QuantizationError(f"the model before is a module, and {type(float_model).__name__} was given")
    require_use(float_model)
    batches = batches_of(data, model)
    made = copy.deepcopy(model)
    prepared = is_prepared(made)
    if prepared:
        require_prepared(made, "correct_bias")
    by_graph = isinstance(made, GraphModule)
    integer = converted(made) if prepared else made
    joined = float_graph if by_graph else fuse_automatically
    with dispatch.no_grad():
        before = joined(float_model, *batches[0].arguments)
    pairs = _pairs(integer, before)
    if prepared:
        require_own(
            made,
            [
                one
                for one in (weighted_layer(made.get_submodule(path)) for path in pairs)
                if one.bias is not None
            ],
            "bias",
            "what is taken off for one layer would be taken off the other's. Give each a bias of its own before it is "
            "prepared, layer.bias = nn.Parameter(layer.bias.detach().clone())",
        )
    turns = _in_turn(pairs, integer, batches[0])
    wanted = FloatResults(before, batches, [weighted_layer(own) for _, own in turns.values()])
    for path, (layer, own) in turns.items():
        change = _change(path, layer, integer, batches, wanted.of(weighted_layer(own)))
        _add(layer, change)
        if prepared:
            _add(weighted_layer(made.get_submodule(path)), change)
    return made


def _pairs(integer: Any, before: Any) -> dict[str, tuple[Any, Any]]:
    """Return the integer layers that the model before has, too, by path."""
    layers = [(path, one) for path, one in integer.named_modules() if isinstance(one, _INTEGER)]
    if not layers:
        raise QuantizationError(
            "the model has no integer layer with a weight, and no observers: give what prepare, prepare_fx, convert, "
            "convert_fx or quantize returned"
        )
    known = dict(before.named_modules())
    found = {}
    for path, one in layers:
        # `quantize` wraps a model, and calls it `module`.
        own = known.get(path, known.get(path.removeprefix("module.")))
        if own is not None and isinstance(own, WEIGHTED):
            found[path] = one, own
    if not found:
        raise QuantizationError(
            "the two models have no layer with a weight in common: give the model that was quantized, as it was before"
        )
    return found


def _in_turn(pairs: dict[str, Any], integer: Any, batch: Batch) -> dict[str, Any]:
    """Return the layers as they are called first: a model may name them in another order."""
    called: list[str] = []
    hooks = {
        layer: lambda layer, arguments, output, path=path: called.append(path)
        for path, (layer, _) in pairs.items()
    }
    with paused(), watching(hooks):
        integer(*batch.sample)
    turns = {path: turn for turn, path in enumerate(dict.fromkeys(called))}
    return dict(sorted(pairs.items(), key=lambda one: turns.get(one[0], len(turns))))


def _change(
    path: str, layer: Any, integer: Any, batches: list[Batch], wanted: Iterator[list[Array]]
) -> Array:
    """Return what is to be added to each channel's bias: the mean of what is missing, where it is not cut off.

    `wanted` yields what the layer gives in floating point, for each batch and call.
    """
    low, high = limits(layer)
    missing: Array = np.zeros(1)
    count: Array = np.zeros(1)
    calls = 0
    found: list[Array] = []
    hook = {layer: lambda layer, arguments, output: found.append(_rows(layer, _computed(layer, arguments)))}
    with paused(), watching(hook):
        for batch, given in zip(batches, wanted, strict=True):
            integer(*batch.arguments)
            if len(found) != len(given):
                raise QuantizationError(
                    f"{path} was called {len(found)} times in codes, and {len(given)} times in floating point: "
                    "what codes change cannot be told where another way is taken. Give data on which both go the same"
                )
            calls += len(found)
            for x, values in zip(found, given, strict=True):
                y = _by_channel(layer, values)
                if not (np.isfinite(x).all() and np.isfinite(y).all()):
                    raise QuantizationError(
                        f"{path} computes NaN or infinite values: there is no mean to correct by"
                    )
                passing = ((x > low) & (x < high)) | ((y > low) & (y < high))
                missing = missing + (np.clip(y, low, high) - np.clip(x, low, high)).sum(1)
                count = count + passing.sum(1)
            found.clear()
    if not calls:
        raise QuantizationError(f"{path} was never called: the data must reach every layer that is corrected")
    return missing / np.maximum(count, 1)


def _computed(layer: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what an integer layer computes before it is rectified and rounded."""
    x, weight = DEQUANTIZE(arguments[0]), DEQUANTIZE(layer.weight)
    bias = layer.bias
    if isinstance(layer, quantized.Linear):
        return F.linear(x, weight, bias)
    x, geometry = layer.placed(x)
    return getattr(F, layer.function)(x, weight, bias, **geometry)


def _rows(layer: Any, output: Any) -> Array:
    """Return the values of a result as [channels, the rest]."""
    return _by_channel(layer, np.asarray(output.detach().payload))


def _by_channel(layer: Any, values: Array) -> Array:
    """Return values as [channels, the rest]: those of linear layers lie in the last dim, others' before the places."""
    axis = -1 if hasattr(layer, "out_features") else -1 - len(layer.kernel_size)
    return np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1).astype(np.float64)


def _add(layer: Any, change: Array) -> None:
    bias = layer.bias
    before = np.zeros(change.shape, np.float32) if bias is None else np.asarray(bias.detach().payload)
    values = (before + change).astype(np.float32)
    if bias is not None:
        bias.payload = values
        return
    label = ("out_features",) if hasattr(layer, "out_features") else ("out_channels",)
    if isinstance(layer, _INTEGER):
        layer.register_buffer("bias", labelled(new(values), label))
    else:
        layer.bias = Parameter(new(values))
