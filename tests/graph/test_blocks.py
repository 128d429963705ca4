"""Graphs with blocks, functions, modules and values that are no tensors: built by hand, run, printed and read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.op import ops
from workbench.graph import (
    Block,
    Control,
    Graph,
    GraphError,
    Value,
    check,
    named,
    parse,
    python_text,
    text,
)
from workbench.graph.types import BOOL, INT, TensorType, type_of

PAIR: TensorType = type_of(wb.ones(N=2))


def new(*inputs: tuple[str, Any], name: str = "g") -> Graph:
    """A graph of these inputs, and nothing else yet."""
    graph = Graph(name=name)
    graph.inputs = [Value(graph.fresh(one), kind) for one, kind in inputs]
    return graph


def held(graph: Graph) -> dict[str, Any]:
    return {value.name: tensor for value, tensor in graph.held().items()}


def block(graph: Graph, *inputs: tuple[str, Any]) -> Block:
    return Block([Value(graph.fresh(one), kind) for one, kind in inputs])


def same(one: Any, other: Any) -> None:
    """Equal in structure, types and numbers."""
    assert type(one) is type(other)
    if isinstance(one, wb.Tensor):
        np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())
        assert one.names == other.names
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        same(list(one.values()), list(other.values()))
    else:
        assert one == other


def again(graph: Graph) -> list[Graph]:
    """The graph, its copy, and what is read back from both forms, which print as it does."""
    check(graph)
    found = [graph, graph.copy()]
    for write in (text, python_text):
        found.append(parse(write(graph), held(graph), graph.modules))
        assert text(found[-1]) == text(graph)
        assert python_text(found[-1]) == python_text(graph)
    return [check(one) for one in found]


def executed(graph: Graph, *inputs: Any) -> Any:
    """What Python itself makes of the Python form."""
    made: dict[str, Any] = {}
    exec(compile(python_text(graph), "graph", "exec"), made)
    places = [held(graph), held(graph), *([graph.modules] if graph.modules else [])]
    return made[graph.name](*places, *inputs)


def branching() -> Graph:
    """If the sum is positive, the doubled value and 1, else the negative and 2."""
    graph = new(("x", PAIR), ("flag", BOOL))
    x, flag = graph.inputs
    then, other = block(graph), block(graph)
    then.outputs = (graph.insert(ops.mul, x, 2, block=then).outputs[0], 1)
    other.outputs = (graph.insert(ops.neg, x, block=other).outputs[0], 2)
    node = graph.insert(Control.IF, flag, blocks=(then, other))
    graph.outputs, graph.single = node.outputs, False
    return graph


def looping() -> Graph:
    """Double and count until the sum is 100, at most `most` times."""
    graph = new(("x", PAIR), ("most", INT))
    x, most = graph.inputs
    body = block(graph, ("turn", INT), ("y", PAIR), ("count", INT))
    turn, y, count = body.inputs
    doubled = graph.insert(ops.mul, y, 2, block=body).outputs[0]
    more = graph.insert(named("operator.add"), count, turn, block=body).outputs[0]
    total = graph.insert(ops.sum, doubled, dim=(0,), keepdim=False, block=body).outputs[0]
    body.outputs = (graph.insert(ops.lt, total, 100.0, block=body).outputs[0], doubled, more)
    node = graph.insert(Control.LOOP, most, True, x, 0, blocks=(body,))
    graph.outputs, graph.single = node.outputs, False
    return graph


@pytest.mark.parametrize("flag", [True, False])
def test_an_if_runs_prints_and_is_read_back(flag: bool) -> None:
    graph, x = branching(), wb.tensor([1.0, -2.0], names=("N",))
    expected = (x * 2, 1) if flag else (-x, 2)
    for one in again(graph):
        same(one(x, flag), expected)
    same(executed(graph, x, flag), expected)


@pytest.mark.parametrize("most", [0, 1, 3, 50])
def test_a_loop_runs_prints_and_is_read_back(most: int) -> None:
    graph, x = looping(), wb.tensor([1.0, 2.0], names=("N",))
    y, count, goes, turn = x, 0, True, 0
    while goes and turn < most:
        y, count = y * 2, count + turn
        goes, turn = bool(y.sum() < 100.0), turn + 1
    for one in again(graph):
        same(one(x, most), (y, count))
    same(executed(graph, x, most), (y, count))


def test_text_shows_blocks_indented() -> None:
    assert text(branching()) == "\n".join(
        [
            "g(%x : f32[N:2], %flag : bool):",
            "  %if_ : f32[N:2], %if__1 : int = if(%flag):",
            "    then():",
            "      %mul : f32[N:2] = mul(%x, 2)",
            "      return %mul, 1",
            "    else():",
            "      %neg : f32[N:2] = neg(%x)",
            "      return %neg, 2",
            "  return (%if_, %if__1)",
        ]
    )


def test_a_branch_never_uses_what_another_branch_made() -> None:
    graph = branching()
    then, other = graph.nodes[0].blocks
    other.outputs = (then.nodes[0].outputs[0], 2)
    with pytest.raises(
        GraphError, match="a block of if_ reads mul before it is made: another block makes it"
    ):
        check(graph)
    graph = branching()
    graph.outputs = (graph.nodes[0].blocks[0].nodes[0].outputs[0],)
    with pytest.raises(GraphError, match="returns mul, which nothing makes: another block makes it"):
        check(graph)
