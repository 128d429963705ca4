"""How attention is computed, in PyTorch's words: the workbench has one way, which keeps no weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

from workbench.base.public import words

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """Ways to compute `nn.functional.scaled_dot_product_attention` that PyTorch chooses from."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[Any], set_priority: bool = False) -> Iterator[None]:
    """Allow only some ways within a block. Each gives the same numbers up to rounding, and here there is one.

    >>> import workbench as wb
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     wb.nn.functional.scaled_dot_product_attention(wb.ones(1, 2, 4), wb.ones(1, 2, 4), wb.ones(1, 2, 4)).shape
    (1, 2, 4)
    """
    given = [backends] if isinstance(backends, SDPBackend) else list(backends)
    wrong = [one for one in given if not isinstance(one, SDPBackend)]
    if wrong or not given:
        raise ValueError(f"sdpa_kernel takes one SDPBackend or several, got {backends!r}")
    yield


_FLEX = (
    "no attention is compiled from functions of scores; scaled_dot_product_attention takes a mask of numbers"
)

__getattr__, __dir__ = words(
    __name__,
    __all__,
    elsewhere=dict.fromkeys(("flex_attention", "bias", "experimental", "varlen"), _FLEX),
)
