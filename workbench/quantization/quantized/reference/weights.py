"""A weight in floating point with the scale and zero point of its codes: what it is rounded to, and the codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, float16, float32, qint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme, code_range
from workbench.core.value import new
from workbench.nn import Module
from workbench.ops.quantized.quantize import QUANTIZE_PER_CHANNEL, QUANTIZE_PER_TENSOR

__all__ = ["Rounded", "rounded", "settle", "weight_codes", "weight_qparams"]

_PLAIN = {"qscheme": QScheme.PER_TENSOR_AFFINE, "dtype": qint8, "scale": 1.0, "zero_point": 0}


def weight_qparams(observer: Any) -> dict[str, Any]:
    """Return what a weight's observer has found, by the words of PyTorch's layers: ``qscheme``, ``dtype``, ``scale``,
    ``zero_point``, ``quant_min``, ``quant_max`` and, per channel, ``axis``; of one that carries a type, the type.
    """
    if observer.dtype in (float16, float32):
        return {"qscheme": None, "dtype": observer.dtype}
    scale, zero = observer.calculate_qparams()
    found = {
        "qscheme": observer.qscheme, "dtype": observer.dtype, "scale": scale, "zero_point": zero,
        "quant_min": observer.quant_min, "quant_max": observer.quant_max,
    }  # fmt: skip
    return {**found, "axis": observer.ch_axis} if observer.qscheme.per_channel else found


def settle(module: Any, name: str, qparams: Mapping[str, Any] | None) -> None:
    """Give a module the scale and zero point of its weight `name`, as buffers beside it.

    Raises `QuantizationError` for a scheme or a type that is none.
    """
    given: Mapping[str, Any] = _PLAIN if qparams is None else qparams
    scheme, dtype = given["qscheme"], as_dtype(given["dtype"])
    if scheme is not None and not isinstance(scheme, QScheme):
        raise QuantizationError(
            f"a scheme such as wb.per_tensor_affine is asked for, and {scheme!r} was given"
        )
    if scheme is not None and not dtype.is_quantized:
        raise QuantizationError(f"codes are a quantized type such as wb.qint8, and {dtype.name} was given")
    zero = np.asarray(_array(given.get("zero_point", 0)))
    module.register_buffer(f"{name}_scale", new(np.asarray(_array(given.get("scale", 1.0)), np.float32)))
    module.register_buffer(f"{name}_zero_point", new(zero))
    axis = int(given.get("axis", 0))
    module.register_buffer(f"{name}_axis", new(np.asarray(axis, np.int32)))
    low, high = code_range(dtype) if scheme is not None else (0, 0)
    limits = given.get("quant_min"), given.get("quant_max")
    settings = {
        "qscheme": scheme,
        "dtype": dtype,
        "axis_int": axis,
        "quant_min": low if limits[0] is None else limits[0],
        "quant_max": high if limits[1] is None else limits[1],
    }
    for word, value in settings.items():
        setattr(module, f"{name}_{word}", value)


def _array(value: Any) -> Any:
    return value.payload if hasattr(value, "payload") else value


def weight_codes(module: Any, name: str = "weight") -> Any:
    """Return a weight in codes; one that is of another type without a scheme as that type."""
    weight = getattr(module, name).detach()
    scheme, dtype = getattr(module, f"{name}_qscheme"), getattr(module, f"{name}_dtype")
    if scheme is None:
        return weight.to(dtype)
    scale, zero = (_array(getattr(module, f"{name}_{word}")) for word in ("scale", "zero_point"))
    limits = {
        "qmin": getattr(module, f"{name}_quant_min"), "qmax": getattr(module, f"{name}_quant_max"), "dtype": dtype
    }  # fmt: skip
    if scheme.per_channel:
        return QUANTIZE_PER_CHANNEL(
            weight, scales=tuple(np.ravel(scale).tolist()), zero_points=tuple(np.ravel(zero).tolist()),
            axis=getattr(module, f"{name}_axis_int") % weight.ndim, **limits,
        )  # fmt: skip
    return QUANTIZE_PER_TENSOR(
        weight, scale=float(np.reshape(scale, ())), zero_point=int(np.reshape(zero, ())), **limits
    )


def rounded(module: Any, name: str = "weight") -> Any:
    """Return a weight as the numbers that its codes stand for."""
    found = weight_codes(module, name)
    return found.dequantize() if found.is_quantized else found.float()


class Rounded(Module):
    """What reference layers share: a weight that is rounded to codes, and computed with as numbers, in every call.

    It stands before the layer's class in floating point. The state has the weight as it was, and beside it
    ``weight_scale``, ``weight_zero_point`` and ``weight_axis``.
    """

    weight: Any

    def __init__(self, *sizes: Any, weight_qparams: Mapping[str, Any] | None = None, **settings: Any) -> None:
        super().__init__(*sizes, **settings)
        settle(self, "weight", weight_qparams)

    def get_weight(self) -> Any:
        """Return the weight as the numbers that its codes stand for."""
        return rounded(self)

    def get_quantized_weight(self) -> Any:
        """Return the weight in codes."""
        return weight_codes(self)
