"""A node of a graph and the observer of its values are picked together, by where they lie in the model."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.live.models import gesture
from tests.widgets.test_last_cell import ended
from workbench import quantization as q
from workbench.live import cells
from workbench.live.answer import answer
from workbench.live.follow import follow
from workbench.live.ledger import Ledger
from workbench.live.messages import ShowDifferenceEvent
from workbench.live.model import Refused
from workbench.live.registry import Registry, models, withdraw
from workbench.live.selection import Selection
from workbench.widgets.diff import DiffModel
from workbench.widgets.graph import GraphModel, graph_of
from workbench.widgets.histogram import HistogramModel, model_of


def both(prepare: Any) -> tuple[HistogramModel, GraphModel, Any]:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(6, 5), wb.nn.ReLU(), wb.nn.Linear(5, 3)).eval()
    x = wb.randn(4, 6)
    prepared = prepare(model, x)
    prepared(x)
    registry, selection = Registry(), Selection()
    observers, graph = HistogramModel(prepared.calibration), GraphModel(graph_of(model, (x,)))
    registry.know(observers)
    registry.know(graph)
    follow(selection, registry)

    def pick(one: Any, identity: str) -> None:
        reply = answer(gesture(one.id, {"type": "select", "id": identity}), registry, selection, Ledger())
        assert reply is not None and reply.accepted, reply

    return observers, graph, pick


def picked(model: HistogramModel) -> Any:
    state: Any = model.snapshot().state
    return state.selected


@pytest.mark.parametrize(
    "prepare",
    [
        lambda model, x: q.prepare(model),
        lambda model, x: q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,)),
    ],
    ids=["layers", "graph"],
)
def test_they_are_picked_together(prepare: Any) -> None:
    observers, graph, pick = both(prepare)
    pick(graph, "linear_1")
    assert picked(observers) == "2.output"
    pick(observers, "0.weight")
    assert graph.selected == "linear"
    pick(observers, "2.output")
    assert graph.selected == "linear_1"


def test_what_lies_nowhere_stays() -> None:
    observers, graph, pick = both(lambda model, x: q.prepare(model))
    pick(observers, "2.weight")
    assert graph.selected == "linear_1"
    pick(observers, "input")
    assert graph.selected == "linear_1"
    with pytest.raises(Refused, match="nothing is observed at relu or 1"):
        observers.show_place(("relu", "1"))
    with pytest.raises(Refused, match="no node lies at 7"):
        graph.show_place(("7",))


PREPARED = pytest.mark.parametrize(
    "prepare",
    [
        lambda model, x: q.prepare(model),
        lambda model, x: q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,)),
    ],
    ids=["layers", "graph"],
)


def asked(prepare: Any, evaluate: bool = True) -> tuple[HistogramModel, Any]:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(6, 5), wb.nn.ReLU(), wb.nn.Linear(5, 3)).eval()
    x = wb.randn(4, 6)
    prepared = prepare(model, x)
    return HistogramModel(q.Calibration(prepared, evaluate=x if evaluate else None)), lambda: prepared(x)


def shown_difference() -> DiffModel:
    found = models("diff")[-1]
    assert isinstance(found, DiffModel)
    return found


@PREPARED
def test_the_difference_of_the_two_forms_is_shown_with_the_node_of_an_observer(prepare: Any) -> None:
    model, run = asked(prepare)
    run()
    model.handle(ShowDifferenceEvent("show_difference", "2.output"))
    shown = shown_difference()
    ops = {one.after.name: one.op for one in shown.diff.nodes if one.after is not None}
    assert shown.selected is not None and ops[shown.selected] == "quantized_linear"
    assert {one.op for one in shown.diff.removed} >= {"linear"}
    model.handle(ShowDifferenceEvent("show_difference", "input"))
    assert shown_difference() is shown  # nothing has changed, so nothing is traced anew
    assert shown.selected is not None and ops[shown.selected] == "quantize_per_tensor"
    # And the other way: what is picked there is picked among the observers.
    model.show_place(shown.places_of("quantized_linear_1"))
    assert picked(model) == "2.output"
    model.calibration.set_range("2.output", -0.25, 0.25)
    model.handle(ShowDifferenceEvent("show_difference", "2.weight"))
    assert shown_difference() is not shown
    withdraw(shown)
    withdraw(shown_difference())


@PREPARED
def test_a_difference_that_cannot_be_is_refused_in_words(prepare: Any) -> None:
    model, run = asked(prepare)
    with pytest.raises(Refused, match="not calibrated yet"):
        model.handle(ShowDifferenceEvent("show_difference", "2.output"))
    state: Any = model.snapshot().state
    assert state.refusal.request == "show_difference"
    with pytest.raises(Refused, match=r"no observer '2.outputs'; did you mean '2.output'\?"):
        model.handle(ShowDifferenceEvent("show_difference", "2.outputs"))
    model, run = asked(prepare, evaluate=False)
    run()
    with pytest.raises(Refused, match="give a small batch"):
        model.handle(ShowDifferenceEvent("show_difference", "2.output"))


def test_a_sum_of_codes_and_its_observer_find_each_other() -> None:
    class Net(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = wb.nn.Linear(6, 5), wb.nn.Linear(6, 5)

        def forward(self, x: Any) -> Any:
            return (self.one(x) + self.other(x)).relu() * 2.0

    wb.manual_seed(0)
    x = wb.randn(4, 6)
    prepared = q.prepare_fx(Net().eval(), q.get_default_qconfig_mapping(), (x,))
    model = HistogramModel(q.Calibration(prepared, evaluate=x))
    prepared(x)
    model.handle(ShowDifferenceEvent("show_difference", "relu.output"))
    shown = shown_difference()
    ops = {one.after.name: one.op for one in shown.diff.nodes if one.after is not None}
    assert shown.selected is not None and ops[shown.selected] == "quantized_add"
    model.show_place(shown.places_of(shown.selected))
    assert picked(model) == "relu.output"
    withdraw(shown)


@pytest.mark.parametrize("variable", ["calibration", "prepared"])
def test_the_head_names_the_variable_and_the_cell(variable: str) -> None:
    prepared = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval())
    model = model_of(prepared.calibration)
    things = {"calibration": prepared.calibration, "prepared": prepared}
    names = {"_": prepared.calibration, "other": 1, variable: things[variable]}
    cells.ended.tell(ended("1", number=7), names)
    cells.ended.tell(ended("1", number=9), {"later": prepared.calibration})
    state: Any = model.snapshot().state
    assert state.head.source == f"{variable} · cell 7"


def test_what_no_variable_has_is_not_named() -> None:
    prepared = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval())
    model = model_of(prepared.calibration)
    cells.ended.tell(ended("1", number=7), {"_7": prepared.calibration})
    state: Any = model.snapshot().state
    assert state.head.source == ""
