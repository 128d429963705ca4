"""Sparse payloads: the values that are there, and their places; everything else is 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.memory_formats import Layout, sparse_coo, sparse_csr

__all__ = ["SparseArray"]

Array = np.ndarray[Any, Any]


class SparseArray:
    """Values at places; a payload of a tensor, as a NumPy array is. It is not changed once it is made.

    `index` [sparse dims, n] has the place of each of the `values` [n, …dense dims]; a place may stand there more than
    once unless it is `coalesced`: then the values add up. With `starts` [rows + 1] it is laid out by compressed rows:
    the values of row i are those from starts[i] to starts[i + 1].

    >>> SparseArray(np.array([[0, 1], [2, 0]]), np.array([3.0, 4.0]), (2, 3)).dense()
    array([[0., 0., 3.],
           [4., 0., 0.]])
    """

    __slots__ = ("__weakref__", "coalesced", "dtype", "index", "shape", "starts", "values")
    # NumPy's arithmetic is refused: entry by entry it would make an array of objects.
    __array_ufunc__ = None
    """NumPy leaves arithmetic on it alone."""

    def __init__(
        self,
        index: Array,
        values: Array,
        shape: tuple[int, ...],
        coalesced: bool = False,
        starts: Array | None = None,
    ) -> None:
        self.index = index
        self.values = values
        self.shape = shape
        self.dtype = values.dtype
        # By compressed rows no place stands twice: who makes it has checked that.
        self.coalesced = coalesced or starts is not None
        self.starts = starts

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def layout(self) -> Layout:
        """How places are kept: one by one, or by compressed rows."""
        return sparse_coo if self.starts is None else sparse_csr

    @property
    def count(self) -> int:
        """Number of values that are there; of dense dims a block counts as one."""
        return len(self.values)

    @property
    def sparse_dim(self) -> int:
        """Number of dims that places are in; those behind are dense."""
        return len(self.index)

    @property
    def nbytes(self) -> int:
        """Bytes that places and values take."""
        starts = 0 if self.starts is None else self.starts.nbytes
        return int(self.index.nbytes + self.values.nbytes + starts)

    def flat(self) -> Array:
        """Return each place as one number, in the order of rows."""
        sizes = self.shape[: self.sparse_dim]
        if not sizes or not self.count:
            return np.zeros(self.count, np.int64)
        flat: Array = np.ravel_multi_index(tuple(self.index), sizes).astype(np.int64, copy=False)
        return flat

    def dense(self) -> Array:
        """Return all values, zeros too."""
        sparse, rest = self.shape[: self.sparse_dim], self.values.shape[1:]
        out = np.zeros((math.prod(sparse), *rest), self.dtype)
        if self.dtype == np.bool_:
            np.logical_or.at(out, self.flat(), self.values)
        else:
            np.add.at(out, self.flat(), self.values)
        return out.reshape(self.shape)

    def same_places(self, other: SparseArray) -> bool:
        """Say whether the values of both stand at the same places, in the same order."""
        if self.shape != other.shape or (self.starts is None) != (other.starts is None):
            return False
        return self.index is other.index or np.array_equal(self.index, other.index)

    def copy(self) -> SparseArray:
        """Return this: it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseArray:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseArray, (self.index, self.values, self.shape, self.coalesced, self.starts)

    def __repr__(self) -> str:
        return f"SparseArray({list(self.shape)}, {self.count} values)"
