"""Modules: layers in PyTorch's words, which name the dims of their parameters and check those of their input."""

from __future__ import annotations

from workbench.nn import functional, init, utils
from workbench.nn.images import IMAGE, check_names
from workbench.nn.module import Module
from workbench.nn.modules import (
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    CrossEntropyLoss,
    Dropout,
    Flatten,
    Identity,
    Linear,
    MaxPool2d,
    ModuleDict,
    ModuleList,
    MSELoss,
    NLLLoss,
    ParameterDict,
    ParameterList,
    ReLU,
    Sequential,
    Sigmoid,
    Softmax,
    Tanh,
)
from workbench.nn.modules.recurrent import GRU, LSTM, RNN, RNNBase
from workbench.nn.modules.recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from workbench.nn.parameter import Buffer, Parameter

__all__ = [
    "GRU",
    "IMAGE",
    "LSTM",
    "RNN",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "GRUCell",
    "Identity",
    "LSTMCell",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "check_names",
    "functional",
    "init",
    "utils",
]
