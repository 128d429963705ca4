"""The types that a training computes in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, get_args

from workbench.amp.grad_scaler import GradScaler
from workbench.autograd import autocast
from workbench.base.dtypes import as_dtype

__all__ = ["Precision", "PrecisionName"]

PrecisionName = Literal["float32", "bfloat16", "float16"]


class Precision:
    """``"float32"``: as the parameters are; ``"bfloat16"`` and ``"float16"``: mixed, the latter with a `GradScaler`.

    >>> Precision("float16").scaler.get_scale()
    65536.0
    """

    def __init__(self, name: Any) -> None:
        if name not in get_args(PrecisionName):
            raise ValueError(f"precision is {', '.join(map(repr, get_args(PrecisionName)))}; got {name!r}")
        self.name: PrecisionName = name
        self.scaler = GradScaler() if name == "float16" else None

    def block(self) -> AbstractContextManager[Any]:
        """Return the block in which models and losses are computed."""
        return nullcontext() if self.name == "float32" else autocast(dtype=as_dtype(self.name))
