"""Points of a high-dimensional space with what is known of them: labels, columns, pictures, projections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base import renderer_lookup
from workbench.base.listeners import Listeners
from workbench.embedding.bookmarks import State, as_states
from workbench.embedding.clusters import Clusters, find_clusters
from workbench.embedding.columns import Column, Columns, Texts, column_of, labels_of
from workbench.embedding.names import Names, check_selected, order_of
from workbench.embedding.neighbours import Metric, Near, neighbours
from workbench.embedding.pictures import Pictures
from workbench.embedding.samples import are_named, sample_numbers
from workbench.embedding.thumbnails import as_images, thumbnails
from workbench.embedding.vectors import as_points

__all__ = ["Embedding"]

Array = np.ndarray[Any, Any]


class Embedding(Pictures):
    """Points [N, features], each with a label, values of columns and a picture, where these are given.

    `labels` are numbers or texts, `metadata` columns of N values by name, which stay numbers, categories or texts,
    `images` [N, H, W] or [N, C, H, W]. `names` says what each point is called, as words are; without it labels are
    names where each is another. `samples` says which sample of a batch each point is; see there. Once projected it can
    be drawn; which points are selected there is `selected` here, both ways.

    Raises:
        DTypeError: points or images are not real numbers.
        DimensionError: the points are not [N, features], or something else is not of N.

    >>> import workbench as wb
    >>> embedding = Embedding(wb.eye(4), labels=["a", "b", "a", "b"], metadata={"size": [3, 1, 2, 4]})
    >>> embedding.project(dims=2).projection.positions.shape
    (4, 2)
    >>> embedding.selected = [2]
    >>> embedding.selected, embedding.labels[2], embedding.columns["size"].kind
    ((2,), 'a', 'number')
    """

    def __init__(
        self,
        vectors: Any,
        labels: Any = None,
        *,
        names: Any = None,
        metadata: Mapping[str, Any] | None = None,
        images: Any = None,
        samples: Any = None,
        label_name: str = "label",
        title: str = "embedding",
    ) -> None:
        super().__init__()
        if not label_name:
            raise ValueError("Embedding: label_name is '', and labels are chosen by it; 'label', say")
        self.vectors = as_points(vectors, "Embedding")
        self.title = title
        self.label_name = label_name
        count = len(self.vectors)
        self._labels = None if labels is None else labels_of(label_name, labels, count)
        self.columns = Columns.of(metadata, count)
        self._names = Names(None if names is None else column_of("names", names, count).texts, count)
        self.thumbnails = None if images is None else thumbnails(images, count)
        self._samples = None if samples is None else sample_numbers(samples, count)
        self.place = ""
        self._selected: tuple[int, ...] = ()
        self._bookmarks: tuple[State, ...] = ()
        self._listeners: Listeners[[Embedding]] = Listeners()

    columns: Columns
    """The columns of `metadata` by name, each a `Column` of numbers, categories or texts."""
    thumbnails: Array | None
    """uint8 [N, H, W], or [N, H, W, 3] in colours"""
    place: str
    """The parameter of a model whose channels the points are, by its path (``conv1.weight``); '' where none is."""

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def labels(self) -> tuple[str, ...] | None:
        """Label of each point, as text."""
        return None if self._labels is None else self._labels.texts

    @property
    def categories(self) -> tuple[str, ...]:
        """The distinct labels, in order."""
        return () if self._labels is None else self._labels.categories

    @property
    def codes(self) -> Array | None:
        """int64 [N]: the place of each point's label in `categories`."""
        return None if self._labels is None else self._labels.codes

    @property
    def metadata(self) -> Mapping[str, tuple[str, ...]]:
        """The columns as texts."""
        return Texts(self.columns)

    def column(self, name: Any) -> Column:
        """Return a column by its name, or the labels for True or their name; KeyError where there is none."""
        if self._labels is not None and (
            name is True or (name == self.label_name and name not in self.columns)
        ):
            return self._labels
        if name is True:
            raise ValueError("these points have no labels: Embedding(vectors, labels)")
        return self.columns[str(name)]

    # -------------------------------------------------------------------------------- neighbours and groups

    def neighbours(self, point: int | str, k: int = 10, metric: Metric = "cosine") -> Near:
        """Return the points nearest to a point, by number or name, in the space before projection; see `neighbours`."""
        return neighbours(self.vectors, self.index(point) if isinstance(point, str) else point, k, metric)

    def clusters(
        self,
        method: str = "hdbscan",
        *,
        of: str = "vectors",
        words: Iterable[str] | None = None,
        **settings: Any,
    ) -> Clusters:
        """Return groups of points found by density, each called by the words that set it apart; the rest is noise.

        `of` is ``vectors``, or the name of a projection, in whose picture they are then found; `settings` are those of
        scikit-learn's HDBSCAN. The words are those of labels, columns and names, or of the columns named in `words`.

        Raises:
            ValueError: there is no such method or projection, points hold NaN, or settings do not fit.
            UnavailableError: scikit-learn is not installed.
        """
        if method != "hdbscan":
            raise ValueError(f"there is no method {method!r} of finding clusters; there is hdbscan")
        return find_clusters(self, of, words, settings)

    def _texts(self, words: Iterable[str] | None) -> list[Column]:
        """Return the columns by whose words clusters are called."""
        if words is not None:
            return [self.column(name) for name in ([words] if isinstance(words, str) else words)]
        found = [
            one for one in (self._labels, *self.columns.values()) if one is not None and one.kind != "number"
        ]
        if self._names.given is not None:
            found.append(Column("names", "text", self._names.given))
        return found

    def take(self, indices: Any) -> Embedding:
        """Return some of the points, by their numbers or by a mask, as an embedding of its own.

        Raises:
            ValueError: none was named.
            IndexError: there is no such point, or `indices` are neither whole numbers nor a mask.
        """
        # Whatever picks entries of an array (numbers, slices, a mask) picks points.
        if not isinstance(indices, slice):
            indices = np.asarray(indices)
            if not indices.size:
                raise ValueError("take: an embedding has one point at least, and no point was named")
        chosen = np.arange(len(self))[indices].reshape(-1)
        given = self._names.given
        part = Embedding(
            self.vectors[chosen],
            None if self._labels is None else self._labels.take(chosen),
            names=None if given is None else [given[int(i)] for i in chosen],
            metadata={name: column.take(chosen) for name, column in self.columns.items()},
            images=None if self.thumbnails is None else as_images(self.thumbnails[chosen]),
            samples=None if self.samples is None else self.samples[chosen],
            label_name=self.label_name,
            title=self.title,
        )
        part.place = self.place
        return part

    def in_order_of(self, other: Embedding, what: str = "in_order_of") -> Embedding:
        """Return the same points in the order in which `other` has them, by the names that both were given.

        Where either has no `names` of its own, points are the same by their number, and this is returned as it is.

        >>> words = Embedding(np.eye(2), names=["king", "queen"])
        >>> words.in_order_of(Embedding(np.eye(2), names=["queen", "king"])).names
        ('queen', 'king')

        Raises:
            ValueError: they are of other points.
        """
        if len(self) != len(other):
            raise ValueError(f"{what} is of the same points, got {len(other):,} and {len(self):,} of them")
        if self._names.given is None or other._names.given is None:
            return self
        order = order_of(other._names.given, self._names.given, what)
        return self if order is None else self.take(order)

    def publish(self, path: str | Path) -> Path:
        """Write the projector of these points as one HTML page, and return its path.

        The page needs neither kernel nor network: points turn, legend and histograms filter, the search finds, and
        neighbours are found in it among the vectors, which it holds as float32 (up to 64 MB of them).

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Embedding(np.eye(4)).publish(f"{folder}/points.html").name
        'points.html'
        """
        if self.projection is None:
            self.project()
        path = Path(path)
        path.write_text(renderer_lookup.page(self), encoding="utf-8")
        return path

    # ---------------------------------------------------------------------------------------- selection

    @property
    def names(self) -> tuple[str, ...]:
        """What each point is called: the `names` that were given, else labels where each is another, else numbers."""
        return self._names.texts(self.labels)

    @property
    def samples(self) -> Array | None:
        """int64 [N]: which sample each point is, by which other views show the same one; None where points are none.

        Those that were given; else points are numbered as they come, unless they have names of their own, as words
        have. `take` keeps the numbers.

        >>> Embedding(np.eye(4)).take([3, 1]).samples
        array([3, 1])
        """
        if self._samples is None and not are_named(self._names.given, self.labels, len(self.categories)):
            self._samples = np.arange(len(self))
        return self._samples

    def index(self, name: int | str | np.integer[Any]) -> int:
        """Return the number of the point that is called `name` in `names`; of several the first.

        >>> Embedding(np.eye(3), labels=["up", "down", "up"]).index("2")
        2

        Raises:
            KeyError: none is; the nearest name is told.
            IndexError: there is no point of that number.
        """
        return self._names.index(name, self.labels)

    def select(self, points: Iterable[int | str] | int | str) -> Embedding:
        """Select points by name or number, and return self; see `selected`.

        Raises as `index` does; the selection then stays.

        >>> Embedding(np.eye(2), labels=["up", "down"]).select(["down"]).selected
        (1,)
        """
        several: Any = [points] if isinstance(points, int | str | np.integer) else points
        if isinstance(several, Iterable):
            several = [self.index(one) if isinstance(one, str) else one for one in several]
        self.selected = several
        return self

    @property
    def selected_names(self) -> tuple[str, ...]:
        """What the selected points are called, the first picked first."""
        names = self.names
        return tuple(names[one] for one in self._selected)

    @property
    def selected(self) -> tuple[int, ...]:
        """Numbers of the selected points, the first picked first. Assign to select others; () for none."""
        return self._selected

    @selected.setter
    def selected(self, indices: Iterable[int]) -> None:
        chosen = check_selected(indices, len(self))
        with self._lock:
            if chosen == self._selected:
                return
            self._selected = chosen
        # Outside of the lock: who is told may select.
        self._tell()

    @property
    def bookmarks(self) -> tuple[State, ...]:
        """Arrangements that were kept in the view, as TensorBoard's projector writes them; a log takes them along.

        Assign states, as a log or a file has them, to have the view offer these.

        >>> embedding = Embedding(np.eye(3))
        >>> embedding.bookmarks = [{"label": "the first", "selectedPoints": [0]}]
        >>> embedding.bookmarks[0]["label"]
        'the first'
        """
        return self._bookmarks

    @bookmarks.setter
    def bookmarks(self, states: Iterable[State]) -> None:
        self._bookmarks = as_states(states)
        self._tell()

    def listen(self, listener: Callable[[Embedding], None]) -> Callable[[], None]:
        """Call ``listener(embedding)`` when the selection or the projection changed; return a function that stops it.

        A person's picks arrive in another thread than that which runs cells, and so do frames of a projection in the
        background.
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
