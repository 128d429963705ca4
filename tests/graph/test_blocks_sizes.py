"""Sizes out of blocks, functions and modules: a graph with some is right at other sizes than those it was made for,
or refuses them where the size becomes known."""

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
    LeafModule,
    SubGraph,
    Value,
    check,
    named,
    parse,
    passes,
    python_text,
    text,
)
from workbench.graph.types import BOOL, INT, TENSOR, symbolic, type_of

ROW = type_of(wb.ones(N=3))
HEAD, TAIL = (slice(None, 2),), (slice(1, None),)


def bound(name: str, kind: Any, later: bool = False) -> Value:
    return Value(name, symbolic(name, kind, later))


def graph_of(*inputs: Value) -> Graph:
    graph = Graph(name="g")
    graph.inputs = list(inputs)
    for one in inputs:
        graph.fresh(one.name)
    return graph


def forms(graph: Graph) -> list[Graph]:
    """The graph, its copy, and what is read back from both forms of text, which print as it does."""
    found = [graph, graph.copy()]
    for write in (text, python_text):
        found.append(parse(write(graph), {}, graph.modules))
        assert text(found[-1]) == text(graph)
        assert python_text(found[-1]) == python_text(graph)
    return [check(one) for one in found]


def row(size: int) -> wb.Tensor:
    return wb.arange(size).float().rename("N") + 1


def equal(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.numpy(), other.numpy())


def ends() -> Graph:
    """The first two of a row, or all but the first, which are as many when there are three."""
    graph = graph_of(bound("x", ROW), bound("flag", BOOL))
    x, flag = graph.inputs
    blocks = (Block(), Block())
    for block, key in zip(blocks, (HEAD, TAIL), strict=True):
        block.outputs = graph.insert(ops.index, x, key=key, block=block).outputs
    graph.outputs = graph.insert(Control.IF, flag, blocks=blocks).outputs
    return graph


def alike() -> Graph:
    """Of a row one thing or another: as many values either way."""
    graph = graph_of(bound("x", ROW), bound("flag", BOOL))
    x, flag = graph.inputs
    blocks = (Block(), Block())
    for block, op in zip(blocks, (ops.neg, ops.exp), strict=True):
        block.outputs = graph.insert(op, x, block=block).outputs
    graph.outputs = graph.insert(Control.IF, flag, blocks=blocks).outputs
    return graph


def test_what_blocks_agree_on_follows_and_else_a_run_says_it() -> None:
    graph = ends()
    (found,) = graph.outputs
    assert [str(one) for one in found.tensor.sizes] == ["if_.shape[0]"]
    node = graph.insert(ops.mul, found, found.tensor.sizes[0])
    graph.outputs = node.outputs
    assert "mul(%if_, %if_.shape[0])" in text(graph)
    for one in forms(graph):
        for size in (2, 3, 7):
            equal(one(row(size), True), row(size)[:2] * 2)
            equal(one(row(size), False), row(size)[1:] * (size - 1))

    same = alike()
    assert same.outputs[0].tensor.sizes == same.inputs[0].tensor.sizes


def test_what_is_decided_by_such_a_size_is_asked_when_it_is_known() -> None:
    graph = ends()
    (found,) = graph.outputs
    head = graph.insert(ops.index, graph.inputs[0], key=HEAD).outputs[0]
    graph.outputs = graph.insert(ops.add, found, head).outputs
    assert [str(one) for one in graph.guards] == ["x.shape[0] >= 2", "if_.shape[0] == 2"]
    lines = text(graph).splitlines()
    assert lines.index("  %index_2 : f32[N:2] = index(%x, key=(slice(None, 2, None),))") == len(lines) - 3
    assert any(one.startswith("  assert %if_.shape[0] == 2") for one in lines[2:-3])
    for one in forms(graph):
        equal(one(row(3), False), row(3)[1:] + row(3)[:2])
        equal(one(row(7), True), row(7)[:2] * 2)
        with pytest.raises(
            wb.DimensionError,
            match=r"N of if_ was 2 in the trace, where .* decided something by it: the graph holds for "
            r"if_.shape\[0\] == 2, and now it is 6",
        ) as caught:
            one(row(7), False)
        assert [operand.label for operand in caught.value.operands] == ["traced", "if_"]


def test_a_guard_in_a_branch_that_is_not_taken_is_not_asked() -> None:
    graph = graph_of(bound("x", ROW), bound("flag", BOOL))
    x, flag = graph.inputs
    graph.modules["twice"] = wb.nn.Identity()
    then, other = Block(), Block()
    made = graph.insert(LeafModule("twice"), x, types=(ROW,), block=then).outputs[0]
    head = graph.insert(ops.index, made, key=HEAD, block=then).outputs[0]
    then.outputs = graph.insert(ops.sum, head, dim=(0,), keepdim=False, block=then).outputs
    other.outputs = graph.insert(ops.sum, x, dim=(0,), keepdim=False, block=other).outputs
    graph.outputs = graph.insert(Control.IF, flag, blocks=(then, other)).outputs
    for one in forms(graph):
        equal(one(row(1), False), row(1).sum())
        with pytest.raises(wb.DimensionError, match=r"holds for twice.shape\[0\] >= 2, and now it is 1"):
            one(row(1), True)


@pytest.mark.parametrize("most", [0, 1, 4])
def test_a_loop_has_the_sizes_of_each_turn(most: int) -> None:
    graph = graph_of(bound("x", ROW))
    (x,) = graph.inputs
    body = Block([bound("i", INT, later=True), bound("y", ROW, later=True)])
    scaled = graph.insert(ops.mul, body.inputs[1], body.inputs[1].tensor.sizes[0], block=body).outputs[0]
    body.outputs = (True, scaled)
    graph.outputs = graph.insert(Control.LOOP, most, True, x, blocks=(body,)).outputs
    # No turn changes it: what comes out has the size of what went in.
    assert graph.outputs[0].tensor.sizes == x.tensor.sizes
    for one in forms(graph):
        for size in (1, 3, 5):
            equal(one(row(size)), row(size) * float(size) ** most)


def test_a_loop_that_changes_a_size_has_one_of_its_own() -> None:
    graph = graph_of(bound("x", ROW))
    (x,) = graph.inputs
    body = Block([bound("i", INT, later=True), bound("y", ROW, later=True)])
    # As many as there were, where there were three; three where there were more.
    parts = [
        graph.insert(ops.index, body.inputs[1], key=(key,), block=body).outputs[0]
        for key in (slice(None, 1), slice(-2, None))
    ]
    body.outputs = (True, *graph.insert(ops.cat, *parts, dim=0, block=body).outputs)
    (found,) = graph.insert(Control.LOOP, 2, True, x, blocks=(body,)).outputs
    assert [str(one) for one in found.tensor.sizes] == ["loop.shape[0]"]
    graph.outputs = graph.insert(ops.add, found, x).outputs
    for one in forms(graph):
        equal(one(row(3)), row(3) * 2)
        with pytest.raises(
            wb.DimensionError, match=r"loop.shape\[0\] == x.shape\[0\], and now it is 3 and 6"
        ):
            one(row(6))


def test_a_function_is_called_for_other_sizes_each_time() -> None:
    graph = graph_of(bound("x", ROW))
    (x,) = graph.inputs
    function = SubGraph([bound("p", ROW)], name="scaled")
    (p,) = function.inputs
    half = graph.insert(ops.index, p, key=TAIL, block=function).outputs[0]
    function.outputs = graph.insert(ops.mul, half, p.tensor.sizes[0], block=function).outputs
    graph.functions["scaled"] = function
    assert [str(one) for one in function.guards] == ["p.shape[0] >= 1"]
    first = graph.insert(function, x).outputs[0]
    assert [str(one) for one in first.tensor.sizes] == ["x.shape[0] - 1"]
    # The function is written for three, and this is a call with two.
    graph.outputs = graph.insert(ops.sum, first, dim=(0,), keepdim=True).outputs
    for one in forms(graph):
        for size in (1, 3, 6):
            equal(one(row(size)), (row(size)[1:] * size).sum(0, keepdim=True))
        with pytest.raises(wb.DimensionError, match=r"holds for p.shape\[0\] >= 1, and now it is 0"):
            one(row(0))
    twice = graph_of(bound("x", ROW))
    twice.functions["scaled"] = function
    (long,) = twice.insert(ops.cat, twice.inputs[0], twice.inputs[0], dim=0).outputs
    (short,) = twice.insert(ops.index, long, key=(slice(None, 3),)).outputs
    results = [twice.insert(function, one).outputs[0] for one in (short, twice.inputs[0])]
    twice.outputs = twice.insert(ops.cat, *results, dim=0).outputs
    for one in forms(twice):
        equal(one(row(4)), wb.cat([row(4)[1:3] * 3, row(4)[1:] * 4]))


def test_sizes_of_what_a_module_gives_are_known_when_it_has() -> None:
    class Half(wb.nn.Module):
        def forward(self, x: wb.Tensor) -> wb.Tensor:
            return x[: (x.shape[0] + 1) // 2]

    graph = graph_of(bound("x", ROW))
    (x,) = graph.inputs
    graph.modules["half"] = Half()
    node = graph.insert(LeafModule("half"), x, types=(type_of(wb.ones(N=2)),))
    (made,) = node.outputs
    scaled = graph.insert(ops.mul, x, made.tensor.sizes[0])
    graph.outputs = scaled.outputs
    with pytest.raises(GraphError, match="cannot remove half: half is still read by mul"):
        graph.remove(node)
    for one in [*forms(graph), passes.dead_code(graph), passes.common_subexpressions(graph)]:
        for size in (1, 3, 8):
            equal(one(row(size)), row(size) * ((size + 1) // 2))
    # What is sized takes the place of what was sized before.
    graph.replace(made, graph.insert(ops.index, x, key=HEAD, before=node).outputs[0])
    assert "mul(%x, 2)" in text(graph)


def test_passes_keep_what_a_guard_asks_for() -> None:
    graph = ends()
    (found,) = graph.outputs
    head = graph.insert(ops.index, graph.inputs[0], key=HEAD).outputs[0]
    graph.insert(ops.add, found, head)
    graph.outputs = graph.insert(ops.neg, graph.inputs[0]).outputs
    with pytest.raises(GraphError, match="cannot remove if_: if_ is still read by add"):
        graph.remove(found.node)
    for step in (passes.dead_code, passes.common_subexpressions, passes.constant_fold):
        cleared = check(step(graph))
        equal(cleared(row(7), True), -row(7))
        with pytest.raises(wb.DimensionError, match="and now it is 6"):
            cleared(row(7), False)
    with pytest.raises(GraphError, match="cannot remove if_: if_ is still read by a guard"):
        cleared.remove(next(node for node, _ in cleared.walk() if node.name == "if_"))


def test_a_text_may_ask_for_sizes_that_follow() -> None:
    graph = parse(
        "g(%x : f32[N:3], %flag : bool):\n"
        "  %if_ : f32[N:3] = if(%flag):\n"
        "    then():\n      %neg : f32[N:3] = neg(%x)\n      return %neg\n"
        "    else():\n      return %x\n"
        "  assert %if_.shape[0] > 1\n"
        "  %mul : f32[N:3] = mul(%if_, %if_.shape[0])\n"
        "  return %mul"
    )
    assert "mul(%if_, %x.shape[0])" in text(graph)
    assert text(graph).splitlines()[1] == "  assert %x.shape[0] > 1"
    equal(graph(row(5), False), row(5) * 5)
    with pytest.raises(wb.DimensionError, match=r"holds for x.shape\[0\] > 1, and now it is 1"):
        graph(row(1), True)


def test_sizes_that_are_not_known_yet_are_no_operands() -> None:
    graph = ends()
    (found,) = graph.outputs
    graph.insert(ops.mul, graph.inputs[0], found.tensor.sizes[0], before=found.node)
    with pytest.raises(GraphError, match=r"mul asks for if_.shape\[0\] before it is known"):
        check(graph)


def test_numbers_are_no_sizes_of_what_a_run_is_given() -> None:
    graph = graph_of(Value("x", ROW))
    with pytest.raises(
        GraphError,
        match=r"x : f32\[N:3\] is given where a run may have another size than 3: "
        r"wb.graph.types.symbolic\('x', type\) makes sizes that a run binds",
    ):
        check(graph)
    graph = ends()
    body = Block([Value("i", INT), bound("y", ROW)])
    body.outputs = (True, body.inputs[1])
    graph.insert(Control.LOOP, 1, True, graph.inputs[0], blocks=(body,))
    with pytest.raises(GraphError, match=r"symbolic\('y', type, later=True\)"):
        check(graph)
    graph = ends()
    graph.outputs[0].type = type_of(wb.ones(N=2))
    with pytest.raises(GraphError, match=r"if_ : .* is given where a run may have another size than 2"):
        check(graph)


def test_a_graph_says_all_that_its_rules_decide() -> None:
    graph = ends()
    head = graph.insert(ops.index, graph.inputs[0], key=HEAD).outputs[0]
    graph.insert(ops.add, graph.outputs[0], head)
    del graph.guards[1]
    with pytest.raises(
        GraphError, match=r"the types of g hold where if_.shape\[0\] == 2, and no guard says so"
    ):
        check(graph)


def test_a_value_of_any_type_has_no_sizes() -> None:
    graph = graph_of(bound("x", ROW))
    (made,) = graph.insert(named("wb.clone"), graph.inputs[0], types=(TENSOR,)).outputs
    graph.outputs = graph.insert(ops.neg, made).outputs
    for size in (0, 2, 5):
        equal(graph(row(size)), -row(size))


def test_dead_code_keeps_what_only_a_size_is_read_of() -> None:
    graph = ends()
    size = graph.outputs[0].tensor.sizes[0]
    graph.outputs = graph.insert(ops.mul, graph.inputs[0], size).outputs
    clear = passes.dead_code(graph)
    assert "if_" in text(clear)
    graph.outputs = (size + 1,)
    told = passes.dead_code(graph)
    for count in (2, 3, 7):
        for flag, half in ((True, 2), (False, count - 1)):
            equal(clear(row(count), flag), row(count) * half)
            assert told(row(count), flag) == half + 1
    # Within a block likewise, which others stand in.
    graph = ends()
    x, flag = graph.inputs
    inner = Block()
    inner.outputs = graph.insert(ops.mul, x, graph.outputs[0].tensor.sizes[0], block=inner).outputs
    other = Block()
    other.outputs = (x,)
    graph.outputs = graph.insert(Control.IF, True, blocks=(inner, other)).outputs
    equal(passes.dead_code(graph)(row(5), False), row(5) * 4)


def test_sizes_that_follow_may_not_be_written_otherwise() -> None:
    graph = check(alike())
    graph.outputs[0].type = type_of(wb.ones(N=3))
    with pytest.raises(GraphError, match=r"if_ has sizes \[3\], and by what makes it \[x.shape\[0\]\]"):
        check(graph)
