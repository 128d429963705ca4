"""What a page may send to the view of observers, and what a model may be shown: at random, and often wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import workbench as wb
from workbench.live.messages import (
    ChooseEvent,
    CompareEvent,
    RedoEvent,
    ResetRangeEvent,
    SelectEvent,
    SetRangeEvent,
    SetScaleEvent,
    ShowDifferenceEvent,
    ShowValuesEvent,
    UndoEvent,
)
from workbench.quantization.observer_settings import RULE_NAMES

__all__ = ["batch", "draw"]

NAN, INFINITY = float("nan"), float("inf")
ENDS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 255.0, 1e-7, 1e-30, 1e-45, 1e30, 3e38, 1e300, -1e300, NAN, INFINITY,
    -INFINITY,
)  # fmt: skip
ZEROS = (0, 1, 128, 255, 256, -1, -128, -129, 10**12)

CHOICES: dict[str, Callable[[random.Random], Any]] = {
    "rule": lambda rng: rng.choice([*RULE_NAMES, "none of these"]),
    "symmetric": lambda rng: rng.random() < 0.5,
    "bits": lambda rng: rng.choice([1, 2, 3, 4, 5, 7, 8, 9]),
    "per_channel": lambda rng: rng.random() < 0.5,
}


def _choose(rng: random.Random, name: str) -> ChooseEvent:
    parts = rng.sample(list(CHOICES), rng.choice([1, 1, 1, 2, 4]))
    return ChooseEvent("choose", name, **{part: CHOICES[part](rng) for part in parts})


def _range(rng: random.Random, name: str) -> SetRangeEvent:
    return SetRangeEvent("set_range", name, rng.choice(ENDS), rng.choice(ENDS), rng.random() < 0.6)


EVENTS: tuple[Callable[[random.Random, str], Any], ...] = (
    _choose,
    _choose,
    _choose,
    _range,
    _range,
    lambda rng, name: SetScaleEvent("set_scale", name, rng.choice(ENDS), rng.choice(ZEROS)),
    lambda rng, name: ResetRangeEvent("reset_range", name),
    lambda rng, name: UndoEvent("undo"),
    lambda rng, name: RedoEvent("redo"),
    lambda rng, name: CompareEvent("compare", rng.choice(["keep", "switch", "leave"])),
    lambda rng, name: SelectEvent("select", rng.choice([name, None])),
    lambda rng, name: ShowValuesEvent("show_values", rng.random() < 0.5),
    lambda rng, name: ShowDifferenceEvent("show_difference", name),
)


def draw(rng: random.Random, names: list[str]) -> Any:
    """Return an event about one of `names`, or about none of them."""
    name = "nobody" if rng.random() < 0.05 else rng.choice(names)
    return rng.choice(EVENTS)(rng, name)


BATCHES: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: x,
    lambda x: x,
    lambda x: x * 0,
    lambda x: x * 1e20,
    lambda x: x * 1e-40,
    lambda x: x + INFINITY,
    lambda x: x.where(x < 1, wb.tensor(NAN)),
    lambda x: x[:0],
)


def batch(rng: random.Random) -> Any:
    """Return pictures [N, 3, 6, 6]: usual ones, none, all the same, huge, tiny, or not finite."""
    return rng.choice(BATCHES)(wb.randn(rng.choice([1, 8]), 3, 6, 6))
