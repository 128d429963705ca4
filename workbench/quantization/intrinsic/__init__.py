"""Layers joined with what stands behind them: in floating point, in training (`qat`) and on codes (`quantized`)."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.intrinsic import modules
from workbench.quantization.intrinsic.modules import *  # noqa: F403  by the list of that file

__all__ = [*modules.__all__]

__getattr__, __dir__ = words(
    __name__,
    __all__,
    later={
        "qat": "workbench.quantization.intrinsic.qat",
        "quantized": "workbench.quantization.intrinsic.quantized",
    },
)
