"""What `wb.widgets` offers: a function for each panel, by the panel's own word, and by what it draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.live.messages import VIEWS
from workbench.live.registry import registry


@pytest.fixture(autouse=True)
def unbundled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("workbench.widgets.base.bundle", lambda view: "export default {}")
    yield
    for model in registry.models():
        registry.withdraw(model)


@pytest.fixture
def model() -> Any:
    return wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()).eval()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_every_panel_has_a_function_of_its_name(view: Any) -> None:
    assert callable(getattr(wb.widgets, view.title.lower()))
    assert view.title.lower() in wb.widgets.__all__


def test_the_words_for_what_is_drawn_are_the_same_functions() -> None:
    assert wb.widgets.histogram is wb.widgets.observers
    assert wb.widgets.heatmap is wb.widgets.attribution
    assert wb.widgets.scatter is wb.widgets.projector


def test_a_model_is_traced_where_its_graph_or_shapes_are_asked_for(model: Any) -> None:
    batch = wb.zeros(N=2, C=4)
    traced = wb.graph.trace(model, batch)
    ops = [node["op"] for node in wb.widgets.graph(model, batch).state["nodes"] if node["op"]]
    assert ops == ["linear", "relu"]
    assert wb.widgets.graph(model, {"N": 2, "C": 4}, title="net").state["head"]["title"] == "net"
    assert wb.widgets.graph(traced).model is wb.widgets.graph(traced).model, "one model for one graph"
    assert [row["op"] for row in wb.widgets.flow(model, batch).state["rows"]] == ["linear", "relu"]
    assert wb.widgets.shapes(traced).state["kind"] == "flow"
    assert wb.widgets.shapes(model, batch).state["kind"] == "flow"
    assert wb.widgets.shapes(batch, title="batch").state["head"]["title"] == "batch"


def test_what_cannot_be_traced_says_what_to_give(model: Any) -> None:
    batch = wb.zeros(N=2, C=4)
    with pytest.raises(
        TypeError, match=r"traced with an example of its inputs: wb.widgets.graph\(model, batch\)"
    ):
        wb.widgets.graph(model)
    with pytest.raises(TypeError, match="this is a graph already"):
        wb.widgets.graph(wb.graph.trace(model, batch), batch)
    with pytest.raises(TypeError, match="a int is neither a graph nor something to trace"):
        wb.widgets.graph(3)
    with pytest.raises(TypeError, match="a tensor is shown by itself"):
        wb.widgets.shapes(batch, batch)
