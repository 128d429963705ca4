"""The layers."""

from __future__ import annotations

from workbench.nn.modules.container import ModuleList, Sequential
from workbench.nn.modules.conv import Conv2d
from workbench.nn.modules.layers import (
    AvgPool2d,
    Dropout,
    Flatten,
    Identity,
    Linear,
    MaxPool2d,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
)
from workbench.nn.modules.loss import CrossEntropyLoss, MSELoss, NLLLoss
from workbench.nn.modules.normalise import BatchNorm1d, BatchNorm2d

__all__ = [
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "Identity",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "ModuleList",
    "NLLLoss",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
]
