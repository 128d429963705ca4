"""Small PNG pictures, written by hand: no imaging library is needed to show one."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

__all__ = ["data_uri", "encode_png"]

Array = np.ndarray[Any, Any]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encode_png(pixels: Array, palette: Array | None = None) -> bytes:
    r"""Return a PNG of `pixels`: uint8 [H, W, 4] colours, or [H, W] indices into `palette`, uint8 [256, 4].

    The four channels are red, green, blue and opacity.

    >>> encode_png(np.zeros((2, 2, 4), np.uint8))[:4]
    b'\x89PNG'
    """
    height, width = pixels.shape[:2]
    # The format's numbers for colours with opacity, and for places in a palette.
    colour_type, channels = (6, 4) if palette is None else (3, 1)
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row: filter 0, then its pixels
    rows[:, 1:] = pixels.reshape(height, -1)
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0))]
    if palette is not None:
        parts.append(_chunk(b"PLTE", palette[:, :3].astype(np.uint8).tobytes()))
        parts.append(_chunk(b"tRNS", palette[:, 3].astype(np.uint8).tobytes()))
    parts += [_chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def data_uri(png: bytes) -> str:
    """Return `png` as an address that stands in a page."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
