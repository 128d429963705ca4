"""From values to codes and back, and what all modules with quantized output share."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from workbench.base.dtypes import DType, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import code_range
from workbench.core.value import Value, new
from workbench.nn import Module
from workbench.ops.quantized.quantize import DEQUANTIZE, QUANTIZE_PER_TENSOR
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.quantized.repacked import Repacked
from workbench.tensor import Tensor

__all__ = ["DeQuantize", "Quantize", "QuantizedModule"]


class QuantizedModule(Module):
    """A module whose output is quantized: it has a scale, a zero point, and limits of the codes."""

    scale: Tensor
    zero_point: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.quant_min, self.quant_max = code_range(quint8)
        # As wide as that of PyTorch's layers: a state says exactly what is computed with.
        self.register_buffer("scale", new(np.array(1.0, np.float32)))
        self.register_buffer("zero_point", new(np.array(0)))
        # Codes are not trained.
        self.eval()

    def set_output(self, observer: ObserverBase) -> None:
        """Take scale, zero point and limits of the codes from what was observed."""
        scale, zero = observer.qparams()
        self.scale.payload[...] = float(np.reshape(scale, ()))
        self.zero_point.payload[...] = int(np.reshape(zero, ()))
        self.quant_min, self.quant_max = observer.quant_min, observer.quant_max

    def _coding(self) -> dict[str, Any]:
        """Return what the result is coded by, as ops on codes are told it."""
        return {
            "scale": float(self.scale.payload), "zero_point": int(self.zero_point.payload), "qmin": self.quant_min,
            "qmax": self.quant_max,
        }  # fmt: skip

    def _output_repr(self) -> str:
        limits = (self.quant_min, self.quant_max)
        codes = "" if limits == code_range(quint8) else f", codes={limits[0]}…{limits[1]}"
        return f"scale={self.scale.item():.6g}, zero_point={self.zero_point.item()}{codes}"


def require_codes(module: Any, x: Any) -> None:
    """Raise `QuantizationError` unless `x` is quantized."""
    dtype = x.payload.dtype
    if not getattr(dtype, "quantized", False):
        raise QuantizationError(
            f"quantized {type(module).__name__} takes a quantized tensor, and got {x.dtype.name}: put a QuantStub "
            "before it, or wrap the model in QuantWrapper, before prepare(), or quantize it by wb.quantize_per_tensor"
        )


class Quantize(Repacked, QuantizedModule):
    """Turns float32 values into codes."""

    def __init__(self, dtype: DType = quint8) -> None:
        super().__init__()
        self.dtype = dtype
        self.quant_min, self.quant_max = code_range(dtype)

    @classmethod
    def from_float(cls, observer: ObserverBase) -> Quantize:
        """Return one for the range that was observed."""
        made = cls(observer.dtype)
        made.set_output(observer)
        return made

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return scale and zero point as rows of one number, as PyTorch has them here."""
        return {key: one.reshape(1) for key, one in own.items()}

    def forward(self, x: Any) -> Any:
        """Quantize [any dims]; what is quantized already passes through."""
        if getattr(x.payload.dtype, "quantized", False):
            return x
        return QUANTIZE_PER_TENSOR(x, **self._coding(), dtype=self.dtype)

    def extra_repr(self) -> str:
        """Return scale, zero point and type."""
        return f"{self._output_repr()}, dtype={self.dtype.name}"


class DeQuantize(Module):
    """Turns codes into the float32 values they stand for, in tuples, lists and dicts too.

    >>> import workbench as wb
    >>> x = wb.quantize_per_tensor(wb.ones(2), 0.5, 0, wb.quint8)
    >>> DeQuantize()({"x": (x, None)})
    {'x': (tensor([1., 1.]), None)}
    """

    def forward(self, x: Any) -> Any:
        """Dequantize [any dims]; raise `QuantizationError` for objects that may have codes in them."""
        if isinstance(x, Value):
            return DEQUANTIZE(x)
        if isinstance(x, dict):
            # A copy, so that it is of its class, whatever that is made with.
            made = copy.copy(x)
            for key, one in x.items():
                made[key] = self.forward(one)
            return made
        if isinstance(x, tuple | list):
            parts = [self.forward(one) for one in x]
            return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
        if x is None or isinstance(x, bool | int | float | str):
            return x
        raise QuantizationError(
            f"DeQuantStub takes tensors, and tuples, lists and dicts of them, and got a {type(x).__name__}: return one "
            "of those, or put a DeQuantStub on each tensor before it goes into that"
        )
