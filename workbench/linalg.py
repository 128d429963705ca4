"""Linear algebra: PyTorch's `torch.linalg`, on named tensors and differentiable."""

from __future__ import annotations

from workbench.base.public import words
from workbench.ops import LINALG as _FUNCTIONS

__all__ = sorted(_FUNCTIONS)

globals().update(_FUNCTIONS)

__getattr__, __dir__ = words(__name__, __all__)
