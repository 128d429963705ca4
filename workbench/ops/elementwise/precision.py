"""16-bit floats in functions of several ops: computed in float32 throughout and rounded once, as a single op is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dtypes import half_width
from workbench.core.op import ops
from workbench.core.value import Value

__all__ = ["rounded_once"]

_FLOAT32 = np.dtype(np.float32)


def rounded_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes in float32 where all of its tensors have one 16-bit type.

    >>> import workbench as wb
    >>> x = wb.tensor([1.0]).half()
    >>> rounded_once(lambda x: x + 0.0004 + 0.0004)(x) == x, x + 0.0004 + 0.0004 == x
    (tensor([False]), tensor([True]))
    """

    @functools.wraps(function)
    def computed(*arguments: Any, **keywords: Any) -> Any:
        types = {one.payload.dtype for one in (*arguments, *keywords.values()) if isinstance(one, Value)}
        if len(types) != 1 or not half_width(*types):
            return function(*arguments, **keywords)
        result = function(
            *[_widened(one) for one in arguments], **{name: _widened(one) for name, one in keywords.items()}
        )
        return ops.to(result, dtype=types.pop())

    return computed


def _widened(one: Any) -> Any:
    return ops.to(one, dtype=_FLOAT32) if isinstance(one, Value) else one
