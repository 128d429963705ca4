"""Which figure of an epoch a callback watches, and what is better."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from workbench.base.dims import near_miss

__all__ = ["Mode", "Monitor"]

Mode = Literal["auto", "min", "max"]


class Monitor:
    """A figure by name, such as ``val_loss`` or ``accuracy``; unless told the validation loss, or the loss without one.

    With mode ``"auto"`` less is better for losses, errors and perplexities, more for every other figure.
    """

    def __init__(self, name: str | None, mode: Mode) -> None:
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode is 'auto', 'min' or 'max', got {mode!r}")
        self.name = name
        self._mode = mode

    def check(self, trainer: Any) -> None:
        """Raise ValueError, before an epoch is trained, for a figure that this training will not have."""
        if not all(map(_ours, [type(trainer).evaluate, *map(type, trainer.callbacks)])):
            return  # a callback, or an evaluation, of somebody else's may add figures of its own
        name, validated = self.name, trainer.loop.validation is not None
        figures = ["loss", *trainer.metrics]
        known = [*figures, *(f"val_{one}" for one in figures if validated)]
        if name is None or name in known:
            return
        if name.startswith("val_") and not validated:
            raise ValueError(
                f"{name!r} will not be measured, as there is nothing to validate with: call fit(loader, validation), "
                f"or monitor {', '.join(map(repr, known))}"
            )
        raise _missing(name, "will not be measured", known)

    def look(self, trainer: Any) -> float:
        """Return the figure of the last epoch; ValueError where it was not measured."""
        values = trainer.history.epochs[-1].values
        name = self.named(trainer)
        if name not in values:
            raise _missing(name, "was not measured", values)
        return float(values[name])

    def named(self, trainer: Any) -> str:
        """Return the figure's name."""
        if self.name is not None:
            return self.name
        epochs = trainer.history.epochs
        return "val_loss" if epochs and "val_loss" in epochs[-1].values else "loss"

    def mode(self, trainer: Any) -> Literal["min", "max"]:
        """Return whether less or more is better."""
        if self._mode != "auto":
            return self._mode
        name = self.named(trainer)
        metric = trainer.metrics.get(name.removeprefix("val_"))
        if metric is not None:
            return "min" if metric.mode == "min" else "max"
        return "min" if any(word in name for word in ("loss", "error", "perplexity")) else "max"

    def better(self, trainer: Any, value: float, best: float | None, min_delta: float = 0.0) -> bool:
        """Say whether `value` is better than `best`, by more than `min_delta`; NaN never is."""
        if math.isnan(value):
            return False
        if best is None:
            return True
        return value < best - min_delta if self.mode(trainer) == "min" else value > best + min_delta


def _ours(made: Any) -> bool:
    return str(getattr(made, "__module__", "")).startswith("workbench.train.")


def _missing(name: str, told: str, known: Iterable[str]) -> ValueError:
    near = near_miss(name, known)
    return ValueError(
        f"{name!r} {told}; there are {', '.join(known)}" + (f". Did you mean {near!r}?" if near else "")
    )
