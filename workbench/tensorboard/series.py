"""What a log holds under a tag: numbers, histograms, pictures, texts, by step and time."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from PIL import Image
from tensorboardX.proto.event_pb2 import Event

__all__ = ["Histogram", "Histograms", "Pictures", "PrecisionRecall", "Series", "Texts"]

Array = np.ndarray[Any, Any]

MOST_PIXELS = 1 << 28
"""Pixels of the largest picture that is unpacked."""


@dataclass
class Series:
    """The numbers of one tag, in the order in which they were written.

    >>> loss = Series(np.array([0, 1, 2]), np.array([1.0, 0.0, 0.5]), np.array([10.0, 11.0, 12.0]))
    >>> len(loss), loss.smoothed(0.5).round(3).tolist()
    (3, [1.0, 0.333, 0.429])
    """

    steps: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64 [values]"""
    values: Array = field(default_factory=lambda: np.zeros(0))
    """float64 [values]"""
    times: Array = field(default_factory=lambda: np.zeros(0))
    """float64 [values]: seconds since 1970."""

    def __len__(self) -> int:
        return len(self.steps)

    def smoothed(self, weight: float = 0.6) -> Array:
        r"""Return the running mean that TensorBoard draws: :math:`m_i = w m_{i-1} + (1-w) v_i`, over :math:`1-w^i`.

        Where a value is not finite, it is there as it is, and the mean goes on without it. Raises ValueError where
        `weight` is not in [0, 1).
        """
        if not 0 <= weight < 1:
            raise ValueError(f"weight is 0 (as it is) or more and less than 1, got {weight}")
        mean, seen = 0.0, 0
        smooth = self.values.copy()
        for i, value in enumerate(self.values.tolist()):
            if np.isfinite(value):
                seen += 1
                mean = weight * mean + (1 - weight) * value
                smooth[i] = mean / (1 - weight**seen)
        return smooth


class Histogram(NamedTuple):
    """How values were distributed at one step."""

    edges: Array
    """float64 [bins + 1]"""
    counts: Array
    """float64 [bins]"""


@dataclass
class Histograms:
    """The histograms of one tag, in the order in which they were written."""

    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[Histogram] = field(default_factory=list)


@dataclass
class Texts:
    """The texts of one tag: Markdown, as it was written. It is never markup by itself."""

    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


@dataclass
class PrecisionRecall:
    """The curves of precision over recall of one tag: float64 [6, thresholds] each, with rows `ROWS`."""

    ROWS = ("true_positives", "false_positives", "true_negatives", "false_negatives", "precision", "recall")

    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)


class Place(NamedTuple):
    """Where a value lies: a record of a file, which value of it, and which of the pictures that it holds."""

    path: Path
    offset: int
    size: int
    number: int
    picture: int = 0


@dataclass
class Pictures:
    """The pictures of one tag, which stay in the file until they are asked for."""

    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    places: list[Place] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Array:
        """Return picture `i`: uint8 [H, W, C], C being 1, 3 or 4.

        Raises OSError where the file is not what it was, or the picture cannot be unpacked; ValueError where it is
        too large to be.
        """
        encoded = self.encoded(i)
        try:
            # Pillow warns of pictures that would take much memory; here their size is checked instead.
            with (
                warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning),
                Image.open(io.BytesIO(encoded)) as picture,
            ):
                if math.prod(picture.size) > MOST_PIXELS:
                    raise Image.DecompressionBombError(f"it has {picture.size[0]} × {picture.size[1]} pixels")
                form = picture.mode if picture.mode in ("L", "RGB", "RGBA") else "RGB"
                array = np.asarray(picture.convert(form))
        except Image.DecompressionBombError as error:
            raise ValueError(
                f"the picture at step {self.steps[i]} is too large to be unpacked ({error}); encoded() has the bytes "
                "of its file"
            ) from None
        return array[:, :, None] if array.ndim == 2 else array

    def encoded(self, i: int) -> bytes:
        """Return picture `i` as it stands in the log: the bytes of a PNG, JPEG or GIF file.

        Raises OSError where the file is not what it was.
        """
        path, offset, size, number, which = self.places[i]
        with path.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(size)
        event = Event()
        try:
            event.ParseFromString(data)
            value = event.summary.value[number]
            if value.WhichOneof("value") == "image":
                return bytes(value.image.encoded_image_string)
            # A tensor of texts: width, height, and then the pictures.
            return bytes(value.tensor.string_val[2 + which])
        except (DecodeError, IndexError):
            raise OSError(
                f"{path} is not what it was: no picture of step {self.steps[i]} at byte {offset}; open the log anew"
            ) from None
