"""What the normalisations of weights compute: lengths along a dim, and the largest singular value."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.ops import FUNCTIONS
from workbench.ops.linalg.norms import vector_norm
from workbench.tensor import Tensor

__all__ = ["as_matrix", "direction_times_length", "lengths", "power_iteration"]

_mv: Any = FUNCTIONS["mv"]


def lengths(weight: Tensor, dim: int) -> Tensor:
    """Return the norm of the weight at each position of `dim`, with dims of size 1 for the others; of all for -1."""
    if dim == -1:
        return vector_norm(weight)
    others = [i for i in range(weight.ndim) if i != dim % weight.ndim]
    if not others:
        return weight.abs()
    return vector_norm(weight, dim=others, keepdim=True)


def direction_times_length(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """Return w = g·v / ‖v‖."""
    return direction * (length / lengths(direction, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return a weight, which has no names, as a matrix whose rows are the positions of `dim`."""
    if dim != 0:
        weight = weight.permute(dim, *[i for i in range(weight.ndim) if i != dim])
    return weight.reshape(weight.shape[0], -1)


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Bring u and v, in place, nearer to the singular vectors of the largest singular value."""
    across = matrix.mH
    for _ in range(steps):
        u.copy_(functional.normalize(_mv(matrix, v), dim=0, eps=eps))
        v.copy_(functional.normalize(_mv(across, u), dim=0, eps=eps))
