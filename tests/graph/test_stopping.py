"""A function that fails is traced as far as it came: what had run, which call was refused, and nothing left behind."""

from __future__ import annotations

import gc
import weakref

import pytest

import workbench as wb
from workbench.graph.stopping import trace_so_far


def test_what_ran_before_the_call_that_was_refused_is_there() -> None:
    layer = wb.nn.Linear(4, 2)

    def function(x: wb.Tensor) -> wb.Tensor:
        y: wb.Tensor = layer((x * 2).relu())
        return y

    graph, stop = trace_so_far(function, wb.ones(N=3, C=5))
    assert [node.name for node, _ in graph.walk()] == ["mul", "relu"]
    assert graph.outputs == ()
    assert stop is not None and stop.call is not None and stop.call.op is not None
    assert stop.call.op.name == "linear"
    assert stop.call.values[0].name == "relu"
    assert "test_stopping.py" in stop.call.source
    assert isinstance(stop.error, wb.DimensionError)
    with pytest.raises(wb.DimensionError):
        wb.graph.trace(function, wb.ones(N=3, C=5))


def test_a_function_that_works_gives_its_whole_graph() -> None:
    def function(x: wb.Tensor) -> wb.Tensor:
        return x.exp()

    graph, stop = trace_so_far(function, wb.ones(2))
    assert stop is None
    assert str(graph) == str(wb.graph.trace(function, wb.ones(2)))


def test_an_error_that_no_op_raised_marks_no_call() -> None:
    def function(x: wb.Tensor) -> wb.Tensor:
        y = x.exp()
        try:
            x + wb.ones(M=7)
        except wb.DimensionError:
            y = y.relu()
        raise ValueError("not here")

    graph, stop = trace_so_far(function, wb.ones(N=2))
    assert [node.name for node, _ in graph.walk()] == ["exp", "relu"]
    assert stop is not None
    assert isinstance(stop.error, ValueError)
    assert stop.call is None


def test_a_failed_trace_holds_nothing_and_leaves_the_module_as_it_was() -> None:
    norm = wb.nn.BatchNorm1d(3)
    before = norm.state_dict()["running_mean"].tolist()

    def function(x: wb.Tensor) -> wb.Tensor:
        y: wb.Tensor = norm(x)
        return y + wb.ones(M=7)

    graph, stop = trace_so_far(function, wb.ones(N=4, C=3))
    assert norm.state_dict()["running_mean"].tolist() == before
    assert stop is not None
    kept = weakref.ref(stop.error)
    del stop
    gc.collect()
    assert kept() is None
    assert [node.name for node, _ in graph.walk()]


def test_examples_that_are_none_are_refused_at_once() -> None:
    with pytest.raises(wb.DTypeError, match="trace takes tensors"):
        trace_so_far(lambda x: x, "nothing")
