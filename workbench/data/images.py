"""Pictures in folders, one folder a class."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.dims import check_names
from workbench.base.dtypes import as_dtype
from workbench.base.lazy import Lazy
from workbench.data.archive import DataError
from workbench.data.dataset import Dataset
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["ImageFolder", "read_image"]

pillow = Lazy("PIL.Image")

EXTENSIONS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""What is read; formats that run programs, such as PostScript, are not."""
MODES = {"RGB": 3, "L": 1, "RGBA": 4}
"""How pixels may be read, and how many channels that makes."""
MAXIMUM_PIXELS = 1 << 26


def read_image(
    path: str | Path,
    mode: str = "RGB",
    dtype: Any = "float32",
    maximum_pixels: int = MAXIMUM_PIXELS,
    *,
    names: Any = None,
) -> Tensor:
    """Return the picture in a file: [C, H, W], a floating point type in [0, 1], or ``uint8``.

    `mode` is ``"RGB"``, ``"L"`` (grey) or ``"RGBA"``. Dims have `names`, where these are given. Raises `DataError`,
    which names the file, where it is damaged, is no picture, or has more than `maximum_pixels` (before they are
    unpacked).
    """
    if mode not in MODES:
        raise ValueError(f"mode is one of {', '.join(MODES)}, got {mode!r}")
    target = as_dtype(dtype)
    if target.kind != "f" and target.name != "uint8":
        raise TypeError(f"pictures come as a floating point type or as uint8, not as {target.name}")
    try:
        with pillow.open(path, formats=FORMATS) as picture:
            width, height = picture.size
            # Before anything is unpacked: a small file can claim a picture that fills the memory.
            if width * height > maximum_pixels:
                raise DataError(
                    f"{path} has {width} x {height} pixels, more than the {maximum_pixels} that are allowed: pass a "
                    "larger maximum_pixels if it can be trusted"
                )
            pixels = np.array(picture.convert(mode))
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise DataError(f"{path} is not read: {error}") from None
    # Nothing is wrong with a file that is not there.
    except FileNotFoundError:
        raise
    # Pillow's readers raise all of these for files that are damaged.
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path} cannot be read as a picture: {error}. Get a fresh copy of it, or leave it out."
        ) from None
    array = np.ascontiguousarray(pixels.reshape(height, width, MODES[mode]).transpose(2, 0, 1))
    if target.kind == "f":
        # In float32 in any case, so that half precision is rounded once.
        array = (array.astype(np.float32) / np.float32(255)).astype(target.numpy, copy=False)
    return from_numpy(array, names=names)


class ImageFolder(Dataset[tuple[Any, Any]]):
    """Pictures below `root`, in a folder for each class: a sample is a picture [C, H, W] and the number of its class.

    Classes are numbered in the order of their names (`classes`, `class_to_idx`), files come in the order of theirs
    (`samples`, `targets`). `transform` and `target_transform` change pictures and numbers; pictures that a batch is
    made of must be of one size. `mode`, `dtype`, `maximum_pixels` and `names` are those of `read_image`, in place of
    which `loader` can read files. Raises FileNotFoundError where there is no class, or a class without pictures unless
    `allow_empty`.

    >>> from PIL import Image
    >>> for kind in ("cat", "dog"):
    ...     (getfixture("tmp_path") / kind).mkdir()
    ...     Image.new("RGB", (6, 4)).save(getfixture("tmp_path") / kind / "1.png")
    >>> pictures = ImageFolder(getfixture("tmp_path"), names=("C", "H", "W"))
    >>> pictures.classes, pictures[1][0].names, pictures[1][0].shape, pictures[1][1]
    (['cat', 'dog'], ('C', 'H', 'W'), (3, 4, 6), 1)
    """

    classes: list[str]
    class_to_idx: dict[str, int]
    samples: list[tuple[str, int]]
    targets: list[int]

    def __init__(
        self,
        root: str | Path,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        loader: Callable[[str], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        mode: str = "RGB",
        dtype: Any = "float32",
        maximum_pixels: int = MAXIMUM_PIXELS,
        names: Any = None,
    ) -> None:
        self.root = str(root)
        self.transform, self.target_transform, self.loader = transform, target_transform, loader
        self.mode, self.dtype, self.maximum_pixels = mode, as_dtype(dtype).name, maximum_pixels
        self.names = check_names(names, 3)
        with os.scandir(root) as entries:
            # Sorted, as the system gives names in any order, and the numbers of classes follow from it.
            self.classes = sorted(entry.name for entry in entries if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(
                f"Couldn't find any class folder in {root}: pictures lie in folders, one for each class"
            )
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        valid = is_valid_file or (lambda path: path.lower().endswith(EXTENSIONS))
        self.samples = []
        for name, number in self.class_to_idx.items():
            found = [path for path in _files(os.path.join(root, name)) if valid(path)]
            if not found and not allow_empty:
                raise FileNotFoundError(
                    f"Found no valid file for the class {name!r} in {root}; supported extensions are: "
                    f"{', '.join(EXTENSIONS)}. Pass allow_empty=True to have a class without pictures."
                )
            self.samples += [(path, number) for path in found]
        self.targets = [number for _, number in self.samples]

    @property
    def imgs(self) -> list[tuple[str, int]]:
        """The samples, as paths and numbers of classes."""
        return self.samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        if self.loader is None:
            picture: Any = read_image(path, self.mode, self.dtype, self.maximum_pixels, names=self.names)
        else:
            picture = self.loader(path)
        return (
            picture if self.transform is None else self.transform(picture),
            target if self.target_transform is None else self.target_transform(target),
        )


def _files(folder: str) -> list[str]:
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
