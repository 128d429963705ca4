"""Values and gradients at the edges of a type, as PyTorch 2.13 has them; tests/peers/test_extremes.py runs all of them.

Once as few values, which NumPy computes, and once as so many that a compiled kernel does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

F = wb.nn.functional
INF, NAN, TINY = math.inf, math.nan, 1e-45

VALUES: dict[str, tuple[Callable[..., Any], list[float], list[float]]] = {
    "lgamma": (wb.lgamma, [-INF, INF, NAN, 0.0, -1.0, 1.0], [INF, INF, NAN, INF, INF, 0.0]),
    "mvlgamma": (lambda x: wb.mvlgamma(x, 2), [-INF, INF], [INF, INF]),
    "sigmoid": (wb.sigmoid, [-30.0, -80.0, 30.0, -INF, NAN], [9.357623e-14, 1.8048513e-35, 1.0, 0.0, NAN]),
    "spherical_bessel_j0": (wb.special.spherical_bessel_j0, [INF, -INF, TINY, 0.0], [0.0, 0.0, 1.0, 1.0]),
}
"""A function, what it is given, and what comes of it."""

GRADIENTS: dict[str, tuple[Callable[..., Any], list[float], list[float]]] = {
    "mish": (F.mish, [1e14, 1e30, 3.4e38, 25.0, NAN], [1.0, 1.0, 1.0, 1.0, NAN]),
    "hardswish": (F.hardswish, [-3.0, 3.0, INF, -INF, NAN], [0.0, 1.0, 1.0, 0.0, NAN]),
    "sinc": (wb.sinc, [TINY, 1e-40, 0.0], [0.0, 0.0, 0.0]),
    "i1": (wb.special.i1, [TINY, 0.0], [0.5, 0.5]),
    "bessel_j1": (wb.special.bessel_j1, [TINY, 0.0], [0.5, 0.5]),
    "root": (lambda x: x**0.5, [4.0, -0.0, -INF], [0.25, -INF, NAN]),
    "atan2": (lambda x: wb.atan2(x, 0.0 * x + 1e-30), [1e-30, 1e-25], [5e29, 1e20]),
    "atan2 far": (lambda x: wb.atan2(x, 0.0 * x + 1e30), [1e30, 1.0], [5e-31, 1e-30]),
    "nextafter": (lambda x: wb.nextafter(x, wb.zeros_like(x)), [0.0, 1.0], [0.0, 1.0]),
    "l1_loss": (
        lambda x: F.l1_loss(x, x.detach() * 0 + INF, reduction="sum"),
        [INF, NAN, 1.0],
        [0.0, 0.0, -1.0],
    ),
    "lp_pool1d": (lambda x: F.lp_pool1d(x[None, None], 2.0, 1), [0.0, -0.0, 3.0], [0.0, 0.0, 1.0]),
    "renorm": (lambda x: wb.renorm(x[None].half(), 2, 0, 1.0), [0.0, 0.0], [1.0, 1.0]),
    "logcumsumexp": (lambda x: wb.logcumsumexp(x, 0), [-INF, 0.0, -INF], [0.0, 2.0, 0.0]),
}
TOGETHER = ("logcumsumexp", "renorm")
"""Functions of all values together: of more of them they are others."""


@pytest.mark.parametrize("times", [1, 4000])
@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, times: int) -> None:
    function, given, expected = VALUES[name]
    found = function(wb.tensor(given * times)).numpy()
    np.testing.assert_allclose(found, np.array(expected * times, np.float32), rtol=2e-6)


@pytest.mark.parametrize(
    ("name", "times"),
    [(name, times) for name in GRADIENTS for times in ((1,) if name in TOGETHER else (1, 4000))],
)
def test_gradients(name: str, times: int) -> None:
    function, given, expected = GRADIENTS[name]
    x = wb.tensor(given * times, requires_grad=True)
    function(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.array(expected * times, np.float32), rtol=2e-5)


@pytest.mark.parametrize(
    "name",
    [
        "chebyshev_polynomial_t",
        "chebyshev_polynomial_u",
        "chebyshev_polynomial_v",
        "chebyshev_polynomial_w",
        "hermite_polynomial_h",
        "hermite_polynomial_he",
        "laguerre_polynomial_l",
        "legendre_polynomial_p",
        "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_w",
    ],
)
def test_polynomials_without_a_variable_are_constants_everywhere(name: str) -> None:
    x = wb.tensor([NAN, INF, -INF, 2.0])
    polynomial = getattr(wb.special, name)
    np.testing.assert_array_equal(polynomial(x, 0).numpy(), 1.0)
    np.testing.assert_array_equal(polynomial(x, -1).numpy(), 0.0)


def test_powers_of_nothing_are_one() -> None:
    found = wb.linalg.vander(wb.tensor([NAN, INF, -INF, 2.0]), N=2).numpy()
    np.testing.assert_array_equal(found, [[1, NAN], [1, INF], [1, -INF], [1, 2]])


def test_one_variance_for_targets_without_a_value() -> None:
    means = wb.tensor([NAN, INF, -INF, 2.0])
    found = F.gaussian_nll_loss(means, wb.zeros(4), 1.0, reduction="none").numpy()
    np.testing.assert_array_equal(found, [NAN, INF, INF, 2.0])


def test_scores_of_certain_answers() -> None:
    loss = F.binary_cross_entropy_with_logits
    x, target = wb.tensor([INF, INF, 100.0]), wb.tensor([0.0, 0.5, 0.0])
    assert loss(x, target, reduction="none").tolist() == [INF, INF, 100.0]


def test_quantiles_beside_infinities() -> None:
    assert wb.tensor([-INF, 1.0, 2.0]).quantile(0.4).item() == -INF
    assert wb.tensor([INF, -INF, 1.0]).nanquantile(0.4).item() == -INF


def test_spread_of_what_has_no_square() -> None:
    for scale in (1e30, 1e-30, 1e-42):
        x = wb.tensor([scale, 2 * scale, -scale])
        expected = np.std(x.numpy().astype(np.float64), ddof=1)
        np.testing.assert_allclose(x.std().item(), expected, rtol=1e-6, atol=1.5e-45)
    x = wb.tensor([1e30, 1.0, 2.0], requires_grad=True)
    x.std().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [0.57735026, -0.28867513, -0.28867513], rtol=1e-5)


def test_long_scans_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    array = rng.standard_normal(300_000).astype(np.float32)
    exact = np.logaddexp.accumulate(array.astype(np.float64))
    np.testing.assert_allclose(wb.logcumsumexp(wb.tensor(array), 0).numpy(), exact, rtol=5e-7)
    exact = np.cumsum(array.astype(np.float64) + 1)
    np.testing.assert_allclose(wb.cumsum(wb.tensor(array) + 1, 0).numpy(), exact, rtol=1e-6)
    near = (1 + array * 1e-3).astype(np.float32)
    exact = np.cumprod(near.astype(np.float64))
    np.testing.assert_allclose(wb.cumprod(wb.tensor(near), 0).numpy(), exact, rtol=1e-6)


def test_powers_of_small_integers_fit() -> None:
    for dtype in (wb.uint8, wb.int8, wb.int16, wb.int32, wb.bool):
        assert wb.linalg.vander(wb.tensor([1, 1]).to(dtype), N=4).dtype is wb.int64
    assert wb.linalg.vander(wb.tensor([100], dtype=wb.uint8), N=3).tolist() == [[1, 100, 10000]]


def test_products_keep_the_type_of_integers() -> None:
    a = wb.ones(2, 1, dtype=wb.int8)
    assert wb.tensordot(a, wb.ones(3, 2, dtype=wb.int8), dims=1).dtype is wb.int8


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("addmm", [(3,), (2, 4), (4, 3)]),
        ("addmv", [(2,), (2, 4), (4,)]),
        ("addr", [(2, 3), (2,), (3,)]),
        ("baddbmm", [(1, 2, 3), (5, 2, 4), (5, 4, 3)]),
        ("addbmm", [(2, 1), (5, 2, 4), (5, 4, 3)]),
    ],
)
def test_what_counts_nothing_has_a_gradient_of_zeros(name: str, sizes: list[tuple[int, ...]]) -> None:
    x = wb.full(sizes[0], NAN, requires_grad=True)
    a, b = (wb.ones(size, requires_grad=True) for size in sizes[1:])
    y = getattr(wb, name)(x, a, b, beta=0)
    assert not y.isnan().any()
    y.sum().backward()
    assert x.grad.tolist() == np.zeros(sizes[0]).tolist()
    assert a.grad.shape == a.shape


ROUNDED: dict[str, Callable[..., Any]] = {
    "addmm": lambda a, b: wb.addmm(a, a, b, alpha=0.1, beta=0.3),
    "addmv": lambda a, b: wb.addmv(a[0], a, b[0], alpha=0.1, beta=0.3),
    "baddbmm": lambda a, b: wb.baddbmm(a[None], a[None], b[None], alpha=0.1),
    "addbmm": lambda a, b: wb.addbmm(a, a[None], b[None], alpha=0.1),
    "addcmul": lambda a, b: wb.addcmul(a, a, b, value=0.1),
    "addcdiv": lambda a, b: wb.addcdiv(a, a, b, value=0.1),
    "round": lambda a, b: wb.round(a, decimals=2),
    "renorm": lambda a, b: wb.renorm(a, 2, 0, 1.0),
    "normalize": lambda a, b: F.normalize(a),
    "cosine_similarity": lambda a, b: F.cosine_similarity(a, b),
    "pairwise_distance": lambda a, b: F.pairwise_distance(a, b),
    "trapezoid": lambda a, b: wb.trapezoid(a),
    "dist": lambda a, b: wb.dist(a, b),
    "lp_pool1d": lambda a, b: F.lp_pool1d(a.abs()[None], 2.0, 4),
}
"""What is made of several ops, on two matrices."""


class TestRoundedOnce:
    """What is made of several ops is computed in float32 throughout, and rounded to 16 bits once."""

    @pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16])
    @pytest.mark.parametrize("name", ROUNDED)
    def test_equals_float32_rounded(self, name: str, dtype: Any) -> None:
        rng = np.random.default_rng(1)
        a, b = (wb.tensor(rng.standard_normal((16, 16)), dtype=dtype) for _ in range(2))
        call = ROUNDED[name]
        assert (call(a, b) == call(a.float(), b.float()).to(dtype)).all()

    def test_a_tensor_of_another_type_is_not_brought_down_first(self) -> None:
        x = wb.tensor([1.0, 2.0]).half()
        third = wb.addcdiv(wb.zeros(2), x, x * 3)
        assert third.dtype is wb.float32
        np.testing.assert_allclose(third.numpy(), [1 / 3, 1 / 3], rtol=1e-6)
        with pytest.raises(wb.DTypeError, match="Integer division with addcdiv"):
            wb.addcdiv(x, wb.tensor([1, 2]), wb.tensor([1, 2]))


def test_the_resolution_of_16_bits_is_that_of_what_it_is_computed_in() -> None:
    x = wb.zeros(3, dtype=wb.float16).requires_grad_()
    F.rms_norm(x, (3,)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2896.0] * 3


def test_weights_of_observations() -> None:
    x = wb.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match="aweights cannot be negative"):
        wb.cov(x, aweights=wb.tensor([1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match="fweights cannot be negative"):
        wb.cov(x, fweights=wb.tensor([1, -1, 1]))
    with pytest.raises(ValueError, match="weights sum to zero"):
        wb.cov(x, aweights=wb.zeros(3))


class TestAsStridedScatter:
    def test_what_is_out_of_bounds_is_refused(self) -> None:
        with pytest.raises(
            wb.DimensionError, match=r"as_strided_scatter: .*out of bounds for storage of size 16"
        ):
            wb.as_strided_scatter(wb.zeros(4), wb.ones(2), (2,), (3,), 3)

    def test_gradients_go_where_the_values_went(self) -> None:
        # The input begins in the middle of its memory: only the last of what is written lies in it.
        base = wb.arange(6.0)
        x, value = base[2:5].detach().requires_grad_(), wb.ones(3, requires_grad=True)
        y = wb.as_strided_scatter(x, value, (3,), (1,), 0)
        assert y.tolist() == [1.0, 3.0, 4.0]
        weights = wb.arange(100.0, 110.0)[3:6]  # a gradient with memory of its own around it
        y.backward(weights)
        assert x.grad is not None and x.grad.tolist() == [0.0, 104.0, 105.0]
        assert value.grad is not None and value.grad.tolist() == [0.0, 0.0, 103.0]


class TestLayersOfWholeNumbers:
    """Products with weights convert nothing silently: whole numbers beside floating ones are refused."""

    @pytest.mark.parametrize(
        ("x", "weight", "bias"),
        [(wb.int64, wb.int64, wb.float32), (wb.int32, wb.int32, wb.int64), (wb.float32, wb.float32, wb.int64),
         (wb.float32, wb.int64, None), (wb.int32, wb.int64, None)],
    )  # fmt: skip
    @pytest.mark.parametrize("function", [F.conv1d, F.conv_transpose1d, F.linear])
    def test_types_that_differ_are_refused(self, function: Any, x: Any, weight: Any, bias: Any) -> None:
        sizes = ((1, 3), (1, 3)) if function is F.linear else ((1, 1, 3), (1, 1, 2))
        operands = [wb.ones(*sizes[0], dtype=x), wb.ones(*sizes[1], dtype=weight)]
        if bias is not None:
            operands.append(wb.ones(1, dtype=bias))
        with pytest.raises(wb.DTypeError, match="should be the same"):
            function(*operands)

    def test_whole_numbers_among_themselves(self) -> None:
        ones = wb.ones(1, 1, 3, dtype=wb.int64)
        assert F.conv1d(ones, ones[..., :2], wb.ones(1, dtype=wb.int64)).tolist() == [[[3, 3]]]
