"""Layers written with parts that are observed each by itself: `prepare` puts them in the place of whole ones."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.quantizable.attention import MultiheadAttention
from workbench.quantization.quantizable.recurrent import LSTM, LSTMCell
from workbench.quantization.quantizable.transformer import TransformerDecoderLayer, TransformerEncoderLayer

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention", "TransformerDecoderLayer", "TransformerEncoderLayer"]

PYTORCH_FILES = ("modules",)

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
