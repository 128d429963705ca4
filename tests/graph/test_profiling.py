"""Measuring a graph: every node once a run, in loops once a turn, and nothing is changed by it."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.graph.profiling import BINS, spread_of

LOOP = """g(%x : f32[N:3], %n : int):
  %y : f32[N:3] = loop(%n, True, %x):
    body(%i : int, %p : f32[N:3]):
      %q : f32[N:3] = mul(%p, 2.0)
      return True, %q
  %z : f32[N:3] = relu(%y)
  return %z"""


def test_nodes_are_measured_as_often_as_they_run() -> None:
    graph = wb.graph.parse(LOOP)
    profile = wb.graph.profile(graph, wb.tensor([-1.0, 0.0, 1.0], names=("N",)), 4)
    found = {node.name: one for node, one in profile.nodes.items()}
    assert {name: one.calls for name, one in found.items()} == {"q": 4, "y": 1, "z": 1}
    assert found["y"].seconds >= found["q"].seconds > 0
    # What a loop takes has the times of its turns in it.
    assert profile.seconds == pytest.approx(found["y"].seconds + found["z"].seconds)
    spread = found["z"].spread
    assert spread is not None
    assert (spread.count, spread.low, spread.high) == (3, 0.0, 16.0)
    assert spread.zeros == pytest.approx(2 / 3)
    assert sum(spread.bins) == 3 and len(spread.bins) == BINS


def test_measuring_changes_nothing() -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.BatchNorm1d(3), wb.nn.Dropout(0.5))
    x = wb.rand(N=4, C=3)
    graph = wb.graph.trace(model, x)
    before = [one.tolist() for one in model.state_dict().values()]
    wb.manual_seed(7)
    wb.graph.profile(graph, x)
    after = wb.rand(3).tolist()
    assert [one.tolist() for one in model.state_dict().values()] == before
    wb.manual_seed(7)
    assert wb.rand(3).tolist() == after


@pytest.mark.parametrize("runs", [0, -1])
def test_a_graph_is_measured_in_one_run_at_least(runs: int) -> None:
    with pytest.raises(ValueError, match=f"in one run at least, got runs={runs}"):
        wb.graph.profile(wb.graph.trace(lambda x: x + 1, wb.ones(2)), wb.ones(2), runs=runs)


def test_numbers_that_are_none_are_counted_apart() -> None:
    spread = spread_of(wb.tensor([0.0, 2.0, float("inf"), float("nan")]))
    assert spread is not None
    assert (spread.count, spread.broken, spread.mean, sum(spread.bins)) == (4, 2, 1.0, 2)
    nothing = spread_of(wb.tensor([float("nan")]))
    assert nothing is not None
    assert (nothing.broken, sum(nothing.bins)) == (1, 0)
    alike = spread_of(wb.full((5,), 3.0))
    assert alike is not None
    assert (alike.low, alike.high, sum(alike.bins)) == (2.5, 3.5, 5)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (lambda: wb.tensor([True, False]), True),
        (lambda: wb.tensor([1, 2]), True),
        (lambda: wb.ones(2, dtype=wb.bfloat16), True),
        (lambda: wb.quantize_per_tensor(wb.ones(2), 0.5, 3, wb.quint8), True),
        (lambda: wb.zeros(0), False),
        (lambda: wb.ones(2, dtype=wb.complex64), False),
        (lambda: 3.0, False),
        (lambda: (wb.ones(2), wb.ones(2)), False),
    ],
    ids=["bool", "int", "bfloat16", "codes", "empty", "complex", "number", "tuple"],
)
def test_what_has_real_numbers_has_a_spread(value: object, known: bool) -> None:
    assert (spread_of(value()) is not None) == known  # type: ignore[operator]
