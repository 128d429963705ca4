"""Weights of 4 or 8 bits in groups, activations left as they are: what transformers bear, and what memory asks for."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.weight_only.linear import WeightOnlyLinear
from workbench.quantization.weight_only.methods import METHODS
from workbench.quantization.weight_only.workflow import quantize_weights

__all__ = ["METHODS", "WeightOnlyLinear", "quantize_weights"]

__getattr__, __dir__ = words(__name__, __all__)
