"""Which observers watch activations and weights."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from workbench.base.dtypes import qint8, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.nn import Module
from workbench.quantization.fake_quantize import FakeQuantize
from workbench.quantization.observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
)

__all__ = [
    "BACKENDS",
    "QConfig",
    "bits_qconfig",
    "default_per_channel_qconfig",
    "default_qat_qconfig",
    "default_qconfig",
    "get_default_qconfig",
]

Factory = Callable[..., Any]

# A named tuple, as in PyTorch, where programs take it apart.
_Pair = namedtuple("_Pair", ["activation", "weight"])


class QConfig(_Pair):
    """How a layer is quantized: factories of the observer of its output and of that of its weight.

    >>> config = QConfig(activation=MinMaxObserver, weight=MinMaxObserver.with_args(dtype=qint8))
    >>> config.weight().dtype
    workbench.qint8
    """

    __slots__ = ()

    def __new__(cls, activation: Factory, weight: Factory) -> QConfig:
        """Make one of two factories: classes, or what their `with_args` returns."""
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


_SYMMETRIC = MinMaxObserver.with_args(dtype=qint8, qscheme=QScheme.PER_TENSOR_SYMMETRIC)
_EACH_CHANNEL = PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=QScheme.PER_CHANNEL_SYMMETRIC)

default_qconfig = QConfig(MinMaxObserver.with_args(quant_min=0, quant_max=127), _SYMMETRIC)
"""Minimum and maximum; activations have 7 bits."""

default_per_channel_qconfig = QConfig(MinMaxObserver.with_args(quant_min=0, quant_max=127), _EACH_CHANNEL)
"""As `default_qconfig`, with a scale for each output channel of a weight."""

default_qat_qconfig = QConfig(
    FakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=True
    ),
    FakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=-128,
        quant_max=127,
        dtype=qint8,
        qscheme=QScheme.PER_TENSOR_SYMMETRIC,
    ),
)
"""Fake quantization of activations and weights."""

BACKENDS = ("x86", "fbgemm", "qnnpack")
"""Names under which PyTorch knows sets of integer kernels."""


def get_default_qconfig(backend: str = "x86") -> QConfig:
    """Return what suits a set of integer kernels: ``x86``, ``fbgemm`` or ``qnnpack``.

    The first two quantize weights per channel and give activations 7 bits, so that sums of two products fit into 16
    bits, as processors without VNNI need it; the third has one scale a weight and 8 bits.
    """
    if backend not in BACKENDS:
        raise QuantizationError(f"there is no backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    # Kernels for x86 add pairs of products in 16 bits, which overflow with 8 bits in both.
    reduced = backend != "qnnpack"
    activation = HistogramObserver.with_args(dtype=quint8, reduce_range=reduced)
    return QConfig(activation, _EACH_CHANNEL if reduced else _SYMMETRIC)


def bits_qconfig(activation_bits: int = 8, weight_bits: int = 8) -> QConfig:
    """Return histograms for activations and ranges per channel for weights, with so many bits each, 2 to 8.

    >>> bits_qconfig(4, 8).activation().quant_max
    15
    """
    for bits in (activation_bits, weight_bits):
        if type(bits) is not int or not 2 <= bits <= 8:
            raise QuantizationError(f"a code has 2 to 8 bits, and {bits!r} was given")
    half = 2 ** (weight_bits - 1)
    return QConfig(
        HistogramObserver.with_args(quant_min=0, quant_max=2**activation_bits - 1),
        _EACH_CHANNEL.with_args(quant_min=-half, quant_max=half - 1),
    )
