"""The numbers that say how far a training is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass
class Progress:
    """Counters of a `Trainer`; all are part of a checkpoint."""

    epoch: int = 0
    """Epochs completed."""
    step: int = 0
    """Steps taken, also those that float16 left out."""
    skipped: int = 0
    """Steps left out."""
    first_epoch: int = 0
    """Epochs that were completed when this run began: its ``epochs`` count from here."""
    first_step: int = 0
    seconds: float = 0.0
    """Time spent training in all epochs."""

    batch: int = 0
    """Batches of this epoch that were learned from."""
    epoch_loss: float = 0.0
    """Sum over this epoch's samples."""
    epoch_samples: int = 0
    epoch_seconds: float = 0.0

    group: int = 0
    """Batches gathered since the last step."""
    group_first: int = 0
    """Samples of the first of them, in units of which the others are weighed."""
    group_samples: int = 0
    group_loss: float = 0.0
    """Sum over the gathered samples."""
    group_seconds: float = 0.0

    def drop_group(self) -> None:
        """Forget the gathered batches."""
        self.group, self.group_first, self.group_samples = 0, 0, 0
        self.group_loss = self.group_seconds = 0.0

    def begin_epoch(self) -> None:
        """Count an epoch from its start."""
        self.batch, self.epoch_samples = 0, 0
        self.epoch_loss = self.epoch_seconds = 0.0
        self.drop_group()

    def begin_run(self) -> None:
        """Count a run from here."""
        self.first_epoch, self.first_step = self.epoch, self.step
        self.begin_epoch()
