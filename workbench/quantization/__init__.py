"""Quantization: observers that watch values, ranges found or set by hand, integer layers.

The eager workflow in PyTorch's words: `fuse_modules`, `prepare`, calibrate by calling, `convert`; or all of it at once
with `quantize`.
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.base.quantized_array import QScheme
from workbench.quantization import intrinsic, quantized
from workbench.quantization.analysis import LayerError, accuracy, compare_layers, model_size, sqnr
from workbench.quantization.calibration import Calibration, Change
from workbench.quantization.convert import convert
from workbench.quantization.fake_quantize import (
    FakeQuantize,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
)
from workbench.quantization.fuse import fuse_modules
from workbench.quantization.layer_observers import propagate_qconfig
from workbench.quantization.metrics import Figures
from workbench.quantization.observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.prepare import prepare
from workbench.quantization.qconfig import (
    QConfig,
    bits_qconfig,
    default_per_channel_qconfig,
    default_qat_qconfig,
    default_qconfig,
    get_default_qconfig,
)
from workbench.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper
from workbench.quantization.workflow import fuse_automatically, quantize

per_tensor_affine = QScheme.PER_TENSOR_AFFINE
per_tensor_symmetric = QScheme.PER_TENSOR_SYMMETRIC
per_channel_affine = QScheme.PER_CHANNEL_AFFINE
per_channel_symmetric = QScheme.PER_CHANNEL_SYMMETRIC

__all__ = [
    "Calibration", "Change", "DeQuantStub", "FakeQuantize", "Figures", "HistogramObserver", "LayerError",
    "MinMaxObserver", "MovingAverageMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver",
    "PlaceholderObserver", "QConfig", "QScheme", "QuantStub", "QuantWrapper", "accuracy", "bits_qconfig",
    "compare_layers", "convert", "default_per_channel_qconfig", "default_qat_qconfig", "default_qconfig",
    "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer", "fuse_automatically",
    "fuse_modules", "get_default_qconfig", "intrinsic", "model_size", "per_channel_affine",
    "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric", "prepare", "propagate_qconfig",
    "quantize", "quantized", "sqnr",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
