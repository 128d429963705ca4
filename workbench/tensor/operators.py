"""Python's operators on tensors: each is an op of the table."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype
from workbench.base.foreign import called
from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.op import ops
from workbench.core.value import Value, new
from workbench.ops import METHODS
from workbench.ops.elementwise import copying as e

__all__ = ["OPERATORS", "PLAIN", "operand"]

_SCALARS = (float, int, bool, complex)
_NEVER_EQUAL = (str, bytes, dict, set, type, types.FunctionType, types.ModuleType)
PLAIN: set[type] = set(_SCALARS)
"""Types of operands that ops take as they are."""


def operand(other: Any) -> Any:
    """Return what arithmetic takes: a tensor or a Python number; NumPy values become tensors."""
    if isinstance(other, Value) or type(other) in _SCALARS:
        return other
    if isinstance(other, np.ndarray | np.generic):
        array = np.asarray(other)
        as_dtype(array.dtype)
        return new(array)
    if isinstance(other, SymbolicNumber):
        return other if other.scope.active else other.hint  # the graph keeps its expression
    if isinstance(other, int):
        return int(other)  # a member of an enumeration, or the like
    raise TypeError(f"unsupported operand of type {called(other)} for a Tensor: give a tensor or a number")


def _forward(op: Any) -> Any:
    # The test comes first: this is part of every addition.
    def operator(self: Any, other: Any) -> Any:
        return op(self, other if type(other) in PLAIN else operand(other))

    return operator


def _comparing(op: Any) -> Any:
    # What is neither a tensor nor a number equals none: Python says so where it gets no answer, as for ``x == None``.
    def operator(self: Any, other: Any) -> Any:
        if type(other) in PLAIN:
            return op(self, other)
        return (
            NotImplemented if other is None or isinstance(other, _NEVER_EQUAL) else op(self, operand(other))
        )

    return operator


def _backward(op: Any) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return op(operand(other), self)

    return operator


def _alone(op: Any) -> Any:
    def operator(self: Any) -> Any:
        return op(self)

    return operator


OPERATORS: dict[str, Callable[..., Any]] = {
    # The operand that is no tensor may stand on either side, and here it does not matter on which.
    **{
        f"__{side}{sign}__": operator
        for sign, op in {
            "add": e.ADD, "mul": e.MUL, "and": e.BITWISE_AND, "or": e.BITWISE_OR, "xor": e.BITWISE_XOR,
        }.items()
        for side, operator in (("", _forward(op)), ("r", _forward(op)))
    },
    **{
        f"__{side}{sign}__": operator
        for sign, op in {
            "sub": e.SUB, "truediv": e.DIV, "floordiv": e.DIV_FLOOR, "mod": e.REMAINDER, "pow": e.POW,
            "matmul": ops.matmul, "lshift": e.BITWISE_LEFT_SHIFT, "rshift": e.BITWISE_RIGHT_SHIFT,
        }.items()
        for side, operator in (("", _forward(op)), ("r", _backward(op)))
    },
    **{
        f"__{sign}__": _forward(op)
        for sign, op in {"lt": e.LT, "le": e.LE, "gt": e.GT, "ge": e.GE}.items()
    },
    "__eq__": _comparing(e.EQ),
    "__ne__": _comparing(e.NE),
    "__neg__": _alone(e.NEG),
    "__abs__": _alone(e.ABS),
    "__invert__": _alone(e.BITWISE_NOT),
    "__pos__": lambda self: self,
    # Without these Python makes ``x += y`` a new tensor, where PyTorch changes the one that is there.
    **{
        f"__i{sign}__": METHODS[name]
        for sign, name in {
            "add": "add_", "sub": "sub_", "mul": "mul_", "truediv": "div_", "floordiv": "floor_divide_",
            "mod": "remainder_", "pow": "pow_", "and": "bitwise_and_", "or": "bitwise_or_", "xor": "bitwise_xor_",
            "lshift": "bitwise_left_shift_", "rshift": "bitwise_right_shift_",
        }.items()
    },
}  # fmt: skip
"""Arithmetic, comparison and bits, by the names of Python's methods, which `Tensor` is given."""
