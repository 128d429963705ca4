"""Samplers: in which order the samples of a data set come, and which of them form a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from workbench.base.random import Generator, default_generator
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor
from workbench.tensor.random import multinomial

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
    "WeightedRandomSampler", "order_of",
]  # fmt: skip

T = TypeVar("T", covariant=True)
Order = range | np.ndarray[Any, Any]
_AT_ONCE = 1 << 22
"""So many indices are drawn at once; a pass that has more is drawn piece by piece."""


class Sampler(Generic[T]):
    """Base of samplers: define ``__iter__()``, which gives indices or lists of them, and ``__len__()`` if there is one.

    A sampler that keeps a state of its own between passes may define ``state_dict()`` and ``load_state_dict(state)``,
    which say where a pass begins: a `DataLoader` puts that into its own.
    """

    def __iter__(self) -> Iterator[T]:
        raise TypeError(f"{type(self).__name__} does not say what it samples: define __iter__(self)")


class SequentialSampler(Sampler[int]):
    """Every sample once, in order.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def _order(self) -> Order:
        return range(len(self.data_source))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples by chance: all of them shuffled, or `num_samples` draws, with `replacement` if asked for.

    More draws than there are samples, without replacement, shuffle several times over. A pass takes one number from
    `generator` (by default the default one) when it begins, and all its draws follow from that.

    >>> import workbench as wb
    >>> sorted(RandomSampler("abcd", generator=wb.Generator(0)))
    [0, 1, 2, 3]
    >>> len(list(RandomSampler("abcd", replacement=True, num_samples=9)))
    9
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: Any = False,
        num_samples: Any = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement!r}")
        wanted: Any = self.num_samples
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={wanted!r}"
                + (
                    ": the data set is empty, so that there is nothing to shuffle"
                    if num_samples is None
                    else ""
                )
            )

    @property
    def num_samples(self) -> int:
        """How many samples a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def _order(self) -> Order:
        count, wanted = len(self.data_source), self.num_samples
        draw = _drawing(self.generator).numpy
        if self.replacement:
            return _indices(draw.integers(0, count, wanted))
        if wanted == count:
            return _indices(draw.permutation(count))
        # In rounds, so that no sample comes twice before all came once.
        rounds = [draw.permutation(count) for _ in range(-(-wanted // count))]
        return _indices(np.concatenate(rounds)[:wanted])

    def __iter__(self) -> Iterator[int]:
        if self.num_samples <= max(_AT_ONCE, len(self.data_source)):
            return iter(_listed(self._order()))
        return itertools.chain.from_iterable(one.tolist() for one in self._pieces())

    def _pieces(self) -> Iterator[Any]:
        """Draw a long pass piece by piece: all of it at once may be more than there is memory for."""
        count, left = len(self.data_source), self.num_samples
        draw = _drawing(self.generator).numpy
        while left:
            piece = (
                draw.integers(0, count, min(left, _AT_ONCE)) if self.replacement else draw.permutation(count)
            )
            piece = piece[:left]
            left -= len(piece)
            yield piece

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, shuffled.

    >>> sorted(SubsetRandomSampler([3, 5, 8]))
    [3, 5, 8]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = _drawing(self.generator).numpy.permutation(len(self.indices)).tolist()
        return (self.indices[i] for i in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Draws index i with a probability in proportion to ``weights[i]``, with or without replacement.

    >>> set(WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=4))
    {1}
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Any,
        num_samples: Any,
        replacement: Any = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples!r}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement!r}")
        self.weights = tensor(weights, dtype="float64")
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def _order(self) -> Order:
        draw = _drawing(self.generator)
        return _indices(multinomial(self.weights, self.num_samples, self.replacement, generator=draw).numpy())

    def __iter__(self) -> Iterator[int]:
        return iter(_listed(self._order()))

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`; what is left at the end is dropped if `drop_last`.

    >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: Any, drop_last: Any) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size!r}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        return self._batches(iter(self.sampler))

    def _batches(self, indices: Iterator[int]) -> Iterator[list[int]]:
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _drawing(generator: Generator | None) -> Generator:
    """Return a generator for one pass, which one number of `generator` starts; a secure one is drawn from itself."""
    source = default_generator if generator is None else generator
    return source if source.secure else Generator(int(source.numpy.integers(0, 1 << 63)))


def _indices(order: Any) -> np.ndarray[Any, Any]:
    # The type and the layout that compiled code and shared memory take.
    return np.ascontiguousarray(order, dtype=np.int64)


def _listed(order: Order) -> Any:
    return order if isinstance(order, range) else order.tolist()


_WHOLE = (SequentialSampler, RandomSampler, WeightedRandomSampler)


def order_of(sampler: object) -> Order | None:
    """Return the order of a whole pass, where a sampler is one of ours that knows it at the beginning."""
    if isinstance(sampler, RandomSampler) and sampler.num_samples > max(_AT_ONCE, len(sampler.data_source)):
        return None
    # By the very type: a class made of one of these may give another order.
    return sampler._order() if isinstance(sampler, _WHOLE) and type(sampler) in _WHOLE else None
