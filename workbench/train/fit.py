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
from workbench.ops.normalise import cross_entropy
from workbench.train.evaluate import evaluate, mode
from workbench.train.history import Epoch, History

__all__ = ["Log", "Training", "TrainingError", "fit"]


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
    """Where a training is; what is published on ``"training"`` after every step."""

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


def fit(
    model: Any,
    loader: Any,
    optimizer: Any,
    loss: Callable[[Any, Any], Any] = cross_entropy,
    *,
    epochs: int = 1,
    validation: Any = None,
    on_step: Callable[[Training], Any] | None = None,
    log: Log | None = None,
    log_every: int = 10,
    progress: bool = True,
) -> History:
    """Train `model` on the batches (input, target) of `loader`, and return the loss of every step and epoch.

    `validation` is a loader on which accuracy is measured after every epoch. `on_step` is called with the `Training`
    after every step; returning False ends the training. `log` gets the loss and the rate every `log_every` steps,
    accuracy and the distribution of every parameter after every epoch. `progress` shows a bar.

    Raises `TrainingError`, before the step changes a parameter, where the loss is not a finite number.
    """
    _check(epochs, log_every, len(loader))
    training = Training(model, optimizer, epochs, len(loader))
    with mode(model, training=True):
        for epoch in range(1, epochs + 1):
            training.epoch = epoch
            go_on = _one_epoch(training, loader, loss, on_step, log, log_every, progress, validation)
            if not go_on:
                break
    return training.history


def _check(epochs: int, log_every: int, batches: int) -> None:
    if epochs < 1:
        raise ValueError(f"epochs must be 1 or more, got {epochs}")
    if log_every < 1:
        raise ValueError(f"log_every must be 1 or more, got {log_every}")
    if batches == 0:
        raise ValueError("there is nothing to learn from: the loader has no batches")


def _one_epoch(
    training: Training,
    loader: Any,
    loss: Callable[[Any, Any], Any],
    on_step: Callable[[Training], Any] | None,
    log: Log | None,
    log_every: int,
    progress: bool,
    validation: Any,
) -> bool:
    """Go over the data once; say whether to go on."""
    started = time.perf_counter()
    total, count, go_on = 0.0, 0, True
    label = f"epoch {training.epoch}/{training.epochs}"
    with tqdm(
        total=len(loader), desc=label, unit="batch", file=sys.stdout, disable=not progress, leave=True
    ) as bar:
        for inputs, targets in loader:
            size = inputs.shape[0]
            training.loss = _step(training, inputs, targets, loss)
            total, count = total + training.loss * size, count + size
            training.rate = count / (time.perf_counter() - started)
            training.step += 1
            training.history.losses.append(training.loss)
            events.publish("training", training)
            if log is not None and training.step % log_every == 0:
                log.add_scalar("loss/train", training.loss, training.step)
                log.add_scalar("rate/samples a second", training.rate, training.step)
            bar.set_postfix_str(f"loss {training.loss:.4f}, {training.rate:.0f} img/s", refresh=False)
            bar.update()
            if on_step is not None and on_step(training) is False:
                go_on = False
                break
        seconds = time.perf_counter() - started
        accuracy = None if validation is None else evaluate(training.model, validation, loss).accuracy
        right = "" if accuracy is None else f", accuracy {accuracy:.4f}"
        bar.set_postfix_str(f"loss {total / count:.4f}, {count / seconds:.0f} img/s{right}")
    training.history.epochs.append(Epoch(training.epoch, total / count, seconds, count / seconds, accuracy))
    if log is not None:
        _log_epoch(log, training, accuracy)
    return go_on


def _step(training: Training, inputs: Any, targets: Any, loss: Callable[[Any, Any], Any]) -> float:
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


def _log_epoch(log: Log, training: Training, accuracy: float | None) -> None:
    log.add_scalar("loss/epoch", training.history.epochs[-1].loss, training.step)
    if accuracy is not None:
        log.add_scalar("accuracy/validation", accuracy, training.step)
    for name, parameter in training.model.named_parameters():
        log.add_histogram(f"parameters/{name.replace('.', '/')}", parameter, training.step)
