"""Recurrent layers as a scan over their steps, and recurrences along a dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.interop.xla.libraries import jax, jnp, lax
from workbench.ops.nn.recurrent.steps import steps_of

__all__ = ["KERNELS"]


Step = Callable[[tuple[Any, ...], Any], tuple[tuple[Any, ...], tuple[Any, ...]]]


def _scanned(
    step: Step, rows: Any, states: tuple[Any, ...], shape: Any, batch_sizes: Any, reverse: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Run `step` over the rows of all steps: the last states, and what each step gives, in the order of the rows."""
    parts = list(steps_of(shape, batch_sizes, reverse))
    counts = {count for _, count in parts}
    if len(counts) == 1 and parts:
        count = counts.pop()
        each = rows.reshape(len(parts), count, rows.shape[-1])
        # One loop in the compiled program, however long the sequence.
        states, given = lax.scan(step, states, each, reverse=reverse)
        return states, tuple(one.reshape(len(parts) * count, one.shape[-1]) for one in given)
    found: list[tuple[int, tuple[Any, ...]]] = []
    for first, count in parts:
        going, given = step(tuple(one[:count] for one in states), rows[first : first + count])
        # States of sequences that have ended stay.
        states = tuple(old.at[:count].set(new) for old, new in zip(states, going, strict=True))
        found.append((first, given))
    found.sort(key=lambda one: one[0])
    return states, tuple(jnp.concatenate(each) for each in zip(*(given for _, given in found), strict=True))


def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision="highest")


def _lstm(
    pre: Any, hidden: Any, cell: Any, weight: Any, projection: Any = None, *, reverse: bool, batch_sizes: Any
) -> Any:
    size = cell.shape[1]

    def step(states: tuple[Any, ...], row: Any) -> Any:
        state, memory = states
        total = row + _product(state, weight.T)
        i, f, g, o = (total[:, k * size : (k + 1) * size] for k in range(4))
        i, f, g, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)
        memory = f * memory + i * g
        shown = o * jnp.tanh(memory)
        state = shown if projection is None else _product(shown, projection.T)
        return (state, memory), (state, memory, jnp.concatenate((i, f, g, o), 1))

    rows = pre.reshape(-1, pre.shape[-1])
    (state, memory), given = _scanned(step, rows, (hidden, cell), pre.shape, batch_sizes, reverse)
    out, cells, gates = (one.reshape(*pre.shape[:-1], one.shape[-1]) for one in given)
    return out, state, memory, cells, gates


def _gru(pre: Any, hidden: Any, weight: Any, bias: Any = None, *, reverse: bool, batch_sizes: Any) -> Any:
    size = hidden.shape[1]

    def step(states: tuple[Any, ...], row: Any) -> Any:
        (state,) = states
        product = _product(state, weight.T)
        if bias is not None:
            product = product + bias
        r, z = (
            jax.nn.sigmoid(row[:, k * size : (k + 1) * size] + product[:, k * size : (k + 1) * size])
            for k in range(2)
        )
        inner = product[:, 2 * size :]
        n = jnp.tanh(row[:, 2 * size :] + r * inner)
        state = n + z * (state - n)
        return (state,), (state, jnp.concatenate((r, z, n), 1), inner)

    rows = pre.reshape(-1, pre.shape[-1])
    (state,), given = _scanned(step, rows, (hidden,), pre.shape, batch_sizes, reverse)
    out, gates, inner = (one.reshape(*pre.shape[:-1], one.shape[-1]) for one in given)
    return out, state, gates, inner


def _rnn(pre: Any, hidden: Any, weight: Any, *, relu: bool, reverse: bool, batch_sizes: Any) -> Any:
    def step(states: tuple[Any, ...], row: Any) -> Any:
        total = row + _product(states[0], weight.T)
        state = jnp.maximum(total, 0) if relu else jnp.tanh(total)
        return (state,), (state,)

    rows = pre.reshape(-1, pre.shape[-1])
    (state,), (out,) = _scanned(step, rows, (hidden,), pre.shape, batch_sizes, reverse)
    return out.reshape(pre.shape), state


def _linear_scan(b: Any, a: Any, dim: int) -> Any:
    def together(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    return lax.associative_scan(together, (a, b), axis=dim)[1]


KERNELS: dict[str, Callable[..., Any]] = {
    "gru": _gru,
    "linear_scan": _linear_scan,
    "lstm": _lstm,
    "rnn": _rnn,
}
