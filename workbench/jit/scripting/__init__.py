"""Compiling TorchScript: a typed part of Python, from its source to a graph with blocks."""

from __future__ import annotations

from workbench.jit.scripting.compiling import script
from workbench.jit.scripting.errors import ScriptError

__all__ = ["ScriptError", "script"]
