"""Quantization: observers that watch values, ranges found or set by hand, integer layers.

The eager workflow in PyTorch's words: `fuse_modules`, `prepare`, calibrate by calling, `convert`; or all of it at once
with `quantize`.
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.base.quantized_array import QScheme
from workbench.quantization import (
    backend_config,
    custom_config,
    default_fake_quantize,
    default_observers,
    fuser_methods,
    intrinsic,
    mappings,
    numeric_suite,
    numeric_suite_fx,
    qat,
    qconfig,
    qconfig_mapping,
    quantize_fx,
    quantized,
    weight_only,
)
from workbench.quantization.analysis import LayerError, accuracy, compare_layers, model_size, sqnr
from workbench.quantization.calibration import Calibration, Change
from workbench.quantization.channel_observers import (
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from workbench.quantization.convert import convert, swap_module
from workbench.quantization.custom_config import (
    ConvertCustomConfig,
    FuseCustomConfig,
    PrepareCustomConfig,
    QuantType,
)
from workbench.quantization.default_fake_quantize import *  # noqa: F403  by the list of that file
from workbench.quantization.default_observers import *  # noqa: F403
from workbench.quantization.dynamic_workflow import quantize_dynamic
from workbench.quantization.fake_quantize import (
    FakeQuantize,
    FakeQuantizeBase,
    FixedQParamsFakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
)
from workbench.quantization.fuse import fuse_modules, fuse_modules_qat
from workbench.quantization.fuser_methods import *  # noqa: F403
from workbench.quantization.intrinsic.qat import freeze_bn_stats, update_bn_stats
from workbench.quantization.layer_observers import propagate_qconfig, propagate_qconfig_
from workbench.quantization.layerwise import (
    LayerCost,
    MixedPrecision,
    Sensitivity,
    mixed_precision,
    sensitivity,
)
from workbench.quantization.learnable_fake_quantize import LearnableFakeQuantize
from workbench.quantization.mappings import *  # noqa: F403
from workbench.quantization.metrics import Figures
from workbench.quantization.observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
)
from workbench.quantization.observer_base import ObserverBase, unobserved
from workbench.quantization.plain_observers import (
    FixedQParamsObserver,
    NoopObserver,
    PlaceholderObserver,
    RecordingObserver,
    ReuseInputObserver,
)
from workbench.quantization.prepare import prepare
from workbench.quantization.qat_workflow import prepare_qat, quantize_qat
from workbench.quantization.qconfig import *  # noqa: F403
from workbench.quantization.qconfig_mapping import *  # noqa: F403
from workbench.quantization.quantize_fx import (
    convert_fx,
    convert_to_reference_fx,
    fuse_fx,
    prepare_fx,
    prepare_qat_fx,
)
from workbench.quantization.reporting import Advice, LeftInFloat, PointFigures, Report, report
from workbench.quantization.rescaling import equalize, smooth
from workbench.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper, add_quant_dequant
from workbench.quantization.tuning import adaround, correct_bias
from workbench.quantization.weight_only import WeightOnlyLinear, quantize_weights
from workbench.quantization.workflow import default_eval_fn, fuse_automatically, quantize

UniformQuantizationObserverBase = ObserverBase
"""PyTorch's name for observers that find a scale and a zero point."""

per_tensor_affine = QScheme.PER_TENSOR_AFFINE
per_tensor_symmetric = QScheme.PER_TENSOR_SYMMETRIC
per_channel_affine = QScheme.PER_CHANNEL_AFFINE
per_channel_symmetric = QScheme.PER_CHANNEL_SYMMETRIC

__all__ = [
    "Calibration", "Change", "ConvertCustomConfig", "DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "Figures",
    "FixedQParamsFakeQuantize", "FixedQParamsObserver", "FuseCustomConfig", "FusedMovingAvgObsFakeQuantize",
    "HistogramObserver", "LayerError", "LearnableFakeQuantize", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver",
    "PlaceholderObserver", "PrepareCustomConfig", "QScheme", "QuantStub", "QuantType", "QuantWrapper",
    "RecordingObserver", "ReuseInputObserver", "UniformQuantizationObserverBase", "WeightOnlyLinear", "accuracy",
    "add_quant_dequant", "compare_layers", "convert", "default_eval_fn", "disable_fake_quant", "disable_observer",
    "enable_fake_quant", "enable_observer", "equalize", "freeze_bn_stats", "fuse_automatically", "fuse_modules",
    "fuse_modules_qat", "intrinsic", "model_size", "per_channel_affine", "per_channel_symmetric", "per_tensor_affine",
    "per_tensor_symmetric", "prepare", "prepare_qat", "propagate_qconfig", "propagate_qconfig_", "qat", "quantize",
    "quantize_dynamic", "quantize_qat", "quantize_weights", "quantized", "smooth", "sqnr", "swap_module", "unobserved",
    "update_bn_stats", "weight_only",
]  # fmt: skip
__all__ += ["adaround", "correct_bias"]
__all__ += ["LayerCost", "MixedPrecision", "Sensitivity", "mixed_precision", "sensitivity"]
__all__ += ["Advice", "LeftInFloat", "PointFigures", "Report", "report"]
__all__ += default_fake_quantize.__all__
__all__ += default_observers.__all__
__all__ += [name for name in qconfig.__all__ if name not in ("BACKENDS", "is_memoryless")]
__all__ += [name for name in mappings.__all__ if name.startswith("DEFAULT") or not name.isupper()]
__all__ += qconfig_mapping.__all__
__all__ += fuser_methods.__all__
__all__ += [
    "backend_config",
    "convert_fx",
    "convert_to_reference_fx",
    "custom_config",
    "fuse_fx",
    "numeric_suite",
    "numeric_suite_fx",
    "prepare_fx",
    "prepare_qat_fx",
    "quantize_fx",
]

PYTORCH_FILES = (
    "observer", "fake_quantize", "qconfig", "qconfig_mapping", "quantize", "fuse_modules", "fuser_method_mappings",
    "fx", "quant_type", "quantization_mappings", "stubs", "utils",
)  # fmt: skip
"""Files of PyTorch's whose names are offered here."""

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
