"""Batches of a data set, in order or shuffled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.base.random import Generator, default_generator
from workbench.core.value import dims_of
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy, tensor

__all__ = ["DataLoader", "default_collate"]


class DataLoader:
    """Goes over a data set in batches; every loop over it is one pass, shuffled anew if `shuffle`.

    Names of dims stay. Data sets that give many samples at once (`TensorDataset`) are sliced; the samples of others
    are stacked by `collate_fn`.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.arange(5, names=("N",)))
    >>> [batch.tolist() for (batch,) in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[Sequence[Any]], Any] | None = None,
        drop_last: bool = False,
        generator: Generator | None = None,
    ) -> None:
        _check_batch_size(batch_size)
        if len(dataset) == 0 and shuffle:
            raise ValueError("the data set has no samples to shuffle")
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.generator = generator

    def __len__(self) -> int:
        count = len(self.dataset) / self.batch_size
        return math.floor(count) if self.drop_last else math.ceil(count)

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        order = (self.generator or default_generator).numpy.permutation(count) if self.shuffle else None
        at_once = getattr(self.dataset, "batch", None) if self.collate_fn is None else None
        for i in range(len(self)):
            start, stop = i * self.batch_size, min((i + 1) * self.batch_size, count)
            if at_once is not None:
                yield at_once(slice(start, stop) if order is None else order[start:stop])
            else:
                chosen = range(start, stop) if order is None else order[start:stop].tolist()
                yield (self.collate_fn or default_collate)([self.dataset[k] for k in chosen])


def _check_batch_size(size: object) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        raise ValueError(f"batch_size should be a positive integer value, but got batch_size={size!r}")


def default_collate(samples: Sequence[Any]) -> Any:
    """Stack samples along a new first dim called ``N``: tensors, arrays, numbers, and tuples, lists or dicts of them.

    Raises `DimensionError` where samples differ in size. Text stays a list.

    >>> import workbench as wb
    >>> images, labels = default_collate([(wb.zeros(C=3), 0), (wb.ones(C=3), 1)])
    >>> images.names, labels.tolist()
    (('N', 'C'), [0, 1])
    """
    first = samples[0]
    if isinstance(first, tuple | list):
        if any(len(sample) != len(first) for sample in samples):
            raise DimensionError("each element in list of batch should be of equal size", op="DataLoader")
        return tuple(default_collate([sample[i] for sample in samples]) for i in range(len(first)))
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, Tensor | np.ndarray):
        return _stack(samples)
    if isinstance(first, int | float | np.number):
        return tensor(list(samples), names=("N",))
    raise TypeError(
        f"a batch is made of tensors, arrays, numbers, text, tuples or dicts, found {type(first).__name__}"
    )


def _stack(samples: Sequence[Any]) -> Tensor:
    tensors = [sample if isinstance(sample, Tensor) else from_numpy(sample) for sample in samples]
    for i, one in enumerate(tensors):
        if one.shape != tensors[0].shape:
            raise DimensionError(
                f"stack expects each tensor to be equal size: sample {i} of the batch differs from the first.",
                op="DataLoader",
                operands=(dims_of(tensors[0]).operand("sample 0"), dims_of(one).operand(f"sample {i}")),
            )
    names = tensors[0]._names
    stacked = from_numpy(np.stack([one.detach().numpy() for one in tensors]))
    if names is not None:
        stacked.names = ("N" if "N" not in names else None, *names)
    return stacked
