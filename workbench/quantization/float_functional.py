"""Functions between modules that are to be quantized, in floating point: as modules that can be observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Identity, Module, functional
from workbench.ops.shape.join import cat

__all__ = ["INSTEAD", "FXFloatFunctional", "FloatFunctional"]

INSTEAD = "add, add_scalar, mul, mul_scalar, cat, add_relu or matmul"
"""What is called of such a module, which is not called itself."""


class FloatFunctional(Module):
    """Functions on values, as methods of a module: what they return is observed, and `convert` makes codes of it.

    >>> import workbench as wb
    >>> FloatFunctional().add(wb.tensor(1.0), wb.tensor(2.0))
    tensor(3.)
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Module = Identity()

    def forward(self, x: Any) -> Any:
        """Refuse: a method says which function is meant."""
        raise QuantizationError(f"{type(self).__name__} is not called itself: call its {INSTEAD}")

    def add(self, x: Any, y: Any) -> Any:
        """Return x + y."""
        return self.activation_post_process(x + y)

    def add_scalar(self, x: Any, y: float) -> Any:
        """Return x + y for a number y; nothing is observed, for the codes stay."""
        return x + y

    def mul(self, x: Any, y: Any) -> Any:
        """Return x · y."""
        return self.activation_post_process(x * y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """Return x · y for a number y; nothing is observed, for the codes stay."""
        return x * y

    def cat(self, x: Sequence[Any], dim: int = 0) -> Any:
        """Return tensors joined along `dim`."""
        return self.activation_post_process(cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """Return max(x + y, 0)."""
        return self.activation_post_process(functional.relu(x + y))

    def matmul(self, x: Any, y: Any) -> Any:
        """Return the product of two matrices."""
        return self.activation_post_process(x @ y)


class FXFloatFunctional(FloatFunctional):
    """The same where a graph is observed around it: it observes nothing itself."""
