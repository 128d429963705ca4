"""Fake quantization: what quantization does to values, while they stay in floating point and can be trained.

Values are rounded before the zero point is added, as in PyTorch; quantization proper rounds after. For halves and odd
zero points the two differ by one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError, QuantizationError
from workbench.core.batching import elementwise
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import Absent, BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.quantized.quantize import REFERENCE, along, channel_dims, listed

__all__ = [
    "CODES_ONLY", "FAKE_QUANTIZE_PER_CHANNEL", "FAKE_QUANTIZE_PER_TENSOR", "check_fake", "fake_quantized",
    "straight_through",
]  # fmt: skip

CODES_ONLY = Absent("it takes floating point values; dequantize first")


def _steps(x: Any, scale: Any, zero_point: Any) -> Any:
    """rne(x·(1/s)) + z, before it is clamped; NaN and infinity stay."""
    # Times the inverse in float32, as in PyTorch: a division would round some halves the other way.
    inverse = np.float32(1) / np.asarray(scale, np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        # A zero point between codes is added first: what is rounded is to be a code.
        if np.asarray(zero_point).dtype.kind == "f":
            return np.rint(x * inverse.astype(x.dtype) + np.asarray(zero_point, x.dtype))
        return np.rint(x * inverse.astype(x.dtype)) + np.asarray(zero_point, x.dtype)


def fake_quantized(x: Any, scale: Any, zero_point: Any, qmin: int, qmax: int) -> Any:
    """Return what codes of `x` stand for; scale and zero point broadcast."""
    steps = _steps(x, scale, zero_point)
    # NaN is the lowest code here, and the highest one in `quantize_per_tensor`: each as in PyTorch.
    clamped = np.where(np.isnan(steps), qmin, np.clip(steps, qmin, qmax))
    return ((clamped - zero_point) * np.asarray(scale, np.float32)).astype(x.dtype)


def straight_through(g: Any, x: Any, scale: Any, zero_point: Any, qmin: int, qmax: int) -> Any:
    """Return the gradient where nothing was clamped, else 0."""
    steps = _steps(x, scale, zero_point)
    # NaN is outside of every bound: nothing passes.
    return np.where((steps >= qmin) & (steps <= qmax), g, 0).astype(g.dtype)


def _fake_per_channel(
    x: Any, *, scales: tuple[float, ...], zero_points: tuple[int, ...], axis: int, qmin: int, qmax: int
) -> Any:
    return fake_quantized(x, along(scales, axis, x.ndim), along(zero_points, axis, x.ndim), qmin, qmax)


def _straight_through_per_channel(
    g: Any,
    x: Any,
    *,
    scales: tuple[float, ...],
    zero_points: tuple[int, ...],
    axis: int,
    qmin: int,
    qmax: int,
) -> Any:
    scale, zero = along(scales, axis, x.ndim), along(zero_points, axis, x.ndim)
    return straight_through(g, x, scale, zero, qmin, qmax)


def _fake_op(
    suffix: str, each: str, dims: Any, forward: Any, samples: Any, bad: Any, batch: Any = None
) -> Op:
    """Declare fake quantization; its gradient passes straight through where nothing is clamped."""

    def vjp(c: Call, g: Any) -> tuple[Any, ...]:
        return (getattr(ops, f"fake_quantize_{suffix}_gradient")(g, c.inputs[0], **c.params),)

    return Op(
        name=f"fake_quantize_{suffix}",
        doc=f"Real numbers rounded to those that codes can stand for, under {each}.",
        equation="y = (clamp(rne(x·(1/s)) + z, qmin, qmax) - z)·s; gradient: straight through, 0 where clamped",
        reference=REFERENCE,
        dims=dims,
        rule="names and sizes pass through",
        dtype=FLOAT,
        forward=forward,
        vjp=vjp,
        saves=Saves((0,), output=False),
        quantized=CODES_ONLY,
        cost=lambda dims, out, **params: 4.0 * out.numel,
        samples=samples,
        bad=bad,
        properties=frozenset({"estimate"}),
        batch=batch,
    )


def _gradient_op(suffix: str, forward: Any, samples: Any, batch: Any = None) -> Op:
    def vjp(c: Call, u: Any) -> tuple[Any, ...]:
        same = getattr(ops, f"fake_quantize_{suffix}_gradient")
        return (same(u, c.inputs[1], **c.params) if c.needs[0] else None, None)

    return Op(
        name=f"fake_quantize_{suffix}_gradient",
        doc="Straight-through gradient of fake quantization: kept where nothing was clamped.",
        equation="gx = g where qmin ≤ rne(x·(1/s)) + z ≤ qmax, else 0",
        reference="Bengio, Léonard and Courville 2013",
        dims=lambda g, x, **params: Dims(g.names, x.sizes),
        rule="names of the gradient",
        dtype=FLOAT,
        forward=forward,
        vjp=vjp,
        saves=Saves((1,), output=False),
        quantized=CODES_ONLY,
        cost=lambda dims, out, **params: 3.0 * out.numel,
        samples=samples,
        batch=batch,
    )


_TENSOR = {"scale": 0.11, "zero_point": 3, "qmin": 0, "qmax": 15}
_CHANNEL = {"scales": (0.11, 0.3, 0.7), "zero_points": (0, 2, -3), "qmin": -8, "qmax": 7}

FAKE_QUANTIZE_PER_TENSOR = _fake_op(
    "per_tensor",
    "one scale and zero point",
    lambda x, **params: x,
    lambda x, *, scale, zero_point, qmin, qmax: fake_quantized(x, scale, zero_point, qmin, qmax),
    lambda: [
        Sample((grid(3, 4),), _TENSOR, names=(("N", "C"),)),
        Sample((grid(40, 50),), _TENSOR),
        Sample((grid(0, 3),), _TENSOR),
    ],
    list,
    elementwise,
)
FAKE_QUANTIZE_PER_TENSOR_GRADIENT = _gradient_op(
    "per_tensor",
    lambda g, x, *, scale, zero_point, qmin, qmax: straight_through(g, x, scale, zero_point, qmin, qmax),
    lambda: [Sample((grid(3, 4, seed=1), grid(3, 4)), _TENSOR, names=(("N", "C"), ("N", "C")))],
    elementwise,
)
FAKE_QUANTIZE_PER_CHANNEL = _fake_op(
    "per_channel",
    "a scale and a zero point for each entry of a dim",
    channel_dims,
    _fake_per_channel,
    lambda: [
        Sample((grid(3, 4),), {**_CHANNEL, "axis": 0}, names=(("out_channels", "in_channels"),)),
        Sample((grid(2, 3, 20, 20),), {**_CHANNEL, "axis": 1}),
    ],
    lambda: [BadInput((grid(2, 4),), {**_CHANNEL, "axis": 0}, DimensionError, "expected 2 got, 3")],
)
FAKE_QUANTIZE_PER_CHANNEL_GRADIENT = _gradient_op(
    "per_channel",
    _straight_through_per_channel,
    lambda: [Sample((grid(3, 4, seed=1), grid(3, 4)), {**_CHANNEL, "axis": 0})],
)


@offered()
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Tensor | float, zero_point: Tensor | int, quant_min: int, quant_max: int
) -> Tensor:
    """Round to the numbers that codes can stand for: y = (clamp(rne(x·(1/s)) + z, qmin, qmax) - z)·s.

    The gradient passes straight through where nothing is clamped.

    >>> import workbench as wb
    >>> wb.fake_quantize_per_tensor_affine(wb.tensor([0.26, 0.3, 9.0]), 0.1, 0, 0, 15)
    tensor([0.3000, 0.3000, 1.5000])
    """
    check_fake(int(zero_point), quant_min, quant_max)
    return ops.fake_quantize_per_tensor(
        input, scale=float(scale), zero_point=int(zero_point), qmin=quant_min, qmax=quant_max
    )


@offered()
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor | float, zero_point: Tensor | int, axis: Dim, quant_min: int, quant_max: int
) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each entry of `axis`."""
    # Zero points of a floating type stay real numbers.
    zeros = tuple(listed(zero_point))
    for zero in zeros:
        check_fake(zero, quant_min, quant_max)
    return ops.fake_quantize_per_channel(
        input,
        scales=tuple(float(one) for one in listed(scale)),
        zero_points=zeros,
        axis=dim_index(dims_of(input), axis, "fake_quantize_per_channel"),
        qmin=quant_min,
        qmax=quant_max,
    )


def check_fake(zero: float, low: int, high: int) -> None:
    """Refuse limits of codes that are none, and a zero point beyond them."""
    if low > high:
        raise QuantizationError(
            f"`quant_min` should be less than or equal to `quant_max`: {low} and {high} were given"
        )
    if not low <= zero <= high:
        raise QuantizationError(
            f"`zero_point` must be between `quant_min` and `quant_max`: {zero} is not between {low} and {high}"
        )
