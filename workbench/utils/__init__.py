"""Tools beside the tensors: measuring, and trading time for memory."""

from __future__ import annotations

from workbench.utils import benchmark, checkpoint

__all__ = ["benchmark", "checkpoint"]
