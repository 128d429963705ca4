"""Gated recurrent units."""

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
from workbench.ops.nn.recurrent.composition import gru_steps
from workbench.ops.nn.recurrent.shared import (
    AGAIN,
    PACKED,
    SEQUENCE,
    check,
    logistic,
    plan,
    product_cost,
    rows_of,
    states_before,
    weight_gradient,
    zeros,
)
from workbench.ops.nn.recurrent.steps import ARRAYS, VALUES, Sizes, flat, gru_back, steps_of

__all__ = ["GRU", "GRU_GRADIENT"]


def _gru_dims(
    pre: Dims, hidden: Dims, weight: Dims, bias: Dims | None = None, *, reverse: bool, batch_sizes: Sizes
) -> tuple[Dims, ...]:
    y, last = check("gru", pre, {"hidden": hidden}, weight, 3, batch_sizes)
    if bias is not None and bias.sizes != weight.sizes[:1]:
        raise DimensionError(
            f"gru: the bias must have {weight.sizes[0]} values, it is {list(bias.sizes)}.",
            op="gru",
            operands=(bias.operand("bias"),),
        )
    return y, last, pre, y


def _gru(pre: Any, hidden: Any, weight: Any, bias: Any = None, *, reverse: bool, batch_sizes: Sizes) -> Any:
    rows, state = flat(pre, ARRAYS), hidden.copy()
    size = state.shape[1]
    out = np.empty((len(rows), size), rows.dtype)
    gates, inner = np.empty_like(rows), np.empty_like(out)
    for first, count in steps_of(pre.shape, batch_sizes, reverse):
        part = slice(first, first + count)
        # The state's part of the candidate is weighed by a gate: it cannot be added to the rest before that, as in
        # the LSTM.
        product = state[:count] @ weight.T
        if bias is not None:
            product += bias
        r, z = (
            logistic(rows[part, k * size : (k + 1) * size] + product[:, k * size : (k + 1) * size])
            for k in range(2)
        )
        inner[part] = product[:, 2 * size :]
        n = np.tanh(rows[part, 2 * size :] + r * inner[part])
        np.concatenate((r, z, n), axis=1, out=gates[part])
        # (1 - z)·n + z·h with one product fewer.
        out[part] = state[:count] = n + z * (state[:count] - n)
    lead = pre.shape[:-1]
    return out.reshape(*lead, size), state, gates.reshape(pre.shape), inner.reshape(*lead, size)


def _gru_vjp(c: Call, g: Any, g_last: Any, g_gates: Any, g_inner: Any) -> tuple[Any, ...]:
    pre, hidden, weight, *bias = c.inputs
    y, _, gates, inner = c.outs
    dtype = y.payload.dtype
    g = zeros(g, y.payload.shape, dtype)
    g_last = zeros(g_last, hidden.payload.shape, dtype)
    # Nobody differentiates this gradient: one op walks all steps.
    if g_gates is None and g_inner is None and dispatch.ends_here():
        d_pre, d_product, d_hidden = ops.gru_gradient(g, g_last, hidden, weight, y, gates, inner, **c.params)
    else:
        more = [None if one is None else rows_of(one) for one in (g_gates, g_inner)]
        d_rows, d_product, d_hidden = gru_back(
            rows_of(g), g_last, hidden, weight, rows_of(y), rows_of(gates), rows_of(inner),
            plan(pre, c.params), VALUES, *more,
        )  # fmt: skip
        d_pre = ops.reshape(d_rows, sizes=pre.payload.shape)
    found = [d_pre, d_hidden, None]
    if c.needs[2]:
        found[2] = weight_gradient(d_product, states_before(c.params, hidden, y))
    if bias:
        found.append(ops.sum(d_product, dim=(0,), keepdim=False) if c.needs[3] else None)
    return tuple(found)


GRU = Op(
    name="gru",
    contribution=composed(gru_steps),
    doc="A layer of gated recurrent units over a sequence; also returns the last state, the gates, and the state's "
    "part of the candidate.",
    equation="r, z = σ(…) of pre_t + s_t;  n = tanh(pre_t + r·s_t);  h_t = (1 - z)·n + z·h_{t-1}, with "
    "s_t = h_{t-1}·Wᵀ + b",
    reference="Cho et al. 2014; the reset behind the product, as in cuDNN",
    dims=_gru_dims,
    rule="steps and batch keep their names; the last dim is called as the weight's last",
    dtype=LEARNED_FLOAT,
    forward=_gru,
    vjp=_gru_vjp,
    saves=Saves((1, 2), output=True, outputs=(0, 2, 3)),
    cost=product_cost,
    samples=lambda: [
        Sample(
            (grid(3, 2, 9), grid(2, 3, seed=1), grid(9, 3, seed=2), grid(9, seed=3)),
            SEQUENCE,
            names=(("T", "N", "gates"), ("N", "hidden"), ("gates", "hidden"), ("gates",)),
        ),
        Sample((grid(5, 9), grid(2, 3, seed=1), grid(9, 3, seed=2)), PACKED),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 2, 9), grid(2, 3), grid(9, 3), grid(8)), SEQUENCE, DimensionError, "must have 9 values"
        ),
    ],
    outputs=4,
    properties=frozenset({"narrow"}),
    quantized=STEPS,
)


def _gru_gradient(
    g: Any, g_last: Any, hidden: Any, weight: Any, y: Any, gates: Any, inner: Any,
    *, reverse: bool, batch_sizes: Sizes,
) -> Any:  # fmt: skip
    d_pre, d_product, d_hidden = gru_back(
        flat(g, ARRAYS), g_last, hidden, weight, flat(y, ARRAYS), flat(gates, ARRAYS), flat(inner, ARRAYS),
        steps_of(gates.shape, batch_sizes, reverse), ARRAYS,
    )  # fmt: skip
    return d_pre.reshape(gates.shape), d_product, d_hidden


GRU_GRADIENT = Op(
    name="gru_gradient",
    doc="Gradients of a layer of gated recurrent units: of what comes in, of the state's product, of the first state.",
    equation="a_t = (e_t·s_t, d_t·(h_{t-1} - n), e_t)·σ' with e_t = d_t·(1 - z)·(1 - n²), b_t = a_t but for e_t·r, and "
    "d_t = g_t + d_{t+1}·z_{t+1} + b_{t+1}·W",
    reference="Cho et al. 2014; the reset behind the product, as in cuDNN",
    dims=lambda g, g_last, hidden, weight, y, gates, inner, **params: (
        gates,
        Dims((None, gates.names[-1]), (g.numel // max(1, g.sizes[-1]), gates.sizes[-1])),
        hidden,
    ),
    rule="as the gates, as the gates with one dim of rows, as the state",
    dtype=FLOAT,
    forward=_gru_gradient,
    vjp=AGAIN,
    saves=Saves((), output=False),
    cost=product_cost,
    samples=lambda: [
        Sample(
            (
                grid(3, 2, 3),
                grid(2, 3, seed=1),
                grid(2, 3, seed=2),
                grid(9, 3, seed=3),
                grid(3, 2, 3, seed=4),
                grid(3, 2, 9, low=0.1, high=0.9, seed=5),
                grid(3, 2, 3, seed=6),
            ),
            SEQUENCE,
        )
    ],
    outputs=3,
    quantized=GRADIENT,
)
