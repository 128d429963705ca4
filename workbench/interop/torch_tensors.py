"""PyTorch's tensors in shared memory, both ways. PyTorch is imported when a tensor of its is asked for."""

from __future__ import annotations

from typing import Any

from workbench.base.lazy import Lazy
from workbench.tensor import Tensor
from workbench.tensor.external_memory import from_dlpack

__all__ = ["TORCH", "from_torch", "to_torch"]

TORCH = Lazy("torch")


def from_torch(tensor: Any, *, names: Any = None) -> Tensor:
    """Return a tensor of PyTorch's as one of ours: in shared memory and off its tape, with `names` for its dims.

    It asks for a gradient if the other is a leaf that does; gradients themselves do not cross.
    """
    if not hasattr(tensor, "requires_grad") or not hasattr(tensor, "resolve_conj"):
        raise TypeError(f"from_torch: expected a torch.Tensor, got {type(tensor).__name__}")
    # DLPack knows no values that are still to be conjugated or negated.
    result = from_dlpack(tensor.detach().resolve_conj().resolve_neg())
    if names is not None:
        result.rename_(*names)
    return result.requires_grad_() if tensor.requires_grad and tensor.is_leaf else result


def to_torch(tensor: Tensor) -> Any:
    """Return a tensor as one of PyTorch's: in shared memory and off the tape, without names, which it has none of.

    It asks for a gradient if this is a leaf that does.
    """
    result = TORCH.from_dlpack(tensor.detach())
    return result.requires_grad_() if tensor.requires_grad and tensor.is_leaf else result
