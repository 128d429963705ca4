"""Tensors and arrays as what is drawn: images [H, W, C] and series [T, C], their dims found by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["as_image", "as_series", "as_vector", "check_finite", "pixels_of"]

Array = np.ndarray[Any, Any]


def _array(values: Any) -> tuple[Array, tuple[str | None, ...]]:
    """Return an array with the names of its dims, None where there is none."""
    if isinstance(values, Tensor):
        return values.detach().numpy(force=True), tuple(values.names)
    array = np.asarray(values)
    return array, (None,) * array.ndim


def _refused(op: str, what: str, wanted: str, values: Any, fix: str = "") -> DimensionError:
    array, names = _array(values)
    return DimensionError(
        f"{what} is {wanted}, got shape {list(array.shape)}" + (f" with names {names}" if any(names) else ""),
        op=op,
        operands=(dims_of(values).operand(what),) if isinstance(values, Tensor) else (),
        fix=fix,
    )


def as_image(values: Any, what: str) -> Array:
    """Return an image as [H, W, C]: named dims in any order, without names [H, W] or [H, W, C].

    Raises:
        DimensionError: it is no image, or has no pixels.
    """
    array, names = _array(values)
    if {"H", "W"} <= set(names) and set(names) <= {"C", "H", "W"}:
        array = array.transpose([names.index(name) for name in ("H", "W", "C") if name in names])
    elif any(names) or array.ndim not in (2, 3):
        fix = f"{what}[0]" if array.ndim == 4 else ""
        raise _refused("visualize_image_attr", what, "one image, [H, W, C] or [H, W]", values, fix)
    if array.size == 0:
        raise DimensionError(f"{what} has no pixels", op="visualize_image_attr")
    return array if array.ndim == 3 else array[:, :, None]


def as_series(values: Any, what: str, channels_last: bool) -> Array:
    """Return a time series as [C, T]: the dim C by its name, else the last or first of two; one dim is one channel.

    Raises:
        DimensionError: it is no series, or has no values.
    """
    array, names = _array(values)
    if array.ndim == 1:
        array = array[None]
    elif array.ndim == 2 and (any(names) and "C" in names):
        array = array if names[0] == "C" else array.T
    elif array.ndim == 2:
        array = array.T if channels_last else array
    else:
        wanted = "one time series, [T, C] or [T]"
        fix = f"{what}[0]" if array.ndim == 3 else ""
        raise _refused("visualize_timeseries_attr", what, wanted, values, fix)
    if array.size == 0:
        raise DimensionError(f"{what} has no values", op="visualize_timeseries_attr")
    return array


def as_vector(values: Any, what: str, op: str) -> Array:
    """Return numbers as a float64 array [T].

    Raises:
        DimensionError: there is not one number for each place.
    """
    array, _ = _array(values)
    if array.ndim != 1:
        raise _refused(op, what, "one number for each token, [T]", values)
    return array.astype(np.float64)


def check_finite(values: Array) -> None:
    """Raise ValueError where attributions are NaN or infinite: beside those no other has a colour."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{int((~np.isfinite(values)).sum())} of {values.size} attributions are not finite numbers"
        )


def pixels_of(image: Array) -> Array:
    """Return an image [H, W, C] as uint8 of 0 to 255.

    Values within [0, 1] or [0, 255] are taken as they are; others, such as those of an input that was normalised for a
    model, are stretched from their least to their greatest. What is not finite is black.
    """
    values = image.astype(np.float64)
    finite = np.isfinite(values)
    low = values.min(where=finite, initial=np.inf)
    high = values.max(where=finite, initial=-np.inf)
    values = np.where(finite, values, low if low < np.inf else 0)
    if low < 0 or high > 255:
        values = (values - low) / (high - low) if high > low else np.zeros(values.shape)
        high = 1
    return np.asarray(values * 255 if high <= 1 else values).astype(np.uint8)
