"""Data sets: samples by number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.base.random import Generator, default_generator
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor

__all__ = ["Dataset", "Subset", "TensorDataset", "random_split"]


class Dataset:
    """Base of data sets: define ``__getitem__(index)`` and ``__len__()``.

    One that can give many samples at once defines ``batch(indices)`` as well, which a loader then prefers.
    """

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            f"{type(self).__name__} does not say what its samples are: define __getitem__(self, index)"
        )

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} does not say how many samples it has: define __len__(self)")


class TensorDataset(Dataset):
    """Samples that lie along the first dim of tensors: sample i is the i-th of each.

    >>> import workbench as wb
    >>> data = TensorDataset(wb.zeros(N=4, C=3), wb.tensor([0, 1, 2, 3], names=("N",)))
    >>> image, label = data[2]
    >>> image.names, label.item(), len(data)
    (('C',), 2, 4)
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors:
            raise ValueError("a TensorDataset is made of at least one tensor")
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"a TensorDataset is made of tensors, and number {i} is {type(tensor).__name__}"
                )
            if tensor.ndim == 0 or tensor.shape[0] != tensors[0].shape[0]:
                raise DimensionError(
                    "Size mismatch between tensors: samples lie along the first dim, which must be the same in all.",
                    op="TensorDataset",
                    operands=tuple(
                        dims_of(one).operand(f"tensor {k}", [0][: one.ndim]) for k, one in enumerate(tensors)
                    ),
                )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def batch(self, indices: Any) -> tuple[Tensor, ...]:
        """Return the samples of an array of numbers, or of a slice, as one tensor each; names stay."""
        return tuple([new(tensor._array[indices], tensor._names) for tensor in self.tensors])


class Subset(Dataset):
    """Some samples of another data set, by their numbers there."""

    def __init__(self, dataset: Any, indices: Sequence[int] | np.ndarray[Any, Any]) -> None:
        self.dataset = dataset
        self.indices = np.asarray(indices, dtype=np.int64)
        count = len(dataset)
        if self.indices.size and not (-count <= self.indices.min() and self.indices.max() < count):
            raise IndexError(
                f"indices reach from {self.indices.min()} to {self.indices.max()}; there are {count} samples"
            )
        if hasattr(dataset, "batch"):
            self.batch = lambda indices: dataset.batch(self.indices[indices])

    def __getitem__(self, index: Any) -> Any:
        chosen = self.indices[index]
        return self.dataset[int(chosen) if np.ndim(chosen) == 0 else chosen.tolist()]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Split a data set at random into parts of the given sizes: whole numbers, or fractions that add up to 1.

    What is left over by fractions goes to the parts in turn.

    >>> import workbench as wb
    >>> parts = random_split(TensorDataset(wb.zeros(N=10)), [0.7, 0.3], wb.Generator(0))
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
        sizes = [math.floor(length * count + 1e-9) for length in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = [int(length) for length in lengths]
    if sum(sizes) != count:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset: {sum(sizes)} and {count}"
        )
    order = (generator or default_generator).numpy.permutation(count)
    ends = np.cumsum(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
