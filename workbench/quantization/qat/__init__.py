"""Layers that are trained with fake quantization of their weights: what `prepare_qat` puts in the place of others."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.qat.layers import Conv1d, Conv2d, Conv3d, Embedding, EmbeddingBag, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]

__getattr__, __dir__ = words(__name__, __all__)
