"""Points as an array: what is taken for one, and which rows cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["as_array", "as_points", "check_finite", "chosen_points", "finite_rows", "is_whole"]

Array = np.ndarray[Any, Any]

CHUNK = 1 << 20
"""Values that are looked at at a time."""


def as_array(values: Any) -> Array:
    """Return a tensor, off the tape and on the CPU, or what NumPy takes, as an array.

    Floats that NumPy has no type for (bfloat16, those of eight bits) are float32, which holds each of them. What a
    masked array masks is NaN, or None among texts.

    >>> as_array(np.ma.array([1, 2], mask=[False, True])).tolist()
    [1.0, nan]
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        real = values.dtype.kind in "biuf"
        unmasked: Array = np.array(values.data, np.result_type(values.dtype, np.float16) if real else object)
        unmasked[np.ma.getmaskarray(values)] = np.nan if real else None
        return unmasked
    if not isinstance(values, Tensor):
        return np.asarray(values)
    array: Array = values.detach().numpy(force=True)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def as_points(values: Any, what: str) -> Array:
    """Return a tensor, an array or the vectors of an embedding as points [N, features], float32 or float64.

    There is no copy where none is needed.

    Raises:
        DTypeError: the values are not real numbers.
        DimensionError: there are not two dims, or one has size 0.
    """
    values = getattr(values, "vectors", values)
    array = as_array(values)
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


def finite_rows(points: Array) -> Array:
    """Return the rows without NaN and infinite values, int64.

    >>> finite_rows(np.array([[1.0, np.nan], [2.0, 3.0]])).tolist()
    [1]
    """
    finite = np.empty(len(points), bool)
    step = max(1, CHUNK // points.shape[1])
    for start in range(0, len(points), step):
        finite[start : start + step] = np.isfinite(points[start : start + step]).all(axis=1)
    return np.flatnonzero(finite)


def check_finite(points: Array, what: str, names: Sequence[str] = (), fix: str = "") -> None:
    """Raise ValueError, with counts, where a row holds NaN or an infinite value.

    >>> check_finite(np.array([[1.0, np.nan], [2.0, 3.0]]), "PCA")
    Traceback (most recent call last):
        ...
    ValueError: PCA: 1 of 2 points cannot be placed: 1 with NaN, 0 with infinite values (row 0). Leave them out, ...
    """
    good = finite_rows(points)
    count = len(points) - len(good)
    if count == 0:
        return
    rows = np.setdiff1d(np.arange(len(points)), good, assume_unique=True)
    nan = int(np.isnan(points[rows]).any(axis=1).sum())
    infinite = int(np.isinf(points[rows]).any(axis=1).sum())

    def told(row: int) -> str:
        return f"{row} {names[row]!r}" if len(names) and names[row] != str(row) else str(row)

    shown = ", ".join(told(int(row)) for row in rows[:5]) + (", …" if count > 5 else "")
    raise ValueError(
        f"{what}: {count:,} of {len(points):,} points cannot be placed: {nan:,} with NaN, {infinite:,} with infinite "
        f"values (row{'s' if count > 1 else ''} {shown}). Leave them out, e.g. vectors[np.isfinite(vectors).all(1)]"
        + (f", {fix}" if fix else "")
    )


def chosen_points(of: Any, count: int, what: str) -> Array:
    """Return the numbers of some of `count` points, int64, as they are given: by number, or by a mask [count].

    Raises:
        TypeError: they are neither.
        IndexError: a point is not there, or the mask is of other points.

    >>> chosen_points([2, 0], 3, "quality").tolist(), chosen_points([False, True, True], 3, "quality").tolist()
    ([2, 0], [1, 2])
    """
    given = as_array(of)
    if given.ndim == 1 and not given.size:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iub":
        raise TypeError(
            f"{what}: of is a list of points' whole numbers, or a mask of {count:,}, got {given.dtype.name} "
            f"{list(given.shape)}"
        )
    if given.dtype.kind == "b":
        if len(given) != count:
            raise IndexError(f"{what}: of is a mask of {len(given):,}, and there are {count:,} points")
        return np.flatnonzero(given)
    outside = given[(given < 0) | (given >= count)]
    if len(outside):
        raise IndexError(f"{what}: there is no point {outside[0]}; the points are 0 to {count - 1:,}")
    return given.astype(np.int64)


def is_whole(value: object) -> bool:
    """Say whether `value` is a whole number, Python's or NumPy's; True and False are none.

    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
