"""The words that come with the workbench, with vectors that others learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.data.archive import DataError, read_arrays
from workbench.data.assets import asset

__all__ = ["Words", "common_words"]

COUNT, FEATURES = 8_000, 50


class Words(NamedTuple):
    """Words, the most frequent first, and a vector for each."""

    words: list[str]
    vectors: np.ndarray[Any, Any]
    """float32 [8000, 50]"""


def common_words(path: str | Path | None = None) -> Words:
    """Return 8,000 frequent English words with their vectors of GloVe 6B.

    Raises `DataError` where the file is damaged. See ``assets/words/README.md``.

    >>> found = common_words()
    >>> found.words[:3], found.vectors.shape
    (['the', 'of', 'to'], (8000, 50))
    """
    source = asset("words/words.npz") if path is None else Path(path)
    letters, vectors = read_arrays(source, "words", "vectors")
    if vectors.shape != (COUNT, FEATURES) or vectors.dtype != np.float16 or letters.dtype != np.uint8:
        raise DataError(
            f"{source}: vectors are {vectors.dtype} {list(vectors.shape)}, not float16 {[COUNT, FEATURES]}"
        )
    words = letters.tobytes().decode("utf-8", "replace").split("\n")
    if len(words) != COUNT:
        raise DataError(f"{source}: found {len(words):,} words, not {COUNT:,}")
    return Words(words, vectors.astype(np.float32))
