"""Graphs that compute in a type of 16 bits: which ops do, what they give, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.graph import GraphError, check, run, trace
from workbench.graph.passes import freeze, lower_precision

F = nn.functional


def lowered(function: Any, *given: Any, dtype: Any = wb.bfloat16) -> Any:
    graph = freeze(trace(function, *given))
    before = str(graph)
    found = check(lower_precision(graph, dtype))
    assert str(graph) == before
    return found


def types(graph: Any) -> list[tuple[str, str]]:
    return [(node.op.name, str(node.outputs[0].tensor.dtype)) for node in graph.nodes]


def test_what_follows_a_layer_stays_narrow_and_residuals_are_added_so() -> None:
    layer = nn.Linear(4, 4)
    graph = lowered(lambda x: (layer(layer(x).relu()) + x).relu(), wb.ones(2, 4))
    narrow = [("linear", "bfloat16"), ("relu", "bfloat16")]
    assert types(graph) == [
        ("to", "bfloat16"), *narrow, ("linear", "bfloat16"), ("add", "bfloat16"), ("relu", "bfloat16"),
        ("to", "float32"),
    ]  # fmt: skip


def test_other_elementwise_ops_compute_in_float32_and_round_once() -> None:
    layer = nn.Linear(4, 4)
    graph = lowered(lambda x: layer(layer(x) * 2 - 1), wb.ones(2, 4))
    # Between the two ops nothing is rounded.
    assert ("sub", "float32") in types(graph) and types(graph).count(("to", "bfloat16")) >= 2
    sub = next(node for node in graph.nodes if node.op.name == "sub")
    assert sub.values[0].node.op.name == "mul"
    # And what they give is kept narrow for who reads it next.
    assert types(lowered(lambda x: (layer(x) * 2).relu(), wb.ones(2, 4)))[-2] == ("relu", "bfloat16")


def test_what_needs_range_or_digits_reads_and_gives_float32() -> None:
    layer = nn.Linear(4, 4)
    graph = lowered(lambda x: layer(x).exp().sum(-1), wb.ones(2, 4))
    assert types(graph) == [
        ("to", "bfloat16"), ("linear", "bfloat16"), ("to", "float32"), ("exp", "float32"), ("sum", "float32"),
    ]  # fmt: skip


def test_without_products_nothing_changes() -> None:
    graph = lowered(lambda x: (x * 2).softmax(-1), wb.ones(2, 4))
    assert types(graph) == [("mul", "float32"), ("softmax", "float32")]


def test_a_value_is_rounded_once_for_all_who_read_it_and_constants_beforehand() -> None:
    first, second = nn.Linear(4, 3), nn.Linear(4, 3)
    graph = lowered(lambda x: (first(x), second(x), first(x) * second(x)), wb.ones(2, 4))
    assert sum(node.op.name == "to" and node.values[0] in graph.inputs for node in graph.nodes) == 1
    assert {str(one.dtype) for one in graph.constants.values()} >= {"workbench.bfloat16"}


@pytest.mark.parametrize("dtype", [wb.bfloat16, wb.float16])
def test_results_are_those_of_the_graph_within_rounding(dtype: Any) -> None:
    wb.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)
    ).eval()
    x = wb.randn(2, 3, 8, 8, names=("N", "C", "H", "W"))
    graph = lowered(model, x, dtype=dtype)
    with wb.no_grad():
        found, exact = run(graph, x), model(x)
    assert found.dtype == wb.float32 and found.names == exact.names
    np.testing.assert_allclose(found.numpy(), exact.numpy(), atol=0.03 * np.abs(exact.numpy()).max())
    assert not np.array_equal(found.numpy(), exact.numpy())


def test_other_types_are_left_as_they_are() -> None:
    layer = nn.Linear(4, 4).double()
    graph = lowered(lambda x, mask: wb.where(mask, layer(x), x), wb.ones(2, 4).double(), wb.ones(2, 4) > 0)
    assert {one for _, one in types(graph)} == {"float64"}


def test_what_cannot_be_lowered_is_refused_in_words() -> None:
    graph = trace(lambda x: x @ x, wb.ones(2, 2))
    with pytest.raises(
        GraphError, match=r"workbench.float64 is no float of 16 bits; bfloat16 and float16 are"
    ):
        lower_precision(graph, wb.float64)
    layer = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    fused = wb.graph.passes.fuse_convolutions(trace(layer, wb.ones(2, 2)))
    with pytest.raises(GraphError, match="has functions or blocks: inline and unroll it first"):
        lower_precision(fused, wb.bfloat16)
