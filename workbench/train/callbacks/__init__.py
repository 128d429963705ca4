"""Callbacks: what is told at every turn of a training, a file each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.train.callbacks.base import Callback
from workbench.train.callbacks.cell_curves import CellCurves
from workbench.train.callbacks.early_stopping import EarlyStopping
from workbench.train.callbacks.learning_rate import LearningRateMonitor
from workbench.train.callbacks.live import LiveCurves
from workbench.train.callbacks.model_checkpoint import ModelCheckpoint
from workbench.train.callbacks.progress_bar import ProgressBar
from workbench.train.callbacks.quantization_schedule import QuantizationSchedule
from workbench.train.callbacks.tensorboard import Log, TensorBoardLogger

__all__ = [
    "Callback",
    "CellCurves",
    "EarlyStopping",
    "LearningRateMonitor",
    "LiveCurves",
    "Log",
    "ModelCheckpoint",
    "ProgressBar",
    "QuantizationSchedule",
    "TensorBoardLogger",
    "default_callbacks",
]


def default_callbacks(
    given: list[Callback], *, folder: Path | None, log: Any, progress: bool
) -> list[Callback]:
    """Return what a `Trainer` adds to the callbacks it was given; none where one of its kind is among them."""
    made: list[Callback] = []
    if progress:
        made += [ProgressBar(), CellCurves()]
    if folder is not None:
        made.append(ModelCheckpoint(folder))
    if log is not None:
        made.append(TensorBoardLogger(log))
    made.append(LiveCurves())
    return [one for one in made if not any(isinstance(other, type(one)) for other in given)]
