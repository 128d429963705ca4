"""Recurrent layers: a whole sequence in one direction as one op.

What a layer makes of its input, x·W_ihᵀ + b, is one product for all steps and comes in as `pre`: [T, N, G], or packed
[rows, G] where `batch_sizes` says how many sequences have each step (longest first). The state is [N, H]; sequences
that have ended keep theirs. Gradients are written once, in arithmetic that arrays and values both know: as array code
they are ops of their own, and where a gradient is itself recorded they are taken step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.errors import DimensionError
from workbench.core import dispatch
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import NOT_QUANTIZED, grid
from workbench.core.op import Absent, BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.value import new
from workbench.ops.recurrent_steps import (
    ARRAYS,
    VALUES,
    Sizes,
    Steps,
    flat,
    gru_back,
    lstm_back,
    previous,
    rnn_back,
    steps_of,
)

_AGAIN = Absent("where a gradient is recorded, the layer's own rule takes it step by step, in other ops")

# ------------------------------------------------------------------------------------------------- dims


def _check(
    op: str,
    pre: Dims,
    states: dict[str, Dims],
    weight: Dims,
    gates: int,
    batch_sizes: Sizes,
    width: int | None = None,
) -> tuple[Dims, Dims]:
    """Refuse what does not fit; return the dims of the output, and of the state after the last step."""
    ndim = 3 if batch_sizes is None else 2
    hidden = weight.sizes[0] // gates if weight.sizes else 0
    width = hidden if width is None else width
    known = (
        pre.operand("pre"),
        *(one.operand(label) for label, one in states.items()),
        weight.operand("weight"),
    )

    def refuse(why: str) -> DimensionError:
        return DimensionError(f"{op}: {why}", op=op, operands=known)

    if len(pre.sizes) != ndim:
        raise refuse(f"what comes in must have {ndim} dims, it has {len(pre.sizes)}.")
    if weight.sizes != (gates * hidden, width):
        raise refuse(f"the weight must be [{gates}·hidden, {width}], it is {list(weight.sizes)}.")
    if pre.sizes[-1] != gates * hidden:
        raise refuse(
            f"each step must have {gates * hidden} values as the weight has rows, it has {pre.sizes[-1]}."
        )
    if not (pre.sizes[0] if batch_sizes is None else batch_sizes):
        raise refuse("Expected sequence length to be larger than 0.")
    batch = pre.sizes[1] if batch_sizes is None else (batch_sizes or (0,))[0]
    if batch_sizes is not None and (
        sum(batch_sizes) != pre.sizes[0] or list(batch_sizes) != sorted(batch_sizes, reverse=True)
    ):
        raise refuse(f"the batch sizes {list(batch_sizes)} must fall and add up to {pre.sizes[0]} rows.")
    name = weight.names[-1]
    names: Any = (pre.names[1] if batch_sizes is None else None, name if name != pre.names[-2] else None)
    state = Dims(names, (batch, width))
    for label, one in states.items():
        size = hidden if label == "cell" else width
        if one.sizes != (batch, size):
            raise refuse(
                f"Expected hidden size {[batch, size]}, got {list(one.sizes)} for the {label} state."
            )
        names = unify_names(op, Dims(names, state.sizes), one)
    own = name if name not in pre.names[:-1] else None
    return Dims((*pre.names[:-1], own), (*pre.sizes[:-1], width)), Dims(names, state.sizes)


def _product_cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    """Operations of the products of states and weight."""
    rows = dims[0].numel / max(1, dims[0].sizes[-1])
    return 2.0 * rows * next(one.numel for one in reversed(dims) if len(one.sizes) == 2)


def _zeros(gradient: Any, sizes: tuple[int, ...], dtype: Any) -> Any:
    return new(np.zeros(sizes, dtype)) if gradient is None else gradient


def _weight_gradient(d_product: Any, states: Any) -> Any:
    """Sum over all rows of outer products."""
    return ops.matmul(ops.permute(d_product, dim=(1, 0)), states)


def _rows(value: Any) -> Any:
    return flat(value, VALUES)


def _plan(pre: Any, params: dict[str, Any]) -> Steps:
    return steps_of(pre._array.shape, params["batch_sizes"], params["reverse"])


# ------------------------------------------------------------------------------------------------- rnn


def _rnn_dims(
    pre: Dims, hidden: Dims, weight: Dims, *, relu: bool, reverse: bool, batch_sizes: Sizes
) -> tuple[Dims, Dims]:
    return _check("rnn", pre, {"hidden": hidden}, weight, 1, batch_sizes)


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
    g = _zeros(g, y._array.shape, y._array.dtype)
    g_last = _zeros(g_last, hidden._array.shape, y._array.dtype)
    if dispatch.computes_only():
        d_pre, d_hidden = ops.rnn_gradient(g, g_last, weight, y, **c.params)
        d_rows = _rows(d_pre)
    else:
        steps = _plan(pre, c.params)
        d_rows, d_hidden = rnn_back(_rows(g), g_last, weight, _rows(y), steps, c.params["relu"], VALUES)
        d_pre = ops.reshape(d_rows, sizes=pre._array.shape)
    d_weight = None
    if c.needs[2]:
        d_weight = _weight_gradient(d_rows, previous(hidden, _rows(y), _plan(pre, c.params)))
    return d_pre, d_hidden, d_weight


_SEQUENCE: dict[str, Any] = {"reverse": False, "batch_sizes": None}
_PACKED: dict[str, Any] = {"reverse": True, "batch_sizes": (2, 2, 1)}

RNN = Op(
    name="rnn",
    doc="A recurrent layer over a sequence: each state is a nonlinearity of the input and the state before.",
    equation="h_t = tanh(pre_t + h_{t-1}·Wᵀ), or max(0, …)",
    reference="Elman 1990",
    dims=_rnn_dims,
    rule="steps and batch keep their names; the last dim is called as the weight's last",
    dtype=FLOAT,
    forward=_rnn,
    vjp=_rnn_vjp,
    saves=Saves((1, 2), output=True, outputs=(0,)),
    quantized=NOT_QUANTIZED,
    cost=_product_cost,
    samples=lambda: [
        Sample(
            (grid(3, 2, 4), grid(2, 4, seed=1), grid(4, 4, seed=2)),
            {"relu": False, **_SEQUENCE},
            names=(("T", "N", "gates"), ("N", "hidden"), ("gates", "hidden")),
        ),
        Sample((grid(5, 3), grid(2, 3, seed=1), grid(3, 3, seed=2)), {"relu": False, **_PACKED}),
        Sample((grid(3, 2, 4), grid(2, 4, seed=1), grid(4, 4, seed=2)), {"relu": True, **_SEQUENCE}),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 2, 4), grid(2, 3), grid(4, 4)),
            {"relu": False, **_SEQUENCE},
            DimensionError,
            "Expected hidden size [2, 4], got [2, 3]",
        ),
        BadInput(
            (grid(4, 3), grid(2, 3), grid(3, 3)),
            {"relu": False, **_PACKED},
            DimensionError,
            "add up to 4 rows",
        ),
        BadInput(
            (grid(0, 2, 3), grid(2, 3), grid(3, 3)),
            {"relu": False, **_SEQUENCE},
            DimensionError,
            "sequence length to be larger than 0",
        ),
    ],
    outputs=2,
    properties=frozenset({"narrow"}),
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
    vjp=_AGAIN,
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=_product_cost,
    samples=lambda: [
        Sample(
            (grid(3, 2, 4), grid(2, 4, seed=1), grid(4, 4, seed=2), grid(3, 2, 4, seed=3)),
            {"relu": relu, **_SEQUENCE},
        )
        for relu in (False, True)
    ],
    bad=list,
    outputs=2,
)

# ------------------------------------------------------------------------------------------------ lstm


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
    width = None
    if projection is not None:
        if len(projection.sizes) != 2 or projection.sizes[1] != size:
            raise DimensionError(
                f"lstm: the projection must be [proj_size, {size}], it is {list(projection.sizes)}.",
                op="lstm",
                operands=(projection.operand("projection"),),
            )
        width = projection.sizes[0]
    y, last = _check("lstm", pre, {"hidden": hidden, "cell": cell}, weight, 4, batch_sizes, width)
    cells = Dims(y.names, (*y.sizes[:-1], size))
    return y, last, Dims(last.names, (last.sizes[0], size)), cells, pre


def _logistic(x: Any) -> Any:
    return 0.5 * np.tanh(0.5 * x) + 0.5


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
    rows, state, memory = flat(pre, ARRAYS), hidden.copy(), cell.copy()
    size = memory.shape[1]
    out = np.empty((len(rows), state.shape[1]), rows.dtype)
    cells, gates = np.empty((len(rows), size), rows.dtype), np.empty_like(rows)
    for first, count in steps_of(pre.shape, batch_sizes, reverse):
        part = slice(first, first + count)
        total = rows[part] + state[:count] @ weight.T
        i, f, g, o = (total[:, k * size : (k + 1) * size] for k in range(4))
        i, f, g, o = _logistic(i), _logistic(f), np.tanh(g), _logistic(o)
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
    dtype = y._array.dtype
    g = _zeros(g, y._array.shape, dtype)
    g_last = _zeros(g_last, hidden._array.shape, dtype)
    g_memory = _zeros(g_memory, cell._array.shape, dtype)
    if g_cells is None and g_gates is None and dispatch.computes_only():
        d_pre, d_hidden, d_cell, d_out = ops.lstm_gradient(
            g, g_last, g_memory, cell, weight, cells, gates, *projection, **c.params
        )
        d_rows = _rows(d_pre)
    else:
        more = [None if one is None else _rows(one) for one in (g_cells, g_gates)]
        d_rows, d_hidden, d_cell, d_out = lstm_back(
            _rows(g), g_last, g_memory, cell, weight, projection[0] if projection else None,
            _rows(cells), _rows(gates), _plan(pre, c.params), VALUES, *more,
        )  # fmt: skip
        d_pre = ops.reshape(d_rows, sizes=pre._array.shape)
    found = [d_pre, d_hidden, d_cell, None]
    if c.needs[3]:
        found[3] = _weight_gradient(d_rows, previous(hidden, _rows(y), _plan(pre, c.params)))
    if projection:
        size = cell._array.shape[1]
        output_gate = ops.index(_rows(gates), key=(slice(None), slice(3 * size, None)))
        found.append(_weight_gradient(d_out, ops.mul(output_gate, ops.tanh(_rows(cells)))))
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
    doc="A layer of long short-term memory over a sequence; also returns last states, all cells, and the gates.",
    equation="i, f, o = σ(…), g = tanh(…) of pre_t + h_{t-1}·Wᵀ;  c_t = f·c_{t-1} + i·g;  h_t = o·tanh(c_t)",
    reference="Hochreiter and Schmidhuber 1997; projection: Sak, Senior and Beaufays 2014",
    dims=_lstm_dims,
    rule="steps and batch keep their names; the last dim is called as the weight's last",
    dtype=FLOAT,
    forward=_lstm,
    vjp=_lstm_vjp,
    saves=Saves((1, 2, 3, 4), output=True, outputs=(0, 3, 4)),
    quantized=NOT_QUANTIZED,
    cost=_product_cost,
    samples=lambda: [
        _lstm_sample(False, **_SEQUENCE),
        _lstm_sample(False, **_PACKED),
        _lstm_sample(True, **_SEQUENCE),
        _lstm_sample(False, reverse=False, batch_sizes=(2, 2, 1)),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 2, 12), grid(2, 3), grid(2, 4), grid(12, 3)),
            _SEQUENCE,
            DimensionError,
            "Expected hidden size [2, 3], got [2, 4] for the cell state",
        ),
        BadInput(
            (grid(3, 2, 12), grid(2, 3), grid(2, 3), grid(12, 3), grid(2, 4)),
            _SEQUENCE,
            DimensionError,
            "the projection must be [proj_size, 3]",
        ),
        BadInput(
            (grid(3, 2, 12), grid(2, 3), grid(2, 3), grid(12, 3)),
            _SEQUENCE,
            DimensionError,
            "do not match",
            names=(("T", "N", None), ("B", "hidden"), None, (None, "hidden")),
        ),
    ],
    outputs=5,
    properties=frozenset({"narrow"}),
)


def _lstm_gradient_dims(
    g: Dims, g_last: Dims, g_memory: Dims, cell: Dims, weight: Dims, cells: Dims, gates: Dims,
    projection: Dims | None = None, **params: Any,
) -> tuple[Dims, ...]:  # fmt: skip
    rows = g.numel // max(1, g.sizes[-1])
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
        _SEQUENCE,
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
    vjp=_AGAIN,
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=_product_cost,
    samples=lambda: [_lstm_gradient_sample(False), _lstm_gradient_sample(True)],
    bad=list,
    outputs=4,
)

# ------------------------------------------------------------------------------------------------- gru


def _gru_dims(
    pre: Dims, hidden: Dims, weight: Dims, bias: Dims | None = None, *, reverse: bool, batch_sizes: Sizes
) -> tuple[Dims, ...]:
    y, last = _check("gru", pre, {"hidden": hidden}, weight, 3, batch_sizes)
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
        product = state[:count] @ weight.T
        if bias is not None:
            product += bias
        r, z = (
            _logistic(rows[part, k * size : (k + 1) * size] + product[:, k * size : (k + 1) * size])
            for k in range(2)
        )
        inner[part] = product[:, 2 * size :]
        n = np.tanh(rows[part, 2 * size :] + r * inner[part])
        np.concatenate((r, z, n), axis=1, out=gates[part])
        out[part] = state[:count] = n + z * (state[:count] - n)
    lead = pre.shape[:-1]
    return out.reshape(*lead, size), state, gates.reshape(pre.shape), inner.reshape(*lead, size)


def _gru_vjp(c: Call, g: Any, g_last: Any, g_gates: Any, g_inner: Any) -> tuple[Any, ...]:
    pre, hidden, weight, *bias = c.inputs
    y, _, gates, inner = c.outs
    dtype = y._array.dtype
    g = _zeros(g, y._array.shape, dtype)
    g_last = _zeros(g_last, hidden._array.shape, dtype)
    if g_gates is None and g_inner is None and dispatch.computes_only():
        d_pre, d_product, d_hidden = ops.gru_gradient(g, g_last, hidden, weight, y, gates, inner, **c.params)
    else:
        more = [None if one is None else _rows(one) for one in (g_gates, g_inner)]
        d_rows, d_product, d_hidden = gru_back(
            _rows(g), g_last, hidden, weight, _rows(y), _rows(gates), _rows(inner),
            _plan(pre, c.params), VALUES, *more,
        )  # fmt: skip
        d_pre = ops.reshape(d_rows, sizes=pre._array.shape)
    found = [d_pre, d_hidden, None]
    if c.needs[2]:
        found[2] = _weight_gradient(d_product, previous(hidden, _rows(y), _plan(pre, c.params)))
    if bias:
        found.append(ops.sum(d_product, dim=(0,), keepdim=False) if c.needs[3] else None)
    return tuple(found)


GRU = Op(
    name="gru",
    doc="A layer of gated recurrent units over a sequence; also returns the last state, the gates, and the state's "
    "part of the candidate.",
    equation="r, z = σ(…) of pre_t + s_t;  n = tanh(pre_t + r·s_t);  h_t = (1 - z)·n + z·h_{t-1}, with "
    "s_t = h_{t-1}·Wᵀ + b",
    reference="Cho et al. 2014",
    dims=_gru_dims,
    rule="steps and batch keep their names; the last dim is called as the weight's last",
    dtype=FLOAT,
    forward=_gru,
    vjp=_gru_vjp,
    saves=Saves((1, 2), output=True, outputs=(0, 2, 3)),
    quantized=NOT_QUANTIZED,
    cost=_product_cost,
    samples=lambda: [
        Sample(
            (grid(3, 2, 9), grid(2, 3, seed=1), grid(9, 3, seed=2), grid(9, seed=3)),
            _SEQUENCE,
            names=(("T", "N", "gates"), ("N", "hidden"), ("gates", "hidden"), ("gates",)),
        ),
        Sample((grid(5, 9), grid(2, 3, seed=1), grid(9, 3, seed=2)), _PACKED),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 2, 9), grid(2, 3), grid(9, 3), grid(8)), _SEQUENCE, DimensionError, "must have 9 values"
        ),
    ],
    outputs=4,
    properties=frozenset({"narrow"}),
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
    reference="Cho et al. 2014",
    dims=lambda g, g_last, hidden, weight, y, gates, inner, **params: (
        gates,
        Dims((None, gates.names[-1]), (g.numel // max(1, g.sizes[-1]), gates.sizes[-1])),
        hidden,
    ),
    rule="as the gates, as the gates with one dim of rows, as the state",
    dtype=FLOAT,
    forward=_gru_gradient,
    vjp=_AGAIN,
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=_product_cost,
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
            _SEQUENCE,
        )
    ],
    bad=list,
    outputs=3,
)
