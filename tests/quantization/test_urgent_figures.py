"""Figures that a person waits for: of the first samples at first, of all of them then, and of one moment."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization import metrics
from workbench.quantization.held_batch import HeldBatch, rows_of
from workbench.quantization.layer_values import LayerValuesBeside
from workbench.quantization.points import floating_twin
from workbench.quantization.turns import Turns, turns

CLASSES = 5


class Net(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = wb.nn.Conv2d(1, 4, 3), wb.nn.BatchNorm2d(4)
        self.fc = wb.nn.Linear(4 * 36, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.fc(self.norm(self.conv(x)).relu().flatten(1))


@pytest.fixture
def x() -> Any:
    wb.manual_seed(1)
    return wb.randn(8, 1, 8, 8)


def prepared(x: Any, way: str) -> Any:
    wb.manual_seed(0)
    net = Net()
    if way == "graph":
        return q.prepare_fx(net.eval(), q.get_default_qconfig_mapping(), (x,))
    if way == "training":
        return q.prepare_qat_fx(net.train(), q.get_default_qat_qconfig_mapping(), (x,))
    fused = wb.nn.Sequential(net.conv, net.norm, wb.nn.ReLU(), wb.nn.Flatten(), net.fc)
    return q.prepare(q.fuse_modules(fused.eval(), [["0", "1", "2"]]))


def converted(model: Any, way: str) -> Any:
    made = (q.convert if way == "layers" else q.convert_fx)(model.eval())
    model.train(way == "training")
    return made


def calibrated(x: Any, way: str) -> q.Calibration:
    model = prepared(x, way)
    with wb.no_grad():
        model(x)
        labels = floating_twin(model)(x).argmax(1)
    return q.Calibration(model, (x, labels))


def wait_for(said: str, holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, said
        time.sleep(0.005)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece is one sample, and told."""
    monkeypatch.setattr(metrics, "PATIENCE", 0.0)
    monkeypatch.setattr(metrics, "PIECE", 0.0)
    monkeypatch.setattr(metrics, "REST", 1e6)


@pytest.mark.parametrize("way", ["layers", "graph", "training"])
def test_figures_of_some_samples_and_of_all_are_those_of_a_fresh_model(
    x: Any, way: str, impatient: None
) -> None:
    calibration = calibrated(x, way)
    measurement = calibration.measurement
    assert measurement is not None and measurement.samples == 8
    calibration.figures()
    built = measurement._converted
    name = calibration.names[-1]
    low, high = calibration.entry(name).range() or (0.0, 0.0)
    calibration.set_range(name, 0.5 * low, 0.6 * high)
    told: list[q.Figures] = []
    calibration.listen(lambda one: told.append(one.latest_figures()))
    calibration.latest_figures(urgent=True)
    wait_for("figures of the change", lambda: not calibration.outdated)
    wait_for("they are told", lambda: told[-1:] and told[-1].samples is None)
    assert [one.samples for one in told] == [1, 2, 3, 4, 5, 6, 7, None]
    assert measurement._converted is built
    with wb.no_grad():
        exact, codes = floating_twin(calibration.model)(x), converted(calibration.model, way)(x)
    labels = measurement.batch.labels
    for one in told:
        known = one.samples or 8
        assert one.sqnr == pytest.approx(q.sqnr(exact[:known], codes[:known]), abs=1e-3)
        hits = (codes[:known].argmax(1) == labels[:known]).sum().item()
        assert one.accuracy == pytest.approx(hits / known)
        assert one.float_accuracy == 1.0
    assert told[-1] == calibration.figures()


class Mixing(wb.nn.Module):
    """Samples have a part in each other's results."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = wb.nn.Linear(6, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.fc(x - x.mean(0))


class Sized(wb.nn.Module):
    """Takes eight samples, and no other number of them."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = wb.nn.Linear(6, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.fc(x.reshape(8, 6))


class Following(wb.nn.Module):
    """What stands in the first dim are moments: each result goes on from that of before."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = wb.nn.Linear(6, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.fc(x.cumsum(0))


@pytest.mark.parametrize("kind", [Mixing, Sized, Following])
def test_samples_that_are_not_by_themselves_are_measured_together(kind: Any, impatient: None) -> None:
    wb.manual_seed(0)
    rows = wb.randn(8, 6)
    model = q.prepare_fx(kind().eval(), q.get_default_qconfig_mapping(), (rows,))
    model(rows)
    calibration = q.Calibration(model, rows)
    told: list[int | None] = []
    calibration.listen(lambda one: told.append(one.latest_figures().samples))
    calibration.latest_figures(urgent=True)
    wait_for("figures", lambda: told and not calibration.outdated)
    assert set(told) == {None}
    exact, codes = floating_twin(model)(rows), q.convert_fx(model)(rows)
    assert calibration.figures().sqnr == pytest.approx(q.sqnr(exact.detach(), codes), abs=1e-6)


def test_a_batch_in_parts() -> None:
    wb.manual_seed(0)
    rows, mask = wb.randn(4, 6), wb.ones(6)
    batch = HeldBatch(((rows, mask), wb.tensor([0, 1, 2, 3])))
    assert (batch.samples, batch.pieces) == (4, 1)
    batch.divide(lambda first, second: first * second)
    assert batch.pieces == 4
    arguments, labels = batch.part(1, 3)
    # What is no row a sample stays whole.
    assert [tuple(one.shape) for one in arguments] == [(2, 6), (6,)]
    assert labels.tolist() == [1, 2]
    several = rows_of({"a": rows, "b": rows[:, :2] + 1}, 4)
    assert several.shape == (4, 8)
    assert several[1].tolist() == rows[1].tolist() + (rows[1, :2] + 1).tolist()
    with pytest.raises(wb.QuantizationError, match=r"sizes \[\[6\]\] have no row for each of 4 samples"):
        rows_of(mask, 4)
    broken = HeldBatch(wb.full((4, 6), float("nan")))
    broken.divide(lambda one: one)
    assert broken.pieces == 1


def test_a_change_has_what_is_measured_without_haste_left(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "REST", 1e6)
    calibration = calibrated(x, "graph")
    measurement: Any = calibration.measurement
    calibration.figures()
    begun, may = threading.Event(), threading.Event()
    urgent: list[bool] = []

    def slow(module: Any, inputs: Any) -> None:
        urgent.append(measurement._urgent)
        begun.set()
        assert may.wait(30)

    # Before a layer of the integer model it is held up, and before the next it is left.
    first = measurement._converted.get_submodule("conv").register_forward_pre_hook(slow)
    reached: list[bool] = []
    measurement._converted.get_submodule("fc").register_forward_hook(
        lambda *of: reached.append(measurement._urgent)
    )
    calibration.set_range("input", -1.0, 1.0)
    measurement._again = 0.0
    calibration.latest_figures()
    assert begun.wait(30)
    calibration.set_range("input", -2.0, 2.0)
    calibration.latest_figures(urgent=True)
    may.set()
    wait_for("figures of the last change", lambda: not calibration.outdated)
    first.remove()
    assert urgent[:2] == [False, True]
    assert reached and all(reached)


def test_who_drags_is_answered_before_the_next_is_begun(x: Any, impatient: None) -> None:
    calibration = calibrated(x, "graph")
    calibration.figures()
    told: list[int | None] = []

    def more(one: q.Calibration) -> None:
        told.append(one.latest_figures().samples)
        if len(told) < 4:
            # While the first is measured, the next is asked for.
            asked = threading.Thread(target=change, args=(len(told),))
            asked.start()
            asked.join(60)
            assert not asked.is_alive()

    def change(count: int) -> None:
        calibration._changes.put("input", q.calibration_changes.Setting(None, (-1.0, 1.0 + count)))
        calibration.latest_figures(urgent=True)

    measurement: Any = calibration.measurement
    measurement._done = lambda: more(calibration)
    change(0)
    wait_for("all", lambda: told and told[-1] is None and not calibration.outdated)
    # One sample each, up to the last change, of which all are measured.
    assert told[:3] == [1, 1, 1] and told[-1] is None


def test_a_measurement_in_training_is_of_one_moment(x: Any, impatient: None) -> None:
    calibration = calibrated(x, "training")
    model, measurement = calibration.model, calibration.measurement
    assert measurement is not None
    # It was given weights of its own when it was first looked at.
    calibration.figures()
    with wb.no_grad():
        model.conv.weight.mul_(1.5)
        model(x)
        exact, codes = floating_twin(model)(x), converted(model, "training")(x)
    told: list[q.Figures] = []

    def trained(one: q.Calibration) -> None:
        told.append(one.latest_figures())
        with wb.no_grad():
            model.conv.weight.mul_(0.5)
            model.fc.weight.add_(1.0)

    calibration._changed = ()
    measurement._done = lambda: trained(calibration)  # type: ignore[method-assign]
    calibration.latest_figures(urgent=True)
    wait_for("all", lambda: told and told[-1].samples is None)
    for one in told:
        known = one.samples or 8
        assert one.sqnr == pytest.approx(q.sqnr(exact[:known], codes[:known]), abs=1e-3)


@pytest.mark.parametrize("way", ["layers", "graph", "training"])
def test_looking_draws_nothing_from_the_program_s_stream(x: Any, way: str) -> None:
    calibration = calibrated(x, way)
    model = calibration.model
    for _ in range(2):
        before = wb.get_rng_state()
        calibration.figures()
        calibration.damage()
        assert len([entry.sqnr() for entry in calibration.entries]) == len(calibration.names)
        converted(model, way)
        assert repr(wb.get_rng_state()) == repr(before)
        with wb.no_grad():
            model(x)


def test_what_can_wait_gives_way() -> None:
    own = Turns()
    own.wait()
    passed = threading.Event()

    def later() -> None:
        own.wait()
        passed.set()

    with own.taken():
        assert not own.free
        own.wait(0.0)
        thread = threading.Thread(target=later)
        thread.start()
        assert not passed.wait(0.05)
    thread.join(30)
    assert passed.is_set() and own.free


def test_damages_and_values_wait_for_figures(x: Any) -> None:
    calibration = calibrated(x, "graph")
    calibration.figures()
    found, known = threading.Event(), threading.Event()
    damages: Any = calibration.damages
    values = LayerValuesBeside(calibration.measurement, found.set)

    def work() -> None:
        damages.work()
        known.set()

    with turns.taken():
        threading.Thread(target=work).start()
        values.latest(calibration.entry("conv.output"))
        assert not found.wait(0.05) and not known.is_set()
        assert not damages.known()
    assert found.wait(30) and known.wait(30)
    assert values.latest(calibration.entry("conv.output")) is not None
    assert len(damages.known()) == len(calibration.names)
