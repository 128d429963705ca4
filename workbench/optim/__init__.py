"""Optimizers: what changes parameters by their gradients, in PyTorch's words."""

from __future__ import annotations

from workbench.base.public import words
from workbench.optim import lr_scheduler, swa_utils
from workbench.optim.adafactor import Adafactor
from workbench.optim.adagrad import Adadelta, Adagrad
from workbench.optim.adam import Adam, AdamW
from workbench.optim.adamax import Adamax
from workbench.optim.asgd import ASGD
from workbench.optim.lbfgs import LBFGS
from workbench.optim.muon import Muon
from workbench.optim.nadam import NAdam, RAdam
from workbench.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from workbench.optim.rmsprop import RMSprop
from workbench.optim.rprop import Rprop
from workbench.optim.sgd import SGD
from workbench.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "swa_utils",
]

PYTORCH_FILES = (
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "lbfgs",
    "nadam",
    "optimizer",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
    "sparse_adam",
)
"""Files that PyTorch has here."""

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
