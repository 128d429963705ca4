"""Modules: layers in PyTorch's words, which name the dims of their parameters and check those of their input."""

from __future__ import annotations

from workbench.nn import functional, init, modules, utils
from workbench.nn.module import Module
from workbench.nn.modules import *  # noqa: F403  every layer, by the list of that room
from workbench.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from workbench.nn.spatial_names import IMAGE, check_names

__all__ = [
    "IMAGE", "Buffer", "Module", "Parameter", "UninitializedBuffer", "UninitializedParameter", "check_names",
    "functional", "init", "utils",
]  # fmt: skip
__all__ += modules.__all__
