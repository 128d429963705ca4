"""The steps of recurrent layers in order, and their gradients one step after the other: for arrays and for values.

The gradients are written in arithmetic, slices and products, which arrays and values both know. What they do not share
comes as a `Words`: `ARRAYS` for plain array code, `VALUES` for a gradient that is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.core.op import ops
from workbench.core.value import new

__all__ = [
    "ARRAYS", "VALUES", "Sizes", "Steps", "flat", "gru_back", "lstm_back", "previous", "rnn_back", "steps_of",
]  # fmt: skip

Sizes = tuple[int, ...] | None
"""How many sequences have each step, longest first; None where all have all."""
Steps = list[tuple[int, int]]
"""First row and number of rows of each step, in the order in which they are taken."""


class Words(NamedTuple):
    """What arrays and values say in different words."""

    cat: Callable[[list[Any], int], Any]
    tanh: Callable[[Any], Any]
    reshape: Callable[[Any, tuple[int, ...]], Any]
    shape: Callable[[Any], tuple[int, ...]]
    where: Callable[[Any, Any, Any], Any]


ARRAYS = Words(
    lambda parts, dim: np.concatenate(parts, axis=dim),
    np.tanh,
    np.reshape,
    lambda value: value.shape,
    lambda condition, a, b: np.where(condition, np.asarray(a, b.dtype), b),
)
VALUES = Words(
    lambda parts, dim: ops.cat(*parts, dim=dim) if len(parts) > 1 else parts[0],
    lambda value: ops.tanh(value),
    lambda value, sizes: ops.reshape(value, sizes=sizes),
    lambda value: value.payload.shape,
    lambda condition, a, b: ops.where(condition, a, b),
)


def steps_of(shape: tuple[int, ...], batch_sizes: Sizes, reverse: bool) -> Steps:
    """Return the steps of a sequence [T, N, …], or of packed rows."""
    sizes = (shape[1],) * shape[0] if batch_sizes is None else batch_sizes
    found: Steps = []
    first = 0
    for count in sizes:
        found.append((first, count))
        first += count
    return found[::-1] if reverse else found


def flat(value: Any, words: Words) -> Any:
    """Lay steps and batch out as rows."""
    shape = words.shape(value)
    return value if len(shape) == 2 else words.reshape(value, (math.prod(shape[:-1]), shape[-1]))


def previous(first: Any, rows: Any, batch_sizes: Sizes, reverse: bool) -> Any:
    """Return for each row the state that its step started from: a row of `first`, or of an earlier step of `rows`."""
    count, batch = rows.payload.shape[0], first.payload.shape[0]
    if batch_sizes is None or batch_sizes[-1] == batch:  # all sequences have all steps
        # Rows move by one step. That asks for no list of the steps, so that a graph has this for any number of them.
        return (
            ops.cat(rows[batch:], first, dim=0) if reverse else ops.cat(first, rows[: count - batch], dim=0)
        )
    # Sequences end at different steps: for each the row that it wrote last.
    latest = np.arange(batch)
    index = np.empty(count, np.int64)
    for start, many in steps_of((count,), batch_sizes, reverse):
        index[start : start + many] = latest[:many]
        latest[:many] = np.arange(batch + start, batch + start + many)
    return ops.pick(ops.cat(first, rows, dim=0), new(index), dims=(0,))


def _befores(first: Any, rows: Any, steps: Steps, words: Words) -> list[Any]:
    """Return for each step the state before it."""
    state, found = first, []
    for start, count in steps:
        found.append(state[:count])
        state = _kept(rows[start : start + count], state, count, words)
    return found


def _kept(now: Any, state: Any, count: int, words: Words) -> Any:
    """Return the state after `count` of its rows became `now`."""
    return now if count == words.shape(state)[0] else words.cat([now, state[count:]], 0)


def _in_order(parts: list[Any], steps: Steps, words: Words) -> Any:
    """Put what was found for the steps, last step first, together by rows."""
    ordered = sorted(zip(reversed(steps), parts, strict=True), key=lambda pair: pair[0][0])
    return words.cat([part for _, part in ordered], 0)


def rnn_back(
    g: Any, g_last: Any, weight: Any, y: Any, steps: Steps, relu: bool, words: Words
) -> tuple[Any, Any]:
    """Return the gradients of what comes in, by rows, and of the first state."""
    state, found = g_last, []
    for start, count in reversed(steps):
        h = y[start : start + count]
        d = state[:count] + g[start : start + count]
        # Where relu is 0 nothing passes, not even infinity times 0; where it is NaN, all does.
        found.append(words.where(h <= 0, 0.0, d) if relu else d * (1 - h * h))
        state = _kept(found[-1] @ weight, state, count, words)
    return _in_order(found, steps, words), state


def lstm_back(
    g: Any, g_last: Any, g_memory: Any, cell: Any, weight: Any, projection: Any, cells: Any, gates: Any,
    steps: Steps, words: Words, g_cells: Any = None, g_gates: Any = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the gradients of what comes in, by rows, of the first states, and of the outputs (where projected)."""
    size = words.shape(cell)[1]
    state, memory = g_last, g_memory
    found, outputs = [], []
    befores = _befores(cell, cells, steps, words)
    for (start, count), before in zip(reversed(steps), reversed(befores), strict=True):
        part = slice(start, start + count)
        # What came back from the step after, and from outside.
        d_h = state[:count] + g[part]
        if projection is not None:
            outputs.append(d_h)
            d_h = d_h @ projection
        i, f, c, o = (gates[part, k * size : (k + 1) * size] for k in range(4))
        shown = words.tanh(cells[part])
        d_c = memory[:count] + d_h * o * (1 - shown * shown)
        if g_cells is not None:
            d_c = d_c + g_cells[part]
        d_i, d_f, d_g, d_o = d_c * c, d_c * before, d_c * i, d_h * shown
        if g_gates is not None:
            d_i, d_f, d_g, d_o = (
                one + g_gates[part, k * size : (k + 1) * size] for k, one in enumerate((d_i, d_f, d_g, d_o))
            )
        found.append(
            words.cat([d_i * i * (1 - i), d_f * f * (1 - f), d_g * (1 - c * c), d_o * o * (1 - o)], 1)
        )
        state = _kept(found[-1] @ weight, state, count, words)
        memory = _kept(d_c * f, memory, count, words)
    d_out = None if projection is None else _in_order(outputs, steps, words)
    return _in_order(found, steps, words), state, memory, d_out


def gru_back(
    g: Any, g_last: Any, hidden: Any, weight: Any, y: Any, gates: Any, inner: Any,
    steps: Steps, words: Words, g_gates: Any = None, g_inner: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the gradients of what comes in and of the state's product, by rows, and of the first state."""
    size = words.shape(hidden)[1]
    state = g_last
    found, products = [], []
    befores = _befores(hidden, y, steps, words)
    for (start, count), before in zip(reversed(steps), reversed(befores), strict=True):
        part = slice(start, start + count)
        d_h = state[:count] + g[part]
        r, z, n = (gates[part, k * size : (k + 1) * size] for k in range(3))
        own = [None] * 3 if g_gates is None else [g_gates[part, k * size : (k + 1) * size] for k in range(3)]
        s = inner[part]
        d_n = d_h * (1 - z) + (0 if own[2] is None else own[2])
        a_n = d_n * (1 - n * n)
        a_z = (d_h * (before - n) + (0 if own[1] is None else own[1])) * z * (1 - z)
        a_r = (a_n * s + (0 if own[0] is None else own[0])) * r * (1 - r)
        d_s = a_n * r + (0 if g_inner is None else g_inner[part])
        found.append(words.cat([a_r, a_z, a_n], 1))
        products.append(words.cat([a_r, a_z, d_s], 1))
        state = _kept(d_h * z + products[-1] @ weight, state, count, words)
    return _in_order(found, steps, words), _in_order(products, steps, words), state
