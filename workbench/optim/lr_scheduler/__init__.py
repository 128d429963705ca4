"""Learning rates that change while training: PyTorch's `torch.optim.lr_scheduler`."""

from __future__ import annotations

from workbench.base.public import words
from workbench.optim.lr_scheduler.base import LRScheduler
from workbench.optim.lr_scheduler.composed import ChainedScheduler, SequentialLR
from workbench.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from workbench.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from workbench.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from workbench.optim.lr_scheduler.plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler
"""Its older name."""

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

__getattr__, __dir__ = words(__name__, __all__)
