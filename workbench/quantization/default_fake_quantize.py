"""Fake quantization under the names by which PyTorch's programs ask for it."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import qint8, quint4x2, quint8
from workbench.base.quantized_array import QScheme
from workbench.quantization.channel_observers import MovingAveragePerChannelMinMaxObserver
from workbench.quantization.default_observers import (
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from workbench.quantization.fake_quantize import (
    FakeQuantize,
    FixedQParamsFakeQuantize,
    FusedMovingAvgObsFakeQuantize,
)
from workbench.quantization.observer import HistogramObserver, MovingAverageMinMaxObserver

__all__ = [
    "default_affine_fixed_qparams_fake_quant",
    "default_dynamic_fake_quant",
    "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit",
    "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant",
    "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    "fused_wt_fake_quant_range_neg_127_to_127",
]

_ACTIVATION: dict[str, Any] = {
    "observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": quint8,
}  # fmt: skip
_WEIGHT: dict[str, Any] = {
    "observer": MovingAverageMinMaxObserver, "quant_min": -128, "quant_max": 127, "dtype": qint8,
    "qscheme": QScheme.PER_TENSOR_SYMMETRIC,
}  # fmt: skip
_CHANNELS: dict[str, Any] = {
    **_WEIGHT, "observer": MovingAveragePerChannelMinMaxObserver, "qscheme": QScheme.PER_CHANNEL_SYMMETRIC,
}  # fmt: skip
# The least scale keeps requantization factors within what integer-only kernels can do.
_WITHOUT_128: dict[str, Any] = {"quant_min": -127, "eps": 2**-12}

default_fake_quant = FakeQuantize.with_args(
    **_ACTIVATION, qscheme=QScheme.PER_TENSOR_AFFINE, reduce_range=True
)
"""For activations: 7 bits, moving average."""

default_weight_fake_quant = FakeQuantize.with_args(**_WEIGHT, reduce_range=False)
"""For weights: one symmetric scale."""

default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_CHANNELS, reduce_range=False, ch_axis=0)
"""For weights: one symmetric scale an output channel."""

default_dynamic_fake_quant = FakeQuantize.with_args(**_ACTIVATION, is_dynamic=True, averaging_constant=1)
"""For activations that get a scale a batch: it remembers nothing."""

default_histogram_fake_quant = FakeQuantize.with_args(
    **{**_ACTIVATION, "observer": HistogramObserver}, qscheme=QScheme.PER_TENSOR_AFFINE, reduce_range=True
)
"""For activations: the range is searched in a histogram."""

default_embedding_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    qscheme=QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS,
    dtype=quint8,
    quant_min=0,
    quant_max=255,
    ch_axis=0,
    averaging_constant=1,
)
"""For embeddings: a scale and a zero point between codes for each row."""

default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    qscheme=QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS,
    dtype=quint4x2,
    ch_axis=0,
    averaging_constant=1,
)
"""The same with codes of four bits."""

default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
"""For values from -1 to 1, as tanh has them."""

default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
"""For values from 0 to 1, as sigmoid has them."""

default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant

default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ACTIVATION)
"""For activations, observed and rounded at once."""

default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_WEIGHT)
"""For weights, observed and rounded at once."""

default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_CHANNELS)
"""For weights, a scale an output channel, observed and rounded at once."""

fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    **{**_WEIGHT, **_WITHOUT_128}
)
"""As `default_fused_wt_fake_quant`, without the code -128."""

fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    **{**_CHANNELS, **_WITHOUT_128}
)
"""As `default_fused_per_channel_wt_fake_quant`, without the code -128."""
