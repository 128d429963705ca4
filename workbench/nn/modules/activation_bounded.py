"""Activations that keep values within bounds."""

from __future__ import annotations

import warnings
from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.modules.activation_in_place import InPlace
from workbench.ops.elementwise.copying import SIGMOID, TANH

__all__ = ["Hardsigmoid", "Hardtanh", "LogSigmoid", "ReLU6", "Sigmoid", "Softsign", "Tanh"]


class Sigmoid(Module):
    """Logistic function: y = 1 / (1 + e^-x). Names and sizes pass through.

    >>> import workbench as wb
    >>> Sigmoid()(wb.tensor([0.0, 100.0]))
    tensor([0.5000, 1.0000])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return SIGMOID(input)


class LogSigmoid(Module):
    """Logarithm of the logistic function: y = -ln(1 + e^-x). Names and sizes pass through.

    >>> import workbench as wb
    >>> LogSigmoid()(wb.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.logsigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent: y = (e^x - e^-x) / (e^x + e^-x). Names and sizes pass through.

    >>> import workbench as wb
    >>> Tanh()(wb.tensor([0.0, 100.0]))
    tensor([0., 1.])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return TANH(input)


class Hardtanh(InPlace):
    """Keep values within bounds: y = min(max(x, min_val), max_val). Names and sizes pass through.

    `min_value` and `max_value` are former names of the bounds. Raises AssertionError unless max_val > min_val.

    >>> import workbench as wb
    >>> Hardtanh()(wb.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        for former, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{former}_value` is deprecated and renamed to `{former}_val`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        # PyTorch asserts this, so programs that catch it catch an AssertionError.
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Any) -> Any:
        """Bound."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"min_val={self.min_val}, max_val={self.max_val}{self._and_inplace()}"


class ReLU6(Hardtanh):
    """Rectified linear unit up to 6: y = min(max(x, 0), 6). Names and sizes pass through.

    Krizhevsky 2010.

    >>> import workbench as wb
    >>> ReLU6()(wb.tensor([-1.0, 2.0, 7.0]))
    tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return the setting, where it was given."""
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(InPlace):
    """Piecewise linear stand-in of the logistic function: y = min(max(x + 3, 0), 6)/6. Names and sizes pass through.

    >>> import workbench as wb
    >>> Hardsigmoid()(wb.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Return nothing, as in PyTorch."""
        return ""


class Softsign(Module):
    """Softly bounded: y = x/(1 + |x|). Names and sizes pass through.

    >>> import workbench as wb
    >>> Softsign()(wb.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.softsign(input)
