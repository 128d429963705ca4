"""Leaving the workbench: TensorBoard logs, embeddings for its projector, and what other tools read."""

from __future__ import annotations

from workbench.export import projector, tensorboard

__all__ = ["projector", "tensorboard"]
