"""How a loader makes a batch of indices, in the program's process or in a worker's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.data.collate import batch_named, collated, default_collate
from workbench.data.dataset import Empty, way_of

__all__ = ["Ended", "Fetch", "FetchIterable", "describe", "pure"]

SHOWN = 100
"""So many indices of a batch are written out in an error."""


class Ended(Exception):
    """An iterable data set has no more samples: what StopIteration is to an iterator."""


class Fetch:
    """Makes batches of a data set whose samples have numbers.

    `batched` is False where a loader gives samples one by one (``batch_size=None``). Without random draws of its own
    (`draws`) a batch needs no streams of its own.
    """

    def __init__(self, dataset: Any, collate_fn: Any, batched: bool, batch_dim: str | None = None) -> None:
        self.dataset = dataset
        self.collate = collate_fn
        self.batched = batched
        self.batch_dim = batch_dim
        self.default = batched and collate_fn is default_collate
        self.way, self.function = way_of(dataset)
        self.draws = not (self.default and pure(dataset))

    def __call__(self, indices: Any, empty: Empty = np.empty) -> Any:
        """Return the batch of `indices`: an array of numbers, a range, or what a sampler gave."""
        batch = self._batch(indices, empty)
        return batch if self.batch_dim is None else batch_named(batch, self.batch_dim)

    def _batch(self, indices: Any, empty: Empty) -> Any:
        if not self.batched:
            return self.collate(self._sample(indices))
        if self.default and self.way in ("_whole", "batch"):
            asked = _as_numbers(indices)
            if asked is not None:
                batch = self.function(asked, empty) if self.way == "_whole" else self.function(asked)
                # What stacking the samples one by one would give: tuples become lists, as in PyTorch.
                return list(batch) if type(batch) is tuple else batch
        listed = indices.tolist() if isinstance(indices, np.ndarray) else list(indices)
        samples = self._samples(listed)
        try:
            return collated(samples, empty) if self.default else self.collate(samples)
        # Anybody's functions run here, and any error of theirs can say which sample it is about.
        except Exception as error:
            position = getattr(error, "position", None)
            if isinstance(position, int) and position < len(listed):
                error.add_note(f"sample {position} of the batch is {listed[position]!r} of the data set")
            raise

    def _samples(self, indices: list[Any]) -> list[Any]:
        if self.way == "__getitems__":
            return self.function(indices)  # type: ignore[no-any-return]
        samples: list[Any] = []
        try:
            for index in indices:
                samples.append(self.dataset[index])  # noqa: PERF401  how many there are tells which one failed
        except Exception as error:
            error.add_note(f"while the data set made its sample {indices[len(samples)]!r}")
            raise
        return samples

    def _sample(self, index: Any) -> Any:
        try:
            return self.dataset[index]
        except Exception as error:
            error.add_note(f"while the data set made its sample {index!r}")
            raise


class FetchIterable:
    """Makes batches of a data set whose samples come one after the other."""

    draws = True

    def __init__(
        self, dataset: Any, collate_fn: Any, batched: bool, drop_last: bool, batch_dim: str | None = None
    ) -> None:
        self.dataset = dataset
        self.collate = collate_fn
        self.batched = batched
        self.default = batched and collate_fn is default_collate
        self.drop_last = drop_last
        self.batch_dim = batch_dim
        self._samples: Iterator[Any] | None = None
        self._ended = False

    def restart(self) -> None:
        """Go over the data set anew."""
        self._samples, self._ended = None, False

    def __call__(self, size: Any, empty: Empty = np.empty) -> Any:
        """Return the next batch of `size` samples; raises `Ended` behind the last."""
        if self._ended:
            raise Ended
        if self._samples is None:
            self._samples = iter(self.dataset)
        samples = list(itertools.islice(self._samples, size if self.batched else 1))
        wanted = size if self.batched else 1
        if len(samples) < wanted:
            self._ended = True
            if not samples or self.drop_last:
                raise Ended
        if not self.batched:
            return self.collate(samples[0])
        return batch_named(
            collated(samples, empty) if self.default else self.collate(samples), self.batch_dim
        )


def _as_numbers(indices: Any) -> Any:
    """Return indices as an array of numbers or a slice; None where they are something else."""
    if isinstance(indices, range):
        # A slice cannot say a range that goes down to 0 inclusive.
        return slice(indices.start, indices.stop, indices.step) if indices.step > 0 else np.array(indices)
    if isinstance(indices, np.ndarray):
        return indices
    array = np.asarray(indices)
    return array if array.ndim == 1 and array.dtype.kind in "iu" else None


def pure(dataset: Any) -> bool:
    """Say whether a data set is one of ours whose samples are no matter of chance."""
    members = getattr(dataset, "datasets", None) or [getattr(dataset, "dataset", None)]
    inner = [one for one in (members.values() if isinstance(members, dict) else members) if one is not None]
    return way_of(dataset)[0] == "_whole" and all(pure(one) for one in inner)


def describe(indices: Any) -> str:
    """Say which samples a batch is made of, for an error."""
    if indices is None:
        return "the next samples"
    if isinstance(indices, int | str):
        return f"sample {indices!r}"
    listed = indices.tolist() if isinstance(indices, np.ndarray) else indices
    if not isinstance(listed, list | tuple | range):
        return f"samples {listed!r}"
    if isinstance(listed, range) and listed.step == 1 and len(listed) > 3:
        return f"samples {listed.start} to {listed.stop - 1}"
    shown = ", ".join(repr(one) for one in itertools.islice(listed, SHOWN))
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return f"samples [{shown}]{more}"
