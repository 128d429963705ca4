"""Tools beside the tensors: measuring."""

from __future__ import annotations

from workbench.utils import benchmark

__all__ = ["benchmark"]
