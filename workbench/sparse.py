"""Sparse tensors: PyTorch's `torch.sparse`, on named tensors and differentiable. `sparse_coo_tensor` makes them."""

from __future__ import annotations

from workbench.base.public import words
from workbench.ops import SPARSE as _FUNCTIONS

__all__ = sorted(_FUNCTIONS)

globals().update(_FUNCTIONS)

__getattr__, __dir__ = words(__name__, __all__)
