"""What XLA computes by functions of JAX's own, by the names of ops; the rest is computed by the ops' array code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.interop.xla.arrays import calling
from workbench.interop.xla.kernels import contract, convolution, index, loss, narrow, norm, pool, recurrent

__all__ = ["KERNELS"]

KERNELS: dict[str, Callable[..., Any]] = {
    name: calling(function)
    for room in (contract, convolution, index, loss, narrow, norm, pool, recurrent)
    for name, function in room.KERNELS.items()
}
