"""Which layer becomes which: the one place where layers that can be quantized are listed."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.base.errors import QuantizationError
from workbench.quantization import intrinsic, qat, quantizable, quantized
from workbench.quantization.default_fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from workbench.quantization.intrinsic import qat as intrinsic_qat
from workbench.quantization.intrinsic import quantized as intrinsic_quantized
from workbench.quantization.qat import dynamic as qat_dynamic
from workbench.quantization.quantized import dynamic, embedding, functional_modules, reference
from workbench.quantization.stubs import DeQuantStub, QuantStub

__all__ = [
    "BESIDE", "COMPUTED", "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "MADE_OF_PARTS",
    "OBSERVED", "PARTS_IN_CODES", "PASSING", "ROUNDED", "TABLES", "WEIGHTED", "get_default_compare_output_module_list",
    "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
    "get_default_static_quant_reference_module_mappings", "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings", "get_embedding_static_quant_module_mappings",
    "get_static_quant_module_class", "no_observer_set",
]  # fmt: skip

Mapping = dict[type, Any]

_WEIGHTED: Mapping = {
    nn.Linear: quantized.Linear,
    nn.Conv1d: quantized.Conv1d,
    nn.Conv2d: quantized.Conv2d,
    nn.Conv3d: quantized.Conv3d,
    nn.ConvTranspose1d: quantized.ConvTranspose1d,
    nn.ConvTranspose2d: quantized.ConvTranspose2d,
    nn.ConvTranspose3d: quantized.ConvTranspose3d,
    intrinsic.ConvReLU1d: intrinsic_quantized.ConvReLU1d,
    intrinsic.ConvReLU2d: intrinsic_quantized.ConvReLU2d,
    intrinsic.ConvReLU3d: intrinsic_quantized.ConvReLU3d,
    intrinsic.ConvReLUMaxPool2d: quantized.ConvReLUMaxPool2d,
    intrinsic.LinearReLU: intrinsic_quantized.LinearReLU,
    intrinsic.LinearLeakyReLU: intrinsic_quantized.LinearLeakyReLU,
    intrinsic.LinearTanh: intrinsic_quantized.LinearTanh,
    intrinsic.ConvAdd2d: intrinsic_quantized.ConvAdd2d,
    intrinsic.ConvAddReLU2d: intrinsic_quantized.ConvAddReLU2d,
}
"""Layers with a weight, in floating point."""

_TRAINED: Mapping = {
    qat.Linear: quantized.Linear,
    qat.Conv1d: quantized.Conv1d,
    qat.Conv2d: quantized.Conv2d,
    qat.Conv3d: quantized.Conv3d,
    intrinsic_qat.LinearReLU: intrinsic_quantized.LinearReLU,
    intrinsic_qat.LinearBn1d: quantized.Linear,
    intrinsic_qat.ConvReLU1d: intrinsic_quantized.ConvReLU1d,
    intrinsic_qat.ConvReLU2d: intrinsic_quantized.ConvReLU2d,
    intrinsic_qat.ConvReLU3d: intrinsic_quantized.ConvReLU3d,
    intrinsic_qat.ConvBn1d: quantized.Conv1d,
    intrinsic_qat.ConvBn2d: quantized.Conv2d,
    intrinsic_qat.ConvBn3d: quantized.Conv3d,
    intrinsic_qat.ConvBnReLU1d: intrinsic_quantized.ConvReLU1d,
    intrinsic_qat.ConvBnReLU2d: intrinsic_quantized.ConvReLU2d,
    intrinsic_qat.ConvBnReLU3d: intrinsic_quantized.ConvReLU3d,
}
"""Layers with a weight, in training."""

_COMPUTED: Mapping = {
    nn.BatchNorm2d: quantized.BatchNorm2d,
    nn.BatchNorm3d: quantized.BatchNorm3d,
    intrinsic.BNReLU2d: intrinsic_quantized.BNReLU2d,
    intrinsic.BNReLU3d: intrinsic_quantized.BNReLU3d,
    nn.ELU: quantized.ELU,
    nn.GELU: quantized.GELU,
    nn.GroupNorm: quantized.GroupNorm,
    nn.Hardswish: quantized.Hardswish,
    nn.InstanceNorm1d: quantized.InstanceNorm1d,
    nn.InstanceNorm2d: quantized.InstanceNorm2d,
    nn.InstanceNorm3d: quantized.InstanceNorm3d,
    nn.LayerNorm: quantized.LayerNorm,
    nn.LeakyReLU: quantized.LeakyReLU,
    nn.PReLU: quantized.PReLU,
    nn.SiLU: quantized.SiLU,
}
"""Layers whose results have a scale of their own, and that have nothing else to quantize."""

COMPUTED: tuple[type, ...] = tuple(_COMPUTED)
"""The same layers, by their types."""

DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[type, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
"""Layers whose results have a scale that is known, and what rounds to it in training."""

_TABLES: Mapping = {nn.Embedding: embedding.Embedding, nn.EmbeddingBag: embedding.EmbeddingBag}

TABLES: tuple[type, ...] = tuple(_TABLES)
"""Layers of which only the weight is quantized."""

_PASSING: Mapping = {nn.Dropout: quantized.Dropout, nn.ReLU6: quantized.ReLU6}

PASSING: tuple[type, ...] = tuple(_PASSING)
"""Layers whose results have the scale of what they are given."""

ROUNDED: tuple[type, ...] = (nn.ReLU6,)
"""Those of them that round to a range of their own while training, as PyTorch's do; in codes it counts for nothing."""

_STATIC: Mapping = {
    QuantStub: quantized.Quantize,
    DeQuantStub: quantized.DeQuantize,
    functional_modules.FloatFunctional: functional_modules.QFunctional,
    **_PASSING,
    **_WEIGHTED,
    **_TRAINED,
    **_COMPUTED,
    **_TABLES,
}

BESIDE: dict[type, str] = {
    **dict.fromkeys((nn.GELU, nn.SiLU), "activation_post_process"),
    qat.Conv1d: "weight_fake_quant",
    **dict.fromkeys((nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), "weight_post_process"),
}
"""Layers of which something is observed in training that PyTorch does not observe, and under which name it stands."""

_QAT: Mapping = {
    nn.Linear: qat.Linear,
    nn.Conv1d: qat.Conv1d,
    nn.Conv2d: qat.Conv2d,
    nn.Conv3d: qat.Conv3d,
    intrinsic.ConvBn1d: intrinsic_qat.ConvBn1d,
    intrinsic.ConvBn2d: intrinsic_qat.ConvBn2d,
    intrinsic.ConvBn3d: intrinsic_qat.ConvBn3d,
    intrinsic.ConvBnReLU1d: intrinsic_qat.ConvBnReLU1d,
    intrinsic.ConvBnReLU2d: intrinsic_qat.ConvBnReLU2d,
    intrinsic.ConvBnReLU3d: intrinsic_qat.ConvBnReLU3d,
    intrinsic.ConvReLU1d: intrinsic_qat.ConvReLU1d,
    intrinsic.ConvReLU2d: intrinsic_qat.ConvReLU2d,
    intrinsic.ConvReLU3d: intrinsic_qat.ConvReLU3d,
    intrinsic.LinearReLU: intrinsic_qat.LinearReLU,
    intrinsic.LinearBn1d: intrinsic_qat.LinearBn1d,
}

_DYNAMIC: Mapping = {
    nn.Linear: dynamic.Linear,
    qat.Linear: dynamic.Linear,
    qat_dynamic.Linear: dynamic.Linear,
    intrinsic.LinearReLU: dynamic.LinearReLU,
    nn.LSTM: dynamic.LSTM,
    nn.GRU: dynamic.GRU,
    nn.LSTMCell: dynamic.LSTMCell,
    nn.GRUCell: dynamic.GRUCell,
    nn.RNNCell: dynamic.RNNCell,
    **_TABLES,
}

_RECTIFIED: Mapping = {
    **{
        one: one
        for one in (intrinsic.ConvReLU1d, intrinsic.ConvReLU2d, intrinsic.ConvReLU3d, intrinsic.LinearReLU)
    },
    intrinsic.ConvReLUMaxPool2d: intrinsic.ConvReLUMaxPool2d,
    intrinsic_qat.LinearReLU: intrinsic.LinearReLU,
    intrinsic_qat.ConvReLU1d: intrinsic.ConvReLU1d,
    intrinsic_qat.ConvReLU2d: intrinsic.ConvReLU2d,
    intrinsic_qat.ConvReLU3d: intrinsic.ConvReLU3d,
    intrinsic_qat.ConvBnReLU1d: intrinsic.ConvReLU1d,
    intrinsic_qat.ConvBnReLU2d: intrinsic.ConvReLU2d,
    intrinsic_qat.ConvBnReLU3d: intrinsic.ConvReLU3d,
}
"""Layers with a weight that end in a rectifier, and in what they are joined in floating point."""

_REFERENCE: Mapping = {getattr(nn, name): getattr(reference, name) for name in reference.__all__}
"""Layers that compute in floating point with the numbers that codes stand for."""

WEIGHTED: tuple[type, ...] = (*_WEIGHTED, *_TRAINED)
"""Layers whose weight and output are quantized."""

OBSERVED: tuple[type, ...] = (
    *WEIGHTED, *_COMPUTED, QuantStub, functional_modules.FloatFunctional, qat_dynamic.Linear
)  # fmt: skip
"""Layers that are observed: their output, and the input of those that become dynamic."""


def get_default_static_quant_module_mappings() -> Mapping:
    """Return what each layer becomes by calibration, or by training with fake quantization."""
    return dict(_STATIC)


def get_default_static_quant_reference_module_mappings() -> Mapping:
    """Return what each layer becomes that has codes and computes in floating point."""
    return {QuantStub: quantized.Quantize, DeQuantStub: quantized.DeQuantize, **_REFERENCE}


def get_embedding_static_quant_module_mappings() -> Mapping:
    """Return the same, with embeddings in training."""
    return {**_STATIC, qat.Embedding: embedding.Embedding, qat.EmbeddingBag: embedding.EmbeddingBag}


def get_default_qat_module_mappings() -> Mapping:
    """Return what each layer becomes for training with fake quantization."""
    return dict(_QAT)


def get_embedding_qat_module_mappings() -> Mapping:
    """Return the same, with embeddings."""
    return {**_QAT, nn.Embedding: qat.Embedding, nn.EmbeddingBag: qat.EmbeddingBag}


def get_default_dynamic_quant_module_mappings() -> Mapping:
    """Return what each layer becomes where only weights are quantized ahead."""
    return dict(_DYNAMIC)


def rectified(kind: type) -> Any:
    """Return in what a layer is joined with its rectifier in floating point; None for one that ends in none."""
    return _RECTIFIED.get(kind)


def reference_of(kind: type) -> Any:
    """Return what a layer becomes that only rounds its weight; None for one without a weight."""
    return _REFERENCE.get(kind)


def get_default_qconfig_propagation_list() -> set[type]:
    """Return the layers that a qconfig says something about."""
    return {*_STATIC, *_QAT, *_DYNAMIC, nn.Sequential}


def get_default_compare_output_module_list() -> set[type]:
    """Return the layers whose results are compared, before and after quantization."""
    return {
        *get_default_qconfig_propagation_list(), *_STATIC.values(), *_QAT.values(), *_DYNAMIC.values()
    }  # fmt: skip


def no_observer_set() -> set[type]:
    """Return the layers whose output is never observed: none."""
    return set()


def _class_of(float_module_class: type, mapping: Mapping, more: Mapping | None) -> Any:
    found = {**mapping, **(more or {})}.get(float_module_class)
    if found is None:
        raise QuantizationError(
            f"Floating point module class {float_module_class.__name__} does not have a corresponding quantized module "
            "class: give one in the mapping"
        )
    return found


def get_static_quant_module_class(
    float_module_class: type, additional_static_quant_mapping: Mapping | None = None
) -> Any:
    """Return what a layer becomes by calibration.

    >>> get_static_quant_module_class(nn.Linear).__name__
    'Linear'
    """
    return _class_of(float_module_class, _STATIC, additional_static_quant_mapping)


def get_dynamic_quant_module_class(
    float_module_class: type, additional_dynamic_quant_mapping: Mapping | None = None
) -> Any:
    """Return what a layer becomes where only weights are quantized ahead."""
    return _class_of(float_module_class, _DYNAMIC, additional_dynamic_quant_mapping)


MADE_OF_PARTS: Mapping = {
    nn.LSTM: quantizable.LSTM,
    nn.LSTMCell: quantizable.LSTMCell,
    nn.MultiheadAttention: quantizable.MultiheadAttention,
    nn.TransformerDecoderLayer: quantizable.TransformerDecoderLayer,
    nn.TransformerEncoderLayer: quantizable.TransformerEncoderLayer,
}
"""Layers that are written with parts before they are observed."""

PARTS_IN_CODES: Mapping = {
    quantizable.LSTM: quantized.LSTM,
    quantizable.MultiheadAttention: quantized.MultiheadAttention,
}
"""What these become; the parts of others become codes by themselves."""

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS = get_default_static_quant_module_mappings()
DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS = get_default_static_quant_reference_module_mappings()
DEFAULT_QAT_MODULE_MAPPINGS = get_default_qat_module_mappings()
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS = get_default_dynamic_quant_module_mappings()
