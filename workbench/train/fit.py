"""The training loop."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tqdm import tqdm

from workbench.base import events
from workbench.ops.loss import cross_entropy
from workbench.train.evaluate import evaluate, mode
from workbench.train.history import Epoch, History

__all__ = ["Log", "Training", "TrainingError", "fit"]

Loss = Callable[[Any, Any], Any]


class TrainingError(RuntimeError):
    """A training that cannot go on."""


class Log(Protocol):
    """What a training writes to, such as `workbench.export.tensorboard.SummaryWriter`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        """Write one number."""

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None:
        """Write how values are distributed."""


@dataclass
class Training:
    """Where a training is; this object is published on ``"training"`` after every step."""

    model: Any
    optimizer: Any
    epochs: int
    steps_per_epoch: int
    epoch: int = 0
    """The current one, from 1."""
    step: int = 0
    """Steps taken so far."""
    loss: float = math.nan
    """Loss of the last step."""
    rate: float = 0.0
    """Samples a second in this epoch."""
    history: History = field(default_factory=History)
    stopped: bool = False
    """True once `on_step` has asked to end."""


def fit(
    model: Any,
    loader: Any,
    optimizer: Any,
    loss: Loss = cross_entropy,
    *,
    epochs: int = 1,
    scheduler: Any = None,
    validation: Any = None,
    on_step: Callable[[Training], Any] | None = None,
    log: Log | None = None,
    log_every: int = 10,
    progress: bool = True,
) -> History:
    """Train `model` on the batches (input, target) of `loader`, and return the loss of every step and epoch.

    `scheduler` changes the learning rate after every step. `validation` is a loader on which accuracy is measured
    after every epoch. `on_step` is called with the `Training` after every step; returning False ends the training.
    `log` gets the loss and the rate every `log_every` steps, accuracy and the distribution of every parameter after
    every epoch. `progress` shows a bar.

    Raises `TrainingError`, before the step changes a parameter, where the loss is not a finite number.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.eye(3, names=("N", "C")), wb.arange(3, names=("N",)))
    >>> model = wb.nn.Linear(3, 3)
    >>> optimizer = wb.optim.SGD(model.parameters(), lr=1.0)
    >>> history = fit(model, wb.data.DataLoader(data, 3), optimizer, epochs=9, progress=False)
    >>> history.losses[-1] < history.losses[0]
    True
    """
    _check(epochs, log_every, len(loader))
    training = Training(model, optimizer, epochs, len(loader))
    observers = [_Logger(log, log_every)] if log is not None else []
    with mode(model, training=True):
        while training.epoch < epochs and not training.stopped:
            training.epoch += 1
            started = time.perf_counter()
            with _bar(training, progress) as bar:
                mean, count = _one_epoch(training, loader, loss, scheduler, on_step, observers, bar)
                seconds = time.perf_counter() - started
                accuracy = None if validation is None else evaluate(model, validation, loss).accuracy
                right = "" if accuracy is None else f", accuracy {accuracy:.4f}"
                bar.set_postfix_str(f"loss {mean:.4f}, {count / seconds:.0f} img/s{right}")
            training.history.epochs.append(Epoch(training.epoch, mean, seconds, count / seconds, accuracy))
            for observer in observers:
                observer.epoch(training)
    return training.history


def _check(epochs: int, log_every: int, batches: int) -> None:
    if epochs < 1:
        raise ValueError(f"epochs must be 1 or more, got {epochs}")
    if log_every < 1:
        raise ValueError(f"log_every must be 1 or more, got {log_every}")
    if batches == 0:
        raise ValueError("there is nothing to learn from: the loader has no batches")


def _bar(training: Training, progress: bool) -> Any:
    label = f"epoch {training.epoch}/{training.epochs}"
    return tqdm(
        total=training.steps_per_epoch, desc=label, unit="batch", file=sys.stdout, disable=not progress
    )


def _one_epoch(
    training: Training,
    loader: Any,
    loss: Loss,
    scheduler: Any,
    on_step: Callable[[Training], Any] | None,
    observers: list[_Logger],
    bar: Any,
) -> tuple[float, int]:
    """Go over the data once; return the mean loss, and of how many samples."""
    started = time.perf_counter()
    total, count = 0.0, 0
    for inputs, targets in loader:
        training.loss = _step(training, inputs, targets, loss)
        total, count = total + training.loss * inputs.shape[0], count + inputs.shape[0]
        training.rate = count / (time.perf_counter() - started)
        training.step += 1
        training.history.losses.append(training.loss)
        if scheduler is not None:
            scheduler.step()
        events.publish("training", training)
        for observer in observers:
            observer.step(training)
        bar.set_postfix_str(f"loss {training.loss:.4f}, {training.rate:.0f} img/s", refresh=False)
        bar.update()
        if on_step is not None and on_step(training) is False:
            training.stopped = True
            break
    return total / count, count


def _step(training: Training, inputs: Any, targets: Any, loss: Loss) -> float:
    """Learn from one batch; return its loss."""
    training.optimizer.zero_grad()
    value = loss(training.model(inputs), targets)
    number = float(value.item())
    if not math.isfinite(number):
        raise TrainingError(
            f"the loss is {number} at step {training.step + 1} (epoch {training.epoch} of {training.epochs}): training "
            "stopped, and this step changed no parameter. Look for NaN in the inputs, or try a smaller learning rate."
        )
    value.backward()
    training.optimizer.step()
    return number


@dataclass(frozen=True)
class _Logger:
    """Writes a training to a log."""

    log: Log
    every: int

    def step(self, training: Training) -> None:
        """Write the loss and the rate, at every so many steps."""
        if training.step % self.every == 0:
            self.log.add_scalar("loss/train", training.loss, training.step)
            self.log.add_scalar("rate/samples_per_second", training.rate, training.step)

    def epoch(self, training: Training) -> None:
        """Write the epoch's mean loss, its accuracy, and how the parameters are distributed."""
        last = training.history.epochs[-1]
        self.log.add_scalar("loss/epoch", last.loss, training.step)
        if last.accuracy is not None:
            self.log.add_scalar("accuracy/validation", last.accuracy, training.step)
        for name, parameter in training.model.named_parameters():
            self.log.add_histogram(f"parameters/{name.replace('.', '/')}", parameter, training.step)
