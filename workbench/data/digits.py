"""The handwritten digits that come with the workbench."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dtypes import as_dtype
from workbench.data.archive import DataError, read_arrays
from workbench.data.assets import asset
from workbench.data.tensors import TensorDataset
from workbench.tensor.factories import from_numpy

__all__ = ["Digits", "digits"]

COUNT, SIDE, CLASSES = 10_000, 28, 10
EVERY = 5
"""Each of so many images is kept for the test."""


class Digits(NamedTuple):
    """Images to train with, and images to test with."""

    train: TensorDataset
    test: TensorDataset


def digits(dtype: Any = "float32", path: str | Path | None = None, *, names: Any = None) -> Digits:
    """Return 8,000 digits to train with and 2,000 to test with, the same ones every time, classes in proportion.

    Images [N, C:1, H:28, W:28]: ``float32`` in [0, 1], or ``uint8`` from 0 to 255; labels int64 [N]. Their dims have
    no names, or `names`, those of the images; labels have the first. Raises `DataError` where the file is damaged. The
    data is a part of MNIST: see ``assets/digits/README.md``.

    >>> train, test = digits(names=("N", "C", "H", "W"))
    >>> images, labels = test[:16]
    >>> images.names, images.shape, labels.names
    (('N', 'C', 'H', 'W'), (16, 1, 28, 28), ('N',))
    """
    target = as_dtype(dtype)
    if target.kind != "f" and target.name != "uint8":
        raise TypeError(f"digits come as a floating point type or as uint8, not as {target.name}")
    source = asset("digits/digits.npz") if path is None else Path(path)
    images, labels = read_arrays(source, "images", "labels")
    _check(source, images, labels)
    kept = np.arange(COUNT) % EVERY == 0
    return Digits(*(_dataset(images[which], labels[which], target, names) for which in (~kept, kept)))


def _check(source: Path, images: Any, labels: Any) -> None:
    if images.shape != (COUNT, SIDE, SIDE) or images.dtype != np.uint8:
        raise DataError(
            f"{source}: images are {images.dtype} {list(images.shape)}, not uint8 {[COUNT, SIDE, SIDE]}"
        )
    if labels.shape != (COUNT,) or labels.dtype != np.uint8 or int(labels.max()) >= CLASSES:
        raise DataError(f"{source}: labels are not {COUNT} classes below {CLASSES}")


def _dataset(images: Any, labels: Any, dtype: Any, names: Any) -> TensorDataset:
    pixels = images.reshape(-1, 1, SIDE, SIDE)
    if dtype.kind == "f":
        # In float32 in any case, so that half precision is rounded once.
        pixels = (pixels.astype(np.float32) / np.float32(255)).astype(dtype.numpy, copy=False)
    return with_labels(pixels, labels, names)


def with_labels(pixels: Any, labels: Any, names: Any) -> TensorDataset:
    """Return images [N, C, H, W] and their labels [N], under `names` of the images' dims."""
    images = from_numpy(pixels, names=names)
    first = None if names is None else images.names[:1]
    return TensorDataset(images, from_numpy(labels.astype(np.int64), names=first))
