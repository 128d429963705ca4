"""Live curves: what a panel beside the notebook draws while a training runs."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import numpy as np

from workbench.base import events
from workbench.train.callbacks.base import Callback
from workbench.train.callbacks.layers import LayerWatch
from workbench.train.control import Control
from workbench.train.downsampling import Peaks
from workbench.train.errors import TrainingError
from workbench.train.history_curves import Lines
from workbench.train.payload import Counters, Failure, Mark, Spike, Strip, StripName, TrainingState

__all__ = ["LiveCurves"]

COLUMNS = 120
"""Most columns of a strip; beyond that every second one goes, and looking becomes rarer."""
MOST_LAYERS = 200
"""Most layers of a strip that travel, an even choice."""
MOST_MARKS = 100
"""Most epochs whose ends are marked; of more every second, fourth, eighth …"""
STRIPS: tuple[StripName, ...] = ("update / weight", "gradient norm", "dead units")


class LiveCurves(Callback):
    """Announces itself after every step; `payload` is what a view draws.

    Losses, rates and norms are the history's. Layers (their gradients, how far a step moved the weights, which units
    are dead) are looked at only while somebody listens, at most every `interval` seconds.
    """

    order = 50

    def __init__(self, interval: float = 0.5) -> None:
        if not interval >= 0:
            raise ValueError(f"interval must be 0 seconds or more, got {interval}")
        self.interval = interval
        self.trainer: Any = None
        self._watch: LayerWatch | None = None
        self._due = 0.0
        self._steps: list[int] = []
        self._strips: dict[StripName, list[dict[str, float]]] = {name: [] for name in STRIPS}
        self._failure: Failure | None = None
        # A picture takes its time under `_lock`; the training itself only ever waits for `_looking`, which is
        # held for a moment.
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._lines: Lines | None = None
        self._peaks = Peaks()

    # -------------------------------------------------------------------------------------------- watching

    def on_fit_start(self, trainer: Any) -> None:
        """Say that a training begins."""
        self.trainer, self._failure = trainer, None
        events.publish(self)

    def on_batch_start(self, trainer: Any) -> None:
        """Begin to look at the layers, if it is time and somebody wants to know."""
        # At the last batch of a step: before it gradients are not whole.
        full = trainer.progress.group == trainer.accumulate - 1
        if full and events.listening(self) and time.monotonic() >= self._due:
            self._watch = LayerWatch(trainer.model)

    def on_step_start(self, trainer: Any) -> None:
        """Keep the weights as they are."""
        if self._watch is not None:
            self._watch.before_step()

    def on_step_end(self, trainer: Any) -> None:
        """Compare, and say that there is something new."""
        if self._watch is not None:
            started = time.monotonic()
            found = self._watch.after_step()
            self._watch = None
            with self._looking:
                for name, columns in self._strips.items():
                    columns.append(found[name])
                self._steps.append(trainer.step)
                self._halve()
            # Looking takes at most a twentieth of the time.
            self._due = started + max(self.interval, 20 * (time.monotonic() - started))
        events.publish(self)

    def _halve(self) -> None:
        if len(self._steps) > COLUMNS:
            self.interval *= 2
            del self._steps[::2]
            for columns in self._strips.values():
                del columns[::2]

    def on_epoch_end(self, trainer: Any) -> None:
        """Say that there is something new."""
        events.publish(self)

    def on_pause(self, trainer: Any) -> None:
        """Say that training waits."""
        events.publish(self)

    def on_resume(self, trainer: Any) -> None:
        """Say that it goes on."""
        events.publish(self)

    def on_exception(self, trainer: Any, error: BaseException) -> None:
        """Look no longer, and keep what is to blame."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if isinstance(error, TrainingError):
            self._failure = Failure(type(error).__name__, error.step, error.culprit)
        elif not isinstance(error, KeyboardInterrupt):
            self._failure = Failure(type(error).__name__)

    def on_end(self, trainer: Any) -> None:
        """Say how it ended."""
        events.publish(self)

    # ---------------------------------------------------------------------------------------- what is drawn

    def payload(self) -> TrainingState:
        """Return all that a view draws; RuntimeError before the training began. May be called from any thread.

        It costs what came since the last call, however long the training is.
        """
        trainer = self.trainer
        if trainer is None:
            raise RuntimeError("these curves belong to no training yet: give them to a Trainer, and call fit")
        history, control = trainer.history, trainer.control
        with self._lock:
            if self._lines is None or self._lines.history is not history:
                self._lines = Lines(history)
            complete = self._peaks.follow(history.losses, self._lines.count)
            # A list of its own: the training may be adding an epoch.
            epochs = list(history.epochs)
            # A power of two, so that marks go when there are too many, and none of the rest moves.
            every = 1 << max(0, math.ceil(math.log2(max(1, len(epochs)) / MOST_MARKS)))
            return TrainingState(
                title=trainer.name,
                state=trainer.status,
                message=trainer.message,
                counters=_counters(trainer),
                asked="stop" if control.asked_to_stop() else "pause" if _is_to_wait(control) else "",
                failure=self._failure,
                curves=self._lines.curves(),
                strips=self._drawn(),
                spikes=[
                    Spike(history.first + one.position, one.value, one.usual) for one in self._peaks.found
                ],
                epochs=[Mark(one.number, one.step) for one in epochs if one.number % every == 0],
                complete=complete,
            )

    def _drawn(self) -> list[Strip]:
        strips = []
        with self._looking:
            steps = list(self._steps)
            gathered = {name: list(columns) for name, columns in self._strips.items()}
        for name, columns in gathered.items():
            layers = list(dict.fromkeys(layer for column in columns for layer in column))
            # Of many layers some from the whole depth of the model, not the first ones.
            places = np.unique(np.linspace(0, len(layers) - 1, min(len(layers), MOST_LAYERS)).astype(int))
            shown = [layers[i] for i in places.tolist()]
            if shown:
                values = [[_plain(column.get(layer, math.nan)) for column in columns] for layer in shown]
                strips.append(Strip(name, shown, steps, values, len(layers) - len(shown)))
        return strips


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _is_to_wait(control: Control) -> bool:
    """Say whether a pause is asked for and has not begun."""
    return control.state == "running" and control.asked_to_wait()


def _counters(trainer: Any) -> Counters:
    progress, loop = trainer.progress, trainer.loop
    length = None if loop is None else loop.position.length
    ends = [] if loop is None or loop.steps is None else [loop.steps]
    if loop is not None and loop.epochs is not None and length is not None:
        per_epoch = math.ceil(length / trainer.accumulate)
        done = progress.batch // trainer.accumulate
        ends.append(progress.step - done + (loop.epochs - progress.epoch) * per_epoch)
    last = min(ends) if ends else None
    taken = progress.step - progress.first_step
    rate = trainer.history.speeds[-1] if trainer.history.speeds else None
    left = None if last is None or not taken else (last - progress.step) * progress.seconds / progress.step
    return Counters(
        epoch=progress.epoch,
        epochs=None if loop is None else loop.epochs,
        step=progress.step,
        steps=last,
        batch=progress.batch,
        batches=length,
        samples=progress.epoch_samples,
        skipped=progress.skipped,
        seconds=progress.seconds,
        seconds_left=left,
        rate=rate,
    )
