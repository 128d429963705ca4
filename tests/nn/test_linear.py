"""Linear maps of one and of two inputs, distances, splitting dims, and softmax over many classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_parameters_are_made_in_the_type_asked_for(dtype: str) -> None:
    several = [
        nn.Linear(3, 2, dtype=dtype, device="cpu"),
        nn.Bilinear(3, 4, 2, dtype=dtype),
        nn.Embedding(3, 2, dtype=dtype),
        nn.EmbeddingBag(3, 2, dtype=dtype),
        nn.PReLU(3, dtype=dtype),
        nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2], dtype=dtype),
        nn.LinearCrossEntropyLoss(3, 2, dtype=dtype),
    ]
    for layer in several:
        assert {parameter.dtype for parameter in layer.parameters()} == {getattr(wb, dtype)}
        assert all(parameter.requires_grad and parameter.names for parameter in layer.parameters())


def test_bilinear_is_its_definition() -> None:
    layer = nn.Bilinear(3, 4, 5)
    a, b = wb.randn(N=2, T=6, left=3), wb.randn(N=2, T=6, right=4)
    y = layer(a, b)
    w, c = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    assert_close(y.detach(), np.einsum("nti,oij,ntj->nto", a.numpy(), w, b.numpy()) + c, rtol=1e-4, atol=1e-5)
    assert y.names == ("N", "T", "out_features")
    y.sum().backward()
    assert layer.weight.grad.dim_labels == ("out_features", "in1_features", "in2_features")
    assert abs(w).max() <= 1 / np.sqrt(3)
    assert repr(layer) == "Bilinear(in1_features=3, in2_features=4, out_features=5, bias=True)"
    with pytest.raises(
        wb.DimensionError, match="input2 size does not match weight size: got 3 but expected 4"
    ):
        layer(a, a)


def test_distances() -> None:
    a, b = wb.randn(N=4, E=3), wb.randn(N=4, E=3)
    x, y = a.numpy(), b.numpy()
    cosine = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
    assert_close(nn.CosineSimilarity("E")(a, b), cosine, rtol=1e-5, atol=1e-6)
    assert_close(nn.CosineSimilarity()(a, b), cosine, rtol=1e-5, atol=1e-6)
    assert nn.CosineSimilarity("E")(a, b).names == ("N",)
    distance = nn.PairwiseDistance(p=1.0, keepdim=True)(a, b)
    assert_close(distance, abs(x - y + 1e-6).sum(1, keepdims=True), rtol=1e-5)
    assert distance.names == ("N", "E")
    with pytest.raises(wb.DimensionError):
        nn.PairwiseDistance()(a, b.rename("N", "T"))


def test_a_dim_is_split_by_position_or_by_name() -> None:
    x = wb.arange(24).reshape(2, 12).rename("N", "features")
    assert nn.Unflatten(1, (3, -1))(x).shape == (2, 3, 4)
    y = nn.Unflatten("features", (("C", 3), ("L", 4)))(x)
    assert y.names == ("N", "C", "L")
    assert nn.Flatten()(y).tolist() == x.tolist()
    assert repr(nn.Unflatten(1, (3, 4))) == "Unflatten(dim=1, unflattened_size=(3, 4))"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Unflatten(1, 3), TypeError, "must be a tuple of ints, or of pairs .* found type int"),
        (lambda: nn.Unflatten(1, (3, 1.5)), TypeError, "element of type float at pos 1"),
        (lambda: nn.Unflatten(1, (("C", 3), 4)), TypeError, "tuple of pairs .* element of type int at pos 1"),
        (lambda: nn.Unflatten(1, (5, 5))(wb.zeros(2, 12)), wb.DimensionError, "12"),
        (lambda: nn.Bilinear(0, 1, 1), ValueError, "in1_features must be > 0"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, []), ValueError, "larger than 0"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [5, 3]), ValueError, "sorted in an increasing order"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [9]), ValueError, "between 1 and n_classes-1"),
    ],
)
def test_bad_settings_are_refused_in_words(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_softmax_over_many_classes_is_one_distribution() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 9], div_value=2.0, head_bias=True)
    x, target = wb.randn(N=7, features=16), wb.tensor([0, 3, 4, 8, 9, 19, 12])
    full = layer.log_prob(x)
    assert full.names == ("N", "out_features")
    assert_close(full.detach().exp().sum(1), np.ones(7), rtol=1e-5)
    output, loss = layer(x, target)
    assert output.names == ("N",)
    assert_close(output.detach(), full.detach().numpy()[np.arange(7), target.numpy()], rtol=1e-5)
    assert_close(loss.detach(), -output.detach().mean())
    loss.backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    assert layer.predict(x).tolist() == full.detach().numpy().argmax(1).tolist()
    one = layer(x.select("N", 3), wb.tensor(8))
    assert one.output.shape == ()
    assert_close(one.output.detach(), output.detach()[3])
    assert list(layer.state_dict())[:3] == ["head.weight", "head.bias", "tail.0.0.weight"]


def test_targets_that_do_not_go_with_the_input_are_refused() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4])
    with pytest.raises(RuntimeError, match=r"should be in \[0, 19\], but values in range \[0, 20\]"):
        layer(wb.zeros(2, 8), wb.tensor([0, 20]))
    with pytest.raises(RuntimeError, match="same size in the batch dimension"):
        layer(wb.zeros(2, 8), wb.tensor([0, 1, 2]))
    with pytest.raises(RuntimeError, match="1D target tensor expects 2D input"):
        layer(wb.zeros(8), wb.tensor([0]))
    with pytest.raises(RuntimeError, match="multi-target not supported"):
        layer(wb.zeros(2, 8), wb.tensor([[0], [1]]))
    with pytest.raises(wb.DimensionError, match="called 'N' in the input and 'T' in the target"):
        layer(wb.zeros(N=2, features=8), wb.tensor([0, 1], names=("T",)))
