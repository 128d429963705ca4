"""What a training leaves behind: the loss of every step, and a record of every epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Epoch", "History"]


@dataclass(frozen=True)
class Epoch:
    """One pass over the data."""

    number: int
    """From 1."""
    loss: float
    """Mean over the samples."""
    seconds: float
    rate: float
    """Samples a second while training."""
    accuracy: float | None = None
    """Fraction of the validation samples that were right, where there were some."""


@dataclass
class History:
    """The loss of every step, and a record of every epoch."""

    losses: list[float] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Time that the epochs took together."""
        return sum(epoch.seconds for epoch in self.epochs)

    @property
    def accuracy(self) -> float | None:
        """Accuracy after the last epoch."""
        return self.epochs[-1].accuracy if self.epochs else None

    def __str__(self) -> str:
        lines = []
        for epoch in self.epochs:
            right = "" if epoch.accuracy is None else f", accuracy {epoch.accuracy:.4f}"
            lines.append(
                f"epoch {epoch.number}: loss {epoch.loss:.4f}{right}, {epoch.rate:.0f}/s, {epoch.seconds:.1f} s"
            )
        return "\n".join(lines)
