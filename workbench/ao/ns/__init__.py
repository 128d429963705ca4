"""``torch.ao.ns``: a floating point model and its integer form side by side."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization import numeric_suite as _numeric_suite
from workbench.quantization import numeric_suite_fx as _numeric_suite_fx

__all__ = ["_numeric_suite", "_numeric_suite_fx"]

__getattr__, __dir__ = words(__name__, __all__)
