"""Numbers that only a run knows: tensors without dims, and what Python's functions of numbers are of those."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import DType, bool_, dtype_of, float64, int64
from workbench.base.symbolic_size import SymbolicNumber
from workbench.graph import NamedFunction
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts.room import Room
from workbench.onnx.values import wb
from workbench.tensor import Tensor

__all__ = ["ASKING", "Count", "calculated", "count", "has_open", "is_open", "item"]

ASKING = frozenset({"builtins.bool", "builtins.float", "builtins.int", "Tensor.item", "Tensor.__bool__"})
"""Functions that ask a tensor for its number."""

_SIZES = frozenset({"add", "sub", "mul", "floordiv", "mod", "neg", "pos", "truediv"})
"""What sizes are computed with as they are: an expression stays one."""

_COMPARED = {
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "eq": "eq",
    "ne": "ne",
    "is_": "eq",
    "is_not": "ne",
}
_WHOLE = {
    "add": "add", "sub": "sub", "mul": "mul", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "neg": "neg", "pos": "positive", "abs": "abs", "min": "minimum", "max": "maximum", "and_": "bitwise_and",
    "or_": "bitwise_or", "xor": "bitwise_xor", "truediv": "div",
}  # fmt: skip
"""Operators of numbers, and the functions of tensors that compute them in the type of the result."""
_FUNCTIONS = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos",
    "tan": "tan", "tanh": "tanh", "fabs": "abs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "pow": "pow",
    "round": "round", "erf": "erf", "atan": "atan",
}  # fmt: skip
"""Functions of `math`, and `round`: computed in float64, and whole where Python gives an int."""


def is_open(value: Any) -> bool:
    """Say whether a number is known by runs alone: a tensor that stands for one, or a size."""
    return isinstance(value, Tensor | SymbolicNumber)


def has_open(value: Any) -> bool:
    """Say whether a number, or one in lists, is known by runs alone."""
    return any(map(has_open, value)) if isinstance(value, list | tuple) else is_open(value)


def item(room: Room, tensor: Any, name: str) -> Any:
    """Return the number of a tensor of one value, as a tensor without dims."""
    found = tensor if not tensor.dim() else tensor.reshape(())
    match name.rpartition(".")[2]:
        case "bool" | "__bool__":
            return found if dtype_of(found) == bool_ else found != 0
        case "int":
            return found.to(int64)
        case "float":
            return found.to(float64)
    kind = dtype_of(found)
    return found if kind == bool_ else found.to(float64 if kind.is_floating_point else int64)


def calculated(room: Room, function: NamedFunction, inputs: list[Any], result: DType) -> Any:
    """Return what a function of numbers gives, where some of them are known by runs alone.

    Raises `OnnxError` for a function that has no form here.
    """
    house, _, word = function.name.partition(".")
    if house == "builtins" and word in ("int", "float", "bool"):
        return item(room, room.number(inputs[0]), function.name)
    sizes = not any(isinstance(one, Tensor) for one in inputs)
    if sizes and word in _SIZES:
        return function.call(*inputs)
    numbers = [room.number(one) for one in inputs]
    if word == "not_":
        return item(room, numbers[0], "bool").logical_not()
    if house == "operator" and word in _COMPARED:
        wide = _wide(numbers)
        return getattr(wb, _COMPARED[word])(*(one.to(wide) for one in numbers))
    table = _WHOLE if house in ("operator", "builtins") else {}
    if word in table:
        numbers = [one.to(result) for one in numbers]
        found = numbers[0] if len(numbers) == 1 and table[word] in ("minimum", "maximum") else None
        if len(numbers) > 2:
            # `min` and `max` of several, two at a time.
            found = numbers[0]
            for one in numbers[1:]:
                found = getattr(wb, table[word])(found, one)
        if found is None:
            found = getattr(wb, table[word])(*numbers)
        return found.to(result)
    if word in _FUNCTIONS and house in ("math", "builtins") and len(numbers) == 1 + (word == "pow"):
        return getattr(wb, _FUNCTIONS[word])(*(one.to(float64) for one in numbers)).to(result)
    raise OnnxError(f"{function.name} of a number that only a run knows has no form in the format")


def _wide(numbers: list[Any]) -> DType:
    kinds = {dtype_of(one) for one in numbers}
    return float64 if float64 in kinds else int64 if int64 in kinds else kinds.pop()


class Count:
    """`range` of numbers that are known by runs: how many turns there are, and the number of each."""

    def __init__(self, room: Room, start: Any, stop: Any, step: Any) -> None:
        self.room = room
        self.start, self.stop, self.step = start, stop, step

    def turns(self) -> Any:
        """Return how many numbers there are."""
        plain = type(self.start) is int and type(self.step) is int
        if plain and isinstance(self.stop, SymbolicNumber) and (self.start, self.step) == (0, 1):
            return self.stop
        room = self.room
        start, stop, step = (room.number(one, int64) for one in (self.start, self.stop, self.step))
        # Rounded up: a floor of the negative one, as Python counts.
        found = -wb.floor_divide(start - stop, step)
        return wb.maximum(found, room.number(0, int64))

    def at(self, place: Any) -> Any:
        """Return one of the numbers."""
        if not any(isinstance(one, Tensor) for one in (self.start, self.step, place)):
            return self.start + place * self.step
        found = self.room.number(place, int64)
        if type(self.step) is not int or self.step != 1:
            found = found * self.room.number(self.step, int64)
        plain = type(self.start) is int and self.start == 0
        return found if plain else found + self.room.number(self.start, int64)


def count(room: Room, *bounds: Any) -> Count:
    """Return `range` of these bounds."""
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Count(room, start, stop, step)
