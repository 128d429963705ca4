"""Recurrent layers as ops: the gradient as one op against the gradient step by step, in every arrangement of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.op import ops
from workbench.ops.nn.recurrent.steps import steps_of
from workbench.testing import assert_close


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape) * 0.7


WAYS: list[dict[str, Any]] = [
    {"reverse": False, "batch_sizes": None},
    {"reverse": True, "batch_sizes": None},
    {"reverse": False, "batch_sizes": (3, 3, 2, 1)},
    {"reverse": True, "batch_sizes": (3, 3, 2, 1)},
]
KINDS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "rnn": (1, 2, {"relu": False}),
    "lstm": (4, 3, {}),
    "projected": (4, 3, {}),
    "gru": (3, 2, {}),
}
"""Gates, outputs that a layer shows, and options."""


def inputs(kind: str, way: dict[str, Any], size: int, dtype: Any) -> list[np.ndarray[Any, Any]]:
    gates, _, _ = KINDS[kind]
    batch = 3
    rows = (9,) if way["batch_sizes"] else (4, batch)
    width = size - 1 if kind == "projected" else size
    arrays = [floats(*rows, gates * size), floats(batch, width, seed=1)]
    if gates == 4:
        arrays.append(floats(batch, size, seed=2))
    arrays.append(floats(gates * size, width, seed=3))
    if kind == "projected":
        arrays.append(floats(width, size, seed=4))
    if kind == "gru":
        arrays.append(floats(gates * size, seed=5))
    return [one.astype(dtype) for one in arrays]


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "dtype"), [(3, np.float64), (35, np.float32)])
def test_one_op_gives_the_gradients_of_the_steps(kind: str, way: int, size: int, dtype: Any) -> None:
    gates, shown, options = KINDS[kind]
    options = options | WAYS[way]
    op: Any = getattr(ops, "lstm" if gates == 4 else kind)
    found = []
    for recorded in (False, True):
        leaves = [wb.from_numpy(one.copy()).requires_grad_() for one in inputs(kind, WAYS[way], size, dtype)]
        results = op(*leaves, **options)[:shown]
        total = sum((one * wb.from_numpy(floats(*one.shape, seed=7).astype(dtype))).sum() for one in results)
        found.append(wb.autograd.grad(total, leaves, create_graph=recorded))
    for one, step_by_step in zip(*found, strict=True):
        assert not one.requires_grad
        assert step_by_step.requires_grad
        assert_close(
            one, step_by_step.detach(), rtol=1e-8 if size == 3 else 2e-4, atol=1e-9 if size == 3 else 2e-5
        )


@pytest.mark.parametrize("kind", KINDS)
def test_only_one_result_used(kind: str) -> None:
    gates, shown, options = KINDS[kind]
    op: Any = getattr(ops, "lstm" if gates == 4 else kind)
    for k in range(shown):
        gradients = []
        for recorded in (False, True):
            leaves = [wb.from_numpy(one).requires_grad_() for one in inputs(kind, WAYS[0], 3, np.float64)]
            total = (op(*leaves, **options, **WAYS[0])[k] ** 2).sum()
            gradients.append(wb.autograd.grad(total, leaves, create_graph=recorded))
        for one, other in zip(*gradients, strict=True):
            assert_close(one, other.detach(), rtol=1e-8, atol=1e-10)


def test_steps_of_packed_rows() -> None:
    assert steps_of((9, 5), (3, 3, 2, 1), False) == [(0, 3), (3, 3), (6, 2), (8, 1)]
    assert steps_of((2, 3, 5), None, True) == [(3, 3), (0, 3)]


def test_a_sequence_that_has_ended_keeps_its_state() -> None:
    pre = wb.from_numpy(floats(3, 4))
    _, last = ops.rnn(
        pre, wb.zeros(2, 4).double(), wb.zeros(4, 4).double(), relu=False, reverse=False, batch_sizes=(2, 1)
    )
    assert_close(last, np.tanh(pre.numpy()[[2, 1]]))
