"""The tensor people hold: thin, with its methods and operators bound from the table."""

from __future__ import annotations

from workbench.ops import METHODS
from workbench.ops.device import move_or_cast
from workbench.tensor.tensor import Tensor

__all__ = ["METHODS", "Tensor"]

_OPERATORS = {
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__ipow__": "pow_",
    "__floordiv__": "floor_divide",
    "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__invert__": "bitwise_not",
    "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
    "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
}
"""Python's operators that are methods by another name; arithmetic has its own short path in `Tensor`."""

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Tensor.to = Tensor.type = move_or_cast  # type: ignore[attr-defined]
for _name, _method_name in _OPERATORS.items():
    if _method_name in METHODS:
        setattr(Tensor, _name, METHODS[_method_name])
