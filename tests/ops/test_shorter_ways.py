"""What large arrays do in a shorter way: distinct integers by counting, products beside each other, copies in tiles."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).integers(-40, 30, (20, 9)),
        np.random.default_rng(0).integers(-(2**62), 2**62, 30),
        np.array([2**63 - 1, 2**63 - 3, 2**63 - 1]),
        np.array([-(2**63), -(2**63) + 5, -(2**63)]),
        np.array([200, 3, 255, 3], np.uint8),
        np.array([-128, 127, -128], np.int8),
        np.array([True, False, True]),
        np.array([False]),
        np.array(7),
        np.zeros(0, np.int64),
    ],
    ids=["few", "far", "most", "least", "uint8", "int8", "bool", "one", "scalar", "none"],
)
def test_values_places_and_counts(values: np.ndarray) -> None:  # type: ignore[type-arg]
    expected = np.unique(values, return_inverse=True, return_counts=True)
    found = wb.unique(wb.tensor(values), return_inverse=True, return_counts=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), other)
    assert found[0].numpy().dtype == values.dtype
    assert found[1].shape == values.shape


@pytest.mark.parametrize("count", [63, 64, 127, 171])
def test_products_of_long_rows(count: int) -> None:
    x = np.random.default_rng(0).uniform(0.9, 1.1, (3, count))
    x[1, count - 1] = 0.0
    np.testing.assert_allclose(wb.tensor(x).prod(1).numpy(), x.prod(1), rtol=1e-13)
    np.testing.assert_allclose(
        wb.tensor(x).prod(-1, keepdim=True).numpy(), x.prod(1, keepdims=True), rtol=1e-13
    )


def test_a_gradient_that_lies_across_is_row_by_row() -> None:
    x, g = wb.randn(70, 90, requires_grad=True), wb.randn(90, 70)
    x.t().contiguous().backward(g)
    assert x.grad is not None and x.grad.is_contiguous()
    np.testing.assert_array_equal(x.grad.numpy(), g.numpy().T)
    g.mul_(0)
    assert x.grad.numpy().any()
