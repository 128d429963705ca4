"""Weights that other libraries multiply without running over, on any processor.

Without VNNI, PyTorch's oneDNN and onnxruntime add products of bytes in pairs of 16 bits, where 255 · (64 + 64) fits.
"""

from __future__ import annotations

import importlib
from importlib import util
from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray

__all__ = ["LIMITS", "MOST", "exact", "weight_observer"]

# Where PyTorch is not installed nothing is compared, and those who import this skip for themselves.
_WHOLE = util.find_spec("torch") is None or importlib.import_module("torch").cpu._is_vnni_supported()

MOST = 127 if _WHOLE else 64
"""The greatest code of a weight, of either sign."""

LIMITS = {} if _WHOLE else {"quant_min": -MOST, "quant_max": MOST}
"""The same, as observers are told it."""


def weight_observer(library: Any) -> Any:
    """Return the observer of weights by channels, of either library, whose codes are within the limits."""
    return library.ao.quantization.default_per_channel_weight_observer.with_args(**LIMITS)


def exact(weight: QuantizedArray) -> QuantizedArray:
    """Return signed codes within the limits, others as they are."""
    if not LIMITS or weight.codes.dtype != np.int8:
        return weight
    return weight.with_codes(np.clip(weight.codes, -MOST, MOST), same_places=True)
