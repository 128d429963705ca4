"""The training view: how far a training is, its curves and its layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head

__all__ = [
    "PauseEvent", "ResumeEvent", "StopEvent", "TrainingCounters", "TrainingCurve", "TrainingFailure",
    "TrainingMark", "TrainingRun", "TrainingSpike", "TrainingState", "TrainingStrip",
]  # fmt: skip


@dataclass(frozen=True)
class TrainingCurve:
    """One curve over the steps, thinned out so that its extremes stay."""

    name: str
    """``loss``, ``learning rate``, ``gradient norm``, ``throughput``, or a metric's name."""
    kind: Literal["loss", "metric", "rate", "norm", "throughput"]
    part: Literal["train", "validation"]
    points: int
    points_buffer: int
    """float64 [2, points]: steps, and the least and greatest values around them; not a number where there is none"""
    stretches: int
    """0 where there is a value an epoch."""
    means_buffer: int
    """float64 [3, stretches]: last step of each stretch, mean of its values, and how many steps it has"""
    missing: int
    """Values that are not finite."""


@dataclass(frozen=True)
class TrainingRun:
    """Another training that this one is compared with."""

    name: str
    curves: list[TrainingCurve]


@dataclass(frozen=True)
class TrainingStrip:
    """One number a layer, over the steps at which it was looked at."""

    name: Literal["update / weight", "gradient norm", "dead units"]
    layers: list[str]
    left_out: int
    """Layers that were left out because there are too many."""
    steps: list[int]
    values_buffer: int
    """float32 [layers, steps]; not a number where there is none"""


@dataclass(frozen=True)
class TrainingMark:
    """The end of an epoch."""

    epoch: int
    step: int


@dataclass(frozen=True)
class TrainingSpike:
    """A step at which the loss stood out."""

    step: int
    value: float
    usual: float
    """The median of the steps before it."""


@dataclass(frozen=True)
class TrainingFailure:
    """What ended a training that did not end by itself."""

    kind: str
    """Class of the error."""
    step: int | None
    """The step that was not taken, where the error knows it."""
    culprit: str | None
    """What first held a value that is not finite, where that is known."""


@dataclass(frozen=True)
class TrainingCounters:
    """How far a training is."""

    epoch: int
    """Epochs completed."""
    epochs: int | None
    """Epochs after which it ends; None where steps decide."""
    step: int
    steps: int | None
    """Steps after which it ends, where known."""
    batch: int
    """Batches of this epoch."""
    batches: int | None
    """Batches in an epoch, where known."""
    samples: int
    """Samples of this epoch."""
    skipped: int
    """Steps left out because float16 overflowed."""
    seconds: float
    """Time spent training, without what it was held."""
    seconds_left: float | None
    rate: float | None
    """Samples a second."""


@dataclass(frozen=True)
class TrainingState:
    """A training: how far it is, its curves, and its layers over time."""

    kind: Literal["training"]
    head: Head
    status: Literal["idle", "running", "paused", "stopped", "finished", "failed"]
    asked: Literal["", "pause", "stop"]
    """What is asked for and comes after this batch."""
    message: str
    """Why it ended, where it ended by itself or with an error."""
    failure: TrainingFailure | None
    counters: TrainingCounters
    curves: list[TrainingCurve]
    strips: list[TrainingStrip]
    spikes: list[TrainingSpike]
    epochs: list[TrainingMark]
    others: list[TrainingRun]
    """Trainings that this one is compared with, at most 7."""
    advice: str
    """Code that would begin the training, or go on with it; empty where it runs."""


@dataclass(frozen=True)
class PauseEvent:
    """A person wants the training to wait after this batch."""

    type: Literal["pause"]


@dataclass(frozen=True)
class ResumeEvent:
    """A person lets a training that waits go on."""

    type: Literal["resume"]


@dataclass(frozen=True)
class StopEvent:
    """A person wants the training to end after this batch."""

    type: Literal["stop"]
