"""Points as an array: what is taken for one, and which rows cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["as_points", "check_finite", "is_whole"]

Array = np.ndarray[Any, Any]


def as_points(values: Any, what: str) -> Array:
    """Return a tensor or an array as points [N, features], float32 or float64; no copy where none is needed.

    Raises:
        DTypeError: the values are not real numbers.
        DimensionError: there are not two dims, or one has size 0.
    """
    array = values.detach().numpy(force=True) if isinstance(values, Tensor) else np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DTypeError(f"{what}: points are real numbers, got {array.dtype.name}")
    if array.ndim != 2 or array.size == 0:
        raise DimensionError(
            f"points are [N, features] with at least one of each, got shape {list(array.shape)}",
            op=what,
            operands=(dims_of(values).operand("vectors"),) if isinstance(values, Tensor) else (),
            fix=_fix(values, array),
        )
    # Half precision and whole numbers have no fast products, and are exact in float64.
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _fix(values: Any, array: Array) -> str:
    if array.size == 0:
        return "give vectors of at least one sample, a row each, e.g. model(images) for a batch of images"
    if array.ndim < 3:
        return ""
    if not isinstance(values, Tensor):
        return "vectors.reshape(len(vectors), -1)"
    if all(values.names):
        return f"vectors.flatten({list(values.names[1:])}, 'features')"
    return "vectors.flatten(1)"


def check_finite(points: Array, what: str) -> None:
    """Raise ValueError, with counts, where a row holds NaN or an infinite value.

    >>> check_finite(np.array([[1.0, np.nan], [2.0, 3.0]]), "PCA")
    Traceback (most recent call last):
        ...
    ValueError: PCA: 1 of 2 points cannot be placed: 1 with NaN, 0 with infinite values (row 0). Leave them out, ...
    """
    bad = ~np.isfinite(points).all(axis=1)
    count = int(bad.sum())
    if count == 0:
        return
    rows = np.flatnonzero(bad)
    nan = int(np.isnan(points[rows]).any(axis=1).sum())
    infinite = int(np.isinf(points[rows]).any(axis=1).sum())
    shown = ", ".join(str(int(row)) for row in rows[:5]) + (", …" if count > 5 else "")
    raise ValueError(
        f"{what}: {count:,} of {len(points):,} points cannot be placed: {nan:,} with NaN, {infinite:,} with infinite "
        f"values (row{'s' if count > 1 else ''} {shown}). Leave them out, e.g. vectors[np.isfinite(vectors).all(1)]"
    )


def is_whole(value: object) -> bool:
    """Say whether `value` is a whole number, Python's or NumPy's; True and False are none.

    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
