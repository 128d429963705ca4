"""Live curves: what a panel beside the notebook draws while a training runs."""

from __future__ import annotations

import math
import time
from typing import Any

from workbench.base import events
from workbench.train.callbacks.base import Callback
from workbench.train.callbacks.layers import LayerWatch
from workbench.train.curves import smooth, spikes, thin
from workbench.train.payload import Counters, Curve, Strip, TrainingState

__all__ = ["LiveCurves"]

TOPIC = "training"
POINTS = 400
"""Most points of a curve that travel."""
COLUMNS = 120
"""Most columns of a strip; beyond that every second one goes, and looking becomes rarer."""


class LiveCurves(Callback):
    """Announces itself on ``"training"`` after every step; `payload` is what a view draws.

    Losses, rates and norms are the history's. Layers (how far a step moved the weights, which units are dead) are
    looked at only while somebody listens, at most every `interval` seconds.
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
        self._strips: dict[str, list[dict[str, float]]] = {"update / weight": [], "dead units": []}

    # -------------------------------------------------------------------------------------------- watching

    def on_fit_start(self, trainer: Any) -> None:
        """Say that a training begins."""
        self.trainer = trainer
        events.publish(TOPIC, self)

    def on_batch_start(self, trainer: Any) -> None:
        """Begin to look at the layers, if it is time and somebody wants to know."""
        full = trainer.progress.group == trainer.accumulate - 1
        if full and events.listening(TOPIC) and time.monotonic() >= self._due:
            self._watch = LayerWatch(trainer.model)

    def on_step_start(self, trainer: Any) -> None:
        """Keep the weights as they are."""
        if self._watch is not None:
            self._watch.before_step()

    def on_step_end(self, trainer: Any) -> None:
        """Compare, and say that there is something new."""
        if self._watch is not None:
            started = time.monotonic()
            updates, dead = self._watch.after_step()
            self._watch = None
            self._steps.append(trainer.step)
            self._strips["update / weight"].append(updates)
            self._strips["dead units"].append(dead)
            self._halve()
            # Looking takes at most a twentieth of the time.
            self._due = started + max(self.interval, 20 * (time.monotonic() - started))
        events.publish(TOPIC, self)

    def _halve(self) -> None:
        if len(self._steps) > COLUMNS:
            self.interval *= 2
            del self._steps[::2]
            for columns in self._strips.values():
                del columns[::2]

    def on_epoch_end(self, trainer: Any) -> None:
        """Say that there is something new."""
        events.publish(TOPIC, self)

    def on_pause(self, trainer: Any) -> None:
        """Say that training waits."""
        events.publish(TOPIC, self)

    def on_resume(self, trainer: Any) -> None:
        """Say that it goes on."""
        events.publish(TOPIC, self)

    def on_exception(self, trainer: Any, error: BaseException) -> None:
        """Look no longer."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def on_end(self, trainer: Any) -> None:
        """Say how it ended."""
        events.publish(TOPIC, self)

    # ---------------------------------------------------------------------------------------- what is drawn

    def payload(self) -> TrainingState:
        """Return all that a view draws; RuntimeError before the training began."""
        trainer = self.trainer
        if trainer is None:
            raise RuntimeError("these curves belong to no training yet: give them to a Trainer, and call fit")
        history = trainer.history
        count = min(len(getattr(history, name)) for name in ("losses", "rates", "norms", "speeds"))
        first = history.first
        found = [
            _curve("loss", "loss", first, history.losses[:count]),
            _curve("learning rate", "rate", first, history.rates[:count], smoothed=False),
            _curve("gradient norm", "norm", first, history.norms[:count]),
            _curve("throughput", "throughput", first, history.speeds[:count]),
        ]
        return TrainingState(
            title=trainer.name,
            state=trainer.status,
            message=trainer.message,
            counters=_counters(trainer),
            curves=[*found, *_by_epoch(history)],
            strips=self._drawn(),
            spikes=[first + i for i in spikes(history.losses[:count])],
        )

    def _drawn(self) -> list[Strip]:
        strips = []
        steps = list(self._steps)
        for name in ("update / weight", "dead units"):
            columns = self._strips[name][: len(steps)]
            layers = list(dict.fromkeys(layer for column in columns for layer in column))
            if layers:
                values = [[_plain(column.get(layer, math.nan)) for column in columns] for layer in layers]
                strips.append(Strip(name, layers, steps[: len(columns)], values))
        return strips


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _curve(name: str, kind: Any, first: int, values: list[float], *, smoothed: bool = True) -> Curve:
    chosen = thin(values, POINTS)
    running = smooth(values) if smoothed else []
    return Curve(
        name, kind, "train", [first + i for i in chosen], [_plain(values[i]) for i in chosen],
        [_plain(running[i]) for i in chosen] if smoothed else [],
    )  # fmt: skip


def _by_epoch(history: Any) -> list[Curve]:
    """The curves with a value an epoch: validation, and the metrics."""
    found: list[Curve] = []
    epochs = list(history.epochs)
    for part, entries in (
        ("train", [epoch.metrics for epoch in epochs]),
        ("validation", [epoch.validation for epoch in epochs]),
    ):
        for name in dict.fromkeys(key for entry in entries for key in entry):
            values = [_plain(entry.get(name, math.nan)) for entry in entries]
            kind: Any = "loss" if name == "loss" else "metric"
            found.append(Curve(name, kind, part, [epoch.step for epoch in epochs], values, []))  # type: ignore[arg-type]
    return found


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
