"""The text that comes with the workbench."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import NamedTuple

from workbench.data.archive import DataError
from workbench.data.assets import asset

__all__ = ["Book", "moby_dick"]

CHAPTERS, TEST = 135, 15
MOST_BYTES = 1 << 24
"""Most bytes of text that are unpacked: the book has a tenth of them."""


class Book(NamedTuple):
    """A text to train with, and one to test with."""

    train: str
    test: str


def moby_dick(path: str | Path | None = None) -> Book:
    """Return Moby Dick by Herman Melville: the first 120 chapters, and the last 15 to test with.

    Raises `DataError` where the file is damaged. See ``assets/moby-dick/README.md``.

    >>> moby_dick().train[10:28]
    'Call me Ishmael. S'
    """
    source = asset("moby-dick/text.txt.gz") if path is None else Path(path)
    try:
        with gzip.open(source) as packed:
            # One byte more than allowed: a small file can unpack to more than there is memory for.
            data = packed.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    # What gzip raises of a damaged file is of no one class.
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{source} is damaged: {error}. Get a fresh copy of it.") from None
    chapters = text.strip().split("\n\n")
    if len(data) > MOST_BYTES or len(chapters) != CHAPTERS:
        raise DataError(f"{source}: found {len(chapters)} chapters, not {CHAPTERS}. Get a fresh copy of it.")
    return Book("\n\n".join(chapters[:-TEST]), "\n\n".join(chapters[-TEST:]))
