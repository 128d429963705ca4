"""Sizes that tell the truth: what a function does with a size is right for other sizes, or refused with its line."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph import Graph, check, parse, python_text, text, trace


def same(a: Any, b: Any) -> None:
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (a, b)), strict=True):
        np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())
        assert one.names == other.names


def example(*sizes: int) -> wb.Tensor:
    return wb.from_numpy(np.sin(np.arange(math.prod(sizes), dtype=np.float32)).reshape(sizes))


def follows(graph: Graph, function: Any, *inputs: Any) -> bool:
    """Say whether a graph runs for these inputs; where it does, it does what the function does."""
    try:
        result = graph(*inputs)
    except wb.DimensionError as error:
        refusal = str(error)
    else:
        same(result, function(*inputs))
        return True
    assert re.search(r"where test_sizes.py:\d+ decided something by it: the graph holds for", refusal), (
        refusal
    )
    return False


def counted(x: wb.Tensor) -> wb.Tensor:
    total = x * 0
    for i in range(x.shape[0]):
        total = total + i
    return total


# What a function does with the sizes of [4, 6]; whether the graph runs for [8, 6] and [2, 6], whose first size is on
# the other side of what was asked.
USES: list[tuple[Any, bool, bool]] = [
    (lambda x: x * 2 if x.shape[0] > 3 else x, True, False),
    (lambda x: x * 2 if x.shape[0] == 4 else x, False, False),
    (lambda x: x * 2 if x.shape[0] == 2 else x, True, False),
    (lambda x: x * 2 if x.shape[0] != 2 else x, True, False),
    (lambda x: x * 2 if x.shape == (2, 6) else x, True, False),
    (lambda x: x * 2 if x.shape[:1] == (4,) else x, False, False),
    (lambda x: x * 2 if 3 < x.shape[0] else x, True, False),
    (lambda x: x * 2 if x.shape[0] >= 3.5 else x, True, False),
    (lambda x: x * 2 if x.shape[0] % 4 == 0 else x, True, False),
    (lambda x: x * 2 if x.shape[0] in (1, 2) else x, True, False),
    (lambda x: x * 2 if x.shape[0] else x, True, True),
    (lambda x: x * len(x), False, False),
    (counted, False, False),
    (lambda x: sum(row.sum() for row in x), False, False),
    (lambda x: x * max(x.shape[0], 3), True, False),
    (lambda x: x * min(x.shape[0], 3), True, False),
    (lambda x: x * {4: 1.0, 2: 2.0, 8: 3.0}[x.shape[0]], False, False),
    (lambda x: x * {(4, 6): 1.0}.get(x.shape, 2.0), False, False),
    (lambda x: x * {8: 1.0, 2: 2.0}.get(x.shape[0], 3.0), False, False),
    (lambda x: x * 2 if x.shape[0] in {2, 8} else x, False, False),
    (lambda x: x * math.sqrt(x.shape[0]), False, False),
    (lambda x: x * round(x.shape[0] / 3), False, False),
    (lambda x: x[: int(x.shape[0] / 2)], False, False),
    (lambda x: wb.nn.functional.interpolate(x[None], scale_factor=16 / x.shape[0]), False, False),
    (lambda x: x * np.float32(1 / x.shape[0]), False, False),
    (lambda x: x * (np.float64(0.5) * x.shape[0]), False, False),
    (lambda x: x * {0.25: 1.0, 0.125: 2.0}.get(1 / x.shape[0], 3.0), False, False),
    (lambda x: x * 2 if x.shape[0] ** 0.5 > 1.9 else x, True, False),
    (lambda x: x * 2 if 1 / x.shape[0] == 0.5 else x, True, False),
    (lambda x: x * 2 if x.shape[0] / 4 - 0.5 else x, True, False),
    (lambda x: x * max(x.shape[0] * 0.5, 2.0), True, False),
    (lambda x: x * math.exp(-x.shape[0]), False, False),
    (lambda x: x * x.shape[0] ** 0.5, True, True),
    (lambda x: x / x.shape[0] ** 0.5, True, True),
    (lambda x: x * (1 / x.shape[0]), True, True),
    (lambda x: x * (x.shape[0] / 2), True, True),
    (lambda x: x.shape[0] / 3 * x - 0.1 * x.shape[1] * 3, True, True),
    (lambda x: x * (1.0 - 0.9 ** x.shape[0]), True, True),
    (lambda x: x * x.shape[0] ** -1 + -(x.shape[0] / 7), True, True),
    (lambda x: x * (x.shape[0] % 2.5) + x.shape[0] // 0.3, True, True),
    (lambda x: x + (x.shape[0] / 3 + x.shape[1] / 7) / (x.shape[0] ** 1.5 - 0.3), True, True),
    (lambda x: (x * 3).sum() / x.shape[0] / (x.shape[1] / 3), True, True),
    (lambda x: wb.mul(x, 1 / x.shape[0]) + wb.div(x, x.shape[0] ** 0.5), True, True),
    (lambda x: wb.add(x, x, alpha=1 / x.shape[0]), True, True),
    (lambda x: x.clamp(max=1 / x.shape[0]), True, True),
    (lambda x: x > 1 / x.shape[0], True, True),
    (lambda x: x.abs() ** (1 / x.shape[0]), True, True),
    (lambda x: wb.where(x > 0, x, 1 / x.shape[0]), True, True),
    (lambda x: x.masked_fill(x > 0, 1 / x.shape[0]), True, True),
    (lambda x: x + wb.full((x.shape[0], 1), 1 / x.shape[0]), True, True),
    (lambda x: x + wb.full((2, 1, 1), 1 / x.shape[0]), True, True),
    (lambda x: x + wb.full_like(x, x.shape[0] ** 0.5), True, True),
    (lambda x: wb.ones(3) / x.shape[0] ** 0.5 + x.sum(), True, True),
    (lambda x: x.masked_fill(x > 0, x.shape[0] ** 0.5).long().masked_fill(x > 0, 2 / x.shape[1]), True, True),
    (lambda x: x.long().masked_fill(x > 0, 9 / x.shape[0]), False, False),
    (lambda x: x.addcmul(x, x, value=1 / x.shape[0]), True, True),
    (lambda x: x.lerp(x * 2, 1 / x.shape[0]), True, False),
    (lambda x: x[: math.floor(x.shape[0] / 2)], True, True),
    (lambda x: x[: math.ceil(x.shape[0] / 3)], True, True),
    (lambda x: (x @ x.t() / x.shape[1] ** 0.5).softmax(-1) @ x, True, True),
    (lambda x: x.view(-1, x.shape[0]) / (x.numel() / x.shape[0]), True, True),
    (lambda x: x.var(0) + x.std() * (x.shape[0] - 1) ** 0.5, True, True),
    (lambda x: x * float(x.shape[0]), False, False),
    (lambda x: x * int(x.shape[0]), False, False),
    (lambda x: x * len(f"{'x' * x.shape[0]}"), False, False),
    (lambda x: x * len(f"{x.shape[0]:04}"), False, False),
    (lambda x: x * hash(str(x.shape)), False, False),
    (lambda x: x + wb.from_numpy(np.zeros((x.shape[0], 1), np.float32)), False, False),
    (lambda x: x + wb.tensor(x.shape[0]), False, False),
    (lambda x: x + wb.tensor([float(i) for i in range(x.size(0))]).reshape(-1, 1), False, False),
    (lambda x: x.reshape(x.shape[0], -1), True, True),
    (lambda x: x.reshape(x.shape[0] * 2, -1), True, True),
    (lambda x: x.reshape(x.numel()), True, True),
    (lambda x: x.view(-1, x.shape[0]), True, True),
    (lambda x: x.reshape(x.shape[0] // 2, 2, 6), True, True),
    (lambda x: x.reshape(-1, 8), True, False),
    (lambda x: x / x.shape[0], True, True),
    (lambda x: x.shape[0] * x, True, True),
    (lambda x: x + x.shape[0] - x.shape[1], True, True),
    (lambda x: wb.ones(3) * x.shape[0] + x.sum(), True, True),
    (lambda x: x.sum() / x.numel(), True, True),
    (lambda x: x ** x.shape[0], True, True),
    (lambda x: x[: x.shape[0] - 1], True, True),
    (lambda x: x[: x.shape[0] // 2], True, True),
    (lambda x: x[x.shape[0] // 2 :], True, True),
    (lambda x: x[x.shape[0] - 1], True, True),
    (lambda x: x[-1], True, True),
    (lambda x: x[1:-1], True, True),
    (lambda x: x[::2], True, True),
    (lambda x: x[:3], True, False),
    (lambda x: x[3], True, False),
    (lambda x: x[:, 1:3], True, True),
    (lambda x: x.flip(0), True, True),
    (lambda x: x.narrow(0, 1, x.shape[0] - 1), True, True),
    (lambda x: x.expand(3, x.shape[0], 6), True, True),
    (lambda x: x.unsqueeze(0).expand(3, -1, -1), True, True),
    (lambda x: x[:1].expand(x.shape[0], 6) + x, True, True),
    (lambda x: x.repeat(2, x.shape[0]), True, True),
    (lambda x: x.chunk(2), True, True),
    (lambda x: x.split(3, 1), True, True),
    (lambda x: wb.cat([x, x[:1]], 0) + 1, True, True),
    (lambda x: wb.stack([x, x * 2]).transpose(0, 1).reshape(x.shape[0], -1), True, True),
    (lambda x: x @ x.t(), True, True),
    (lambda x: x.flatten(), True, True),
    (lambda x: x.unflatten(0, (-1, 2)), True, True),
    (lambda x: x.mean() + x.var(0) + x.std(), True, True),
    (lambda x: x.softmax(0), True, True),
    (lambda x: x.cumsum(0), True, True),
    (lambda x: wb.einsum("nc,mc->nm", x, x), True, True),
    (lambda x: x.roll(1, 0), True, True),
    (lambda x: x.tril(), True, True),
    (lambda x: x.unfold(0, 2, 1), True, True),
    (lambda x: wb.nn.functional.pad(x, (1, x.shape[0])), True, True),
    (lambda x: x.topk(2, 0)[0], True, True),
]


@pytest.mark.parametrize(("function", "more", "fewer"), USES)
def test_what_is_done_with_a_size_is_right_for_others_or_refused(
    function: Any, more: bool, fewer: bool
) -> None:
    graph = check(trace(function, wb.ones(4, 6)))
    assert follows(graph, function, example(4, 6))
    assert follows(graph, function, example(8, 6)) == more
    assert follows(graph, function, example(2, 6)) == fewer
    for written in (text, python_text):
        again = parse(written(graph), {one.name: tensor for one, tensor in graph.held().items()})
        assert written(again) == written(graph)
        assert follows(again, function, example(8, 6)) == more


def test_a_guard_names_the_line_what_was_so_and_what_came() -> None:
    def deciding(x: wb.Tensor) -> wb.Tensor:
        return x if x.shape[0] > 4 else -x

    line = deciding.__code__.co_firstlineno + 1
    graph = trace(deciding, {"N": 64, "C": 3})
    assert [str(guard) for guard in graph.guards] == ["x.shape[0] > 4"]
    with pytest.raises(wb.DimensionError) as caught:
        graph(wb.ones(N=3, C=3))
    message = str(caught.value)
    for part in (
        f"N of x was 64 in the trace, where test_sizes.py:{line} decided something by it",
        "the graph holds for x.shape[0] > 4, and now it is 3. Trace again with these sizes",
        "traced[>N:64<, C:3]",
        "x[>N:3<, C:3]",
    ):
        assert part in message
    same(graph(wb.ones(N=5, C=8)), wb.ones(N=5, C=8))


def test_a_size_that_is_one_today_may_be_more_where_nothing_was_decided_by_it() -> None:
    for function in (
        lambda x: (x * 2 + x).relu(),
        lambda x: x - x.mean(0),
        lambda x: x @ x.t(),
        lambda x: x.sum(1),
    ):
        graph = trace(function, wb.ones(1, 3))
        assert follows(graph, function, example(8, 3))


def test_a_broadcast_by_a_size_of_one_is_guarded() -> None:
    def function(x: wb.Tensor, y: wb.Tensor) -> wb.Tensor:
        return x + y

    graph = trace(function, wb.ones(1, 3), wb.ones(4, 3))
    assert follows(graph, function, example(1, 3), example(7, 3))
    assert not follows(graph, function, example(7, 3), example(7, 3))
    alike = trace(function, wb.ones(4, 3), wb.ones(4, 3))
    assert follows(alike, function, example(7, 5), example(7, 5))
    assert not follows(alike, function, example(7, 3), example(1, 3))


def test_sizes_travel_through_a_graph_that_is_run_in_a_trace() -> None:
    inner = trace(lambda x: x.reshape(x.shape[0] * 2, -1) if x.shape[0] > 1 else x, wb.ones(4, 6))
    outer = check(trace(lambda x: inner(x * 2) + 1, wb.ones(4, 6)))
    same(outer(example(6, 2)), example(6, 2).mul(2).reshape(12, 1) + 1)
    with pytest.raises(wb.DimensionError, match=r"the graph holds for x.shape\[0\] > 1"):
        outer(example(1, 2))


def test_a_size_that_is_left_over_from_a_trace_is_the_number_that_it_was() -> None:
    kept: list[Any] = []
    graph = trace(lambda x: (kept.append(x.shape[0]), x)[1], wb.ones(4))
    assert graph.guards == []
    assert type(kept[0] + 0) is int
    assert f"{kept[0]}" == "4"
    assert (wb.ones(2) * kept[0]).tolist() == [4.0, 4.0]
    assert wb.zeros(kept[0]).shape == (4,)
    assert graph.guards == []


def test_printing_a_traced_value_decides_nothing() -> None:
    graph = trace(lambda x: (repr(x), x * 2)[1], wb.ones(4))
    assert graph.guards == []


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("graph(%x : f32[·:2]):\n  assert %x.shape[0] > 4\n  return %x", "does not hold for the sizes"),
        ("graph(%x : f32[·:2]):\n  assert %x.shape[1] > 4\n  return %x", "which is not a size"),
        ("graph(%x : f32[·:2]):\n  assert %y.shape[0] > 4\n  return %x", "reads %y"),
        (
            "graph(%x : f32[·:2]):\n  assert %x.shape[0]\n  return %x",
            "which is not how two sizes are related",
        ),
        ("graph(%x : f32[·:2]):\n  assert f(%x) > 1\n  return %x", "which is not a size"),
        ("graph(%x : f32[·:2]):\n  assert %x.shape[0]//0 > 1\n  return %x", "which is not a size"),
        ("graph(%x : f32[·:2]):\n  assert 9999999*9999999 < %x.shape[0]\n  return %x", "which is not a size"),
        (
            f"graph(%x : f32[·:2]):\n  assert {'+'.join(['%x.shape[0]'] * 600)} > 1\n  return %x",
            "more than 4,096 parts",
        ),
    ],
)
def test_guards_that_cannot_be_are_not_read(written: str, message: str) -> None:
    with pytest.raises(wb.graph.GraphError, match=message):
        parse(written)


def test_a_size_that_is_written_as_fixed_is_guarded() -> None:
    graph = parse("graph(%x : f32[N=2, C:3]):\n  %y : f32[N:2, C:3] = mul(%x, 2)\n  return %y")
    assert graph(wb.ones(N=2, C=5)).shape == (2, 5)
    with pytest.raises(wb.DimensionError, match="N of x was 2 in the trace"):
        graph(wb.ones(N=3, C=5))
