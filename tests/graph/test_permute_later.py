"""Products of rows before they are permuted: the same numbers, and no permutation left where two undo each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.graph import check
from workbench.graph.passes import peephole, permute_later

F = nn.functional


def x(*sizes: int) -> Any:
    return wb.tensor(np.random.default_rng(sum(sizes)).standard_normal(sizes, dtype=np.float32))


W, V, B = x(6, 8), x(8, 6), x(6)


def heads(a: Any) -> Any:
    rows = a.permute(1, 0, 2)
    seen = F.linear(rows, W, B).reshape(rows.shape[0], rows.shape[1], 2, 3).permute(1, 2, 0, 3)
    back = (seen * 2).permute(2, 0, 1, 3).reshape(rows.shape[0] * rows.shape[1], 6)
    return F.linear(back, V).reshape(rows.shape[0], rows.shape[1], 8).permute(1, 0, 2)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "there and back": (lambda a: F.linear(a.permute(1, 0, 2), W, B).permute(1, 0, 2), 0),
    "not back": (lambda a: F.linear(a.permute(1, 0, 2), W).relu(), 1),
    # Heads stand in front of what attends, and behind it no more.
    "heads": (heads, 2),
    "rows put together": (lambda a: F.linear(a.permute(1, 0, 2).reshape(-1, 8), W), 1),
    "what is multiplied": (lambda a: F.linear(a.permute(0, 2, 1), x(3, 5)), 1),
    "split otherwise": (lambda a: F.linear(a.permute(1, 0, 2), W).reshape(3, 10, 3), 1),
    "nothing": (lambda a: F.linear(a, W).reshape(-1), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_numbers_stay(name: str) -> None:
    function, left = FUNCTIONS[name]
    graph = wb.graph.trace(function, x(3, 5, 8))
    before = str(graph)
    found = peephole(permute_later(graph))
    assert str(graph) == before
    check(found)
    ours, theirs = found(x(3, 5, 8)), function(x(3, 5, 8))
    assert ours.shape == theirs.shape
    assert np.allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)
    assert sum(node.name.startswith("permute") for node in found.nodes) == left


def test_sizes_stay_symbolic() -> None:
    found = peephole(permute_later(wb.graph.trace(heads, x(3, 5, 8))))
    for sizes in ((3, 5, 8), (2, 7, 8), (1, 1, 8)):
        assert np.allclose(found(x(*sizes)).numpy(), heads(x(*sizes)).numpy(), rtol=1e-5, atol=1e-5)


def test_an_encoder_moves_nothing_but_heads() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    found = peephole(permute_later(wb.graph.trace(layer, x(3, 5, 8))))
    orders = {node.params["dim"] for node in found.nodes if node.name.startswith("permute")}
    assert orders == {(0, 2, 1, 3)}
    assert np.allclose(
        found(x(3, 5, 8)).detach().numpy(), layer(x(3, 5, 8)).detach().numpy(), rtol=1e-5, atol=1e-5
    )


def test_names_stay() -> None:
    def turned(a: Any) -> Any:
        return F.linear(a.permute(1, 0, 2), W).permute(1, 0, 2)

    given = x(3, 5, 8).rename("N", "T", "C")
    found = peephole(permute_later(wb.graph.trace(turned, given)))
    assert found(given).names == turned(given).names
