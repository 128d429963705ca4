"""The layers."""

from __future__ import annotations

from workbench.nn.hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from workbench.nn.modules.container import ModuleDict, ModuleList, Sequential
from workbench.nn.modules.container_parameters import ParameterDict, ParameterList
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
from workbench.nn.modules.recurrent import GRU, LSTM, RNN, RNNBase
from workbench.nn.modules.recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
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
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
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
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
