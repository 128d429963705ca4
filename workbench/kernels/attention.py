"""Attention in float32, a block of rows at a time: weights are never kept, and heads may lie anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _takes(own: int) -> Any:
    """Return a predicate for calls with `own` arrays and, maybe, a mask."""

    def accepts(*arrays: Any, **params: Any) -> bool:
        if not own <= len(arrays) <= own + 1 or any(
            type(one) is not np.ndarray or one.dtype != FLOAT32 or not one.size for one in arrays
        ):
            return False
        # What a causal call may not look at is left out, which makes no difference to finite numbers only: in the
        # formula, NaN and infinity there are added to -∞ or multiplied by 0.
        mask = arrays[own] if len(arrays) > own else None
        if params["causal"] and not all(np.isfinite(one).all() for one in arrays[:own]):
            return False
        # In a mask -∞ is what leaving out adds as well.
        if params["causal"] and mask is not None and not mask.max() < np.inf:
            return False
        keys = arrays[1 if own == 3 else 2].shape[2]
        # The other dims of a mask may be stretched: the loop follows their strides, and reads along the keys.
        return mask is None or (mask.shape[3] == keys and (mask.strides[3] == mask.itemsize or keys == 1))

    return accepts


if native is not None:
    register(Kernel("attention", native.attention, _takes(3)))
    register(Kernel("attention_gradient", native.attention_gradient, _takes(6)))
