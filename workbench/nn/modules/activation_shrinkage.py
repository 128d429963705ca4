"""Activations that move values towards 0, or drop those near it."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module

__all__ = ["Hardshrink", "Softshrink", "Tanhshrink"]


class Hardshrink(Module):
    """Drop values near 0: y = x where |x| > lambd, 0 elsewhere. Names and sizes pass through.

    >>> import workbench as wb
    >>> Hardshrink()(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([-2.,  0.,  2.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the bound."""
        return f"{self.lambd}"


class Softshrink(Module):
    """Move values towards 0: y = x - lambd above it, x + lambd below its negative, 0 between.

    Names and sizes pass through. Raises ValueError for a negative bound.

    >>> import workbench as wb
    >>> Softshrink()(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the bound."""
        return f"{self.lambd}"


class Tanhshrink(Module):
    """What tanh takes away: y = x - tanh x. Names and sizes pass through.

    >>> import workbench as wb
    >>> Tanhshrink()(wb.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.tanhshrink(input)
