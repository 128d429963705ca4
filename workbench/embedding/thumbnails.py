"""Pictures of points: images as small tiles, grey or in colours, and tiles laid out in one large image."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import DimensionError, DTypeError
from workbench.core.value import dims_of
from workbench.embedding.vectors import as_array
from workbench.tensor import Tensor

__all__ = ["Sheet", "as_images", "cut", "lay_out", "thumbnails"]

Array = np.ndarray[Any, Any]

MOST_SIDE = 8_192
"""Greatest height and width of a sheet, in pixels: what browsers and TensorBoard take."""

MOST_BYTES = 1 << 25
"""Greatest number of bytes of a sheet: one for a grey pixel, three for one in colours."""


class Sheet(NamedTuple):
    """Tiles laid out row by row in one image."""

    image: Array
    """uint8 [rows · height, columns · width], and a last dim of 3 for colours"""
    height: int
    """Of one tile."""
    width: int
    """Of one tile."""
    columns: int
    rows: int


def thumbnails(images: Any, count: int) -> Array:
    """Return images as pictures, uint8 [N, H, W], or [N, H, W, 3] in colours.

    Takes a tensor or an array [N, H, W], or with C (1, or 3 for colours) at the place that its
    names say, [N, C, H, W] without names. uint8 stays as it is; other values are stretched from their least to
    their greatest over all images. What is not finite is black.

    Raises:
        DTypeError: the values are not real numbers.
        DimensionError: the dims are not those of images, or there are not `count` of them.
    """
    array = _plain(images)
    if len(array) != count:
        raise DimensionError(f"{len(array):,} images for {count:,} points", op="Embedding")
    if array.ndim == 4:
        array = array[:, 0] if array.shape[1] == 1 else np.moveaxis(array, 1, -1)
    # Bytes are taken as they are, so that images can be compared with one another.
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    # Whole numbers have no infinity to begin with, and half precision no room for the scale.
    values = array.astype(np.float64)
    finite = np.isfinite(values)
    low = float(values.min(where=finite, initial=np.inf))
    high = float(values.max(where=finite, initial=-np.inf))
    if not high > low:
        return np.zeros(values.shape, np.uint8)
    stretched = np.where(finite, (values - low) * (255 / (high - low)), 0)
    return stretched.round().astype(np.uint8)


def as_images(tiles: Array) -> Array:
    """Return tiles as `thumbnails` takes images: [N, H, W], or [N, 3, H, W] for colours."""
    return tiles if tiles.ndim == 3 else np.moveaxis(tiles, -1, 1)


def _plain(images: Any) -> Array:
    """Return images as an array [N, H, W] or [N, C, H, W]."""
    array = as_array(images)
    if array.dtype.kind not in "fiub":
        raise DTypeError(f"Embedding: images are real numbers, got {array.dtype.name}")
    names = images.names if isinstance(images, Tensor) else (None,) * array.ndim
    if {"C", "H", "W"} <= set(names) and array.ndim == 4:
        batch = next(i for i, name in enumerate(names) if name not in ("C", "H", "W"))
        array = array.transpose(batch, names.index("C"), names.index("H"), names.index("W"))
    fits = array.ndim in (3, 4) and (array.ndim == 3 or array.shape[1] in (1, 3)) and array.size > 0
    if not fits:
        raise DimensionError(
            f"images are [N, H, W] or [N, C, H, W] with C 1 or 3, got shape {list(array.shape)}",
            op="Embedding",
            operands=(dims_of(images).operand("images"),) if isinstance(images, Tensor) else (),
        )
    return array


def lay_out(tiles: Array, most_bytes: int = MOST_BYTES) -> Sheet:
    """Return tiles, uint8 [N, H, W] or [N, H, W, 3], in one image as square as can be, made smaller to fit.

    >>> lay_out(np.zeros((5, 28, 28), np.uint8))[1:]
    (28, 28, 3, 2)
    """
    count, height, width, *colours = tiles.shape
    most_pixels = most_bytes // math.prod(colours)
    shrink = 1
    while True:
        small_height, small_width = max(1, height // shrink), max(1, width // shrink)
        columns = max(1, min(count, math.ceil(math.sqrt(count * small_height / small_width))))
        rows = math.ceil(count / columns)
        across, down = columns * small_width, rows * small_height
        if (
            max(across, down) <= MOST_SIDE and across * down <= most_pixels
        ) or small_height == small_width == 1:
            break
        shrink += 1
    if shrink > 1:
        tiles = _shrink(tiles, small_height, small_width)
    image = np.zeros((rows, small_height, columns, small_width, *colours), np.uint8)
    # One by one, for the last row may be short.
    for row in range(rows):
        part = tiles[row * columns : (row + 1) * columns]
        image[row, :, : len(part)] = part.swapaxes(0, 1)
    return Sheet(image.reshape(down, across, *colours), small_height, small_width, columns, rows)


def _shrink(tiles: Array, height: int, width: int) -> Array:
    """Return tiles of a smaller size: the mean of each block of pixels; pixels left over at the edges are dropped."""
    down, across = max(1, tiles.shape[1] // height), max(1, tiles.shape[2] // width)
    # What is left over at the rims is cut off.
    kept = tiles[:, : height * down, : width * across]
    blocks = kept.reshape(len(tiles), height, down, width, across, *tiles.shape[3:])
    small: Array = blocks.mean(axis=(2, 4), dtype=np.float32).round().astype(np.uint8)
    return small


def cut(image: Array, count: int, height: int, width: int) -> Array:
    """Return the first `count` tiles of a sheet, uint8 [count, height, width], and a last dim of 3 for colours.

    Raises:
        ValueError: the image does not hold so many.
    """
    columns, rows = image.shape[1] // width, image.shape[0] // height
    if columns * rows < count:
        raise ValueError(
            f"an image of {image.shape[1]} by {image.shape[0]} pixels holds {columns * rows} tiles of {width} by "
            f"{height}, not {count}"
        )
    colours = image.shape[2:]
    grid = image[: rows * height, : columns * width].reshape(rows, height, columns, width, *colours)
    return np.ascontiguousarray(grid.swapaxes(1, 2).reshape(-1, height, width, *colours)[:count])
