"""Groups of points, found by density (HDBSCAN, by scikit-learn), with the words that set each apart.

Source: Campello, Moulavi, Sander: Density-Based Clustering Based on Hierarchical Density Estimates (2013).
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy
from workbench.embedding.columns import Column
from workbench.embedding.methods import check_settings
from workbench.embedding.vectors import is_whole

__all__ = ["Clusters", "cluster", "clusters_code", "telling_words"]

Array = np.ndarray[Any, Any]

_CLUSTER = Lazy("sklearn.cluster")

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


def cluster(points: Array, settings: Mapping[str, Any]) -> tuple[Array, Array]:
    """Return each point's cluster, the largest being 0 and noise -1, and how surely it belongs there.

    Raises:
        UnavailableError: scikit-learn is not installed.
        TypeError: there is no such setting, or a number of points is none.
        ValueError: there are fewer points than `min_cluster_size`.
    """
    least = settings.get("min_cluster_size", 5)
    if not is_whole(least):
        raise TypeError(f"hdbscan: min_cluster_size is a whole number of points, got {least!r}")
    samples = settings.get("min_samples")
    if samples is not None and not is_whole(samples):
        raise TypeError(f"hdbscan: min_samples is a whole number of points, or None, got {samples!r}")
    try:
        kind = _CLUSTER.HDBSCAN
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "clusters are found by scikit-learn, which is not installed: pip install 'tensor-workbench[embedding]'"
        ) from error
    check_settings(
        "hdbscan", settings, [one for one in inspect.signature(kind.__init__).parameters if one != "self"]
    )
    if not 2 <= least <= len(points):
        raise ValueError(
            f"hdbscan: min_cluster_size is from 2 to the {len(points):,} points there are, got {least!r}"
        )
    # scikit-learn says that it will copy by itself from 1.10 on, and asks to be told.
    found = kind(**{"copy": True, **settings}).fit(points)
    codes = np.asarray(found.labels_, np.int64)
    # Points at no or infinite distance have numbers below -1; none is left here, and none belongs anywhere.
    codes = np.where(codes < 0, -1, codes)
    sizes = np.bincount(codes[codes >= 0]) if (codes >= 0).any() else np.zeros(0, np.int64)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    return place[codes], np.asarray(found.probabilities_, np.float64)


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
