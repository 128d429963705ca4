"""To codes and back: quantize, dequantize, and what can be asked of a quantized tensor.

Values are rounded after the zero point was added, as on PyTorch's x86 builds; see `fake_quantize` beside it
for the other order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims, dim_index
from workbench.base.dtypes import TYPE_WORDS, DType, as_dtype, float32, qint8, qint32, quint8
from workbench.base.errors import DimensionError, DTypeError, QuantizationError
from workbench.base.quantized_array import QScheme, QuantizedArray, code_range, to_codes
from workbench.base.symbolic_size import whole
from workbench.core.dispatch import numbers
from workbench.core.families import grid
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import Quantization
from workbench.core.typing import Dim, DTypeLike, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.offer import offered

__all__ = [
    "DEQUANTIZE",
    "INT_REPR",
    "QUANTIZE_PER_CHANNEL",
    "QUANTIZE_PER_TENSOR",
]

REFERENCE = "Jacob et al. 2018"
STEPS = Absent(
    "codes are steps: their derivative is zero almost everywhere; train with fake_quantize_per_tensor"
)


def along(values: Any, axis: int, ndim: int) -> Any:
    """Return one value a channel, shaped so that it broadcasts along `axis`."""
    return np.asarray(values).reshape([-1 if i == axis else 1 for i in range(ndim)])


# ------------------------------------------------------------------------------------------- quantize


def _codes(x: Any, scale: Any, zero_point: Any, qmin: int, qmax: int, dtype: DType) -> Any:
    """clamp(rne(x·(1/s) + z)) in float32; NaN becomes the greatest code."""
    _single(x.dtype)
    return to_codes(x, scale, zero_point, qmin, qmax, dtype)


def _single(dtype: Any) -> Any:
    """Return float32, and refuse any other type; those of 16 bits, too, which ops widen where nobody says otherwise."""
    if dtype != np.float32:
        name = as_dtype(dtype).name
        raise DTypeError(
            f"Quantize only works on Float Tensor, got {TYPE_WORDS.get(name, name)}; try x.float()"
        )
    return dtype


def _quantize_per_tensor(
    x: Any, *, scale: float, zero_point: int, qmin: int, qmax: int, dtype: DType
) -> QuantizedArray:
    return QuantizedArray(_codes(x, scale, zero_point, qmin, qmax, dtype), scale, zero_point, dtype)


def _quantize_per_channel(
    x: Any,
    *,
    scales: tuple[float, ...],
    zero_points: tuple[float, ...],
    axis: int,
    qmin: int,
    qmax: int,
    dtype: DType,
) -> QuantizedArray:
    scale, zero = along(scales, axis, x.ndim), along(zero_points, axis, x.ndim)
    return QuantizedArray(_codes(x, scale, zero, qmin, qmax, dtype), scales, zero_points, dtype, axis)


def _compiled(name: str, quantization: tuple[str, ...]) -> kernels.Kernel | None:
    """Return the compiled kernel `name`, whose bare codes are put together with their scale here."""
    kernel = kernels.lookup(name)
    if kernel is None:
        return None
    native = kernel

    def run(x: Any, *, dtype: DType, **params: Any) -> QuantizedArray:
        # The compiled code knows plain bytes; what they mean is put on here.
        codes = native.run(x, **params, dtype=dtype.numpy)
        scale, zero_point = (params[key] for key in quantization)
        return QuantizedArray(codes, scale, zero_point, dtype, params.get("axis"))

    def accepts(x: Any, *, dtype: DType, **params: Any) -> bool:
        # NumPy needs several passes here, so that compiled code pays from small sizes on.
        codes = all(type(zero) is int for zero in params.get("zero_points", ()))
        return x.size >= 64 and x.dtype == np.float32 and dtype.bits == 8 and codes

    return kernels.Kernel(name, run, accepts, kernel.needs)


def channel_dims(x: Dims, *, axis: int, scales: tuple[float, ...], **params: Any) -> Dims:
    """Refuse scales that are not one for each entry of `axis`; dims pass through."""
    if axis >= len(x.sizes) or x.sizes[axis] != len(scales):
        size = x.sizes[axis] if axis < len(x.sizes) else 0
        raise DimensionError(
            f"length of scales must equal to channel, expected {size} got, {len(scales)}.",
            operands=(x.operand("input", [axis]),),
        )
    return x


_TYPE = DTypeRule("the quantized type asked for", _single, lambda dtype, params: params["dtype"])
_GROUP_TYPE = replace(_TYPE, common=None)
_U8 = {"scale": 0.05, "zero_point": 30, "qmin": 0, "qmax": 255, "dtype": quint8}
_S8 = {"scales": (0.02, 0.5, 1.0), "zero_points": (0, 3, -4), "qmin": -128, "qmax": 127, "dtype": qint8}


def _float(*shape: int) -> Any:
    return grid(*shape).astype(np.float32)


QUANTIZE_PER_TENSOR = Op(
    name="quantize_per_tensor",
    doc="Codes of real numbers under one scale and zero point.",
    equation="q = clamp(rne(x·(1/s) + z), qmin, qmax)",
    reference=REFERENCE,
    dims=lambda x, **params: x,
    rule="names and sizes pass through",
    dtype=_TYPE,
    forward=_quantize_per_tensor,
    vjp=STEPS,
    saves=Saves(output=False),
    quantized=Absent("it is quantized already"),
    samples=lambda: [
        Sample((_float(3, 4),), _U8, names=(("N", "C"),)),
        Sample((_float(40, 50),), {**_U8, "dtype": qint8, "qmin": -64, "qmax": 63}),
        Sample((_float(0, 3),), {**_U8, "dtype": qint32, "qmin": -(2**31), "qmax": 2**31 - 1}),
    ],
    bad=lambda: [
        BadInput((grid(3, 4),), _U8, DTypeError, "only works on Float Tensor, got Double"),
        BadInput((grid(3, 4).astype(np.float16),), _U8, DTypeError, "only works on Float Tensor, got Half"),
    ],
    kernel=_compiled("quantize_per_tensor", ("scale", "zero_point")),
)

QUANTIZE_PER_CHANNEL = Op(
    name="quantize_per_channel",
    doc="Codes of real numbers under one scale and zero point for each entry of a dim.",
    equation="q[c] = clamp(rne(x[c]·(1/s[c]) + z[c]), qmin, qmax)",
    reference=REFERENCE,
    dims=channel_dims,
    rule="names and sizes pass through; the axis has as many entries as there are scales",
    dtype=_TYPE,
    forward=_quantize_per_channel,
    vjp=STEPS,
    saves=Saves(output=False),
    quantized=Absent("it is quantized already"),
    samples=lambda: [
        Sample((_float(3, 4),), {**_S8, "axis": 0}, names=(("out_channels", "in_channels"),)),
        Sample((_float(2, 3, 30, 20),), {**_S8, "axis": 1}),
    ],
    bad=lambda: [
        BadInput(
            (_float(2, 4),), {**_S8, "axis": 0}, DimensionError, "must equal to channel, expected 2 got, 3"
        )
    ],
    kernel=_compiled("quantize_per_channel", ("scales", "zero_points")),
)


def _group_dims(x: Dims, scales: Dims, zero_points: Dims, *, group: int, dtype: DType) -> Dims:
    expected = (*x.sizes[:-1], -(-x.sizes[-1] // group)) if group > 0 and x.sizes else None
    if expected is None or not scales.sizes == zero_points.sizes == expected:
        raise DimensionError(
            f"groups of {group} along the last dim of {list(x.sizes)} need scales and zero_points of sizes "
            f"{list(expected or ())}, got {list(scales.sizes)} and {list(zero_points.sizes)}",
            operands=(x.operand("input"), scales.operand("scales")),
        )
    return x


def _quantize_per_group(x: Any, scales: Any, zero_points: Any, *, group: int, dtype: DType) -> QuantizedArray:
    like = QuantizedArray(np.zeros(x.shape, dtype.numpy), scales, zero_points, dtype, group=group)
    low, high = code_range(dtype)
    codes = _codes(x, like.along_axis(like.scale), like.along_axis(like.zero_point), low, high, dtype)
    return like.with_codes(codes, same_places=True)


def _group_samples() -> list[Sample]:
    groups = {"group": 4, "dtype": qint8}
    odd = (_float(3, 10), 0.05 + np.abs(grid(3, 3)), np.arange(9).reshape(3, 3))
    named = (_float(2, 8), 0.05 + np.abs(grid(2, 2)), np.zeros((2, 2), int))
    return [Sample(odd, groups), Sample(named, groups, names=(("N", "C"), None, None))]


QUANTIZE_PER_GROUP = Op(
    name="quantize_per_group",
    doc="Codes of real numbers under one scale and zero point for each group of neighbours along the last dim.",
    equation="q[…, k] = clamp(rne(x[…, k]·(1/s[…, k // g]) + z[…, k // g]), qmin, qmax)",
    dims=_group_dims,
    rule="names and sizes pass through; scales and zero points have one entry a group in the last dim",
    dtype=_GROUP_TYPE,
    forward=_quantize_per_group,
    vjp=STEPS,
    saves=Saves(output=False),
    quantized=Absent("it is quantized already"),
    samples=_group_samples,
    bad=lambda: [
        BadInput(
            (_float(2, 8), np.abs(grid(2, 3)), np.zeros((2, 3), int)),
            {"group": 4, "dtype": qint8},
            DimensionError,
            "need scales and zero_points of sizes",
        )
    ],
)

# ----------------------------------------------------------------------------------------- dequantize

_DEQUANTIZE = {
    None: kernels.lookup("dequantize_per_tensor"),
    "axis": kernels.lookup("dequantize_per_channel"),
}


def _dequantize(q: Any) -> Any:
    return q.dequantize() if isinstance(q, QuantizedArray) else q.copy()


def _dequantize_codes(q: Any) -> Any:
    kernel = _DEQUANTIZE[None if q.axis is None else "axis"]
    if kernel is None or not _fits_kernel(q) or not kernel.accepts(q.codes):
        return q.dequantize()
    place = () if q.axis is None else (q.axis,)
    return kernel.run(q.codes, q.scale, q.zero_point, *place)


def _fits_kernel(q: QuantizedArray) -> bool:
    """Say whether compiled code, which has scales in float32, gives the numbers that these codes stand for."""
    if q.dtype.bits < 8 or q.qscheme not in (QScheme.PER_TENSOR_AFFINE, QScheme.PER_CHANNEL_AFFINE):
        return False
    return q.axis is None or bool(np.all(q.scale == q.scale.astype(np.float32)))


def _sample_codes() -> QuantizedArray:
    return QuantizedArray(np.arange(60, dtype=np.uint8).reshape(3, 4, 5), 0.1, 7, quint8)


def _sample_channels() -> QuantizedArray:
    codes = np.arange(-1500, 1500).astype(np.int8).reshape(3, 1000)
    return QuantizedArray(codes, [0.1, 0.2, 3.0], [0, 1, -2], qint8, 0)


DEQUANTIZE = Op(
    name="dequantize",
    doc="The real numbers that codes stand for; floating point values pass through.",
    equation="x = (q - z)·s",
    reference=REFERENCE,
    dims=lambda x: x,
    rule="names and sizes pass through",
    dtype=DTypeRule(
        "float32, floating point values stay",
        None,
        lambda dtype, params: float32.numpy if getattr(dtype, "quantized", False) else dtype,
    ),
    forward=_dequantize,
    vjp=lambda c, g: (g,),
    saves=Saves((), output=False),
    quantized=Quantization("ends", lambda op, q: _dequantize_codes(q)),
    samples=lambda: [
        Sample((_sample_codes(),), names=(("N", "C", "T"),)),
        Sample((_sample_channels(),)),
        Sample((grid(3, 4),), names=(("N", "C"),)),
    ],
    properties=frozenset({"same"}),
)


INT_REPR = Op(
    name="int_repr",
    doc="The codes of a quantized tensor as plain integers.",
    equation="y = q",
    dims=lambda x: x,
    rule="names and sizes pass through",
    dtype=DTypeRule(
        "the integer type that stores the codes", None, lambda dtype, params: getattr(dtype, "numpy", dtype)
    ),
    forward=lambda q: np.array(q.codes),
    vjp=STEPS,
    saves=Saves(output=False),
    quantized=Quantization("ends", lambda op, q: op.forward(q)),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((_sample_codes(),), names=(("N", "C", "T"),)), Sample((_sample_channels(),))],
)

# ---------------------------------------------------------------------------------- the words people use


def check_type(dtype: Any) -> DType:
    kind = as_dtype(dtype)
    if not kind.is_quantized:
        near = {"int8": "qint8", "uint8": "quint8", "int32": "qint32"}.get(kind.name)
        raise DTypeError(
            f"{kind.name} is not supported in new_qtensor: codes are quint8, qint8, qint32, quint4x2 or quint2x4"
            + (f"; you probably mean workbench.{near}" if near else "")
        )
    return kind


def _check_zero(zero: int, low: int, high: int, op: str) -> None:
    if zero > high:
        raise QuantizationError(f"{op} zero_point {zero} is above upper bound {high}.")
    if zero < low:
        raise QuantizationError(f"{op} zero_point {zero} is below lower bound {low}.")


def _whole(zero_point: Any) -> int:
    """Return a zero point as the whole number that it is."""
    zero = float(zero_point)
    if not zero.is_integer():
        raise QuantizationError(f"a zero point is a code, a whole number, and {zero:.6g} was given")
    return int(zero_point)


def _check_scales(scales: Sequence[float]) -> None:
    """Refuse what is no step between numbers: zero, what is negative, NaN and infinity."""
    for scale in scales:
        if not 0 < scale < math.inf:
            raise QuantizationError(f"a scale is a finite number above 0, and {scale} was given")


def _range(dtype: DType, quant_min: int | None, quant_max: int | None) -> tuple[int, int]:
    least, most = code_range(dtype)
    low, high = least if quant_min is None else quant_min, most if quant_max is None else quant_max
    if not least <= low < high <= most:
        raise QuantizationError(
            f"codes from {low} to {high} do not fit {dtype.name}, which has {least} to {most}"
        )
    return low, high


@overload
def quantize_per_tensor(
    input: Tensor,
    scale: Tensor | float,
    zero_point: Tensor | int,
    dtype: DTypeLike,
    *,
    quant_min: int | None = None,
    quant_max: int | None = None,
) -> Tensor: ...
@overload
def quantize_per_tensor(
    input: Sequence[Tensor],
    scale: Tensor,
    zero_point: Tensor,
    dtype: DTypeLike,
    *,
    quant_min: int | None = None,
    quant_max: int | None = None,
) -> tuple[Tensor, ...]: ...
@offered("workbench", words={"tensors": "input", "scales": "scale", "zero_points": "zero_point"})
def quantize_per_tensor(
    input: Tensor | Sequence[Tensor],
    scale: Tensor | float,
    zero_point: Tensor | int,
    dtype: DTypeLike,
    *,
    quant_min: int | None = None,
    quant_max: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Quantize float32 values: q = clamp(rne(x·(1/scale) + zero_point)).

    Of several tensors each has its scale and zero point. `quant_min` and `quant_max` narrow the codes, e.g. 0 to 15
    for 4 bits. Raises `DTypeError` for other types than float32 or codes that are no quantized type,
    `QuantizationError` for a zero point beyond the codes.

    >>> import workbench as wb
    >>> q = wb.quantize_per_tensor(wb.tensor([-1.0, 0.0, 2.0], names=("C",)), 0.1, 10, wb.quint8)
    >>> q.int_repr().tolist(), q.dequantize().names
    ([0, 10, 30], ('C',))
    """
    kind = check_type(dtype)
    low, high = _range(kind, quant_min, quant_max)
    if isinstance(input, tuple | list):
        scales, zeros = listed(scale), listed(zero_point)
        if not len(scales) == len(zeros) == len(input):
            raise QuantizationError(
                f"{len(input)} tensors, {len(scales)} scales and {len(zeros)} zero points: give one of each a tensor"
            )
        several = zip(input, scales, zeros, strict=True)
        return tuple([_per_tensor(*one, kind, low, high) for one in several])
    return _per_tensor(input, scale, zero_point, kind, low, high)


def _per_tensor(input: Any, scale: Any, zero_point: Any, kind: DType, low: int, high: int) -> Tensor:
    zero, step = _whole(zero_point), float(scale)
    _check_zero(zero, *code_range(kind), "quantize_tensor_per_tensor_affine")
    _check_scales((step,))
    return ops.quantize_per_tensor(input, scale=step, zero_point=zero, qmin=low, qmax=high, dtype=kind)


@offered("Tensor", name="quantize_per_tensor")
def _quantized(
    input: Tensor,
    scale: Tensor | float,
    zero_point: Tensor | int,
    dtype: DTypeLike,
    *,
    quant_min: int | None = None,
    quant_max: int | None = None,
) -> Tensor:
    """Quantize float32 values, see `workbench.quantize_per_tensor`."""
    return quantize_per_tensor(input, scale, zero_point, dtype, quant_min=quant_min, quant_max=quant_max)


@offered("workbench")
def quantize_per_tensor_dynamic(input: Tensor, dtype: DTypeLike, reduce_range: bool) -> Tensor:
    """Quantize float32 values over the range that they have, zero included; with `reduce_range` to 7 of 8 bits.

    Raises `DTypeError` for other codes than qint8 and quint8.

    >>> import workbench as wb
    >>> q = wb.quantize_per_tensor_dynamic(wb.tensor([-1.0, 2.0]), wb.qint8, False)
    >>> round(q.q_scale(), 6), q.q_zero_point(), q.int_repr().tolist()
    (0.011765, -43, [-128, 127])
    """
    kind = check_type(dtype)
    if kind not in (qint8, quint8):
        raise DTypeError(
            f"quantize_per_tensor_dynamic takes qint8 or quint8, got {kind.name}: give quantize_per_tensor a scale"
        )
    values = numbers(input)
    least, most = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    scale, zero = range_qparams(least, most, *code_range(kind), reduce_range)
    return quantize_per_tensor(input, scale, zero, kind)


_SMALLEST = float(np.float32(6.1e-5))
"""Scales are not chosen below this: products of two of them stay normal numbers."""


def range_qparams(
    least: float, most: float, qmin: int, qmax: int, reduce_range: bool = False, symmetric: bool = False
) -> tuple[float, int]:
    """Return scale and zero point for values between `least` and `most`, as FBGEMM chooses them.

    With `symmetric` zero stands in the middle of the codes, where there are values on either side of it.

    >>> range_qparams(0.0, 0.0, 0, 255), range_qparams(-1.0, 2.0, -128, 127, symmetric=True)[1]
    ((0.1, 0), 0)
    """
    if reduce_range:
        qmin, qmax = int(qmin / 2), qmax // 2
    low, high = np.float32(least), np.float32(most)
    middle = bool(symmetric and low < 0 < high)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if middle:
            half = (qmax - qmin) // 2
            widest = max(abs(float(low) / (half + 1)), abs(float(high) / half))
            low, high = np.float32(-widest * (half + 1)), np.float32(widest * half)
        low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
        scale = (float(high) - float(low)) / (qmax - qmin)
        single = np.float32(scale)
        # Nothing to tell apart, or no number, or an inverse that float32 has not: any scale serves.
        if single == 0 or not np.isfinite(np.float32(1) / single) or not np.isfinite(scale):
            scale = 0.1
        if scale < _SMALLEST:
            wider = np.float32(_SMALLEST) / np.float32(scale)
            scale = _SMALLEST
            if low == 0:
                high = np.float32(_SMALLEST * (qmax - qmin))
            elif high == 0:
                low = np.float32(-_SMALLEST * (qmax - qmin))
            else:
                low, high = low * wider, high * wider
        below, above = float(low) / scale, float(high) / scale
    # The end that is more steps away says less exactly where zero is.
    zero = qmin - below if abs(qmin) - abs(below) < abs(qmax) - abs(above) else qmax - above
    if middle:
        zero = (qmin + qmax) / 2
    return scale, qmin if not zero >= qmin else qmax if zero > qmax else round(zero)


@offered()
def quantize_per_channel(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: Dim,
    dtype: DTypeLike,
    *,
    quant_min: int | None = None,
    quant_max: int | None = None,
) -> Tensor:
    """Quantize float32 values with a scale and a zero point for each entry of `axis`, a position or a name.

    Zero points of a floating type stay real numbers, as tables of embeddings have them.

    >>> import workbench as wb
    >>> w = wb.tensor([[1.0, 2.0], [10.0, 20.0]], names=("out_channels", "in_channels"))
    >>> wb.quantize_per_channel(w, [0.1, 1.0], [0, 0], "out_channels", wb.qint8).int_repr().tolist()
    [[10, 20], [10, 20]]
    """
    kind = check_type(dtype)
    low, high = _range(kind, quant_min, quant_max)
    zeros = tuple(listed(zero_points))
    if all(isinstance(zero, int) for zero in zeros):
        for zero in zeros:
            _check_zero(zero, *code_range(kind), "quantize_tensor_per_channel_affine")
    steps = tuple(float(one) for one in listed(scales))
    _check_scales(steps)
    if len(zeros) != len(steps):
        raise QuantizationError(
            f"{len(steps)} scales and {len(zeros)} zero points: give one of each a channel"
        )
    place = dim_index(dims_of(input), axis, "quantize_per_channel")
    return ops.quantize_per_channel(
        input, scales=steps, zero_points=zeros, axis=place, qmin=low, qmax=high, dtype=kind
    )


@offered("workbench")
def quantize_per_group(
    input: Tensor, scales: Tensor, zero_points: Tensor, group_size: int, dtype: DTypeLike
) -> Tensor:
    """Quantize float32 values with a scale and a zero point for each `group_size` neighbours along the last dim.

    q[…, k] = clamp(rne(x[…, k]·(1/s[…, k // group_size]) + z[…, k // group_size])): `scales` and `zero_points` have the
    sizes of the input, but for one entry a group in the last dim. Weights of 4 bits are kept so. Raises
    `DimensionError` for other sizes.

    >>> import workbench as wb
    >>> w = wb.tensor([[1.0, 2.0, 10.0, 20.0]])
    >>> q = wb.quantize_per_group(w, [[0.5, 5.0]], [[0, 0]], 2, wb.quint4x2)
    >>> q.dequantize().tolist(), q.qscheme()
    ([[1.0, 2.0, 10.0, 20.0]], workbench.per_group_affine)
    """
    _single(input.payload.dtype)
    kind = check_type(dtype)
    zeros = np.asarray(listed(zero_points))
    if zeros.dtype.kind in "iu":
        for zero in (zeros.min(initial=0), zeros.max(initial=0)):
            _check_zero(int(zero), *code_range(kind), "quantize_per_group")
    steps = np.asarray(listed(scales), np.float64)
    return ops.quantize_per_group(input, new(steps), new(zeros), group=whole(group_size), dtype=kind)


@overload
def dequantize(input: Tensor) -> Tensor: ...
@overload
def dequantize(input: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@offered("workbench", words={"tensors": "input"})
def dequantize(input: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return the float32 numbers that codes stand for: (q - zero_point)·scale; other values pass through."""
    if isinstance(input, tuple | list):
        return tuple([ops.dequantize(one) for one in input])
    return ops.dequantize(input)


@offered("Tensor", name="dequantize")
def _dequantized(input: Tensor) -> Tensor:
    """Return the float32 numbers that codes stand for, see `workbench.dequantize`."""
    return ops.dequantize(input)


def listed(values: Any) -> Any:
    """Return the numbers of a tensor, an array or a sequence as a list."""
    return values.payload.tolist() if isinstance(values, Value) else np.asarray(values).tolist()
