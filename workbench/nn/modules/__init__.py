"""The layers."""

from __future__ import annotations

from workbench.base.public import words
from workbench.nn.modules import batch_norm, conv, conv_transpose, dropout, instance_norm, loss
from workbench.nn.modules.activation_bounded import (
    Hardsigmoid,
    Hardtanh,
    LogSigmoid,
    ReLU6,
    Sigmoid,
    Softsign,
    Tanh,
)
from workbench.nn.modules.activation_gated import GELU, GLU, Hardswish, Mish, SiLU
from workbench.nn.modules.activation_rectified import (
    CELU,
    ELU,
    SELU,
    LeakyReLU,
    PReLU,
    ReLU,
    RReLU,
    Softplus,
    Threshold,
)
from workbench.nn.modules.activation_shrinkage import Hardshrink, Softshrink, Tanhshrink
from workbench.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
from workbench.nn.modules.attention import MultiheadAttention
from workbench.nn.modules.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from workbench.nn.modules.container import ModuleDict, ModuleList, Sequential
from workbench.nn.modules.container_parameters import ParameterDict, ParameterList
from workbench.nn.modules.conv import Conv1d, Conv2d, Conv3d
from workbench.nn.modules.conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
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
from workbench.nn.modules.fold import Fold, Unfold
from workbench.nn.modules.instance_norm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from workbench.nn.modules.lazy import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
    LazyLinear,
)
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
from workbench.nn.modules.normalization import GroupNorm, LayerNorm, RMSNorm
from workbench.nn.modules.padding import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from workbench.nn.modules.pool import (
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from workbench.nn.modules.pool_adaptive import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from workbench.nn.modules.pool_fractional import FractionalMaxPool2d, FractionalMaxPool3d
from workbench.nn.modules.pool_inverse import MaxUnpool1d, MaxUnpool2d, MaxUnpool3d
from workbench.nn.modules.recurrent import GRU, LSTM, RNN
from workbench.nn.modules.recurrent_base import RNNBase
from workbench.nn.modules.recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from workbench.nn.modules.response_norm import CrossMapLRN2d, LocalResponseNorm
from workbench.nn.modules.softmax import LogSoftmax, Softmax, Softmax2d, Softmin
from workbench.nn.modules.sync_batch_norm import SyncBatchNorm
from workbench.nn.modules.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from workbench.nn.modules.upsampling import (
    ChannelShuffle,
    PixelShuffle,
    PixelUnshuffle,
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)

_BatchNorm, _NormBase, _InstanceNorm = (
    batch_norm.BatchNormNd,
    batch_norm.RunningNorm,
    instance_norm.InstanceNormNd,
)
_ConvNd, _ConvTransposeNd, _DropoutNd = conv.ConvNd, conv_transpose.ConvTransposeNd, dropout.DropoutNd
NonDynamicallyQuantizableLinear = Linear
_Loss, _WeightedLoss = loss.Loss, loss.WeightedLoss
"""What layers have in common, under PyTorch's names: programs ask whether a layer is one of these."""

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "GRU", "LSTM", "RNN", "SELU", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss",
    "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "CTCLoss", "ChannelShuffle",
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "CrossMapLRN2d", "Dropout", "Dropout1d",
    "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Fold",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "GRUCell", "GaussianNLLLoss", "GroupNorm", "Hardshrink",
    "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "KLDivLoss", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d", "LSTMCell",
    "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "LeakyReLU", "Linear", "LinearCrossEntropyLoss",
    "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d",
    "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Mish", "ModuleDict", "ModuleList",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultiheadAttention", "NLLLoss",
    "NLLLoss2d", "PReLU", "PairwiseDistance", "ParameterDict", "ParameterList", "PixelShuffle",
    "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "RNNBase", "RNNCell", "RNNCellBase", "RReLU", "ReLU",
    "ReLU6", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "SyncBatchNorm", "Tanh", "Tanhshrink", "Threshold",
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten", "Unfold",
    "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

PYTORCH_FILES = (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
    "fold", "instancenorm", "lazy", "linear", "loss", "normalization", "padding", "pixelshuffle", "pooling",
    "rnn", "sparse", "transformer", "upsampling",
)  # fmt: skip
"""Files that PyTorch has here. It divides the layers otherwise: each has the names of all."""

__getattr__, __dir__ = words(
    __name__, __all__, files=PYTORCH_FILES, later={"module": "workbench.nn.modules.module"}
)
