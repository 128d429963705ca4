"""A linear layer that divides what it is given, channel by channel, before it multiplies."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.value import labelled, new
from workbench.nn import Linear, Module, Parameter
from workbench.tensor import Tensor

__all__ = ["Divided"]


class Divided(Module):
    """y = (x / s)·(W·s)ᵀ + b: the same as before, and what becomes codes, x / s, has channels that are alike in size.

    The layer is taken over: its weight becomes W·s. It is traced through, so that graph mode quantizes x / s.

    >>> import workbench as wb
    >>> layer, x = wb.nn.Linear(2, 3), wb.tensor([[1.0, 100.0]])
    >>> before = layer(x)
    >>> bool(wb.allclose(Divided(layer, np.array([1.0, 50.0]))(x), before, atol=1e-4))
    True
    """

    factor: Tensor
    traced_through = True
    """Graph mode looks inside."""

    def __init__(self, linear: Linear, scale: Any) -> None:
        super().__init__()
        self.linear = linear
        weight: Any = linear.weight
        values = (np.asarray(weight.detach().payload, np.float64) * scale).astype(weight.payload.dtype)
        linear.weight = Parameter(labelled(new(values), weight._labels))
        self.register_buffer("factor", new((1 / np.asarray(scale)).astype(values.dtype)))

    def forward(self, input: Any) -> Any:
        """Map the last dim."""
        return self.linear(input * self.factor)
