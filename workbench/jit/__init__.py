"""TorchScript's words: modules and functions that run a graph instead of Python, and what programs say to a compiler.

>>> import workbench as wb
>>> double = wb.jit.trace(lambda x: x * 2, wb.ones(3))
>>> double(wb.tensor([1.0, 2.0, 3.0, 4.0]))
tensor([2., 4., 6., 8.])
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.graph.raising import Error
from workbench.jit.guards import (
    Attribute,
    Final,
    annotate,
    export,
    fork,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,
    script_if_tracing,
    script_method,
    unused,
    wait,
)
from workbench.jit.guards import _assert as _assert
from workbench.jit.guards import _overload as _overload
from workbench.jit.guards import _overload_method as _overload_method
from workbench.jit.reading import load
from workbench.jit.script_modules import ScriptFunction, ScriptModule, freeze, optimize_for_inference
from workbench.jit.scripting import ScriptError, script
from workbench.jit.tracing import TracerWarning, TracingCheckError, trace, trace_module
from workbench.jit.writing import save

__all__ = [
    "Attribute", "Error", "Final", "ScriptError", "ScriptFunction", "ScriptModule", "TracerWarning",
    "TracingCheckError", "annotate", "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing",
    "isinstance", "load", "optimize_for_inference", "save", "script", "script_if_tracing", "script_method", "trace",
    "trace_module", "unused", "wait",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
