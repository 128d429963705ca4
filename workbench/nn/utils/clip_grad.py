"""Gradients held to a size: the norm of all of them, and each value."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.ops.linalg.norms import vector_norm
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm of all values of all tensors, as if they were one vector: (Σ |x|^p)^(1/p).

    `norm_type` is p, which may be ``inf``. `foreach` is accepted: there is one way to go through them. Raises
    RuntimeError for a norm that is not finite, if `error_if_nonfinite`.

    >>> import workbench as wb
    >>> get_total_norm([wb.tensor([3.0, 0.0]), wb.tensor([[4.0]])])
    tensor(5.)
    """
    values = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not values:
        return tensor(0.0)
    order = float(norm_type)
    norms = [_norm(one, order) for one in values]
    # In float64: the norms of float32 gradients have squares that float32 does not hold.
    total = float(np.linalg.norm(np.asarray(norms, np.float64), order))
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    kind = np.result_type(*{_real(one) for one in values})
    return new(np.asarray(total, kind))


def _real(value: Tensor) -> Any:
    """Return the type of a norm of `value`."""
    dtype = value.dtype
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.is_complex else dtype.numpy


def _norm(value: Tensor, order: float) -> float:
    array = value.payload
    if order == 2.0 and type(array) is np.ndarray and array.dtype.char in "fd" and array.size:
        flat = array.ravel(order="K")  # in the order of memory, which copies nothing that is dense
        with np.errstate(over="ignore", invalid="ignore"):
            square = float(np.dot(flat, flat))
        # In between the squares have lost nothing, at neither end of the type's range.
        if 1e-30 < square < math.inf:
            return math.sqrt(square)
        largest = float(np.abs(flat).max())  # the squares have left the range of the type
        if not 0 < largest < math.inf:
            return largest
        scaled = flat / np.asarray(largest, flat.dtype)
        return largest * math.sqrt(float(np.dot(scaled, scaled)))
    with no_grad():
        return float(vector_norm(value.detach().rename(None).flatten(), order)) if value.numel() else 0.0


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients in place by min(max_norm / (total_norm + 1e-6), 1).

    Raises ValueError for a `max_norm` below 0, which would turn gradients around, or NaN.
    """
    # Asked this way round, NaN is refused too.
    if not float(max_norm) >= 0:
        raise ValueError(f"max_norm must be 0 or more, got {max_norm}")
    # PyTorch's 1e-6, with which no gradient at all divides by nothing.
    factor = float(max_norm) / (float(total_norm) + 1e-6)
    if factor >= 1:
        return
    with np.errstate(invalid="ignore"), no_grad():  # infinities times 0
        for gradient in _gradients(parameters):
            array = gradient.payload
            if type(array) is np.ndarray:
                # The factor in the array's type: a float64 one would not go back into float32 in place.
                np.multiply(array, np.asarray(factor).astype(array.real.dtype), out=array)
                gradient._version += 1
            else:
                gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their total norm is at most `max_norm`; return the norm they had.

    See `get_total_norm` and `clip_grads_with_norm_`. Raises RuntimeError, and changes nothing, for a norm that is not
    finite, if `error_if_nonfinite` (Pascanu et al. 2013).

    >>> import workbench as wb
    >>> p = wb.zeros(2, requires_grad=True)
    >>> (p * wb.tensor([3.0, 4.0])).sum().backward()
    >>> clip_grad_norm_(p, max_norm=1.0), p.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    if isinstance(parameters, Tensor):
        given = [parameters]
    else:
        # A generator can be gone through once, and the parameters are needed twice.
        given = list(parameters)
        if not given and isinstance(parameters, types.GeneratorType):
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
            )
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, total)
    return total


def clip_grad_norm(*arguments: Any, **keywords: Any) -> Tensor:
    """Do what `clip_grad_norm_` does, and warn that this is its older name."""
    warnings.warn(
        "`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*arguments, **keywords)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every value of the gradients into [-clip_value, clip_value], in place.

    >>> import workbench as wb
    >>> p = wb.zeros(2, requires_grad=True)
    >>> (p * wb.tensor([3.0, -4.0])).sum().backward()
    >>> clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1., -1.])
    """
    bound = float(clip_value)
    # Asked this way round, NaN is refused too.
    if not bound >= 0:
        raise ValueError(f"clip_value must be 0 or more, got {clip_value}")
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(-bound, bound)


def _gradients(parameters: Tensors) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [one.grad for one in given if one.grad is not None]
