"""PyTorch: tensors in shared memory, both ways, and modules with the memory of their weights."""

from __future__ import annotations

from workbench.base.public import words
from workbench.interop.torch_modules import from_module
from workbench.interop.torch_tensors import from_torch, to_torch

__all__ = ["from_module", "from_torch", "to_torch"]

__getattr__, __dir__ = words(__name__, __all__)
