"""Callbacks: early stopping, checkpoints, rates, logs, and what live curves publish."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.train.parts import loader, same, trainer, weights
from workbench import tensorboard
from workbench.base import events, renderer_lookup
from workbench.train import (
    Callback,
    CellCurves,
    EarlyStopping,
    LearningRateMonitor,
    LiveCurves,
    ModelCheckpoint,
    TensorBoardLogger,
    Trainer,
    checkpoint,
)
from workbench.train.downsampling import STRETCHES


class Scripted(Callback):
    """Puts a validation figure of its own into the history."""

    order = -1

    def __init__(self, *values: float) -> None:
        self.values = values
        self.weights: list[dict[str, Any]] = []

    def on_epoch_end(self, trainer: Trainer) -> None:
        number = len(trainer.history.epochs) - 1
        trainer.history.epochs[-1].validation["loss"] = self.values[number]
        self.weights.append(weights(trainer))


@pytest.mark.parametrize(
    ("settings", "values", "stops"),
    [
        ({"patience": 2}, (3, 2, 2.5, 2.1, 1, 1), 4),
        ({"patience": 2, "min_delta": 0.5}, (3, 2.8, 2.6, 2.4, 1, 1), 3),
        ({"patience": 2, "mode": "max", "monitor": "val_loss"}, (3, 4, 5, 1, 1, 9), 5),
        ({"patience": 1}, (3, math.nan, 1, 1, 1, 1), 2),
        ({"patience": 3}, (6, 5, 4, 3, 2, 1), 6),
    ],
)
def test_early_stopping(settings: Any, values: Any, stops: int) -> None:
    made = trainer(callbacks=[Scripted(*values), EarlyStopping(**settings)])
    made.fit(loader(), epochs=6)
    assert made.epoch == stops
    assert made.status == ("stopped" if stops < 6 else "finished")


def test_the_best_weights_come_back() -> None:
    script = Scripted(3, 1, 2, 2)
    made = trainer(callbacks=[script, EarlyStopping(patience=2, restore_best=True)])
    made.fit(loader(), epochs=9)
    assert made.message == "val_loss got no better than 1, of epoch 2, in 2 epochs"
    same(weights(made), script.weights[1])


def test_what_was_not_measured_is_refused() -> None:
    made = trainer(callbacks=[Callback(), Scripted(1), EarlyStopping("accurracy")])
    with pytest.raises(ValueError, match=r"'accurracy' was not measured; .*Did you mean 'accuracy'"):
        made.fit(loader())
    assert made.step == 4
    for settings in ({"patience": 0}, {"min_delta": -1.0}, {"mode": "least"}):
        with pytest.raises(ValueError, match=r"must be|mode is"):
            EarlyStopping(**settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep must be 1 or more"):
        ModelCheckpoint("x", keep=0)


@pytest.mark.parametrize(
    ("monitor", "words"),
    [
        ("accurracy", "will not be measured; there are loss, accuracy. Did you mean 'accuracy'"),
        (
            "val_loss",
            r"nothing to validate with: call fit\(loader, validation\), or monitor 'loss', 'accuracy'",
        ),
    ],
)
def test_what_will_not_be_measured_is_refused_before_an_epoch_is_trained(
    monitor: str, words: str, tmp_path: Path
) -> None:
    for one in (EarlyStopping(monitor), ModelCheckpoint(tmp_path, monitor=monitor)):
        made = trainer(callbacks=one)
        with pytest.raises(ValueError, match=words):
            made.fit(loader())
        assert (made.step, made.status) == (0, "failed")


def test_a_folder_for_checkpoints_is_looked_at_before_an_epoch_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    made = trainer(checkpoint=tmp_path / "file")
    with pytest.raises(NotADirectoryError, match="file is a file: checkpoints are saved in a folder"):
        made.fit(loader())
    monkeypatch.setattr("os.access", lambda *_: False)
    other = trainer(checkpoint=tmp_path / "made")
    with pytest.raises(PermissionError, match=r"made: this user may not write there\. Name another folder"):
        other.fit(loader())
    assert made.step == other.step == 0


def test_the_end_is_told_to_all_callbacks_whatever_one_of_them_raises() -> None:
    told: list[str] = []

    class Bad(Callback):
        def on_exception(self, trainer: Any, error: BaseException) -> None:
            raise KeyError("second")

        def on_end(self, trainer: Any) -> None:
            raise IndexError("third")

        def on_epoch_end(self, trainer: Any) -> None:
            raise RuntimeError("first")

    class Good(Callback):
        def on_exception(self, trainer: Any, error: BaseException) -> None:
            told.append(str(error))

        def on_end(self, trainer: Any) -> None:
            told.append(trainer.status)

    with pytest.raises(IndexError, match="third") as raised:
        trainer(callbacks=[Bad(), Good()]).fit(loader())
    assert told == ["first", "failed"]
    second = raised.value.__context__
    assert isinstance(second, KeyError)
    assert isinstance(second.__context__, RuntimeError)


def test_the_last_checkpoints_and_the_best_stay(tmp_path: Path) -> None:
    keeper = ModelCheckpoint(tmp_path, keep=2)
    made = trainer(callbacks=[Scripted(3, 1, 2, 2, 2, 2), keeper])
    made.fit(loader(), epochs=6)
    stored = checkpoint.files(tmp_path)
    assert [one.step for one in stored] == [8, 20, 24]
    summary = checkpoint.read_summary(stored[0].path)
    assert (summary.monitor, summary.value, summary.epoch) == ("val_loss", 1, 2)
    assert checkpoint.best_of(stored, made.run_id) == stored[0]


def test_checkpoints_of_another_training_are_left_alone(tmp_path: Path) -> None:
    trainer(checkpoint=tmp_path).fit(loader(), epochs=2)
    first = {one.path: one.path.read_bytes() for one in checkpoint.files(tmp_path)}
    made = trainer(callbacks=[ModelCheckpoint(tmp_path, keep=1, best=False)])
    made.fit(loader(), epochs=3)
    assert [one.step for one in checkpoint.files(tmp_path)] == [4, 8, 12]
    assert all(path.read_bytes() == content for path, content in first.items())
    again = trainer(checkpoint=tmp_path)
    again.fit(loader(), epochs=3, resume="last")
    assert again.run_id == made.run_id


def test_a_checkpoint_callback_says_where_to_resume(tmp_path: Path) -> None:
    trainer(callbacks=[ModelCheckpoint(tmp_path, every_steps=2)]).fit(loader())
    made = trainer(callbacks=[ModelCheckpoint(tmp_path, every_steps=2)])
    made.fit(loader(), epochs=2, resume="last")
    assert made.step == 8
    with pytest.raises(ValueError, match="leave one of the two away"):
        trainer(callbacks=[ModelCheckpoint(tmp_path)], checkpoint=tmp_path / "other")


def test_every_so_many_steps_and_when_interrupted(tmp_path: Path) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    keeper = ModelCheckpoint(tmp_path, every_steps=3, keep=9)
    made = trainer(callbacks=[keeper])
    made.model[2].register_forward_hook(lambda *_: interrupt(0) if made.step == 7 else None)
    with pytest.raises(KeyboardInterrupt):
        made.fit(loader(), epochs=3)
    assert [one.step for one in checkpoint.files(tmp_path)] == [3, 6, 7]


def test_the_rates_of_every_group() -> None:
    wb.manual_seed(0)
    model = wb.nn.Linear(3, 3)
    groups = [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.5}]
    optimizer = wb.optim.SGD(groups, lr=0.1)
    monitor = LearningRateMonitor()
    made = Trainer(
        model, wb.nn.CrossEntropyLoss(), optimizer, callbacks=[monitor], progress=False,
        scheduler=wb.optim.lr_scheduler.StepLR(optimizer, 2, 0.1),
    )  # fmt: skip
    made.fit(loader())
    np.testing.assert_allclose(monitor.rates, [[0.1, 0.01, 0.01, 0.001], [0.5, 0.05, 0.05, 0.005]])
    assert made.history.rates == pytest.approx([0.1, 0.1, 0.01, 0.01])


def test_the_log_holds_scalars_and_histograms(tmp_path: Path) -> None:
    made = trainer(callbacks=[TensorBoardLogger(tmp_path / "log", every=2)])
    history = made.fit(loader(), loader(), epochs=2)
    log = tensorboard.open(tmp_path / "log")
    assert log.problems == []
    written = log.runs["."]
    assert written.scalars["loss/train"].steps.tolist() == [2, 4, 6, 8]
    assert written.scalars["loss/train"].values == pytest.approx(history.losses[1::2])
    assert written.scalars["rate/learning"].values == pytest.approx(history.rates[1::2])
    assert written.scalars["accuracy/validation"].values == pytest.approx(
        [e.accuracy for e in history.epochs]
    )
    assert written.histograms["parameters/0/weight"].steps == [4, 8]
    with tensorboard.SummaryWriter(tmp_path / "mine") as log:
        trainer(log=log).fit(loader())
        log.add_scalar("after", 1.0, 1)
    assert tensorboard.scalars(tmp_path / "mine")["loss/epoch"].steps.tolist() == [4]


def test_the_log_holds_settings_and_what_became_of_each_layer(tmp_path: Path) -> None:
    settings = {"rate": 0.1, "kind": "sgd", "nesterov": False}
    logger = TensorBoardLogger(tmp_path / "a", histograms=False, hyperparameters=settings, layers=True)
    made = trainer(callbacks=[logger])
    before = made.model.get_parameter("0.weight").detach().numpy().astype(np.float64)
    made.fit(loader(), loader(), epochs=2)
    log = tensorboard.open(tmp_path)
    (row,) = log.hyperparameters()
    assert {name: row[name] for name in settings} == settings
    assert row["accuracy/validation"] == pytest.approx(made.history.epochs[-1].accuracy)
    written = log.runs["a"].scalars
    weight = made.model.get_parameter("0.weight").detach().numpy().astype(np.float64)
    assert written["layers/0/weight/norm"].values[-1] == pytest.approx(np.linalg.norm(weight), rel=1e-6)
    assert len(written["layers/0/weight/mean"]) == 2 and len(written["layers/0/weight/moved"]) == 1
    assert 0 < written["layers/0/weight/moved"].values[0] < np.linalg.norm(weight - before)
    assert not np.array_equal(weight, before)
    with pytest.raises(
        TypeError, match="hyperparameter 'sizes' is a text, a number or a truth value, got list"
    ):
        TensorBoardLogger(tmp_path, hyperparameters={"sizes": [1, 2]})


# ---------------------------------------------------------------------------------------------- live


def test_a_notebook_draws_the_history_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def show(thing: Any) -> Any:
        return lambda: drawn.append(len(thing))

    monkeypatch.setattr(renderer_lookup, "display_again", show)
    made = trainer(callbacks=[CellCurves(interval=30.0)])
    made.fit(loader(), epochs=2)
    assert drawn == [1, 8]  # the first step, then not before the interval is over; and the end
    with pytest.raises(ValueError, match="interval must be 0 seconds or more"):
        CellCurves(-1.0)


def test_live_curves_publish_and_say_all() -> None:
    seen: list[Any] = []
    stop = events.subscribe(LiveCurves, lambda source: seen.append(source))
    live = LiveCurves(interval=0)
    try:
        made = trainer(callbacks=[live], accumulate=2, name="clusters")
        made.fit(loader(), loader(), epochs=2)
    finally:
        stop()
    assert set(map(id, seen)) == {id(live)}
    assert len(seen) == 1 + 4 + 2 + 1
    state = live.payload()
    assert (state.title, state.state, state.message) == ("clusters", "finished", "")
    counters = state.counters
    assert (counters.epoch, counters.epochs, counters.step, counters.steps) == (2, 2, 4, 4)
    assert (counters.seconds_left, counters.batches) == (0.0, 4)
    curves = {(one.name, one.part): one for one in state.curves}
    assert curves["loss", "train"].values == made.history.losses
    assert curves["loss", "train"].steps == [1, 2, 3, 4]
    assert curves["gradient norm", "train"].means == made.history.norms
    assert curves["gradient norm", "train"].ends == [1, 2, 3, 4]
    assert curves["accuracy", "validation"].steps == [2, 4]
    updates, gradients, dead = state.strips
    assert updates.layers == gradients.layers == ["0", "1", "4"]
    assert dead.layers == ["2"]
    assert updates.steps == gradients.steps == dead.steps
    # The norms of the layers make up the norm of all gradients.
    first = [row[0] or 0.0 for row in gradients.values]
    assert math.hypot(*first) == pytest.approx(made.history.norms[0], rel=1e-5)
    assert [(one.epoch, one.step) for one in state.epochs] == [(1, 2), (2, 4)]
    assert updates.steps[0] == 1
    assert all(value is not None and 0 < value < 1 for row in updates.values for value in row)
    assert all(value is not None and 0 <= value <= 1 for row in dead.values for value in row)
    json.dumps(asdict(state), allow_nan=False)


def test_the_ratio_is_that_of_the_step() -> None:
    stop = events.subscribe(LiveCurves, lambda source: None)
    try:
        live = LiveCurves(interval=0)
        made = trainer(callbacks=[live])
        before = weights(made)
        made.fit(loader(), steps=1)
    finally:
        stop()
    moved = weights(made)["4.weight"] - before["4.weight"]
    bias = weights(made)["4.bias"] - before["4.bias"]
    size = np.sqrt((before["4.weight"] ** 2).sum() + (before["4.bias"] ** 2).sum())
    expected = np.sqrt((moved**2).sum() + (bias**2).sum()) / size
    strip = live.payload().strips[0]
    assert strip.values[strip.layers.index("4")][0] == pytest.approx(expected, rel=1e-5)


def test_nobody_looks_at_layers_while_nobody_listens() -> None:
    live = LiveCurves(interval=0)
    made = trainer(callbacks=[live])
    made.fit(loader())
    assert live.payload().strips == []
    with pytest.raises(RuntimeError, match="belong to no training yet"):
        LiveCurves().payload()


def test_a_long_training_keeps_few_points() -> None:
    stop = events.subscribe(LiveCurves, lambda source: None)
    try:
        live = LiveCurves(interval=0)
        made = trainer(callbacks=[live], scheduler=None)
        made.fit(loader(), epochs=125)
    finally:
        stop()
    state = live.payload()
    assert made.step == 500
    assert all(len(curve.steps) <= 2 * STRETCHES + 1 for curve in state.curves)
    assert len(state.epochs) <= 100
    assert all(len(strip.steps) <= 120 for strip in state.strips)
    assert state.strips[0].steps == sorted(state.strips[0].steps)
    assert all(len(row) == len(strip.steps) for strip in state.strips for row in strip.values)


def test_how_it_ended_is_told() -> None:
    states: list[str] = []
    stop = events.subscribe(LiveCurves, lambda source: states.append(source.payload().state))
    try:
        made = trainer()

        class Stop(Callback):
            def on_step_end(self, trainer: Trainer) -> None:
                trainer.stop("enough")

        made.callbacks.insert(0, Stop())
        made.fit(loader())
    finally:
        stop()
    assert states == ["running", "running", "stopped"]
    live = next(one for one in made.callbacks if isinstance(one, LiveCurves))
    assert live.payload().message == "enough"


def test_a_bar_says_what_there_is_with_units(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderer_lookup, "in_notebook", lambda: True)
    shown: list[Any] = []
    monkeypatch.setattr(renderer_lookup, "display_again", lambda thing: shown.append(thing) or (lambda: None))
    made = trainer(progress=True, scheduler=None)
    made.fit(loader(), loader(), epochs=2)
    last = repr(shown[-1])
    assert re.match(r"epoch 2/2: 100% 4/4, 00:00 left, loss \d\.\d\d\d?, accuracy 0\.\d{3}, val_loss ", last)
    assert last.endswith(" samples/s")
    assert capsys.readouterr().out == ""
    assert "batch/s" not in last


def test_a_log_that_cannot_be_closed_says_that_the_training_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = tensorboard.SummaryWriter.close

    def full(writer: Any) -> None:
        close(writer)
        raise OSError(28, "No space left on device")

    made = trainer(log=tmp_path)
    monkeypatch.setattr(tensorboard.SummaryWriter, "close", full)
    with pytest.raises(OSError, match="No space") as raised:
        made.fit(loader())
    assert raised.value.__notes__ == [f"while the log in {tmp_path} was closed: what was trained is whole"]
    assert (made.status, made.step) == ("finished", 4)
    monkeypatch.undo()
    made.fit(loader())  # with a log of its own again
    assert made.step == 8
