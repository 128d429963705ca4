"""Transposed convolution on codes: convolutions with the weight turned around, one for each phase of the stride.

Where taps of the kernel stand apart, or the stride is one, it is a convolution of the input spread among zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import DType, qint8, quint8
from workbench.base.errors import DimensionError, QuantizationError
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import integers
from workbench.core.typing import Tensor
from workbench.ops.nn.conv.convolution_ops import WORDS
from workbench.ops.nn.conv.transposed import check_channels
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes, batched, several, unbatched
from workbench.ops.quantized.convolution import by_channel, check_codes, split
from workbench.ops.quantized.engines import requantization
from workbench.ops.quantized.quantize import REFERENCE
from workbench.ops.quantized.requantize import (
    NO_GRADIENT,
    around_zero,
    fits_kernel,
    output_type,
    requantized,
    sample_codes,
    sample_weights,
)
from workbench.ops.quantized.sums import transposed

__all__ = [
    "QUANTIZED_CONV_TRANSPOSE1D", "QUANTIZED_CONV_TRANSPOSE2D", "QUANTIZED_CONV_TRANSPOSE3D", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "turned",
]  # fmt: skip


def _scales(weight: QuantizedArray, groups: int) -> Any:
    """Return the scale of each channel of the result: those of a weight go along O / groups."""
    return np.tile(np.asarray(weight.scale, np.float64), groups) if weight.axis == 1 else weight.scale


def _conv(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    geometry, out = split(params)
    sums = transposed(around_zero(x), around_zero(weight), **geometry)
    added = None if bias is None else by_channel(bias, sums.ndim)
    scales = by_channel(_scales(weight, geometry["groups"]), sums.ndim)
    return requantized(sums, x, scales, added, requantization("convolution"), **out)


def turned(weight: QuantizedArray, groups: int) -> QuantizedArray:
    """Return the weight [O, C / groups, ...] of the convolution that does the same, kept with the weight."""
    held = weight.cache.get("turned")
    if held is None or held[0] != groups:
        channels, each, *kernel = weight.shape
        parts = weight.codes.reshape(groups, channels // groups, each, *kernel)
        codes = np.swapaxes(parts, 1, 2).reshape(groups * each, channels // groups, *kernel)
        codes = np.flip(codes, tuple(range(2, codes.ndim)))
        scales = _scales(weight, groups)
        if weight.axis == 1:
            made = QuantizedArray(codes, scales, np.zeros(groups * each, int), qint8, 0)
        else:
            made = QuantizedArray(codes, scales, 0, qint8)
        held = weight.cache["turned"] = (groups, made)
    found: QuantizedArray = held[1]
    return found


def _spread(x: QuantizedArray, kernel: Sizes, geometry: dict[str, Any]) -> Any:
    """Return the codes with `stride - 1` codes of zero between them, and the border that a turned kernel needs."""
    stride = geometry["stride"]
    before = [
        d * (k - 1) - p for d, k, p in zip(geometry["dilation"], kernel, geometry["padding"], strict=True)
    ]
    after = [b + more for b, more in zip(before, geometry["output_padding"], strict=True)]
    sizes = [(size - 1) * s + 1 for size, s in zip(x.shape[2:], stride, strict=True)]
    full = [size + max(b, 0) + max(a, 0) for size, b, a in zip(sizes, before, after, strict=True)]
    codes = np.full((*x.shape[:2], *full), x.zero_point, np.uint8)
    places = (slice(max(b, 0), max(b, 0) + size, s) for b, size, s in zip(before, sizes, stride, strict=True))
    codes[(slice(None), slice(None), *places)] = x.codes
    # Where the padding takes more away than the kernel reaches, a part of the input is not seen.
    seen = (slice(max(-b, 0), size - max(-a, 0)) for b, a, size in zip(before, after, full, strict=True))
    return codes[(slice(None), slice(None), *seen)]


class _Phase(NamedTuple):
    """One dim of the places of a result that meet the same taps of the kernel: every `stride`-th of them."""

    first: int
    """The first such place."""
    places: int
    """How many there are."""
    begin: int
    """The first place of the input that they see; below 0 in the border."""
    taps: slice
    """Which taps of the turned kernel; none where nothing meets these places."""
    length: int
    """How many taps there are, or 1."""


def _phases(size: int, kernel: int, stride: int, padding: int, more: int) -> list[_Phase]:
    out = (size - 1) * stride - 2 * padding + kernel + more
    found = []
    for rest in range(stride):
        # Place o of the result is the sum of x[m - j]·w[rest + j·stride] where o + padding = rest + m·stride.
        taps = len(range(rest, kernel, stride))
        first = -((rest - padding) // stride)
        count = (padding + out - 1 - rest) // stride - first + 1
        start = kernel - 1 - (rest + stride * (taps - 1))
        chosen = slice(start, start + stride * (taps - 1) + 1, stride) if taps else slice(0, 0)
        length = max(taps, 1)
        if count > 0:
            found.append(_Phase(rest + first * stride - padding, count, first - length + 1, chosen, length))
    return found


def _phase_weight(weight: QuantizedArray, groups: int, phases: tuple[_Phase, ...]) -> QuantizedArray:
    """Return the taps of some phases as a weight of their own, kept with the weight: zeros where there are none."""
    key = f"phase of {groups} groups: {[(one.taps.start, one.taps.stop, one.taps.step) for one in phases]}"
    held: QuantizedArray | None = weight.cache.get(key)
    if held is None:
        whole = turned(weight, groups)
        codes = whole.codes[(slice(None), slice(None), *(one.taps for one in phases))]
        if not codes.size:
            codes = np.zeros((*whole.shape[:2], *(one.length for one in phases)), np.int8)
        codes = np.ascontiguousarray(codes)
        held = QuantizedArray(codes, whole.scale, whole.zero_point, qint8, whole.axis)
        weight.cache[key] = held
    return held


def _by_phases(
    convolution: Any, x: QuantizedArray, weight: QuantizedArray, bias: Any, geometry: dict[str, Any],
    out: dict[str, Any],
) -> QuantizedArray:  # fmt: skip
    """Convolve the places of the result that meet the same taps each by themselves: no code meets a zero between."""
    groups, stride = geometry["groups"], geometry["stride"]
    each = [
        _phases(*told)
        for told in zip(
            x.shape[2:],
            weight.shape[2:],
            stride,
            geometry["padding"],
            geometry["output_padding"],
            strict=True,
        )
    ]
    # One border for all, wide enough for the phase that sees furthest.
    before = [max(0, *(-one.begin for one in phases)) for phases in each]
    after = [
        max(0, *(one.begin + one.places + one.length - 1 - size for one in phases))
        for size, phases in zip(x.shape[2:], each, strict=True)
    ]
    full = [size + b + a for size, b, a in zip(x.shape[2:], before, after, strict=True)]
    # Channels last, as the kernel reads.
    image = np.moveaxis(np.full((x.shape[0], *full, x.shape[1]), x.zero_point, np.uint8), -1, 1)
    inside = (slice(b, b + size) for b, size in zip(before, x.shape[2:], strict=True))
    image[(slice(None), slice(None), *inside)] = x.codes
    sizes = [
        max(one.first + (one.places - 1) * s + 1 for one in phases)
        for phases, s in zip(each, stride, strict=True)
    ]
    last = np.empty((x.shape[0], *sizes, weight.shape[1] * groups), np.uint8)
    found = np.moveaxis(last, -1, 1)
    one = (1,) * len(stride)
    how = {"stride": one, "padding": (0,) * len(stride), "dilation": one, "groups": groups}
    for phases in product(*each):
        seen = [
            slice(place + phase.begin, place + phase.begin + phase.places + phase.length - 1)
            for place, phase in zip(before, phases, strict=True)
        ]
        part = QuantizedArray.own(image[(slice(None), slice(None), *seen)], x.scale, x.zero_point, quint8)
        made = convolution.quantized.codes(
            convolution, part, _phase_weight(weight, groups, phases), bias, **how, **out
        )
        places = (slice(phase.first, None, s) for phase, s in zip(phases, stride, strict=True))
        found[(slice(None), slice(None), *places)] = made.codes
    return QuantizedArray.own(found, out["scale"], out["zero_point"], quint8)


def _conv_on_codes(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    geometry, out = split(params)
    if not fits_kernel(x, weight, 1) or out["scale"] is None:
        return _conv(x, weight, bias, **params)
    n = len(geometry["stride"])
    convolution: Any = getattr(ops, f"quantized_conv{n}d")
    if max(geometry["stride"]) > 1 and max(geometry["dilation"]) == 1 and x.size:
        return _by_phases(convolution, x, weight, bias, geometry, out)
    spread = QuantizedArray(_spread(x, weight.shape[2:], geometry), x.scale, x.zero_point, quint8)
    how = {
        "stride": (1,) * n,
        "padding": (0,) * n,
        "dilation": geometry["dilation"],
        "groups": geometry["groups"],
    }
    return convolution.quantized.codes(
        convolution, spread, turned(weight, geometry["groups"]), bias, **how, **out
    )


def _dims(n: int) -> Callable[..., Dims]:
    name = f"quantized conv_transpose{n}d"

    def rule(x: Dims, weight: Dims, bias: Dims | None = None, **params: Any) -> Dims:
        geometry, _ = split(params)
        if len(x.sizes) != n + 2:
            raise DimensionError(
                f"Expected {n + 2}D input to {name}, but got {len(x.sizes)}D.",
                op=name,
                operands=(x.operand("input"),),
            )
        check_channels(x, weight, bias, geometry["groups"], n, name)
        keys = ("stride", "padding", "dilation", "output_padding")
        sizes = tuple(
            (size - 1) * s - 2 * p + d * (k - 1) + more + 1
            for size, k, s, p, d, more in zip(
                x.sizes[2:], weight.sizes[2:], *(geometry[key] for key in keys), strict=True
            )
        )
        if any(one < 1 for one in sizes):
            raise DimensionError(
                f"Calculated output size per channel: {list(sizes)}. Output size is too small.",
                op=name,
                operands=(x.operand("input", range(2, n + 2)), weight.operand("weight")),
            )
        return Dims(x.names, (x.sizes[0], weight.sizes[1] * geometry["groups"], *sizes))

    return rule


_OUT = {"scale": 0.0713, "zero_point": 101, "qmin": 0, "qmax": 255, "relu": False}


def _params(n: int, stride: int = 1, padding: int = 0, groups: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "stride": (stride,) * n, "padding": (padding,) * n, "output_padding": (0,) * n, "dilation": (1,) * n,
        "groups": groups, **_OUT, **more,
    }  # fmt: skip


def _samples(n: int) -> list[Sample]:
    size = (4, 3, 2)[:n]
    return [
        Sample(
            (sample_codes(2, 3, *size), sample_weights(3, 4, *(3,) * n, axis=1), grid(4)),
            _params(n, stride=2, padding=1),
            names=(LAYOUT[n], None, None),
        ),
        Sample(
            (sample_codes(1, 4, *size), sample_weights(4, 3, *(2,) * n, axis=1)),
            _params(n, stride=3, groups=2, output_padding=(1,) * n),
        ),
        Sample(
            (sample_codes(1, 3, *size), sample_weights(3, 2, *(2,) * n, per_channel=False), grid(2)),
            _params(n, relu=True, qmax=127, dilation=(2,) * n),
        ),
    ]


def _record(n: int) -> Op:
    plane = ", ".join(map(str, LAYOUT[n][2:]))
    return Op(
        name=f"quantized_conv_transpose{n}d",
        doc=f"{WORDS[n]}-dimensional transposed convolution on codes; if asked rectified.",
        equation="q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z, qmin, qmax); at least z if rectified",
        reference=REFERENCE,
        dims=_dims(n),
        rule=f"[N, C, {plane}] keep their names; C becomes the weight's output channels",
        dtype=DTypeRule("quint8; float32 without an output scale", None, output_type),
        forward=_conv,
        vjp=NO_GRADIENT,
        saves=Saves(output=False),
        quantized=integers(
            f"quantized_conv_transpose{n}d",
            _conv_on_codes,
            "weighted",
            inputs=("value", "weight", "plain"),
            axis=1,
        ),
        cost=lambda dims, out, **params: 2.0 * dims[0].numel * dims[1].numel / max(dims[1].sizes[0], 1),
        samples=lambda: _samples(n),
        bad=lambda: [
            BadInput(
                (sample_codes(2, 3, *(3,) * n), sample_weights(2, 4, *(3,) * n, axis=1)),
                _params(n),
                RuntimeError,
                "to have 2 channels, but got 3",
            )
        ],
    )


QUANTIZED_CONV_TRANSPOSE1D = _record(1)
QUANTIZED_CONV_TRANSPOSE2D = _record(2)
QUANTIZED_CONV_TRANSPOSE3D = _record(3)


def _transposed(
    n: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any, scale: float, zero_point: int, dtype: DType,
) -> Tensor:  # fmt: skip
    op = f"quantized conv_transpose{n}d"
    check_codes(op, input, dtype)
    check_codes(op, weight)
    x, added = batched(input, n, op)
    strides, dilations = several(stride, n, "stride"), several(dilation, n, "dilation")
    extra = several(output_padding, n, "output_padding")
    if any(e >= s and e >= d for e, s, d in zip(extra, strides, dilations, strict=True)):
        raise QuantizationError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: {list(extra)} "
            f"stride: {list(strides)} dilation: {list(dilations)}."
        )
    low, high = code_range(dtype)
    operands = (x, weight) if bias is None else (x, weight, bias)
    found: Tensor = getattr(ops, f"quantized_conv_transpose{n}d")(
        *operands,
        stride=strides,
        padding=several(padding, n, "padding"),
        output_padding=extra,
        dilation=dilations,
        groups=groups,
        scale=float(scale),
        zero_point=int(zero_point),
        qmin=low,
        qmax=high,
        relu=False,
    )
    return unbatched(found, added)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sizes = 1,
    padding: int | Sizes = 0,
    output_padding: int | Sizes = 0,
    groups: int = 1,
    dilation: int | Sizes = 1,
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: DType = quint8,
) -> Tensor:
    """Convolve codes [N, C, L] with a qint8 weight [C, O/groups, K], transposed.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.ones(1, 1, 3), 0.5, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 2), 0.5, 0, wb.qint8)
    >>> F.conv_transpose1d(x, w, None).int_repr().tolist()
    [[[1, 2, 2, 1]]]
    """
    return _transposed(
        1, input, weight, bias, stride, padding, output_padding, groups, dilation, scale, zero_point, dtype
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sizes = 1,
    padding: int | Sizes = 0,
    output_padding: int | Sizes = 0,
    groups: int = 1,
    dilation: int | Sizes = 1,
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: DType = quint8,
) -> Tensor:
    """Convolve codes [N, C, H, W] with a qint8 weight [C, O/groups, KH, KW], transposed.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.ones(1, 1, 1, 2), 0.5, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 1, 2), 0.5, 0, wb.qint8)
    >>> F.conv_transpose2d(x, w, None).int_repr().tolist()
    [[[[1, 2, 1]]]]
    """
    return _transposed(
        2, input, weight, bias, stride, padding, output_padding, groups, dilation, scale, zero_point, dtype
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sizes = 1,
    padding: int | Sizes = 0,
    output_padding: int | Sizes = 0,
    groups: int = 1,
    dilation: int | Sizes = 1,
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: DType = quint8,
) -> Tensor:
    """Convolve codes [N, C, D, H, W] with a qint8 weight [C, O/groups, KD, KH, KW], transposed.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.ones(1, 1, 1, 1, 2), 0.5, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 1, 1, 2), 0.5, 0, wb.qint8)
    >>> F.conv_transpose3d(x, w, None).int_repr().tolist()
    [[[[[1, 2, 1]]]]]
    """
    return _transposed(
        3, input, weight, bias, stride, padding, output_padding, groups, dilation, scale, zero_point, dtype
    )
