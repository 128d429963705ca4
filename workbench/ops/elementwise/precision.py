"""16-bit floats in functions of several ops: computed in float32 throughout and rounded once, as a single op is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from workbench.base.dtypes import half_width, promote
from workbench.core.op import ops
from workbench.core.value import Value

__all__ = ["promoted_first", "rounded_once"]

_FLOAT32 = np.dtype(np.float32)
F = TypeVar("F", bound=Callable[..., Any])


def rounded_once(function: F) -> F:
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

    return cast(F, computed)


def promoted_first(function: F) -> F:
    """Return a function that computes in the type that all of its tensors become together, and rounds once.

    An op on three operands has one type. As two ops of two operands the first would be computed in the type of its two.

    >>> import workbench as wb
    >>> x = wb.tensor([1.0]).half()
    >>> promoted_first(lambda a, b, c: a + b / c)(wb.tensor([0.0]), x, x * 3)
    tensor([0.3333])
    """

    @functools.wraps(function)
    def computed(*arguments: Any, **keywords: Any) -> Any:
        given = (*arguments, *keywords.values())
        common = promote(
            tuple((one.payload.dtype, one.payload.ndim) for one in given if isinstance(one, Value))
        )
        half = half_width(common)
        target = _FLOAT32 if half else common
        result = function(
            *[_widened(one, target) for one in arguments],
            **{name: _widened(one, target) for name, one in keywords.items()},
        )
        return ops.to(result, dtype=common) if half else result

    return cast(F, computed)


def _widened(one: Any, target: Any = _FLOAT32) -> Any:
    return ops.to(one, dtype=target) if isinstance(one, Value) and one.payload.dtype != target else one
