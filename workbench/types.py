"""Names for annotations, in PyTorch's words."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

from workbench.base.devices import Device as _Device
from workbench.base.public import words
from workbench.base.symbolic_size import SymbolicSize as SymInt
from workbench.core.size import Size
from workbench.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "SymBool", "SymFloat", "SymInt", "Tensor"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _Device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
SymBool: TypeAlias = bool
SymFloat: TypeAlias = float
"""What a number of a trace is: its code runs with today's, and leaves a guard."""
Storage: TypeAlias = Any

__getattr__, __dir__ = words(__name__, __all__)
