"""In which precision programs compute: float32, or bfloat16 where that is asked for and the processor has it."""

from __future__ import annotations

import warnings
from typing import Any

from workbench.base.dtypes import DType
from workbench.base.errors import UnavailableError
from workbench.core.backend import Backend
from workbench.kernels import available, reason
from workbench.kernels.processor import multiplies_bfloat16

__all__ = ["no_bfloat16", "precision_called"]

PRECISIONS = ("float32", "bfloat16")


def no_bfloat16() -> str:
    """Return why programs compute in float32 where bfloat16 was asked for."""
    if not available():
        return f"there are no compiled kernels: {reason()}"
    return "this processor multiplies no bfloat16 by itself: it has neither AVX512-BF16 nor AMX, or may not use them"


def precision_called(asked: Any, backend: Backend | None) -> str:
    """Return the name of a precision that programs may be asked for, by its name or its type.

    It warns where the processor has no instructions for it, as autocast of PyTorch's does: programs compute in float32
    then, which is faster there and not less exact. Raises ValueError for what is none, and `UnavailableError` for a
    backend of others, which computes in the types of the graph.
    """
    name = asked.name if isinstance(asked, DType) else asked
    if name not in PRECISIONS:
        raise ValueError(
            f"compile: precision={asked!r} is not known; there are {', '.join(map(repr, PRECISIONS))}"
        )
    if name != "float32" and backend is not None:
        raise UnavailableError(
            f"compile: precision={name!r} is for our own programs; the backend {backend.name!r} computes in the types "
            "of the graph: give it a model in that type"
        )
    if name == "bfloat16" and available() and not multiplies_bfloat16():
        warnings.warn(f"compile: {no_bfloat16()}. Computing in float32.", UserWarning, stacklevel=3)
    return str(name)
