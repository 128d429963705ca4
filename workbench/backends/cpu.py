"""The CPU: what its instructions allow."""

from __future__ import annotations

from workbench import kernels
from workbench.base.public import words
from workbench.kernels import processor

__all__ = ["bfloat16_products", "get_cpu_capability"]


def bfloat16_products() -> str:
    """Return what computes products of bfloat16: ``amx_bf16``, ``avx512_bf16``, or ``float32``.

    >>> import workbench as wb
    >>> wb.backends.cpu.bfloat16_products() in ("amx_bf16", "avx512_bf16", "float32")
    True
    """
    return processor.BFLOAT16_PRODUCTS


def get_cpu_capability() -> str:
    """Return the widest instructions that the compiled kernels use; ``DEFAULT`` where there are none."""
    return str(kernels.info().get("isa", "DEFAULT"))


__getattr__, __dir__ = words(__name__, __all__)
