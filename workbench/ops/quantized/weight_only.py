"""Affine maps of floats whose weight alone is quantized, in groups: four bits are read, and spread in registers.

What is multiplied stays floating point, so that nothing is rounded but the weight; what is saved is memory, and the
time to read it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims
from workbench.base.dtypes import quint4x2
from workbench.base.quantized_array import QuantizedArray
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.core.typing import Tensor
from workbench.ops.contract.matmul import LINEAR
from workbench.ops.quantized.dynamic import FLOATS, check_weight
from workbench.ops.quantized.requantize import NO_GRADIENT, packed

__all__ = ["QUANTIZED_LINEAR_WEIGHT_ONLY", "linear_weight_only"]


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    found = np.asarray(x, np.float32) @ weight.dequantize().T
    return found if bias is None else found + np.asarray(bias, np.float32)


def _in_groups(weight: QuantizedArray) -> tuple[Any, Any]:
    """Return scales and zero points [out, groups] of a weight, whether it has them by group, by row or for all."""
    rows = weight.shape[0]
    if weight.group is not None:
        given = weight.scale, weight.zero_point
    elif weight.axis is None:
        given = np.full((rows, 1), weight.scale), np.full((rows, 1), weight.zero_point)
    else:
        given = weight.scale[:, None], weight.zero_point[:, None]
    return np.ascontiguousarray(given[0], np.float32), np.ascontiguousarray(given[1], np.float32)


def _fits(x: Any, weight: Any) -> bool:
    """Say whether compiled code takes these: codes of four bits, in equal groups or rows."""
    group = weight.group or weight.shape[1]
    return (
        kernels.available()
        and type(x) is np.ndarray
        and x.dtype == np.float32
        and x.size > 0
        and weight.dtype is quint4x2
        and weight.axis in (None, 0 if weight.group is None else 1)
        and weight.shape[1] % group == 0
    )


def _linear_on_codes(x: Any, weight: Any, bias: Any = None) -> Any:
    if not _fits(x, weight):
        return _linear(x, weight, bias)
    layer = packed(
        weight,
        bias,
        "nibbles",
        lambda own: kernels.PackedNibbleLinear(weight.codes, *_in_groups(weight), own),
    )
    return layer.run(x)


def _dims(*dims: Dims) -> Dims:
    found: Any = LINEAR.dims(*dims)
    return found  # type: ignore[no-any-return]


def _float(*shape: int) -> Any:
    return grid(*shape).astype(np.float32)


def _weight(rows: int, columns: int, group: int | None, axis: int | None = None) -> QuantizedArray:
    random = np.random.default_rng([rows, columns])
    codes = random.integers(0, 16, (rows, columns)).astype(np.uint8)
    if group is None and axis is None:
        return QuantizedArray(codes, 0.1, 7, quint4x2)
    shape = (rows,) if group is None else (rows, columns // group)
    scales, zeros = random.uniform(0.05, 0.2, shape), random.integers(0, 16, shape)
    return QuantizedArray(codes, scales, zeros, quint4x2, axis, group)


QUANTIZED_LINEAR_WEIGHT_ONLY = Op(
    name="quantized_linear_weight_only",
    doc="Affine map of floats by a weight of codes, which alone is quantized.",
    equation="y = Σ_g s[o, g]·(Σ_k x[k]·q[o, k] - z[o, g]·Σ_k x[k]) + b[o], over the groups g of inputs k",
    reference="Frantar et al. 2023",
    dims=_dims,
    rule="the last dim ends here, the weight's out_features takes its place",
    dtype=FLOATS,
    forward=_linear,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers(
        "quantized_linear_weight_only", _linear_on_codes, "ends", inputs=("plain", "weight", "plain"), axis=0
    ),
    cost=lambda dims, out, **params: LINEAR.cost(dims, out),
    samples=lambda: [
        Sample(
            (_float(3, 16), _weight(40, 16, 8), _float(40)),
            names=(("N", "features"), ("out_features", "in_features"), ("out_features",)),
        ),
        Sample((_float(2, 5, 12), _weight(7, 12, None, 0))),
        Sample((_float(1, 12), _weight(33, 12, None))),
    ],
    bad=lambda: [BadInput((_float(5, 11), _weight(7, 12, 4)), {}, RuntimeError, "the weight takes 12")],
)


def linear_weight_only(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Map the last dim of float32 values by a weight [out, in] of codes, in groups, rows or all alike.

    Codes of four bits (`quint4x2`) are multiplied as they are. Raises QuantizationError for a weight that is not
    quantized, or an input that is.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> w = wb.quantize_per_tensor(wb.tensor([[1.0, -1.0]]), 0.25, 0, wb.qint8)
    >>> F.linear_weight_only(wb.tensor([[3.0, 1.0]]), w)
    tensor([[2.]])
    """
    check_weight("linear_weight_only", input, weight)
    operands = (input, weight) if bias is None else (input, weight, bias)
    return QUANTIZED_LINEAR_WEIGHT_ONLY(*operands)
