"""Layers that have codes and compute in floating point, of `wb.quantization`, where PyTorch has them."""

from __future__ import annotations

from workbench.base.public import shown_from

__getattr__, __dir__ = shown_from(__name__, "workbench.quantization.quantized.reference")
