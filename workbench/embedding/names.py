"""What points are called, and which of them is meant by a name or a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.base.dims import near_miss

__all__ = ["Names", "check_selected", "order_of"]

Array = np.ndarray[Any, Any]

MOST_SIMILAR = 5_000
"""Among so many names the nearest to one that is not there is searched."""


class Names:
    """Names of `count` points, those `given`, or labels where each is another, or numbers."""

    def __init__(self, given: tuple[str, ...] | None, count: int) -> None:
        self.given = given
        self._count = count
        self._texts: tuple[str, ...] | None = given
        self._places: dict[str, int] | None = None

    def texts(self, labels: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the names of all points."""
        if self._texts is None:
            each = labels is not None and len(set(labels)) == self._count
            self._texts = labels if each else tuple(map(str, range(self._count)))
        assert self._texts is not None  # as it has just been found
        return self._texts

    def index(self, name: Any, labels: tuple[str, ...] | None) -> int:
        """Return the point that is called `name`, or is the one of that number."""
        if not isinstance(name, str):
            return check_selected([name], self._count)[0]
        if self._places is None:
            texts = self.texts(labels)
            # Backwards: of several that are called so the first is meant.
            self._places = dict(zip(reversed(texts), range(len(texts) - 1, -1, -1), strict=True))
        if name not in self._places:
            raise KeyError(f"there is no point {name!r}" + self._hint(name, labels, self._places))
        return self._places[name]

    def _hint(self, name: str, labels: tuple[str, ...] | None, places: dict[str, int]) -> str:
        if labels is not None and self.given is None and name in labels:
            number = labels.index(name)
            return (
                f": it is a label, and as labels repeat, points are called by number; the first of it is {number}. "
                "Embedding(…, names=…) calls them otherwise"
            )
        near = near_miss(name, _similar(name, places))
        return f"; did you mean {near!r}?" if near else ""


def _similar(name: str, places: Iterable[str]) -> list[str]:
    """Return names that may be meant: comparing with each of many takes seconds."""
    begin = name[:1].lower()
    found = [one for one in places if abs(len(one) - len(name)) <= 2 and one[:1].lower() == begin]
    return found[:MOST_SIMILAR]


def order_of(names: tuple[str, ...], others: tuple[str, ...], what: str) -> Array | None:
    """Return which of `others` is each of `names`, int64 [N]; None where they are the same in the same order.

    Raises ValueError where one of them is missing, or names that repeat stand in another order.

    >>> order_of(("king", "queen"), ("queen", "king"), "compare")
    array([1, 0])
    """
    if names == others:
        return None
    places = {name: at for at, name in enumerate(others)}
    for name in names:
        if name not in places:
            raise ValueError(
                f"{what} is of the same points, and {name!r} is no point of the second; take(...) those of both"
            )
    if len(places) < len(others) or len(set(names)) < len(names):
        raise ValueError(f"{what} is of the same points, and names that repeat stand in another order there")
    return np.array([places[name] for name in names], np.int64)


def check_selected(indices: Any, count: int) -> tuple[int, ...]:
    """Return indices without repetitions; raise where one is none of a point."""
    if isinstance(indices, str | bytes) or not isinstance(indices, Iterable):
        raise TypeError(
            f"selected is a sequence of points' numbers, e.g. [4, 7], got {type(indices).__name__}"
        )
    if isinstance(indices, np.ndarray):
        indices = indices.tolist()
    chosen: dict[int, None] = {}
    for one in indices:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"selected takes whole numbers, got {type(one).__name__}")
        index = int(one.__index__())
        if not 0 <= index < count:
            raise IndexError(f"there is no point {index}; the points are 0 to {count - 1:,}")
        chosen[index] = None
    return tuple(chosen)
