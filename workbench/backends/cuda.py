"""Settings of what computes on NVIDIA's GPUs: they are kept, and change nothing; CuPy has settings of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.base.public import words
from workbench.core import backend

__all__ = [
    "Matmul", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
    "flash_sdp_enabled", "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "sdp_kernel",
]  # fmt: skip


class Matmul:
    """How products may be computed on a GPU."""

    allow_tf32 = False
    """In 19 bits."""
    allow_fp16_reduced_precision_reduction = True
    """With sums in float16."""
    allow_bf16_reduced_precision_reduction = True
    """With sums in bfloat16."""
    fp32_precision = "none"


matmul = Matmul()

_attention = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}
"""Which ways to compute attention are allowed: the workbench has one, and takes it whatever is said here."""


def is_built() -> bool:
    """Say whether there is a device ``cuda`` to be used."""
    return backend.is_available("cuda")


def flash_sdp_enabled() -> bool:
    """Say whether attention may be computed block by block."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Say whether attention may be computed block by block."""
    _attention["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Say whether attention may be computed with little memory."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Say whether attention may be computed with little memory."""
    _attention["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """Say whether attention may be computed as its formula says."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Say whether attention may be computed as its formula says."""
    _attention["math"] = enabled


def enable_cudnn_sdp(enabled: bool) -> None:
    """Say whether attention may be computed by cuDNN."""
    _attention["cudnn"] = enabled


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Say within a block how attention may be computed; the older form of `nn.attention.sdpa_kernel`."""
    before = dict(_attention)
    _attention.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield
    finally:
        _attention.update(before)


__getattr__, __dir__ = words(__name__, __all__)
