"""The largest of windows before the rectifier: equal numbers and gradients, and only where nobody sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.graph import check, trace
from workbench.graph.passes import pool_before_relu

F = wb.nn.functional


def order(graph: Any) -> list[str]:
    return [node.op.name for node in graph.nodes]


SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf)


@given(
    kernel=st.integers(1, 3), stride=st.integers(1, 3), seed=st.integers(0, 2**16),
    special=st.lists(st.tuples(st.integers(0, 2 * 3 * 7 * 6 - 1), st.sampled_from(SPECIAL)), max_size=12),
)  # fmt: skip
def test_numbers_and_gradients_are_the_same(
    kernel: int, stride: int, seed: int, special: list[tuple[int, float]]
) -> None:
    # Many equal values: of them the first is the largest.
    numbers = np.random.default_rng(seed).integers(-3, 2, (2, 3, 7, 6)).astype(np.float32)
    for place, value in special:
        numbers.flat[place] = value

    def pooled(x: Any) -> Any:
        return F.max_pool2d(x.relu(), kernel, stride, kernel // 2)

    graph = trace(pooled, wb.tensor(numbers))
    other = check(pool_before_relu(graph))
    assert order(graph) == ["relu", "max_pool2d"] and order(other) == ["max_pool2d", "relu"]
    found = []
    for one in (graph, other):
        x = wb.tensor(numbers).requires_grad_()
        y = one(x)
        y.backward(wb.arange(float(y.numel())).reshape(y.shape) + 1)
        found.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _twice_read(x: Any) -> Any:
    y = x.relu()
    return F.max_pool2d(y, 2) + y.sum()


def _returned(x: Any) -> Any:
    y = x.relu()
    return y, F.max_pool2d(y, 2)


STAY: dict[str, Callable[[Any], Any]] = {
    "places read": lambda x: F.max_pool2d(x.relu(), 2, return_indices=True),
    "read by another": _twice_read,
    "returned": _returned,
    "another function": lambda x: F.max_pool2d(x.abs(), 2),
    "another pooling": lambda x: F.avg_pool2d(x.relu(), 2),
}


@pytest.mark.parametrize("name", list(STAY))
def test_what_somebody_sees_stays(name: str) -> None:
    graph = trace(STAY[name], wb.randn(N=2, C=3, H=6, W=6))
    assert order(pool_before_relu(graph)) == order(graph)


def test_names_and_symbolic_sizes_go_along() -> None:
    graph = trace(lambda x: F.max_pool2d(x.relu(), 2), wb.randn(N=2, C=3, H=6, W=6))
    other = check(pool_before_relu(graph))
    for sizes in ((2, 3, 6, 6), (5, 3, 9, 7)):
        x = wb.randn(*sizes, names=("N", "C", "H", "W"))
        assert other(x).names == graph(x).names
        np.testing.assert_array_equal(other(x).numpy(), graph(x).numpy())
