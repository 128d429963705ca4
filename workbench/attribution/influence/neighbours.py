"""Nearest neighbours by the dot product."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["ExactNearestNeighbors", "NearestNeighbors"]


class NearestNeighbors(ABC):
    """Finds among vectors those with the greatest dot product with another."""

    @abstractmethod
    def setup(self, data: Tensor) -> None:
        """Take the vectors [n, …]."""

    @abstractmethod
    def get_nearest_neighbors(self, query: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the places of the `k` nearest and their products, each [queries, k], the greatest first."""


class ExactNearestNeighbors(NearestNeighbors):
    """Nearest neighbours by all products.

    >>> import workbench as wb
    >>> found = ExactNearestNeighbors()
    >>> found.setup(wb.tensor([[1.0, 0.0], [0.0, 2.0]]))
    >>> [one.tolist() for one in found.get_nearest_neighbors(wb.tensor([[1.0, 1.0]]), 1)]
    [[[1]], [[2.0]]]
    """

    def setup(self, data: Tensor) -> None:
        """Take the vectors [n, …]."""
        self._data: Any = data.detach().numpy(force=True).reshape(data.shape[0], -1)

    def get_nearest_neighbors(self, query: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the places of the `k` nearest and their products, each [queries, k], the greatest first."""
        products = query.detach().numpy(force=True).reshape(query.shape[0], -1) @ self._data.T
        order = np.argsort(-products, axis=1, kind="stable")[:, :k]
        return new(order, None), new(np.take_along_axis(products, order, axis=1), None)
