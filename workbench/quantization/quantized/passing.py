"""Layers whose results have the scale of what they are given: nothing of them is observed."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.quantization.quantized.boundary import require_codes

__all__ = ["Dropout", "ReLU6"]


class Dropout(nn.Dropout):
    """Stands where a model in floating point drops values: on codes they pass.

    >>> import workbench as wb
    >>> Dropout(0.5)(wb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def forward(self, input: Any) -> Any:
        """Return [any dims] as they are."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """Return one in the place of an `nn.Dropout`."""
        return cls(mod.p, mod.inplace)


class ReLU6(nn.ReLU6):
    """Cuts codes off where the numbers that they stand for leave 0 … 6.

    >>> import workbench as wb
    >>> ReLU6()(wb.quantize_per_tensor(wb.tensor([-1.0, 2.0, 8.0]), 0.1, 20, wb.quint8)).dequantize()
    tensor([0., 2., 6.])
    """

    def forward(self, input: Any) -> Any:
        """Return codes [any dims] with the scale that they have."""
        require_codes(self, input)
        return super().forward(input)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """Return one in the place of an `nn.ReLU6`."""
        return cls(mod.inplace)
