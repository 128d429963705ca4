"""Gradients of an optimizer's parameters as one: their norm, and their scaling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.core import dispatch

__all__ = ["clip", "norm", "parameters_of", "scale"]


def parameters_of(optimizer: Any) -> list[Any]:
    """Return the parameters that an optimizer changes, in order."""
    return [one for group in optimizer.param_groups for one in group["params"]]


def norm(parameters: list[Any]) -> float:
    """Return √Σ g² over all gradients; it is finite exactly where every gradient is.

    >>> import workbench as wb
    >>> p = wb.ones(2, requires_grad=True)
    >>> (p * wb.tensor([3.0, 4.0])).sum().backward()
    >>> norm([p])
    5.0
    """
    arrays = [one.grad.detach().numpy() for one in parameters if one.grad is not None]
    total = math.fsum(_square(array) for array in arrays)
    if math.isfinite(total):
        return math.sqrt(total)
    largest = max(float(np.abs(array).max(initial=0)) for array in arrays)
    if not math.isfinite(largest):
        return largest
    return largest * math.sqrt(math.fsum(_square(array.astype(np.float64) / largest) for array in arrays))


def _square(array: Any) -> float:
    flat = array.ravel(order="K")
    flat = flat.astype(np.float32) if flat.dtype.itemsize < 4 else flat
    return float(np.vdot(flat, flat).real)


def clip(parameters: list[Any], total: float, most: float) -> None:
    """Make all gradients smaller alike, where their norm `total` is above `most`, as ``clip_grad_norm_`` does."""
    factor = most / (total + 1e-6)
    if factor < 1:
        scale(parameters, factor)


def scale(parameters: list[Any], factor: float) -> None:
    """Multiply all gradients by one number, in place."""
    with dispatch.no_grad():
        for one in parameters:
            if one.grad is not None:
                one.grad.mul_(factor)
