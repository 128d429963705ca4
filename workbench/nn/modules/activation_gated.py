"""Activations that weigh a value by a gate."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.modules.activation_in_place import InPlace

__all__ = ["GELU", "GLU", "Hardswish", "Mish", "SiLU"]


class GELU(Module):
    """Gaussian error linear unit: y = x·Φ(x), or with approximate="tanh" x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).

    Names and sizes pass through. Hendrycks and Gimpel 2016.

    >>> import workbench as wb
    >>> GELU()(wb.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the setting."""
        return f"approximate={self.approximate!r}"


class SiLU(InPlace):
    """Sigmoid linear unit, also called swish: y = x/(1 + e^-x). Names and sizes pass through.

    Elfwing, Uchibe and Doya 2017.

    >>> import workbench as wb
    >>> SiLU()(wb.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.silu(input, self.inplace)


class Mish(InPlace):
    """Self-regularized unit: y = x·tanh(ln(1 + e^x)). Names and sizes pass through.

    Misra 2019.

    >>> import workbench as wb
    >>> Mish()(wb.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.mish(input, self.inplace)


class Hardswish(InPlace):
    """Piecewise quadratic stand-in of `SiLU`: y = x·min(max(x + 3, 0), 6)/6. Names and sizes pass through.

    Howard et al. 2019.

    >>> import workbench as wb
    >>> Hardswish()(wb.tensor([1.0, 4.0]))
    tensor([0.6667, 4.0000])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Return nothing, as in PyTorch."""
        return ""


class GLU(Module):
    """Gated linear unit: y = a·sigmoid(b), where a and b are the halves along `dim`, given by position or by name.

    The dim keeps its name. Raises `DimensionError` unless its size is even. Dauphin et al. 2017.

    >>> import workbench as wb
    >>> GLU("C")(wb.tensor([[1.0, 2.0, 0.0, 100.0]], names=("N", "C")))
    tensor([[0.5000, 2.0000]], names=('N', 'C'))
    """

    def __init__(self, dim: int | str = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the dim."""
        return f"dim={self.dim!r}"
