"""Modules: layers in PyTorch's words, which name the dims of their parameters and check those of their input."""

from __future__ import annotations

from workbench.base.public import words
from workbench.nn import attention, functional, init, modules, parallel, utils
from workbench.nn.module import Module
from workbench.nn.modules import *  # noqa: F403  every layer, by the list of that room
from workbench.nn.parallel import DataParallel
from workbench.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from workbench.nn.spatial_names import IMAGE, check_names

__all__ = [
    "IMAGE", "Buffer", "DataParallel", "Module", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "attention", "check_names",
    "functional", "init", "modules", "parallel", "utils",
]  # fmt: skip
__all__ += modules.__all__

__getattr__, __dir__ = words(
    __name__,
    __all__,
    later={name: f"workbench.nn.{name}" for name in ("intrinsic", "qat", "quantizable", "quantized")},
    elsewhere={
        "quantizable": "layers are observed as they are: wb.quantization.prepare and prepare_fx take them",
    },
)
