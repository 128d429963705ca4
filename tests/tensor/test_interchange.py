"""Values in and out of tensors by NumPy's protocols and buffers; and what lies is refused without a trace."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.tensor.parts import DTYPES, values


def test_array_protocol_copies_as_asked() -> None:
    x = wb.tensor([1.5, 2.5])
    assert np.asarray(x) is x.numpy()
    assert np.array(x, copy=False) is not None
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, dtype=np.int64, copy=False)
    with pytest.raises(wb.AutogradError, match="detach"):
        np.asarray(wb.ones(2, requires_grad=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_both_ways_shares_memory(dtype: str) -> None:
    source = values(dtype)
    x = wb.from_numpy(source.T)
    assert np.shares_memory(x.numpy(), source)
    assert x.dtype.name == dtype
    assert x.stride() == (1, 4)
    assert x.tolist() == source.T.astype(complex if dtype.startswith("complex") else float).tolist()


def test_arrays_on_the_left_give_tensors() -> None:
    x = wb.tensor([1.0, 2.0], names=("C",), requires_grad=True)
    a = np.array([3.0, 5.0], np.float32)
    for result, expected in [
        (a + x, [4, 7]), (a - x, [2, 3]), (a * x, [3, 10]), (a / x, [3, 2.5]), (a**x, [3, 25]),
        (a % x, [0, 1]), (a // x, [3, 2]), (np.float32(4) - x, [3, 2]), (np.maximum(a, x), [3, 5]),
        (np.add(a, x), [4, 7]), (np.negative(x), [-1, -2]),
    ]:  # fmt: skip
        assert isinstance(result, wb.Tensor)
        assert (result.names, result.dtype) == (("C",), wb.float32)
        assert result.tolist() == expected
    (a * x).sum().backward()
    assert x.grad.tolist() == [3.0, 5.0]
    assert (np.ones((2, 2), np.float32) @ x.rename(None)).tolist() == [3.0, 3.0]
    assert (a < x).tolist() == [False, False]
    assert (a != x).dtype is wb.bool
    assert (np.array([1, 2]) & wb.tensor([3, 3])).tolist() == [1, 2]
    assert np.exp(x).requires_grad
    assert (2 // wb.tensor([1, 2])).tolist() == [2, 1]


def test_arrays_keep_their_memory_and_other_functions_give_tensors() -> None:
    x, a = wb.tensor([1.0, 2.0]), np.zeros(2)
    held = a
    a += x
    assert a is held
    assert a.tolist() == [1.0, 2.0]
    assert np.cbrt(x).tolist() == pytest.approx([1.0, 2.0 ** (1 / 3)])
    assert np.add.reduce(x).item() == 3.0
    quotient, rest = np.divmod(wb.tensor([5, 7]), np.array([2, 4]))
    assert (quotient.tolist(), rest.tolist()) == ([2, 1], [1, 3])
    with pytest.raises(TypeError, match="out= takes arrays"):
        np.add(a, a, out=x)
    with pytest.raises(wb.AutogradError, match="detach"):
        np.cbrt(wb.ones(2, requires_grad=True))
    with pytest.raises(wb.DTypeError, match=r"dtype\('O'\) is not a data type"):
        np.array([1, None]) + x
    with pytest.raises(TypeError):
        np.add(x, "a")


def test_other_functions_of_numpy_see_arrays() -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(x) == 10
    assert np.mean(x, axis=0).tolist() == [2.0, 3.0]
    assert np.concatenate([x, x]).shape == (4, 2)
    assert type(np.reshape(x, (4,))) is np.ndarray
    assert np.allclose(x, x.numpy())
    with pytest.raises(wb.AutogradError, match="detach"):
        np.sum(wb.ones(2, requires_grad=True))


def test_memory_that_tensors_cannot_count_is_refused() -> None:
    odd = np.zeros(4, np.dtype([("a", "<f4"), ("b", "u1")]))["a"]
    with pytest.raises(ValueError, match="Copy the numpy array"):
        wb.from_numpy(odd)
    with pytest.raises(wb.DTypeError, match="not a data type"):
        wb.from_numpy(np.zeros(2, ">f4"))
    with pytest.raises(TypeError, match="filled"):
        wb.from_numpy(np.ma.masked_array([1.0, 2.0], [True, False]))
    with pytest.raises(TypeError, match="filled"):
        wb.tensor(np.ma.masked_array([1.0, 2.0], [True, False]))
    assert type(wb.from_numpy(np.eye(2).view(np.recarray)).numpy()) is np.ndarray
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wb.from_numpy(frozen).add_(1)


class Foreign:
    """An array of nobody's library: its `__array__` gives what it was told to, and `shape` may say something else."""

    def __init__(self, given: Any, shape: Any = None) -> None:
        self.given = given
        if shape is not None:
            self.shape = shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize("read", [wb.tensor, wb.as_tensor, wb.asarray])
def test_an_array_protocol_that_lies_is_refused(read: Callable[[Any], wb.Tensor]) -> None:
    assert read(Foreign(np.ones((2, 3)), (2, 3))).shape == (2, 3)
    with pytest.raises(wb.DimensionError, match=r"says that it has shape \[3\].* gave \[2, 3\]"):
        read(Foreign(np.ones((2, 3)), (3,)))
    with pytest.raises(ZeroDivisionError):
        read(Foreign(ZeroDivisionError("no")))
    with pytest.raises(wb.DTypeError, match="not numbers"):
        read(Foreign(np.array([object(), None])))
    with pytest.raises(ValueError, match="__array__"):
        read(Foreign([1.0, 2.0]))


def test_buffers_share_memory() -> None:
    memory = bytearray(8)
    x = wb.frombuffer(memory, dtype="int16", count=2, offset=2)
    x.fill_(-1)
    assert memory == b"\0\0\xff\xff\xff\xff\0\0"
    assert wb.frombuffer(b"\x80\x3f", dtype="bfloat16").tolist() == [1.0]
    assert wb.asarray(array.array("i", [1, 2])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        wb.frombuffer(b"abcd", dtype="uint8").zero_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"buffer": b""}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        ({"buffer": b"abcd", "count": 0}, "must not be 0"),
        ({"buffer": b"abc"}, "must be a multiple of element size"),
        ({"buffer": b"abcd", "offset": 9}, "no greater than buffer length"),
        ({"buffer": b"abcd", "offset": -1}, "non-negative"),
        ({"buffer": b"abcd", "count": 9}, "must not be greater than actual"),
        ({"buffer": b"abcd", "count": 2**62}, "must not be greater than actual"),
        ({"buffer": b"abcde", "offset": 1}, "cannot begin at byte 1"),
        ({"buffer": 3}, "does not implement Python buffer protocol"),
        ({"buffer": memoryview(b"abcdef")[::2]}, "has gaps"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wb.frombuffer(**arguments, dtype="int16")


def test_asarray_shares_where_it_can() -> None:
    a = np.ones(2, np.float32)
    x = wb.tensor([1.0], requires_grad=True)
    assert wb.asarray(a).numpy() is a
    assert wb.asarray(a, copy=True).numpy() is not a
    assert wb.asarray(x, requires_grad=True) is x
    assert not wb.asarray(x).requires_grad
    assert wb.asarray(0.1, dtype="float64").item() == 0.1
    assert wb.asarray([1, 2], dtype="float16").dtype is wb.float16
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'float32' into dtype 'int64'"):
        wb.asarray(a, dtype="int64", copy=False)
    with pytest.raises(ValueError, match="cannot be shared"):
        wb.asarray([1, 2], copy=False)
