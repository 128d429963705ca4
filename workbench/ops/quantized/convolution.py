"""Convolution on codes in one, two and three dims: integer sums, one kernel for all of them.

A row is an image of height 1; a volume's planes under the kernel stand side by side as channels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims
from workbench.base.dtypes import DType, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import integers
from workbench.core.typing import Tensor
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes, batched, several, unbatched
from workbench.ops.nn.pool.pool_ops import MAX_POOL2D
from workbench.ops.quantized.engines import requantization
from workbench.ops.quantized.quantize import REFERENCE
from workbench.ops.quantized.requantize import (
    NO_GRADIENT,
    OUTPUT,
    around_zero,
    fits_bias,
    fits_kernel,
    output_type,
    packed,
    requantized,
    run_packed,
    sample_codes,
    sample_weights,
)
from workbench.ops.quantized.sums import convolve

__all__ = [
    "QUANTIZED_CONV1D",
    "QUANTIZED_CONV2D",
    "QUANTIZED_CONV3D",
    "conv1d",
    "conv2d",
    "conv3d",
    "packed_convolution",
    "split",
]

GEOMETRY = ("stride", "padding", "dilation", "groups")
_OF_RESULT = frozenset((*OUTPUT, "pool"))
_WORDS = {1: "One", 2: "Two", 3: "Three"}
_TWO_BY_TWO: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}


def by_channel(values: Any, ndim: int) -> Any:
    """Return one value a channel, shaped so that it broadcasts against [N, C, ...]."""
    return np.reshape(values, (1, -1, *(1,) * (ndim - 2)))


def split(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what says where windows lie, and what says how sums become codes."""
    geometry = {key: value for key, value in params.items() if key not in _OF_RESULT}
    return geometry, {key: params[key] for key in OUTPUT}


def _conv(x: Any, weight: Any, bias: Any = None, *, pool: bool = False, **params: Any) -> Any:
    geometry, out = split(params)
    sums = convolve(around_zero(x), around_zero(weight), **geometry)
    added = None if bias is None else by_channel(bias, sums.ndim)
    how = requantization("convolution")
    result = requantized(sums, x, by_channel(weight.scale, sums.ndim), added, how, **out)
    return result.with_codes(MAX_POOL2D.forward(result.codes, **_TWO_BY_TWO)[0]) if pool else result


# -------------------------------------------------------------------------- as the one kernel takes them


def _volume_weight(codes: Any, groups: int) -> Any:
    """Return [O, C, KD, KH, KW] as a weight of images, whose channels are those of all planes."""
    outputs, channels, depth, *plane = codes.shape
    return np.swapaxes(codes, 1, 2).reshape(outputs, depth * channels, *plane)


def _volume_planes(x: Any, depth: int, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """Return the planes of a volume that each plane of the result sees, side by side as channels.

    [N, C, D, H, W] becomes [N·P, groups·KD·C/groups, H, W].
    """
    codes = x.codes
    if padding:
        border = [(0, 0), (0, 0), (padding, padding), (0, 0), (0, 0)]
        codes = np.pad(codes, border, constant_values=x.zero_point)
    count, channels, _, height, width = codes.shape
    places = (codes.shape[2] - dilation * (depth - 1) - 1) // stride + 1
    seen = np.arange(places)[:, None] * stride + np.arange(depth) * dilation
    parts = codes.reshape(count, groups, channels // groups, codes.shape[2], height * width)[:, :, :, seen]
    # [N, groups, C / groups, P, KD, H·W], which the kernel wants channels-last.
    last = np.ascontiguousarray(parts.transpose(0, 3, 5, 1, 4, 2))
    return last.reshape(count * places, height, width, channels * depth).transpose(0, 3, 1, 2), places


def _pair(values: Sizes, first: int) -> tuple[int, int]:
    return (first, values[0]) if len(values) == 1 else values[-2:]  # type: ignore[return-value]


def packed_convolution(weight: Any, bias: Any, geometry: dict[str, Any]) -> Any:
    """Return the compiled convolution of a weight, packed once; one in one dim or three as one in two."""
    n, groups = len(geometry["stride"]), geometry["groups"]
    stride, padding = _pair(geometry["stride"], 1), _pair(geometry["padding"], 0)
    dilation = _pair(geometry["dilation"], 1)

    def make(own: Any) -> Any:
        codes = weight.codes
        if n == 1:
            codes = codes[:, :, None]
        elif n == 3:
            codes = _volume_weight(codes, groups)
        scales = np.atleast_1d(np.asarray(weight.scale, np.float32))
        return kernels.PackedQuantizedConv2d(
            codes, scales, own, stride=stride, padding=padding, dilation=dilation, groups=groups
        )

    return packed(weight, bias, (*geometry["stride"], 0, padding, dilation, groups), make)


def _conv_on_codes(x: Any, weight: Any, bias: Any = None, *, pool: bool = False, **params: Any) -> Any:
    geometry, out = split(params)
    fits = fits_kernel(x, weight) and fits_bias(x, weight, bias, "convolution")
    if not fits or out["scale"] is None:
        return _conv(x, weight, bias, pool=pool, **params)
    n = len(geometry["stride"])
    layer = packed_convolution(weight, bias, geometry)
    if n == 2:
        return run_packed(layer, x, x.codes, "convolution", out, pool=pool)
    if n == 1:
        found = run_packed(layer, x, x.codes[:, :, None], "convolution", out)
        return found.with_codes(found.codes[:, :, 0])
    depth = weight.shape[2]
    planes, places = _volume_planes(
        x, depth, geometry["stride"][0], geometry["padding"][0], geometry["dilation"][0], geometry["groups"]
    )
    found = run_packed(layer, x, planes, "convolution", out)
    count, outputs, *plane = found.codes.shape
    return found.with_codes(np.moveaxis(found.codes.reshape(count // places, places, outputs, *plane), 1, 2))


# ------------------------------------------------------------------------------------------- records


def _dims(n: int) -> Callable[..., Dims]:
    def rule(*dims: Dims, pool: bool = False, **params: Any) -> Dims:
        geometry, _ = split(params)
        found: Any = getattr(ops, f"conv{n}d").dims(*dims, **geometry)
        if not pool:
            return found  # type: ignore[no-any-return]
        batch, channels, height, width = found.sizes
        if height < 2 or width < 2:
            # Asked again for its words: it refuses such sizes.
            return MAX_POOL2D.dims(found, **_TWO_BY_TWO)[0]  # type: ignore[return-value]  # has the words of the refusal
        return Dims(found.names, (batch, channels, height // 2, width // 2))

    return rule


_OUT = {"scale": 0.0713, "zero_point": 101, "qmin": 0, "qmax": 255, "relu": False}


def sample_params(n: int, stride: int = 1, padding: int = 1, groups: int = 1, **more: Any) -> dict[str, Any]:
    """Return the parameters of a sample."""
    return {
        "stride": (stride,) * n, "padding": (padding,) * n, "dilation": (1,) * n, "groups": groups, **_OUT, **more,
    }  # fmt: skip


def _samples(n: int) -> list[Sample]:
    own: dict[str, Any] = {"pool": False} if n == 2 else {}
    size = (5, 6, 4)[:n]
    found = [
        Sample(
            (sample_codes(2, 3, *size), sample_weights(4, 3, *(3,) * n), grid(4)),
            sample_params(n, **own),
            names=(LAYOUT[n], None, None),
        ),
        Sample(
            (sample_codes(1, 4, *size), sample_weights(6, 2, *(2,) * n, per_channel=False)),
            sample_params(n, groups=2, **own),
        ),
        Sample(
            (sample_codes(1, 3, *(7,) * n), sample_weights(8, 3, *(3,) * n), grid(8)),
            sample_params(n, stride=2, **{**own, "relu": True, "qmax": 127, "dilation": (2,) * n}),
        ),
    ]
    if n == 2:
        inputs = (sample_codes(2, 3, 7, 6), sample_weights(8, 3, 3, 3), grid(8))
        params = sample_params(2, relu=True, qmax=127, pool=True)
        found.append(Sample(inputs, params, names=(LAYOUT[2], None, None)))
    return found


def _convolution(n: int) -> Op:
    own: dict[str, Any] = {"pool": False} if n == 2 else {}
    plane = ", ".join(map(str, LAYOUT[n][2:]))
    pooled = (
        "; if asked rectified, and pooled to the largest of each 2 by 2" if n == 2 else "; if asked rectified"
    )
    return Op(
        name=f"quantized_conv{n}d",
        doc=f"{_WORDS[n]}-dimensional convolution on codes{pooled}.",
        equation="q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z, qmin, qmax); at least z if rectified",
        reference=REFERENCE,
        dims=_dims(n),
        rule=f"[N, C, {plane}] keep their names; C becomes the weight's output channels, {plane} the window positions",
        dtype=DTypeRule("quint8; float32 without an output scale", None, output_type),
        forward=_conv,
        vjp=NO_GRADIENT,
        saves=Saves(output=False),
        quantized=integers(
            f"quantized_conv{n}d", _conv_on_codes, "weighted", inputs=("value", "weight", "plain"), axis=0
        ),
        cost=lambda dims, out, **params: getattr(ops, f"conv{n}d").cost(dims, out),
        samples=lambda: _samples(n),
        bad=lambda: [
            BadInput(
                (sample_codes(2, 3, *(5,) * n), sample_weights(4, 2, *(3,) * n)),
                sample_params(n, **own),
                RuntimeError,
                "to have 2 channels, but got 3",
            )
        ],
    )


QUANTIZED_CONV1D = _convolution(1)
QUANTIZED_CONV2D = _convolution(2)
QUANTIZED_CONV3D = _convolution(3)

# ---------------------------------------------------------------------------------- what people call


def check_codes(op: str, input: Any, dtype: DType = quint8) -> None:
    """Raise QuantizationError unless `input` has codes, and the result is to have those that kernels write."""
    if not isinstance(input.payload, QuantizedArray) and not getattr(input.payload.dtype, "quantized", False):
        raise QuantizationError(
            f"{op} takes a quantized tensor, and got {input.dtype.name}: quantize it first, with "
            "quantize_per_tensor or a QuantStub"
        )
    if dtype is not quint8:
        raise QuantizationError(f"{op} writes quint8, not {dtype.name}")


def _convolve(
    n: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int,
    padding_mode: str, scale: float, zero_point: int, dtype: DType,
) -> Tensor:  # fmt: skip
    op = f"quantized conv{n}d"
    check_codes(op, input, dtype)
    check_codes(op, weight)
    if padding_mode != "zeros":
        raise QuantizationError(
            f"{op} pads with zeros, not by {padding_mode!r}: pad the codes in front of it, with nn.functional.pad"
        )
    x, added = batched(input, n, op)
    low, high = code_range(dtype)
    own: dict[str, Any] = {"pool": False} if n == 2 else {}
    operands = (x, weight) if bias is None else (x, weight, bias)
    found: Tensor = getattr(ops, f"quantized_conv{n}d")(
        *operands,
        stride=several(stride, n, "stride"),
        padding=several(padding, n, "padding"),
        dilation=several(dilation, n, "dilation"),
        groups=groups,
        scale=float(scale),
        zero_point=int(zero_point),
        qmin=low,
        qmax=high,
        relu=False,
        **own,
    )
    return unbatched(found, added)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sizes = 1,
    padding: int | Sizes = 0,
    dilation: int | Sizes = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: DType = quint8,
) -> Tensor:
    """Convolve codes [N, C, L] with a qint8 weight [O, C/groups, K]; codes of `scale` and `zero_point` come out.

    Equation: q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z). Raises QuantizationError for what is not
    quantized.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.ones(1, 1, 4), 0.5, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 2), 0.5, 0, wb.qint8)
    >>> F.conv1d(x, w, None).int_repr().tolist()
    [[[2, 2, 2]]]
    """
    return _convolve(
        1, input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype
    )


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sizes = 1,
    padding: int | Sizes = 0,
    dilation: int | Sizes = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: DType = quint8,
) -> Tensor:
    """Convolve codes [N, C, H, W] with a qint8 weight [O, C/groups, KH, KW]; as `conv1d`, over images.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.ones(1, 1, 2, 2), 0.5, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 2, 2), 0.5, 0, wb.qint8)
    >>> F.conv2d(x, w, None, scale=0.25).int_repr().tolist()
    [[[[16]]]]
    """
    return _convolve(
        2, input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype
    )


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sizes = 1,
    padding: int | Sizes = 0,
    dilation: int | Sizes = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: DType = quint8,
) -> Tensor:
    """Convolve codes [N, C, D, H, W] with a qint8 weight [O, C/groups, KD, KH, KW]; as `conv1d`, over volumes.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.ones(1, 1, 2, 2, 2), 0.5, 0, wb.quint8)
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 2, 2, 2), 0.5, 0, wb.qint8)
    >>> F.conv3d(x, w, None).int_repr().tolist()
    [[[[[8]]]]]
    """
    return _convolve(
        3, input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype
    )
