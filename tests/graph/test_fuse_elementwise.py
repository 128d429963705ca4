"""Elementwise ops that are put together: the same numbers, to the bit, and nothing in them that is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graph.test_outlining import INPUTS, inside, numbers
from tests.graph.test_random_graphs import graphs, plain, same
from workbench import models
from workbench.core.op import ops
from workbench.graph import Graph, check, parse, python_text, text, trace
from workbench.graph.outlining import Outliner
from workbench.graph.passes import (
    common_subexpressions,
    differentiate,
    freeze,
    fuse_conv_batch_norm,
    fuse_convolutions,
    fuse_elementwise,
    inline,
)

ONES = wb.ones(3, 4)


@pytest.mark.parametrize(
    ("function", "groups"),
    [
        (lambda x: (x * 2).exp() + 1, [["mul", "exp", "add"]]),
        (lambda x: (x * 2).exp().sum(1).exp().neg(), [["mul", "exp"], ["exp", "neg"]]),
        # Bools and integers on the way; a condition.
        (lambda x: wb.where((x > 0) & (x < 1), x.sin(), -1.0), [["gt", "lt", "bitwise_and", "sin", "where"]]),
        (lambda x: x.double().exp().float(), [["to", "exp", "to"]]),
        # A number a channel, and one in all, are stretched; what is computed of them alone is computed once.
        (lambda x: (x * x[0].exp().neg() + x.sum().sqrt().exp()).tanh(),
         [["exp", "neg"], ["sqrt", "exp"], ["mul", "add", "tanh"]]),
        # Read by something else as well: a second result.
        (lambda x: (lambda y: (y.neg(), y @ y.t()))(x.exp()), [["exp", "neg"]]),
        (lambda x: (lambda y: (y.neg().abs(), y, y.sum()))(x.exp().sin()), [["exp", "sin", "neg", "abs"]]),
        # What comes in between is needed, and needs what comes before.
        (lambda x: (lambda y: y.sin() + y.sum())(x.exp().neg()), [["exp", "neg"], ["sin", "add"]]),
        # One alone, other sizes, no elementwise op.
        (lambda x: x.exp().sum(), []),
        (lambda x: (x[:1].exp() + x).sum(), []),
        (lambda x: x.softmax(1).t(), []),
        (lambda x: (x.sum() * x.shape[0] * 2, x.exp()), [["mul", "mul"]]),
        # Names and histories change no number, and are no reason for a group.
        (lambda x: (x * 2).rename("A", "B").exp().detach().neg(), [["mul", "rename", "exp", "detach", "neg"]]),
        (lambda x: x.rename("A", "B").exp().detach().sum(), []),
        (lambda x: (x * x.shape[0]).exp(), [["mul", "exp"]]),
        (lambda x: (x / (x.shape[0] * x.shape[1])).exp() - x.shape[0] ** 0.5, [["div", "exp", "sub"]]),
    ],
)  # fmt: skip
def test_what_stands_in_a_group(function: Any, groups: list[list[str]]) -> None:
    graph = common_subexpressions(trace(function, ONES))
    before = text(graph)
    made = check(fuse_elementwise(graph))
    assert text(graph) == before
    if "x.shape[0]" in before and groups == [["mul", "mul"]]:
        # The number of rows is a size that the sum does not show.
        groups = []
    assert inside(made) == groups
    assert {one.kind for one in made.functions.values()} <= {"fused_elementwise"}
    for rows in (3, 5):
        x = wb.rand(rows, 4)
        for a, b in zip(
            *(each if isinstance(each := one(x), tuple) else (each,) for one in (graph, made)), strict=True
        ):
            np.testing.assert_array_equal(numbers(a), numbers(b))
            assert a.dtype == b.dtype and a.names == b.names
    assert sorted(text(inline(made)).splitlines()) == sorted(before.splitlines())
    assert text(fuse_elementwise(made)) == text(made)


def test_what_cannot_be_had_is_left_out() -> None:
    graph = trace(lambda x: x.exp().neg().sin().abs().cos(), ONES)
    assert inside(fuse_elementwise(graph, lambda node: node.op is not ops.sin)) == [
        ["exp", "neg"],
        ["abs", "cos"],
    ]


def test_several_results_save_a_pass_and_one_is_preferred() -> None:
    graph = trace(lambda x: (lambda y: (y.neg().abs(), y @ y.t()))(x.exp()), ONES)
    (function,) = fuse_elementwise(graph).functions.values()
    assert len(function.outputs) == 2 and not function.single
    alone = trace(lambda x: x.exp().neg().abs(), ONES)
    (function,) = fuse_elementwise(alone).functions.values()
    assert len(function.outputs) == 1 and function.single


def test_fused_convolutions_keep_what_they_have() -> None:
    conv = wb.nn.Conv2d(3, 3, 1)
    graph = trace(lambda x: (conv(x).relu() * 2).exp(), wb.ones(1, 3, 4, 4))
    assert inside(fuse_elementwise(fuse_convolutions(graph))) == [["conv2d", "relu"], ["mul", "exp"]]


def test_memory_draws_and_blocks_are_respected() -> None:
    graph = parse(
        """g(%x : f32[N:3], %k : bool):
  %a : f32[N:3] = exp(%x)
  %z : f32[N:3] = Tensor.zero_(%x) writes %x
  %b : f32[N:3] = add(%a, %x)
  %c : f32[N:3] = neg(%b)
  %y : f32[N:3] = loop(3, %k, %c):
    body(%i : int, %p : f32[N:3]):
      %q : f32[N:3] = mul(%p, %i)
      %r : f32[N:3] = add(%q, 1)
      return True, %r
  return %y"""
    )
    made = check(fuse_elementwise(graph))
    # exp comes before what changes x, and add behind.
    assert inside(made) == [["add", "neg"], ["mul", "add"]]
    for k in (True, False):
        x = wb.rand(3).rename("N")
        same(made(x.clone(), k), graph(x.clone(), k))
    drawn = trace(lambda x: wb.nn.functional.dropout(x.exp() * 2) + 1, ONES)
    made = check(fuse_elementwise(drawn))
    assert inside(made) == [["exp", "mul"]] and made.seeds
    wb.manual_seed(3)
    one = drawn(ONES)
    wb.manual_seed(3)
    same(one, made(ONES))


def test_guards_of_a_group_are_asked_for_by_the_line_that_made_it() -> None:
    graph = trace(lambda x, y: (x + y).exp(), wb.ones(N=3), wb.ones(N=3))
    (function,) = fuse_elementwise(graph).functions.values()
    assert {one.source for one in function.guards} == {one.source for one in graph.guards}


UNARY = ("exp", "neg", "sin", "relu", "abs", "sigmoid")
BINARY = ("add", "mul", "sub", "maximum", "minimum")


class Shown:
    """A graph that is shown as its text where a test fails: hypothesis would show all that it refers to."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return text(self.graph)


@st.composite
def pointwise(draw: Any) -> Graph:
    """A graph of elementwise ops on matrices, rows, columns and single numbers, with others between them."""
    graph = trace(
        lambda x, y, row, column: (x * 1, y, row, column),
        wb.ones(3, 4),
        wb.ones(3, 4),
        wb.ones(4),
        wb.ones(3, 1),
    )
    known = [*graph.inputs, graph.nodes[0].outputs[0]]
    for _ in range(draw(st.integers(2, 12))):
        kind = draw(st.sampled_from(["unary", "binary", "binary", "compare", "sum", "number"]))
        one, other = (draw(st.sampled_from(known)) for _ in range(2))
        if kind == "unary":
            node = graph.insert(getattr(ops, draw(st.sampled_from(UNARY))), one)
            node = graph.insert(ops.tanh, *node.outputs)
        elif kind == "binary":
            node = graph.insert(getattr(ops, draw(st.sampled_from(BINARY))), one, other)
        elif kind == "compare":
            node = graph.insert(ops.where, graph.insert(ops.lt, one, other).outputs[0], one, 0.5)
        elif kind == "sum":
            rank = len(one.tensor.dims.sizes)
            node = graph.insert(ops.sum, one, dim=(rank - 1,) if rank else (), keepdim=True)
        else:
            node = graph.insert(ops.mul, one, draw(st.sampled_from([0.5, -1.0, 2])))
        known += node.outputs
    graph.single = False
    graph.outputs = tuple(draw(st.lists(st.sampled_from(known[4:]), min_size=1, max_size=3)))
    return graph


@given(pointwise().map(Shown))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_of_elementwise_ops(drawn: Shown) -> None:
    graph = drawn.graph
    made = check(fuse_elementwise(check(graph)))
    event(f"{len(made.functions)} groups")
    event(f"at most {max((len(one.outputs) for one in made.functions.values()), default=0)} results")
    for rows in (3, 6):
        given = wb.rand(rows, 4), wb.rand(rows, 4), wb.rand(4), wb.rand(rows, 1)
        try:
            expected = graph(*given)
        except wb.DimensionError:
            continue
        same(made(*given), expected)
        same(inline(made)(*given), expected)
    for function in made.functions.values():
        sizes = {tuple(value.tensor.dims.sizes) for node in function.nodes for value in node.outputs}
        assert len(sizes) == 1 and len(function.nodes) > 1
    # As large as can be: no node that alone reads what an elementwise one of its sizes makes stands apart from it.
    outliner = Outliner(made)
    for node in made.nodes:
        after = outliner.only_reader(node.outputs[0])
        both = [
            one is not None and (one.op is None or "elementwise" in one.op.properties)
            for one in (node, after)
        ]
        if all(both) and after is not None and len(node.outputs) == 1:
            assert outliner.sizes(node, node.outputs[0]) != outliner.sizes(node, after.outputs[0])
    assert text(parse(text(made))) == text(made)
    same(parse(python_text(made))(*given), made(*given))


@given(graphs(), st.integers(-2, 2), st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_with_blocks(graph: Graph, n: int, b: bool) -> None:
    x = wb.tensor([0.5, -1.0, 2.0], names=("N",))
    (expected,) = plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))
    made = check(fuse_elementwise(graph))
    event("some" if len(made.functions) > 1 else "none")
    same(made(x, n, b), expected)
    same(inline(made)(x, n, b), expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", INPUTS)
def test_models_give_the_same_numbers_at_all_sizes(name: str, training: bool) -> None:
    graph = trace(getattr(models, name)().train(training), INPUTS[name])
    if not training:
        graph = fuse_conv_batch_norm(freeze(graph))
    made = check(fuse_elementwise(fuse_convolutions(graph)))
    for count in (2, 3):
        x = wb.rand(count, *list(INPUTS[name].values())[1:]).rename(*INPUTS[name])
        seeds = {value.name: 7 for value in graph.seeds}
        one, other = (wb.graph.run_apart(each, x, seeds=seeds) for each in (graph, made))
        np.testing.assert_array_equal(numbers(one[0]), numbers(other[0]))
        for key, value in one[1].items():
            np.testing.assert_array_equal(value.numpy(), other[1][key].numpy())


def test_a_training_step_is_fused_and_differentiated_after_it() -> None:
    graph = trace(lambda x, y: ((x * y).tanh() + x).sum(), wb.ones(3, 4), wb.ones(4))
    x, y = wb.rand(3, 4), wb.rand(4)
    _, expected = differentiate(graph, ["x", "y"])(x, y)
    for one in (
        differentiate(fuse_elementwise(graph), ["x", "y"]),
        fuse_elementwise(differentiate(graph, ["x", "y"])),
    ):
        assert check(one)
        _, found = one(x, y)
        for name in expected:
            np.testing.assert_array_equal(numbers(found[name]), numbers(expected[name]))
