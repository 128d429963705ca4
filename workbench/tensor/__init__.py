"""The tensor people hold: thin, with its methods and operators bound from the table."""

from __future__ import annotations

from workbench.ops import METHODS
from workbench.tensor import new_like  # noqa: F401  binds its methods
from workbench.tensor.tensor import Tensor

__all__ = ["METHODS", "Tensor"]

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
# Without these Python makes ``x += y`` a new tensor, where PyTorch changes the one that is there.
for _sign, _name in {
    "add": "add_",
    "sub": "sub_",
    "mul": "mul_",
    "truediv": "div_",
    "floordiv": "floor_divide_",
    "mod": "remainder_",
    "pow": "pow_",
    "and": "bitwise_and_",
    "or": "bitwise_or_",
    "xor": "bitwise_xor_",
    "lshift": "bitwise_left_shift_",
    "rshift": "bitwise_right_shift_",
}.items():
    setattr(Tensor, f"__i{_sign}__", METHODS[_name])
