"""Fake quantization whose scale and zero point get gradients (LSQ), and the one that observes while it rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError, QuantizationError
from workbench.core.dispatch import numbers
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import Absent, BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.offer import offered
from workbench.ops.quantized.fake_quantize import (
    CODES_ONLY,
    check_fake,
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from workbench.ops.quantized.quantize import range_qparams

__all__ = ["FAKE_QUANTIZE_LEARNABLE", "FAKE_QUANTIZE_LEARNABLE_GRADIENT"]


def _grid_of(x: Any, scale: Any, zero_point: Any, axis: int | None, qmin: int, qmax: int) -> tuple[Any, Any]:
    """Return scale and zero point, which becomes a code, so that they broadcast along the axis."""
    zero = np.clip(np.rint(zero_point), qmin, qmax).astype(np.float32)
    steps = scale.astype(np.float32)
    sizes = () if axis is None else tuple(-1 if i == axis else 1 for i in range(x.ndim))
    return steps.reshape(sizes), zero.reshape(sizes)


def _learnable(
    x: Any, scale: Any, zero_point: Any, *, axis: int | None, qmin: int, qmax: int, grad_factor: float
) -> Any:
    steps, zero = _grid_of(x, scale, zero_point, axis, qmin, qmax)
    codes = np.rint(x * (np.float32(1) / steps)) + zero
    clamped = np.where(np.isnan(codes), qmin, np.clip(codes, qmin, qmax))
    return ((clamped - zero) * steps).astype(x.dtype)


def _learnable_gradient(
    g: Any, x: Any, scale: Any, zero_point: Any, *, axis: int | None, qmin: int, qmax: int, grad_factor: float
) -> tuple[Any, Any, Any]:
    steps, zero = _grid_of(x, scale, zero_point, axis, qmin, qmax)
    # The zero point is added before values are rounded here and after it forwards, as in PyTorch.
    codes = np.rint(x * (np.float32(1) / steps) + zero)
    inside = (codes >= qmin) & (codes <= qmax)
    clamped = np.where(np.isnan(codes), qmin, np.clip(codes, qmin, qmax)).astype(np.float32)
    # Inside: how far rounding moved the value, in steps. Outside the value sticks to an end, which the scale moves.
    moved = ((clamped - zero) * steps - x) * (np.float32(1) / steps)
    slope = np.where(inside, moved, clamped - zero)
    others = tuple(i for i in range(x.ndim) if i != axis)
    factor = np.float32(grad_factor)
    by_scale = np.sum(g * slope * factor, axis=others).reshape(scale.shape)
    by_zero = np.sum(np.where(inside, np.float32(0), -g * steps) * factor, axis=others).reshape(
        zero_point.shape
    )
    given = np.where(inside, g, np.zeros((), g.dtype))
    return given, by_scale.astype(scale.dtype), by_zero.astype(zero_point.dtype)


def _dims(x: Dims, scale: Dims, zero_point: Dims, *, axis: int | None, **params: Any) -> Dims:
    size = 1 if axis is None else x.sizes[axis]
    for one, what in ((scale, "scale"), (zero_point, "zero_point")):
        if one.sizes != (size,):
            raise DimensionError(
                f"{what} has one value {'' if axis is None else 'for each entry of the axis '}here: expected sizes "
                f"[{size}], got {list(one.sizes)}",
                operands=(x.operand("input"), one.operand(what)),
            )
    return x


def _vjp(c: Call, g: Any) -> tuple[Any, ...]:
    gradients: Any = ops.fake_quantize_learnable_gradient(g, *c.inputs, **c.params)
    return gradients  # type: ignore[no-any-return]


_CODES = {"qmin": 0, "qmax": 15, "grad_factor": 0.5}


def _samples() -> list[Sample]:
    one = (np.array([0.11]), np.array([3.2]))
    several = (np.array([0.11, 0.3, 0.7]), np.array([0.0, 2.6, 5.0]))
    return [
        Sample((grid(3, 4), *one), {**_CODES, "axis": None}, names=(("N", "C"), None, None)),
        Sample((grid(2, 3, 5), *several), {**_CODES, "axis": 1}),
    ]


FAKE_QUANTIZE_LEARNABLE = Op(
    name="fake_quantize_learnable",
    doc="Real numbers rounded to those that codes can stand for, under a scale and a zero point that are learned.",
    equation="y = (clamp(rne(x·(1/s)) + z, qmin, qmax) - z)·s, with z rounded to a code",
    reference="Esser et al. 2020",
    dims=_dims,
    rule="names and sizes pass through; scale and zero point have one value, or one for each entry of the axis",
    dtype=FLOAT,
    forward=_learnable,
    vjp=_vjp,
    saves=Saves((0, 1, 2), output=False),
    quantized=CODES_ONLY,
    cost=lambda dims, out, **params: 4.0 * out.numel,
    samples=_samples,
    bad=lambda: [
        BadInput(
            (grid(3, 4), np.ones(2), np.zeros(2)),
            {**_CODES, "axis": 0},
            DimensionError,
            "for each entry of the axis here: expected sizes [3], got [2]",
        )
    ],
    properties=frozenset({"estimate"}),
)
FAKE_QUANTIZE_LEARNABLE_GRADIENT = Op(
    name="fake_quantize_learnable_gradient",
    doc="Gradients of learned fake quantization for values, scale and zero point.",
    equation="gx = g inside; gs = f·Σ g·(rne(x/s) - x/s inside, q - z outside); gz = f·Σ g·(0 inside, -s outside)",
    reference="Esser et al. 2020",
    dims=lambda g, x, scale, zero_point, **params: (Dims(g.names, x.sizes), scale, zero_point),
    rule="names of the gradient; those of scale and zero point are theirs",
    dtype=FLOAT,
    forward=_learnable_gradient,
    vjp=Absent("its slopes stand in for derivatives, and have none of their own"),
    saves=Saves((), output=False),
    quantized=CODES_ONLY,
    cost=lambda dims, out, **params: 8.0 * out.numel,
    samples=lambda: [
        Sample((grid(*one.inputs[0].shape, seed=1), *one.inputs), one.params) for one in _samples()
    ],
    outputs=3,
)


@offered("workbench", name="_fake_quantize_learnable_per_tensor_affine")
def fake_quantize_learnable_per_tensor_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """Fake quantization whose scale and zero point, of one value each, get gradients, times `grad_factor`.

    >>> import workbench as wb
    >>> scale = wb.tensor([0.5], requires_grad=True)
    >>> y = wb._fake_quantize_learnable_per_tensor_affine(wb.tensor([0.6, 9.0]), scale, wb.zeros(1), 0, 7)
    >>> y.sum().backward()
    >>> y.tolist(), round(scale.grad.item(), 4)
    ([0.5, 3.5], 6.8)
    """
    check_fake(quant_min, quant_min, quant_max)
    return ops.fake_quantize_learnable(
        input, scale, zero_point, axis=None, qmin=quant_min, qmax=quant_max, grad_factor=grad_factor
    )


@offered("workbench", name="_fake_quantize_learnable_per_channel_affine")
def fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: Dim,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """As `_fake_quantize_learnable_per_tensor_affine`, with a scale and a zero point for each entry of `axis`."""
    check_fake(quant_min, quant_min, quant_max)
    place = dim_index(dims_of(input), axis, "_fake_quantize_learnable_per_channel_affine")
    return ops.fake_quantize_learnable(
        input, scale, zero_point, axis=place, qmin=quant_min, qmax=quant_max, grad_factor=grad_factor
    )


# ------------------------------------------------------------------------------- observing while it rounds


@offered("workbench")
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Observe a moving average of the range and round to its codes, each where it is switched on.

    `running_min` and `running_max` move by ``averaging_const · (now - before)``, from infinity at once; `scale` and
    `zero_point` become theirs. All four are written in place. Raises `QuantizationError` for a channel count that
    is not theirs.

    >>> import workbench as wb
    >>> least, most = wb.tensor([wb.inf]), wb.tensor([-wb.inf])
    >>> scale, zero = wb.ones(1), wb.zeros(1, dtype=wb.int32)
    >>> on = wb.ones(1)
    >>> y = wb.fused_moving_avg_obs_fake_quant(
    ...     wb.tensor([0.0, 25.5]), on, on, least, most, scale, zero, 0.01, 0, 255, -1
    ... )
    >>> most.item(), round(scale.item(), 4)
    (25.5, 0.1)
    """
    axis = ch_axis if per_row_fake_quant else None
    if observer_on.item():
        _observe(input, running_min, running_max, averaging_const, axis)
    if not fake_quant_on.item():
        return input
    pairs = [
        range_qparams(float(least), float(most), quant_min, quant_max, symmetric=symmetric_quant)
        for least, most in zip(
            numbers(running_min).reshape(-1), numbers(running_max).reshape(-1), strict=True
        )
    ]
    scale.copy_(new(np.array([one[0] for one in pairs], np.float32).reshape(scale.shape)))
    zero_point.copy_(new(np.array([one[1] for one in pairs]).reshape(zero_point.shape)))
    if axis is None:
        return fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)
    return fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max)


def _observe(input: Any, running_min: Any, running_max: Any, share: float, axis: int | None) -> None:
    values = numbers(input)
    others = tuple(i for i in range(values.ndim) if axis is None or i != axis % values.ndim)
    for running, now in ((running_min, values.min(axis=others)), (running_max, values.max(axis=others))):
        before = numbers(running)
        if before.size != now.size:
            raise QuantizationError(
                f"the running range has {before.size} values and the input {now.size} channels along dim {axis}: give "
                "one a channel, infinite at first"
            )
        now = np.asarray(now, np.float32).reshape(before.shape)
        with np.errstate(invalid="ignore"):
            moved = before + np.float32(share) * (now - before)
        running.copy_(new(np.where(np.isinf(before), now, moved).astype(np.float32)))
