"""Groups of points, found by density (HDBSCAN), with the words that set each apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.embedding.columns import Column
from workbench.embedding.hdbscan import Reached, cluster
from workbench.embedding.vectors import check_finite, finite_rows

if TYPE_CHECKING:
    from workbench.embedding.embedding import Embedding

__all__ = ["Clusters", "clusters_code", "find_clusters", "telling_words"]

Array = np.ndarray[Any, Any]

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
WORDS = 3
"""How many words a cluster is called by."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of points, the largest first."""

    method: str
    codes: Array
    """int64 [N]: the number of each point's cluster, -1 for noise and points left out."""
    labels: tuple[str, ...]
    """What each cluster is called: the words that set it apart, or its number."""
    sizes: tuple[int, ...]
    """How many points each has."""
    noise: int
    """How many points belong to none."""
    probabilities: Array
    """float64 [N]: how surely each point belongs to its cluster."""
    settings: str
    """Code that makes it again."""

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        named = ", ".join(
            f"{label} ({size:,})" for label, size in zip(self.labels[:5], self.sizes[:5], strict=True)
        )
        more = f", and {len(self) - 5} more" if len(self) > 5 else ""
        return f"Clusters({len(self)} by {self.method}: {named}{more}; noise {self.noise:,} of {len(self.codes):,})"


def find_clusters(
    embedding: Embedding,
    of: str,
    words: Iterable[str] | None,
    settings: Mapping[str, Any],
    reached: Reached = lambda what, done, count: None,
) -> Clusters:
    """Return groups of the points of `embedding`, as `Embedding.clusters` does; ``reached(what, done, of)`` is told.

    Raises as that does, and whatever `reached` raises.
    """
    if of != "vectors" and of not in embedding.projections:
        known = ", ".join(("vectors", *embedding.projections))
        raise ValueError(f"clusters: there is no {of!r} to find them in; there are {known}")
    points = embedding.vectors if of == "vectors" else embedding.projections[of].positions
    rows = finite_rows(points)
    if of == "vectors" and len(rows) < len(points):
        check_finite(points, "clusters")
    found, sure = cluster(points if len(rows) == len(points) else points[rows], settings, reached)
    codes, probabilities = np.full(len(embedding), -1, np.int64), np.zeros(len(embedding))
    codes[rows], probabilities[rows] = found, sure
    sizes = tuple(np.bincount(found[found >= 0]).tolist()) if (found >= 0).any() else ()
    labels = telling_words(codes, len(sizes), embedding._texts(words))
    code = clusters_code(of, words, settings)
    return Clusters("hdbscan", codes, labels, sizes, int((codes < 0).sum()), probabilities, code)


def telling_words(codes: Array, count: int, columns: Sequence[Column]) -> tuple[str, ...]:
    r"""Return for each of `count` clusters what sets it apart: words of its texts and categories that others lack.

    A word's score in a cluster c is :math:`\frac{n_{wc}}{n_c} \log(1 + \frac{\bar n}{n_w})`: how often it is there,
    for each of the words there are, by how rare it is in all, where :math:`\bar n` is the mean number of words of a
    cluster (class-based tf-idf). A column of categories counts each as one word. A cluster without words is called by
    its number.

    Source: Grootendorst: BERTopic: Neural topic modeling with a class-based TF-IDF procedure (2022).

    >>> texts = Column("text", "text", ("a red fox", "the red hen", "a blue sky", "the blue sea"))
    >>> telling_words(np.array([0, 0, 1, 1]), 2, [texts])[0].split(", ")[0]
    'red'
    """
    here = [Counter[str]() for _ in range(count)]
    for column in columns:
        if column.kind == "number":
            continue
        for code, value in zip(codes.tolist(), column.values, strict=True):
            if code >= 0:
                # What is in a text twice says no more of it.
                here[code].update(set(_words(column, value)))
    everywhere = Counter[str]()
    for one in here:
        everywhere.update(one)
    mean = sum(everywhere.values()) / max(count, 1)
    labels = []
    for number, one in enumerate(here):
        total = sum(one.values())
        scores = {word: n / total * np.log1p(mean / everywhere[word]) for word, n in one.items()}
        best = sorted(scores, key=lambda word: (-scores[word], word))[:WORDS]
        labels.append(", ".join(best) if best else f"cluster {number}")
    return tuple(labels)


def _words(column: Column, value: str) -> Iterable[str]:
    if column.kind == "category":
        return [value] if value else []
    return WORD.findall(value.lower())


def clusters_code(of: str, words: Iterable[str] | None, settings: Mapping[str, Any]) -> str:
    """Return the code that finds clusters so again."""
    given = {} if of == "vectors" else {"of": of}
    named = {} if words is None else {"words": words if isinstance(words, str) else list(words)}
    parts = [f"{name}={value!r}" for name, value in {**given, **named, **settings}.items()]
    return f"embedding.clusters({', '.join(parts)})"
