"""Differences of graphs in cells and panels: which rows are sent, what is cut, what a person can pick."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.graph import passes, trace
from workbench.live.messages import DiffState, SelectEvent
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.models import LeNet, resnet18
from workbench.widgets.diff import DiffModel
from workbench.widgets.pictures import html, mimebundle


@pytest.fixture(autouse=True)
def unbundled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("workbench.widgets.base.bundle", lambda view: "export default {}")
    yield
    for model in registry.models():
        registry.withdraw(model)


def state(model: DiffModel) -> DiffState:
    found = model.snapshot().state
    assert isinstance(found, DiffState)
    return found


@pytest.fixture(scope="module")
def folded() -> wb.graph.GraphDiff:
    graph = trace(resnet18().eval(), {"N": 1, "C": 3, "H": 32, "W": 32})
    return wb.graph.diff(graph, passes.fuse_conv_batch_norm(graph))


def test_each_node_is_a_row(folded: wb.graph.GraphDiff) -> None:
    drawn = state(DiffModel(folded))
    assert Counter(row.status for row in drawn.rows) == {"changed": 20, "removed": 20, "same": 29}
    assert drawn.counts == [["changed", "20"], ["removed", "20"], ["same", "29"]]
    first = drawn.rows[0]
    assert first.after is not None
    assert (first.status, first.after.op, first.after.place, first.before) == (
        "changed",
        "conv2d",
        "conv1",
        None,
    )
    assert first.what[1] == "conv1.weight: parameter → constant conv1.weight_folded"
    removed = drawn.rows[1]
    assert removed.before is not None
    assert (removed.status, removed.before.place, removed.after) == ("removed", "bn1", None)
    assert (drawn.head.title, drawn.before, drawn.truncated) == ("ResNet", "ResNet", 0)


def test_what_came_in_the_place_of_another_shares_its_row() -> None:
    one, other = (trace(f, wb.ones(N=3)) for f in (lambda x: x.exp().relu(), lambda x: x.exp().tanh()))
    drawn = state(DiffModel(wb.graph.diff(one, other), "mine"))
    assert [row.status for row in drawn.rows] == ["same", "replaced"]
    pair = drawn.rows[1]
    assert pair.before is not None and pair.after is not None
    assert (pair.before.op, pair.after.op) == ("relu", "tanh")
    assert drawn.counts == [["added", "1"], ["removed", "1"], ["same", "1"]]
    assert drawn.head.title == "mine"


class Called(wb.nn.Module):
    """A module that calls one op."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Any) -> Any:
        return getattr(x, self.name)()


def test_both_columns_stand_in_the_order_of_their_graphs() -> None:
    # As codes replace two layers, take in what stood between them, and end behind both.
    before = wb.nn.Sequential(OrderedDict(a=Called("exp"), b=Called("relu"), c=Called("sin")))
    after = wb.nn.Sequential(OrderedDict(a=Called("tanh"), c=Called("cos"), d=Called("abs")))
    for one, other in ((before, after), (after, before)):
        drawn = state(DiffModel(wb.graph.diff(*(trace(each, wb.ones(N=3)) for each in (one, other)))))
        for column, model in (("before", one), ("after", other)):
            listed = [getattr(row, column).op for row in drawn.rows if getattr(row, column) is not None]
            assert listed == [module.name for module in model.children()]
        assert [row.status for row in drawn.rows].count("replaced") == 2


def test_of_a_large_one_what_is_the_same_travels_as_a_number(
    folded: wb.graph.GraphDiff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def long(x: Any) -> Any:
        for i in range(40):
            x = x.tanh() if i == 20 else x.exp()
        return x

    def other(x: Any) -> Any:
        for _ in range(40):
            x = x.exp()
        return x

    found = wb.graph.diff(trace(long, wb.ones(3)), trace(other, wb.ones(3)))
    monkeypatch.setitem(vars(sys.modules[DiffModel.__module__]), "MOST_ROWS", 20)
    drawn = state(DiffModel(found))
    assert [row.left_out for row in drawn.rows] == [17, 0, 0, 0, 0, 0, 0, 0, 16]
    assert drawn.truncated == 0
    drawn = state(DiffModel(folded))
    assert len(drawn.rows) == 20 and drawn.truncated == 68 - 20  # two at the end are one


def test_a_node_of_the_graph_after_can_be_picked(folded: wb.graph.GraphDiff) -> None:
    model = DiffModel(folded)
    model.handle(SelectEvent("select", "conv2d_3"))
    assert state(model).selected == "conv2d_3"
    with pytest.raises(Refused, match="there is no node 'batch_norm_inference' in this picture"):
        model.handle(SelectEvent("select", "batch_norm_inference"))


def test_a_cell_shows_it(folded: wb.graph.GraphDiff) -> None:
    assert set(mimebundle(folded)) == {"text/plain", "text/html"}  # outside of a notebook
    assert "layer4.1.conv2" not in html(folded)  # of many rows the first
    assert "10 more differences" in html(folded)
    graph = trace(LeNet(), {"N": 1, "C": 1, "H": 28, "W": 28})
    assert "no difference" in html(wb.graph.diff(graph, graph))


def test_graphs_models_and_differences_are_taken(folded: wb.graph.GraphDiff) -> None:
    batch = wb.zeros(N=2, C=4)
    one, other = wb.nn.Linear(4, 3), wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU())
    widget = wb.widgets.graph_diff(one, other, batch)
    assert [row["status"] for row in widget.state["rows"]] == ["same", "added"]
    assert wb.widgets.diff is wb.widgets.graph_diff
    assert wb.widgets.graph_diff(trace(one, batch), other, batch).state["kind"] == "diff"
    assert wb.widgets.graph_diff(folded).model is wb.widgets.graph_diff(folded).model


def test_what_is_no_difference_says_what_to_give(folded: wb.graph.GraphDiff) -> None:
    graph = folded.before
    with pytest.raises(TypeError, match=r"that of two graphs: wb.widgets.graph_diff\(before, after\)"):
        wb.widgets.graph_diff(graph)
    with pytest.raises(TypeError, match="this is a difference already"):
        wb.widgets.graph_diff(folded, graph)
    with pytest.raises(TypeError, match="traced with an example of its inputs"):
        wb.widgets.graph_diff(graph, LeNet())
    with pytest.raises(TypeError, match="neither a graph nor something to trace"):
        wb.widgets.graph_diff(graph, 3)  # type: ignore[arg-type]
