"""What it costs to quantize one point and nothing else: judged by hand, kept, and found out beside."""

from __future__ import annotations

import time
from typing import Any

import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization import damage as module


class Net(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = wb.nn.Linear(6, 5), wb.nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).tanh() + 0.5)


@pytest.fixture
def x() -> Any:
    wb.manual_seed(3)
    return wb.randn(16, 6)


def calibrated(x: Any, graph: bool) -> q.Calibration:
    wb.manual_seed(2)
    net = Net().eval()
    if graph:
        model: Any = q.prepare_fx(net, q.get_default_qconfig_mapping("onednn"), (x,))
    else:
        model = q.prepare(net)
    model(x)
    return q.Calibration(model, x)


def rounded(calibration: q.Calibration, name: str, value: Any) -> Any:
    observer = calibration[name]
    scale, zero = observer.calculate_qparams()
    if observer.qscheme.per_channel:
        return wb.fake_quantize_per_channel_affine(
            value, scale, zero, 0, observer.quant_min, observer.quant_max
        )
    return wb.fake_quantize_per_tensor_affine(
        value, float(scale), int(zero), observer.quant_min, observer.quant_max
    )


@pytest.mark.parametrize("graph", [True, False])
def test_each_point_by_hand(x: Any, graph: bool) -> None:
    calibration = calibrated(x, graph)
    net = calibration.model if graph else getattr(calibration.model, "module", calibration.model)
    first, second = net.first, net.second
    parts = {"input": 0, "first.weight": 1, "first.output": 2, "tanh.output": 3, "add.output": 4,
             "second.weight": 5, "second.output": 6}  # fmt: skip

    def run(point: str) -> Any:
        def at(name: str, value: Any) -> Any:
            return rounded(calibration, name, value) if name == point else value

        linear = wb.nn.functional.linear
        value = at("input", x)
        value = at(
            "first.output", linear(value, at("first.weight", first.weight.detach()), first.bias.detach())
        )
        value = at("add.output", at("tanh.output", value.tanh()) + 0.5)
        return at(
            "second.output", linear(value, at("second.weight", second.weight.detach()), second.bias.detach())
        )

    whole = run("")
    found = {one.name: one.sqnr for one in calibration.damage()}
    assert set(found) == set(calibration.names) <= set(parts)
    assert list(found.values()) == sorted(found.values())
    for name, ratio in found.items():
        assert ratio == pytest.approx(q.sqnr(whole, run(name)), abs=1e-3), name


def test_it_is_kept_until_the_point_changes(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = calibrated(x, graph=True)
    looked: list[str] = []
    alone = module._quantize_alone

    def counting(twin: Any, point: Any) -> Any:
        looked.append(point.name)
        return alone(twin, point)

    monkeypatch.setattr(module, "_quantize_alone", counting)
    damages = calibration.damages
    assert damages is not None and damages.progress == (0, len(calibration.names))
    before = {one.name: one.sqnr for one in calibration.damage()}
    assert sorted(looked) == sorted(calibration.names)
    assert damages.progress == (len(looked), len(looked))
    looked.clear()
    calibration.set_range("first.output", -0.1, 0.1)
    after = {one.name: one.sqnr for one in calibration.damage()}
    assert looked == ["first.output"]
    assert calibration.damage()[0].name == "first.output"
    assert after["first.output"] < before["first.output"] - 5
    calibration.undo()
    assert damages.work() == (len(before), len(before))
    assert {one.name: one.sqnr for one in damages.known()} == before


def test_a_budget_leaves_the_rest_for_later(x: Any) -> None:
    calibration = calibrated(x, graph=True)
    assert len(calibration.damage(budget=0.0)) == 1
    assert len(calibration.damage(budget=0.0)) == 2
    damages = calibration.damages
    assert damages is not None and damages.progress[0] == 2
    assert len(calibration.damage()) == len(calibration.names)


@pytest.mark.parametrize("graph", [True, False])
def test_it_is_found_out_beside(x: Any, graph: bool) -> None:
    calibration = calibrated(x, graph)
    told: list[int] = []
    stop = calibration.listen(lambda one: told.append(len(one.latest_damage())))
    # Those who look are told until all is known; the first look sets it going.
    calibration.latest_damage()
    deadline = time.monotonic() + 60
    while (not told or told[-1] < len(calibration.names)) and time.monotonic() < deadline:
        time.sleep(0.01)
    stop()
    assert told[-1] == len(calibration.names)
    assert [one.name for one in calibration.latest_damage()] == [one.name for one in calibration.damage()]


def test_values_that_were_not_kept_are_computed_again(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = calibrated(x, graph=True).damage()
    monkeypatch.setattr(module, "MOST_HELD", 0)
    assert calibrated(x, graph=True).damage() == kept


def test_in_training_weights_count_as_they_are(x: Any) -> None:
    wb.manual_seed(2)
    model = q.prepare_qat_fx(Net(), q.get_default_qat_qconfig_mapping("onednn"), (x,))
    calibration = q.Calibration(model, x)
    model(x)
    before = {one.name: one.sqnr for one in calibration.damage()}
    assert set(before) == set(calibration.names) and model.training
    with wb.no_grad():
        model.first.weight.mul_(wb.linspace(0.1, 20.0, 6))
    model(x)
    after = {one.name: one.sqnr for one in calibration.damage()}
    assert all(before[name] != after[name] for name in before if name != "input")


def test_refusals(x: Any) -> None:
    wb.manual_seed(2)
    model = q.prepare_fx(Net().eval(), q.get_default_qconfig_mapping("onednn"), (x,))
    with pytest.raises(wb.QuantizationError, match="nothing to measure by: give a small batch"):
        model.calibration.damage()
    calibration = q.Calibration(model, x)
    # Weights are known; what flows is not yet.
    assert {one.name for one in calibration.damage()} == {"first.weight", "second.weight"}


def test_another_observer_of_a_weight_makes_only_its_own_damage_stale() -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(6, 5), wb.nn.ReLU(), wb.nn.Linear(5, 3)).eval()
    x = wb.randn(16, 6)
    prepared = q.prepare(model)
    prepared(x)
    calibration = q.Calibration(prepared, evaluate=x)
    before = {one.name: one.sqnr for one in calibration.damage()}
    damages: Any = calibration.damages
    calibration.choose("0.weight", bits=4)
    assert damages.progress == (len(before) - 1, len(before))
    after = {one.name: one.sqnr for one in calibration.damage()}
    assert [name for name in before if before[name] != after[name]] == ["0.weight"]
    calibration.choose("0.weight", bits=7)
    assert damages.progress == (len(before) - 1, len(before))
    # What trains is another model.
    weight = prepared.module[2].weight
    with wb.no_grad():
        weight += 0.1
    prepared.module[2].weight_post_process(weight)
    assert damages.progress == (0, len(before))
