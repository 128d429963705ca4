"""Every public name of PyTorch's rooms for quantization: here, or declared with the reason why not."""

from __future__ import annotations

import importlib
import types
import warnings
from fnmatch import fnmatchcase

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

INSIDE = "helpers of PyTorch's own passes over its graphs, and of its own files"
SCRIPT = "quantization of scripts in place: prepare_fx takes scripts here, and gives graphs"
BLOCKS = "of torchao, another package: scales for blocks, rows and groups"
SPARSE = "sparse layers on codes"
SHADOWS = (
    "a model with its layers in several choices of codes at once: sensitivity and report say what each costs"
)
MAKERS = "what one maker's kernels take: a BackendConfig says it, where it is wanted"
DYNAMIC = "convolutions that find a scale in each call"

_BLOCKS = (
    "AffineQuantizedObserverBase Granularity MappingType Per* TorchAODType ZeroPointDomain get_block_size"
)

ROOMS: dict[str, dict[str, str]] = {
    "quantization": {
        INSIDE: "MatchAllNode ObserverOrFakeQuantize Pattern QConfigDynamic get_combined_dict "
        "get_default_custom_config_dict get_fuser_method_new get_quantized_operator "
        "*FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS *float_to_quantized_operator_mappings",
        SCRIPT: "*_jit script_qconfig*",
        BLOCKS: _BLOCKS,
        SPARSE: "*sparse* *SPARSE*",
    },
    "quantization.observer": {BLOCKS: _BLOCKS},
    "quantization.fake_quantize": {},
    "quantization.qconfig": {INSIDE: "QConfigDynamic"},
    "quantization.qconfig_mapping": {},
    "quantization.quantize": {INSIDE: "get_default_custom_config_dict"},
    "quantization.quantize_fx": {},
    "quantization.fx.custom_config": {},
    "quantization.backend_config": {MAKERS: "get_*_backend_config get_*_backend_config_dict"},
    "quantization.fuse_modules": {},
    "quantization.stubs": {},
    "ns._numeric_suite": {INSIDE: "NON_LEAF_MODULE_TO_ADD_OBSERVER_ALLOW_LIST prepare"},
    "ns._numeric_suite_fx": {SHADOWS: "*n_shadows*"},
    "nn.quantized": {},
    "nn.quantizable": {},
    "nn.quantized.dynamic": {DYNAMIC: "Conv*"},
    "nn.quantized.reference": {},
    "nn.qat": {},
    "nn.qat.dynamic": {},
    "nn.intrinsic": {},
    "nn.intrinsic.qat": {},
    "nn.intrinsic.quantized": {},
}
"""Names that are not here, or patterns of such, by room and reason."""

WANTED = {
    "quantization.quantize_fx": "prepare_fx prepare_qat_fx convert_fx fuse_fx ConvertCustomConfig FuseCustomConfig "
    "PrepareCustomConfig",
    "ns._numeric_suite_fx": "NSTracer OutputComparisonLogger OutputLogger add_loggers add_shadow_loggers "
    "convert_n_shadows_model extend_logger_results_with_comparison extract_logger_info extract_results_n_shadows_model "
    "extract_shadow_logger_info extract_weights loggers_set_enabled loggers_set_save_activations "
    "prepare_n_shadows_model print_comparisons_n_shadows_model",
    "nn.intrinsic": "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d "
    "ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearLeakyReLU LinearReLU LinearTanh",
}
"""What is public in rooms that have no list, and show what they import."""


def names_of(room: str) -> list[str]:
    """What a room of PyTorch's offers: what it lists, and what it shows of its own."""
    with warnings.catch_warnings(action="ignore"):
        module = importlib.import_module(f"torch.ao.{room}")
    if room in WANTED:
        found = WANTED[room].split()
        assert all(hasattr(module, name) for name in found)
        return found

    def own(name: str) -> bool:
        one = getattr(module, name)
        maker = str(getattr(one, "__module__", "torch.ao"))
        return not isinstance(one, types.ModuleType) and maker.startswith("torch.ao")

    shown = [name for name in dir(module) if not name.startswith("_") and own(name)]
    listed = [name for name in getattr(module, "__all__", []) if not name.startswith("_")]
    return sorted({*listed, *(shown if room == "quantization" or not listed else [])})


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_is_here_or_declared(room: str) -> None:
    ours = importlib.import_module(f"workbench.ao.{room}")
    absent = [name for name in names_of(room) if not hasattr(ours, name)]
    declared = [one for words in ROOMS[room].values() for one in words.split()]
    unknown = [name for name in absent if not any(fnmatchcase(name, one) for one in declared)]
    assert not unknown, f"torch.ao.{room}: offer these, or say in this file why not"
    vain = [one for one in declared if not any(fnmatchcase(name, one) for name in absent)]
    assert not vain, f"torch.ao.{room}: these are here"
