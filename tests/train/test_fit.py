"""The training loop: what it learns, tells, writes and refuses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import data, nn, optim
from workbench.base import events
from workbench.export import tensorboard
from workbench.models import DigitsNet
from workbench.train import Evaluation, Training, TrainingError, evaluate, fit


def clusters(count: int = 60) -> data.TensorDataset:
    """Three clouds of points, which a linear map tells apart."""
    random = np.random.default_rng(0)
    labels = np.arange(count) % 3
    points = np.eye(3)[labels] * 4 + random.normal(size=(count, 3)) * 0.3
    return data.TensorDataset(
        wb.from_numpy(points.astype(np.float32), names=("N", "features")), wb.from_numpy(labels, names=("N",))
    )


def parts() -> tuple[nn.Module, data.DataLoader, optim.Optimizer]:
    wb.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    return (
        model,
        data.DataLoader(clusters(), batch_size=16, shuffle=True),
        optim.Adam(model.parameters(), lr=0.05),
    )


def test_it_learns_and_tells() -> None:
    model, loader, optimizer = parts()
    seen: list[tuple[int, int, float]] = []
    published: list[object] = []
    stop = events.subscribe("training", lambda topic, source: published.append(source))
    try:
        history = fit(
            model, loader, optimizer, epochs=4, validation=loader, progress=False,
            on_step=lambda training: seen.append((training.epoch, training.step, training.loss)),
        )  # fmt: skip
    finally:
        stop()
    assert history.accuracy == 1.0
    assert [epoch.number for epoch in history.epochs] == [1, 2, 3, 4]
    assert history.losses == [loss for _, _, loss in seen]
    assert [(epoch, step) for epoch, step, _ in seen][3:5] == [(1, 4), (2, 5)]
    assert len(published) == 16
    assert all(isinstance(one, Training) for one in published)
    assert history.epochs[0].loss == pytest.approx(np.average(history.losses[:4], weights=[16, 16, 16, 12]))
    assert history.seconds > 0
    assert str(history).splitlines()[0].startswith("epoch 1: loss ")
    assert "accuracy" in str(history)


def test_the_model_is_left_in_the_mode_it_was_in() -> None:
    model, loader, optimizer = parts()
    model.eval()
    model[0].train()
    modes = []
    model[1].register_forward_hook(lambda module, *_: modes.append(module.training))
    fit(model, loader, optimizer, validation=loader, progress=False)
    assert modes == [True] * 4 + [False] * 4
    assert [module.training for module in model] == [True, False, False]


def test_a_loss_that_is_not_a_number_stops_before_anything_changes() -> None:
    model, loader, optimizer = parts()
    before: list[np.ndarray] = []

    def loss(scores: wb.Tensor, labels: wb.Tensor) -> wb.Tensor:
        value = wb.cross_entropy(scores, labels)
        if len(before) < 2:
            before.append(model[0].weight.detach().numpy().copy())
            return value
        before.append(model[0].weight.detach().numpy().copy())
        return value * math.nan

    model.eval()
    with pytest.raises(TrainingError, match=r"the loss is nan at step 3 \(epoch 1 of 2\): training stopped"):
        fit(model, loader, optimizer, loss, epochs=2, progress=False)
    np.testing.assert_array_equal(model[0].weight.detach().numpy(), before[-1])
    assert not model.training


def test_on_step_can_end_the_training() -> None:
    model, loader, optimizer = parts()
    history = fit(
        model, loader, optimizer, epochs=9, on_step=lambda training: training.step < 6, progress=False
    )
    assert len(history.losses) == 6
    assert len(history.epochs) == 2


def test_a_schedule_steps_with_every_batch() -> None:
    model, loader, optimizer = parts()
    rates: list[float] = []
    fit(
        model, loader, optimizer, epochs=2, progress=False,
        scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, 8),
        on_step=lambda training: rates.append(optimizer.param_groups[0]["lr"]),
    )  # fmt: skip
    assert len(rates) == 8
    assert rates[3] == pytest.approx(0.025)
    assert rates[-1] == pytest.approx(0)


def test_the_log_holds_scalars_and_histograms(tmp_path: Path) -> None:
    model, loader, optimizer = parts()
    with tensorboard.SummaryWriter(tmp_path) as log:
        history = fit(
            model, loader, optimizer, epochs=2, validation=loader, log=log, log_every=2, progress=False
        )
    written = tensorboard.read(tmp_path)
    assert written.problems == []
    assert written.scalars["loss/train"].steps == [2, 4, 6, 8]
    assert written.scalars["loss/train"].values == pytest.approx(history.losses[1::2])
    assert written.scalars["accuracy/validation"].values == pytest.approx(
        [e.accuracy for e in history.epochs]
    )
    assert written.histograms["parameters/0/weight"] == [4, 8]


def test_the_bar_shows_loss_and_rate(capsys: pytest.CaptureFixture[str]) -> None:
    model, loader, optimizer = parts()
    fit(model, loader, optimizer, validation=loader)
    shown = capsys.readouterr().out
    assert "epoch 1/1: 100%" in shown
    assert "img/s, accuracy" in shown


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs must be 1 or more, got 0"),
        ({"log_every": 0}, ValueError, "log_every must be 1 or more, got 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, int], error: type[Exception], message: str) -> None:
    model, loader, optimizer = parts()
    with pytest.raises(error, match=message):
        fit(model, loader, optimizer, progress=False, **settings)


def test_nothing_to_learn_from_or_evaluate_is_an_error() -> None:
    model, _, optimizer = parts()
    empty = data.DataLoader(data.TensorDataset(wb.zeros(0, 3), wb.zeros(0, dtype="int64")))
    with pytest.raises(ValueError, match="the loader has no batches"):
        fit(model, empty, optimizer)
    with pytest.raises(ValueError, match="there is nothing to evaluate"):
        evaluate(model, empty)


def test_evaluate_counts() -> None:
    scores = wb.tensor([[1.0, 0.0], [0.0, 1.0], [0.2, 0.1]], names=("N", "C"))
    loader = data.DataLoader(data.TensorDataset(scores, wb.tensor([0, 1, 1], names=("N",))), batch_size=2)
    outcome = evaluate(nn.Identity(), loader)
    assert outcome == Evaluation(
        pytest.approx(2 / 3), pytest.approx(wb.cross_entropy(scores, wb.tensor([0, 1, 1])).item()), 3
    )
    assert float(outcome) == outcome.accuracy
    wrong = data.DataLoader(data.TensorDataset(wb.zeros(2, 3, 4), wb.tensor([0, 1])), batch_size=2)
    with pytest.raises(wb.DimensionError, match=r"accuracy takes scores \[N, classes\] and labels \[N\]"):
        evaluate(nn.Identity(), wrong, loss=lambda scores, labels: scores.sum())


def test_the_network_for_digits_learns_them() -> None:
    wb.manual_seed(0)
    train, test = data.digits()
    model = DigitsNet()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    loader = data.DataLoader(data.Subset(train, range(2560)), batch_size=64, shuffle=True)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 2 * len(loader))
    fit(model, loader, optimizer, epochs=2, scheduler=schedule, progress=False)
    assert evaluate(model, data.DataLoader(test, batch_size=250)).accuracy > 0.93
