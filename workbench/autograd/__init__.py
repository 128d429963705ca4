"""Gradients: the tape's backward pass, and what is built on it."""

from __future__ import annotations

from workbench.autograd import checkpoint, forward_ad, functional, graph
from workbench.autograd.anomaly import detect_anomaly, set_detect_anomaly
from workbench.autograd.engine import backward
from workbench.autograd.function import Function, once_differentiable
from workbench.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from workbench.autograd.gradients import grad
from workbench.autograd.mixed_precision import (
    autocast,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
)
from workbench.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from workbench.autograd.variable import Variable
from workbench.base.public import words
from workbench.core.dispatch import grad_enabled

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "autocast",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "set_autocast_cache_enabled",
    "grad",
    "grad_enabled",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_autocast_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]

PYTORCH_FILES = ("anomaly_mode", "function", "grad_mode", "variable")
"""Files that PyTorch has here."""

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES, later={"profiler": "workbench.profiler"})
