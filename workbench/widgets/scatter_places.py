"""Where points lie, as bytes for a page: float32 where they are few, 21 bits a coordinate where they are many."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.widgets.scatter_density import bounds_of

__all__ = ["MOST_EXACT", "Places", "decode_places", "encode_places"]

Array = np.ndarray[Any, Any]

MOST_EXACT = 100_000
"""Of so many points in space every bit travels."""

STEPS = (1 << 21) - 1
"""How many steps a packed coordinate counts from the least to the greatest."""

BLOCK = 1 << 15
"""How many points are packed at a time."""

NOWHERE = np.uint64(1 << 63)
"""The bit of a packed point that has no place."""


class Places(NamedTuple):
    """Points as bytes, and what reads them."""

    data: bytes
    coding: Literal["float32", "packed"]
    low: list[float]
    """The least finite coordinate along each axis; 0 where there is none."""
    high: list[float]


def encode_places(positions: Array) -> Places:
    """Return positions [N, dims] as bytes of at most 8 a point, or 12 where points in space are few.

    Points in a plane, and up to `MOST_EXACT` in space, are float32, exactly. Of more in space each is one uint64: x in
    the lowest 21 bits, then y, then z, counted in equal steps from the least coordinate of the axis to its greatest. A
    coordinate is off by half a step at most, 2.4e-7 of what its axis spans: half a pixel of a picture two million
    pixels wide. The highest bit says that a point has no place, for a coordinate of it is NaN or infinite.

    >>> places = encode_places(np.array([[0.0, 1.0], [2.0, np.nan]], np.float32))
    >>> places.coding, places.low, places.high
    ('float32', [0.0, 1.0], [2.0, 1.0])
    """
    values = np.ascontiguousarray(positions, np.dtype("<f4"))
    count, dims = values.shape
    low, high = bounds_of(values)
    if dims == 2 or count <= MOST_EXACT:
        return Places(values.tobytes(), "float32", low, high)
    packed = np.zeros(count, np.dtype("<u8"))
    # A block at a time, which a core keeps at hand.
    for start in range(0, count, BLOCK):
        _pack(values[start : start + BLOCK], low, high, packed[start : start + BLOCK])
    return Places(packed.tobytes(), "packed", low, high)


def _pack(values: Array, low: list[float], high: list[float], packed: Array) -> None:
    """Write points [N, 3] into `packed`, uint64 [N] of zeros."""
    lost = ~np.isfinite(values).all(axis=1)
    for axis in range(3):
        # A span between the ends of float32 is more than float32 holds, and no more than float64.
        span = high[axis] - low[axis]
        steps = (values[:, axis].astype(np.float64) - low[axis]) * (STEPS / span if span > 0 else 0.0)
        steps[lost] = 0
        packed |= np.rint(steps).astype(np.uint64) << np.uint64(21 * axis)
    packed[lost] = NOWHERE


def decode_places(
    data: bytes, coding: Literal["float32", "packed"], low: list[float], high: list[float]
) -> Array:
    """Return what `encode_places` made bytes of, float32 [N, dims]; NaN where a packed point has no place."""
    dims = len(low)
    if coding == "float32":
        return np.frombuffer(data, np.dtype("<f4")).reshape(-1, dims)
    packed = np.frombuffer(data, np.dtype("<u8"))
    places = np.empty((len(packed), dims), np.float32)
    for axis in range(dims):
        steps = (packed >> np.uint64(21 * axis)) & np.uint64(STEPS)
        places[:, axis] = low[axis] + steps * ((high[axis] - low[axis]) / STEPS)
    places[packed >= NOWHERE] = np.nan
    return places
