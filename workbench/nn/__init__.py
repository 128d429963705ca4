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
    MaxPool2d,
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from workbench.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
from workbench.nn.modules.bounded import Hardsigmoid, Hardtanh, LogSigmoid, ReLU6, Sigmoid, Softsign, Tanh
from workbench.nn.modules.distance import CosineSimilarity, PairwiseDistance
from workbench.nn.modules.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from workbench.nn.modules.embedding import Embedding, EmbeddingBag
from workbench.nn.modules.flatten import Flatten, Unflatten
from workbench.nn.modules.gated import GELU, GLU, Hardswish, Mish, SiLU
from workbench.nn.modules.linear import Bilinear, Identity, Linear
from workbench.nn.modules.loss_binary import (
    BCELoss,
    BCEWithLogitsLoss,
    MultiLabelSoftMarginLoss,
    SoftMarginLoss,
)
from workbench.nn.modules.loss_classes import (
    CrossEntropyLoss,
    CTCLoss,
    LinearCrossEntropyLoss,
    MultiLabelMarginLoss,
    MultiMarginLoss,
    NLLLoss,
    NLLLoss2d,
)
from workbench.nn.modules.loss_margin import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from workbench.nn.modules.loss_regression import (
    GaussianNLLLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    PoissonNLLLoss,
    SmoothL1Loss,
)
from workbench.nn.modules.rectify import CELU, ELU, SELU, LeakyReLU, PReLU, ReLU, RReLU, Softplus, Threshold
from workbench.nn.modules.recurrent import (
    GRU,
    LSTM,
    RNN,
    RNNBase,
)
from workbench.nn.modules.recurrent_cells import (
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNCellBase,
)
from workbench.nn.modules.shrink import Hardshrink, Softshrink, Tanhshrink
from workbench.nn.modules.softmax import LogSoftmax, Softmax, Softmax2d, Softmin
from workbench.nn.parameter import Buffer, Parameter

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "AlphaDropout",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Bilinear",
    "Buffer",
    "CELU",
    "CTCLoss",
    "Conv2d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "IMAGE",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LSTM",
    "LSTMCell",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool2d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PoissonNLLLoss",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "check_names",
    "functional",
    "init",
    "utils",
]
