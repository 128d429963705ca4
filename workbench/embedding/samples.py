"""Which sample of a batch or a data set a point is."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DimensionError

__all__ = ["are_named", "sample_numbers"]

Array = np.ndarray[Any, Any]


def sample_numbers(given: Any, count: int) -> Array:
    """Return numbers of samples, one a point, as int64 [N].

    Raises:
        DimensionError: they are not as many as there are points.
        TypeError: they are not whole numbers from 0.

    >>> sample_numbers(range(3, 5), 2)
    array([3, 4])
    """
    numbers = np.asarray(given)
    if numbers.shape != (count,):
        raise DimensionError(
            f"samples has the number of the sample that each of {count:,} points is, got {list(numbers.shape)}",
            op="Embedding",
        )
    if count and numbers.dtype.kind not in "iu":
        raise TypeError(f"samples are whole numbers from 0, got {numbers.dtype}")
    if count and numbers.min() < 0:
        raise TypeError(f"samples are whole numbers from 0, got {numbers.min()}")
    return numbers.astype(np.int64)


def are_named(names: object, labels: tuple[str, ...] | None, distinct: int) -> bool:
    """Say whether points have names of their own, as words have: then they are no samples of a batch.

    Labels name them where each is another (there are as many `distinct` ones) and not all are numbers.

    >>> are_named(None, ("king", "queen"), 2), are_named(None, ("7", "3"), 2), are_named(None, ("cat", "cat"), 1)
    (True, False, False)
    """
    if names is not None:
        return True
    return labels is not None and distinct == len(labels) and not all(one.isdecimal() for one in labels)
