"""Gradients have the type of what they are gradients of."""

from __future__ import annotations

import pytest

import workbench as wb


@pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16, wb.float32, wb.float64])
def test_a_gradient_has_the_type_of_its_input(dtype: wb.DType) -> None:
    x = wb.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    y = wb.tensor([0.5, 0.25, 2.0], dtype=wb.float64)
    (x * y).exp().sum().backward()
    assert x.grad.dtype is dtype


def test_a_real_leaf_gets_the_real_part() -> None:
    x = wb.tensor([1.0, 2.0], requires_grad=True)
    z = wb.tensor([1 + 2j, 3 - 1j])
    (x * z).abs().sum().backward()
    assert x.grad.dtype is wb.float32
    wb.testing.assert_close(x.grad, abs(z.numpy()))


@pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16])
def test_sixteen_bit_floats_are_computed_in_float32_and_stored_in_sixteen(dtype: wb.DType) -> None:
    x = wb.tensor([1.0, 2.0, 3.0], dtype=dtype)
    for result in (x + x, x.exp(), x.softmax(0), x.sum(), x * 2.5, x.reshape(3, 1), x[1:], wb.cat([x, x])):
        assert result.dtype is dtype
    assert (x @ x).dtype is dtype
    many = wb.ones(5000, dtype=dtype)
    assert float(many.sum()) == pytest.approx(5000, rel=0.01)  # a sum in 16 bits would stop at 2048 or 256
