"""Recurrent layers: ONNX's own nodes, with the weights in the order that it has for the gates."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import int32
from workbench.graph import Value
from workbench.graph.sizes import is_symbolic
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import type_code
from workbench.onnx.writing.table import written

__all__: list[str] = []

_ORDERS = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}
"""Which of our gates stands at each place in the format: i, o, f, c of i, f, g, o; z, r, h of r, z, n."""


def _ordered(call: Any, name: str, gates: int) -> Any:
    """Return a weight or bias with its gates in the order of the format, for one direction."""
    order = _ORDERS[call.op.name]
    if len(order) > 1:
        parts = call("Split", name, call.row([gates // len(order)] * len(order)), outputs=len(order), axis=0)
        name = call("Concat", *(parts[i] for i in order), axis=0)
    return call.axes("Unsqueeze", name, [0])


def _source(call: Any, gates: int) -> Any:
    """Return what comes in, its weight, and its bias: those of the linear layer before, where this alone reads it."""
    pre = call.inputs[0]
    node = pre.node if isinstance(pre, Value) and not call.wide else None
    if (
        node is not None
        and node.op is not None
        and node.op.name == "linear"
        and len(call.shared.readers[pre]) == 1
    ):
        known = [call.body.name_of(one) for one in node.inputs if isinstance(one, Value)]
        kinds = {one.tensor.dtype for one in node.inputs if isinstance(one, Value)}
        if len(kinds) == 1 and len(known) == len(node.inputs):
            return known[0], _ordered(call, known[1], gates), known[2] if len(known) > 2 else None
    # Whatever else it is, it goes through a weight that leaves it as it is.
    eye = call.constant(np.eye(gates), call.common)
    return call.x(0), _ordered(call, eye, gates), None


def _written(
    call: Any,
    operator: str,
    states: list[int],
    bias: int | None,
    projection: int | None = None,
    **attributes: Any,
) -> tuple[Any, ...]:
    if any(call.reads(i) for i in range(1 + len(states), len(call.node.outputs))):
        raise OnnxError("what happens inside the gates is read, and the operator does not give it")
    steps = call.params["batch_sizes"]
    if steps is not None and len(steps) > 1 and is_symbolic(steps):
        raise OnnxError("how many sequences have each step is not known")
    gates = call.sizes(0)[-1]
    if type(gates) is not int:
        raise OnnxError("how many gates there are is not known")
    hidden = gates // len(_ORDERS[call.op.name])
    x, weight, own = _source(call, gates)
    lengths = None
    if steps is not None:
        x, lengths = _padded(call, x, steps)
    recurrent = _ordered(call, call.x(states[-1] + 1), gates)
    if projection is not None:
        x, weight, recurrent = _projected(call, x, weight, projection, gates)
    none = None
    if own is not None or bias is not None:
        zeros = call.constant(np.zeros(gates), call.common)
        parts = [
            _ordered(call, own if own is not None else zeros, gates),
            _ordered(call, call.x(bias) if bias is not None else zeros, gates),
        ]
        none = call("Concat", *parts, axis=1)
    first: list[Any] = [call.axes("Unsqueeze", call.x(i), [0]) for i in states]
    if projection is not None:
        first[0] = None  # it comes in beside the first step
    found = call(
        operator, x, weight, recurrent, none, lengths, *first, outputs=1 + len(states), hidden_size=hidden,
        direction="reverse" if call.params["reverse"] else "forward", **attributes,
    )  # fmt: skip
    rows = call.axes("Squeeze", found[0], [1])
    if projection is not None:
        across = call.transpose(call.x(projection), [1, 0])
        rows, last = (call("MatMul", one, across) for one in (rows, call.axes("Squeeze", found[1], [0])))
        return (rows, last, call.axes("Squeeze", found[2], [0])) + (rows,) * (len(call.node.outputs) - 3)
    if steps is not None:
        rows = _packed(call, rows, steps, hidden)
    results = (rows, *(call.axes("Squeeze", one, [0]) for one in found[1:]))
    return results + (rows,) * (len(call.node.outputs) - len(results))


def _projected(call: Any, x: str, weight: str, projection: int, gates: int) -> tuple[str, str, str]:
    """Return what comes in, its weight and the recurrent one, where h is the projection W of what the operator gives.

    The operator has no projection. Its own state is h' with h = W h', so the recurrent weight is R W; the first h,
    which need not be one of those, comes in beside the first step and goes through R.
    """
    if call.params["batch_sizes"] is not None:
        raise OnnxError("packed sequences with a projection of the hidden state have no form: pad them")
    inner = _ordered(call, call.x(3), gates)
    length = call("Gather", call("Shape", x), call.constant(0), axis=0)
    steps = call("Range", call.constant(0), length, call.constant(1))
    start = call("Sub", length, call.constant(1)) if call.params["reverse"] else call.constant(0)
    marks = call.reshape(call("Cast", call("Equal", steps, start), to=type_code(call.common)), [-1, 1, 1])
    begun = call("Mul", marks, call.axes("Unsqueeze", call.x(1), [0]))
    x, weight = call("Concat", x, begun, axis=2), call("Concat", weight, inner, axis=2)
    return x, weight, call("MatMul", inner, call.x(projection))


def _padded(call: Any, x: str, steps: tuple[Any, ...]) -> tuple[str, str | None]:
    """Return packed rows as [steps, sequences, …], and how long each sequence is; one step has all of them."""
    if len(steps) == 1:
        return call.axes("Unsqueeze", x, [0]), None
    counts = np.array(steps)
    first, sequences = np.cumsum(counts) - counts, np.arange(counts[0])
    # Where a sequence has ended stands any row: the operator looks at lengths.
    places = np.where(sequences < counts[:, None], first[:, None] + sequences, 0)
    lengths = (counts[:, None] > sequences).sum(0).astype(np.int32)
    return call("Gather", x, call.constant(places), axis=0), call.constant(lengths, int32)


def _packed(call: Any, rows: str, steps: tuple[Any, ...], width: int) -> str:
    """Return rows of [steps, sequences, …] as they are packed."""
    if len(steps) == 1:
        return str(call.axes("Squeeze", rows, [0]))
    counts = np.array(steps)
    places = np.flatnonzero(np.arange(counts[0]) < counts[:, None])
    return str(call("Gather", call("Reshape", rows, call.row([-1, width])), call.constant(places), axis=0))


@written("lstm")
def _lstm(call: Any) -> Any:
    return _written(call, "LSTM", [1, 2], None, projection=4 if call.given(4) else None)


@written("gru")
def _gru(call: Any) -> Any:
    return _written(call, "GRU", [1], 3 if call.given(3) else None, linear_before_reset=1)


@written("rnn")
def _rnn(call: Any) -> Any:
    return _written(call, "RNN", [1], None, activations=["Relu"] if call.params["relu"] else None)
