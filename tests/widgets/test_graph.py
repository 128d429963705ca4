"""The graph's view models: what they draw, what they answer, and the selection they share."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.live.encode import encode_snapshot
from workbench.live.messages import FlowState, GraphState, SelectEvent, SliceEvent
from workbench.live.model import Refused
from workbench.live.selection import selection
from workbench.models import DigitsNet
from workbench.widgets.flow import FlowModel
from workbench.widgets.graph import MOST_NODES, GraphModel, graph_html


@pytest.fixture
def model() -> GraphModel:
    return GraphModel(wb.graph.trace(DigitsNet().eval(), wb.zeros(N=2, C=1, H=28, W=28)))


def state(model: GraphModel) -> GraphState:
    found = model.snapshot().state
    assert isinstance(found, GraphState)
    return found


def test_nodes_carry_what_a_person_asks(model: GraphModel) -> None:
    drawn = state(model)
    conv = next(node for node in drawn.nodes if node.op == "conv2d")
    assert conv.scope == ["conv1"]
    assert [(dim.name, dim.size) for dim in conv.dims] == [("N", 2), ("C", 32), ("H", 28), ("W", 28)]
    assert conv.parameters == 32 * 9 + 32
    assert conv.flops == 2 * 2 * 32 * 28 * 28 * 9
    assert ["stride", "(1, 1)"] in conv.attributes
    assert conv.equation
    encode_snapshot(model.view, model.snapshot())


def test_every_edge_joins_nodes_that_are_drawn(model: GraphModel) -> None:
    drawn = state(model)
    known = {node.id for node in drawn.nodes}
    assert len(known) == len(drawn.nodes)
    assert all({edge.source, edge.target} <= known for edge in drawn.edges)
    assert [node.kind for node in drawn.nodes].count("output") == 1


def test_a_pick_is_shared_between_views(model: GraphModel) -> None:
    rows = FlowModel(model.graph)
    model.handle(SelectEvent("select", "relu"))
    assert selection.node == "relu"
    found = rows.snapshot().state
    assert isinstance(found, FlowState)
    assert found.selected == "relu"
    rows.handle(SelectEvent("select", "linear"))
    assert model.selected == "linear"
    selection.node = None
    assert model.selected is None


def test_what_cannot_be_done_is_refused_and_changes_nothing(model: GraphModel) -> None:
    with pytest.raises(Refused, match="the graph has no node 'nothing'"):
        model.handle(SelectEvent("select", "nothing"))
    with pytest.raises(Refused, match="can be selected from"):
        model.handle(SliceEvent("slice", 0, 0))
    assert model.selected is None


def test_a_huge_graph_is_cut_and_says_so() -> None:
    def deep(x: wb.Tensor) -> wb.Tensor:
        for _ in range(MOST_NODES + 7):
            x = x.relu()
        return x

    drawn = state(GraphModel(wb.graph.trace(deep, wb.ones(2))))
    assert drawn.truncated == 7


def test_contracted_dims_end_in_their_op(model: GraphModel) -> None:
    rows = FlowModel(model.graph).snapshot().state
    assert isinstance(rows, FlowState)
    linear = next(row for row in rows.rows if row.op == "linear")
    assert [linear.inputs[0].dims[i].name for i in linear.inputs[0].contracted] == ["features"]
    flatten = next(row for row in rows.rows if row.op == "flatten")
    assert flatten.inputs[0].reduced == []


def test_html_is_escaped_and_bounded() -> None:
    traced = wb.graph.trace(lambda x: x.relu(), wb.ones(2))
    traced.name = "<script>"
    assert "<script>" not in graph_html(traced)
    assert len(graph_html(traced)) < 50_000
