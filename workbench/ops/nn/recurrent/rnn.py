"""The plain recurrent layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core import dispatch
from workbench.core.contribution import composed
from workbench.core.dtype_rules import FLOAT, LEARNED_FLOAT
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, STEPS
from workbench.core.tape import Call
from workbench.ops.nn.recurrent.composition import rnn_steps
from workbench.ops.nn.recurrent.shared import (
    AGAIN,
    PACKED,
    SEQUENCE,
    check,
    plan,
    product_cost,
    rows_of,
    states_before,
    weight_gradient,
    zeros,
)
from workbench.ops.nn.recurrent.steps import ARRAYS, VALUES, Sizes, flat, rnn_back, steps_of

__all__ = ["RNN", "RNN_GRADIENT"]


def _rnn_dims(
    pre: Dims, hidden: Dims, weight: Dims, *, relu: bool, reverse: bool, batch_sizes: Sizes
) -> tuple[Dims, ...]:
    return check("rnn", pre, {"hidden": hidden}, weight, 1, batch_sizes)


def _rnn(pre: Any, hidden: Any, weight: Any, *, relu: bool, reverse: bool, batch_sizes: Sizes) -> Any:
    rows, state = flat(pre, ARRAYS), hidden.copy()
    out = np.empty_like(rows)
    for first, count in steps_of(pre.shape, batch_sizes, reverse):
        total = rows[first : first + count] + state[:count] @ weight.T
        out[first : first + count] = state[:count] = np.maximum(total, 0) if relu else np.tanh(total)
    return out.reshape(pre.shape), state


def _rnn_vjp(c: Call, g: Any, g_last: Any) -> tuple[Any, ...]:
    pre, hidden, weight = c.inputs
    y = c.outs[0]
    g = zeros(g, y.payload.shape, y.payload.dtype)
    g_last = zeros(g_last, hidden.payload.shape, y.payload.dtype)
    # Nobody differentiates this gradient: one op walks all steps.
    if dispatch.ends_here():
        d_pre, d_hidden = ops.rnn_gradient(g, g_last, weight, y, **c.params)
        d_rows = rows_of(d_pre)
    else:
        steps = plan(pre, c.params)
        d_rows, d_hidden = rnn_back(rows_of(g), g_last, weight, rows_of(y), steps, c.params["relu"], VALUES)
        d_pre = ops.reshape(d_rows, sizes=pre.payload.shape)
    d_weight = None
    if c.needs[2]:
        d_weight = weight_gradient(d_rows, states_before(c.params, hidden, y))
    return d_pre, d_hidden, d_weight


RNN = Op(
    name="rnn",
    contribution=composed(rnn_steps),
    doc="A recurrent layer over a sequence: each state is a nonlinearity of the input and the state before.",
    equation="h_t = tanh(pre_t + h_{t-1}·Wᵀ), or max(0, …)",
    reference="Elman 1990",
    dims=_rnn_dims,
    rule="steps and batch keep their names; the last dim is called as the weight's last",
    dtype=LEARNED_FLOAT,
    forward=_rnn,
    vjp=_rnn_vjp,
    saves=Saves((1, 2), output=True, outputs=(0,)),
    cost=product_cost,
    samples=lambda: [
        Sample(
            (grid(3, 2, 4), grid(2, 4, seed=1), grid(4, 4, seed=2)),
            {"relu": False, **SEQUENCE},
            names=(("T", "N", "gates"), ("N", "hidden"), ("gates", "hidden")),
        ),
        Sample((grid(5, 3), grid(2, 3, seed=1), grid(3, 3, seed=2)), {"relu": False, **PACKED}),
        Sample((grid(3, 2, 4), grid(2, 4, seed=1), grid(4, 4, seed=2)), {"relu": True, **SEQUENCE}),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 2, 4), grid(2, 3), grid(4, 4)),
            {"relu": False, **SEQUENCE},
            DimensionError,
            "Expected hidden size [2, 4], got [2, 3]",
        ),
        BadInput(
            (grid(4, 3), grid(2, 3), grid(3, 3)),
            {"relu": False, **PACKED},
            DimensionError,
            "add up to 4 rows",
        ),
        BadInput(
            (grid(0, 2, 3), grid(2, 3), grid(3, 3)),
            {"relu": False, **SEQUENCE},
            DimensionError,
            "sequence length to be larger than 0",
        ),
    ],
    outputs=2,
    properties=frozenset({"narrow"}),
    quantized=STEPS,
)


def _rnn_gradient(
    g: Any, g_last: Any, weight: Any, y: Any, *, relu: bool, reverse: bool, batch_sizes: Sizes
) -> Any:
    steps = steps_of(y.shape, batch_sizes, reverse)
    d_pre, d_hidden = rnn_back(flat(g, ARRAYS), g_last, weight, flat(y, ARRAYS), steps, relu, ARRAYS)
    return d_pre.reshape(y.shape), d_hidden


RNN_GRADIENT = Op(
    name="rnn_gradient",
    doc="Gradients of a recurrent layer for what comes in and for the first state.",
    equation="a_t = (g_t + a_{t+1}·W)·f'(h_t)",
    reference="Werbos 1990",
    dims=lambda g, g_last, weight, y, **params: (y, g_last),
    rule="as the layer's output, and as its state",
    dtype=FLOAT,
    forward=_rnn_gradient,
    vjp=AGAIN,
    saves=Saves((), output=False),
    cost=product_cost,
    samples=lambda: [
        Sample(
            (grid(3, 2, 4), grid(2, 4, seed=1), grid(4, 4, seed=2), grid(3, 2, 4, seed=3)),
            {"relu": relu, **SEQUENCE},
        )
        for relu in (False, True)
    ],
    outputs=2,
    quantized=GRADIENT,
)
