"""Layers with weights in codes that compute in floating point: what a backend of one's own reads, and is judged by."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.quantized.reference.layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    EmbeddingBag,
    Linear,
)
from workbench.quantization.quantized.reference.recurrent import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = [
    "GRU", "LSTM", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding",
    "EmbeddingBag", "GRUCell", "LSTMCell", "Linear", "RNNCell",
]  # fmt: skip

PYTORCH_FILES = ("modules",)

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
