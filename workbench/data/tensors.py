"""The data set whose samples lie along the first dim of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of, new
from workbench.data.dataset import Dataset, Empty, Whole
from workbench.tensor import Tensor

__all__ = ["TensorDataset", "checked", "taken"]


class TensorDataset(Dataset[tuple[Tensor, ...]]):
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

    def __repr__(self) -> str:
        kinds = ", ".join(f"{one.dtype.name}{_sample_dims(one)}" for one in self.tensors)
        return f"<{type(self).__name__}: {len(self):,} samples of {kinds}>"

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def batch(self, indices: Any) -> tuple[Tensor, ...]:
        """Return the samples of an array of numbers, or of a slice, as one tensor each: copies, with their names."""
        if self._whole() is None:  # quantized values, or a gradient that reaches the data
            return tuple([tensor[indices] for tensor in self.tensors])
        return tuple(self._gather(indices, np.empty))

    def _whole(self) -> Whole | None:
        plain = all(type(one.payload) is np.ndarray and not one.requires_grad for one in self.tensors)
        return self._gather if plain else None

    def _gather(self, indices: Any, empty: Empty) -> list[Tensor]:
        if not isinstance(indices, slice):
            indices = checked(np.asarray(indices), len(self))
        return [_called_as(one, taken(one.payload, indices, empty)) for one in self.tensors]


def _called_as(source: Tensor, array: np.ndarray[Any, Any]) -> Tensor:
    """Return rows of a tensor under its names, which know where they came from."""
    rows: Tensor = new(array, source._names)
    # Only with the names: an origin says where these came from.
    if source._names is not None:
        rows._origin = source._origin
    return rows


def _sample_dims(tensor: Tensor) -> str:
    names, sizes = dims_of(tensor)
    return str(Dims(names[1:], sizes[1:])) if sizes[1:] else ""


def checked(indices: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """Return indices into `count` samples, none of them negative; raises IndexError for one that is out of range."""
    if indices.size == 0:
        return indices.astype(np.int64)
    low = int(indices.min())
    if low < -count or int(indices.max()) >= count:
        wrong = indices[(indices < -count) | (indices >= count)][0]
        raise IndexError(f"index {wrong} is out of range: there are {count} samples")
    return np.where(indices < 0, indices + count, indices) if low < 0 else indices


def taken(array: np.ndarray[Any, Any], indices: Any, empty: Empty) -> np.ndarray[Any, Any]:
    """Return a copy of some rows of an array: of a slice, or of indices that are in range."""
    rows = array[indices] if isinstance(indices, slice) else None
    out = empty((len(indices) if rows is None else len(rows), *array.shape[1:]), array.dtype)
    if rows is not None:
        out[...] = rows
    else:
        np.take(array, indices, 0, out, "clip")  # another mode would buffer the whole result
    return out  # type: ignore[no-any-return]
