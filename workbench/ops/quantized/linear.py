"""The affine map on codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dtypes import quint8
from workbench.base.quantized_array import code_range
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.core.typing import Tensor
from workbench.ops.contract.matmul import LINEAR
from workbench.ops.quantized.convolution import check_codes
from workbench.ops.quantized.engines import requantization
from workbench.ops.quantized.quantize import REFERENCE
from workbench.ops.quantized.requantize import (
    NO_GRADIENT,
    around_zero,
    fits_bias,
    fits_kernel,
    output_type,
    packed,
    requantized,
    require_one_scale,
    run_packed,
    sample_codes,
    sample_weights,
)

__all__ = ["QUANTIZED_LINEAR", "linear", "packed_linear"]


def _linear(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    sums = around_zero(x) @ around_zero(weight).T
    return requantized(sums, x, weight.scale, bias, requantization("linear"), **params)


def packed_linear(weight: Any, bias: Any) -> Any:
    """Return the compiled affine map of a weight, packed once."""

    def make(own: Any) -> Any:
        scales = np.atleast_1d(np.asarray(weight.scale, np.float32))
        return kernels.PackedQuantizedLinear(weight.codes, scales, own)

    return packed(weight, bias, "linear", make)


def _linear_on_codes(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    # A weight without entries has nothing to be packed.
    if not weight.size or not fits_kernel(x, weight) or not fits_bias(x, weight, bias, "linear"):
        return _linear(x, weight, bias, **params)
    return run_packed(packed_linear(weight, bias), x, x.codes, "linear", params)


_OUT = {"scale": 0.0713, "zero_point": 101, "qmin": 0, "qmax": 255, "relu": False}

QUANTIZED_LINEAR = Op(
    name="quantized_linear",
    doc="Affine map of the last dim on codes, rectified if asked; to float32 without an output scale.",
    equation="q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z, qmin, qmax); at least z if rectified",
    reference=REFERENCE,
    dims=lambda *dims, **params: LINEAR.dims(*dims),
    rule="the last dim ends here, the weight's out_features takes its place",
    dtype=DTypeRule("quint8; float32 without an output scale", None, output_type),
    forward=_linear,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers(
        "quantized_linear", _linear_on_codes, "weighted", inputs=("value", "weight", "plain"), axis=0
    ),
    cost=lambda dims, out, **params: LINEAR.cost(dims, out),
    samples=lambda: [
        Sample(
            (sample_codes(5, 12), sample_weights(7, 12), grid(7)),
            _OUT,
            names=(("N", "features"), ("out_features", "in_features"), ("out_features",)),
        ),
        Sample(
            (sample_codes(2, 3, 12), sample_weights(7, 12, per_channel=False)),
            {**_OUT, "relu": True, "qmax": 127},
        ),
        Sample(
            (sample_codes(5, 12), sample_weights(7, 12), grid(7).astype(np.float32)),
            {**_OUT, "scale": None},
        ),
    ],
    bad=lambda: [
        BadInput((sample_codes(5, 11), sample_weights(7, 12)), _OUT, RuntimeError, "the weight takes 12")
    ],
)


def linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Tensor:
    """Map the last dim of codes by a qint8 weight [out, in]: codes come out, of the input's scale where none is given.

    Equation: q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z). Raises QuantizationError for what is not
    quantized.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.tensor([[1.0, 2.0]]), 0.1, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.tensor([[1.0, 1.0]]), 0.01, 0, wb.qint8)
    >>> F.linear(x, w, None, 0.1, 0).dequantize()
    tensor([[3.]])
    """
    check_codes("quantized linear", input)
    check_codes("quantized linear", weight)
    own = input.payload
    require_one_scale("quantized linear", own)
    low, high = code_range(quint8)
    operands = (input, weight) if bias is None else (input, weight, bias)
    return QUANTIZED_LINEAR(
        *operands,
        scale=float(own.scale if scale is None else scale),
        zero_point=int(own.zero_point if zero_point is None else zero_point),
        qmin=low,
        qmax=high,
        relu=False,
    )
