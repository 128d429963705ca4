"""Channels made larger in one layer and smaller in the next: the model is the same, and its codes are better."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.rescaling.equalize import equalize
from workbench.quantization.rescaling.smooth import smooth

__all__ = ["equalize", "smooth"]

__getattr__, __dir__ = words(__name__, __all__)
