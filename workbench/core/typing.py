"""Types of what people pass and get, for the signatures below the tensor.

`Tensor` is the class that people know, two rooms above. A type checker finds it there; while Python runs nothing is
imported, and the name stands for anything. It is the one name that goes up, and `tests/layers` knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType

if TYPE_CHECKING:
    from workbench.tensor.tensor import Tensor as Tensor
else:
    Tensor = Any

__all__ = [
    "DTypeLike",
    "DeviceLike",
    "Dim",
    "DimsLike",
    "Operand",
    "Order",
    "Scalar",
    "Shape",
    "Size",
    "Tensor",
]

Scalar: TypeAlias = bool | int | float | complex
"""One number of Python's."""
Operand: TypeAlias = "Tensor | Scalar | np.ndarray[Any, Any] | np.generic"
"""What stands beside a tensor in arithmetic."""
Dim: TypeAlias = int | str
"""A dim by its position or its name."""
DimsLike: TypeAlias = Dim | Sequence[Dim]
"""A dim, or several."""
Size: TypeAlias = int | Sequence[int]
"""One number for every dim, or one for each."""
Shape: TypeAlias = int | Sequence[int | str]
"""Sizes of several dims, or the names of dims that have them."""
Order: TypeAlias = int | float | str
"""Which norm: a number, ``"fro"`` or ``"nuc"``."""
DTypeLike: TypeAlias = DType | str | type | np.dtype[Any]
"""A data type, or what names one."""
DeviceLike: TypeAlias = Device | str
"""A device, or its name."""
