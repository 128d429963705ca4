"""Metrics that go along with batches: the same as over all samples at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.train.parts import loader, trainer
from workbench import data, nn
from workbench.train import (
    Accuracy,
    ConfusionMatrix,
    Evaluation,
    MeanAbsoluteError,
    MeanLoss,
    Metric,
    Perplexity,
    TopKAccuracy,
    evaluate,
)

RANDOM = np.random.default_rng(0)
SCORES = RANDOM.normal(size=(23, 6)).astype(np.float32)
LABELS = RANDOM.integers(0, 6, 23)
LABELS[5] = -100


def fed(metric: Metric, *arrays: Any, size: int = 5) -> Any:
    """What a metric comes to, given uneven batches, and taken up in the middle by another of its kind."""
    for start in range(0, len(arrays[0]), size):
        metric.update(*(wb.from_numpy(np.ascontiguousarray(one[start : start + size])) for one in arrays))
        state = metric.state_dict()
        metric.reset()
        metric.load_state_dict(state)
    return metric.compute()


def test_against_all_samples_at_once() -> None:
    kept = LABELS >= 0
    scores, labels = SCORES[kept], LABELS[kept]
    assert fed(Accuracy(), SCORES, LABELS) == pytest.approx((scores.argmax(1) == labels).mean())
    order = np.argsort(-scores, axis=1)
    assert fed(TopKAccuracy(3), SCORES, LABELS) == pytest.approx(
        (order[:, :3] == labels[:, None]).any(1).mean()
    )
    exact = scores.astype(np.float64)
    losses = np.log(np.exp(exact).sum(1)) - exact[np.arange(len(labels)), labels]
    assert fed(Perplexity(), SCORES, LABELS) == pytest.approx(math.exp(losses.mean()))
    counts = np.zeros((6, 6), int)
    np.add.at(counts, (labels, scores.argmax(1)), 1)
    confusion = fed(ConfusionMatrix(), SCORES, LABELS)
    assert confusion.dim_labels == ("target", "prediction")
    np.testing.assert_array_equal(confusion.numpy(), counts)
    assert fed(MeanAbsoluteError(), SCORES, SCORES * 2) == pytest.approx(np.abs(SCORES).mean(), rel=1e-6)


def test_the_mean_loss_weighs_by_samples() -> None:
    metric = MeanLoss()
    metric.update(1.0, 3)
    metric.update(wb.tensor(5.0), 1)
    assert metric.compute() == 2.0
    metric.reset()
    assert math.isnan(metric.compute())


def test_classes_are_the_second_dim_or_the_last() -> None:
    labels = RANDOM.integers(0, 4, (2, 5))
    scores = np.eye(4, dtype=np.float32)[labels]
    for given in (scores, np.moveaxis(scores, -1, 1)):
        metric = Accuracy()
        metric.update(wb.from_numpy(np.ascontiguousarray(given)), wb.from_numpy(labels))
        assert (metric.compute(), metric.count) == (1.0, 10)
    # Sizes leave it open here; names tell.
    labels = RANDOM.integers(0, 4, (2, 4))
    scores = np.eye(4, dtype=np.float32)[labels]
    metric = Accuracy()
    metric.update(wb.from_numpy(scores, names=("N", "T", "classes")), wb.from_numpy(labels, names=("N", "T")))
    assert metric.compute() == 1.0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(wb.DimensionError, match=r"accuracy: scores are \[N, classes\] and labels \[N\]"):
        Accuracy().update(wb.zeros(2, 3, 4), wb.tensor([0, 1]))
    with pytest.raises(wb.DimensionError, match=r"predictions.squeeze\(-1\)"):
        MeanAbsoluteError().update(wb.zeros(4, 1), wb.zeros(4))
    with pytest.raises(ValueError, match="labels are from 0 to 1, got 2"):
        ConfusionMatrix(2).update(wb.zeros(2, 3), wb.tensor([0, 2]))
    with pytest.raises(ValueError, match="k must be 1 or more"):
        TopKAccuracy(0)


def test_functions_and_names_are_metrics() -> None:
    def margin(predictions: wb.Tensor, targets: wb.Tensor) -> wb.Tensor:
        return predictions.max("out_features").values.mean()

    made = trainer(metrics=[margin, "perplexity", "confusion", TopKAccuracy(2)])
    history = made.fit(loader(), loader())
    assert set(history.epochs[0].metrics) == {"margin", "perplexity", "top2"}
    outcome = made.outcome
    assert outcome is not None
    assert int(outcome["confusion"].sum().item()) == 60
    assert outcome["perplexity"] == pytest.approx(math.exp(outcome.loss), rel=1e-5)
    with pytest.raises(KeyError, match="'accuracy' was not measured; there are loss, margin"):
        outcome["accuracy"]


def test_evaluate_counts() -> None:
    scores = wb.tensor([[1.0, 0.0], [0.0, 1.0], [0.2, 0.1]], names=("N", "C"))
    batches = data.DataLoader(data.TensorDataset(scores, wb.tensor([0, 1, 1], names=("N",))), batch_size=2)
    outcome = evaluate(nn.Identity(), batches)
    loss = wb.cross_entropy(scores, wb.tensor([0, 1, 1])).item()
    assert outcome == Evaluation(pytest.approx(loss), 3, {"accuracy": pytest.approx(2 / 3)})
    assert float(outcome) == outcome.accuracy
    assert str(outcome).endswith("accuracy 0.6667 (3 samples)")
    assert dict(outcome).keys() == {"loss", "accuracy"}
    summed = evaluate(nn.Identity(), batches, nn.CrossEntropyLoss(reduction="sum"))
    assert summed.loss == pytest.approx(loss)
