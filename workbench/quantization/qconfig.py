"""Which observers watch activations and weights."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from workbench.base.dtypes import float16, float32, qint8, quint8
from workbench.base.errors import QuantizationError
from workbench.nn import Identity, Module
from workbench.quantization import default_fake_quantize as fakes
from workbench.quantization import default_observers as observers
from workbench.quantization.fake_quantize import FakeQuantize, FusedMovingAvgObsFakeQuantize
from workbench.quantization.observer import HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver
from workbench.quantization.plain_observers import NoopObserver, PlaceholderObserver

__all__ = [
    "BACKENDS", "QConfig", "QConfigAny", "bits_qconfig", "default_activation_only_qconfig", "default_debug_qconfig",
    "default_dynamic_qat_qconfig", "default_dynamic_qconfig", "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit", "default_per_channel_qconfig",
    "default_per_channel_symmetric_qnnpack_qat_qconfig", "default_per_channel_symmetric_qnnpack_qconfig",
    "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_quint8_weight_qconfig",
    "default_reuse_input_qconfig", "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig",
    "default_weight_only_qconfig", "float16_dynamic_qconfig", "float16_static_qconfig",
    "float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit", "get_default_qat_qconfig",
    "get_default_qconfig", "is_memoryless", "per_channel_dynamic_qconfig", "per_token_dynamic_qconfig",
    "qconfig_equals",
]  # fmt: skip

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


def is_memoryless(config: Any) -> bool:
    """Say whether what a qconfig has for activations sees a range anew in each batch: that of what becomes dynamic."""
    made = config.activation()
    watching = getattr(made, "activation_post_process", made)
    return bool(getattr(watching, "averaging_constant", None) == 1)


QConfigAny = QConfig | None
"""A `QConfig`, or none: what stays in floating point."""

default_qconfig = QConfig(observers.default_observer, observers.default_weight_observer)
"""Minimum and maximum; activations have 7 bits."""

default_debug_qconfig = QConfig(observers.default_debug_observer, observers.default_weight_observer)
"""Activations are kept as they are, to be looked at."""

default_per_channel_qconfig = QConfig(
    observers.default_observer, observers.default_per_channel_weight_observer
)
"""As `default_qconfig`, with a scale for each output channel of a weight."""

default_dynamic_qconfig = QConfig(observers.default_dynamic_quant_observer, observers.default_weight_observer)
"""One scale a weight; activations get one for each batch."""

per_channel_dynamic_qconfig = QConfig(
    observers.default_dynamic_quant_observer, observers.default_per_channel_weight_observer
)
"""A scale for each row of a weight; activations get one for each batch."""

per_token_dynamic_qconfig = QConfig(
    observers.default_dynamic_quant_observer.with_args(granularity="token"),
    observers.default_per_channel_weight_observer,
)
"""A scale for each row of a weight and for each token: a token's result does not depend on the others of its batch."""

float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=float16),
)
"""Weights are kept in half precision."""

float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=float16), PlaceholderObserver.with_args(dtype=float16)
)
"""Weights and activations in half precision."""

float_qparams_weight_only_qconfig = QConfig(
    observers.default_placeholder_observer, observers.default_float_qparams_observer
)
"""For embeddings: a scale and a zero point between codes for each row; nothing else is quantized."""

default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
"""Unsigned weights, as PReLU has them."""

default_reuse_input_qconfig = QConfig(observers.default_reuse_input_observer, NoopObserver)
"""For ops that only move values: what comes in decides."""

_SIGNED = HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=2**-12)

default_symmetric_qnnpack_qconfig = QConfig(_SIGNED, observers.weight_observer_range_neg_127_to_127)
"""Signed activations; weights without -128."""

default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _SIGNED, observers.per_channel_weight_observer_range_neg_127_to_127
)
"""The same, with a scale for each output channel."""

default_qat_qconfig = QConfig(fakes.default_fake_quant, fakes.default_weight_fake_quant)
"""Fake quantization of activations and weights."""

default_qat_qconfig_v2 = QConfig(fakes.default_fused_act_fake_quant, fakes.default_fused_wt_fake_quant)
"""The same, observed and rounded at once."""

default_dynamic_qat_qconfig = QConfig(fakes.default_dynamic_fake_quant, fakes.default_weight_fake_quant)
"""Fake quantization by the range of each batch, for what becomes dynamic."""

default_weight_only_qconfig = QConfig(Identity, fakes.default_weight_fake_quant)
"""Fake quantization of weights alone."""

default_activation_only_qconfig = QConfig(fakes.default_fake_quant, Identity)
"""Fake quantization of activations alone."""

float_qparams_weight_only_qconfig_4bit = QConfig(
    observers.default_placeholder_observer, observers.default_float_qparams_observer_4bit
)
"""For embeddings: the same with codes of four bits, two in a byte."""

default_embedding_qat_qconfig_4bit = QConfig(
    NoopObserver.with_args(dtype=float32), fakes.default_embedding_fake_quant_4bit
)
"""For embeddings in training, with codes of four bits."""

default_embedding_qat_qconfig = QConfig(
    NoopObserver.with_args(dtype=float32), fakes.default_embedding_fake_quant
)
"""Fake quantization of embeddings."""

_FUSED_SIGNED = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    reduce_range=False,
    eps=2**-12,
)

default_symmetric_qnnpack_qat_qconfig = QConfig(_FUSED_SIGNED, fakes.fused_wt_fake_quant_range_neg_127_to_127)
"""Fake quantization to signed codes."""

default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _FUSED_SIGNED, fakes.fused_per_channel_wt_fake_quant_range_neg_127_to_127
)
"""The same, with a scale for each output channel."""

BACKENDS = ("x86", "fbgemm", "onednn", "qnnpack")
"""Names under which PyTorch knows sets of integer kernels."""


def _checked(backend: str, version: int, versions: tuple[int, ...]) -> None:
    if backend not in BACKENDS:
        raise QuantizationError(f"there is no backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    if version not in versions:
        known = " or ".join(str(one) for one in versions)
        raise QuantizationError(f"there is no version {version!r} of the default configuration: give {known}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return what suits a set of integer kernels: ``x86``, ``fbgemm``, ``onednn`` or ``qnnpack``.

    The first two quantize weights per channel and give activations 7 bits, so that sums of two products fit into 16
    bits, as processors without VNNI need it; the third has 8 bits, the last one scale a weight and 8 bits.
    """
    _checked(backend, version, (0,))
    # Kernels for x86 add pairs of products in 16 bits, which overflow with 8 bits in both.
    activation = HistogramObserver.with_args(dtype=quint8, reduce_range=backend in ("x86", "fbgemm"))
    if backend == "qnnpack":
        return QConfig(activation, observers.default_weight_observer)
    return QConfig(activation, observers.default_per_channel_weight_observer)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return what suits training for a set of integer kernels; version 1 observes and rounds at once, 0 does not.

    >>> get_default_qat_qconfig("qnnpack").weight().qscheme
    workbench.per_tensor_symmetric
    """
    _checked(backend, version, (0, 1))
    kind = FusedMovingAvgObsFakeQuantize if version == 1 else FakeQuantize
    activation = kind.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=0,
        quant_max=255,
        reduce_range=backend in ("x86", "fbgemm"),
    )
    weights = {
        (0, True): fakes.default_weight_fake_quant, (0, False): fakes.default_per_channel_weight_fake_quant,
        (1, True): fakes.default_fused_wt_fake_quant, (1, False): fakes.default_fused_per_channel_wt_fake_quant,
    }  # fmt: skip
    return QConfig(activation, weights[version, backend == "qnnpack"])


def qconfig_equals(q1: QConfig | None, q2: QConfig | None) -> bool:
    """Say whether two configurations make the same observers.

    >>> qconfig_equals(get_default_qconfig(), get_default_qconfig("fbgemm"))
    True
    """
    return q1 == q2


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
        observers.default_per_channel_weight_observer.with_args(quant_min=-half, quant_max=half - 1),
    )
