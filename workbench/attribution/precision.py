"""Types of floating point numbers, and how far those of 16 bits reach.

A model of 16-bit numbers runs in these. What is made of its gradients and its outputs is computed in float32 or
float64, and rounded once, to the type of what is explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dtypes import half_width, narrowest
from workbench.tensor.type_queries import finfo

__all__ = ["is_floating", "range_of", "rounding_of", "total_of", "widened"]

Array = np.ndarray[Any, Any]


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Say whether a NumPy type is one of floating point numbers that are computed with: bfloat16 too, 8 bits not.

    >>> import workbench as wb
    >>> [is_floating(one.numpy) for one in (wb.float32, wb.bfloat16, wb.float8_e5m2, wb.int64)]
    [True, True, False, False]
    """
    return half_width(dtype) or (dtype.kind == "f" and not narrowest(dtype))


def widened(array: Any) -> Any:
    """Return an array of 16-bit floats as float32, anything else as it is.

    >>> widened(np.ones(2, np.float16)).dtype, widened(np.ones(2)).dtype
    (dtype('float32'), dtype('float64'))
    """
    return array.astype(np.float32) if isinstance(array, np.ndarray) and half_width(array.dtype) else array


def range_of(*dtypes: np.dtype[Any]) -> str:
    """Say that one of the types is too small for what may have come out infinite; nothing where none is.

    >>> range_of(np.dtype(np.float16))
    '; float16 ends at 65,504: bfloat16, model.bfloat16() and inputs.bfloat16(), and float32 go further'
    >>> range_of(np.dtype(np.float32))
    ''
    """
    if np.dtype(np.float16) not in dtypes:
        return ""
    return (
        "; float16 ends at 65,504: bfloat16, model.bfloat16() and inputs.bfloat16(), and float32 go further"
    )


def rounding_of(size: Array, *dtypes: np.dtype[Any]) -> Array:
    """Return how far sums of numbers of this size, all together, may be off by their rounding to 16 bits.

    That is by the coarsest of the types; 0 where none is of 16 bits: a wider type loses less than anybody asks for.

    >>> rounding_of(np.array([2.0]), np.dtype(np.float32), np.dtype(np.float16)).tolist()
    [0.001953125]
    """
    return size * max((float(finfo(one).eps) for one in dtypes if half_width(one)), default=0.0)


def total_of(arrays: Sequence[Array]) -> Array:
    """Return the sum of all attributions of each sample, float64 [N].

    >>> total_of([np.ones((2, 3), np.float16), np.ones((2, 1))]).tolist()
    [4.0, 4.0]
    """
    return np.asarray(sum(one.reshape(len(one), -1).sum(axis=1, dtype=np.float64) for one in arrays))
