"""What a training leaves behind: numbers of every step, and a record of every epoch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from workbench.interop.pandas import frame_of
from workbench.tensor import Tensor
from workbench.train.drawing import figure, page

__all__ = ["Epoch", "History"]

SERIES = ("losses", "rates", "norms", "speeds")


@dataclass(frozen=True)
class Epoch:
    """One pass over the data."""

    number: int
    """From 1."""
    step: int
    """Steps taken by its end."""
    loss: float
    """Mean over the samples."""
    seconds: float
    """Time of the training part, without what it was held."""
    rate: float
    """Samples a second while training."""
    metrics: dict[str, float] = field(default_factory=dict)
    """What the metrics came to while training, by name."""
    validation: dict[str, float] = field(default_factory=dict)
    """Loss and metrics on the validation data, where there were some."""

    @property
    def accuracy(self) -> float | None:
        """Fraction of the validation samples that were right, where that was measured."""
        return self.validation.get("accuracy")

    @property
    def values(self) -> dict[str, float]:
        """All figures by name; those of the validation begin with ``val_``."""
        return {
            "loss": self.loss,
            **self.metrics,
            **{f"val_{name}": value for name, value in self.validation.items()},
        }

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())
        return f"epoch {self.number}: {figures}, {self.rate:.0f} samples/s, {self.seconds:.1f} s"


@dataclass
class History:
    """Numbers of every step, and a record of every epoch; a notebook draws them as curves.

    Entry i of the lists belongs to step ``first + i``.
    """

    losses: list[float] = field(default_factory=list)
    """Loss, the mean over the samples of the step."""
    rates: list[float] = field(default_factory=list)
    """Learning rate, of the first group."""
    norms: list[float] = field(default_factory=list)
    """Norm of all gradients together, before clipping."""
    speeds: list[float] = field(default_factory=list)
    """Samples a second."""
    epochs: list[Epoch] = field(default_factory=list)
    first: int = 1
    """Number of the first step."""

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def steps(self) -> range:
        """Numbers of the steps."""
        return range(self.first, self.first + len(self.losses))

    @property
    def seconds(self) -> float:
        """Time that the epochs took together."""
        return sum(epoch.seconds for epoch in self.epochs)

    @property
    def accuracy(self) -> float | None:
        """Validation accuracy after the last epoch."""
        return self.epochs[-1].accuracy if self.epochs else None

    def record(self, loss: float, rate: float, norm: float, speed: float) -> None:
        """Add a step."""
        for series, value in zip(SERIES, (loss, rate, norm, speed), strict=True):
            getattr(self, series).append(value)

    def best(self, monitor: str = "val_loss", mode: str = "min") -> Epoch | None:
        """Return the epoch with the least (or, with mode ``"max"``, greatest) figure; None where none has it."""
        rated = [
            # With its place, so that of equals the earliest is taken.
            (epoch.values[monitor] * (-1 if mode == "max" else 1), i)
            for i, epoch in enumerate(self.epochs)
            if monitor in epoch.values and not math.isnan(epoch.values[monitor])
        ]
        return self.epochs[min(rated)[1]] if rated else None

    # ----------------------------------------------------------------------------------------- as tables

    def table(self) -> list[dict[str, float]]:
        """Return a row an epoch: its number and step, figures, seconds and samples a second."""
        return [
            {
                "epoch": one.number,
                "step": one.step,
                **one.values,
                "seconds": one.seconds,
                "samples_per_second": one.rate,
            }
            for one in self.epochs
        ]

    def to_pandas(self, of: str = "epochs") -> Any:
        """Return a DataFrame of the epochs, or of the ``"steps"``, indexed by their numbers."""
        if of == "steps":
            names = ("loss", "learning_rate", "gradient_norm", "samples_per_second")
            columns = {name: getattr(self, series) for name, series in zip(names, SERIES, strict=True)}
            return frame_of(columns, index=list(self.steps), index_name="step")
        if of != "epochs":
            raise ValueError(f"a history has 'epochs' and 'steps', not {of!r}")
        rows = self.table()
        keys = list(dict.fromkeys(key for row in rows for key in row if key != "epoch"))
        values = {key: [row.get(key, math.nan) for row in rows] for key in keys}
        return frame_of(values, index=[row["epoch"] for row in rows], index_name="epoch")

    # ---------------------------------------------------------------------------------------- as pictures

    def plot(self) -> Any:
        """Return a matplotlib figure of the loss, the metrics and the gradient norm."""
        return figure(self)

    def _repr_html_(self) -> str:
        return page(self)

    def __str__(self) -> str:
        lines = [str(epoch) for epoch in self.epochs]
        since = self.epochs[-1].step if self.epochs else self.first - 1
        under_way = self.first + len(self.losses) - 1 - since
        if under_way > 0:
            number = self.epochs[-1].number + 1 if self.epochs else 1
            lines.append(
                f"epoch {number}, unfinished: {under_way} step{'s' if under_way > 1 else ''}, "
                f"loss {self.losses[-1]:.4g}"
            )
        return "\n".join(lines) or "nothing was trained yet"

    def __repr__(self) -> str:
        return f"<History: {len(self.losses)} steps, {len(self.epochs)} epochs>\n{self}"

    # --------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """Return all of it, as arrays and plain values."""
        series = {name: np.asarray(getattr(self, name), np.float64) for name in SERIES}
        return {**series, "first": self.first, "epochs": [asdict(epoch) for epoch in self.epochs]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what another has."""
        series = {name: _list(state_dict[name]) for name in SERIES}
        epochs = [Epoch(**entry) for entry in state_dict["epochs"]]
        for name, values in series.items():
            setattr(self, name, values)
        self.epochs, self.first = epochs, int(state_dict["first"])


def _list(values: Any) -> list[float]:
    array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
    return [float(value) for value in array]
