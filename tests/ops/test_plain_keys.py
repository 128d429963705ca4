"""Keys of plain numbers, slices and new dims are read the short way: as the long way reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.value import dims_of
from workbench.ops.index.indexing import _simple, split_key

KEYS: tuple[Any, ...] = (
    (None,), (0,), (slice(1, None),), (Ellipsis,), (Ellipsis, 0), (0, Ellipsis), (slice(None), 1),
    (None, Ellipsis, None), (-1, slice(None, None, 2), 0), (Ellipsis, slice(0, 2), None),
    (slice(None), None, slice(None), slice(1, 2)), (),
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=[str(i) for i in range(len(KEYS))])
def test_the_short_way_is_the_long_way(key: Any) -> None:
    x = wb.zeros(2, 3, 4)
    assert _simple(key, 3) == split_key(dims_of(x), key)[0]
    assert x[key].shape == np.zeros((2, 3, 4))[key].shape


@pytest.mark.parametrize(
    "key", [(Ellipsis, Ellipsis), (0, 0, 0, 0), (True,), (1.5,), ("N",), (slice(wb.tensor(1), None),)]
)
def test_other_keys_and_wrong_ones_are_left_to_the_long_way(key: Any) -> None:
    assert _simple(key, 3) is None


def test_slices_of_equal_edges_are_told_apart() -> None:
    # What the dims rule said is kept by the key: by all of it.
    x = wb.arange(10).rename("T")
    for step in (1, 2, -1, None):
        for start in (0, 1, None):
            if step == -1:
                continue
            assert x[start:8:step].tolist() == list(range(10))[start:8:step]
            assert x[start:8:step].names == ("T",)
    assert wb.zeros(4, 3).rename("N", "C")[1].names == ("C",)
    assert wb.zeros(4, 3).rename("N", "C")[1:2].names == ("N", "C")
