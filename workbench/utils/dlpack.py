"""Tensors to and from other libraries without copies: PyTorch's `torch.utils.dlpack`."""

from __future__ import annotations

from typing import Any

from workbench.base.public import words
from workbench.tensor import Tensor
from workbench.tensor.external_memory import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a tensor's memory as a capsule, which another library takes over once."""
    return tensor.__dlpack__()


__getattr__, __dir__ = words(__name__, __all__)
