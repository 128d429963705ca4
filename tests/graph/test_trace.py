"""Tracing: what a graph keeps of a function, and what it refuses rather than repeat wrongly."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph import GraphError, check, trace
from workbench.models import DigitsNet


def same(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    assert a.names == b.names


def ops_of(graph: wb.graph.Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


class Scaled(wb.nn.Module):
    """Computes with its parameters before it meets the input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = wb.nn.Parameter(wb.randn(4, 3))
        self.register_buffer("shift", wb.ones(4))

    def forward(self, input: wb.Tensor) -> wb.Tensor:
        return input @ (self.weight * 2).t() + self.shift


# ------------------------------------------------------------------------------------------ what is kept


def test_sizes_by_name_are_an_example() -> None:
    graph = check(trace(DigitsNet().eval(), {"N": 64, "C": 1, "H": 28, "W": 28}))
    assert str(graph.inputs[0].type) == "f32[N:64, C=1, H:28, W:28]"
    assert graph(wb.zeros(N=2, C=1, H=28, W=28)).shape == (2, 10)


def test_what_is_computed_from_parameters_is_part_of_the_graph() -> None:
    model = Scaled()
    graph = check(trace(model, wb.ones(2, 3)))
    assert [value.name for value in graph.parameters] == ["weight", "shift"]
    assert not graph.constants
    x = wb.randn(5, 3)
    same(graph(x), model(x))
    (through,) = wb.autograd.grad(graph(x).sum(), model.weight)
    (eager,) = wb.autograd.grad(model(x).sum(), model.weight)
    assert through is not None
    assert eager is not None
    same(through, eager)
    with wb.no_grad():
        model.weight.mul_(2)
    same(graph(x), model(x))


def test_a_parameter_and_an_input_of_one_name_are_told_apart() -> None:
    class Named(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = wb.nn.Parameter(wb.ones(2))

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            return x + self.x

    graph = check(trace(Named(), wb.ones(2)))
    assert [value.name for value in (*graph.inputs, *graph.parameters)] == ["x_1", "x"]


def test_a_constant_has_the_value_it_had_when_it_was_met() -> None:
    def changing(x: wb.Tensor) -> wb.Tensor:
        shift = wb.zeros(2)
        y = x + shift
        shift.add_(5)
        return y + shift

    graph = check(trace(changing, wb.ones(2)))
    assert len(graph.constants) == 2
    same(graph(wb.ones(2)), changing(wb.ones(2)))


def test_gradients_end_in_a_graph_where_they_end_in_eager() -> None:
    def stops(x: wb.Tensor) -> wb.Tensor:
        with wb.no_grad():
            scale = x.exp() * 2
        return x * scale + x.detach() * x

    graph = check(trace(stops, wb.ones(3)))
    assert ops_of(graph).count("detach") == 2
    x = wb.tensor([0.5, -1.0, 2.0], requires_grad=True)
    (through,) = wb.autograd.grad(graph(x).sum(), x)
    (eager,) = wb.autograd.grad(stops(x).sum(), x)
    assert through is not None
    assert eager is not None
    same(through, eager)


def test_names_come_through_gradients() -> None:
    def derivative(x: wb.Tensor) -> Any:
        return wb.autograd.grad((x * x).sum("C").exp().sum(), x, create_graph=True)[0]

    x = wb.randn(N=2, C=3).requires_grad_()
    graph = check(trace(derivative, x))
    same(graph(x), derivative(x))
    assert str(graph.outputs[0].type) == "f32[N:2, C:3]"


def test_the_gradients_of_a_model_are_a_graph() -> None:
    model = DigitsNet().eval()

    def gradients(x: wb.Tensor, target: wb.Tensor) -> Any:
        return wb.autograd.grad(wb.cross_entropy(model(x), target), list(model.parameters()))

    x, target = wb.randn(N=3, C=1, H=28, W=28), wb.tensor([1, 2, 3], names=("N",))
    graph = check(trace(gradients, x, target))
    for through, eager in zip(graph(x, target), gradients(x, target), strict=True):
        same(through, eager)


def test_a_trace_inside_a_trace_writes_its_own_graph() -> None:
    inner: list[wb.graph.Graph] = []

    def outer(x: wb.Tensor) -> wb.Tensor:
        shift = x * 3
        inner.append(trace(lambda y: y * 2 + shift, x))
        return inner[0](x)

    graph = check(trace(outer, wb.ones(2)))
    assert ops_of(graph) == ["mul", "mul", "add"]
    assert ops_of(inner[0]) == ["mul", "add"]
    same(graph(wb.ones(2)), wb.tensor([5.0, 5.0]))


def test_sources_are_lines_of_the_function() -> None:
    graph = trace(
        lambda x: x.exp()
        .relu(),
        wb.ones(2),
    )  # fmt: skip
    first, second = (int(node.source.removeprefix("test_trace.py:")) for node in graph.nodes)
    assert second - first in (0, 1)


def test_a_function_that_takes_other_words_is_no_line_of_the_users() -> None:
    # `sum` and `squeeze` are called through code that was written for them.
    graph = trace(lambda x: x.sum(axis=0).squeeze() + 1, wb.ones(2, 3))
    assert {node.source.partition(":")[0] for node in graph.nodes} == {"test_trace.py"}


# ---------------------------------------------------------------------------------------- what is refused


def test_asking_for_numbers_names_the_line() -> None:
    def branching(x: wb.Tensor) -> wb.Tensor:
        return x if x.sum() > 0 else -x

    line = branching.__code__.co_firstlineno + 1
    for function in (branching, lambda x: x * x.sum().item(), lambda x: wb.tensor(x.numpy())):
        with pytest.raises(wb.NoNumbersError, match=r"^test_trace.py:\d+: this value has dims .*no numbers"):
            trace(function, wb.ones(2))
    with pytest.raises(wb.NoNumbersError, match=f"^test_trace.py:{line}: "):
        trace(branching, wb.ones(2))


def test_a_change_in_place_of_a_traced_value_becomes_a_new_value() -> None:
    def changes(x: wb.Tensor) -> wb.Tensor:
        y = x * 2
        y.add_(1)
        return y * y

    graph = trace(changes, wb.ones(2))
    assert graph(wb.tensor([1.0, 2.0])).tolist() == [9.0, 25.0]


def test_changes_in_place_of_other_memory_are_refused() -> None:
    def other_changes(x: wb.Tensor) -> wb.Tensor:
        return wb.zeros(2).add_(x)

    def changes_a_view(x: wb.Tensor) -> wb.Tensor:
        y = x * 2
        y[0].add_(1)
        return y

    with pytest.raises(wb.NoNumbersError, match="return new tensors instead of changing one in place"):
        trace(other_changes, wb.ones(2))
    with pytest.raises(wb.NoNumbersError, match="changing a view in place"):
        trace(changes_a_view, wb.ones(2))


def test_backward_inside_is_refused_and_leaves_no_gradients() -> None:
    layer = wb.nn.Linear(2, 2)
    before = layer.weight.grad = wb.ones(2, 2, names=("out_features", "in_features"))

    def learns(x: wb.Tensor) -> wb.Tensor:
        y = layer(x).sum()
        y.backward()
        return y

    for function in (learns, Wrapped(learns, layer)):
        with pytest.raises(GraphError, match=r"calls backward\(\).*wb.autograd.grad"):
            trace(function, wb.ones(1, 2))
        assert layer.weight.grad is before
        assert layer.bias is not None
        assert layer.bias.grad is None


class Wrapped(wb.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any, layer: Any) -> None:
        super().__init__()
        self.layer = layer
        self.function = function

    def forward(self, x: wb.Tensor) -> Any:
        return self.function(x)


def test_random_numbers_without_a_seed_are_refused_and_not_used_up() -> None:
    wb.manual_seed(3)
    expected = wb.rand(4)
    wb.manual_seed(3)
    for function in (
        lambda x: x + wb.default_generator.numpy.random(),
        lambda x: wb.nn.functional.dropout(x) + wb.default_generator.numpy.random(),
    ):
        with pytest.raises(GraphError, match="draws random numbers"):
            trace(function, wb.ones(2))
    same(wb.rand(4), expected)
    assert ops_of(trace(wb.nn.Dropout(0.5).eval(), wb.ones(2))) == []


def test_a_generator_that_is_not_the_default_one_is_refused() -> None:
    own = wb.Generator(3)
    with pytest.raises(GraphError, match="draws from a generator of its own, which a graph does not hold"):
        trace(lambda x: wb.nn.functional.dropout(x, generator=own), wb.ones(2))


def test_a_module_that_changes_numbers_behind_the_ops_is_refused_and_left_alone() -> None:
    class Counting(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", wb.zeros(2))

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            self.count.fill_(7)
            return x * 2

    model = Counting()
    with pytest.raises(GraphError, match=r"changes the buffer count .*otherwise than by ops"):
        trace(model, wb.ones(2))
    same(model.count, wb.zeros(2))


def test_a_value_of_an_ended_trace_is_refused() -> None:
    kept: list[wb.Tensor] = []
    trace(lambda x: (kept.append(x), x * 2)[1], wb.ones(2))
    with pytest.raises(GraphError, match="left over from another trace"):
        trace(lambda x: x + kept[0], wb.ones(2))


def test_a_new_array_in_the_place_of_a_parameters_is_not_taken_for_it() -> None:
    class Replacing(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = wb.nn.Parameter(wb.ones(3))

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            with wb.no_grad():
                self.weight.payload = self.weight.payload.copy()
            for _ in range(8):  # one of them is put where the former array was, unless something keeps that
                x = x + wb.full((3,), 7.0)
            return x

    for _ in range(20):
        same(trace(Replacing(), wb.zeros(3))(wb.zeros(3)), wb.full((3,), 56.0))


def test_what_is_left_over_from_a_trace_keeps_nothing_else_alive() -> None:
    kept: list[wb.Tensor] = []

    def traced() -> Any:
        shift = wb.ones(3)
        trace(lambda x: (kept.append(x * 2), kept[0] + shift)[1], wb.ones(3))
        return weakref.ref(shift.payload)

    array = traced()
    gc.collect()
    assert array() is None
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("example", "error", "message"),
    [
        ([1.0], wb.DTypeError, "number 0 is list"),
        ({"N": -1}, wb.DTypeError, "sizes are whole numbers from 0"),
        ({"N": 1.5}, wb.DTypeError, "sizes are whole numbers from 0"),
        ({"N N": 1}, wb.DimensionError, "not a valid dimension name"),
    ],
)
def test_bad_examples_are_refused(example: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        trace(lambda x: x, example)


@pytest.mark.parametrize("other", [wb.float64, wb.float16, wb.int64, wb.complex64, wb.bool], ids=str)
def test_another_type_than_the_trace_s_is_refused_before_anything_runs(other: Any) -> None:
    norm = wb.nn.BatchNorm1d(3)
    graph = wb.graph.trace(lambda x: norm(x.relu()), wb.zeros(N=2, C=3))
    words = rf"x of \S+ is float32, got {other.name}: .* x\.to\(wb\.float32\), or trace again"
    with pytest.raises(wb.DTypeError, match=words):
        graph(wb.zeros(N=2, C=3).to(other))
    assert norm.num_batches_tracked.item() == 0
    assert wb.jit.trace(lambda x: x * 2, (wb.zeros(2),))(wb.ones(2).to(other)).dtype is (
        wb.int64 if other is wb.bool else other
    )
