"""What a view of a training draws: curves, strips of layers over time, counters, and whether it runs.

`LiveCurves.payload` makes it; it is complete by itself, and every number in it is plain. Values that are not finite
are None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.train.control import State

__all__ = ["Counters", "Curve", "Strip", "TrainingState"]


@dataclass(frozen=True)
class Curve:
    """One curve over the steps, thinned out so that its peaks stay."""

    name: str
    """``loss``, ``learning rate``, ``gradient norm``, ``throughput``, or a metric's name."""
    kind: Literal["loss", "metric", "rate", "norm", "throughput"]
    """What is drawn in one chart."""
    part: Literal["train", "validation"]
    steps: list[int]
    values: list[float | None]
    smoothed: list[float | None]
    """The running average at the same steps; empty where there is a value an epoch."""


@dataclass(frozen=True)
class Strip:
    """One number a layer, over the steps at which it was looked at: a heat strip."""

    name: Literal["update / weight", "dead units"]
    layers: list[str]
    steps: list[int]
    values: list[list[float | None]]
    """By layer, then by step."""


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
    curves: list[Curve] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)
    spikes: list[int] = field(default_factory=list)
    """Steps at which the loss stood out."""
