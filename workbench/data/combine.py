"""Data sets made of others: parts of one, or several side by side."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.random import Generator, default_generator
from workbench.data.dataset import Dataset, Empty, Whole, items_of, whole_batches
from workbench.data.tensors import checked

__all__ = ["StackDataset", "Subset", "random_split"]


class Subset(Dataset[Any]):
    """Some samples of another data set, by their numbers there.

    >>> import workbench as wb
    >>> Subset(wb.data.TensorDataset(wb.arange(10)), [7, 3])[1][0].item()
    3
    """

    indices: np.ndarray[Any, Any]

    def __init__(self, dataset: Any, indices: Sequence[int] | np.ndarray[Any, Any]) -> None:
        self.dataset = dataset
        # An array: a million numbers in a list would be copied, object by object, to every worker.
        self.indices = np.asarray(indices, dtype=np.int64)
        count = len(dataset)
        if self.indices.size and not (-count <= self.indices.min() and self.indices.max() < count):
            raise IndexError(
                f"indices reach from {self.indices.min()} to {self.indices.max()}; there are {count} samples"
            )

    def __getitem__(self, index: Any) -> Any:
        chosen = self.indices[index]
        return self.dataset[int(chosen) if np.ndim(chosen) == 0 else chosen.tolist()]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        chosen = self.indices[np.asarray(indices, dtype=np.int64)].tolist()
        return items_of(self.dataset, chosen)

    def __len__(self) -> int:
        return len(self.indices)

    def _whole(self) -> Whole | None:
        whole = whole_batches(self.dataset)
        return None if whole is None else self._gather

    def _gather(self, indices: Any, empty: Empty) -> Any:
        whole = whole_batches(self.dataset)
        assert whole is not None
        if not isinstance(indices, slice):
            indices = checked(np.asarray(indices), len(self))
        return whole(self.indices[indices], empty)


class StackDataset(Dataset[Any]):
    """Several data sets of one length side by side: a sample is the tuple, or the dict, of their samples.

    >>> import workbench as wb
    >>> pairs = StackDataset(image=["a", "b"], label=[0, 1])
    >>> pairs[1]
    {'image': 'b', 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either tuple- (via args) or dict- (via kwargs) like input/output, but both types are given."
            )
        if not (args or kwargs):
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(one) for one in (args or kwargs.values())]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: they have {lengths} samples")
        self._length = lengths[0]

    def _joined(self, parts: Sequence[Any]) -> Any:
        return (
            dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)
        )

    def _members(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def __getitem__(self, index: Any) -> Any:
        return self._joined([one[index] for one in self._members()])

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return samples; each data set is asked once."""
        columns = [items_of(one, indices) for one in self._members()]
        return [self._joined(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length

    def _whole(self) -> Whole | None:
        return None if any(whole_batches(one) is None for one in self._members()) else self._gather

    def _gather(self, indices: Any, empty: Empty) -> Any:
        parts = []
        for one in self._members():
            whole = whole_batches(one)
            assert whole is not None
            part = whole(indices, empty)
            # What stacking the samples one by one would give: tuples become lists, as in PyTorch.
            parts.append(list(part) if type(part) is tuple else part)
        return self._joined(parts)


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Split a data set at random into parts of the given sizes: whole numbers, or fractions that add up to 1.

    What is left over by fractions goes to the parts in turn.

    >>> import workbench as wb
    >>> parts = random_split(wb.data.TensorDataset(wb.zeros(N=10)), [0.7, 0.3], wb.Generator(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    count = len(dataset)
    if any(length < 0 for length in lengths):
        raise ValueError(f"lengths of a split are not negative, got {list(lengths)}")
    if any(isinstance(length, float) for length in lengths):
        if not math.isclose(sum(lengths), 1.0):
            raise ValueError(
                f"fractions of a split must add up to 1, and {list(lengths)} add up to {sum(lengths)}"
            )
        # 0.29 · 100 is 28.999…, and means 29.
        sizes = [math.floor(length * count + 1e-9) for length in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    else:
        sizes = [int(length) for length in lengths]
    if sum(sizes) != count:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset: {sum(sizes)} and {count}"
        )
    order = (generator or default_generator).numpy.permutation(count)
    ends = np.cumsum(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
