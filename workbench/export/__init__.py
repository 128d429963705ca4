"""Leaving the workbench: TensorBoard logs, and what other tools read."""

from __future__ import annotations

from workbench.export import tensorboard

__all__ = ["tensorboard"]
