"""Sounds of points: clips of numbers, given to a page as WAV, one when it is asked for."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from workbench.live.model import Refused
from workbench.tensor import Tensor

__all__ = ["MOST_SECONDS", "Sounds", "wav"]

Array = np.ndarray[Any, Any]

MOST_SECONDS = 20
"""Of a longer clip the beginning is played."""


class Sounds:
    """A clip for each of `count` points: [N, samples], or N of [samples], float from -1 to 1 or int16.

    Raises:
        ValueError: there are not `count` of them, or the rate is none.
    """

    def __init__(self, clips: Any, rate: int, count: int) -> None:
        if not 1_000 <= rate <= 192_000:
            raise ValueError(f"rate is samples a second, 1,000 to 192,000, not {rate!r}")
        self._clips: Any = clips.detach().numpy(force=True) if isinstance(clips, Tensor) else clips
        if len(self._clips) != count:
            raise ValueError(f"{len(self._clips):,} sounds for {count:,} points")
        self._rate = rate

    def clip(self, point: int) -> bytes:
        """Return the sound of a point as a WAV file.

        Raises:
            Refused: there is no such point, or it has no sound.
        """
        if not 0 <= point < len(self._clips):
            raise Refused(f"there is no point {point}; the points are 0 to {len(self._clips) - 1:,}")
        given = self._clips[point]
        samples = given.detach().numpy(force=True) if isinstance(given, Tensor) else np.asarray(given)
        if samples.ndim != 1 or not samples.size or samples.dtype.kind not in "fi":
            raise Refused(
                f"point {point} has no sound: a clip is [samples] of numbers, not {list(samples.shape)}"
            )
        return wav(samples[: MOST_SECONDS * self._rate], self._rate)


def wav(samples: Array, rate: int) -> bytes:
    """Return samples, float from -1 to 1 or int16, as a WAV file of 16 bits and one channel; NaN is still.

    >>> wav(np.zeros(4), 8000)[:4], len(wav(np.zeros(4), 8000))
    (b'RIFF', 52)
    """
    if samples.dtype.kind == "f":
        loud = np.nan_to_num(np.clip(samples.astype(np.float64), -1, 1), nan=0.0)
        samples = np.rint(loud * 32767)
    data = np.clip(samples, -32768, 32767).astype(np.dtype("<i2")).tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    head = struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE")
    return head + form + struct.pack("<4sI", b"data", len(data)) + data
