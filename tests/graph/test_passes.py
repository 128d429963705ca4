"""Passes keep the numbers and the graph they are given; building and changing graphs by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.op import ops
from workbench.graph import Graph, GraphError, check, text, trace
from workbench.graph.passes import (
    common_subexpressions,
    constant_fold,
    dead_code,
    freeze,
    fuse_conv_batch_norm,
    run_passes,
)
from workbench.models import DigitsNet

ALL = [fuse_conv_batch_norm, constant_fold, common_subexpressions, dead_code]


def ops_of(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def trained() -> Any:
    """The model for digits with statistics that are not those it starts with."""
    model = DigitsNet()
    model(wb.randn(N=8, C=1, H=28, W=28))
    for norm in (model.bn1, model.bn2):
        with wb.no_grad():
            norm.weight.copy_(wb.rand(norm.num_features) + 0.5)
            norm.bias.copy_(wb.randn(norm.num_features))
    return model.eval()


# ------------------------------------------------------------------------------------------------ passes


def test_steps_remember_before_and_after() -> None:
    model = trained()
    graph = trace(model, wb.zeros(N=2, C=1, H=28, W=28))
    before = text(graph)
    steps = run_passes(graph, ALL)
    assert [step.name for step in steps] == [one.__name__ for one in ALL]
    assert steps[0].before is graph
    assert all(one.after is other.before for one, other in itertools.pairwise(steps))
    assert text(graph) == before
    x = wb.randn(N=3, C=1, H=28, W=28)
    expected = model(x).detach().numpy()
    for step in steps:
        np.testing.assert_allclose(step.after(x).detach().numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_batch_normalisation_folds_into_the_convolution_before_it(bias: bool, named: bool) -> None:
    model = wb.nn.Sequential(wb.nn.Conv2d(2, 3, 3, bias=bias), wb.nn.BatchNorm2d(3))
    model(wb.randn(8, 2, 6, 6))
    model.eval()
    if not named:
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.rename_(None)
    x = wb.randn(N=2, C=2, H=6, W=6)
    graph = trace(model, x)
    folded = check(fuse_conv_batch_norm(graph))
    assert ops_of(folded) == ["conv2d"]
    np.testing.assert_allclose(folded(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert folded(x).names == model(x).names


def test_two_calls_are_one_only_if_every_value_of_their_parameters_is_equal() -> None:
    first = np.arange(5000)
    second = first.copy()
    second[2500] = 0  # in the middle, where NumPy's own text of it says only "..."
    graph = trace(lambda x: x[first] + x[second] + x[first], wb.ones(5000))
    once = check(common_subexpressions(graph))
    assert ops_of(once).count("pick") == 2
    x = wb.randn(5000)
    np.testing.assert_array_equal(once(x).numpy(), graph(x).numpy())


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), (1, True), (0.0, -0.0)])
def test_numbers_of_different_kind_are_different(left: Any, right: Any) -> None:
    graph = trace(lambda x: (x / left, x / right), wb.ones(2))
    assert len(common_subexpressions(graph).nodes) == 2


def test_calls_with_equal_sizes_become_one_and_guards_stay() -> None:
    def function(x: wb.Tensor) -> Any:
        one, other = x.reshape(x.shape[0] * 3, -1), x.reshape(3 * len(x), -1)
        return one + other

    once = check(common_subexpressions(trace(function, wb.ones(2, 6))))
    assert ops_of(once) == ["reshape", "add"]
    with pytest.raises(wb.DimensionError, match=r"the graph holds for x.shape\[0\] == 2, and now it is 3"):
        once(wb.ones(3, 6))


def test_what_depends_on_sizes_is_not_folded() -> None:
    def function(x: wb.Tensor) -> Any:
        return x.sum() + (wb.ones(1) * x.shape[0]).sum()

    folded = check(constant_fold(trace(function, wb.ones(2))))
    assert folded(wb.ones(5)).item() == 10


def test_folded_constants_do_not_follow_their_parameter() -> None:
    layer = wb.nn.Linear(2, 2)
    layer.forward = lambda x: x @ layer.weight.t()  # type: ignore[method-assign]
    folded = check(constant_fold(trace(layer, wb.ones(1, 2))))
    assert ops_of(folded) == ["matmul"]
    before = folded(wb.ones(1, 2)).numpy().copy()
    with wb.no_grad():
        layer.weight.zero_()
    np.testing.assert_array_equal(folded(wb.ones(1, 2)).numpy(), before)


def test_a_frozen_graph_has_copies_unless_it_is_told_to_share() -> None:
    layer = wb.nn.Linear(2, 3)
    graph = trace(layer, wb.ones(N=1, in_features=2))
    for copies in (True, False):
        frozen = check(freeze(graph, copies))
        held = {value.name: one for value, one in frozen.constants.items()}
        assert not any(one.requires_grad for one in held.values()) and not frozen.parameters
        for name, parameter in layer.named_parameters():
            assert np.shares_memory(held[name].payload, parameter.payload) is not copies
        np.testing.assert_array_equal(frozen(wb.ones(1, 2)).numpy(), layer(wb.ones(1, 2)).detach().numpy())


def test_nodes_and_tensors_that_nothing_needs_go() -> None:
    def function(x: wb.Tensor) -> Any:
        _ = x.exp() + wb.ones(2)
        return x * 2

    graph = check(dead_code(trace(function, wb.ones(2))))
    assert ops_of(graph) == ["mul"]
    assert not graph.constants


UNARY = ["relu", "exp", "neg", "abs", "tanh"]
BINARY = ["add", "mul", "sub", "maximum"]
STEPS = st.tuples(st.sampled_from(UNARY + BINARY), st.integers(0, 9), st.integers(0, 9))


@given(st.lists(STEPS, min_size=1, max_size=10))
def test_passes_keep_random_programs_to_the_bit(steps: list[tuple[str, int, int]]) -> None:
    shift = wb.randn(N=2, C=3)

    def program(x: wb.Tensor) -> Any:
        values = [x, shift, x * 2]
        for name, i, j in steps:
            operands = [values[i % len(values)]] + ([values[j % len(values)]] if name in BINARY else [])
            values.append(getattr(ops, name)(*operands).clamp(-5.0, 5.0))
        return values[-1], values[-2]

    graph = check(trace(program, wb.zeros(N=2, C=3)))
    x = wb.randn(N=2, C=3)
    for step in run_passes(graph, ALL):
        for one, expected in zip(step.after(x), program(x), strict=True):
            np.testing.assert_array_equal(one.numpy(), expected.numpy())
            assert one.names == expected.names


# --------------------------------------------------------------------------------------- changes by hand


def test_nodes_are_inserted_with_the_types_that_follow() -> None:
    graph = trace(lambda x: (x * 2).sum("C"), wb.ones(N=2, C=3))
    product, total = graph.nodes
    shift = graph.hold(wb.ones(C=3), "shift")
    added = graph.insert(ops.add, product.outputs[0], shift, before=total, like=product)
    total.inputs = added.outputs
    check(graph)
    assert ops_of(graph) == ["mul", "add", "sum"]
    assert repr(added.outputs[0]) == "%add : f32[N:2, C:3]"
    assert added.source == product.source
    np.testing.assert_array_equal(graph(wb.ones(N=1, C=3)).numpy(), [9.0])


def test_what_the_rules_refuse_is_not_inserted() -> None:
    graph = trace(lambda x: x * 2, wb.ones(N=2, C=3))
    with pytest.raises(wb.DimensionError, match="do not match"):
        graph.insert(ops.add, graph.outputs[0], graph.hold(wb.ones(K=3)))
    assert ops_of(graph) == ["mul"]


def test_a_copy_is_a_graph_of_its_own() -> None:
    graph = trace(lambda x: x * 2, wb.ones(2))
    other = graph.copy()
    other.outputs = other.insert(ops.neg, other.outputs[0]).outputs
    assert ops_of(graph) == ["mul"]
    np.testing.assert_array_equal(graph(wb.ones(2)).numpy(), [2.0, 2.0])
    np.testing.assert_array_equal(other(wb.ones(2)).numpy(), [-2.0, -2.0])


def test_uses_follow_a_replacement() -> None:
    graph = trace(lambda x: (x.exp() + x.exp(), x.exp()), wb.ones(2))
    first, second, *_ = graph.nodes
    graph.replace(second.outputs[0], first.outputs[0])
    graph.remove(second)
    check(graph)
    assert [node.name for node in graph.users()[first.outputs[0]]] == ["add"]
    with pytest.raises(GraphError, match="still read by"):
        graph.remove(first)
