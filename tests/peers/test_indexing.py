"""Indexing beyond what the table's own samples show: against PyTorch."""

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


ARRAYS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("shape", [(4,), (2, 2), (), (0,)], ids=repr)
@pytest.mark.filterwarnings("ignore:indexing with dtype")
def test_arrays_of_numpy_are_taken_as_torch_takes_them(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    index = np.array([1, 0, 1, 1][: int(np.prod(shape))]).reshape(shape).astype(dtype)
    for key in (index, (index, 1), (slice(None), index[..., :3]) if shape else index):
        assert outcome(wb.from_numpy(array), key) == outcome(torch.from_numpy(array), key)


@pytest.mark.parametrize("dtype", [one for one in ARRAYS if hasattr(wb, one)])
@pytest.mark.filterwarnings("ignore:indexing with dtype")
def test_tensors_are_taken_or_refused_as_in_torch(dtype: str) -> None:
    array, index = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, 0, 1, 1]).astype(dtype)
    got = outcome(wb.from_numpy(array), wb.from_numpy(index))
    assert got == outcome(torch.from_numpy(array), torch.from_numpy(index))


def outcome(x: Any, key: Any) -> Any:
    """Return the numbers at `key`, or the refusal."""
    try:
        return x[key].tolist()
    except (IndexError, wb.DTypeError):
        return "refused"
