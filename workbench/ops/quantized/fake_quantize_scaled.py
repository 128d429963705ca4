"""Fake quantization of a weight times a factor for each of its rows, in one pass over the weight.

A batch normalisation that is folded into a weight in training scales it before it is rounded. As two ops the product is
written and read again, forwards and backwards, and where a layer has few places that is much of a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.ops.quantized.fake_quantize import CODES_ONLY, fake_quantized, straight_through
from workbench.ops.quantized.quantize import REFERENCE

__all__ = ["FAKE_QUANTIZE_SCALED", "FAKE_QUANTIZE_SCALED_GRADIENT"]


def _by_row(x: Any, *given: Any) -> tuple[Any, ...]:
    """Return one value a row so that it broadcasts along the rows of `x`."""
    return tuple(one.reshape(-1, *[1] * (x.ndim - 1)) for one in given)


def _scaled(x: Any, factor: Any, scale: Any, zero_point: Any, *, qmin: int, qmax: int) -> Any:
    by, steps, zero = _by_row(x, factor, scale, zero_point)
    return fake_quantized(x * by, steps, np.rint(zero).astype(np.int64), qmin, qmax)


def _gradient(
    g: Any, x: Any, factor: Any, scale: Any, zero_point: Any, *, qmin: int, qmax: int
) -> tuple[Any, Any]:
    by, steps, zero = _by_row(x, factor, scale, zero_point)
    passed = straight_through(g, x * by, steps, np.rint(zero).astype(np.int64), qmin, qmax)
    return passed * by, np.sum(passed * x, axis=tuple(range(1, x.ndim)))


def _check(x: Dims, *given: Dims) -> None:
    for one, what in zip(given, ("factor", "scale", "zero_point"), strict=True):
        if not x.sizes or one.sizes != x.sizes[:1]:
            raise DimensionError(
                f"{what} has one value for each entry of the first dim: expected sizes {list(x.sizes[:1])}, got "
                f"{list(one.sizes)}",
                operands=(x.operand("input", [0] if x.sizes else []), one.operand(what)),
            )


def _dims(x: Dims, factor: Dims, scale: Dims, zero_point: Dims, **params: Any) -> Dims:
    _check(x, factor, scale, zero_point)
    return x


def _gradient_dims(
    g: Dims, x: Dims, factor: Dims, scale: Dims, zero_point: Dims, **params: Any
) -> tuple[Dims, Dims]:
    _check(x, factor, scale, zero_point)
    return Dims(g.names, x.sizes), factor


def _vjp(c: Call, g: Any) -> tuple[Any, ...]:
    by_x, by_factor = ops.fake_quantize_scaled_gradient(g, *c.inputs, **c.params)
    return by_x, by_factor, None, None


def _gradient_vjp(c: Call, to_x: Any, to_factor: Any) -> tuple[Any, ...]:
    """Both gradients are of the form m·g: m passes what was not clamped, which is no derivative of anything here."""
    g, x, factor, scale, zero_point = c.inputs
    column = (factor.payload.shape[0], *[1] * (len(x.payload.shape) - 1))
    by, once = ops.reshape(factor, sizes=column), ops.fill(factor, value=1)

    def passed(values: Any) -> Any:
        # The mask is that of the scaled values; times 1 they stay.
        return ops.fake_quantize_scaled_gradient(values, ops.mul(x, by), once, scale, zero_point, **c.params)[
            0
        ]

    by_g = by_x = by_factor = None
    if to_x is not None:
        by_g = passed(ops.mul(to_x, by))
        along = tuple(range(1, len(x.payload.shape)))
        by_factor = ops.sum(ops.mul(passed(g), to_x), dim=along, keepdim=False)
    if to_factor is not None:
        direction = ops.reshape(to_factor, sizes=column)
        more = passed(ops.mul(x, direction))
        by_g = more if by_g is None else ops.add(by_g, more)
        by_x = ops.mul(passed(g), direction)
    return by_g, by_x, by_factor, None, None


_CODES = {"qmin": -8, "qmax": 7}


def _samples() -> list[Sample]:
    three = (np.array([0.5, -2.0, 1.5]), np.array([0.11, 0.3, 0.7]), np.array([0.0, 2.0, -3.0]))
    return [
        Sample((grid(3, 4), *three), _CODES, names=(("out_features", "in_features"), None, None, None)),
        Sample((grid(3, 5, 20, 20), *three), _CODES),
    ]


FAKE_QUANTIZE_SCALED = Op(
    name="fake_quantize_scaled",
    doc="Rows times a factor each, rounded to what codes can stand for, under a scale and a zero point for each row.",
    equation="y = (clamp(rne(x·f·(1/s)) + z, qmin, qmax) - z)·s, with f, s and z of the entry of the first dim",
    reference=REFERENCE,
    dims=_dims,
    rule="names and sizes pass through; factor, scale and zero point have one value for each entry of the first dim",
    dtype=FLOAT,
    forward=_scaled,
    vjp=_vjp,
    saves=Saves(None, output=False),
    quantized=CODES_ONLY,
    cost=lambda dims, out, **params: 5.0 * out.numel,
    samples=_samples,
    bad=lambda: [
        BadInput(
            (grid(2, 4), np.ones(2), np.ones(3), np.zeros(2)),
            _CODES,
            DimensionError,
            "scale has one value for each entry of the first dim: expected sizes [2], got [3]",
        )
    ],
    properties=frozenset({"estimate"}),
    kernel=kernels.lookup("fake_quantize_scaled"),
)
FAKE_QUANTIZE_SCALED_GRADIENT = Op(
    name="fake_quantize_scaled_gradient",
    doc="Straight-through gradients of scaled fake quantization for its values and their factors.",
    equation="gx = g·f, gf = Σ g·x, of what was not clamped; else 0",
    reference="Bengio, Léonard and Courville 2013",
    dims=_gradient_dims,
    rule="names of the gradient; those of the factor are its own",
    dtype=FLOAT,
    forward=_gradient,
    vjp=_gradient_vjp,
    saves=Saves(None, output=False),
    quantized=CODES_ONLY,
    cost=lambda dims, out, **params: 6.0 * out.numel,
    samples=lambda: [
        Sample((grid(*one.inputs[0].shape, seed=1), *one.inputs), one.params) for one in _samples()
    ],
    outputs=2,
    properties=frozenset({"estimate"}),
    kernel=kernels.lookup("fake_quantize_scaled_gradient"),
)
