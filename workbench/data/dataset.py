"""Data sets: samples by number, or one after the other."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "items_of",
    "way_of",
    "whole_batches",
]

T = TypeVar("T", covariant=True)
Empty = Callable[[tuple[int, ...], Any], Any]
"""Makes an array of a shape and a type, its values not set."""
Whole = Callable[[Any, Empty], Any]
"""Makes a whole batch: ``whole(indices, empty)``."""


class Dataset(Generic[T]):
    """Base of data sets: define ``__getitem__(index)`` and ``__len__()``.

    One that can give many samples at once defines ``batch(indices)`` as well, which a loader then prefers: `indices` is
    an array of numbers or a slice, the result what `default_collate` would make of the samples. One that reads many
    samples at once, but gives them one by one, defines ``__getitems__(indices)``, which returns a list.
    """

    def __getitem__(self, index: Any) -> T:
        raise TypeError(
            f"{type(self).__name__} does not say what its samples are: define __getitem__(self, index)"
        )

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} does not say how many samples it has: define __len__(self)")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Base of data sets whose samples come one after the other, such as a stream: define ``__iter__()``.

    Every worker of a loader has a copy of the data set and goes over all of it, unless ``__iter__`` or `worker_init_fn`
    gives each a part of its own with the help of `get_worker_info`.

    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         worker = get_worker_info()
    ...         return iter(range(6) if worker is None else range(worker.id, 6, worker.num_workers))
    >>> from workbench.data import DataLoader, get_worker_info
    >>> [batch.tolist() for batch in DataLoader(Count(), batch_size=4)]
    [[0, 1, 2, 3], [4, 5]]
    """

    def __iter__(self) -> Iterator[T]:
        raise TypeError(f"{type(self).__name__} does not say what its samples are: define __iter__(self)")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class ConcatDataset(Dataset[Any]):
    """Several data sets, one behind the other.

    >>> import workbench as wb
    >>> both = ConcatDataset([wb.data.TensorDataset(wb.arange(3)), wb.data.TensorDataset(wb.arange(5))])
    >>> len(both), both[4][0].item(), both.cumulative_sizes
    (8, 1, [3, 8])
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets should not be an empty iterable")
        for i, one in enumerate(self.datasets):
            if isinstance(one, IterableDataset):
                raise TypeError(
                    f"ConcatDataset does not support IterableDataset, and number {i} is {type(one).__name__}: "
                    "chain such data sets with ChainDataset"
                )
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return where each data set ends."""
        return list(itertools.accumulate(len(one) for one in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        which, within = self._place(index)
        return self.datasets[which][within]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return samples; each data set is asked once for all of its own."""
        places = [self._place(index) for index in indices]
        samples: list[Any] = [None] * len(places)
        for which in sorted({which for which, _ in places}):
            slots = [slot for slot, place in enumerate(places) if place[0] == which]
            for slot, sample in zip(
                slots, items_of(self.datasets[which], [places[slot][1] for slot in slots]), strict=True
            ):
                samples[slot] = sample
        return samples

    def _place(self, index: int) -> tuple[int, int]:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of range: there are {count} samples")
        index %= count
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return which, index - (self.cumulative_sizes[which - 1] if which else 0)


class ChainDataset(IterableDataset[Any]):
    """The samples of several iterable data sets, one behind the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for one in self._members():
            yield from one

    def __len__(self) -> int:
        return sum(len(one) for one in self._members())

    def _members(self) -> Iterator[Any]:
        for i, one in enumerate(self.datasets):
            if not isinstance(one, IterableDataset):
                raise TypeError(
                    f"ChainDataset only supports IterableDataset, and number {i} is {type(one).__name__}: join data "
                    "sets with __getitem__ by ConcatDataset"
                )
            yield one


def items_of(dataset: Any, indices: Sequence[int]) -> list[Any]:
    """Return samples of a data set, which is asked once where it can give several."""
    many = getattr(dataset, "__getitems__", None)
    if many is None:
        return [dataset[index] for index in indices]
    items: list[Any] = many(indices)
    # Otherwise samples would be missing from a batch without a word.
    if len(items) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)} from "
            f"{type(dataset).__name__}.__getitems__"
        )
    return items


WAYS = ("_whole", "batch", "__getitems__", "__getitem__")
"""What a class may define to give samples, the most preferred first."""


def way_of(dataset: object) -> tuple[str, Any]:
    """Return how a data set gives its samples best, and the function.

    What the most derived class says holds: a subclass that changes ``__getitem__`` is not passed over by a ``batch``
    that it inherited. ``"_whole"`` is ours, and may write into memory that is lent to it.
    """
    for cls in type(dataset).__mro__:
        for way in WAYS:
            if way not in cls.__dict__:
                continue
            found = getattr(dataset, way)
            # Only the data set itself can say whether its parts allow it.
            if way == "_whole":
                found = found()
            if callable(found):
                return way, found
    return "__getitem__", getattr(dataset, "__getitem__", None)


def whole_batches(dataset: object) -> Whole | None:
    """Return what makes whole batches of one of our data sets, unless a subclass gives its samples in its own way."""
    way, function = way_of(dataset)
    if way == "batch":
        return lambda indices, _: function(indices)
    return function if way == "_whole" else None
