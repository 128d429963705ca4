"""Trading time for memory: PyTorch's `torch.utils.checkpoint`."""

from __future__ import annotations

from workbench.autograd.checkpoint import checkpoint, checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
