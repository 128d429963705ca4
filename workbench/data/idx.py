"""Images and labels in MNIST's file format (IDX), packed or not; and Fashion-MNIST where it is installed."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.archive import MAXIMUM_BYTES, DataError
from workbench.data.digits import Digits, with_labels
from workbench.data.tensors import TensorDataset

__all__ = ["fashion_mnist", "read_idx"]

FASHION = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package ``dataset-fashion-mnist`` puts it."""
# The format's codes. All its numbers have the most significant byte first.
TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path) -> np.ndarray[Any, Any]:
    """Return the array of an IDX file: two zero bytes, a type, the number of dims, their sizes, and the values.

    A file that ends in ``.gz`` is unpacked. Raises `DataError` where it is damaged, or claims more than a gibibyte.
    Source: Y. LeCun, The MNIST database of handwritten digits.
    """
    path = Path(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            head = stream.read(4)
            if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in TYPES:
                raise DataError(f"{path} is no IDX file: it begins with {head.hex()!r}")
            dtype = np.dtype(TYPES[head[2]])
            sizes = tuple(int(one) for one in np.frombuffer(stream.read(4 * head[3]), ">u4"))
            count = math.prod(sizes) * dtype.itemsize
            if len(sizes) != head[3] or count > MAXIMUM_BYTES:
                raise DataError(f"{path} claims values of sizes {list(sizes)}: {count} bytes are not read")
            # One byte more than there should be, so that what is left over shows; never all of a file that
            # claims little.
            data = stream.read(count + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is damaged: {error}. Get a fresh copy of it.") from None
    if len(data) != count:
        raise DataError(f"{path}: {len(data)} bytes of values, where sizes {list(sizes)} take {count}")
    return np.frombuffer(data, dtype).reshape(sizes).astype(dtype.newbyteorder("="))


def fashion_mnist(folder: str | Path | None = None, *, names: Any = None) -> Digits:
    """Return Fashion-MNIST, 60,000 pictures of clothes to train with and 10,000 to test with, like `digits`.

    Images float32 [N, C:1, H:28, W:28] in [0, 1], labels int64 [N]; `names` as `digits` takes them. It does not come
    with the workbench: `folder` has its four files, or it is where Debian's package ``dataset-fashion-mnist`` puts it.
    Raises FileNotFoundError, which says what to do, and `DataError` for damaged files. Xiao, Rasul and Vollgraf 2017.
    """
    place = FASHION if folder is None else Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(
            f"there is no Fashion-MNIST in {place}: install the Debian package dataset-fashion-mnist, or give the "
            "folder of its files, fashion_mnist(folder)"
        )
    return Digits(_part(place, "train", names), _part(place, "t10k", names))


def _part(place: Path, name: str, names: Any) -> TensorDataset:
    images, labels = (
        read_idx(_found(place, f"{name}-{kind}-ubyte")) for kind in ("images-idx3", "labels-idx1")
    )
    if images.ndim != 3 or images.shape[1:] != (28, 28) or labels.shape != images.shape[:1]:
        raise DataError(
            f"{place}: images {list(images.shape)} and labels {list(labels.shape)} are not Fashion-MNIST's"
        )
    pixels = images.reshape(-1, 1, 28, 28).astype(np.float32) / np.float32(255)
    return with_labels(pixels, labels, names)


def _found(place: Path, name: str) -> Path:
    for path in (place / f"{name}.gz", place / name):
        if path.is_file():
            return path
    raise FileNotFoundError(f"there is no {name}.gz in {place}")
