"""What oneDNN calls its code."""

from __future__ import annotations

__all__ = ["is_of_bfloat16"]


def is_of_bfloat16(name: str) -> bool:
    """Say whether code of this name multiplies bfloat16; AMX, where it is named, multiplies nothing wider.

    >>> is_of_bfloat16("brg_matmul:avx512_core_amx"), is_of_bfloat16("brg_matmul:avx512_core")
    (True, False)
    """
    return "ref" not in name and ("bf16" in name or "amx" in name)
