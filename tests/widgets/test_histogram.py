"""The observers of a model as a view: rows, detail, words, gestures, refusals."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.live.models import gesture
from workbench import quantization as q
from workbench.base import events
from workbench.live.answer import answer, answering
from workbench.live.encode import encode_snapshot
from workbench.live.ledger import Ledger
from workbench.live.messages import (
    HistogramState,
    RedoEvent,
    ResetRangeEvent,
    SampleEvent,
    SelectEvent,
    SetRangeEvent,
    UndoEvent,
)
from workbench.live.model import Refused
from workbench.live.registry import Registry
from workbench.live.renderers import Renderers, renderers
from workbench.live.selection import Selection
from workbench.widgets.histogram import HistogramModel, HistogramWidget, histogram, model_of


@pytest.fixture
def prepared() -> Any:
    """A small network whose observers have seen one batch, while somebody looked."""
    wb.manual_seed(0)
    model = wb.nn.Sequential(
        wb.nn.Conv2d(1, 6, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(6 * 36, 4)
    ).eval()
    made = q.prepare(q.fuse_modules(model, [["0", "1"]]), q.bits_qconfig(8, 8))
    stop = made.calibration.listen(lambda source: None)
    with wb.no_grad():
        made(wb.randn(N=64, C=1, H=8, W=8))
    stop()
    return made


@pytest.fixture
def model(prepared: Any) -> HistogramModel:
    return HistogramModel(prepared.calibration, "In [3]")


def state_of(model: HistogramModel) -> HistogramState:
    state: Any = model.snapshot().state
    return state  # type: ignore[no-any-return]


def settle(model: HistogramModel) -> HistogramState:
    """The state after enough pictures that every row is up to date."""
    for _ in range(20):
        state = state_of(model)
    return state


def test_rows(model: HistogramModel) -> None:
    state = settle(model)
    assert [row.name for row in state.observers] == [
        "input", "0.weight", "0.output", "3.weight", "3.output",
    ]  # fmt: skip
    row = state.observers[2]
    assert (row.dims, row.dtype, row.scheme) == (["N", "C", "H", "W"], "quint8", "per tensor · affine")
    assert row.batches == 1
    assert row.sqnr is not None and 30 < row.sqnr < 60
    assert 0 < len(row.spark) <= 24
    assert max(row.spark) == 1.0
    assert state.observers[1].scheme == "per channel · symmetric"
    assert state.observers[1].dims == ["out_channels", "in_channels", "kernel_height", "kernel_width"]
    assert not row.overridden
    assert state.head.title == "Sequential"
    assert state.head.source == "In [3]"


def test_a_picture_travels(model: HistogramModel) -> None:
    for name in model.calibration.names:
        model.handle(SelectEvent("select", name))
        state, buffers = encode_snapshot("histogram", model.snapshot())
        detail: Any = state["detail"]
        assert detail["id"] == name
        assert len(buffers) == 1
        assert len(buffers[0]) == 4 * detail["bins"]


def test_detail_of_an_activation(model: HistogramModel) -> None:
    model.handle(SelectEvent("select", "0.output"))
    snapshot = model.snapshot()
    detail: Any = snapshot.state.detail  # type: ignore[attr-defined]
    counts = np.frombuffer(snapshot.buffers[0], "<f4")
    observer = model.calibration["0.output"]
    assert counts.sum() == 64 * 6 * 36
    assert detail.observed_low == pytest.approx(0.0)
    assert detail.observed_high == pytest.approx(observer.max_val.item(), rel=0.02)
    assert (detail.bits, detail.quant_min, detail.quant_max) == (8, 0, 255)
    assert detail.scale == pytest.approx((detail.high - detail.low) / 255)
    assert [one.name for one in detail.candidates] == ["min-max", "99.9 %", "L2", "KL", "MSE"]
    best = {one.name: one.sqnr for one in detail.candidates}
    assert best["L2"] >= max(best.values()) - 0.05
    widths = [point.width for point in detail.curve]
    assert widths == sorted(widths)
    assert max(point.sqnr for point in detail.curve) > min(point.sqnr for point in detail.curve) + 10
    assert detail.channel_dim == "C"
    assert len(detail.channels) == 6


def test_a_channel_far_from_its_siblings_is_flagged() -> None:
    layer = wb.nn.Linear(20, 12)
    with wb.no_grad():
        layer.weight[7] = layer.weight[7] * 30
    made = q.prepare(wb.nn.Sequential(layer).eval())
    model = HistogramModel(made.calibration)
    model.handle(SelectEvent("select", "0.weight"))
    detail = state_of(model).detail
    assert detail is not None
    assert detail.channel_dim == "out_features"
    assert [channel.index for channel in detail.channels if channel.outlier] == [7]


def test_many_channels_are_thinned_out_but_not_the_outliers() -> None:
    layer = wb.nn.Linear(3, 1000)
    with wb.no_grad():
        layer.weight[777] = layer.weight[777] * 0 + 50.0
    model = HistogramModel(q.prepare(wb.nn.Sequential(layer).eval()).calibration)
    model.handle(SelectEvent("select", "0.weight"))
    detail = state_of(model).detail
    assert detail is not None
    assert len(detail.channels) <= 256
    assert 777 in [channel.index for channel in detail.channels if channel.outlier]


def test_gestures(model: HistogramModel) -> None:
    model.handle(SetRangeEvent("set_range", "0.output", 0.0, 0.5, True))
    model.handle(SelectEvent("select", "0.output"))
    state = settle(model)
    assert state.detail is not None
    assert (state.detail.low, state.detail.high) == (0.0, 0.5)
    assert state.detail.candidates[-1].name == "yours"
    assert state.detail.clip_high > 0.05
    assert state.observers[2].overridden
    assert (state.undo, state.redo) == (1, 0)
    assert state.head.code.endswith("\nprepared.calibration.set_range('0.output', 0.0, 0.5)")
    model.handle(UndoEvent("undo"))
    assert (state_of(model).undo, state_of(model).redo) == (0, 1)
    model.handle(RedoEvent("redo"))
    model.handle(ResetRangeEvent("reset_range", "0.output"))
    assert model.calibration["0.output"].override is None
    assert state_of(model).undo == 2
    model.handle(SelectEvent("select", None))
    assert state_of(model).selected == "input"


def test_what_a_change_did_is_said_in_words(model: HistogramModel) -> None:
    def say(low: float, high: float) -> str:
        model.handle(SetRangeEvent("set_range", "3.output", low, high, True))
        return state_of(model).change

    ends = [float(one) for one in model.calibration["3.output"].observed_range()]
    first = say(ends[0] / 4, ends[1] / 4)
    assert first.startswith("3.output: clipping ")
    assert " % more cost " in first
    assert first.endswith(" dB")
    assert " % less bought " in say(ends[0], ends[1])
    wide = say(ends[0] * 20, ends[1] * 20)
    assert wide.startswith("3.output: ") and " cost " in wide
    assert "made less than 0.1 dB of difference" in say(ends[0] * 20.001, ends[1] * 20.001)
    model.handle(UndoEvent("undo"))
    assert state_of(model).change.startswith("3.output: taken back: ")


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (SetRangeEvent("set_range", "0.output", 2.0, 1.0, True), "the low end 2 is not below the high end 1"),
        (SetRangeEvent("set_range", "0.output", float("nan"), 1.0, True), "a range has two finite ends"),
        (SetRangeEvent("set_range", "0.output", 500.0, 600.0, True), "leaves out every value that was seen"),
        (SetRangeEvent("set_range", "nobody", 0.0, 1.0, True), "there is no observer 'nobody'"),
        (SelectEvent("select", "0.outptu"), "did you mean '0.output'"),
        (UndoEvent("undo"), "there is nothing to undo"),
        (RedoEvent("redo"), "there is nothing to redo"),
        (SampleEvent("sample", 3), "observers know no SampleEvent"),
    ],
)
def test_refusals_leave_everything_as_it_was(model: HistogramModel, event: Any, reason: str) -> None:
    before = settle(model)
    with pytest.raises(Refused, match=reason):
        model.handle(event)
    after = state_of(model)
    assert after.refusal is not None
    assert reason in after.refusal.reason
    assert after.refusal.request == event.type
    assert (after.observers, after.detail, after.undo) == (before.observers, before.detail, before.undo)
    model.handle(SelectEvent("select", "input"))
    assert state_of(model).refusal is None


def test_a_request_from_a_page_is_answered(model: HistogramModel) -> None:
    known = Registry()
    known.know(model)
    event = {"type": "set_range", "id": "0.output", "low": 0, "high": 0.5, "final": True}
    done = answer(gesture(model.id, event), known, Selection(), Ledger())
    assert done is not None
    assert done.accepted
    refused = answer(gesture(model.id, {**event, "low": 3}), known, Selection(), Ledger())
    assert refused is not None
    assert not refused.accepted
    assert refused.reason == "the low end 3 is not below the high end 0.5: give the smaller one first"


def test_observers_without_values_have_rows_and_no_detail() -> None:
    made = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval())
    model = HistogramModel(made.calibration)
    state = settle(model)
    assert state.detail is None
    assert [row.sqnr for row in state.observers if row.name == "0.output"] == [None]
    made(wb.ones(2, 3) * float("nan"))
    row = next(row for row in settle(model).observers if row.name == "input")
    assert (row.nan, row.sqnr) == (6, None)
    model.handle(SelectEvent("select", "0.output"))
    assert state_of(model).detail is None
    model.handle(SetRangeEvent("set_range", "0.output", -1.0, 1.0, True))
    assert state_of(model).change == "0.output: set before any value was seen"


def test_observers_without_histogram_show_what_was_seen_while_somebody_looked() -> None:
    made = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval(), q.default_qconfig)
    made(wb.randn(10, 3))
    model = HistogramModel(made.calibration)
    model.handle(SelectEvent("select", "0.output"))
    assert state_of(model).detail is None
    stop = events.subscribe(q.Calibration, lambda source: None)
    made(wb.randn(10, 3))
    stop()
    assert state_of(model).detail is not None


def test_why_there_is_no_detail_is_said() -> None:
    made = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval(), q.default_qconfig)
    model = HistogramModel(made.calibration)
    assert state_of(model).no_detail.startswith("This observer has seen no values yet")
    made(wb.full((2, 3), float("nan")))
    made(wb.full((1, 3), float("inf")))
    state = state_of(model)
    # What was broken is shown, where there is nothing better.
    assert state.selected == "input"
    assert "no finite value in 2 batches, only 6 NaN and 3 infinite" in state.no_detail
    made(wb.randn(4, 3))
    assert "kept no histogram of 3 batches, as nobody watched" in state_of(model).no_detail
    model.handle(SelectEvent("select", "0.weight"))
    assert state_of(model).no_detail == ""


@pytest.mark.parametrize("size", [0.0, 1e-44, 1e-30, 1e30, float(np.finfo(np.float32).max)])
def test_values_of_any_size_are_drawn(size: float) -> None:
    made = q.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval())
    model = HistogramModel(made.calibration)
    stop = made.calibration.listen(lambda source: None)
    made(wb.tensor([[-size, 0.0, size]] * 4))
    stop()
    model.handle(SelectEvent("select", "input"))
    state, _ = encode_snapshot("histogram", model.snapshot())
    detail: Any = state["detail"]
    assert all(np.isfinite([one["low"], one["high"]]).all() for one in detail["curve"])
    assert (detail["observed_low"], detail["observed_high"]) == pytest.approx(
        (-size, size), rel=1e-6, abs=1e-9
    )
    json.dumps(state, allow_nan=False)


def test_an_observer_that_keeps_no_histogram_says_its_range() -> None:
    linear = wb.nn.Linear(3, 2)
    config = q.QConfig(
        activation=q.default_fixed_qparams_range_0to1_observer, weight=q.default_weight_observer
    )
    model = HistogramModel(q.prepare(wb.nn.Sequential(linear).eval(), config).calibration)
    model.handle(SelectEvent("select", "0.output"))
    state = state_of(model)
    assert state.no_detail == "A FixedQParamsObserver keeps no histogram. Its range is 0 to 0.9961."


def test_what_is_published_is_drawn(prepared: Any) -> None:
    shown = Registry()
    rules = Renderers(shown)
    rules.register(q.Calibration, model_of)
    rules.start()
    try:
        prepared(wb.randn(4, 1, 8, 8))
    finally:
        rules.stop()
    (drawn,) = shown.models("histogram")
    assert drawn is model_of(prepared.calibration)
    assert renderers.find(prepared.calibration) is model_of


def test_rows_are_made_as_time_allows(model: HistogramModel, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("workbench.widgets.histogram")
    monkeypatch.setattr(module, "BUDGET", -1.0)
    told: list[Any] = []
    model.listen(told.append)
    state = state_of(model)
    assert [row.sqnr is None for row in state.observers] == [False, True, True, True, True]
    assert told == [model]
    monkeypatch.setattr(module, "BUDGET", 10.0)
    assert all(row.sqnr is not None for row in state_of(model).observers)
    state_of(model)
    assert len(told) == 1


def test_when_the_cell_has_ended_all_rows_and_figures_are_brought_up_to_date(
    prepared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A run leaves no time for rows.
    monkeypatch.setattr(importlib.import_module("workbench.widgets.histogram"), "BUDGET", 0.0)
    # What measures beside it may be done at any moment, and then nothing is outdated.
    monkeypatch.setattr("workbench.quantization.metrics.Measurement._begin", lambda measurement: None)
    images = wb.randn(N=8, C=1, H=8, W=8)
    calibration = q.Calibration(prepared, evaluate=images)
    model = HistogramModel(calibration)
    late = state_of(model)
    assert any(row.sqnr is None for row in late.observers)
    told: list[Any] = []
    model.listen(told.append)
    model.settle()
    assert told, "the figures are outdated, so another picture is asked for"
    assert all(row.sqnr is not None for row in state_of(model).observers)
    calibration.figures()
    told.clear()
    model.settle()
    assert not told, "nothing has changed"


def test_figures_that_are_found_after_a_cell_has_ended_wait_for_no_rest() -> None:
    prepared = q.prepare(wb.nn.Sequential(wb.nn.Conv2d(1, 4, 3), wb.nn.ReLU()).eval())
    images = wb.randn(N=8, C=1, H=8, W=8)
    calibration = q.Calibration(prepared, evaluate=images)
    prepared(images)
    model = HistogramModel(calibration)
    hurried: list[bool] = []
    model.listen(lambda _: hurried.append(answering()))
    model.settle()
    calibration.figures()
    model.changed()
    assert hurried[-1], "the figures"
    model.changed()
    assert not hurried[-1], "no news that anybody waits for"


def test_one_clock_for_all_pictures_of_one_model(
    model: HistogramModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.live.model.time.time", lambda: 1000.0)
    model.changed()
    monkeypatch.setattr("workbench.live.model.time.time", lambda: 2000.0)
    assert state_of(model).head.updated == 1000.0


def test_figures_of_the_whole_model(prepared: Any) -> None:
    images = wb.randn(N=8, C=1, H=8, W=8)
    calibration = q.Calibration(prepared, evaluate=(images, wb.zeros(8).long()))
    model = HistogramModel(calibration)
    calibration.figures()
    figures = state_of(model).model
    assert figures.sqnr is not None and figures.sqnr > 25
    assert figures.accuracy is not None
    assert figures.float_accuracy is not None


def test_a_held_batch_that_is_not_finite_is_named_as_the_reason(prepared: Any) -> None:
    images = wb.randn(N=8, C=1, H=8, W=8)
    images[0] = float("nan")
    calibration = q.Calibration(prepared, evaluate=images)
    model = HistogramModel(calibration)
    model.handle(SetRangeEvent("set_range", "0.output", 0.0, 1.5, True))
    assert calibration.figures().sqnr is None
    words = state_of(model).change
    assert words.startswith("0.output: clipping ")
    assert "the whole model is not measured: results on the held batch are not finite" in words


def test_after_conversion_nothing_changes_by_itself(prepared: Any, model: HistogramModel) -> None:
    assert state_of(model).head.live
    q.convert(prepared)
    assert not state_of(model).head.live


def test_widget(prepared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.widgets.base.bundle", lambda view: "export default {}")
    widget = histogram(prepared)
    assert isinstance(widget, HistogramWidget)
    assert widget.state["kind"] == "histogram"
    told: list[Any] = []
    widget.model.listen(told.append)
    prepared(wb.randn(4, 1, 8, 8))
    assert told
    widget.close()
    told.clear()
    prepared(wb.randn(4, 1, 8, 8))
    assert told == []
    with pytest.raises(wb.QuantizationError, match="the model has no observers"):
        histogram(wb.nn.Linear(2, 2))
