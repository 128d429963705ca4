"""Indexing beyond what the table's own samples show: against PyTorch, names, views, refusals: against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.ops.index.indexing import assign, setitem

torch = pytest.importorskip("torch")


KEYS: list[Any] = [
    2,
    -1,
    slice(1, None),
    (slice(None), 1, ...),
    (..., None, 0),
    (None, slice(None), None),
    ([0, 2],),
    (slice(None), [2, 0]),
    (0, slice(None), [1, 3]),  # an integer selects before the list picks: the list's dim stays in place
    ([0, 1], slice(None), [1, 3]),
    (slice(None), [0, 1], [1, 3]),
    ([[0], [1]], [1, 2]),
    (True,),
    (False, 1),
    (..., True, [0, 1]),
    (np.array([True, False, True, True]),),
    (slice(None), np.array([True, False, True]), 0),
    (np.arange(12).reshape(4, 3) % 2 == 0,),
    (np.arange(60).reshape(4, 3, 5) % 7 == 0,),
    (slice(None), None, [1, 2], slice(1, 4)),
    (np.array(1), slice(None), np.array(-1)),
    (np.array(1), [0, 1], np.array(-1)),
    ([],),
    np.array([3, 0], np.int16),
]


def torch_key(key: Any) -> Any:
    def one(entry: Any) -> Any:
        if isinstance(entry, np.ndarray):
            return torch.from_numpy(entry if entry.dtype == bool else entry.astype(np.int64))
        return entry

    return tuple(map(one, key)) if isinstance(key, tuple) else one(key)


def wb_key(key: Any) -> Any:
    def one(entry: Any) -> Any:
        return wb.from_numpy(entry) if isinstance(entry, np.ndarray) else entry

    return tuple(map(one, key)) if isinstance(key, tuple) else one(key)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading_and_writing_as_in_torch(key: Any) -> None:
    array = np.arange(60, dtype=np.float32).reshape(4, 3, 5)
    theirs = torch.from_numpy(array.copy()).requires_grad_()
    mine = wb.from_numpy(array.copy()).requires_grad_()
    want, got = theirs[torch_key(key)], mine[wb_key(key)]
    np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy())

    seed = np.random.default_rng(0).normal(size=got.shape).astype(np.float32)
    want.backward(torch.from_numpy(seed))
    got.backward(wb.from_numpy(seed))
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-6)

    source = torch.from_numpy(seed).requires_grad_()
    leaf = torch.from_numpy(array.copy()).requires_grad_()
    target = leaf.clone()
    target[torch_key(key)] = source
    base, value = wb.from_numpy(array.copy()).requires_grad_(), wb.from_numpy(seed).requires_grad_()
    result = setitem(base, wb_key(key), value)
    np.testing.assert_array_equal(result.detach().numpy(), target.detach().numpy())
    result.sum().backward()
    target.sum().backward()
    np.testing.assert_array_equal(base.grad.numpy(), leaf.grad.numpy())
    np.testing.assert_array_equal(value.grad.numpy(), source.grad.numpy())

    memory = array.copy()
    assign(memory, wb_key(key), seed)
    np.testing.assert_array_equal(memory, target.detach().numpy())
