"""Functions that few people call: polynomials, questions, places, what comes in place as a function."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import workbench as wb
from workbench.base.errors import DimensionError

POINTS = np.linspace(-0.9, 1.4, 7)
PEERS = {
    "chebyshev_polynomial_t": scipy.special.eval_chebyt,
    "chebyshev_polynomial_u": scipy.special.eval_chebyu,
    "hermite_polynomial_h": scipy.special.eval_hermite,
    "hermite_polynomial_he": scipy.special.eval_hermitenorm,
    "laguerre_polynomial_l": scipy.special.eval_laguerre,
    "legendre_polynomial_p": scipy.special.eval_legendre,
    "shifted_chebyshev_polynomial_t": scipy.special.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": scipy.special.eval_sh_chebyu,
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_polynomials(name: str, n: int) -> None:
    x = wb.tensor(POINTS)
    function = getattr(wb.special, name)
    np.testing.assert_allclose(function(x, n).numpy(), PEERS[name](n, POINTS), rtol=1e-9, atol=1e-9)
    degrees = np.arange(7)
    several = function(x, wb.tensor(degrees)).numpy()
    np.testing.assert_allclose(several, PEERS[name](degrees, POINTS), rtol=1e-9, atol=1e-9)


def test_third_and_fourth_kind() -> None:
    angle = np.arccos(np.linspace(-0.9, 0.9, 5))
    x = wb.tensor(np.cos(angle))
    third = np.cos(3.5 * angle) / np.cos(angle / 2)
    fourth = np.sin(3.5 * angle) / np.sin(angle / 2)
    np.testing.assert_allclose(wb.special.chebyshev_polynomial_v(x, 3).numpy(), third, rtol=1e-9)
    np.testing.assert_allclose(wb.special.chebyshev_polynomial_w(x, 3).numpy(), fourth, rtol=1e-9)
    moved = (x + 1) / 2
    np.testing.assert_allclose(wb.special.shifted_chebyshev_polynomial_v(moved, 3).numpy(), third, rtol=1e-9)
    np.testing.assert_allclose(wb.special.shifted_chebyshev_polynomial_w(moved, 3).numpy(), fourth, rtol=1e-9)


def test_polynomials_have_gradients_names_and_no_negative_degrees() -> None:
    x = wb.tensor([0.3, 0.5], names=("N",), dtype=wb.float64, requires_grad=True)
    y = wb.special.legendre_polynomial_p(x, 3)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (15 * np.array([0.3, 0.5]) ** 2 - 3) / 2)
    assert y.names == ("N",)
    assert wb.special.legendre_polynomial_p(x.detach(), -2).tolist() == [0.0, 0.0]


def test_unravelled_places() -> None:
    rows, columns = wb.unravel_index(wb.tensor([[0, 5], [3, 2]]), (2, 3))
    assert rows.tolist() == [[0, 1], [1, 0]]
    assert columns.tolist() == [[0, 2], [0, 2]]
    with pytest.raises(IndexError, match="from 0 to 5"):
        wb.unravel_index(wb.tensor([6]), (2, 3))


def test_diagonals_are_filled() -> None:
    x = wb.zeros(3, 3)
    assert x.fill_diagonal_(2.0) is x
    assert x.tolist() == (2 * np.eye(3)).tolist()
    tall = np.zeros((7, 3))
    np.fill_diagonal(tall, 1.0, wrap=True)
    assert wb.zeros(7, 3).fill_diagonal_(1.0, wrap=True).tolist() == tall.tolist()
    assert wb.zeros(2, 2, 2).fill_diagonal_(1.0).sum().item() == 2.0
    with pytest.raises(DimensionError, match="main diagonal"):
        wb.zeros(3).fill_diagonal_(1.0)


def test_functions_in_place() -> None:
    x = wb.tensor([-1.0, 4.0])
    assert wb.relu_(x) is x
    assert wb.sqrt_(x).tolist() == [0.0, 2.0]


def test_questions() -> None:
    assert wb.is_same_size(wb.zeros(2), wb.ones(2, dtype=wb.int64))
    with wb.inference_mode():
        made = wb.zeros(2) + 1
    assert wb.is_inference(made) and not wb.is_inference(made + 1)
    assert wb.special.softmax(wb.zeros(2), 0, dtype=wb.float64).tolist() == [0.5, 0.5]
    assert wb.special.logsumexp(wb.zeros(1), 0).item() == 0.0
