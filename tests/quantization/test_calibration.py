"""The observers of a model as one thing: order, ranges changed and changed back, figures, telling who looks."""

from __future__ import annotations

import copy
import gc
import threading
import time
import weakref
from typing import Any

import pytest

import workbench as wb
from workbench import quantization as q
from workbench.base import events


@pytest.fixture
def calibration(prepared: Any, images: Any) -> q.Calibration:
    labels = wb.from_numpy(prepared(images).detach().numpy().argmax(1))
    return q.Calibration(prepared, evaluate=(images, labels))


def test_names_follow_the_order_of_the_first_batch(images: Any) -> None:
    class Backwards(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last, self.first = wb.nn.Linear(3, 2), wb.nn.Linear(144, 3)

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x.flatten("C", "W", "features")))

    prepared = q.prepare(Backwards().eval())
    assert prepared.calibration.names[1] == "last.weight"
    prepared(images)
    assert prepared.calibration.names == (
        "input",
        "first.weight",
        "first.output",
        "last.weight",
        "last.output",
    )


def test_observers_by_name(calibration: q.Calibration, prepared: Any) -> None:
    assert calibration["conv2.output"] is prepared.conv2.activation_post_process
    assert calibration["fc1.weight"] is prepared.fc1.weight_post_process
    with pytest.raises(
        wb.QuantizationError, match=r"no observer 'conv2\.outptu'; did you mean 'conv2\.output'"
    ):
        calibration["conv2.outptu"]


def test_changes_can_be_undone_and_made_again(calibration: q.Calibration) -> None:
    observer = calibration["conv1.output"]
    calibration.set_range("conv1.output", 0.0, 1.0)
    calibration.set_range("conv1.output", 0.0, 0.5)
    calibration.reset_range("conv1.output")
    assert observer.override is None
    seen = []
    for _ in range(3):
        calibration.undo()
        seen.append(observer.override)
    assert seen == [(0.0, 0.5), (0.0, 1.0), None]
    with pytest.raises(wb.QuantizationError, match="there is nothing to undo"):
        calibration.undo()
    for _ in range(3):
        calibration.redo()
    assert observer.override is None
    with pytest.raises(wb.QuantizationError, match="there is nothing to redo"):
        calibration.redo()
    assert (calibration.undo_count, calibration.redo_count) == (3, 0)


def test_a_drag_is_one_step(calibration: q.Calibration) -> None:
    calibration.set_range("fc1.output", 0.0, 2.0)
    for high in (1.9, 1.8, 1.7):
        calibration.set_range("fc1.output", 0.0, high, final=False)
    assert calibration.undo_count == 1
    calibration.set_range("fc1.output", 0.0, 1.6)
    assert calibration.undo_count == 2
    calibration.undo()
    assert calibration["fc1.output"].override == (0.0, 2.0)


def test_a_drag_whose_end_never_comes_is_undone_like_any_other(calibration: q.Calibration) -> None:
    calibration.set_range("fc1.output", 0.0, 2.0, final=False)
    assert calibration.unfinished
    calibration.undo()
    assert calibration["fc1.output"].override is None and not calibration.unfinished
    calibration.redo()
    assert calibration["fc1.output"].override == (0.0, 2.0)
    calibration.set_range("fc1.output", 0.0, 1.0, final=False)
    calibration.set_range("input", 0.0, 1.0)
    assert calibration.undo_count == 3 and not calibration.unfinished
    calibration.undo()
    calibration.undo()
    assert calibration["fc1.output"].override == (0.0, 2.0)


def test_a_new_change_ends_what_could_be_made_again(calibration: q.Calibration) -> None:
    calibration.set_range("input", 0.0, 1.0)
    calibration.undo()
    calibration.set_range("input", 0.0, 0.9)
    assert calibration.redo_count == 0
    calibration.reset_range("conv1.output")  # nothing was set: nothing to undo
    assert calibration.undo_count == 1


def test_a_refused_range_is_no_step(calibration: q.Calibration) -> None:
    with pytest.raises(wb.QuantizationError, match="give the smaller one first"):
        calibration.set_range("input", 1.0, 0.0)
    assert calibration.undo_count == 0


def test_figures_follow_the_ranges(calibration: q.Calibration) -> None:
    good = calibration.figures()
    assert good.float_accuracy == 1.0
    assert good.sqnr is not None and good.sqnr > 28
    assert good.accuracy is not None and good.accuracy > 0.9
    assert calibration.figures() is good
    calibration.set_range("conv1.output", 0.0, 0.05)
    bad = calibration.figures()
    assert bad.sqnr is not None and bad.sqnr < good.sqnr - 10
    calibration.undo()
    assert calibration.figures() == good
    calibration.set_range("fc2.weight", -0.01, 0.01)
    worse = calibration.figures()
    assert worse.sqnr is not None and worse.sqnr < good.sqnr - 10


def test_figures_are_those_of_the_converted_model(
    calibration: q.Calibration, prepared: Any, images: Any
) -> None:
    calibration.set_range("conv2.output", 0.0, 0.7)
    found = calibration.figures().sqnr
    with wb.no_grad():
        integer = q.convert(prepared)(images)
        calibration.reset_range("conv2.output")
        exact = prepared(images)
    assert found == pytest.approx(q.sqnr(exact, integer), abs=1e-6)


def test_measuring_shows_observers_nothing(calibration: q.Calibration) -> None:
    before = [entry.observer.batches for entry in calibration.entries]
    calibration.figures()
    assert [entry.observer.batches for entry in calibration.entries] == before


def test_figures_come_in_the_background(calibration: q.Calibration) -> None:
    done = threading.Event()
    calibration.listen(lambda source: done.set())
    assert calibration.latest_figures() == q.Figures()
    assert done.wait(30)
    assert calibration.latest_figures().sqnr is not None


def wait_for(said: str, holds: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, said
        time.sleep(0.01)


def test_the_figures_of_the_last_change_come_though_nobody_asks_again(
    calibration: q.Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.quantization.metrics.REST", 2.0)
    calibration.latest_figures()
    wait_for("figures", lambda: not calibration.outdated)
    calibration.set_range("conv2.output", 0.0, 0.7)
    before = calibration.latest_figures()
    wait_for("figures of the last change", lambda: not calibration.outdated)
    assert calibration.latest_figures() != before
    assert calibration.latest_figures() == calibration.figures()


def test_what_is_urgent_is_measured_after_what_is_measured_now(
    calibration: q.Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.quantization.metrics.REST", 1e6)
    measurement: Any = calibration.measurement
    begun, may = threading.Event(), threading.Event()
    measure = measurement._measure

    def slow(by_pieces: bool) -> Any:
        found = [*measure(by_pieces)]
        begun.set()
        assert may.wait(30)
        return iter(found)

    monkeypatch.setattr(measurement, "_measure", slow)
    calibration.latest_figures()
    assert begun.wait(30)
    calibration.set_range("conv2.output", 0.0, 0.7)
    calibration.latest_figures(urgent=True)
    may.set()
    wait_for("figures of the last change", lambda: not calibration.outdated)


def test_what_cannot_be_measured_says_why(fused: Any, images: Any) -> None:
    prepared = q.prepare(fused)
    with pytest.raises(wb.QuantizationError, match="nothing to measure by: give a small batch"):
        prepared.calibration.figures()
    calibration = q.Calibration(prepared, evaluate=images)
    with pytest.raises(wb.QuantizationError, match="not calibrated yet: conv1"):
        calibration.figures()
    calibration.latest_figures()
    deadline = time.monotonic() + 30
    while not calibration.measurement.trouble and time.monotonic() < deadline:  # type: ignore[union-attr]
        time.sleep(0.01)
    assert "not calibrated yet" in calibration.measurement.trouble  # type: ignore[union-attr]
    with pytest.raises(wb.QuantizationError, match="evaluate is a tensor of inputs, a pair"):
        q.Calibration(prepared, evaluate=(images, images, images))
    with pytest.raises(wb.QuantizationError, match="the model has no observers"):
        q.Calibration(fused)


def test_everybody_who_looks_is_told(prepared: Any, images: Any) -> None:
    told: list[Any] = []
    stop = events.subscribe(q.Calibration, lambda source: told.append(source))
    prepared(images)
    assert told == [prepared.calibration] * 5
    prepared.calibration.set_range("input", 0.0, 1.0)
    assert len(told) > 5
    stop()
    told.clear()
    prepared(images)
    assert told == []


def test_what_pictures_need_is_kept_only_while_somebody_looks(fused: Any, images: Any) -> None:
    prepared = q.prepare(fused, q.default_qconfig)
    observer = prepared.conv1.activation_post_process
    prepared(images)
    assert observer.density() is None
    assert observer.channels.low.size == 0
    stop = prepared.calibration.listen(lambda source: None)
    prepared(images)
    assert observer.density().total == 32 * 4 * 12 * 12
    assert observer.channels.name == "C"
    assert observer.channels.high.shape == (4,)
    stop()
    prepared(images)
    assert observer.density().total == 32 * 4 * 12 * 12


def test_copies_have_no_calibration_and_models_can_go(prepared: Any) -> None:
    assert copy.deepcopy(prepared).calibration is None
    held = weakref.ref(prepared.calibration)
    assert not hasattr(q.convert(prepared), "calibration")
    del prepared
    gc.collect()
    # The fixture still holds the model, and the model its calibration.
    assert held() is not None


def test_printed_and_written_as_code(calibration: q.Calibration) -> None:
    calibration.set_range("conv1.output", 0.0, 1.5)
    assert calibration.code().endswith("prepared.calibration.set_range('conv1.output', 0.0, 1.5)")
    text = repr(calibration)
    assert text.startswith("Calibration of Small\n  input: min_val=")
    assert "set by hand" in text
    assert "dB" in text
