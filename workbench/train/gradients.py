"""Gradients of an optimizer's parameters as one: their norm, and their scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core import dispatch
from workbench.nn.utils import clip_grads_with_norm_, get_total_norm

__all__ = ["clip", "norm", "parameters_of", "scale"]


def parameters_of(optimizer: Any) -> list[Any]:
    """Return the parameters that an optimizer changes, in order."""
    return [one for group in optimizer.param_groups for one in group["params"]]


def norm(parameters: list[Any]) -> Any:
    """Return the norm of all gradients together, a tensor; it is not finite where a gradient is not.

    >>> import workbench as wb
    >>> p = wb.ones(2, requires_grad=True)
    >>> (p * wb.tensor([3.0, 4.0])).sum().backward()
    >>> norm([p])
    tensor(5.)
    """
    with np.errstate(over="ignore"):
        return get_total_norm([one.grad for one in parameters if one.grad is not None])


def clip(parameters: list[Any], total: Any, most: float) -> None:
    """Make all gradients smaller alike, where their norm `total` is above `most`, as ``clip_grad_norm_`` does."""
    clip_grads_with_norm_(parameters, most, total)


def scale(parameters: list[Any], factor: float) -> None:
    """Multiply all gradients by one number, in place."""
    with dispatch.no_grad():
        for one in parameters:
            if one.grad is not None:
                one.grad.mul_(factor)
