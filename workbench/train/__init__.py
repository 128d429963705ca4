"""Training: a `Trainer` with callbacks, metrics, mixed precision and checkpoints that resume exactly."""

from __future__ import annotations

from workbench.amp.grad_scaler import GradScaler
from workbench.base.public import words
from workbench.train.callbacks import (
    Callback,
    CellCurves,
    EarlyStopping,
    LearningRateMonitor,
    LiveCurves,
    ModelCheckpoint,
    ProgressBar,
    QuantizationSchedule,
    TensorBoardLogger,
)
from workbench.train.errors import CheckpointError, CheckpointWarning, TrainingError
from workbench.train.evaluate import Evaluation, evaluate
from workbench.train.fit import fit
from workbench.train.history import Epoch, History
from workbench.train.metrics import (
    Accuracy,
    ConfusionMatrix,
    MeanAbsoluteError,
    MeanLoss,
    Metric,
    Perplexity,
    TopKAccuracy,
)
from workbench.train.output import Output
from workbench.train.trainer import Trainer

__all__ = [
    "Accuracy",
    "Callback",
    "CellCurves",
    "CheckpointError",
    "CheckpointWarning",
    "ConfusionMatrix",
    "EarlyStopping",
    "Epoch",
    "Evaluation",
    "GradScaler",
    "History",
    "LearningRateMonitor",
    "LiveCurves",
    "MeanAbsoluteError",
    "MeanLoss",
    "Metric",
    "ModelCheckpoint",
    "Output",
    "Perplexity",
    "ProgressBar",
    "QuantizationSchedule",
    "TensorBoardLogger",
    "TopKAccuracy",
    "Trainer",
    "TrainingError",
    "evaluate",
    "fit",
]

__getattr__, __dir__ = words(__name__, __all__)
