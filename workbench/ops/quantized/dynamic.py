"""Affine maps and recurrent layers whose inputs are quantized as they come, by their own range.

A weight is quantized once; what it meets is quantized at every call, all values alike or each row (token) by its own
range, and the result is floating point again. So nothing needs to be calibrated. A row that holds NaN or an infinity
gives NaN, and has no part in the range of the others: one bad value is neither hidden nor spread.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dtypes import qint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.core.typing import Tensor
from workbench.ops.contract.matmul import LINEAR
from workbench.ops.quantized.linear import packed_linear
from workbench.ops.quantized.quantize import REFERENCE, range_qparams
from workbench.ops.quantized.requantize import NO_GRADIENT, around_zero, sample_weights

__all__ = ["QUANTIZED_LINEAR_DYNAMIC", "highest_code", "linear_dynamic"]


def highest_code(reduce_range: bool) -> int:
    """Return the greatest code of dynamic inputs: of seven bits where that is asked for."""
    return 127 if reduce_range else 255


def _quantized_rows(x: Any, by_row: bool, highest: int) -> tuple[Any, Any, Any]:
    """Return codes of [rows, in], and scales and zero points [rows, 1]; what is not finite has no part in a range."""
    finite = np.where(np.isfinite(x), x, np.float32(0))
    pairs = [
        range_qparams(float(row.min()), float(row.max()), 0, highest)
        for row in (finite if by_row else [finite])
    ]
    scales = np.array([pair[0] for pair in pairs], np.float32)[:, None]
    zeros = np.array([pair[1] for pair in pairs], np.float32)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        codes = np.rint(x * (np.float32(1) / scales) + zeros)
        bounded = np.where(np.isnan(codes), highest, np.clip(codes, 0, highest))
    return bounded.astype(np.float64), scales, zeros


def _linear(x: Any, weight: Any, bias: Any = None, *, by_row: bool, highest: int, relu: bool) -> Any:
    rows = np.asarray(x, np.float32).reshape(math.prod(x.shape[:-1]), x.shape[-1])
    real = np.zeros((len(rows), weight.shape[0]), np.float32)
    if rows.size:
        codes, scales, zeros = _quantized_rows(rows, by_row, highest)
        sums = (codes - zeros) @ around_zero(weight).T
        real = sums.astype(np.float32) * (scales * np.asarray(weight.scale, np.float32))
        # No code stands for what is not finite: a row with such a value says so.
        real[~np.isfinite(rows).all(1)] = np.nan
    if bias is not None:
        real = real + np.asarray(bias, np.float32)
    out = np.maximum(real, np.float32(0)) if relu else real
    return out.reshape(*x.shape[:-1], weight.shape[0])


def fits_dynamic(x: Any, weight: Any) -> bool:
    """Say whether compiled code takes these floats and this weight."""
    fits = weight.cache.get("dynamic")
    if fits is None:
        signed = weight.dtype is qint8 and weight.axis in (None, 0) and not np.any(weight.zero_point)
        fits = weight.cache["dynamic"] = signed and bool(np.all(np.asarray(weight.scale) > 0))
    return fits and type(x) is np.ndarray and x.dtype == np.float32 and kernels.available()


def _linear_on_codes(x: Any, weight: Any, bias: Any = None, *, by_row: bool, highest: int, relu: bool) -> Any:
    if not fits_dynamic(x, weight) or not x.size or not weight.size:
        return _linear(x, weight, bias, by_row=by_row, highest=highest, relu=relu)
    return packed_linear(weight, bias).run_dynamic(x, by_row=by_row, highest=highest, relu=relu)


FLOATS = DTypeRule("float32", None, lambda dtype, params: np.dtype(np.float32))


_PARAMS = {"by_row": False, "highest": 127, "relu": False}


def _float(*shape: int) -> Any:
    return grid(*shape).astype(np.float32)


QUANTIZED_LINEAR_DYNAMIC = Op(
    name="quantized_linear_dynamic",
    doc="Affine map of floats by an 8-bit weight: they are quantized by their own range, or each row by its own.",
    equation="y = Σ (q - zq)·w·sq·sw[o] + b[o], q = clamp(rne(x / sq + zq), 0, highest); 0 at least if rectified",
    reference=REFERENCE,
    dims=lambda *dims, **params: LINEAR.dims(*dims),
    rule="the last dim ends here, the weight's out_features takes its place",
    dtype=FLOATS,
    forward=_linear,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers(
        "quantized_linear_dynamic", _linear_on_codes, "ends", inputs=("plain", "weight", "plain"), axis=0
    ),
    cost=lambda dims, out, **params: LINEAR.cost(dims, out),
    samples=lambda: [
        Sample(
            (_float(5, 12), sample_weights(7, 12), _float(7)),
            _PARAMS,
            names=(("N", "features"), ("out_features", "in_features"), ("out_features",)),
        ),
        Sample((_float(2, 3, 12), sample_weights(7, 12, per_channel=False)), {**_PARAMS, "by_row": True}),
        Sample(
            (_float(4, 12), sample_weights(70, 12), _float(70)),
            {"by_row": True, "highest": 255, "relu": True},
        ),
    ],
    bad=lambda: [
        BadInput((_float(5, 11), sample_weights(7, 12)), _PARAMS, RuntimeError, "the weight takes 12")
    ],
)


def linear_dynamic(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    reduce_range: bool = False,
    *,
    relu: bool = False,
    per_token: bool = False,
) -> Tensor:
    """Map the last dim of float32 values by a qint8 weight [out, in], as ``torch.ops.quantized.linear_dynamic``.

    Values are quantized to 8 bits by their range, or with `per_token` each row by its own; to 7 bits with
    `reduce_range`, which sums here do not need: they are exact. Raises QuantizationError for a weight that is not
    quantized.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> w = wb.quantize_per_tensor(wb.tensor([[1.0, 1.0]]), 0.01, 0, wb.qint8)
    >>> F.linear_dynamic(wb.tensor([[1.0, 2.0]]), w).round(decimals=2)
    tensor([[3.]])
    """
    check_weight("linear_dynamic", input, weight)
    operands = (input, weight) if bias is None else (input, weight, bias)
    return QUANTIZED_LINEAR_DYNAMIC(
        *operands, by_row=per_token, highest=highest_code(reduce_range), relu=relu
    )


def check_weight(op: str, input: Tensor, weight: Tensor) -> None:
    """Raise QuantizationError unless `input` is floating point and `weight` has codes."""
    x, codes = input.payload, weight.payload
    if type(x) is np.ndarray and x.dtype == np.float32 and type(codes) is QuantizedArray:
        return
    if not getattr(codes.dtype, "quantized", False):
        raise QuantizationError(
            f"{op} takes a quantized weight, and got {weight.dtype.name}: quantize it with quantize_per_channel"
        )
    if isinstance(x, QuantizedArray) or getattr(x.dtype, "quantized", False):
        raise QuantizationError(
            f"{op} quantizes its input itself, and got {input.dtype.name}: call dequantize() first, or linear"
        )
    if x.dtype != np.float32:
        raise QuantizationError(f"{op} takes float32 values, and got {input.dtype.name}; try x.float()")
