"""Training: a loop with a progress bar, a log and a history."""

from __future__ import annotations

from workbench.train.evaluate import Evaluation, evaluate
from workbench.train.fit import Training, TrainingError, fit
from workbench.train.history import Epoch, History

__all__ = ["Epoch", "Evaluation", "History", "Training", "TrainingError", "evaluate", "fit"]
