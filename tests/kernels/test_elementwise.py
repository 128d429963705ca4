from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from workbench import kernels

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]

UNARY: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": special.erf,
    "ndtr": special.ndtr,
    "gelu": lambda x: x * special.ndtr(x),
    "gelu_tanh": lambda x: x * special.expit(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)),
    "silu": lambda x: x * special.expit(x),
}
# Units in the last place; products of several functions lose a little more.
EXACT = {"relu": 0, "neg": 0, "abs": 0, "sqrt": 0.5, "exp": 1.5, "tanh": 2, "sigmoid": 2.5, "erf": 2}
SLOPES: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "gelu": lambda x: special.ndtr(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "silu": lambda x: special.expit(x) * (1 + x * (1 - special.expit(x))),
    "gelu_tanh": lambda x: _tanh_slope(x),
}


def _tanh_slope(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    scale = math.sqrt(8 / math.pi)
    share = special.expit(scale * (x + 0.044715 * x**3))
    return share + x * share * (1 - share) * scale * (1 + 3 * 0.044715 * x**2)


BINARY: dict[str, Callable[..., npt.NDArray[Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x = floats(3, 5, 7, 11) * 4
    if name == "sqrt":
        x = np.abs(x)
    y = kernels.lookup(name).run(lay(x))
    close = 1e-4 if name == "gelu_tanh" else 2e-6  # the argument of its exponential is rounded
    np.testing.assert_allclose(y, UNARY[name](x.astype(np.float64)), rtol=close, atol=1e-37)


@pytest.mark.parametrize("name", UNARY)
def test_unary_special_values(name: str) -> None:
    x = np.array(
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 88.0, 89.5, -87.5, -104.5, 1e-30, -1e-30, 3e38], np.float32
    )
    x = np.resize(x, 4099)
    with np.errstate(all="ignore"):
        expected = UNARY[name](x.astype(np.float64)).astype(np.float32)
    smallest = 1e-42 if name in ("gelu", "gelu_tanh", "silu", "ndtr") else 1e-44
    known = np.isfinite(x) | ~np.isnan(expected) | np.isnan(x)  # -inf times 0 is left open
    np.testing.assert_allclose(kernels.lookup(name).run(x)[known], expected[known], rtol=4e-7, atol=smallest)


@pytest.mark.parametrize("name", EXACT)
def test_functions_over_their_whole_range(name: str) -> None:
    x = np.linspace(-20, 20, 400_001, dtype=np.float32)
    x = np.abs(x) if name == "sqrt" else x
    exact = UNARY[name](x.astype(np.float64))
    error = np.abs(kernels.lookup(name).run(x) - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert error.max() <= EXACT[name]


@pytest.mark.parametrize("name", ["ndtr", "gelu", "gelu_tanh", "silu"])
def test_tails_keep_their_digits(name: str) -> None:
    x = np.linspace(-12, 12, 400_001, dtype=np.float32)
    tail = 1e-4 if name == "gelu_tanh" else 3e-6  # the argument of its exponential is rounded
    np.testing.assert_allclose(
        kernels.lookup(name).run(x), UNARY[name](x.astype(np.float64)), rtol=tail, atol=1e-37
    )
    ends = np.resize(np.array([-np.inf, -1e30, -200, 200, 1e30, np.inf, np.nan], np.float32), 2003)
    found = kernels.lookup(name).run(ends)
    limits = [0, 0, 0, 1, 1, 1, np.nan] if name == "ndtr" else [np.nan, 0, 0, 200, 1e30, np.inf, np.nan]
    expected = np.resize(np.array(limits, np.float32), 2003)
    known = np.isfinite(ends) | (ends > 0) | (name == "ndtr")
    np.testing.assert_array_equal(found[known], expected[known])


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_gated_units(name: str, floats: Make, lay: Callable[[Floats], Floats]) -> None:
    g, x = floats(3, 5, 16, 17), floats(3, 5, 16, 17) * 4
    found = kernels.lookup(f"{name}_gradient").run(lay(g), lay(x))
    np.testing.assert_allclose(found, g * SLOPES[name](x.astype(np.float64)), rtol=1e-5, atol=1e-6)
    ends = np.resize(np.array([-1e30, -50, 50, 1e30], np.float32), 2000)
    found = kernels.lookup(f"{name}_gradient").run(np.ones_like(ends), ends)
    np.testing.assert_allclose(found, np.resize([0, 0, 1, 1], 2000), atol=1e-18)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 5, 7, 9), (2, 5, 7, 9)),
        ((2, 5, 7, 9), (5, 1, 1)),
        ((2, 5, 7, 9), (1, 5, 1, 9)),
        ((2, 5, 7, 9), (2, 1, 1, 1)),
        ((2, 5, 7, 9), (9,)),
        ((2, 5, 7, 9), (7, 1)),
        ((2, 5, 7, 9), ()),
        ((5, 1, 1), (2, 5, 7, 9)),
        ((300, 7), (300, 1)),
        ((0, 5), (5,)),
        ((1,), (1,)),
    ],
)
def test_binary(name: str, left: tuple[int, ...], right: tuple[int, ...], floats: Make) -> None:
    a, b = floats(*left), np.asarray(floats(*right))
    run = kernels.lookup(name).run
    np.testing.assert_array_equal(run(a, b), BINARY[name](a, b))


def test_binary_in_any_layout(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    a, b, channel = floats(3, 5, 6, 7), floats(3, 5, 6, 7), floats(10, 1, 1)[::2]
    for name in ("sub", "div"):
        run = kernels.lookup(name).run
        np.testing.assert_array_equal(run(lay(a), b), BINARY[name](a, b))
        np.testing.assert_array_equal(run(a, lay(b)), BINARY[name](a, b))
        np.testing.assert_array_equal(run(lay(a), channel), BINARY[name](a, channel))
        np.testing.assert_array_equal(run(channel, lay(a)), BINARY[name](channel, a))


def test_channels_last_stays_channels_last(floats: Make) -> None:
    a = np.moveaxis(floats(3, 6, 7, 5), -1, 1)
    for out in (kernels.lookup("relu").run(a), kernels.lookup("add").run(a, floats(5, 1, 1))):
        assert out.strides == a.strides


@pytest.mark.parametrize("name", BINARY)
def test_binary_with_python_numbers(name: str, floats: Make) -> None:
    a = floats(300, 300)
    kernel = kernels.lookup(name)
    assert kernel.accepts(a, 2.5)
    assert kernel.accepts(3, a)
    np.testing.assert_array_equal(kernel.run(a, 2.5), BINARY[name](a, np.float32(2.5)))
    np.testing.assert_array_equal(kernel.run(3, a), BINARY[name](np.float32(3), a))


def test_accepts_only_what_pays_and_fits(floats: Make) -> None:
    accepts = kernels.lookup("add").accepts
    large = floats(300, 300)
    assert accepts(large, large)
    assert accepts(large, large[0])
    assert accepts(large[0], large)
    assert not accepts(large[0], large[0])
    assert not accepts(large, large.astype(np.float64))
    assert not accepts(large, large[:, 0].reshape(-1, 1, 1))
    assert not accepts(2.0, 3.0)
    assert not accepts(large, 2j)


def test_relu_gradient(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    g, out = floats(3, 5, 6, 7), np.maximum(floats(3, 5, 6, 7), 0)
    expected = g * (out > 0)
    np.testing.assert_array_equal(kernels.lookup("relu_gradient").run(lay(g), lay(out)), expected)


@pytest.mark.parametrize("shape", [(5, 1), (7, 10), (3, 4, 17), (2, 1000), (0, 5)])
def test_softmax_and_its_logarithm(shape: tuple[int, ...], floats: Make) -> None:
    x, g = floats(*shape) * 10, floats(*shape)
    exact = x.astype(np.float64)
    exponentials = np.exp(exact - exact.max(axis=-1, keepdims=True))
    probability = exponentials / exponentials.sum(axis=-1, keepdims=True)
    y = kernels.lookup("softmax").run(x, dim=-1)
    np.testing.assert_allclose(y, probability, rtol=2e-6, atol=1e-12)
    logarithm = kernels.lookup("log_softmax").run(x, dim=x.ndim - 1)
    np.testing.assert_allclose(logarithm, np.log(probability), rtol=2e-6, atol=2e-6)
    gradient = kernels.lookup("softmax_gradient").run(g, y, dim=-1)
    expected = probability * (g - (g * probability).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)
    gradient = kernels.lookup("log_softmax_gradient").run(g, logarithm, dim=-1)
    np.testing.assert_allclose(
        gradient, g - probability * g.sum(axis=-1, keepdims=True), rtol=1e-4, atol=2e-5
    )


def test_softmax_is_nan_where_its_row_has_one(floats: Make) -> None:
    x = floats(3, 20)
    x[1, 13] = np.nan
    y = kernels.lookup("softmax").run(x, dim=-1)
    assert np.isnan(y[1]).all()
    assert np.isfinite(y[[0, 2]]).all()


REDUCTIONS: dict[str, Callable[..., npt.NDArray[Any]]] = {
    "sum": np.sum,
    "mean": np.mean,
    "amax": np.amax,
    "amin": np.amin,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [(0,), (1,), (2,), (3,), (0, 2, 3), (1, 3), (0, 1), (2, 3), (0, 1, 2, 3), ()])
@pytest.mark.parametrize("shape", [(4, 5, 13, 11), (3, 70, 2, 130)])
def test_reductions(
    name: str, dim: tuple[int, ...], shape: tuple[int, ...], floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    x = floats(*shape) + 1
    for keepdim in (False, True):
        expected = REDUCTIONS[name](x.astype(np.float64), axis=dim, keepdims=keepdim)
        y = kernels.lookup(name).run(lay(x), dim=dim, keepdim=keepdim)
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", ["amax", "amin", "sum"])
@pytest.mark.parametrize("shape", [(7, 300), (7, 20), (7, 5), (300, 7)])
def test_reductions_see_every_nan(name: str, shape: tuple[int, int], floats: Make) -> None:
    for at in range(shape[1]):
        x = floats(*shape)
        x[3, at] = np.nan
        y = kernels.lookup(name).run(x, dim=(1,), keepdim=False)
        assert np.isnan(y[3])
        assert np.isnan(y).sum() == 1
        assert np.isnan(kernels.lookup(name).run(x, dim=(0,), keepdim=False)).nonzero()[0].tolist() == [at]
        assert np.isnan(kernels.lookup(name).run(x, dim=(0, 1), keepdim=False))


def test_nothing_has_no_extreme(floats: Make) -> None:
    with pytest.raises(ValueError, match=r"amax of shape \[3, 0\]: nothing has none"):
        kernels.lookup("amax").run(floats(3, 0), dim=(1,), keepdim=False)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(5, 3, 70), (40, 1200, 3), (1, 33, 1)])
def test_softmax_along_any_dim(
    dim: int, shape: tuple[int, ...], floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    x, g = floats(*shape) * 10, floats(*shape)
    exact = x.astype(np.float64)
    probability = special.softmax(exact, axis=dim)
    y = kernels.lookup("softmax").run(lay(x), dim=dim)
    np.testing.assert_allclose(y, probability, rtol=4e-6, atol=1e-12)
    logarithm = kernels.lookup("log_softmax").run(lay(x), dim=dim)
    np.testing.assert_allclose(logarithm, special.log_softmax(exact, axis=dim), rtol=2e-6, atol=4e-6)
    gradient = kernels.lookup("softmax_gradient").run(lay(g), y, dim=dim)
    expected = probability * (g - (g * probability).sum(axis=dim, keepdims=True))
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)
    gradient = kernels.lookup("log_softmax_gradient").run(lay(g), logarithm, dim=dim)
    np.testing.assert_allclose(
        gradient, g - probability * g.sum(axis=dim, keepdims=True), rtol=1e-4, atol=1e-4
    )
    x[0, 0, 0] = np.nan
    assert np.isnan(kernels.lookup("softmax").run(x, dim=dim)).sum() == shape[dim]


def test_sum_of_many_is_exact_enough(floats: Make) -> None:
    x = np.full((1_000_003,), 0.1, np.float32)
    run = kernels.lookup("sum").run
    assert abs(float(run(x, dim=(0,), keepdim=False)) / 100_000.3 - 1) < 1e-6
    x = np.full((100_003, 5), 0.1, np.float32)
    np.testing.assert_allclose(run(x, dim=(0,), keepdim=False), 10_000.3, rtol=1e-6)
    assert run(x[:0], dim=(0,), keepdim=False).tolist() == [0] * 5


def test_refusals(floats: Make) -> None:
    with pytest.raises(ValueError, match=r"shape \[4\] does not broadcast to \[2, 3\]"):
        kernels.lookup("relu_gradient").run(floats(2, 3), floats(4))
    with pytest.raises(ValueError, match=r"sum over dim 2 of shape \[2, 3\]"):
        kernels.lookup("sum").run(floats(2, 3), dim=(2,), keepdim=False)
    with pytest.raises(ValueError, match="the dimension must not be empty"):
        kernels.lookup("softmax").run(floats(3, 0))
