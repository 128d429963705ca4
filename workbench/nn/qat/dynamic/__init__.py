"""Layers in training whose input is rounded in each call, of `wb.quantization`, where PyTorch has them."""

from __future__ import annotations

from workbench.base.public import shown_from

__getattr__, __dir__ = shown_from(__name__, "workbench.quantization.qat.dynamic")
