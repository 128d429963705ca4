"""Memory plans: a graph that is run in the planned block of memory gives what it gives by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graph.test_fuse_elementwise import Shown
from tests.graph.test_outlining import INPUTS
from workbench import models
from workbench.core.op import ops
from workbench.graph import Graph, Node, SubGraph, Value, check, parse, trace
from workbench.graph.blocks import filled
from workbench.graph.memory import Buffer, MemoryPlan, placed, plan_memory
from workbench.graph.passes import freeze, fuse_conv_batch_norm, fuse_convolutions, fuse_elementwise


def run_in(plan: MemoryPlan, graph: Graph, *inputs: Any) -> Any:
    """Run a graph with every planned value at its place: what is written over too soon is wrong at the end."""
    arena = np.full(plan.bytes, 0xFF, np.uint8)
    known: dict[Value, Any] = {**graph.held(), **dict(zip(graph.inputs, inputs, strict=True))}
    for node in graph.nodes:
        operands, params = filled(node.inputs, known.__getitem__), filled(node.params, known.__getitem__)
        if isinstance(node.callee, SubGraph):
            found = Graph(
                inputs=node.callee.inputs,
                nodes=node.callee.nodes,
                outputs=node.callee.outputs,
                single=node.callee.single,
            )(*operands)
        else:
            found = node.op(*operands, **params)
        for value, one in zip(node.outputs, found if isinstance(found, tuple) else (found,), strict=True):
            known[value] = laid(plan, arena, node, value, one)
    return filled(graph.outputs, lambda value: np.array(known[value].numpy()))


def laid(plan: MemoryPlan, arena: Any, node: Node, value: Value, found: Any) -> Any:
    """Return a result that lies where the plan says."""
    buffer, array = plan.buffer(value), found.detach().numpy()
    if buffer is None:
        # Apart, in memory of its own.
        return found if node.op is not None and node.op.view else wb.tensor(array.copy())
    if np.shares_memory(array, arena):
        start = array.__array_interface__["data"][0] - arena.__array_interface__["data"][0]
        assert buffer.offset <= start < buffer.offset + max(buffer.bytes, 1)
        return found
    # A view that is not there, or memory too small, would be a mistake of the plan.
    assert array.nbytes == buffer.bytes
    place = arena[buffer.offset : buffer.offset + buffer.bytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return wb.from_numpy(place)


def judge(plan: MemoryPlan) -> None:
    """No two buffers that are needed at one time overlap; nothing is larger than it can be, or smaller than it must."""
    for i, one in enumerate(plan.buffers):
        assert one.offset % plan.alignment == 0 and one.offset + one.bytes <= plan.bytes
        for other in plan.buffers[:i]:
            if one.first <= other.last and other.first <= one.last:
                assert one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    assert plan.least <= plan.bytes <= plan.sum
    values = [value for one in plan.buffers for value in one.values]
    assert len(values) == len(set(values)) and not set(values) & set(plan.apart)


UNARY = ("exp", "neg", "tanh", "relu")
BINARY = ("add", "mul", "sub", "maximum")


@st.composite
def layouts(draw: Any) -> Graph:
    """A graph of squares: elementwise ops, products, views in all orders, several results."""
    graph = parse(
        "g(%x : f32[·=4, ·=4], %y : f32[·=4, ·=4]):\n  %mul : f32[·:4, ·:4] = mul(%x, 1)\n  return %mul"
    )
    known = [*graph.inputs, *graph.nodes[0].outputs]
    for _ in range(draw(st.integers(2, 14))):
        one, other = (draw(st.sampled_from(known)) for _ in range(2))
        kind = draw(
            st.sampled_from(["unary", "binary", "product", "turn", "rows", "part", "several", "name", "type"])
        )
        if kind == "unary":
            node = graph.insert(getattr(ops, draw(st.sampled_from(UNARY))), one)
        elif kind == "binary":
            node = graph.insert(getattr(ops, draw(st.sampled_from(BINARY))), one, other)
        elif kind == "product":
            node = graph.insert(ops.tanh, *graph.insert(ops.matmul, one, other).outputs)
        elif kind == "turn":
            node = graph.insert(ops.permute, one, dim=(1, 0))
        elif kind == "rows":
            node = graph.insert(ops.flatten, one, start=0, end=1, name=None)
            node = graph.insert(ops.unflatten, *node.outputs, dim=0, sizes=(4, 4), names=(None, None))
        elif kind == "part":
            key = draw(st.sampled_from([(slice(2), slice(None)), (slice(None), slice(1, None, 2))]))
            node = graph.insert(
                ops.cat,
                *(graph.insert(ops.index, one, key=key).outputs * 2),
                dim=draw(st.just(0 if key[0] == slice(2) else 1)),
            )
        elif kind == "several":
            node = graph.insert(ops.layer_norm, one, count=1, eps=1e-5)
            known.append(graph.insert(ops.add, node.outputs[1], one).outputs[0])
        elif kind == "name":
            node = graph.insert(ops.detach, one)
        else:
            node = graph.insert(
                ops.to, *graph.insert(ops.to, one, dtype=np.dtype("f8")).outputs, dtype=np.dtype("f4")
            )
        known.append(node.outputs[0])
    graph.single = False
    graph.outputs = tuple(draw(st.lists(st.sampled_from(known[2:]), min_size=1, max_size=3)))
    return graph


@given(layouts().map(Shown), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_run_in_their_plan(drawn: Shown, fuse: bool) -> None:
    graph = check(drawn.graph)
    if fuse:
        graph = fuse_elementwise(fuse_convolutions(graph))
    plan = plan_memory(graph)
    judge(plan)
    event("shared" if plan.shared() else "each for itself")
    x, y = wb.rand(4, 4) - 0.5, wb.rand(4, 4) - 0.5
    for found, expected in zip(run_in(plan, graph, x, y), graph(x, y), strict=True):
        np.testing.assert_array_equal(found, expected.numpy())


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10), st.integers(0, 5000)), max_size=40),
    st.sampled_from([1, 8, 64]),
)
@settings(max_examples=200, deadline=None)
def test_random_buffers(drawn: list[tuple[int, int, int]], alignment: int) -> None:
    found = placed([Buffer(first, first + more, size) for first, more, size in drawn], alignment)
    size = max((one.offset + -(-one.bytes // alignment) * alignment for one in found), default=0)
    plan = MemoryPlan(size, tuple(found), (), alignment)
    judge(plan)
    assert [(one.first, one.last - one.first, one.bytes) for one in found] == drawn


@pytest.mark.parametrize("name", INPUTS)
def test_models_take_little_more_than_they_must(name: str) -> None:
    graph = fuse_conv_batch_norm(freeze(trace(getattr(models, name)().eval(), INPUTS[name])))
    for one in (graph, fuse_elementwise(fuse_convolutions(graph))):
        plan = plan_memory(one)
        judge(plan)
        assert plan.bytes <= 1.1 * plan.least and plan.bytes < plan.sum
    # Eight times as many samples take eight times the memory, but for what each buffer is rounded up to.
    more = plan_memory(one, {one.inputs[0].name: (16, *list(INPUTS[name].values())[1:])})
    assert 6 * plan.bytes < more.bytes <= 8 * plan.bytes


def named(plan: MemoryPlan) -> list[list[str]]:
    return [[value.name for value in one.values] for one in plan.buffers]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        # In place, as long as nothing reads what is written over.
        (lambda x: (x @ x).exp().neg().sum(), [["matmul", "exp", "neg"]]),
        (lambda x: (lambda y: (y.exp() + y).sum())(x @ x), [["matmul"], ["exp", "add"]]),
        (lambda x: (lambda y: (y + y).sum())(x @ x), [["matmul", "add"]]),
        # A view that lies otherwise is read at the same time.
        (lambda x: (lambda y: (y + y.t()).sum())(x @ x), [["matmul", "permute"], ["add"]]),
        # Stretched, of another type, or apart from the start: each for itself.
        (lambda x: ((x @ x)[:1].exp() + x).sum(), [["matmul", "index"], ["exp"], ["add"]]),
        (lambda x: ((x @ x) > 0).sum(), [["matmul"], ["gt"]]),
        (lambda x: (x.exp() @ x).sum(), [["exp"], ["matmul"]]),
        # Turned, rows are copied.
        (lambda x: (x @ x).t().reshape(16).exp().sum(), [["matmul", "permute"], ["reshape", "exp"]]),
        (lambda x: (x @ x).reshape(16).exp().sum(), [["matmul", "reshape", "exp"]]),
        # What is returned outlives the run, with all that shares its memory.
        (lambda x: (x @ x).exp(), []),
        (lambda x: (x @ x).reshape(16), []),
        (lambda x: (lambda y: (y.reshape(16), y.exp().sum()))(x @ x), [["exp"]]),
    ],
)  # fmt: skip
def test_what_shares_memory(function: Any, expected: list[list[str]]) -> None:
    plan = plan_memory(trace(function, wb.ones(4, 4)))
    judge(plan)
    assert [one for one in named(plan) if one not in (["sum"], ["sum_1"])] == expected


def test_what_may_be_taken_can_be_said() -> None:
    graph = trace(lambda x: (x @ x).exp().neg().sum(), wb.ones(4, 4))
    assert plan_memory(graph, in_place=lambda node: ()).shared() == []
    convolution = fuse_convolutions(trace(lambda x: (x.exp() @ x + x.sin()).sum(), wb.ones(4, 4)))
    over = plan_memory(convolution, in_place=lambda node: node.values[-1:] if node.op is None else ())
    assert ["sin", "add"] in named(over)


def test_what_only_a_run_knows_lies_apart() -> None:
    graph = parse(
        """g(%x : f32[N:3], %k : bool):
  %a : f32[N:3] = exp(%x)
  %y : f32[N:3] = if(%k):
    then():
      %b : f32[N:3] = neg(%a)
      return %b
    else():
      return %a
  %c : f32[N:3] = sin(%y)
  %d : f32[] = sum(%c, dim=(0,), keepdim=False)
  return %d"""
    )
    plan = plan_memory(graph)
    # What the branch may give lies where it is: `a` is read as long as `y` is.
    assert named(plan) == [["c"]]
    assert [value.name for value in plan.apart] == ["a", "y", "b", "d"]


def test_a_function_that_gives_what_it_is_given_shares_it() -> None:
    graph = parse(
        """same(%p : f32[N:3]):
  %q : f32[N:3] = detach(%p)
  return %q

g(%x : f32[N:3]):
  %a : f32[N:3] = exp(%x)
  %y : f32[N:3] = @same(%a)
  %b : f32[N:3] = sin(%x)
  %c : f32[N:3] = add(%b, %y)
  %d : f32[] = sum(%c, dim=(0,), keepdim=False)
  return %d"""
    )
    assert named(plan_memory(graph)) == [["b", "c"]]


def test_sizes_that_the_graph_is_not_made_for_are_refused() -> None:
    graph = trace(wb.nn.Linear(3, 4), wb.ones(2, 3))
    with pytest.raises(wb.DimensionError, match=r"was 3 in the trace"):
        plan_memory(graph, {"input": (2, 5)})
    with pytest.raises(ValueError, match=r"Linear has no tensor 'x' among its inputs \['input'\]"):
        plan_memory(graph, {"x": (2, 3)})
    with pytest.raises(ValueError, match=r"input has 2 dims .*, not \[2\]"):
        plan_memory(graph, {"input": (2,)})


def test_what_is_returned_in_lists_and_dicts_lies_apart() -> None:
    graph = trace(lambda x: {"a": [x.exp()], "b": (x @ x).t()}, wb.ones(4, 4))
    assert plan_memory(graph).buffers == ()


def test_of_nothing_nothing_is_planned() -> None:
    plan = plan_memory(trace(lambda x: x, wb.ones(2)))
    assert (plan.bytes, plan.sum, plan.least, plan.buffers) == (0, 0, 0, ())
    empty = plan_memory(trace(lambda x: (x @ x).exp().sum(), wb.ones(4, 4)), {"x": (0, 0)})
    assert empty.bytes == 0
