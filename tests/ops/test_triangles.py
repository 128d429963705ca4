"""Triangles of matrices, place by place."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb


@pytest.mark.parametrize("shape", [(3, 4), (5, 3), (2, 3, 3), (1, 6), (4, 1)])
@pytest.mark.parametrize("diagonal", [-9, -4, -3, -1, 0, 1, 2, 4, 6, 9])
def test_every_place(shape: tuple[int, ...], diagonal: int) -> None:
    """Also diagonals at the corners of a matrix and beyond them; what lies outside is 0, whatever it was."""
    x = np.random.default_rng(0).standard_normal(shape)
    x[..., 0, -1], x[..., -1, 0] = np.nan, np.inf
    lower, upper = np.zeros(shape), np.zeros(shape)
    for i, j in np.ndindex(shape[-2:]):
        if j - i <= diagonal:
            lower[..., i, j] = x[..., i, j]
        if j - i >= diagonal:
            upper[..., i, j] = x[..., i, j]
    np.testing.assert_array_equal(wb.tensor(x).tril(diagonal).numpy(), lower)
    np.testing.assert_array_equal(wb.tensor(x).triu(diagonal).numpy(), upper)
