"""Trading time for memory: PyTorch's `torch.utils.checkpoint`."""

from __future__ import annotations

from workbench.autograd.checkpoint import checkpoint, checkpoint_sequential
from workbench.base.public import words

__all__ = ["checkpoint", "checkpoint_sequential"]

__getattr__, __dir__ = words(__name__, __all__)
