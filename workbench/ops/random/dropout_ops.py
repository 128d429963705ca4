"""Ops that chance has a hand in: each is decided by a seed, so that its gradient draws the same again."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.core.batch_rules import drawn_by_place
from workbench.core.contribution import ELEMENTWISE, PRODUCT
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.quantization import COMPUTED, GRADIENT, OWN
from workbench.core.tape import Call
from workbench.ops.random.counter_based import kept, shares

__all__ = ["DROPOUT", "RRELU", "RRELU_GRADIENT"]

_Places = tuple[int, int]
"""The dims, from one to before another, whose places are drawn each for itself: values along others share theirs."""


def _own(x: Any, drawn: _Places) -> tuple[int, ...]:
    return tuple(x.shape[drawn[0] : drawn[1]])


def _laid(values: Any, x: Any, drawn: _Places) -> Any:
    """Lay what was drawn out against all dims of `x`."""
    return values.reshape((1,) * drawn[0] + values.shape + (1,) * (x.ndim - drawn[1]))


def _dropout(x: Any, *, p: float, seed: int, drawn: _Places, scale: float, high: float, low: float) -> Any:
    # By the dims' own order, not by that of the memory: a transposed input drops the same values.
    chosen = kept(_own(x, drawn), p, seed)
    y = x * _laid(np.where(chosen, scale, 0).astype(x.dtype), x, drawn)
    # Adding 0 would cost a pass, and turn -0.0 into 0.0.
    return y + _laid(np.where(chosen, high, low).astype(x.dtype), x, drawn) if high or low else y


def _passed(c: Call, g: Any) -> Any:
    """Take a gradient or a tangent through: the same places, without what is added."""
    return ops.dropout(g, **{**c.params, "high": 0.0, "low": 0.0})


_HALF: dict[str, Any] = {"p": 0.5, "seed": 7 + 2**40, "scale": 2.0, "high": 0.0, "low": 0.0}

DROPOUT = Op(
    name="dropout",
    contribution=PRODUCT,
    doc="Set values to 0 by chance, and scale the rest; or to another number, and shift the rest.",
    equation="y = x·scale + high where a place is kept, which is so with probability 1 - p; x·0 + low elsewhere",
    reference="Srivastava et al. 2014; with shifts: Klambauer et al. 2017",
    dims=lambda x, **params: x,
    rule="names and sizes pass through",
    dtype=FLOAT,
    forward=_dropout,
    vjp=lambda c, g: (_passed(c, g),),
    jvp=_passed,
    saves=Saves((), output=False),
    quantized=COMPUTED,
    samples=lambda: [
        Sample((grid(3, 4),), {**_HALF, "drawn": (0, 2)}, names=(("N", "C"),)),
        Sample((grid(2, 3, 4, 2).transpose(0, 3, 1, 2),), {**_HALF, "drawn": (0, 2)}),
        Sample((grid(2, 3, 4),), {**_HALF, "drawn": (1, 3), "high": 0.3, "low": -0.7}),
        Sample((grid(),), {**_HALF, "drawn": (0, 0)}),
        Sample((np.zeros((0, 3)),), {**_HALF, "drawn": (0, 2)}),
    ],
    properties=frozenset({"same"}),
    batch=drawn_by_place,
)


def _slopes(x: Any, lower: float, upper: float, seed: int, drawn: _Places) -> Any:
    share = _laid(shares(_own(x, drawn), seed, x.dtype), x, drawn)
    return np.asarray(lower, x.dtype) + np.asarray(upper - lower, x.dtype) * share


def _rrelu(x: Any, *, lower: float, upper: float, seed: int, drawn: _Places) -> Any:
    return np.where(x > 0, x, x * _slopes(x, lower, upper, seed, drawn))


def _rrelu_gradient(g: Any, x: Any, *, lower: float, upper: float, seed: int, drawn: _Places) -> Any:
    return np.where(x > 0, g, g * _slopes(x, lower, upper, seed, drawn))


_BETWEEN: dict[str, Any] = {"lower": 0.1, "upper": 0.6, "seed": 3}

RRELU = Op(
    name="rrelu",
    contribution=ELEMENTWISE,
    doc="The value where it is positive, a share of it elsewhere that is drawn for each place.",
    equation="y = x where x > 0, a·x elsewhere, with a from [lower, upper)",
    reference="Xu et al. 2015",
    dims=lambda x, **params: x,
    rule="names and sizes pass through",
    dtype=FLOAT,
    forward=_rrelu,
    vjp=lambda c, g: (ops.rrelu_gradient(g, c.inputs[0], **c.params),),
    jvp=lambda c, t: ops.rrelu_gradient(t, c.inputs[0], **c.params),
    saves=Saves((0,), output=False),
    samples=lambda: [
        Sample((grid(3, 4),), {**_BETWEEN, "drawn": (0, 2)}, names=(("N", "C"),)),
        Sample((grid(2, 3, 4),), {**_BETWEEN, "drawn": (1, 3)}),
    ],
    properties=frozenset({"same"}),
    batch=drawn_by_place,
    quantized=OWN,
)


def _gradient_dims(g: Dims, x: Dims, **params: Any) -> Dims:
    return x


RRELU_GRADIENT = Op(
    name="rrelu_gradient",
    doc="The gradient of rrelu: what it was multiplied by.",
    equation="gx = g where x > 0, a·g elsewhere",
    reference="Xu et al. 2015",
    dims=_gradient_dims,
    rule="as the operand of rrelu",
    dtype=FLOAT,
    forward=_rrelu_gradient,
    vjp=lambda c, g: (ops.rrelu_gradient(g, c.inputs[1], **c.params) if c.needs[0] else None, None),
    saves=Saves((1,), output=False),
    samples=lambda: [
        Sample((grid(3, 4, seed=1), grid(3, 4)), {**_BETWEEN, "drawn": (0, 2)}),
        Sample((grid(2, 3, 4, seed=1), grid(2, 3, 4)), {**_BETWEEN, "drawn": (1, 3)}),
    ],
    batch=drawn_by_place,
    quantized=GRADIENT,
)
