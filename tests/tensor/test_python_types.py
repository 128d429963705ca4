"""Python's own types where a type is taken: their width, as in PyTorch; Python's numbers become the default type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

CALLS: dict[str, Callable[[Any], wb.Tensor]] = {
    "zeros": lambda kind: wb.zeros(2, dtype=kind),
    "full": lambda kind: wb.full((2,), 1, dtype=kind),
    "tensor": lambda kind: wb.tensor([1, 0], dtype=kind),
    "as_tensor": lambda kind: wb.as_tensor([1, 0], dtype=kind),
    "zeros_like": lambda kind: wb.zeros_like(wb.ones(2), dtype=kind),
    "new_zeros": lambda kind: wb.ones(2).new_zeros(2, dtype=kind),
    "eye": lambda kind: wb.eye(2, dtype=kind),
    "to": lambda kind: wb.ones(2).to(kind),
    "to dtype": lambda kind: wb.ones(2).to(dtype=kind),
    "sum": lambda kind: wb.ones(2).sum(dtype=kind),
    "prod": lambda kind: wb.ones(2).prod(dtype=kind),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_python_type_is_as_wide_as_pythons_numbers(name: str) -> None:
    wide = {float: wb.float64, int: wb.int64, bool: wb.bool, complex: wb.complex128}
    assert {kind: CALLS[name](kind).dtype for kind in wide} == wide


def test_a_python_type_is_wide_whatever_the_default_is() -> None:
    assert wb.promote_types(float, wb.float32) is wb.float64
    assert wb.finfo(float).eps == np.finfo(np.float64).eps
    assert wb.nn.Linear(2, 2, dtype=float).weight.dtype is wb.float64
    assert wb.nn.Linear(2, 2).to(float).weight.dtype is wb.float64
    bits = wb.tensor([1.0], dtype=float).view(int)
    assert bits.dtype is wb.int64 and bits.view(float).tolist() == [1.0]


def test_pythons_numbers_become_the_default_type() -> None:
    made = [
        wb.tensor([1.5]), wb.tensor(1.5), wb.arange(0, 1, 0.5), wb.linspace(0, 1, 3), wb.logspace(0, 1, 3),
        wb.full((2,), 1.5), wb.ones(2) * 1.5, wb.ones(2, dtype=int) * 1.5, wb.tensor([1, 2.5]), wb.scalar_tensor(1.0),
    ]  # fmt: skip
    assert {one.dtype for one in made} == {wb.float32}
    assert wb.tensor([1j]).dtype is (wb.ones(2) * 1j).dtype is wb.full((1,), 1j).dtype is wb.complex64
    wb.set_default_dtype(wb.float64)
    try:
        assert wb.tensor([1.5]).dtype is (wb.ones(2, dtype=int) * 1.5).dtype is wb.float64
        assert wb.full((1,), 1j).dtype is wb.complex128
    finally:
        wb.set_default_dtype(wb.float32)


def test_tensor_of_a_tensor_is_a_view_of_it() -> None:
    whole = wb.ones(3, dtype=int)
    other = wb.Tensor(whole)
    other[0] = 7
    assert whole.tolist() == [7, 1, 1] and other is not whole and other.dtype is wb.int64
    assert whole._version == other._version == 1
    weight = wb.ones(2, requires_grad=True)
    seen = wb.Tensor(weight)
    assert seen.requires_grad and not seen.is_leaf
    (seen * wb.tensor([2.0, 3.0])).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        seen.mul_(2)
    weight = wb.ones(2, requires_grad=True)
    product = weight * 1
    seen = wb.Tensor(product)
    product.mul_(3)
    (seen**2).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [18.0, 18.0]
    assert wb.Tensor(wb.ones(N=2)).names == ("N",) and wb.Tensor(wb.ones(2), names=("C",)).names == ("C",)


@pytest.mark.parametrize("foreign", [np.ones(3), [1.0], None, 2.0])
def test_what_cannot_be_put_behind_tensors_is_told_with_its_place(foreign: object) -> None:
    kind = type(foreign).__name__
    with pytest.raises(
        TypeError,
        match=rf"cat\(\): expected Tensor as element 1 in argument 0, but got '{kind}': wb.tensor\(...\) makes one",
    ):
        wb.cat([wb.ones(3), foreign])


@pytest.mark.parametrize("door", ["nested", "nested_tensor", "jagged"])
def test_rows_of_different_lengths_say_what_to_do(door: str) -> None:
    with pytest.raises(
        AttributeError, match=r"different lengths are not here: nn.utils.rnn.pad_sequence\(rows"
    ):
        getattr(wb, door)
    rows = [wb.ones(2), wb.ones(3)]
    assert wb.nn.utils.rnn.pad_sequence(rows, batch_first=True).shape == (2, 3)
    assert wb.nn.utils.rnn.pack_sequence(rows, enforce_sorted=False).data.shape == (5,)
    assert wb.ones(2).is_nested is False
