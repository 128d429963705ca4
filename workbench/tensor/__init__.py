"""The tensor people hold: thin, with its methods bound from the table."""

from __future__ import annotations

from workbench.ops import METHODS
from workbench.tensor.tensor import Tensor

__all__ = ["METHODS", "Tensor"]

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
