"""Words and sentences as points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.embedding.embedding import Embedding
from workbench.embedding.vectors import as_array

__all__ = ["sentence_embeddings", "word_vectors"]

BATCH = 32
"""Sentences that are encoded at a time."""


def word_vectors(
    words: Mapping[str, Any] | Sequence[str], vectors: Any = None, *, title: str = "words"
) -> Embedding:
    """Return words as points that are called so: `words` with `vectors` [N, features], or a dict of a vector each.

    Raises:
        ValueError: there are none, other numbers of words than of vectors, or vectors of several lengths.
        TypeError: `words` are one text, or none.

    >>> word_vectors({"king": [1.0, 0.0], "queen": [0.9, 0.1]}).neighbours("king", 1).indices.tolist()
    [1]
    """
    if isinstance(words, Mapping):
        if vectors is not None:
            raise ValueError("word_vectors: a dict has its vectors; give no others")
        by_word: Mapping[str, Any] = words
        words, vectors = list(by_word), _stacked(by_word)
    elif isinstance(words, str) or not isinstance(words, Sequence | np.ndarray):
        raise TypeError(
            f"word_vectors: words are a list of texts, or a dict of a vector each, got {type(words).__name__}"
        )
    elif vectors is None:
        raise ValueError("word_vectors: give a dict of vectors by word, or words and vectors [N, features]")
    words = [str(one) for one in words]
    if not hasattr(vectors, "__len__"):
        raise TypeError(f"word_vectors: vectors are [N, features], got {type(vectors).__name__}")
    if len(words) != len(vectors):
        raise ValueError(f"word_vectors: {len(words):,} words and {len(vectors):,} vectors")
    if not words:
        raise ValueError("word_vectors: there are no words; give one or more")
    return Embedding(vectors, names=words, title=title)


def _stacked(by_word: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Return the vectors of words as one array; ValueError where there are none, or of several lengths."""
    if not by_word:
        raise ValueError("word_vectors: the dict is empty; give one word or more with its vector")
    vectors = {word: as_array(one) for word, one in by_word.items()}
    first, features = next(iter(vectors)), next(iter(vectors.values())).shape
    for word, one in vectors.items():
        if one.ndim != 1 or one.shape != features:
            raise ValueError(
                f"word_vectors: each word has a vector of as many numbers, got {list(features)} for {first!r} and "
                f"{list(one.shape)} for {word!r}"
            )
    return np.stack(list(vectors.values()))


def sentence_embeddings(
    sentences: Sequence[str],
    encode: Callable[[list[str]], Any],
    *,
    labels: Any = None,
    metadata: Mapping[str, Any] | None = None,
    title: str = "sentences",
) -> Embedding:
    """Return sentences as points: ``encode(list of sentences)`` gives vectors [n, features], and is asked 32 at a time.

    Raises ValueError where it gives other numbers of vectors than of sentences.

    >>> sentence_embeddings(["a", "bbb"], lambda texts: np.array([[len(one), 1.0] for one in texts])).vectors.tolist()
    [[1.0, 1.0], [3.0, 1.0]]
    """
    if isinstance(sentences, str) or not len(sentences):
        raise ValueError("sentence_embeddings: give a list of one sentence or more")
    found = []
    for start in range(0, len(sentences), BATCH):
        part = list(sentences[start : start + BATCH])
        vectors = encode(part)
        array = as_array(vectors)
        if array.ndim != 2 or len(array) != len(part):
            raise ValueError(
                f"sentence_embeddings: encode gave {list(array.shape)} for {len(part)} sentences; it gives "
                "[n, features]"
            )
        found.append(array)
    return Embedding(
        np.concatenate(found),
        labels,
        names=list(sentences),
        metadata={"sentence": list(sentences), **(metadata or {})},
        title=title,
    )
