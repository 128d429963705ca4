"""PyTorch's layers that quantize what comes to them, as ours: made of their sizes, and filled with their state."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from workbench import nn
from workbench.interop.serialization import load
from workbench.interop.torch_tensors import TORCH
from workbench.nn import Module
from workbench.quantization.qconfig import default_dynamic_qconfig, float16_dynamic_qconfig
from workbench.quantization.quantized import dynamic

__all__ = ["dynamic_layer", "is_quantized"]

_ROOMS = ("torch.ao.nn.quantized.", "torch.ao.nn.intrinsic.quantized.")


def is_quantized(theirs: Any) -> bool:
    """Say whether a module is one of PyTorch's layers with codes."""
    return type(theirs).__module__.startswith(_ROOMS)


def dynamic_layer(theirs: Any) -> Module | None:
    """Return a layer of PyTorch's that quantizes in each call as one of ours, with its codes; None for any other."""
    kind = type(theirs)
    if not is_quantized(theirs) or ".dynamic" not in kind.__module__ or kind.__name__ not in _MADE:
        return None
    made, halves = _MADE[kind.__name__]
    layer = made(theirs)
    layer.qconfig = float16_dynamic_qconfig if halves(theirs) is TORCH.float16 else default_dynamic_qconfig
    ours: Module = getattr(dynamic, kind.__name__).from_float(layer)
    file = io.BytesIO()
    TORCH.save(theirs.state_dict(), file)
    ours.load_state_dict(load(io.BytesIO(file.getvalue())))
    return ours


def _linear(theirs: Any) -> nn.Linear:
    return nn.Linear(theirs.in_features, theirs.out_features, theirs.bias() is not None)


def _layers(kind: Callable[..., Module]) -> Callable[[Any], Module]:
    return lambda m: kind(
        m.input_size, m.hidden_size, m.num_layers, m.bias, m.batch_first, m.dropout, m.bidirectional
    )


def _cell(kind: Callable[..., Module], *more: str) -> Callable[[Any], Module]:
    return lambda m: kind(m.input_size, m.hidden_size, m.bias, *(getattr(m, one) for one in more))


_MADE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **dict.fromkeys(["Linear", "LinearReLU"], (_linear, lambda m: m._packed_params.dtype)),
    "LSTM": (_layers(nn.LSTM), lambda m: m.dtype),
    "GRU": (_layers(nn.GRU), lambda m: m.dtype),
    "LSTMCell": (_cell(nn.LSTMCell), lambda m: m.weight_dtype),
    "GRUCell": (_cell(nn.GRUCell), lambda m: m.weight_dtype),
    "RNNCell": (_cell(nn.RNNCell, "nonlinearity"), lambda m: m.weight_dtype),
}
"""Layers in floating point of the same sizes, and the type of the weights."""
