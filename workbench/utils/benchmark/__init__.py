"""Measure anything, ours or another library's, in PyTorch's words: `torch.utils.benchmark`."""

from __future__ import annotations

from workbench.base.public import words
from workbench.utils.benchmark.compare import Compare
from workbench.utils.benchmark.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from workbench.utils.benchmark.instructions import CallgrindStats, FunctionCount, FunctionCounts
from workbench.utils.benchmark.measurement import Measurement, TaskSpec, select_unit
from workbench.utils.benchmark.timer import Timer

__all__ = [
    "CallgrindStats",
    "Compare",
    "FunctionCount",
    "FunctionCounts",
    "FuzzedParameter",
    "FuzzedTensor",
    "Fuzzer",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "select_unit",
]

__getattr__, __dir__ = words(__name__, __all__)
