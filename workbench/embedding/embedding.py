"""Points of a high-dimensional space with what is known of them: labels, columns of text, pictures, a projection."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base import events
from workbench.base.errors import DimensionError
from workbench.base.listeners import Listeners
from workbench.embedding.neighbours import Metric, Near, neighbours
from workbench.embedding.pca import PCA
from workbench.embedding.thumbnails import thumbnails
from workbench.embedding.vectors import as_points
from workbench.tensor import Tensor

__all__ = ["Embedding", "Projection"]

Array = np.ndarray[Any, Any]

METHODS = ("pca",)
"""The ways of projecting."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Where the points lie in a picture."""

    method: str
    positions: Array
    """float32 [N, dims]"""
    explained: tuple[float, ...]
    """The share of the variance that each axis explains."""


class Embedding:
    """Points [N, features], each with a label, a row of text and a picture, where these are given.

    `labels` are numbers or texts, `metadata` columns of N values by name, `images` [N, H, W] or [N, C, H, W]. Once
    projected it can be drawn; which points are selected there is `selected` here, both ways.

    Raises:
        DTypeError: points or images are not real numbers.
        DimensionError: the points are not [N, features], or something else is not of N.

    >>> import workbench as wb
    >>> embedding = Embedding(wb.eye(4), labels=["a", "b", "a", "b"])
    >>> embedding.project(dims=2).projection.positions.shape
    (4, 2)
    >>> embedding.selected = [2]
    >>> embedding.selected, embedding.labels[2]
    ((2,), 'a')
    """

    def __init__(
        self,
        vectors: Any,
        labels: Any = None,
        *,
        metadata: Mapping[str, Sequence[Any]] | None = None,
        images: Any = None,
        label_name: str = "label",
        title: str = "embedding",
    ) -> None:
        self.vectors = as_points(vectors, "Embedding")
        self.title = title
        self.label_name = label_name
        count = len(self.vectors)
        self.labels, self.categories, self.codes = _labels(labels, count)
        self.metadata = {
            str(name): _column(str(name), values, count) for name, values in (metadata or {}).items()
        }
        self.thumbnails = None if images is None else thumbnails(images, count)
        self.projection: Projection | None = None
        self._selected: tuple[int, ...] = ()
        self._listeners: Listeners[[Embedding]] = Listeners()
        self._lock = threading.RLock()

    labels: tuple[str, ...] | None
    """Label of each point, as text."""
    categories: tuple[str, ...]
    """The distinct labels, in order."""
    codes: Array | None
    """int64 [N]: the place of each point's label in `categories`."""
    metadata: dict[str, tuple[str, ...]]
    """Columns of text."""
    thumbnails: Array | None
    """uint8 [N, H, W]"""

    def __len__(self) -> int:
        return len(self.vectors)

    def project(self, method: str = "pca", dims: int = 3) -> Embedding:
        """Find where the points lie in a picture of 2 or 3 dims, publish that to the views, and return self.

        Raises:
            ValueError: there is no such method, dims are not 2 or 3, or points hold NaN or infinite values, which
                are counted; an earlier projection stays.
        """
        if method not in METHODS:
            raise ValueError(f"there is no projection {method!r}; there is {', '.join(METHODS)}")
        if dims not in (2, 3):
            raise ValueError(f"a projection has 2 or 3 dims, not {dims!r}")
        pca = PCA(dims)
        positions = pca.fit_transform(self.vectors).astype(np.float32)
        self.projection = Projection(
            # In one piece: a page gets it as bytes.
            "PCA",
            np.ascontiguousarray(positions),
            tuple(pca.explained_variance_ratio.tolist()),
        )
        self._tell()
        events.publish(self)
        return self

    def neighbours(self, index: int, k: int = 10, metric: Metric = "cosine") -> Near:
        """Return the points nearest to point `index` in the space before projection; see `neighbours`."""
        return neighbours(self.vectors, index, k, metric)

    def take(self, indices: Any) -> Embedding:
        """Return some of the points, by their numbers or by a mask, as an embedding of its own."""
        # Whatever picks entries of an array (numbers, slices, a mask) picks points.
        chosen = np.arange(len(self))[np.asarray(indices)].reshape(-1)
        return Embedding(
            self.vectors[chosen],
            None if self.labels is None else [self.labels[int(i)] for i in chosen],
            metadata={name: [column[int(i)] for i in chosen] for name, column in self.metadata.items()},
            images=None if self.thumbnails is None else self.thumbnails[chosen],
            label_name=self.label_name,
            title=self.title,
        )

    # ---------------------------------------------------------------------------------------- selection

    @property
    def selected(self) -> tuple[int, ...]:
        """Numbers of the selected points, the first picked first. Assign to select others; () for none."""
        return self._selected

    @selected.setter
    def selected(self, indices: Iterable[int]) -> None:
        chosen = _check_selected(indices, len(self))
        with self._lock:
            if chosen == self._selected:
                return
            self._selected = chosen
        # Outside of the lock: who is told may select.
        self._tell()

    def listen(self, listener: Callable[[Embedding], None]) -> Callable[[], None]:
        """Call ``listener(embedding)`` when the selection or the projection changed; return a function that stops it.

        A person's picks arrive in another thread than that which runs cells.
        """
        return self._listeners.add(listener)

    def _tell(self) -> None:
        self._listeners.tell(self)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} points", f"{self.vectors.shape[1]:,} features"]
        if self.labels is not None:
            parts.append(f"{len(self.categories):,} labels")
        if self.thumbnails is not None:
            parts.append("images")
        if self.projection is not None:
            parts.append(f"{self.projection.method} {self.projection.positions.shape[1]}-D")
        return f"Embedding({', '.join(parts)})"


def _values(values: Any) -> list[Any]:
    """Return a column's values as Python objects."""
    if isinstance(values, Tensor):
        values = values.detach().numpy(force=True)
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _column(name: str, values: Any, count: int) -> tuple[str, ...]:
    if isinstance(values, str):
        raise TypeError(
            f"Embedding: column {name!r} is one text; give one value for each of {count:,} points"
        )
    column = tuple(str(one) for one in _values(values))
    if len(column) != count:
        raise DimensionError(f"{len(column):,} values of {name!r} for {count:,} points", op="Embedding")
    return column


def _labels(labels: Any, count: int) -> tuple[tuple[str, ...] | None, tuple[str, ...], Array | None]:
    """Return labels as text, the distinct ones in order (numbers by size), and each point's place among them."""
    if labels is None:
        return None, (), None
    column = _column("labels", labels, count)
    distinct = sorted(set(column), key=_order)
    place = {label: code for code, label in enumerate(distinct)}
    return column, tuple(distinct), np.array([place[label] for label in column], np.int64)


def _order(label: str) -> tuple[bool, float, str]:
    """Return what labels are sorted by: numbers by their size, before texts."""
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    return (False, number, label) if math.isfinite(number) else (True, 0.0, label)


def _check_selected(indices: Any, count: int) -> tuple[int, ...]:
    """Return indices without repetitions; raise where one is none of a point."""
    if isinstance(indices, str | bytes) or not isinstance(indices, Iterable):
        raise TypeError(
            f"selected is a sequence of points' numbers, e.g. [4, 7], got {type(indices).__name__}"
        )
    chosen: dict[int, None] = {}
    for one in indices:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"selected takes whole numbers, got {type(one).__name__}")
        index = int(one.__index__())
        if not 0 <= index < count:
            raise IndexError(f"there is no point {index}; the points are 0 to {count - 1:,}")
        chosen[index] = None
    return tuple(chosen)
