"""``torch.ao.nn``: layers on codes, in training with fake quantization, and joined with others."""

from __future__ import annotations

from workbench.base.public import words

__all__ = ["intrinsic", "qat", "quantizable", "quantized"]

__getattr__, __dir__ = words(__name__, __all__, later={name: f"workbench.nn.{name}" for name in __all__})
