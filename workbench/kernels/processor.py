"""What this processor multiplies by itself in 16 bits."""

from __future__ import annotations

from workbench.kernels.loader import native

__all__ = ["BFLOAT16_PRODUCTS", "multiplies_bfloat16"]

BFLOAT16_PRODUCTS: str = "float32" if native is None else native.info()["bfloat16_products"]
"""What computes products of bfloat16: ``amx_bf16`` (if the system allows it), ``avx512_bf16``, or ``float32``, where
operands are cast and the product is rounded. WORKBENCH_KERNELS_ISA=avx2 and ONEDNN_MAX_CPU_ISA forbid the others."""


def multiplies_bfloat16() -> bool:
    """Say whether the processor has instructions for products of bfloat16, and may use them."""
    return BFLOAT16_PRODUCTS != "float32"
