"""Models of the house, run with PyTorch's layers: the same source, with another import."""

from __future__ import annotations

import sys
import types
from functools import cache
from pathlib import Path
from typing import Any

import workbench as wb

__all__ = ["with_torch"]


@cache
def with_torch(room: str) -> Any:
    """Return a module of `wb.models` whose source is run with PyTorch's layers."""
    source = (Path(wb.__file__ or "").parent / "models" / f"{room}.py").read_text(encoding="utf-8")
    name = f"{__name__}.{room}"
    # What looks for the module of a class finds it, as it would one that was imported.
    sys.modules[name] = made = types.ModuleType(name)
    exec(
        compile(source.replace("from workbench import nn", "from torch import nn"), name, "exec"), vars(made)
    )
    return made
