"""Random programs that use sizes in every way: their graphs do for other sizes what the programs do, or refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.graph import check, parse, text, trace

# Each takes a matrix and gives one.
STEPS: list[Callable[[Any], Any]] = [
    lambda x: x.t(),
    lambda x: x[1:],
    lambda x: x[:-1],
    lambda x: x[: x.shape[0] // 2 + 1],
    lambda x: x[x.shape[0] // 3 :],
    lambda x: x[:, :3],
    lambda x: x[::2],
    lambda x: x[x.shape[0] - 1 :],
    lambda x: x.reshape(x.shape[1], x.shape[0]),
    lambda x: x.reshape(-1, x.shape[0]),
    lambda x: x.reshape(1, -1),
    lambda x: x.reshape(-1, 2),
    lambda x: x.flatten().reshape(x.shape),
    lambda x: x.unsqueeze(0).expand(2, -1, -1).reshape(2 * x.shape[0], x.shape[1]),
    lambda x: x.repeat(1, 2),
    lambda x: wb.cat([x, x[:1]]),
    lambda x: wb.cat([wb.zeros_like(x), x], 1),
    lambda x: wb.nn.functional.pad(x, (1, x.shape[0] % 3)),
    lambda x: x + wb.arange(x.shape[1]),
    lambda x: x + wb.full((x.shape[0], 1), x.shape[1]),
    lambda x: x * x.shape[0] - x.numel(),
    lambda x: x / (x.shape[0] + 1),
    lambda x: x - x.mean(0),
    lambda x: x.sum(1, keepdim=True).expand_as(x) + x,
    lambda x: x @ x.t() * 0.1,
    lambda x: x.roll(x.shape[0] // 2, 0),
    lambda x: x.flip(1),
    lambda x: x.tril(),
    lambda x: x.chunk(2)[0],
    lambda x: x.split(2, 1)[-1],
    lambda x: x.unfold(0, 2, 1).sum(-1),
    lambda x: wb.stack([x, x * 2], 1).reshape(-1, x.shape[1]),
    lambda x: x * 2 if x.shape[0] > x.shape[1] else x + 1,
    lambda x: x * 2 if x.shape[0] % 2 else x + 1,
    lambda x: x.t() if x.numel() > 20 else x * 3,
    lambda x: x * max(x.shape[0], 3),
    lambda x: x * len(x),
    lambda x: x * x.shape[1] ** 0.5,
    lambda x: x.diff(dim=0),
    lambda x: x.repeat_interleave(2, 0),
    lambda x: wb.einsum("ij,kj->ik", x, x) * 0.1,
    lambda x: wb.nn.functional.interpolate(x[None, None], scale_factor=(2, 1.5))[0, 0],
    lambda x: wb.nn.functional.avg_pool2d(x[None], 2)[0],
    lambda x: x.softmax(0).cumsum(1),
]

small = st.integers(1, 9)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=5),
    st.tuples(small, small),
    st.lists(st.tuples(small, small), min_size=3, max_size=3),
)
def test_a_graph_does_for_other_sizes_what_the_program_does_or_refuses(
    steps: list[Callable[[Any], Any]], first: tuple[int, int], others: list[tuple[int, int]]
) -> None:
    def program(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    def matrix(sizes: tuple[int, int]) -> wb.Tensor:
        return wb.from_numpy(np.cos(np.arange(sizes[0] * sizes[1], dtype=np.float32)).reshape(sizes))

    try:
        program(matrix(first))
    except (ValueError, IndexError, RuntimeError, ZeroDivisionError):
        return  # sizes that the program itself refuses
    graph = check(trace(program, matrix(first)))
    again = parse(text(graph), {value.name: tensor for value, tensor in graph.held().items()})
    for sizes in (first, *others):
        try:
            expected = program(matrix(sizes))
        except (ValueError, IndexError, RuntimeError, ZeroDivisionError):
            expected = None
        for run in (graph, again):
            try:
                result = run(matrix(sizes))
            except (wb.DimensionError, ValueError, IndexError, RuntimeError):
                assert sizes != first
                continue
            assert expected is not None, f"{sizes}: the program refuses, the graph does not:\n{graph}"
            np.testing.assert_array_equal(result.numpy(), expected.numpy())
