"""The view of observers: what is chosen by menus and typed, two sides compared, in words, and what a page may send."""

from __future__ import annotations

import importlib
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.live.models import gesture
from workbench import quantization as q
from workbench.live.answer import answer, answering
from workbench.live.encode import encode_snapshot
from workbench.live.ledger import Ledger
from workbench.live.messages import (
    ChooseEvent,
    CompareEvent,
    HistogramState,
    SelectEvent,
    SetRangeEvent,
    SetScaleEvent,
    ShowDifferenceEvent,
    ShowValuesEvent,
    UndoEvent,
)
from workbench.live.model import Refused
from workbench.live.registry import Registry
from workbench.live.selection import Selection
from workbench.quantization.observer_settings import RULE_NAMES
from workbench.widgets.histogram import HistogramModel


@pytest.fixture
def model() -> HistogramModel:
    wb.manual_seed(0)
    net = wb.nn.Sequential(wb.nn.Conv2d(1, 6, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(216, 4)).eval()
    made = q.prepare(q.fuse_modules(net, [["0", "1"]]), q.bits_qconfig(8, 8))
    images = wb.randn(N=32, C=1, H=8, W=8)
    with wb.no_grad():
        made(images)
    return HistogramModel(q.Calibration(made, evaluate=(images, wb.zeros(32).long())))


def state_of(model: HistogramModel) -> HistogramState:
    state: Any = model.snapshot().state
    return state  # type: ignore[no-any-return]


def test_choosing(model: HistogramModel) -> None:
    model.handle(SelectEvent("select", "0.output"))
    detail = state_of(model).detail
    assert detail is not None and detail.settings is not None
    assert (detail.settings.rule, detail.settings.bits, detail.settings.weight) == ("l2", 8, False)
    assert ["kl", "KL"] in detail.settings.rules
    model.handle(ChooseEvent("choose", "0.output", rule="kl", bits=4))
    state = state_of(model)
    assert state.detail is not None and state.detail.settings is not None
    assert (state.detail.settings.rule, state.detail.bits, state.detail.quant_max) == ("kl", 4, 15)
    assert state.undo == 1
    assert state.change.startswith("0.output: KL in place of L2, 4 bits in place of 8 cost ")
    assert "search='kl'" in state.head.code
    model.handle(UndoEvent("undo"))
    assert state_of(model).change.startswith(
        "0.output: taken back: L2 in place of KL, 8 bits in place of 4 bought "
    )


def test_scale_and_zero_point_are_typed(model: HistogramModel) -> None:
    model.handle(SelectEvent("select", "3.output"))
    model.handle(SetScaleEvent("set_scale", "3.output", 0.01, 100))
    detail = state_of(model).detail
    assert detail is not None
    assert (detail.scale, detail.zero_point) == (pytest.approx(0.01), 100)
    assert (detail.low, detail.high) == (pytest.approx(-1.0), pytest.approx(1.55))


def test_two_sides_with_their_differences_in_figures(model: HistogramModel) -> None:
    model.calibration.figures()
    assert state_of(model).comparison is None
    model.handle(CompareEvent("compare", "keep"))
    model.handle(ChooseEvent("choose", "0.output", bits=2))
    model.handle(SetScaleEvent("set_scale", "3.output", 0.01, 100))
    model.calibration.figures()
    found = state_of(model).comparison
    assert found is not None
    assert found.active == "B"
    assert found.a.sqnr is not None and found.b.sqnr is not None and found.a.sqnr > found.b.sqnr + 5
    assert [one.id for one in found.differences] == ["0.output", "3.output"]
    first, second = found.differences
    assert (first.a, first.b) == ("L2 · affine · 8 bit · per tensor", "L2 · affine · 2 bit · per tensor")
    assert second.b.endswith("· -1 to 1.55 by hand")
    assert first.a_sqnr is not None and first.b_sqnr is not None and first.a_sqnr > first.b_sqnr
    model.handle(CompareEvent("compare", "switch"))
    state = state_of(model)
    assert state.comparison is not None and state.comparison.active == "A"
    assert state.change == "now A, where 2 observers are set otherwise"
    model.handle(CompareEvent("compare", "leave"))
    assert state_of(model).comparison is None
    model.calibration.undo()
    assert state_of(model).change == "2 observers are set otherwise, as in a comparison that has ended"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"type": "choose", "id": "0.output", "bits": 16}, "codes of 2 to 8 bits, and 16 was given"),
        ({"type": "choose", "id": "0.output", "bits": 4.5}, "'choose'.bits"),
        ({"type": "choose", "id": "0.output", "rule": 7}, "'choose'.rule"),
        ({"type": "choose", "id": "0.output", "per_channel": True}, "0.output is no weight"),
        ({"type": "choose", "id": "0.output", "axis": 1}, "'choose' has no field 'axis'"),
        (
            {"type": "set_scale", "id": "0.output", "scale": 0, "zero_point": 0},
            "a scale is a finite number above 0",
        ),
        ({"type": "set_scale", "id": "0.output", "scale": 1.0}, "'set_scale' lacks the field 'zero_point'"),
        ({"type": "compare", "what": "burn"}, "'compare'.what"),
        ({"type": "compare", "what": "switch"}, "keep the present settings as A first"),
        (
            {"type": "set_range", "id": "0.output", "low": 0, "high": 1e-12, "final": True},
            "narrower than 256 codes",
        ),
    ],
)
def test_what_a_page_sends_is_validated_and_refused_in_words(
    model: HistogramModel, event: dict[str, Any], reason: str
) -> None:
    known = Registry()
    known.know(model)
    model.calibration.figures()
    # What is found out beside would be another difference.
    model.calibration.damage()
    for _ in range(20):
        before = state_of(model)
    refused = answer(gesture(model.id, event), known, Selection(), Ledger())
    assert refused is not None
    assert not refused.accepted
    assert reason in refused.reason
    after = state_of(model)
    assert (after.observers, after.detail, after.undo) == (before.observers, before.detail, before.undo)


def test_nothing_to_choose_is_said_by_its_absence() -> None:
    fixed = q.QConfig(q.default_fixed_qparams_range_0to1_observer, q.default_weight_observer)
    made = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval(), fixed)
    model = HistogramModel(made.calibration)
    model.handle(SelectEvent("select", "0.weight"))
    detail = state_of(model).detail
    assert detail is not None and detail.settings is not None and detail.settings.weight
    with pytest.raises(Refused, match="nothing can be chosen of a FixedQParamsObserver"):
        model.handle(ChooseEvent("choose", "0.output", bits=4))


def test_values_before_and_after_travel_when_they_are_asked_for(model: HistogramModel) -> None:
    model.handle(SelectEvent("select", "0.output"))
    before = model.snapshot()
    assert len(before.buffers) == 1
    told = threading.Event()
    model.listen(lambda one: told.set())
    model.handle(ShowValuesEvent("show_values", True))
    told.clear()
    state = state_of(model)
    assert state.show_values
    detail = state.detail
    assert told.wait(30)
    for _ in range(100):
        snapshot = model.snapshot()
        detail = snapshot.state.detail  # type: ignore[attr-defined]
        if detail.values is not None:
            break
        time.sleep(0.02)
    assert detail is not None and detail.values is not None
    _, buffers = encode_snapshot("histogram", snapshot)
    assert [len(one) for one in buffers[1:]] == [4 * detail.values.bins] * 2
    model.handle(ShowValuesEvent("show_values", False))
    assert state_of(model).detail.values is None  # type: ignore[union-attr]
    assert len(model.snapshot().buffers) == 1


def test_figures_that_a_person_waits_for_are_told_in_a_hurry(
    model: HistogramModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What measures beside it would be done at any moment.
    monkeypatch.setattr("workbench.quantization.metrics.Measurement._begin", lambda measurement: None)
    model.calibration.figures()
    hurried: list[bool] = []
    model.listen(lambda one: hurried.append(answering()))
    model.changed()
    model.handle(SetRangeEvent("set_range", "0.output", 0.0, 1.0, False))
    model.changed()
    assert not any(hurried), "nothing new is known of the whole model"
    model.calibration.figures()
    hurried.clear()
    model.changed()
    model.changed()
    assert hurried == [True, False]


def test_the_first_values_that_a_person_asked_for_are_told_in_a_hurry(
    model: HistogramModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No row is left for another picture, which would be told, too.
    monkeypatch.setattr(importlib.import_module("workbench.widgets.histogram"), "BUDGET", 10.0)
    model.handle(SelectEvent("select", "0.output"))
    hurried: list[bool] = []
    told = threading.Event()
    model.handle(ShowValuesEvent("show_values", True))
    model.listen(lambda one: (hurried.append(answering()), told.set()))
    for expected in (True, False):
        told.clear()
        state_of(model)
        assert told.wait(30)
        assert hurried[-1] is expected
        # Others, which nobody has asked for.
        model.calibration.model(wb.randn(N=4, C=1, H=8, W=8))
        model._values._again = 0.0


def test_a_difference_that_is_shown_puts_away_what_was_refused(model: HistogramModel) -> None:
    with pytest.raises(Refused, match=r"0\.output is no weight"):
        model.handle(ChooseEvent("choose", "0.output", per_channel=True))
    assert state_of(model).refusal is not None
    model.handle(ShowDifferenceEvent("show_difference", "0.output"))
    assert state_of(model).refusal is None


def test_the_page_has_words_for_each_rule() -> None:
    source = Path(__file__).resolve().parents[2] / "extensions/views/src/histogram/rules.ts"
    names = re.findall(r"^  (?:'([^']+)'|(\w+)):", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert {quoted or plain for quoted, plain in names} == {*RULE_NAMES.values(), "yours"}
