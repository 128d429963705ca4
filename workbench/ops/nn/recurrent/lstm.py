"""Long short-term memory."""

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
from workbench.ops.nn.recurrent.composition import lstm_steps
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
from workbench.ops.nn.recurrent.steps import ARRAYS, VALUES, Sizes, flat, lstm_back, steps_of

__all__ = ["LSTM", "LSTM_GRADIENT"]


def _lstm_dims(
    pre: Dims,
    hidden: Dims,
    cell: Dims,
    weight: Dims,
    projection: Dims | None = None,
    *,
    reverse: bool,
    batch_sizes: Sizes,
) -> tuple[Dims, ...]:
    size = weight.sizes[0] // 4 if weight.sizes else 0
    if projection is not None and (len(projection.sizes) != 2 or projection.sizes[1] != size):
        raise DimensionError(
            f"lstm: the projection must be [proj_size, {size}], it is {list(projection.sizes)}.",
            op="lstm",
            operands=(projection.operand("projection"),),
        )
    y, last, memory = check("lstm", pre, {"hidden": hidden, "cell": cell}, weight, 4, batch_sizes, projection)
    cells = Dims((*y.names[:-1], memory.names[-1]), (*y.sizes[:-1], size))
    return y, last, memory, cells, pre


def _lstm(
    pre: Any,
    hidden: Any,
    cell: Any,
    weight: Any,
    projection: Any = None,
    *,
    reverse: bool,
    batch_sizes: Sizes,
) -> Any:
    # Copies, since states are written into step by step: those of sequences that have ended stay.
    rows, state, memory = flat(pre, ARRAYS), hidden.copy(), cell.copy()
    size = memory.shape[1]
    out = np.empty((len(rows), state.shape[1]), rows.dtype)
    cells, gates = np.empty((len(rows), size), rows.dtype), np.empty_like(rows)
    for first, count in steps_of(pre.shape, batch_sizes, reverse):
        part = slice(first, first + count)
        total = rows[part] + state[:count] @ weight.T
        i, f, g, o = (total[:, k * size : (k + 1) * size] for k in range(4))
        i, f, g, o = logistic(i), logistic(f), np.tanh(g), logistic(o)
        np.concatenate((i, f, g, o), axis=1, out=gates[part])
        cells[part] = memory[:count] = f * memory[:count] + i * g
        shown = o * np.tanh(memory[:count])
        out[part] = state[:count] = shown if projection is None else shown @ projection.T
    lead = pre.shape[:-1]
    return (
        out.reshape(*lead, out.shape[-1]),
        state,
        memory,
        cells.reshape(*lead, size),
        gates.reshape(pre.shape),
    )


def _lstm_vjp(c: Call, g: Any, g_last: Any, g_memory: Any, g_cells: Any, g_gates: Any) -> tuple[Any, ...]:
    pre, hidden, cell, weight, *projection = c.inputs
    y, _, _, cells, gates = c.outs
    dtype = y.payload.dtype
    g = zeros(g, y.payload.shape, dtype)
    g_last = zeros(g_last, hidden.payload.shape, dtype)
    g_memory = zeros(g_memory, cell.payload.shape, dtype)
    # Nobody differentiates this gradient: one op walks all steps.
    if g_cells is None and g_gates is None and dispatch.ends_here():
        d_pre, d_hidden, d_cell, d_out = ops.lstm_gradient(
            g, g_last, g_memory, cell, weight, cells, gates, *projection, **c.params
        )
        d_rows = rows_of(d_pre)
    else:
        more = [None if one is None else rows_of(one) for one in (g_cells, g_gates)]
        d_rows, d_hidden, d_cell, d_out = lstm_back(
            rows_of(g), g_last, g_memory, cell, weight, projection[0] if projection else None,
            rows_of(cells), rows_of(gates), plan(pre, c.params), VALUES, *more,
        )  # fmt: skip
        d_pre = ops.reshape(d_rows, sizes=pre.payload.shape)
    found = [d_pre, d_hidden, d_cell, None]
    if c.needs[3]:
        found[3] = weight_gradient(d_rows, states_before(c.params, hidden, y))
    if projection:
        size = cell.payload.shape[1]
        output_gate = ops.index(rows_of(gates), key=(slice(None), slice(3 * size, None)))
        found.append(weight_gradient(d_out, ops.mul(output_gate, ops.tanh(rows_of(cells)))))
    return tuple(found)


def _lstm_sample(projected: bool, **params: Any) -> Sample:
    width = 2 if projected else 3
    packed = params["batch_sizes"] is not None
    return Sample(
        (
            grid(*((5,) if packed else (3, 2)), 12), grid(2, width, seed=1), grid(2, 3, seed=2),
            grid(12, width, seed=3), *((grid(2, 3, seed=4),) if projected else ()),
        ),
        params,
    )  # fmt: skip


LSTM = Op(
    name="lstm",
    contribution=composed(lstm_steps),
    doc="A layer of long short-term memory over a sequence; also returns last states, all cells, and the gates.",
    equation="i, f, o = σ(…), g = tanh(…) of pre_t + h_{t-1}·Wᵀ;  c_t = f·c_{t-1} + i·g;  h_t = o·tanh(c_t)",
    reference="Hochreiter and Schmidhuber 1997; forget gate: Gers, Schmidhuber and Cummins 2000; "
    "projection: Sak, Senior and Beaufays 2014",
    dims=_lstm_dims,
    rule="steps and batch keep their names; the last dim is called as the weight's last",
    dtype=LEARNED_FLOAT,
    forward=_lstm,
    vjp=_lstm_vjp,
    saves=Saves((1, 2, 3, 4), output=True, outputs=(0, 3, 4)),
    cost=product_cost,
    samples=lambda: [
        _lstm_sample(False, **SEQUENCE),
        _lstm_sample(False, **PACKED),
        _lstm_sample(True, **SEQUENCE),
        _lstm_sample(False, reverse=False, batch_sizes=(2, 2, 1)),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 2, 12), grid(2, 3), grid(2, 4), grid(12, 3)),
            SEQUENCE,
            DimensionError,
            "Expected hidden size [2, 3], got [2, 4] for the cell state",
        ),
        BadInput(
            (grid(3, 2, 12), grid(2, 3), grid(2, 3), grid(12, 3), grid(2, 4)),
            SEQUENCE,
            DimensionError,
            "the projection must be [proj_size, 3]",
        ),
        BadInput(
            (grid(3, 2, 12), grid(2, 3), grid(2, 3), grid(12, 3)),
            SEQUENCE,
            DimensionError,
            "do not match",
            names=(("T", "N", None), ("B", "hidden"), None, (None, "hidden")),
        ),
    ],
    outputs=5,
    properties=frozenset({"narrow"}),
    quantized=STEPS,
)


def _lstm_gradient_dims(
    g: Dims, g_last: Dims, g_memory: Dims, cell: Dims, weight: Dims, cells: Dims, gates: Dims,
    projection: Dims | None = None, **params: Any,
) -> tuple[Dims, ...]:  # fmt: skip
    rows = g.numel // max(1, g.sizes[-1])
    # Without a projection the gradient of an output is not needed: no rows.
    sizes = (0, g.sizes[-1]) if projection is None else (rows, g.sizes[-1])
    return gates, g_last, g_memory, Dims((None, g.names[-1]), sizes)


def _lstm_gradient(
    g: Any, g_last: Any, g_memory: Any, cell: Any, weight: Any, cells: Any, gates: Any,
    projection: Any = None, *, reverse: bool, batch_sizes: Sizes,
) -> Any:  # fmt: skip
    d_pre, d_hidden, d_cell, d_out = lstm_back(
        flat(g, ARRAYS), g_last, g_memory, cell, weight, projection, flat(cells, ARRAYS), flat(gates, ARRAYS),
        steps_of(gates.shape, batch_sizes, reverse), ARRAYS,
    )  # fmt: skip
    nothing = np.empty((0, g.shape[-1]), g.dtype)
    return d_pre.reshape(gates.shape), d_hidden, d_cell, nothing if d_out is None else d_out


def _lstm_gradient_sample(projected: bool) -> Sample:
    width = 2 if projected else 3
    return Sample(
        (
            grid(3, 2, width), grid(2, width, seed=1), grid(2, 3, seed=2), grid(2, 3, seed=3),
            grid(12, width, seed=4), grid(3, 2, 3, seed=5), grid(3, 2, 12, low=0.1, high=0.9, seed=6),
            *((grid(2, 3, seed=7),) if projected else ()),
        ),
        SEQUENCE,
    )  # fmt: skip


LSTM_GRADIENT = Op(
    name="lstm_gradient",
    doc="Gradients of a layer of long short-term memory: of what comes in, of first states, of each projected output.",
    equation="a_t = (e_t·g, e_t·c_{t-1}, e_t·i, d_t·tanh c_t)·σ', with d_t = g_t + a_{t+1}·W and "
    "e_t = e_{t+1}·f_{t+1} + d_t·o·(1 - tanh² c_t)",
    reference="Graves and Schmidhuber 2005",
    dims=_lstm_gradient_dims,
    rule="as the gates, as the states; the gradient of each output has rows only where there is a projection",
    dtype=FLOAT,
    forward=_lstm_gradient,
    vjp=AGAIN,
    saves=Saves((), output=False),
    cost=product_cost,
    samples=lambda: [_lstm_gradient_sample(False), _lstm_gradient_sample(True)],
    outputs=4,
    quantized=GRADIENT,
)
