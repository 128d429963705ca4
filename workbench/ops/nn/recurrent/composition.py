"""Recurrent layers as the ops that they are composed of, one step after the other.

Gates go through `constant`: where relevance is shared out, what they let through has all of it (Arras et al. 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.op import ops
from workbench.ops.nn.recurrent.shared import rows_of
from workbench.ops.nn.recurrent.steps import Sizes, steps_of

__all__ = ["gru_steps", "lstm_steps", "rnn_steps"]

Constant = Callable[[Any], Any]


def rnn_steps(
    constant: Constant, pre: Any, hidden: Any, weight: Any, *, relu: bool, reverse: bool, batch_sizes: Sizes
) -> tuple[Any, Any]:
    """Return the outputs and the last state of a plain recurrent layer."""

    def step(row: Any, state: Any) -> tuple[Any, ...]:
        total = ops.add(row, _product(state, weight))
        new = (ops.relu if relu else ops.tanh)(total)
        return new, (new,)

    (y,), (last,) = _run(pre, (hidden,), step, 1, reverse, batch_sizes)
    return y, last


def lstm_steps(
    constant: Constant,
    pre: Any,
    hidden: Any,
    cell: Any,
    weight: Any,
    projection: Any = None,
    *,
    reverse: bool,
    batch_sizes: Sizes,
) -> tuple[Any, ...]:
    """Return the outputs, the last states, all cells and the gates of a layer of long short-term memory."""

    def step(row: Any, state: Any, memory: Any) -> tuple[Any, ...]:
        total = ops.add(row, _product(state, weight))
        i, f, g, o = _parts(total, 4)
        i, f, g, o = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)
        memory = ops.add(ops.mul(constant(f), memory), ops.mul(constant(i), g))
        shown = ops.mul(constant(o), ops.tanh(memory))
        state = shown if projection is None else _product(shown, projection)
        return state, memory, (state, memory, ops.cat(i, f, g, o, dim=1))

    (y, cells, gates), (last, memory) = _run(pre, (hidden, cell), step, 3, reverse, batch_sizes)
    return y, last, memory, cells, gates


def gru_steps(
    constant: Constant,
    pre: Any,
    hidden: Any,
    weight: Any,
    bias: Any = None,
    *,
    reverse: bool,
    batch_sizes: Sizes,
) -> tuple[Any, ...]:
    """Return the outputs, the last state, the gates and the state's parts of a layer of gated recurrent units."""

    def step(row: Any, state: Any) -> tuple[Any, ...]:
        product = _product(state, weight)
        product = product if bias is None else ops.add(product, bias)
        (r_in, z_in, n_in), (r_state, z_state, inner) = _parts(row, 3), _parts(product, 3)
        r, z = ops.sigmoid(ops.add(r_in, r_state)), ops.sigmoid(ops.add(z_in, z_state))
        n = ops.tanh(ops.add(n_in, ops.mul(constant(r), inner)))
        kept = constant(z)
        state = ops.add(ops.mul(ops.sub(1.0, kept), n), ops.mul(kept, state))
        return state, (state, ops.cat(r, z, n, dim=1), inner)

    (y, gates, inner), (last,) = _run(pre, (hidden,), step, 3, reverse, batch_sizes)
    return y, last, gates, inner


def _run(
    pre: Any, states: tuple[Any, ...], step: Callable[..., Any], count: int, reverse: bool, batch_sizes: Sizes
) -> tuple[list[Any], list[Any]]:
    """Return what the steps give, in the order of the rows, and the last states."""
    rows, lead = rows_of(pre), pre.payload.shape[:-1]
    found: list[tuple[int, tuple[Any, ...]]] = []
    last = list(states)
    for first, size in steps_of(pre.payload.shape, batch_sizes, reverse):
        part = ops.index(rows, key=(slice(first, first + size),))
        here = [_first(one, size) for one in last]
        *own, given = step(part, *here)
        # Sequences that have ended keep their states.
        last = [_behind(one, before, size) for one, before in zip(own, last, strict=True)]
        found.append((first, given))
    found.sort(key=lambda one: one[0])
    several = [_stacked([given[k] for _, given in found], lead) for k in range(count)]
    return several, last


def _stacked(parts: list[Any], lead: tuple[int, ...]) -> Any:
    rows = ops.cat(*parts, dim=0) if len(parts) > 1 else parts[0]
    return ops.reshape(rows, sizes=(*lead, rows.payload.shape[-1]))


def _first(state: Any, size: int) -> Any:
    return state if state.payload.shape[0] == size else ops.index(state, key=(slice(0, size),))


def _behind(new: Any, before: Any, size: int) -> Any:
    if before.payload.shape[0] == size:
        return new
    return ops.cat(new, ops.index(before, key=(slice(size, None),)), dim=0)


def _product(state: Any, weight: Any) -> Any:
    return ops.linear(state, weight)


def _parts(value: Any, count: int) -> list[Any]:
    size = value.payload.shape[1] // count
    return [ops.index(value, key=(slice(None), slice(k * size, (k + 1) * size))) for k in range(count)]
