"""Mantissa and exponent: the smallest and largest numbers of each type, what has neither, and the gradient."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

EDGES = [3.0, -0.1, 0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_every_number_is_its_two_parts(dtype: str) -> None:
    kind = np.finfo(dtype)
    values = np.array([*EDGES, kind.max, kind.tiny, kind.smallest_subnormal, -kind.smallest_subnormal], dtype)
    mantissa, exponent = wb.frexp(wb.from_numpy(values))
    expected = np.frexp(values)
    np.testing.assert_array_equal(mantissa.numpy(), expected[0])
    np.testing.assert_array_equal(np.signbit(mantissa.numpy()), np.signbit(expected[0]))
    np.testing.assert_array_equal(exponent.numpy(), expected[1])
    assert mantissa.numpy().dtype == dtype
    assert exponent.dtype is wb.int32


def test_bfloat16_has_parts_of_its_own_type() -> None:
    parts = wb.tensor([3.0, 1e-40, -0.0], dtype=wb.bfloat16).frexp()
    assert parts.mantissa.dtype is wb.bfloat16
    assert parts.mantissa.tolist() == [0.75, 0.5, 0.0]
    assert parts.exponent.tolist() == [2, -132, 0]


def test_the_gradient_is_divided_by_the_power() -> None:
    x = wb.tensor([6.0, -0.1], names=("N",), requires_grad=True)
    mantissa, exponent = wb.frexp(x)
    assert mantissa.names == exponent.names == ("N",)
    mantissa.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.125, 8.0]


@pytest.mark.parametrize("values", [[1], [True], [1j]])
def test_other_types_are_refused(values: list[complex]) -> None:
    with pytest.raises(
        wb.DTypeError, match=r"frexp\(\) only supports floating-point dtypes, got .*input.float\(\)"
    ):
        wb.frexp(wb.tensor(values))
