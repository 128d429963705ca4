"""Whatever goes wrong around a training, nothing of it is lost: errors of callbacks and metrics, odd loaders."""

from __future__ import annotations

import dataclasses
import itertools
import random
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.train.parts import loader, same, trainer, weights
from workbench.train import (
    Callback,
    CheckpointError,
    EarlyStopping,
    Metric,
    TopKAccuracy,
    checkpoint,
)
from workbench.train.position import Position

HOOKS = [
    "on_fit_start", "on_epoch_start", "on_batch_end", "on_step_end", "on_validation_start", "on_validation_end",
    "on_epoch_end", "on_fit_end",
]  # fmt: skip


class Fails(Callback):
    """Raises an error at one call of one hook."""

    def __init__(self, hook: str, call: int = 1) -> None:
        self.calls = 0

        def fail(trainer: Any, *_: Any) -> None:
            self.calls += 1
            if self.calls == call:
                raise OSError("the disk is full")

        setattr(self, hook, fail)


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("hook", HOOKS)
def test_an_error_of_a_callback_loses_nothing(hook: str, precision: Any) -> None:
    expected = trainer(seed=3, precision=precision, accumulate=2)
    expected.fit(loader(), loader(), epochs=2)
    made = trainer(seed=3, precision=precision, accumulate=2, callbacks=[Fails(hook)])
    with pytest.raises(OSError, match="the disk is full"):
        made.fit(loader(), loader(), epochs=2)
    assert made.status == "failed"
    made.fit(loader(), loader(), epochs=2, resume=True)
    same(weights(made), weights(expected))
    assert made.history.losses == expected.history.losses


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("hook", ["on_batch_start", "on_step_start"])
def test_an_error_before_a_step_leaves_that_step_out(hook: str, precision: Any) -> None:
    made = trainer(seed=3, precision=precision, callbacks=[Fails(hook, 2)])
    with pytest.raises(OSError, match="the disk is full"):
        made.fit(loader())
    assert (made.step, made.progress.group) == (1, 0)
    made.fit(loader(), resume=True)
    assert (made.step, made.epoch) == (3, 1)


class Broken(Metric):
    """Fails at its second batch."""

    name = "broken"
    calls = 0

    def update(self, predictions: Any, targets: Any) -> None:
        type(self).calls += 1
        if type(self).calls == 2:
            raise ZeroDivisionError("a metric")


def test_an_error_of_a_metric_loses_no_batch() -> None:
    expected = trainer(seed=3)
    expected.fit(loader(), epochs=2)
    made = trainer(seed=3, metrics=[Broken()])
    with pytest.raises(ZeroDivisionError, match="a metric"):
        made.fit(loader(), epochs=2)
    made.fit(loader(), epochs=2, resume=True)
    same(weights(made), weights(expected))


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array([0.5]), wb.tensor(0.5), 1, wb.tensor([1])])
def test_a_metric_may_give_its_number_in_any_form(value: Any) -> None:
    metric = type(
        "Half", (Metric,), {"name": "half", "compute": lambda self: value, "take": lambda *_: None}
    )()
    made = trainer(metrics=[metric])
    made.fit(loader(), loader())
    assert (
        made.history.epochs[-1].values["half"]
        == made.history.epochs[-1].values["val_half"]
        == float(wb.tensor(value).item())
    )


def test_a_loss_that_hangs_on_nothing_is_told() -> None:
    made = trainer()
    loss = made.loss
    assert loss is not None
    before = weights(made)
    made.loss = lambda predictions, targets: loss(predictions, targets).detach()
    with pytest.raises(wb.AutogradError, match="the loss does not depend on any parameter"):
        made.fit(loader())
    made.loss = lambda predictions, targets: loss(predictions, targets) * 1j
    with pytest.raises(TypeError, match=r"as a real tensor, .*; got a complex64 tensor"):
        made.fit(loader())
    same(weights(made), before)


# ---------------------------------------------------------------------------------------------- loaders


def test_odd_loaders() -> None:
    batches = list(loader())
    made = trainer()
    assert made.fit(itertools.cycle(batches), steps=6).steps == range(1, 7)
    with pytest.raises(ValueError, match="the loader has no batches any more: it can be gone over once"):
        trainer().fit((one for one in batches), epochs=2)
    for wrong, words in ((3, "int cannot"), (None, "NoneType cannot"), (np.ones((2, 2)), "this is an array")):
        for use in (made.fit, made.predict, made.evaluate):
            with pytest.raises(TypeError, match=words):
                use(wrong)
    summed = trainer()
    summed.loss = wb.nn.CrossEntropyLoss(reduction="sum")
    summed.loss_is_sum = True
    nobody = (wb.zeros(0, 8, names=("N", None)), wb.zeros(0, dtype="int64", names=("N",)))
    summed.model = wb.nn.Linear(8, 3)
    with pytest.raises(ValueError, match="there is nothing to evaluate"):
        summed.evaluate([nobody])


def test_an_epoch_that_ends_with_the_last_step_is_closed() -> None:
    made = trainer()
    made.fit(loader(), steps=4)
    assert (made.epoch, made.step, len(made.history.epochs)) == (1, 4, 1)


def test_resume_is_one_of_few_things(tmp_path: Path) -> None:
    made = trainer(checkpoint=tmp_path)
    made.fit(loader(), resume=False)
    assert made.step == 4
    with pytest.raises(TypeError, match="resume is True, 'last', 'best' or a path, got int"):
        made.fit(loader(), resume=3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        made.fit(loader(), resume=tmp_path / "none")
    assert made.step == 4


def test_a_list_that_has_become_shorter_is_refused() -> None:
    batches = list(loader())
    position = Position(batches)
    for _ in zip(range(3), position.batches(), strict=False):
        pass
    with pytest.raises(
        CheckpointError, match="3 batches of the epoch were learned from, and the loader has 2"
    ):
        Position(batches[:2]).load_state_dict(position.state_dict())


def test_one_loader_for_training_and_validation_goes_on_exactly() -> None:
    """An interrupt amid a validation that goes over the loader of the training."""
    expected, batches = trainer(seed=3), loader()
    expected.fit(batches, batches, epochs=3)
    made, batches = trainer(seed=3), loader()
    count = [0]

    def interrupt(module: Any, *_: Any) -> None:
        count[0] += not module.training
        if count[0] == 2:
            count[0] += 1
            signal.raise_signal(signal.SIGINT)

    made.model.register_forward_hook(interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            made.fit(batches, batches, epochs=3)
    finally:
        signal.signal(signal.SIGINT, before)
    made.fit(batches, batches, epochs=3, resume=True)
    same(weights(made), weights(expected))


def test_time_that_it_was_held_does_not_count() -> None:
    made = trainer()

    class Hold(Callback):
        def on_step_end(self, trainer: Any) -> None:
            if trainer.step == 2:
                trainer.pause()
                threading.Timer(0.5, trainer.resume).start()

    made.callbacks.append(Hold())
    made.fit(loader())
    assert made.progress.seconds < 0.4


def test_a_stop_by_hand_leaves_the_weights_to_go_on_with() -> None:
    expected = trainer(seed=3)
    expected.fit(loader(), loader(), epochs=4)

    class Stop(Callback):
        def on_step_end(self, trainer: Any) -> None:
            if trainer.step == 6:
                trainer.stop()

    stopping = EarlyStopping(patience=50, restore_best=True)
    made = trainer(seed=3, callbacks=[stopping, Stop()])
    made.fit(loader(), loader(), epochs=4)
    assert made.step == 6
    stopping.restore_best, stopping._weights = False, None
    made.fit(loader(), loader(), epochs=4, resume=True)
    same(weights(made), weights(expected))


# ------------------------------------------------------------------------------------- what is no number


def test_what_is_no_number_is_never_the_best() -> None:
    nan = float("nan")
    stopping, values = EarlyStopping("loss", patience=9), iter([nan, 2.0, 1.0, nan])

    class Epochs(Callback):
        order = -1

        def on_epoch_end(self, trainer: Any) -> None:
            last = trainer.history.epochs[-1]
            trainer.history.epochs[-1] = dataclasses.replace(last, loss=next(values))

    made = trainer(callbacks=[stopping, Epochs()])
    history = made.fit(loader(), epochs=4)
    assert (stopping.best, stopping.best_epoch, stopping.waited) == (1.0, 3, 1)
    best = history.best("loss")
    assert best is not None
    assert best.number == 3
    scores = TopKAccuracy(2)
    scores.update(wb.tensor([[nan, 1.0, 0.0], [2.0, 1.0, 0.0]]), wb.tensor([0, 0]))
    assert scores.compute() == 0.5


def test_a_seed_starts_every_stream() -> None:
    drawn = []
    for _ in range(2):
        made = trainer()
        made.seed = 7
        made.fit(loader(), steps=1)
        drawn.append((random.random(), np.random.random()))
    assert drawn[0] == drawn[1]


def test_arrays_come_back_in_the_order_they_lay_in_memory(tmp_path: Path) -> None:
    array = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    summary = checkpoint.Summary("r", 0, 0, 0.0)
    checkpoint.save({"a": array, "t": wb.from_numpy(array)}, tmp_path / "a.safetensors", summary)
    found = checkpoint.load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(found["a"], array)
    assert found["a"].strides == found["t"].numpy().strides == array.strides


def test_what_does_not_fit_together_is_told() -> None:
    made = trainer()
    with pytest.raises(ValueError, match="of another optimizer than the one that is passed here"):
        trainer(scheduler=made.schedule.scheduler)
    metric = made.metrics["accuracy"]
    with pytest.raises(TypeError, match=r"accuracy compares one tensor of scores .*, and this is a dict"):
        metric.update({"scores": wb.ones(2, 3)}, wb.ones(2))
