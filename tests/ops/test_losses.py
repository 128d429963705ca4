"""Losses where the database of ops does not look: names, weights, old words, refusals, ctc against torch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

F: Any = wb.nn.functional


grad: Any = wb.autograd.grad


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def test_a_loss_for_each_sample_keeps_its_name() -> None:
    scores = wb.tensor(floats(3, 4), names=("N", "C"))
    target = wb.tensor([0, 3, 1], names=("N",))
    assert F.cross_entropy(scores, target, reduction="none").names == ("N",)
    assert F.cross_entropy(scores, target, label_smoothing=0.1, reduction="none").names == ("N",)
    assert F.multi_margin_loss(scores, target, reduction="none").names == ("N",)
    places = wb.tensor([[0, -1, 0, 0]] * 3, names=("N", "C"))
    assert F.multilabel_margin_loss(scores, places, reduction="none").names == ("N",)
    assert F.mse_loss(scores, scores, reduction="none").names == ("N", "C")
    assert F.huber_loss(scores, scores).names == ()


def test_names_that_clash_are_refused() -> None:
    with pytest.raises(wb.DimensionError, match="do not match"):
        F.cross_entropy(wb.tensor(floats(3, 4), names=("N", "C")), wb.tensor([0, 3, 1], names=("T",)))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_weights_of_classes_are_differentiable(reduction: str) -> None:
    scores, weight = floats(5, 4), np.abs(floats(4)) + 0.3
    target = np.array([0, 3, 1, 3, 2])

    def loss(w: Any) -> Any:
        return F.cross_entropy(
            wb.tensor(scores.astype(np.float64)), wb.tensor(target), w, ignore_index=1, reduction=reduction
        ).sum()

    w = wb.tensor(weight.astype(np.float64), requires_grad=True)
    (gradient,) = grad(loss(w), [w])
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        slope = (loss(w.detach() + wb.tensor(step)).item() - loss(w.detach() - wb.tensor(step)).item()) / 2e-6
        assert gradient[i].item() == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_old_words_for_a_reduction_still_count() -> None:
    x, y = wb.tensor(floats(3)), wb.tensor(floats(3, seed=1))
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert F.l1_loss(x, y, size_average=False).item() == F.l1_loss(x, y, reduction="sum").item()
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert F.l1_loss(x, y, reduce=False).shape == (3,)


COMPARISONS: list[Callable[..., Any]] = [
    F.mse_loss,
    F.l1_loss,
    F.huber_loss,
    functools.partial(F.smooth_l1_loss, beta=0.3),
    F.binary_cross_entropy_with_logits,
    F.kl_div,
    functools.partial(F.kl_div, log_target=True),
]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("loss", COMPARISONS)
def test_slopes_of_each_sample_are_those_of_one_after_the_other(loss: Any, reduction: str) -> None:
    x, target = wb.tensor(floats(4, 3, 5) * 3), wb.tensor(np.abs(floats(4, 3, 5, seed=1)))
    single = functools.partial(loss, reduction=reduction)
    slope = wb.func.grad(single)
    together = wb.func.vmap(slope)(x, target)
    expected = [slope(one, other).numpy() for one, other in zip(x, target, strict=True)]
    np.testing.assert_allclose(together.numpy(), np.stack(expected), rtol=1e-5)
    shared = wb.func.vmap(slope, in_dims=(0, None))(x, target[0])
    expected = [slope(one, target[0]).numpy() for one in x]
    np.testing.assert_allclose(shared.numpy(), np.stack(expected), rtol=1e-5)
    curved = wb.func.hessian(single)(x[0, 0], target[0, 0]).numpy()
    rows = [wb.func.grad(lambda one, i=i: slope(one, target[0, 0])[i])(x[0, 0]).numpy() for i in range(5)]
    np.testing.assert_allclose(curved, np.stack(rows), rtol=1e-5)


@pytest.mark.parametrize("loss", COMPARISONS[:4])
def test_targets_have_slopes_and_may_be_stretched(loss: Any) -> None:
    x = wb.tensor(floats(3, 4).astype(np.float64), requires_grad=True)
    target = wb.tensor(floats(1, 4).astype(np.float64), requires_grad=True)
    with pytest.warns(UserWarning, match="different to the input size"):
        loss(x, target, reduction="sum").backward()
    assert x.grad is not None and target.grad is not None
    np.testing.assert_allclose(target.grad.numpy(), -x.grad.numpy().sum(0, keepdims=True), rtol=1e-12)
    (alone,) = grad(loss(x.detach(), target.expand(3, 4), reduction="sum"), [target])
    np.testing.assert_allclose(alone.numpy(), target.grad.numpy(), rtol=1e-12)


def test_each_type_is_compared_as_it_is() -> None:
    whole, complex_ones = wb.tensor([1, 5]), wb.tensor([3 + 4j, 1 + 0j])
    assert F.mse_loss(whole, wb.tensor([3, 5]), reduction="sum").dtype is wb.int64
    assert F.mse_loss(whole, wb.tensor([3.0, 5.0])).item() == 2.0
    assert F.huber_loss(whole, wb.tensor([3, 5])).item() == 0.75
    assert F.l1_loss(complex_ones, wb.zeros(2), reduction="none").tolist() == [5.0, 1.0]
    with pytest.raises(TypeError, match="huber_loss"):
        F.huber_loss(complex_ones, wb.zeros(2))
    half = F.mse_loss(wb.tensor([0.1], dtype=wb.float16), wb.zeros(1, dtype=wb.float16), reduction="none")
    assert half.dtype is wb.float16
    with wb.autocast("cpu", dtype=wb.bfloat16):
        assert F.mse_loss(wb.zeros(2, dtype=wb.bfloat16), wb.zeros(2, dtype=wb.bfloat16)).dtype is wb.float32


def test_weights_count_in_what_is_compared() -> None:
    x, target, weight = wb.tensor([1.0, 4.0]), wb.tensor([0.0, 0.0]), wb.tensor([3.0, 1.0])
    assert F.mse_loss(x, target, weight=weight).item() == 19 / 4
    assert F.huber_loss(x, target, weight=weight, reduction="sum").item() == 5.0


def test_a_score_of_zero_has_a_slope() -> None:
    x = wb.zeros(2, requires_grad=True)
    F.binary_cross_entropy_with_logits(x, wb.tensor([0.0, 1.0]), reduction="sum").backward()
    assert x.grad is not None and x.grad.tolist() == [0.5, -0.5]


def test_soft_margin_does_not_overflow() -> None:
    x = wb.tensor([-200.0, 200.0], requires_grad=True)
    loss = F.soft_margin_loss(x, wb.ones(2), reduction="sum")
    loss.backward()
    assert loss.item() == 200.0
    assert x.grad is not None and x.grad.tolist() == [-1.0, 0.0]


def test_all_ignored_is_no_number() -> None:
    assert np.isnan(F.cross_entropy(wb.zeros(2, 3), wb.tensor([1, 1]), ignore_index=1).item())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.nll_loss(wb.zeros(2, 3), wb.tensor([0, 5])), IndexError, "Target 5 is out of bounds"),
        (
            lambda: F.nll_loss(wb.zeros(2, 3), wb.zeros(2)),
            RuntimeError,
            "uint8/int64 for target, got float32",
        ),
        (lambda: F.cross_entropy(wb.zeros(2, 3), wb.tensor([0])), RuntimeError, "input batch_size (2)"),
        (
            lambda: F.cross_entropy(wb.zeros(2, 3), wb.tensor([0, 1]), label_smoothing=2),
            RuntimeError,
            "between 0.0 and 1.0",
        ),
        (
            lambda: F.cross_entropy(wb.zeros(2, 3), wb.zeros(2, 3), ignore_index=1),
            RuntimeError,
            "not supported for floating point target",
        ),
        (lambda: F.mse_loss(wb.zeros(2), wb.zeros(2), reduction="all"), ValueError, "all is not a valid"),
        (lambda: F.binary_cross_entropy(wb.zeros(2, 3), wb.zeros(2)), ValueError, "different to the input"),
        (
            lambda: F.binary_cross_entropy_with_logits(wb.zeros(2, 3), wb.zeros(2)),
            ValueError,
            "must be the same as input size",
        ),
        (lambda: F.binary_cross_entropy(wb.ones(2) * 2, wb.zeros(2)), RuntimeError, "between 0 and 1"),
        (
            lambda: F.smooth_l1_loss(wb.zeros(2), wb.zeros(2), beta=-1.0),
            RuntimeError,
            "negative values for beta",
        ),
        (lambda: F.huber_loss(wb.zeros(2), wb.zeros(2), delta=0.0), RuntimeError, "non-positive values"),
        (lambda: F.gaussian_nll_loss(wb.zeros(2), wb.zeros(2), -wb.ones(2)), ValueError, "negative entry"),
        (lambda: F.gaussian_nll_loss(wb.zeros(2), wb.zeros(2), wb.ones(3)), ValueError, "incorrect size"),
        (
            lambda: F.multi_margin_loss(wb.zeros(2, 3), wb.tensor([0, 1]), p=3),
            ValueError,
            "p == 1 and p == 2",
        ),
        (
            lambda: F.multilabel_margin_loss(wb.zeros(2, 3), wb.tensor([[0, 1], [0, 1]])),
            RuntimeError,
            "inconsistent target size",
        ),
        (
            lambda: F.margin_ranking_loss(wb.zeros(2, 3), wb.zeros(2), wb.zeros(2)),
            RuntimeError,
            "should have same dimension",
        ),
        (
            lambda: F.triplet_margin_loss(wb.zeros(2, 3), wb.zeros(3), wb.zeros(2, 3)),
            RuntimeError,
            "same number of dimensions",
        ),
        (
            lambda: F.cosine_embedding_loss(wb.zeros(2, 3), wb.zeros(3), wb.zeros(2)),
            RuntimeError,
            "1D target tensor expects 2D input",
        ),
        (
            lambda: F.linear_cross_entropy(wb.zeros(2, 3), wb.zeros(4, 2), wb.tensor([0, 1])),
            RuntimeError,
            "equal input and linear_weight last dimensions",
        ),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_ctc_of_one_sequence() -> None:
    scores = wb.log_softmax(wb.tensor(floats(4, 3)), 1)
    one = F.ctc_loss(scores, wb.tensor([1, 2]), wb.tensor(4), wb.tensor(2), reduction="none")
    several = F.ctc_loss(scores.unsqueeze(1), wb.tensor([[1, 2]]), (4,), (2,), reduction="none")
    assert one.shape == () and one.item() == several.item()


def test_chunks_of_a_linear_map_give_the_same_loss_and_gradients() -> None:
    x, w, target = floats(7, 3), floats(5, 3, seed=1), np.array([0, 4, 2, 2, 1, 3, 2])
    results = []
    for options in (None, F.LinearCrossEntropyOptions(batch_chunk_size=3), F.LinearCrossEntropyOptions()):
        mine, table = wb.tensor(x, requires_grad=True), wb.tensor(w, requires_grad=True)
        loss = F.linear_cross_entropy(mine, table, wb.tensor(target), ignore_index=2, options=options)
        results.append([loss.detach(), *grad(loss, [mine, table])])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="invalid chunking_method"):
        F.LinearCrossEntropyOptions(chunking_method="half")
