"""A training as a live view: its curves, its layers over time, and buttons that reach it while its cell runs."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.live.messages import (
    Head,
    PauseEvent,
    ResumeEvent,
    StopEvent,
    TrainingCounters,
    TrainingCurve,
    TrainingFailure,
    TrainingMark,
    TrainingRun,
    TrainingSpike,
    TrainingState,
    TrainingStrip,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.train import History, LiveCurves, Trainer, payload
from workbench.train.history_curves import Lines
from workbench.widgets.base import HearingWidget

__all__ = ["TrainingModel", "TrainingWidget", "training"]

LONGEST = 200
"""Most characters of a name that travel."""

LONGEST_MESSAGE = 2_000
"""Most characters of what an error says that travel."""

MOST_OTHERS = 7
"""Most trainings that one is compared with: no more colours can be told apart."""

OTHER_STRETCHES = 128
"""Stretches of steps that are kept apart of each of them: they travel with every picture."""

BEGIN = "trainer.fit(loader, validation, epochs=5)"
"""What fills the view."""


class TrainingModel(ViewModel):
    """Draws the training that `curves` belong to, and pauses, resumes and stops it as a person asks.

    It does not keep the training alive: of one that is gone the last picture stays.
    """

    view = "training"

    def __init__(
        self, curves: LiveCurves, source: str = "", others: Mapping[str, History] | None = None
    ) -> None:
        super().__init__()
        # Weakly: a picture is no reason to keep a model and all that trained it.
        self._curves = weakref.ref(curves)
        self._source = source
        self._others = {name: Lines(history, OTHER_STRETCHES) for name, history in (others or {}).items()}
        self._lock = threading.Lock()
        self._last: payload.TrainingState | None = None

    @property
    def curves(self) -> LiveCurves | None:
        """What is drawn; None where that is gone."""
        return self._curves()

    def changed(self) -> None:
        """Tell every listener; of a training that has ended the picture is kept first."""
        curves = self._curves()
        # Once it has ended the training may go at any time, and this is the last chance to look.
        if curves is not None and curves.trainer is not None and not curves.trainer.control.active:
            self._look()
        super().changed()

    def _look(self) -> payload.TrainingState:
        curves = self._curves()
        with self._lock:
            if curves is not None:
                self._last = curves.payload()
            if self._last is None:
                raise RuntimeError("this training is gone, and no picture of it was made")
            return self._last

    # ---------------------------------------------------------------------------------------- picture

    def snapshot(self) -> Snapshot:
        """Return all that is known of the training; it costs what came since the last picture."""
        found = self._look()
        buffers: list[bytes] = []
        state = TrainingState(
            kind="training",
            head=Head(
                found.title[:LONGEST],
                self._source,
                self.made,
                found.state in ("running", "paused"),
                "wb.widgets.training(trainer)",
            ),
            status=found.state,
            asked=found.asked,
            message=found.message[:LONGEST_MESSAGE],
            failure=None if found.failure is None else TrainingFailure(**vars(found.failure)),
            counters=TrainingCounters(**vars(found.counters)),
            curves=[_curve(one, buffers) for one in found.curves],
            strips=[_strip(one, buffers) for one in found.strips],
            spikes=[TrainingSpike(**vars(one)) for one in found.spikes],
            epochs=[TrainingMark(**vars(one)) for one in found.epochs],
            others=[
                TrainingRun(name[:LONGEST], [_curve(one, buffers) for one in lines.curves()])
                for name, lines in self._others.items()
            ],
            advice=_advice(found, self._curves()),
        )
        # Peaks are still to be looked for, so another picture is due although nothing changes.
        if not found.complete:
            self.changed()
        return Snapshot(state, tuple(buffers))

    # ----------------------------------------------------------------------------------------- events

    def handle(self, event: object) -> None:
        """Pause, resume or stop the training. Raises `Refused` where that does not fit what it does."""
        # One look, kept: the training is held weakly, and may be gone at the next.
        curves = self._curves()
        trainer = None if curves is None else curves.trainer
        if trainer is None:
            raise Refused("this training is gone from the kernel; what is shown is its last picture")
        match event:
            case PauseEvent():
                self._pause(trainer)
            case ResumeEvent():
                self._resume(trainer)
            case StopEvent():
                self._stop(trainer)
            case _:
                raise Refused("a training is paused, resumed and stopped, and nothing else")
        self.changed()

    def _pause(self, trainer: Trainer) -> None:
        if trainer.control.asked_to_stop():
            raise Refused("it stops after this batch, so that there is nothing to pause")
        if trainer.control.asked_to_wait():
            raise Refused(
                "it is paused already" if trainer.status == "paused" else "it pauses after this batch"
            )
        if not trainer.pause():
            raise Refused(_nothing_runs(trainer, "pause"))

    def _resume(self, trainer: Trainer) -> None:
        if trainer.control.active and not trainer.control.asked_to_wait():
            raise Refused("it is not paused: it runs")
        if not trainer.resume():
            raise Refused(_nothing_runs(trainer, "resume"))

    def _stop(self, trainer: Trainer) -> None:
        if trainer.control.asked_to_stop():
            raise Refused("it stops after this batch already")
        if not trainer.stop():
            raise Refused(_nothing_runs(trainer, "stop"))


def _nothing_runs(trainer: Trainer, what: str) -> str:
    ended = {
        "idle": "the training has not begun",
        "stopped": f"the training was stopped at step {trainer.step:,}",
        "finished": f"the training has finished, after {trainer.step:,} steps",
        "failed": f"the training ended with an error at step {trainer.step:,}",
    }
    words = ended.get(trainer.status, "the training is just ending")
    hint = "trainer.fit(…, resume=True) goes on with it" if trainer.step else "trainer.fit(…) begins it"
    return f"there is nothing to {what}: {words}; {hint}"


def _advice(found: payload.TrainingState, curves: LiveCurves | None) -> str:
    """Return code that begins the training, or goes on with it; none where that is gone or runs."""
    if curves is None or curves.trainer is None or found.state not in ("idle", "stopped", "failed"):
        return ""
    progress, counters = curves.trainer.progress, found.counters
    if found.state == "idle":
        return BEGIN
    if counters.epochs is not None:
        return (
            f"trainer.fit(loader, validation, epochs={counters.epochs - progress.first_epoch}, resume=True)"
        )
    return (
        f"trainer.fit(loader, validation, steps={(counters.steps or 0) - progress.first_step}, resume=True)"
    )


def _curve(curve: payload.Curve, buffers: list[bytes]) -> TrainingCurve:
    points, stretches = len(curve.steps), len(curve.ends)
    buffers.append(_rows(curve.steps, curve.values).tobytes())
    buffers.append(_rows(curve.ends, curve.means, curve.counts).tobytes())
    return TrainingCurve(
        curve.name[:LONGEST], curve.kind, curve.part,
        points, len(buffers) - 2, stretches, len(buffers) - 1, curve.missing,
    )  # fmt: skip


def _rows(*rows: Sequence[float | None]) -> Any:
    return np.array([[math.nan if one is None else one for one in row] for row in rows], "<f8")


def _strip(strip: payload.Strip, buffers: list[bytes]) -> TrainingStrip:
    buffers.append(_rows(*strip.values).astype("<f4").tobytes())
    layers = [layer[:LONGEST] for layer in strip.layers]
    return TrainingStrip(strip.name, layers, strip.left_out, strip.steps, len(buffers) - 1)


def model_of(curves: LiveCurves) -> TrainingModel:
    """Return the view model of `curves`, the same one at every call while somebody draws it."""
    held = _models.get(curves)
    model = None if held is None else held()
    if model is None:
        model = TrainingModel(curves)
        _models[curves] = weakref.ref(model)
    return model


_models: weakref.WeakKeyDictionary[LiveCurves, weakref.ref[TrainingModel]] = weakref.WeakKeyDictionary()
"""View models by the curves that they draw; nothing here keeps either alive."""


class TrainingWidget(HearingWidget):
    """A training in a cell: it can be watched, paused and stopped while another cell runs it."""

    def __init__(
        self, curves: LiveCurves, others: Mapping[str, History] | None = None, **traits: Any
    ) -> None:
        # Comparisons are this widget's own; without them all widgets and the panel share one model.
        model = TrainingModel(curves, others=others) if others else model_of(curves)
        super().__init__(model, curves, **traits)


Others = Trainer | Iterable[Trainer] | Mapping[str, Trainer | History]


def training(trainer: Trainer, against: Others = ()) -> TrainingWidget:
    """Show the training of `trainer` in this cell, before, while and after it runs.

    `against` are trainings to compare it with, drawn over the same axes: trainers, which have names of their own, or
    trainers and histories by name, ``{"lr 0.1": history}``.

    Raises:
        TypeError: `trainer` is no `Trainer`, or something in `against` is neither a trainer nor a history.
        ValueError: there are more than 7 in `against`.
    """
    if not isinstance(trainer, Trainer):
        raise TypeError(
            f"training shows a Trainer, got {type(trainer).__name__}: wb.train.Trainer(model, loss, …)"
        )
    return TrainingWidget(_curves_of(trainer), _histories(against))


def _histories(against: Others) -> dict[str, History]:
    """Return the histories by name; of two trainers with one name the second gets a number."""
    named: dict[str, Any]
    if isinstance(against, Mapping):
        named = {str(name): one for name, one in against.items()}
    else:
        named = _by_their_names([against] if not isinstance(against, Iterable) else against)
    if len(named) > MOST_OTHERS:
        raise ValueError(
            f"a training is compared with at most {MOST_OTHERS} others, got {len(named)}: colours of more cannot be "
            "told apart"
        )
    wrong = next((one for one in named.values() if not isinstance(one, Trainer | History)), None)
    if wrong is not None:
        raise TypeError(
            f"against takes trainers, or trainers and histories by name, got {type(wrong).__name__}"
        )
    return {name: one.history if isinstance(one, Trainer) else one for name, one in named.items()}


def _by_their_names(trainers: Iterable[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for one in trainers:
        if isinstance(one, History):
            raise TypeError('a History has no name; give it one: against={"before": history}')
        name, alike = getattr(one, "name", ""), 1
        while (own := f"{name} ({alike})" if alike > 1 else name) in named:
            alike += 1
        named[own] = one
    return named


def _curves_of(trainer: Trainer) -> LiveCurves:
    curves = next(one for one in trainer.callbacks if isinstance(one, LiveCurves))
    if curves.trainer is None:
        # Before its first `fit`, so that it can be shown before it begins.
        curves.trainer = trainer
    return curves


renderers.register(LiveCurves, model_of)
renderers.register(Trainer, lambda trainer: model_of(_curves_of(trainer)))
