"""Layers with weights in codes that take and return floating point: what comes in gets a scale in each call."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.quantized.dynamic.linear import Linear, LinearReLU
from workbench.quantization.quantized.dynamic.recurrent import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "LinearReLU", "RNNCell"]

PYTORCH_FILES = ("modules",)

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
