"""Python's operators on tensors: each is an op of the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype
from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.op import ops
from workbench.core.value import Value, new
from workbench.ops.elementwise import copying as e

__all__ = ["PLAIN", "Operators"]

_SCALARS = (float, int, bool, complex)
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
    raise TypeError(
        f"unsupported operand of type {type(other).__name__!r} for a Tensor: give a tensor or a number"
    )


def _forward(op: Any) -> Any:
    # The test comes first: this is part of every addition.
    def operator(self: Any, other: Any) -> Any:
        return op(self, other if type(other) in PLAIN else operand(other))

    return operator


def _backward(op: Any) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return op(operand(other), self)

    return operator


def _alone(op: Any) -> Any:
    def operator(self: Any) -> Any:
        return op(self)

    return operator


class Operators(Value):
    """Arithmetic, comparison and bits, with the operand that is no tensor on either side."""

    __slots__ = ()

    __add__, __radd__ = _forward(e.ADD), _forward(e.ADD)
    __sub__, __rsub__ = _forward(e.SUB), _backward(e.SUB)
    __mul__, __rmul__ = _forward(e.MUL), _forward(e.MUL)
    __truediv__, __rtruediv__ = _forward(e.DIV), _backward(e.DIV)
    __floordiv__, __rfloordiv__ = _forward(e.DIV_FLOOR), _backward(e.DIV_FLOOR)
    __mod__, __rmod__ = _forward(e.REMAINDER), _backward(e.REMAINDER)
    __pow__, __rpow__ = _forward(e.POW), _backward(e.POW)
    __matmul__, __rmatmul__ = _forward(ops.matmul), _backward(ops.matmul)
    __and__, __rand__ = _forward(e.BITWISE_AND), _forward(e.BITWISE_AND)
    __or__, __ror__ = _forward(e.BITWISE_OR), _forward(e.BITWISE_OR)
    __xor__, __rxor__ = _forward(e.BITWISE_XOR), _forward(e.BITWISE_XOR)
    __lshift__, __rlshift__ = _forward(e.BITWISE_LEFT_SHIFT), _backward(e.BITWISE_LEFT_SHIFT)
    __rshift__, __rrshift__ = _forward(e.BITWISE_RIGHT_SHIFT), _backward(e.BITWISE_RIGHT_SHIFT)
    __eq__, __ne__ = _forward(e.EQ), _forward(e.NE)
    __lt__, __le__ = _forward(e.LT), _forward(e.LE)
    __gt__, __ge__ = _forward(e.GT), _forward(e.GE)
    __neg__, __abs__, __invert__ = _alone(e.NEG), _alone(e.ABS), _alone(e.BITWISE_NOT)
    # A class with __eq__ loses it; tensors are told apart by identity.
    __hash__ = object.__hash__

    def __pos__(self) -> Any:
        return self
