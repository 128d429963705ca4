"""The graph: traced, run, printed, read, rewritten; each time the same numbers as eager, and refusals in words."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.op import ops
from workbench.graph import (
    Graph,
    GraphError,
    Node,
    TensorType,
    Value,
    check,
    parse,
    passes,
    python_text,
    run,
    text,
    trace,
)
from workbench.graph.types import symbolic
from workbench.models import DigitsNet


@pytest.fixture(scope="module")
def digits() -> wb.nn.Module:
    model = DigitsNet()
    model(wb.randn(N=8, C=1, H=28, W=28))
    return model.eval()


@pytest.fixture(scope="module")
def graph(digits: wb.nn.Module) -> Graph:
    return trace(digits, wb.zeros(N=4, C=1, H=28, W=28))


def images(count: int) -> wb.Tensor:
    return wb.randn(N=count, C=1, H=28, W=28)


def held(graph: Graph) -> dict[str, Any]:
    return {value.name: tensor for value, tensor in graph.held().items()}


def test_a_model_keeps_names_scopes_and_parameters(graph: Graph) -> None:
    check(graph)
    assert [value.name for value in graph.inputs] == ["x"]
    assert "conv1.weight" in [value.name for value in graph.parameters]
    first = graph.nodes[0]
    assert (first.op.name, first.scope) == ("conv2d", ("conv1",))
    assert first.source.startswith("test_graph.py:")
    assert str(graph.outputs[0].type) == "f32[N:4, out_features:10]"


@pytest.mark.parametrize("count", [1, 3])
def test_another_batch_size_gives_what_eager_gives(graph: Graph, digits: wb.nn.Module, count: int) -> None:
    x = images(count)
    result = graph(x)
    assert result.names == ("N", "out_features")
    np.testing.assert_array_equal(result.detach().numpy(), digits(x).detach().numpy())


def test_gradients_flow_through_a_graph(graph: Graph, digits: wb.nn.Module) -> None:
    x = images(2).requires_grad_()
    (through,) = wb.autograd.grad(graph(x).sum(), x)
    (eager,) = wb.autograd.grad(digits(x).sum(), x)
    assert through is not None
    assert eager is not None
    np.testing.assert_array_equal(through.numpy(), eager.numpy())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_tracing_a_gradient_equals_the_gradient(order: int) -> None:
    def derivative(x: wb.Tensor) -> wb.Tensor:
        y = (x * x * x.exp()).sum()
        for _ in range(order):
            (y,) = wb.autograd.grad(y.sum(), x, create_graph=True)
        return y

    x = wb.tensor([0.5, -1.0, 2.0], dtype="float64", requires_grad=True)
    traced = check(trace(derivative, x))
    np.testing.assert_allclose(traced(x).detach().numpy(), derivative(x).detach().numpy(), rtol=1e-14)
    (of_graph,) = wb.autograd.grad(traced(x).sum(), x)
    (of_eager,) = wb.autograd.grad(derivative(x).sum(), x)
    assert of_graph is not None
    assert of_eager is not None
    np.testing.assert_allclose(of_graph.numpy(), of_eager.numpy(), rtol=1e-12)


def test_passes_keep_the_numbers_and_the_graph_they_are_given(graph: Graph, digits: wb.nn.Module) -> None:
    before = text(graph)
    order = [
        passes.fuse_conv_batch_norm,
        passes.common_subexpressions,
        passes.constant_fold,
        passes.dead_code,
    ]
    steps = passes.run_passes(graph, order)
    assert text(graph) == before
    assert "batch_norm_inference" not in text(steps[-1].after)
    x = images(3)
    np.testing.assert_allclose(
        steps[-1].after(x).detach().numpy(), digits(x).detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_a_convolution_that_is_read_twice_is_not_folded() -> None:
    conv, norm = wb.nn.Conv2d(1, 2, 3).eval(), wb.nn.BatchNorm2d(2).eval()

    def both(x: wb.Tensor) -> wb.Tensor:
        y = conv(x)
        return norm(y) + y

    traced = trace(both, wb.zeros(N=1, C=1, H=5, W=5))
    assert "batch_norm_inference" in text(passes.fuse_conv_batch_norm(traced))


UNARY = ["relu", "exp", "tanh", "neg", "abs", "sigmoid"]
BINARY = ["add", "mul", "sub", "maximum"]


@given(
    st.lists(
        st.tuples(st.sampled_from(UNARY + BINARY), st.integers(0, 9), st.integers(0, 9)),
        min_size=1,
        max_size=8,
    )
)
def test_random_programs_agree_in_every_form(steps: list[tuple[str, int, int]]) -> None:
    def program(x: wb.Tensor, y: wb.Tensor) -> wb.Tensor:
        values = [x, y]
        for name, i, j in steps:
            operands = [values[i % len(values)]] + ([values[j % len(values)]] if name in BINARY else [])
            values.append(getattr(ops, name)(*operands).clamp(-5.0, 5.0))
        return values[-1].sum("C")

    x, y = wb.randn(N=2, C=3), wb.randn(C=3)
    eager = program(x, y).numpy()
    traced = check(trace(program, x, y))
    np.testing.assert_array_equal(traced(x, y).numpy(), eager)
    for written in (text(traced), python_text(traced)):
        again = parse(written, held(traced))
        assert text(again) == text(traced)
        np.testing.assert_array_equal(again(x, y).numpy(), eager)
    final = passes.run_passes(traced, [passes.common_subexpressions, passes.dead_code])[-1].after
    np.testing.assert_array_equal(final(x, y).numpy(), eager)


def test_one_graph_runs_in_many_threads(graph: Graph) -> None:
    x = images(2)
    expected = graph(x).detach().numpy()
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(graph(x).detach().numpy())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_running_can_be_observed(graph: Graph) -> None:
    seen: list[str] = []
    run(graph, images(1), observe=lambda node, result, seconds: seen.append(node.name))
    assert seen == [node.name for node in graph.nodes]


def test_cost_is_counted(graph: Graph) -> None:
    total = wb.graph.total(graph)
    assert total.parameters == 32 * 9 + 32 + 4 * 32 + 64 * 32 * 9 + 64 + 4 * 64 + 3136 * 128 + 128 + 1280 + 10
    assert total.flops > 2 * 4 * 64 * 32 * 9 * 14 * 14


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: trace(lambda x: x if x.sum() > 0 else -x, wb.ones(2)), wb.NoNumbersError, "no numbers"),
        (lambda: trace(lambda x: 3, wb.ones(2)), GraphError, "this one returned int"),
        (lambda: trace(lambda x: x, [1.0]), wb.DTypeError, "number 0 is list"),
    ],
)
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act()


def test_wrong_inputs_are_refused(graph: Graph) -> None:
    with pytest.raises(wb.DimensionError, match=r"takes 1 inputs \(x\), got 0"):
        graph()
    with pytest.raises(wb.DimensionError, match=r"was traced with dims .*got \['N', 'H', 'W', 'C'\]"):
        graph(wb.zeros(N=1, H=1, W=28, C=28))
    with pytest.raises(wb.DimensionError, match="has 4 dims"):
        graph(wb.zeros(3))


def test_the_spec_refuses_what_is_not_legal() -> None:
    kind = TensorType(np.dtype("f4"), wb.core.dims_of(wb.zeros(2)))
    x, y = Value("x", symbolic("x", kind)), Value("y", kind)
    node = Node(ops.relu, (y,), {}, (Value("z", kind),))
    node.outputs[0].node = node
    with pytest.raises(GraphError, match="z reads y before it is made"):
        check(Graph(inputs=[x], nodes=[node], outputs=(node.outputs[0],)))
    with pytest.raises(GraphError, match="the name x is taken twice"):
        check(Graph(inputs=[x, Value("x", symbolic("x", kind))]))
    with pytest.raises(GraphError, match="returns y, which nothing makes"):
        check(Graph(inputs=[x], outputs=(y,)))
    wrong = Node(ops.relu, (x,), {}, (Value("z", TensorType(np.dtype("f8"), kind.dims)),))
    wrong.outputs[0].node = wrong
    with pytest.raises(GraphError, match=r"written as f64\[·:2\], the rules of relu give f32\[·:2\]"):
        check(Graph(inputs=[x], nodes=[wrong]))


def test_a_node_that_is_read_cannot_be_removed() -> None:
    traced = trace(lambda x: (x * 2).relu(), wb.ones(2))
    with pytest.raises(GraphError, match="cannot remove mul: mul is still read by relu"):
        traced.remove(traced.nodes[0])


def test_values_are_let_go_after_their_last_use() -> None:
    traced = trace(lambda x: x.exp().neg().abs().exp().sum(), wb.ones(10_000))
    made: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def watch(node: Node, result: Any, seconds: float) -> None:
        made.append(weakref.ref(result.payload))
        alive.append(sum(one() is not None for one in made))

    run(traced, wb.ones(10_000), observe=watch)
    assert max(alive) == 2, "a value and the one it is made from; all earlier ones are gone"
