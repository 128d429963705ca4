"""Attention computed in float32, a block of rows at a time: weights are never kept, and heads may lie anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


_EXPONENT = 0x7F80


def _is_finite(array: Any) -> bool:
    if array.dtype == BFLOAT16:  # NumPy would ask one value at a time
        return bool(((array.view(np.uint16) & _EXPONENT) != _EXPONENT).all())
    return bool(np.isfinite(array).all())


def _takes(own: int, dtype: np.dtype[Any]) -> Any:
    """Return a predicate for calls with `own` arrays of a type and, maybe, a mask; logarithms of sums are float32."""
    normal = 5
    """The place of these among the operands of the gradient."""

    def accepts(*arrays: Any, **params: Any) -> bool:
        if not own <= len(arrays) <= own + 1 or any(
            type(one) is not np.ndarray or one.dtype != (FLOAT32 if i == normal else dtype) or not one.size
            for i, one in enumerate(arrays)
        ):
            return False
        # What a causal call may not look at is left out, which makes no difference to finite numbers only: in the
        # formula, NaN and infinity there are added to -∞ or multiplied by 0.
        mask = arrays[own] if len(arrays) > own else None
        if params["causal"] and not all(_is_finite(one) for one in arrays[:own]):
            return False
        # In a mask -∞ is what leaving out adds as well.
        if params["causal"] and mask is not None and not mask.max() < np.inf:
            return False
        keys = arrays[1 if own == 3 else 2].shape[2]
        # The other dims of a mask may be stretched: the loop follows their strides, and reads along the keys.
        return mask is None or (mask.shape[3] == keys and (mask.strides[3] == mask.itemsize or keys == 1))

    return accepts


if native is not None:
    register(Kernel("attention", native.attention, _takes(3, FLOAT32)))
    register(Kernel("attention_gradient", native.attention_gradient, _takes(6, FLOAT32)))

    _half = native.bfloat16
    register(Kernel("attention", _half.attention, _takes(3, BFLOAT16), ("bfloat16",)), half=True)
    register(
        Kernel("attention_gradient", _half.attention_gradient, _takes(6, BFLOAT16), ("bfloat16",)), half=True
    )
