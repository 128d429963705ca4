"""What a view of a training draws: curves, strips of layers over time, counters, and whether it runs.

`LiveCurves.payload` makes it; it is complete by itself, and every number in it is plain. Values that are not finite
are None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.train.control import State

__all__ = ["Counters", "Curve", "Failure", "Mark", "Spike", "Strip", "StripName", "TrainingState"]

StripName = Literal["update / weight", "gradient norm", "dead units"]


@dataclass(frozen=True)
class Curve:
    """One curve over the steps, so few points that a million steps travel as fast as a thousand."""

    name: str
    """``loss``, ``learning rate``, ``gradient norm``, ``throughput``, or a metric's name."""
    kind: Literal["loss", "metric", "rate", "norm", "throughput"]
    """What is drawn in one chart."""
    part: Literal["train", "validation"]
    steps: list[int]
    values: list[float | None]
    """The least and the greatest of each stretch of steps, at their own steps; all values where there are few."""
    ends: list[int] = field(default_factory=list)
    """Last step of each stretch; empty where there is a value an epoch."""
    means: list[float | None] = field(default_factory=list)
    """Mean of each stretch: what a running average is made of."""
    counts: list[int] = field(default_factory=list)
    """Steps of each stretch."""
    missing: int = 0
    """Values that are not finite."""


@dataclass(frozen=True)
class Strip:
    """One number a layer, over the steps at which it was looked at: a heat strip."""

    name: StripName
    layers: list[str]
    steps: list[int]
    values: list[list[float | None]]
    """By layer, then by step."""
    left_out: int = 0
    """Layers that are not among them, because there are too many."""


@dataclass(frozen=True)
class Mark:
    """The end of an epoch."""

    epoch: int
    step: int


@dataclass(frozen=True)
class Spike:
    """A step at which the loss stood out."""

    step: int
    value: float
    usual: float
    """The median of the steps before it."""


@dataclass(frozen=True)
class Failure:
    """What ended a training that did not end by itself."""

    kind: str
    """Class of the error."""
    step: int | None = None
    """The step that was not taken, where the error knows it."""
    culprit: str | None = None
    """What first held a value that is not finite, where that is known."""


@dataclass(frozen=True)
class Counters:
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
    """All that a view of a training shows."""

    title: str
    state: State
    message: str
    """Why it ended, where it ended by itself or with an error; else empty."""
    counters: Counters
    asked: Literal["", "pause", "stop"] = ""
    """What is asked for and comes after this batch."""
    failure: Failure | None = None
    curves: list[Curve] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)
    spikes: list[Spike] = field(default_factory=list)
    epochs: list[Mark] = field(default_factory=list)
    complete: bool = True
    """False where spikes are still to be looked for among steps that came faster than that can be done."""
