"""Recurrent layers over a whole sequence: in float32 in one call; in float64 a product of NumPy's and one pass over the
gates a step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from workbench.base.quiet import QUIET, WARNINGS
from workbench.kernels._arrays import FLOAT32, FLOAT64
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _takes(*counts: int) -> Any:
    """Return a predicate for calls with as many arrays (a projection, which is one more, runs as plain array code)."""

    def accepts(*arrays: Any, **params: Any) -> bool:
        return len(arrays) in counts and all(
            type(one) is np.ndarray and one.dtype == FLOAT32 and one.size for one in arrays
        )

    return accepts


def _takes_either(*counts: int) -> Any:
    """Return a predicate for calls with as many arrays in float32, or in float64 where all sequences have all steps.

    A cell's step is a packed batch of one step.
    """
    singles = _takes(*counts)

    def accepts(*arrays: Any, **params: Any) -> bool:
        if type(arrays[0]) is np.ndarray and arrays[0].dtype == FLOAT64:
            return (
                len(arrays) in counts
                and (params["batch_sizes"] is None or len(params["batch_sizes"]) == 1)
                and all(type(one) is np.ndarray and one.dtype == FLOAT64 and one.size for one in arrays)
            )
        return bool(singles(*arrays, **params))

    return accepts


def _either(single: Any, double: Any) -> Any:
    """Return what runs in the type of the first array."""

    def run(*arrays: Any, **params: Any) -> Any:
        if arrays[0].dtype != FLOAT64:
            return single(*arrays, **params)
        token = WARNINGS.set(QUIET)  # products of NumPy's warn of infinities
        try:
            return double(*arrays, reverse=params["reverse"])
        finally:
            WARNINGS.reset(token)

    return run


def _in_steps(rows: Any) -> Any:
    """Lay what comes by rows out as one step, contiguous as the gates want it."""
    return np.ascontiguousarray(rows[None] if rows.ndim == 2 else rows)


def _steps(count: int, reverse: bool) -> Any:
    return range(count - 1, -1, -1) if reverse else range(count)


def _lstm(pre: Any, hidden: Any, cell: Any, weight: Any, *, reverse: bool) -> Any:
    sizes = (*pre.shape[:-1], cell.shape[1])
    gates, cells, out = np.empty(pre.shape), np.empty(sizes), np.empty(sizes)
    pre, found = _in_steps(pre), tuple(map(_in_steps, (gates, cells, out)))
    state, memory = np.ascontiguousarray(hidden), np.ascontiguousarray(cell)
    for step in _steps(len(pre), reverse):
        sums = np.matmul(state, weight.T)
        sums += pre[step]
        of_gates, of_cells, of_out = (one[step] for one in found)
        native.lstm_gates(sums, memory, of_gates, of_cells, of_out)
        state, memory = of_out, of_cells
    return out, state.copy(), memory.copy(), cells, gates


def _lstm_gradient(
    g: Any, g_last: Any, g_memory: Any, cell: Any, weight: Any, cells: Any, gates: Any, *, reverse: bool
) -> Any:
    found = np.empty(gates.shape)
    g, cells, gates, d_pre = map(_in_steps, (g, cells, gates, found))
    first, state, memory = np.ascontiguousarray(cell), g_last, np.ascontiguousarray(g_memory)
    order = _steps(len(gates), not reverse)
    before = {step: cells[other] for step, other in pairwise(order)}
    for step in order:
        d_before = np.empty(first.shape)
        native.lstm_gates_back(
            g[step] + state, memory, before.get(step, first), cells[step], gates[step], d_pre[step], d_before
        )
        state, memory = np.matmul(d_pre[step], weight), d_before
    return found, state, memory, np.empty((0, g.shape[-1]))  # nothing was projected


def _gru(pre: Any, hidden: Any, weight: Any, bias: Any = None, *, reverse: bool) -> Any:
    size = hidden.shape[1]
    sizes = (*pre.shape[:-1], size)
    gates, inner, out = np.empty(pre.shape), np.empty(sizes), np.empty(sizes)
    pre, found = _in_steps(pre), tuple(map(_in_steps, (gates, inner, out)))
    state = np.ascontiguousarray(hidden)
    for step in _steps(len(pre), reverse):
        own = np.matmul(state, weight.T)
        if bias is not None:
            own += bias
        of_gates, of_inner, of_out = (one[step] for one in found)
        of_inner[...] = own[:, 2 * size :]
        native.gru_gates(pre[step], own, state, of_gates, of_out)
        state = of_out
    return out, state.copy(), gates, inner


def _gru_gradient(
    g: Any, g_last: Any, hidden: Any, weight: Any, y: Any, gates: Any, inner: Any, *, reverse: bool
) -> Any:
    found, own = np.empty(gates.shape), np.empty(gates.shape)
    g, y, gates, inner, d_pre, d_own = map(_in_steps, (g, y, gates, inner, found, own))
    first, state = np.ascontiguousarray(hidden), g_last
    order = _steps(len(gates), not reverse)
    before = {step: y[other] for step, other in pairwise(order)}
    for step in order:
        carry, d = np.empty(first.shape), g[step] + state
        native.gru_gates_back(
            d, before.get(step, first), gates[step], inner[step], d_pre[step], d_own[step], carry
        )
        state = np.matmul(d_own[step], weight)
        state += carry
    return found, own.reshape(-1, own.shape[-1]), state


if native is not None:
    for _name, _counts in (("rnn", (3,)), ("rnn_gradient", (4,))):
        register(Kernel(_name, getattr(native, _name), _takes(*_counts)))
    _doubles: tuple[tuple[str, tuple[int, ...], Any], ...] = (
        ("lstm", (4,), _lstm),
        ("lstm_gradient", (7,), _lstm_gradient),
        ("gru", (3, 4), _gru),
        ("gru_gradient", (7,), _gru_gradient),
    )
    for _name, _any, _double in _doubles:
        register(Kernel(_name, _either(getattr(native, _name), _double), _takes_either(*_any)))
