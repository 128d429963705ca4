"""Activations as modules: their values by NumPy, what they change in place, the names they keep and refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close

Array = Any


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS: list[tuple[nn.Module, Callable[[Array], Array]]] = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
    (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.PReLU(init=0.3), lambda x: np.where(x > 0, x, 0.3 * x)),
    (nn.RReLU(0.1, 0.5).eval(), lambda x: np.where(x > 0, x, 0.3 * x)),
    (nn.ELU(1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    (nn.CELU(1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5))),
    (nn.SELU(), lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x))),
    (nn.GELU("tanh"), lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    (nn.SiLU(), lambda x: x * sigmoid(x)),
    (nn.Mish(), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    (nn.Hardtanh(-2, 0.5), lambda x: np.clip(x, -2, 0.5)),
    (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.Hardsigmoid(), lambda x: np.clip(x + 3, 0, 6) / 6),
    (nn.Hardshrink(0.7), lambda x: np.where(abs(x) > 0.7, x, 0)),
    (nn.Softshrink(0.7), lambda x: np.sign(x) * np.maximum(abs(x) - 0.7, 0)),
    (nn.Tanhshrink(), lambda x: x - np.tanh(x)),
    (nn.Softplus(2.0, 3.0), lambda x: np.where(2 * x > 3, x, np.log1p(np.exp(2 * x)) / 2)),
    (nn.Softsign(), lambda x: x / (1 + abs(x))),
    (nn.Sigmoid(), sigmoid),
    (nn.LogSigmoid(), lambda x: np.log(sigmoid(x))),
    (nn.Tanh(), np.tanh),
    (nn.Threshold(0.4, -7.0), lambda x: np.where(x > 0.4, x, -7.0)),
    (nn.Softmax("C"), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    (nn.Softmin(1), lambda x: np.exp(-x) / np.exp(-x).sum(1, keepdims=True)),
    (nn.LogSoftmax("C"), lambda x: x - np.log(np.exp(x).sum(1, keepdims=True))),
]


def values(seed: int = 0) -> Array:
    return (np.random.default_rng(seed).standard_normal((5, 8)) * 3).astype(np.float32)


@pytest.mark.parametrize(("layer", "expected"), ACTIVATIONS, ids=lambda one: type(one).__name__)
def test_an_activation_is_its_definition_and_keeps_names(
    layer: nn.Module, expected: Callable[[Array], Array]
) -> None:
    a = values()
    x = wb.tensor(a, names=("N", "C"), requires_grad=True)
    y = layer(x)
    assert_close(y.detach(), expected(a.astype(np.float64)), rtol=2e-5, atol=2e-6)
    assert y.names == ("N", "C")
    y.sum().backward()
    assert x.grad.dim_labels == ("N", "C")


IN_PLACE = [
    nn.ReLU(True), nn.ReLU6(True), nn.LeakyReLU(0.2, True), nn.RReLU(0.1, 0.3, True), nn.ELU(1.5, True),
    nn.CELU(1.5, True), nn.SELU(True), nn.SiLU(True), nn.Mish(True), nn.Hardtanh(-2, 0.5, True), nn.Hardswish(True),
    nn.Hardsigmoid(True), nn.Threshold(0.4, -7.0, True), nn.Dropout(0.5, True), nn.AlphaDropout(0.5, True),
]  # fmt: skip


@pytest.mark.parametrize("layer", IN_PLACE, ids=lambda one: type(one).__name__)
def test_in_place_changes_the_input_itself_with_the_same_gradient(layer: nn.Module) -> None:
    leaf = wb.tensor(values(), names=("N", "C"), requires_grad=True)
    wb.manual_seed(0)
    layer.inplace = False
    expected = layer(leaf * 1.0)
    expected.square().sum().backward()
    gradient = leaf.grad.clone()
    leaf.grad = None
    layer.inplace = True
    wb.manual_seed(0)
    x = leaf * 1.0
    memory = x.detach().numpy()
    y = layer(x)
    assert y is x
    assert np.shares_memory(y.detach().numpy(), memory)
    assert_close(memory, expected.detach())
    assert y.names == ("N", "C")
    y.square().sum().backward()
    assert_close(leaf.grad, gradient)


def test_in_place_is_refused_where_the_gradient_needs_what_was_there() -> None:
    leaf = wb.tensor(values(), requires_grad=True)
    with pytest.raises(wb.AutogradError, match="a leaf Variable that requires grad"):
        nn.ReLU(inplace=True)(leaf)
    assert_close(leaf.detach(), values())
    root = wb.exp(leaf)
    nn.ReLU(inplace=True)(root)  # exp keeps its result for the gradient
    with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
        root.sum().backward()


def test_slopes_by_channel() -> None:
    layer = nn.PReLU(3)
    with wb.no_grad():
        layer.weight.copy_(wb.tensor([0.1, 0.2, 0.3]))
    x = wb.tensor(-np.ones((2, 3, 4), np.float32), names=("N", "C", "L"), requires_grad=True)
    y = layer(x)
    assert_close(y.detach()[0, :, 0], np.array([-0.1, -0.2, -0.3]))
    y.sum().backward()
    assert layer.weight.grad.tolist() == [-8, -8, -8]
    assert layer.weight.grad.dim_labels == ("C",)
    with pytest.raises(wb.DimensionError, match="takes 'C' as dim 1") as caught:
        layer(x.align_to("N", "L", "C"))
    assert caught.value.fix == "x.align_to('N', 'C', 'L')"
    with pytest.raises(wb.DimensionError, match="channel size = 2"):
        layer(wb.zeros(1, 2))
    assert nn.PReLU()(x.align_to("N", "L", "C")).names == ("N", "L", "C")


def test_gated_linear_unit_halves_a_dim_by_name() -> None:
    a = values()
    y = nn.GLU("C")(wb.tensor(a, names=("N", "C")))
    assert y.names == ("N", "C")
    assert_close(y, a[:, :4] * sigmoid(a[:, 4:]), rtol=1e-5)
    with pytest.raises(wb.DimensionError, match="Halving dimension must be even"):
        nn.GLU("N")(wb.tensor(a, names=("N", "C")))


def test_softmax_of_images() -> None:
    x = wb.randn(N=2, C=3, H=4, W=5)
    assert_close(nn.Softmax2d()(x), nn.Softmax("C")(x))
    assert_close(nn.Softmax2d()(x.select("N", 0)), nn.Softmax("C")(x).select("N", 0))
    with pytest.raises(ValueError, match="expected input to be 3D or 4D, got 2D"):
        nn.Softmax2d()(wb.zeros(2, 3))
    with pytest.raises(wb.DimensionError, match="The names are the same in another order"):
        nn.Softmax2d()(x.align_to("N", "H", "W", "C"))


def test_softmax_without_a_dim_warns_and_takes_the_usual_one() -> None:
    for layer in (nn.Softmax(), nn.Softmin(), nn.LogSoftmax()):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            y = layer(wb.ones(2, 3))
        assert_close(y, type(layer)(1)(wb.ones(2, 3)))


def test_random_slopes_are_drawn_while_training() -> None:
    layer, x = nn.RReLU(0.25, 0.75), wb.tensor(-np.ones(1000, np.float32))
    slopes = -layer(x).numpy()
    assert 0.25 <= slopes.min() < 0.27
    assert 0.73 < slopes.max() <= 0.75


def test_former_words_of_hardtanh() -> None:
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        layer = nn.Hardtanh(min_value=-0.5)
    assert layer(wb.tensor([-1.0])).item() == -0.5
    with pytest.warns(FutureWarning, match="`max_value` is deprecated"):
        nn.Hardtanh(max_value=0.5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Hardtanh(1.0, 1.0), AssertionError, "must be greater than min_val"),
        (lambda: nn.Softshrink(-1.0)(wb.zeros(2)), ValueError, "greater or equal to 0"),
        (lambda: nn.CELU(0.0)(wb.zeros(2)), RuntimeError, "alpha cannot be 0"),
        (lambda: nn.GELU("fast")(wb.zeros(2)), ValueError, "must be either none or tanh"),
        (lambda: nn.PReLU(2.5), ValueError, "num_parameters must be a whole number"),
        (lambda: nn.Softmax("K")(wb.zeros(N=2)), IndexError, "Name 'K' not found"),
    ],
)
def test_bad_settings_are_refused_in_words(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_printed_forms() -> None:
    assert repr(nn.LeakyReLU(0.2, inplace=True)) == "LeakyReLU(negative_slope=0.2, inplace=True)"
    assert repr(nn.ReLU6(True)) == "ReLU6(inplace=True)"
    assert repr(nn.Softmax("C")) == "Softmax(dim='C')"
    assert repr(nn.GELU()) == "GELU(approximate='none')"
    assert repr(nn.Threshold(0.1, 20)) == "Threshold(threshold=0.1, value=20)"
