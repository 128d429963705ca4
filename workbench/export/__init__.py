"""Leaving the workbench: TensorBoard logs, embeddings for its projector, and what other tools read."""

from __future__ import annotations

from workbench.base.public import words
from workbench.export import projector, tensorboard

__all__ = ["projector", "tensorboard"]

__getattr__, __dir__ = words(__name__, __all__)
