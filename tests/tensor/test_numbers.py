"""What Python's numbers become in a tensor, recorded from PyTorch; tests/peers/test_numbers.py compares all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb


def put(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


MASK = wb.tensor([True, False])
PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "tensor": lambda dtype, value: wb.tensor([value], dtype=dtype),
    "as_tensor": lambda dtype, value: wb.as_tensor([value], dtype=dtype),
    "new_tensor": lambda dtype, value: wb.zeros(2, dtype=dtype).new_tensor([value]),
    "full": lambda dtype, value: wb.full((2,), value, dtype=dtype),
    "full_like": lambda dtype, value: wb.full_like(wb.zeros(2, dtype=dtype), value),
    "new_full": lambda dtype, value: wb.zeros(2, dtype=dtype).new_full((2,), value),
    "fill": lambda dtype, value: wb.fill(wb.zeros(2, dtype=dtype), value),
    "fill_": lambda dtype, value: wb.zeros(2, dtype=dtype).fill_(value),
    "masked_fill": lambda dtype, value: wb.zeros(2, dtype=dtype).masked_fill(MASK, value),
    "index_fill": lambda dtype, value: wb.zeros(2, dtype=dtype).index_fill(0, wb.tensor([0]), value),
    "scatter": lambda dtype, value: wb.zeros(2, dtype=dtype).scatter(0, wb.tensor([0]), value),
    "setitem": lambda dtype, value: put(wb.zeros(2, dtype=dtype), 0, value),
    "setitem by a mask": lambda dtype, value: put(wb.zeros(2, dtype=dtype), MASK, value),
    "setitem recorded": lambda dtype, value: put(wb.zeros(2, dtype=dtype).clone(), 0, value),
}
WRONG = [
    (wb.uint8, 300), (wb.uint8, -256), (wb.uint8, 255.9), (wb.uint8, -0.5), (wb.int8, 200), (wb.int8, -128.9),
    (wb.int16, 2**15), (wb.int32, 2**31), (wb.int64, math.nan), (wb.int64, math.inf), (wb.int64, 9.3e18),
    (wb.float32, 1j),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value"), WRONG)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_type_does_not_hold_is_refused(place: str, dtype: Any, value: Any) -> None:
    words = "without overflow|[Cc]omplex"
    with pytest.raises(wb.DTypeError, match=words):
        PLACES[place](dtype, value)


@pytest.mark.parametrize("value", [None, "5"])
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_number_is_refused(place: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"number|either src|give the value"):
        PLACES[place](wb.float32, value)


@pytest.mark.parametrize("place", PLACES)
def test_fractions_are_dropped_and_negatives_wrap_in_bytes(place: str) -> None:
    assert PLACES[place](wb.int64, -3.7)[0].item() == -3
    assert PLACES[place](wb.uint8, -1)[0].item() == 255
    assert PLACES[place](wb.bool, math.nan)[0].item() is True


def test_nothing_changes_where_a_number_is_refused() -> None:
    x = wb.ones(2, dtype=wb.uint8)
    for change in (
        lambda: x.fill_(300),
        lambda: put(x, 0, 300),
        lambda: put(x, 0, None),
        lambda: x.masked_fill_(MASK, 300),
    ):
        with pytest.raises((TypeError, wb.DTypeError)):
            change()
    assert x.tolist() == [1, 1] and x._version == 0


def test_arrays_and_tensors_are_cast() -> None:
    assert wb.tensor(np.array([300]), dtype=wb.uint8).tolist() == [44]
    assert wb.tensor(wb.tensor([300]), dtype=wb.uint8).tolist() == [44]
    assert put(wb.zeros(2, dtype=wb.uint8), 0, wb.tensor(300)).tolist() == [44, 0]


def test_large_whole_numbers() -> None:
    assert wb.tensor([2**70], dtype=wb.float32).item() == 2.0**70
    for data in ([2**63], [2**70]):
        with pytest.raises(wb.DTypeError, match="more than an int64 holds"):
            wb.tensor(data)


def test_a_number_beside_integers_is_one_of_theirs() -> None:
    x = wb.tensor([7, 100], dtype=wb.uint8)
    assert (x // 300).tolist() == [0, 2]  # 300 is 44 there
    assert (300 % x).tolist() == [2, 44]
    assert (x & 300).tolist() == [4, 36]
    assert (x == 256 + 7).tolist() == [True, False]
    assert x.clamp(-255, 50).tolist() == [7, 50]
    with pytest.raises(wb.DTypeError, match="clamp: value 300 cannot be converted"):
        x.clamp(max=300)
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x**-1


class TestRanges:
    def test_tensors_and_numpys_numbers_count_as_numbers(self) -> None:
        for end in (wb.tensor(3), np.int64(3), wb.tensor(3, dtype=wb.uint8), 3):
            assert wb.arange(end).dtype is wb.int64
            assert wb.arange(0, end, wb.tensor(1)).tolist() == [0, 1, 2]
        assert wb.arange(wb.tensor(True)).tolist() == [0]
        for end in (wb.tensor(3.0), np.float32(3), np.float64(3)):
            assert wb.arange(end).dtype is wb.float32
        assert wb.linspace(wb.tensor(0), np.float64(1), wb.tensor(3)).tolist() == [0.0, 0.5, 1.0]
        assert wb.full((2,), np.float64(3)).dtype is wb.float32

    def test_what_is_no_number_is_refused(self) -> None:
        for make in (lambda: wb.arange(wb.tensor([3])), lambda: wb.linspace(wb.tensor([0]), 1, 3)):
            with pytest.raises(TypeError, match="must be a number or a tensor without dims"):
                make()
        with pytest.raises(TypeError, match="arange: end must be a number, not str"):
            wb.arange("3")
        with pytest.raises(TypeError, match="steps must be a whole number"):
            wb.linspace(0, 1, 2.5)
        with pytest.raises(wb.DTypeError, match="linspace: value 3000 cannot be converted to type uint8"):
            wb.linspace(0, 3000, 4, dtype=wb.uint8)

    def test_complex_ends(self) -> None:
        assert wb.linspace(0, 2j, 3).tolist() == [0j, 1j, 2j]


class TestTheClass:
    def test_whole_numbers_are_sizes(self) -> None:
        assert wb.Tensor(16).shape == (16,)
        assert wb.Tensor(2, 3).shape == (2, 3)
        assert wb.Tensor(np.int64(2)).shape == (2,)
        assert wb.Tensor(0).tolist() == []
        assert wb.Tensor((2, 3)).tolist() == [2.0, 3.0]

    def test_refusals(self) -> None:
        with pytest.raises(wb.DimensionError, match="negative dimension -1"):
            wb.Tensor(2, -1)
        with pytest.raises(TypeError, match="a size is a whole number"):
            wb.Tensor(2, 2.5)
        for value in (2.5, True):
            with pytest.raises(TypeError, match="data must be a sequence"):
                wb.Tensor(value)


class TestMasksOfBytes:
    def test_they_choose_where_they_are_not_0(self) -> None:
        x = wb.arange(6).reshape(2, 3)
        for mask in (wb.tensor([1, 0], dtype=wb.uint8), np.array([2, 0], np.uint8)):
            with pytest.warns(UserWarning, match="indexing with dtype uint8 is now deprecated"):
                assert x[mask].tolist() == [[0, 1, 2]]
        y = wb.zeros(3, 2)
        with pytest.warns(UserWarning, match="uint8"):
            y[wb.tensor([0, 1, 0], dtype=wb.uint8)] = wb.tensor([5.0, 6.0])
        assert y.tolist() == [[0.0, 0.0], [5.0, 6.0], [0.0, 0.0]]

    def test_small_integers_are_no_indices(self) -> None:
        for dtype in (wb.int8, wb.int16):
            with pytest.raises(wb.DTypeError, match="must be integer or bool tensors, of 32 bits or more"):
                wb.zeros(3)[wb.tensor([1], dtype=dtype)]


class TestRandomNumbers:
    @pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16, wb.float32])
    def test_evenly_drawn_ones_are_below_their_bound(self, dtype: Any) -> None:
        n = 200_000
        generator = wb.Generator(0)
        for x in (
            wb.rand(n, dtype=dtype, generator=generator),
            wb.rand_like(wb.zeros(n, dtype=dtype), generator=generator),
            wb.zeros(n, dtype=dtype).uniform_(generator=generator),
            wb.nn.init.uniform_(wb.zeros(n, dtype=dtype), generator=generator),
        ):
            assert 0 <= x.min().item() and x.max().item() < 1
            assert abs(x.float().mean().item() - 0.5) < 0.01
        x = wb.zeros(n, dtype=dtype).uniform_(-3, 5, generator=generator)
        assert -3 <= x.min().item() and x.max().item() < 5

    def test_bounds_of_whole_numbers_fit_the_type(self) -> None:
        for make in (
            lambda: wb.randint(0, 300, (2,), dtype=wb.uint8),
            lambda: wb.zeros(2, dtype=wb.uint8).random_(0, 300),
            lambda: wb.zeros(2, dtype=wb.float16).random_(0, 70000),
        ):
            with pytest.raises(ValueError, match="to - 1 is out of bounds"):
                make()
        with pytest.raises(ValueError, match="from is out of bounds for uint8"):
            wb.randint(-5, 3, (2,), dtype=wb.uint8)
        assert wb.randint(0, 256, (1000,), dtype=wb.uint8).max().item() > 200
