"""What tensors are, and how two of them lie to one another: what decides which step can be taken with them."""

from __future__ import annotations

import torch

__all__ = [
    "alike", "borrows", "broadcasts", "changeable", "dense", "differentiable", "floating", "goes_in",
    "has_dims", "is_complex", "kin", "multiplies", "reaches", "same_sizes", "shares", "spread",
]  # fmt: skip


def dense(x: torch.Tensor) -> bool:
    """Say whether the entries of a tensor lie without gaps, each at a place of its own."""
    return x.is_contiguous() or x.t().is_contiguous() if x.ndim == 2 else x.is_contiguous()


def spread(x: torch.Tensor) -> bool:
    """Say whether entries have places of their own, or share them so that PyTorch sees it, as after ``expand``."""
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        return True
    places = {0}
    for stride, size in zip(x.stride(), x.shape, strict=True):
        places = {place + stride * i for place in places for i in range(size)}
    return len(places) == x.numel() or not x.numel()


def broadcasts(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether two tensors have sizes that go together."""
    return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))


def reaches(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether y can be expanded to the sizes of x."""
    return y.ndim <= x.ndim and all(
        a == b or b == 1 for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False)
    )


def multiplies(x: torch.Tensor, y: torch.Tensor) -> bool:
    return (
        x.dtype == y.dtype and x.ndim > 0 and y.ndim > 0 and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]
    )


def kin(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether two tensors are of one type."""
    return x.dtype == y.dtype


def same_sizes(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype


def alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    return broadcasts(x, y) and x.dtype == y.dtype


def goes_in(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether y goes into x in place; now and then it is let through although it does not."""
    return reaches(x, y) and (y.dtype == x.dtype or not y.is_complex())


def shares(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def borrows(x: torch.Tensor) -> bool:
    """Say whether a tensor is a view, made where nothing was recorded, of one that requires a gradient."""
    return x._is_view() and x.is_leaf and x.requires_grad


def changeable(x: torch.Tensor) -> bool:
    return not (x.is_leaf and x.requires_grad)


def is_complex(x: torch.Tensor) -> bool:
    return x.is_complex()


def floating(x: torch.Tensor) -> bool:
    """Say whether a tensor has real numbers."""
    return x.is_floating_point()


def differentiable(x: torch.Tensor) -> bool:
    """Say whether a tensor can have a gradient."""
    return x.is_floating_point() or x.is_complex()


def has_dims(x: torch.Tensor) -> bool:
    """Say whether a tensor has dims."""
    return x.ndim > 0
