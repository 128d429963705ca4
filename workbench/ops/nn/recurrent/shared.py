"""What recurrent layers have in common: what fits, what it costs, and the words of their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, new_name, unify_names
from workbench.base.errors import DimensionError
from workbench.core.op import Absent, ops
from workbench.ops.nn.recurrent.steps import VALUES, Sizes, Steps, flat, previous, steps_of
from workbench.ops.shape.creation import filled

__all__ = [
    "AGAIN", "PACKED", "SEQUENCE", "check", "logistic", "plan", "product_cost", "rows_of", "states_before",
    "weight_gradient", "zeros",
]  # fmt: skip

AGAIN = Absent("where a gradient is recorded, the layer's own rule takes it step by step, in other ops")
SEQUENCE: dict[str, Any] = {"reverse": False, "batch_sizes": None}
"""Parameters of a sample that is a whole sequence, and of one that is packed."""
PACKED: dict[str, Any] = {"reverse": True, "batch_sizes": (2, 2, 1)}


def check(
    op: str,
    pre: Dims,
    states: dict[str, Dims],
    weight: Dims,
    gates: int,
    batch_sizes: Sizes,
    projection: Dims | None = None,
) -> tuple[Dims, ...]:
    """Refuse what does not fit; return the dims of the output, and of the states after the last step."""
    ndim = 3 if batch_sizes is None else 2
    hidden = weight.sizes[0] // gates if weight.sizes else 0
    width = hidden if projection is None else projection.sizes[0]

    def refuse(why: str) -> DimensionError:
        known = (
            pre.operand("pre"),
            *(one.operand(label) for label, one in states.items()),
            weight.operand("weight"),
        )
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
    # Packed rows are of several sequences at once: they have no batch dim, and so no name of one.
    own, batched = dict.fromkeys(states, (name, width)), pre.names[1] if batch_sizes is None else None
    if "cell" in states:
        own["cell"] = (name if projection is None else projection.names[-1], hidden)
    found = []
    for label, one in states.items():
        called, size = own[label]
        if one.sizes != (batch, size):
            raise refuse(
                f"Expected hidden size {[batch, size]}, got {list(one.sizes)} for the {label} state."
            )
        state = Dims((batched, new_name(called, pre.names[-2:-1], pre.names)), one.sizes)
        batched, last = unify_names(op, state, one)
        found.append((last, size))
    y = Dims((*pre.names[:-1], new_name(name, pre.names[:-1], pre.names)), (*pre.sizes[:-1], width))
    return y, *(Dims((batched, last), (batch, size)) for last, size in found)


def product_cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    """Operations of the products of states and weight."""
    rows = dims[0].numel / max(1, dims[0].sizes[-1])
    return 2.0 * rows * next(one.numel for one in reversed(dims) if len(one.sizes) == 2)


def zeros(gradient: Any, sizes: tuple[int, ...], dtype: Any) -> Any:
    """Return `gradient`, or zeros where no gradient came."""
    return filled(sizes, 0, dtype) if gradient is None else gradient


def weight_gradient(d_product: Any, states: Any) -> Any:
    """Sum over all rows of outer products."""
    return ops.matmul(ops.permute(d_product, dim=(1, 0)), states)


def rows_of(value: Any) -> Any:
    """Lay steps and batch of a value out as rows."""
    return flat(value, VALUES)


def states_before(params: dict[str, Any], first: Any, y: Any) -> Any:
    """Return the state that each step of a call started from, as rows."""
    return previous(first, rows_of(y), params["batch_sizes"], params["reverse"])


def plan(pre: Any, params: dict[str, Any]) -> Steps:
    """Return the steps of a call, in the order in which they are taken."""
    return steps_of(pre.payload.shape, params["batch_sizes"], params["reverse"])


def logistic(x: Any) -> Any:
    """The logistic function of an array, by a function that does not overflow."""
    return 0.5 * np.tanh(0.5 * x) + 0.5
