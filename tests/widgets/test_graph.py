"""Graphs in cells and panels: what is drawn, what is answered, the selection they share, and the static picture."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

import workbench as wb
from tests.live.models import gesture
from workbench.live import models, renderers, selection, show, withdraw
from workbench.live.answer import answer
from workbench.live.encode import encode_snapshot
from workbench.live.ledger import Ledger
from workbench.live.messages import FlowOperand, FlowState, GraphState, SelectEvent, SliceEvent
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.models import DigitsNet
from workbench.widgets.flow import MOST_ROWS, FlowModel
from workbench.widgets.graph import GraphModel
from workbench.widgets.graph_html import graph_html
from workbench.widgets.graph_picture import MOST_NODES


@pytest.fixture(scope="module")
def graph() -> wb.graph.Graph:
    return wb.graph.trace(DigitsNet().eval(), wb.zeros(N=2, C=1, H=28, W=28))


@pytest.fixture
def model(graph: wb.graph.Graph) -> GraphModel:
    return GraphModel(graph)


@pytest.fixture
def nothing_selected() -> Iterator[None]:
    selection.clear()
    yield
    selection.clear()


def state(model: GraphModel) -> GraphState:
    found = model.snapshot().state
    assert isinstance(found, GraphState)
    return found


def rows(model: FlowModel) -> FlowState:
    found = model.snapshot().state
    assert isinstance(found, FlowState)
    return found


def deep(count: int) -> wb.graph.Graph:
    def function(x: wb.Tensor) -> wb.Tensor:
        for _ in range(count):
            x = -x
        return x

    return wb.graph.trace(function, wb.ones(2))


# ---------------------------------------------------------------------------------------------- the graph


def test_nodes_carry_what_a_person_asks(model: GraphModel) -> None:
    drawn = state(model)
    conv = next(node for node in drawn.nodes if node.op == "conv2d")
    assert conv.scope == ["conv1"]
    assert [(dim.name, dim.size) for dim in conv.dims] == [("N", 2), ("C", 32), ("H", 28), ("W", 28)]
    assert conv.parameters == 32 * 9 + 32
    assert conv.flops == 2 * 2 * 32 * 28 * 28 * 9
    assert ["stride", "(1, 1)"] in conv.attributes
    assert conv.equation
    assert conv.rule
    assert drawn.head.title == "DigitsNet"
    encode_snapshot(model.view, model.snapshot())


def test_every_edge_joins_nodes_that_are_drawn_and_none_twice(model: GraphModel) -> None:
    for drawn in (state(model), state(GraphModel(wb.graph.trace(lambda x: x * x, wb.ones(2))))):
        known = {node.id for node in drawn.nodes}
        assert len(known) == len(drawn.nodes)
        pairs = [(edge.source, edge.target) for edge in drawn.edges]
        assert {one for pair in pairs for one in pair} <= known
        assert len(set(pairs)) == len(pairs)


def test_an_input_called_output_and_several_outputs_are_told_apart() -> None:
    drawn = state(GraphModel(wb.graph.trace(lambda output: (output * 2, output, output), wb.ones(2))))
    kinds = [(node.kind, node.label) for node in drawn.nodes]
    assert kinds == [
        ("input", "output"), ("op", "mul"), ("output", "output 0"), ("output", "output 1"), ("output", "output 2"),
    ]  # fmt: skip
    assert len({node.id for node in drawn.nodes}) == 5


def test_a_huge_graph_is_cut_and_says_so() -> None:
    drawn = state(GraphModel(deep(MOST_NODES + 7)))
    assert drawn.truncated == 7
    assert len(drawn.nodes) == MOST_NODES + 1
    assert not [node for node in drawn.nodes if node.kind == "output"]


def test_long_texts_are_cut() -> None:
    graph = deep(1)
    graph.nodes[0].params = {"key": "x" * 100_000}
    graph.name = "y" * 100_000
    (op,) = (node for node in GraphModel.snapshot(GraphModel(graph)).state.nodes if node.kind == "op")  # type: ignore[attr-defined]
    assert len(op.attributes[0][1]) <= 200
    assert len(state(GraphModel(graph)).head.title) <= 200


def test_another_graph_takes_the_place_of_the_first(model: GraphModel) -> None:
    model.handle(SelectEvent("select", "relu"))
    seen: list[object] = []
    model.listen(seen.append)
    folded = wb.graph.passes.fuse_conv_batch_norm(model.graph)
    model.show(folded)
    assert seen
    assert model.selected == "relu"
    assert "batch_norm_inference" not in {node.op for node in state(model).nodes}
    model.show(deep(1))
    assert model.selected is None


# ------------------------------------------------------------------------------------------- what is picked


def test_a_pick_is_shared_by_all_views_of_a_graph(model: GraphModel, nothing_selected: None) -> None:
    flow = FlowModel(model.graph)
    registry.know(model)
    registry.know(flow)
    reply = answer(gesture(model.id, {"type": "select", "id": "relu"}), registry, selection, Ledger())
    assert reply is not None
    assert reply.accepted
    assert (selection.node, model.selected, rows(flow).selected) == ("relu", "relu", "relu")
    selection.node = "linear"
    assert (state(model).selected, flow.selected) == ("linear", "linear")
    selection.node = "a node of another graph"
    assert (model.selected, flow.selected) == ("linear", "linear")
    selection.node = None
    assert (model.selected, flow.selected) == (None, None)


def test_what_cannot_be_done_is_refused_and_changes_nothing(model: GraphModel) -> None:
    flow = FlowModel(model.graph)
    for one in (model, flow):
        with pytest.raises(Refused, match="there is no node 'nothing' in this picture"):
            one.handle(SelectEvent("select", "nothing"))
        with pytest.raises(Refused, match="nodes can be picked, and nothing else"):
            one.handle(SliceEvent("slice", 0, 0))
        assert one.selected is None


def test_a_model_is_let_go_with_its_last_user(graph: wb.graph.Graph) -> None:
    reference = weakref.ref(GraphModel(graph))
    gc.collect()
    assert reference() is None


def test_a_traced_graph_is_shown_in_the_panel_while_a_page_looks() -> None:
    before = set(models("graph"))
    renderers.start()
    try:
        traced = deep(2)
        new = [model for model in models("graph") if model not in before]
    finally:
        renderers.stop()
    assert len(new) == 1
    assert isinstance(new[0], GraphModel)
    assert new[0].graph is traced
    withdraw(new[0])
    deep(2)
    assert set(models("graph")) <= before


def test_a_graph_is_shown_on_request(graph: wb.graph.Graph) -> None:
    shown = show(GraphModel(graph, "mine"))
    assert shown in models("graph")
    assert state(shown).head.title == "mine"
    withdraw(shown)


# ----------------------------------------------------------------------------------------------- the flow


def marks(operand: FlowOperand) -> tuple[list[int], list[int], list[int]]:
    return operand.contracted, operand.reduced, operand.broadcast


def test_dims_end_where_they_are_contracted(graph: wb.graph.Graph) -> None:
    found = {row.node: row for row in rows(FlowModel(graph)).rows}
    x, weight, bias = found["linear"].inputs
    assert (marks(x), marks(weight), marks(bias)) == (([1], [], []), ([1], [], []), ([], [], []))
    hidden, *_ = found["linear_1"].inputs
    assert marks(hidden) == ([1], [], [])  # its out_features end, though the output has a dim of that name
    image, kernel, bias = found["conv2d"].inputs
    assert marks(image) == ([], [], [])  # one channel becomes 32, and none of them is stretched
    assert (marks(kernel), marks(bias)) == (([1, 2, 3], [], []), ([], [], []))
    assert [marks(one) for one in found["batch_norm_inference"].inputs] == [([], [], [])] * 5
    assert marks(found["flatten"].inputs[0]) == ([], [], [])


@pytest.mark.parametrize("named", [True, False])
def test_dims_are_followed_with_and_without_names(named: bool) -> None:
    x, y = wb.ones(N=2, C=3), wb.ones(C=3, K=4)
    if not named:
        x, y = x.rename(None), y.rename(None)
    graph = wb.graph.trace(lambda x, y: (x @ y).sum(1, keepdim=True) + (x @ y), x, y)
    matmul, total, _, add = rows(FlowModel(graph)).rows
    assert [marks(one) for one in matmul.inputs] == [([1], [], []), ([0], [], [])]
    assert [marks(one) for one in total.inputs] == [([], [1], [])]
    assert [marks(one) for one in add.inputs] == [([], [], [1]), ([], [], [])]


def test_a_long_flow_is_cut_and_says_so() -> None:
    drawn = rows(FlowModel(deep(MOST_ROWS + 1)))
    assert len(drawn.rows) == MOST_ROWS
    assert "the first 2,000 of 2,001 ops" in drawn.head.title


# -------------------------------------------------------------------------------------- the static picture


def test_html_says_what_a_graph_does_and_costs(graph: wb.graph.Graph) -> None:
    html = graph._repr_mimebundle_()["text/html"]
    assert "12 ops" in html
    assert "conv2d" in html
    assert "C&nbsp;32" in html
    assert html.count("the same") == 5
    assert "gives linear_1" in html


def test_html_is_escaped_and_bounded() -> None:
    graph = deep(5000)
    graph.name = "<script>"
    graph.inputs[0].name = "<em>"
    for node in graph.nodes:
        node.scope, node.source = ("<i>" * 100,), "<u>" * 100
    html = graph_html(graph)
    assert not [tag for tag in ("<script>", "<em>", "<i>", "<u>") if tag in html]
    assert "4,940 more ops" in html
    assert len(html) < 100_000
