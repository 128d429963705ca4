"""Modules and functions as programs of steps, and the words of PyTorch's programs to a compiler.

>>> import workbench as wb
>>> double = wb.compile(lambda x: x.relu() * 2)
>>> double(wb.tensor([1.0, -1.0]))
tensor([2., 0.])
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.compiler.door import CompiledFunction, CompiledModule, compile, explain
from workbench.compiler.report import Report
from workbench.compiler.stances import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    reset,
    set_stance,
)

__all__ = [
    "CompiledFunction", "CompiledModule", "Report", "allow_in_graph", "assume_constant_result", "compile",
    "cudagraph_mark_step_begin", "disable", "explain", "is_compiling", "is_dynamo_compiling", "is_exporting",
    "list_backends", "reset", "set_stance",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
