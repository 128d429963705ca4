"""Optimizers: what changes parameters by their gradients, in PyTorch's words."""

from __future__ import annotations

from workbench.optim import lr_scheduler
from workbench.optim.adam import Adam, AdamW
from workbench.optim.optimizer import Optimizer
from workbench.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
