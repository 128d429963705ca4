"""Sizes of traced tensors: whole numbers that notice when a function uses them as numbers.

``x.reshape(x.shape[0], -1)`` writes today's batch size into the graph. The graph remembers that it did, and
refuses to run for another size rather than give a wrong result.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from workbench.graph.blocks import Value
from workbench.graph.types import TensorType

__all__ = ["Size", "note_sizes", "sizes_of"]

Origin = tuple["weakref.ref[Value]", int]


class Size(int):
    """The size of a dim of a traced value, or a number computed from such sizes."""

    origins: frozenset[Origin]

    def __new__(cls, size: int, origins: Iterable[Origin]) -> Size:
        """Make a size that stems from the dims `origins`."""
        made = super().__new__(cls, size)
        made.origins = frozenset(origins)
        return made

    def note(self) -> None:
        """Mark the dims that this number stems from as fixed: the graph holds for these sizes only."""
        for reference, dim in self.origins:
            value = reference()
            if value is not None and isinstance(value.type, TensorType):
                value.type = replace(value.type, fixed=value.type.fixed | {dim})

    def __int__(self) -> int:
        self.note()
        return operator.index(self)

    def __float__(self) -> float:
        self.note()
        return float(operator.index(self))

    def __truediv__(self, other: Any) -> Any:
        self.note()
        return int.__truediv__(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        self.note()
        return int.__rtruediv__(self, other)


def _follow(name: str) -> Any:
    """Return the arithmetic of whole numbers whose result remembers where its operands came from."""
    plain = getattr(int, name)

    def method(self: Size, *others: Any) -> Any:
        result = plain(self, *others)
        if type(result) is not int:
            return result
        return Size(result, self.origins.union(*(one.origins for one in others if isinstance(one, Size))))

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod", "pow"):
    setattr(Size, f"__{_name}__", _follow(f"__{_name}__"))
    setattr(Size, f"__r{_name}__", _follow(f"__r{_name}__"))
Size.__neg__ = _follow("__neg__")  # type: ignore[method-assign]


def sizes_of(value: Value) -> tuple[int, ...]:
    """Return the shape that a traced tensor shows to the function."""
    reference = weakref.ref(value)
    return tuple(Size(size, ((reference, dim),)) for dim, size in enumerate(value.tensor.dims.sizes))


def note_sizes(parameter: Any) -> Any:
    """Return a parameter of a node with plain numbers in it; sizes that it holds are noted as used."""
    if isinstance(parameter, Size):
        return int(parameter)
    if isinstance(parameter, tuple | list):
        return type(parameter)(note_sizes(one) for one in parameter)
    if isinstance(parameter, slice):
        return slice(*(note_sizes(one) for one in (parameter.start, parameter.stop, parameter.step)))
    return parameter
