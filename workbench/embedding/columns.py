"""What is known of points, a column each: numbers, categories or texts, kept as what they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError
from workbench.embedding.vectors import as_array
from workbench.tensor import Tensor

__all__ = ["Column", "Columns", "Texts", "column_of", "labels_of"]

Array = np.ndarray[Any, Any]
Kind = Literal["number", "category", "text"]

MOST_CATEGORIES = 256
"""Texts of more different values than this are no categories, unless they are labels."""


@dataclass(frozen=True, eq=False)
class Column:
    """A value for each point.

    >>> column_of("size", [3, 1, 2], 3).kind, column_of("colour", ["red", "blue", "red"], 3).categories
    ('number', ('blue', 'red'))
    """

    name: str
    kind: Kind
    """``number``: `values` are float64, int64 or bool; ``category``: few texts, `codes` are their places in
    `categories`; ``text``: each may be another."""
    values: Any
    """[N] values by number of the point: an array of numbers, or a sequence of texts."""
    categories: tuple[str, ...] = ()
    codes: Array | None = None
    """int64 [N]"""

    def __len__(self) -> int:
        return len(self.values)

    def text(self, index: int) -> str:
        """Return the value of a point as text."""
        value = self.values[index]
        return value if isinstance(value, str) else str(value.item())

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All values as texts."""
        return tuple(str(one) for one in _plain(self.values))

    def take(self, chosen: Array) -> Column:
        """Return the column of some of the points; it stays of its kind."""
        if self.kind == "number":
            return Column(self.name, "number", self.values[chosen])
        texts = tuple(self.values[int(one)] for one in chosen)
        return _categories(self.name, texts) if self.kind == "category" else Column(self.name, "text", texts)


def _plain(values: Any) -> list[Any]:
    """Return a column's values as Python objects."""
    if isinstance(values, Tensor):
        values = as_array(values)
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _number(value: Any) -> Any:
    """Return what is one number of a tensor or an array as Python's, as data sets give labels; all else as it is."""
    return as_array(value).item() if isinstance(value, Tensor | np.ndarray) and value.ndim == 0 else value


def _several(name: str, values: Any, count: int) -> Any:
    """Return what is a value for each of several points; raise where it is one thing, or none."""
    if isinstance(values, str):
        raise TypeError(
            f"Embedding: column {name!r} is one text; give one value for each of {count:,} points"
        )
    if isinstance(values, Column):
        return values.values
    if isinstance(values, Tensor | np.ndarray):
        if values.ndim != 1:
            raise DimensionError(
                f"column {name!r} has one value for each of {count:,} points, got shape {list(values.shape)}",
                op="Embedding",
            )
        return as_array(values)
    if not isinstance(values, Iterable):
        raise TypeError(
            f"Embedding: column {name!r} is {type(values).__name__}; give one value for each of {count:,} points"
        )
    return [_number(one) for one in values]


def column_of(name: str, values: Any, count: int) -> Column:
    """Return `values` as a column of `count` points: numbers stay numbers, few texts are categories.

    None among numbers is NaN.

    Raises:
        TypeError: the values are one text, or not several.
        DimensionError: there are not `count` of them, or an array of them has other than one dim.
    """
    values = _several(name, values, count)
    numbers = _numbers(values)
    found = len(numbers) if numbers is not None else len(values := _plain(values))
    if found != count:
        raise DimensionError(f"{found:,} values of {name!r} for {count:,} points", op="Embedding")
    if numbers is not None:
        return Column(name, "number", numbers)
    texts = tuple(str(one) for one in values)
    distinct = set()
    for text in texts:
        distinct.add(text)
        if len(distinct) > MOST_CATEGORIES:
            return Column(name, "text", texts)
    # As many values as points name them, and divide them into nothing.
    if len(distinct) > max(2, count // 2):
        return Column(name, "text", texts)
    return _categories(name, texts)


def _numbers(values: Any) -> Array | None:
    """Return values as numbers of a fitting type, or None where they are none."""
    if not isinstance(values, np.ndarray):
        there = [one for one in values if one is not None]
        if not there or not all(isinstance(one, bool | int | float | np.number | np.bool_) for one in there):
            return None
        if any(isinstance(one, complex | np.complexfloating) for one in there):
            return None
        if len(there) < len(values):
            # A number that is not known; of truth values there is none that is neither.
            if all(isinstance(one, bool | np.bool_) for one in there):
                return None
            values = [math.nan if one is None else one for one in values]
        values = np.asarray(values)
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        return None
    if values.dtype.kind == "b":
        return np.array(values)
    wide = values.dtype.kind == "f" or values.dtype == np.uint64
    return np.array(values, np.float64 if wide else np.int64)


def labels_of(name: str, labels: Any, count: int) -> Column:
    """Return labels as categories, however many: texts, the distinct ones in order, numbers by size."""
    texts = tuple(str(one) for one in _plain(_several("labels", labels, count)))
    if len(texts) != count:
        raise DimensionError(f"{len(texts):,} values of 'labels' for {count:,} points", op="Embedding")
    return _categories(name, texts)


def _categories(name: str, texts: tuple[str, ...]) -> Column:
    distinct = sorted(set(texts), key=_order)
    place = {label: code for code, label in enumerate(distinct)}
    codes = np.fromiter((place[label] for label in texts), np.int64, len(texts))
    return Column(name, "category", texts, tuple(distinct), codes)


def _order(label: str) -> tuple[bool, float, str]:
    """Return what labels are sorted by: numbers by their size, before texts."""
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    return (False, number, label) if math.isfinite(number) else (True, 0.0, label)


class Columns(dict[str, Column]):
    """Columns by name; a name that is not there is answered with the nearest."""

    @classmethod
    def of(cls, metadata: Mapping[Any, Any] | None, count: int) -> Columns:
        """Return the columns of `count` points; raise as `column_of` does, and where a name is empty or there twice."""
        if not isinstance(metadata, Mapping | None):
            raise TypeError(
                f"Embedding: metadata is a dict of columns by name, got {type(metadata).__name__}; "
                "metadata={'column': values}"
            )
        columns = cls()
        for key, values in (metadata or {}).items():
            name = str(key)
            if not name:
                raise ValueError(
                    f"Embedding: a column of metadata is called ''; what is chosen by its name has one, as "
                    f"'column {len(columns) + 1}'"
                )
            if name in columns:
                raise ValueError(f"Embedding: metadata has two columns that are called {name!r}")
            columns[name] = column_of(name, values, count)
        return columns

    def __missing__(self, name: str) -> Column:
        near = near_miss(str(name), self)
        known = ", ".join(self) or "none"
        raise KeyError(
            f"there is no column {name!r}" + (f"; did you mean {near!r}?" if near else f"; there are {known}")
        )


class Texts(Mapping[str, tuple[str, ...]]):
    """Columns as texts, made when they are asked for."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._columns[name].texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return dict(self) == other

    __hash__ = None  # type: ignore[assignment]
