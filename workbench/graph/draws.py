"""Numbers that a run draws before its first node, as inputs of a graph: which distribution, how many, which type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.size_expressions import Expression
from workbench.graph.blocks import GraphError, filled, values_in
from workbench.graph.sizes import today
from workbench.graph.types import TensorType
from workbench.ops.random.noise import DRAWS, noise

__all__ = ["Noise"]


@dataclass(frozen=True)
class Noise:
    """A draw from the default generator's stream; sizes and arguments may differ from run to run.

    >>> print(Noise("rand", (2, 3), np.dtype(np.float32)).type)
    f32[·:2, ·:3]
    """

    kind: str
    """Its name among `workbench.ops.random.noise.DRAWS`."""
    sizes: tuple[Any, ...]
    dtype: np.dtype[Any]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Noise:
        """Return the draw that `operands` say; refuse what is none."""
        match operands:
            case (str() as kind, tuple() as sizes, np.dtype() as dtype, *arguments) if (
                kind in DRAWS and all(map(_is_size, sizes)) and not any(values_in((arguments, keywords)))
            ):
                return cls(kind, sizes, dtype, tuple(arguments), keywords)
        raise GraphError(
            f"there is no draw {operands!r}: it has a name, sizes and a data type, and reads no value"
        )

    @property
    def operands(self) -> tuple[Any, ...]:
        """What stands in the brackets when it is written."""
        return self.kind, self.sizes, self.dtype, *self.arguments

    @property
    def type(self) -> TensorType:
        """The type of what is drawn."""
        names = (None,) * len(self.sizes)
        return TensorType(self.dtype, Dims(names, today(self.sizes)), sizes=self.sizes)

    def over(self, size: Callable[[Any], Any]) -> Noise:
        """Return it with `size` applied to what differs from run to run."""
        parts = filled((self.sizes, self.arguments, self.keywords), _no_value, size)
        return Noise(self.kind, parts[0], self.dtype, parts[1], parts[2])

    def drawn(self, size: Callable[[Any], Any]) -> Any:
        """Draw, of the sizes that `size` says for this run."""
        one = self.over(size)
        return noise(one.kind, one.sizes, one.dtype, *one.arguments, **one.keywords)


def _is_size(one: Any) -> bool:
    return isinstance(one, Expression) or (type(one) is int and one >= 0)


def _no_value(value: Any) -> Any:
    raise GraphError(f"what is drawn does not depend on {value.name}, which is computed later")
