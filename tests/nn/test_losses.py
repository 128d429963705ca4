"""Losses as modules: values by NumPy, weights as state, former words, and names that say where the classes lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close

X = np.array([[0.3, -1.2, 2.0], [1.5, 0.2, -0.4]], np.float32)
Y = np.array([[0.1, 0.7, 1.0], [0.0, 0.5, 0.9]], np.float32)
SIGNS = np.array([[1, -1, 1], [-1, -1, 1]], np.float32)
SHARES = Y / Y.sum(1, keepdims=True)


def softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


@pytest.mark.parametrize(
    ("layer", "arguments", "expected"),
    [
        (nn.L1Loss(), (X, Y), abs(X - Y).mean()),
        (nn.MSELoss(reduction="sum"), (X, Y), ((X - Y) ** 2).sum()),
        (nn.SmoothL1Loss(reduction="none", beta=0.0), (X, Y), abs(X - Y)),
        (nn.HuberLoss(delta=10.0), (X, Y), ((X - Y) ** 2).mean() / 2),
        (nn.PoissonNLLLoss(log_input=False), (Y + 1, Y), (Y + 1 - Y * np.log(Y + 1 + 1e-8)).mean()),
        (nn.GaussianNLLLoss(full=True), (X, Y, Y + 1),
         ((np.log(Y + 1) + (X - Y) ** 2 / (Y + 1) + np.log(2 * np.pi)) / 2).mean()),
        (nn.KLDivLoss(reduction="batchmean", log_target=True), (X, Y), (np.exp(Y) * (Y - X)).sum() / 2),
        (nn.BCELoss(), (SHARES, Y[:, ::-1]),
         -(Y[:, ::-1] * np.log(np.maximum(SHARES, 1e-44)) + (1 - Y[:, ::-1]) * np.log1p(-SHARES))[:, 1:].sum() / 6
         - (Y[:, ::-1] * np.maximum(np.log(np.maximum(SHARES, 1e-44)), -100)
            + (1 - Y[:, ::-1]) * np.log1p(-SHARES))[:, 0].sum() / 6),
        (nn.BCEWithLogitsLoss(pos_weight=wb.tensor([1.0, 2.0, 3.0])), (X, Y),
         (Y * [1, 2, 3] * softplus(-X) + (1 - Y) * softplus(X)).mean()),
        (nn.SoftMarginLoss(), (X, SIGNS), softplus(-X * SIGNS).mean()),
        (nn.MultiLabelSoftMarginLoss(), (X, Y), (Y * softplus(-X) + (1 - Y) * softplus(X)).mean()),
        (nn.HingeEmbeddingLoss(1.5), (abs(X), SIGNS),
         np.where(SIGNS == 1, abs(X), np.maximum(0, 1.5 - abs(X))).mean()),
        (nn.MarginRankingLoss(0.5), (X, Y, SIGNS), np.maximum(0, -SIGNS * (X - Y) + 0.5).mean()),
    ],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_a_loss_is_its_definition(layer: nn.Module, arguments: tuple[Any, ...], expected: Any) -> None:
    with np.errstate(divide="ignore"):
        assert_close(layer(*[wb.tensor(np.array(one)) for one in arguments]), np.asarray(expected), rtol=1e-5)


def logs(x: Any) -> Any:
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def test_classes_weights_smoothing_and_what_is_ignored() -> None:
    target, weight = np.array([2, 0]), np.array([1.0, 2.0, 3.0], np.float32)
    picked = -logs(X)[[0, 1], target]
    scores, classes, weights = wb.tensor(X), wb.tensor(target), wb.tensor(weight)
    assert_close(nn.CrossEntropyLoss(weights)(scores, classes), (picked * weight[target]).sum() / 4)
    assert_close(nn.CrossEntropyLoss(ignore_index=0)(scores, classes), picked[0])
    smooth = 0.8 * picked - 0.2 * logs(X).mean(1)
    assert_close(nn.CrossEntropyLoss(label_smoothing=0.2)(scores, classes), smooth.mean(), rtol=1e-5)
    assert_close(nn.CrossEntropyLoss()(scores, wb.tensor(SHARES)), -(SHARES * logs(X)).sum() / 2, rtol=1e-5)
    assert_close(nn.NLLLoss(weights, reduction="none")(wb.tensor(logs(X)), classes), picked * weight[target])
    assert_close(nn.NLLLoss2d()(wb.tensor(logs(X)), classes), picked.mean())


def test_margins_between_classes() -> None:
    one = nn.MultiMarginLoss(p=2, margin=0.5, weight=wb.tensor([1.0, 2.0, 3.0]))
    short = np.maximum(0, 0.5 - X[[0, 1], [2, 1]][:, None] + X) ** 2
    short[[0, 1], [2, 1]] = 0
    assert_close(one(wb.tensor(X), wb.tensor([2, 1])), (short.sum(1) * [3, 2] / 3).mean(), rtol=1e-5)
    listed = nn.MultiLabelMarginLoss()(wb.tensor(X[0]), wb.tensor([2, 0, -1]))
    assert_close(listed, (max(0, 1 - (2.0 + 1.2)) + max(0, 1 - (0.3 + 1.2))) / 3)


def test_pairs_and_triplets() -> None:
    a, b, c = (wb.tensor(np.array(one, np.float32)) for one in ([[0, 0]], [[3, 4]], [[6, 8]]))
    assert_close(nn.TripletMarginLoss(margin=7.0)(a, b, c), np.asarray(5 - 10 + 7), rtol=1e-5)
    assert_close(nn.TripletMarginLoss(margin=7.0, swap=True)(a, b, c), np.asarray(7.0), rtol=1e-5)
    layer = nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(p=1), margin=8.0)
    assert_close(layer(a, b, c), np.asarray(7 - 14 + 8), rtol=1e-4)
    assert list(dict(layer.named_modules())) == ["", "distance_function"]
    layer = nn.CosineEmbeddingLoss(margin=0.25)
    assert_close(layer(b, c, wb.tensor([-1.0])), np.asarray(0.75), rtol=1e-5)


def test_sequences_whatever_their_timing() -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2, 1, 3)).astype(np.float32)
    p = np.exp(scores) / np.exp(scores).sum(2, keepdims=True)
    ways = p[0, 0, 1] * p[1, 0, 1] + p[0, 0, 0] * p[1, 0, 1] + p[0, 0, 1] * p[1, 0, 0]
    x = wb.log_softmax(wb.tensor(scores, names=("T", "N", "C")), "C")
    y = nn.CTCLoss(reduction="none")(x, wb.tensor([[1]]), wb.tensor([2]), wb.tensor([1]))
    assert_close(y, -np.log([ways]), rtol=1e-5)
    assert y.names == ("N",)
    with pytest.raises(wb.DimensionError) as caught:
        nn.CTCLoss()(x.align_to("N", "T", "C"), wb.tensor([[1]]), (2,), (1,))
    assert caught.value.fix == "x.align_to('T', 'N', 'C')"
    never = nn.CTCLoss(zero_infinity=True)(x, wb.tensor([[1, 1]]), (2,), (2,))
    assert never.item() == 0


def test_scores_of_a_linear_map() -> None:
    layer = nn.LinearCrossEntropyLoss(4, 3, bias=True, ignore_index=1)
    x, target = wb.randn(N=5, features=4), wb.tensor([0, 1, 2, 2, 1])
    expected = nn.CrossEntropyLoss(ignore_index=1)(layer.linear(x), target)
    assert_close(layer(x, target).detach(), expected.detach(), rtol=1e-5)
    assert list(layer.state_dict()) == ["linear.weight", "linear.bias"]
    places = nn.LinearCrossEntropyLoss(4, 3, out_features=(2,))
    places(x, wb.zeros(5, 2).long()).backward()
    assert places.linear.weight.grad.shape == (6, 4)


def test_weights_are_state_and_move_with_the_module() -> None:
    layer = nn.BCEWithLogitsLoss(wb.ones(3), pos_weight=wb.ones(3))
    assert list(layer.state_dict()) == ["weight", "pos_weight"]
    assert layer.double().pos_weight.dtype is wb.float64
    assert list(nn.CrossEntropyLoss().state_dict()) == []
    with pytest.raises(TypeError, match="cannot assign 'list' object to buffer 'weight'"):
        nn.NLLLoss([1.0, 2.0])


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ({"size_average": False}, "sum"),
        ({"reduce": False}, "none"),
        ({"size_average": True, "reduce": True}, "mean"),
        ({"size_average": False, "reduce": False, "reduction": "sum"}, "none"),
    ],
)
def test_former_words_for_the_reduction_warn(words: dict[str, Any], meant: str) -> None:
    for kind in (nn.MSELoss, nn.CrossEntropyLoss, nn.KLDivLoss, nn.TripletMarginLoss, nn.PoissonNLLLoss):
        with pytest.warns(UserWarning, match=f"please use reduction='{meant}' instead"):
            assert kind(**words).reduction == meant


@pytest.mark.parametrize(
    "layer",
    [nn.CrossEntropyLoss(), nn.NLLLoss(), nn.NLLLoss2d()],
    ids=lambda one: type(one).__name__,
)
def test_classes_that_stand_elsewhere_are_refused(layer: nn.Module) -> None:
    x, target = wb.zeros(N=2, T=3, C=4), wb.zeros(2, 3).long()
    with pytest.raises(wb.DimensionError, match="takes 'C' as dim 1") as caught:
        layer(x, target)
    assert caught.value.fix == "x.align_to('N', 'C', 'T')"
    layer(x.align_to("N", "C", "T"), target)
    with pytest.raises(wb.DimensionError, match="takes 'C' as dim 1"):
        layer(wb.zeros(C=2, N=2), wb.zeros(2).long())
    layer(wb.zeros(C=4), wb.tensor(1))


def test_names_of_both_sides_are_checked_against_each_other() -> None:
    with pytest.raises(wb.DimensionError, match="do not match"):
        nn.MSELoss()(wb.zeros(N=2, C=3), wb.zeros(N=2, T=3))
    y = nn.L1Loss(reduction="none")(wb.zeros(N=2, C=3), wb.zeros(2, 3))
    assert y.names == ("N", "C")
    z = nn.CrossEntropyLoss(reduction="none")(wb.zeros(N=2, C=3, L=4), wb.zeros(2, 4).long())
    assert z.names == ("N", "L")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.MSELoss(reduction="avg"), ValueError, "avg is not a valid value for reduction"),
        (lambda: nn.MSELoss(reduction="batchmean"), ValueError, "batchmean is not a valid value"),
        (lambda: nn.HuberLoss(delta="1"), TypeError, "delta must be a float or int, got: str"),
        (lambda: nn.MultiMarginLoss(p=3), ValueError, "only p == 1 and p == 2 supported"),
        (lambda: nn.MultiMarginLoss(weight=wb.ones(1, 2)), ValueError, "expected weight to be None or 1D"),
        (lambda: nn.TripletMarginLoss(margin=0), ValueError, "TripletMarginLoss: expected margin"),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=-1), ValueError, "got -1 instead"),
        (lambda: nn.LinearCrossEntropyLoss(2, 3, weight=wb.ones(2)), RuntimeError, "expected weight shape"),
        (lambda: nn.LinearCrossEntropyLoss(2, 3, label_smoothing=2), RuntimeError, r"in range \[0, 1\]"),
        (lambda: nn.BCELoss()(wb.zeros(2), wb.zeros(3)), ValueError, "different to the input size"),
        (
            lambda: nn.NLLLoss()(wb.zeros(2, 3), wb.zeros(2)),
            TypeError,
            "Expected dtype uint8/int64 for target",
        ),
        (lambda: nn.NLLLoss()(wb.zeros(2, 3), wb.tensor([0, 3])), IndexError, "Target 3 is out of bounds"),
    ],
)
def test_bad_settings_are_refused_in_words(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_the_mean_of_a_divergence_warns_that_it_is_none() -> None:
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        nn.KLDivLoss()(wb.zeros(2, 3), wb.ones(2, 3))
