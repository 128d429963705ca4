"""Observers under the names by which PyTorch's programs ask for them, and their state taken out and put back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from workbench.base.dtypes import qint8, quint4x2, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.nn import Module
from workbench.quantization.channel_observers import PerChannelMinMaxObserver
from workbench.quantization.observer import HistogramObserver, MinMaxObserver
from workbench.quantization.plain_observers import (
    FixedQParamsObserver,
    PlaceholderObserver,
    RecordingObserver,
    ReuseInputObserver,
)

__all__ = [
    "default_affine_fixed_qparams_observer",
    "default_debug_observer",
    "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer",
    "default_float_qparams_observer_4bit",
    "default_histogram_observer",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_reuse_input_observer",
    "default_symmetric_fixed_qparams_observer",
    "default_weight_observer",
    "get_observer_state_dict",
    "load_observer_state_dict",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
"""Least and greatest value; 7 bits."""

default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
"""A histogram; 7 bits."""

default_placeholder_observer = PlaceholderObserver
"""Nothing is watched, and nothing quantized."""

default_debug_observer = RecordingObserver
"""Every value is kept."""

default_reuse_input_observer = ReuseInputObserver
"""What comes in decides."""

default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=QScheme.PER_TENSOR_SYMMETRIC)
"""One symmetric scale a weight."""

default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=QScheme.PER_CHANNEL_SYMMETRIC
)
"""One symmetric scale an output channel."""

# The least scale keeps requantization factors within what integer-only kernels can do.
_WITHOUT_128: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}

weight_observer_range_neg_127_to_127 = default_weight_observer.with_args(**_WITHOUT_128)
"""One symmetric scale a weight, without the code -128."""

per_channel_weight_observer_range_neg_127_to_127 = default_per_channel_weight_observer.with_args(
    **_WITHOUT_128
)
"""One symmetric scale an output channel, without the code -128."""

default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True
)
"""A scale for each batch, found when the converted model runs."""

default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS, ch_axis=0
)
"""A scale and a zero point between codes for each row, as embeddings have them."""

default_float_qparams_observer_4bit = default_float_qparams_observer.with_args(dtype=quint4x2)
"""The same with codes of four bits, two in a byte."""

default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=quint8, quant_min=0, quant_max=255
)
"""For values from -1 to 1, as tanh has them."""

default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=quint8, quant_min=0, quant_max=255
)
"""For values from 0 to 1, as sigmoid has them."""

default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer

_OBSERVED = "activation_post_process"


def get_observer_state_dict(mod: Module) -> OrderedDict[str, Any]:
    """Return the part of a model's state that its observers know, under the keys of the whole.

    >>> import workbench as wb
    >>> prepared = wb.quantization.prepare(wb.nn.Linear(2, 2).eval())
    >>> [key for key in get_observer_state_dict(prepared) if key.startswith("quant.")][:2]
    ['quant.activation_post_process.eps', 'quant.activation_post_process.min_val']
    """
    # A plain dict has among its keys what a state has beside them, too.
    return OrderedDict(
        (key, value) for key, value in mod.state_dict(destination={}).items() if _OBSERVED in key
    )


def load_observer_state_dict(mod: Module, obs_dict: Mapping[str, Any]) -> None:
    """Give the observers of a model the state that `get_observer_state_dict` returned of one like it.

    Raises `QuantizationError`, and changes nothing, where one of them is not in it.
    """
    whole = mod.state_dict(destination={})
    missing = [key for key in whole if _OBSERVED in key and key not in obs_dict]
    unexpected = [key for key in obs_dict if _OBSERVED in key and key not in whole]
    for keys, what in ((missing, "Missing"), (unexpected, "Unexpected")):
        if keys:
            raise QuantizationError(
                f"{what} keys for observer {', '.join(keys[:3])} in state_dict: the state is that of a model that was "
                "prepared the same way"
            )
    mod.load_state_dict({**whole, **obs_dict})
