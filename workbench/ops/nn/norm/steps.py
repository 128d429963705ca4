"""Normalisation as the ops that it is composed of, for whoever goes through it one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.op import ops

__all__ = ["scaled", "standardised"]


def standardised(
    constant: Callable[[Any], Any], x: Any, axes: tuple[int, ...], eps: float, centred: bool = True
) -> tuple[Any, Any, Any]:
    """Return x over its deviation (root mean square if not `centred`) along `axes`, its mean, and one over the other.

    The mean is None if not `centred`; the deviation goes through `constant`.
    """
    mean = ops.mean(x, dim=axes, keepdim=True) if centred else None
    x = x if mean is None else ops.sub(x, mean)
    rstd = ops.rsqrt(ops.add(ops.mean(ops.mul(x, x), dim=axes, keepdim=True), eps))
    return ops.mul(x, constant(rstd)), mean, rstd


def scaled(x: Any, weight: Any, bias: Any, sizes: tuple[int, ...] | None = None) -> Any:
    """Return x·weight + bias, of those that are there, laid out in `sizes`."""
    for op, factor in ((ops.mul, weight), (ops.add, bias)):
        if factor is not None:
            x = op(x, factor if sizes is None else ops.reshape(factor, sizes=sizes))
    return x
