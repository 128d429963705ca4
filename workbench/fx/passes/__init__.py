"""Passes under PyTorch's names; those of the house's own graph are in `wb.graph.passes`, and take `Graph.ir`."""

from __future__ import annotations

from workbench.base.public import words
from workbench.fx.passes import shape_prop, split_module

__all__ = ["shape_prop", "split_module"]

__getattr__, __dir__ = words(__name__, __all__)
