"""Sizes that no memory holds: refused by those who ask for them, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterable

from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import hint

__all__ = ["check_memory"]

_WIDEST = 16
"""Bytes of the widest values, complex128."""


def check_memory(op: str, sizes: Iterable[int], width: int = _WIDEST) -> None:
    """Raise `DimensionError` where so many values of `width` bytes have no addresses; sizes of a trace are today's.

    >>> check_memory("zeros", (3, 4))
    """
    if hint(math.prod(sizes)) * width >= 2**63:
        raise DimensionError(
            f"a tensor of sizes {list(sizes)} does not fit into any memory: their product overflows. Check the sizes "
            "and counts that were given.",
            op=op,
        )
