"""What is chosen of observers by hand: what is kept, what is refused, taken back, compared, and in training."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import quantization as q
from workbench.quantization.observer_settings import RULE_NAMES, ObserverSettings, factory_of, settings_of


@pytest.fixture
def calibration(prepared: Any, images: Any) -> q.Calibration:
    prepared(images)
    return q.Calibration(prepared, evaluate=images)


def test_a_choice_is_in_force_from_the_next_batch_on_and_keeps_what_was_seen(
    calibration: q.Calibration, prepared: Any, images: Any
) -> None:
    before: Any = calibration["conv1.output"]
    counted = before.histogram.clone()
    calibration.choose("conv1.output", rule="kl", bits=4)
    now: Any = calibration["conv1.output"]
    assert now is prepared.conv1.activation_post_process
    assert now is not before
    assert (now.search, now.quant_min, now.quant_max) == ("kl", 0, 15)
    assert now.batches == before.batches
    assert now.histogram.tolist() == counted.tolist()
    prepared(images)
    assert now.batches == before.batches + 1
    assert now.histogram.sum().item() > counted.sum().item()


def test_scale_and_zero_point_are_those_of_an_observer_that_was_so_from_the_start(
    calibration: q.Calibration, prepared: Any, images: Any
) -> None:
    for rule in ("minmax", "percentile", "l2", "kl", "mse"):
        calibration.choose("conv2.output", rule=rule, bits=5)
        fresh = q.HistogramObserver(search=rule, quant_min=0, quant_max=31)
        seen: list[Any] = []
        handle = prepared.conv2.register_forward_hook(lambda m, i, o, seen=seen: seen.append(o))
        batches = calibration["conv2.output"].batches
        prepared(images)
        handle.remove()
        for _ in range(batches + 1):
            fresh(seen[0])
        mine, theirs = calibration["conv2.output"].qparams(), fresh.qparams()
        assert [float(one) for one in mine] == [float(one) for one in theirs], rule


def test_a_weight_gets_one_range_or_one_a_channel(calibration: q.Calibration, prepared: Any) -> None:
    weight = prepared.fc1[0].weight.detach().numpy()
    calibration.choose("fc1.weight", per_channel=False)
    one = calibration["fc1.weight"]
    assert type(one) is q.MinMaxObserver
    assert float(one.max_val.payload) == weight.max()
    calibration.choose("fc1.weight", rule="l2")
    assert type(calibration["fc1.weight"]) is q.HistogramObserver
    # The histogram of a weight is that of the weight as it is.
    assert calibration["fc1.weight"].histogram.sum().item() == weight.size
    calibration.choose("fc1.weight", rule="minmax", per_channel=True)
    each: Any = calibration["fc1.weight"]
    assert type(each) is q.PerChannelMinMaxObserver
    assert np.array_equal(each.max_val.payload, weight.max(axis=1))


@pytest.mark.parametrize(
    ("name", "chosen", "reason"),
    [
        ("conv1.output", {"bits": 16}, "codes of 2 to 8 bits, and 16 was given"),
        ("conv1.output", {"bits": 1}, "codes of 2 to 8 bits, and 1 was given"),
        ("conv1.output", {"bits": True}, "codes of 2 to 8 bits, and True was given"),
        ("conv1.output", {"rule": "best"}, "there is no observer 'best'; there are 'minmax'"),
        ("conv1.output", {"per_channel": True, "rule": "minmax"}, "conv1.output is no weight"),
        # And not that its rule searches one range: under another rule it would be refused all the same.
        ("conv1.output", {"per_channel": True}, "conv1.output is no weight"),
        ("fc1.weight", {"rule": "kl"}, "KL searches one range for all channels"),
        ("conv1.outptu", {"bits": 4}, "did you mean 'conv1.output'"),
        (
            "conv1.output",
            {"bitz": 4},
            "nothing called 'bitz' can be chosen .* rule, symmetric, bits, per_channel",
        ),
        ("conv1.output", {"symmetric": "no"}, "symmetric is True or False, and 'no' was given"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    calibration: q.Calibration, name: str, chosen: dict[str, Any], reason: str
) -> None:
    before = {one: calibration[one] for one in calibration.names}
    with pytest.raises(wb.QuantizationError, match=reason):
        calibration.choose(name, **chosen)
    assert {one: calibration[one] for one in calibration.names} == before
    assert calibration.undo_count == 0


def test_nothing_is_chosen_of_what_has_a_fixed_range(images: Any) -> None:
    fixed = q.QConfig(q.default_fixed_qparams_range_0to1_observer, q.default_weight_observer)
    made = q.prepare(wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(144, 2)).eval(), fixed)
    with pytest.raises(wb.QuantizationError, match="nothing can be chosen of a FixedQParamsObserver"):
        made.calibration.choose("1.output", bits=4)


@pytest.mark.parametrize(
    ("scale", "zero", "reason"),
    [
        (0.0, 3, "a scale is a finite number above 0, and 0.0 was given"),
        (float("nan"), 3, "a scale is a finite number above 0, and nan was given"),
        (0.1, 1.5, "a zero point is a whole number, and 1.5 was given"),
        (0.1, 300, "zero point 300 is no code: they go from 0 to 127"),
        (0.1, -1, "zero point -1 is no code"),
    ],
)
def test_scale_and_zero_point_that_cannot_be(
    calibration: q.Calibration, scale: float, zero: Any, reason: str
) -> None:
    with pytest.raises(wb.QuantizationError, match=reason):
        calibration.set_scale("conv1.output", scale, zero)
    assert calibration["conv1.output"].override is None
    with pytest.raises(wb.QuantizationError, match="each channel has a scale of its own"):
        calibration.set_scale("fc1.weight", 0.1, 0)
    calibration.choose("conv1.output", symmetric=True)
    with pytest.raises(wb.QuantizationError, match="symmetric codes have 63 as zero point, and 3 was given"):
        calibration.set_scale("conv1.output", 0.1, 3)


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-4, 1e3), st.integers(0, 255), st.booleans())
def test_a_scale_that_is_set_is_the_scale(scale: float, zero: int, symmetric: bool) -> None:
    scheme = wb.per_tensor_symmetric if symmetric else wb.per_tensor_affine
    observer = q.MinMaxObserver(qscheme=scheme)
    zero = 128 if symmetric else zero
    observer.set_range(*observer.scheme.range_of(scale, zero))
    found, point = observer.qparams()
    assert float(found) == pytest.approx(scale, rel=1e-6)
    assert int(point) == zero


def test_a_range_below_the_least_scale_is_refused(calibration: q.Calibration) -> None:
    with pytest.raises(
        wb.QuantizationError, match=r"narrower than 128 codes can be: their least scale is 1\.19e-07"
    ):
        calibration.set_range("conv1.output", 0.0, 1e-9)
    assert calibration["conv1.output"].override is None


def test_choosing_a_rule_gives_it_the_range_and_other_choices_leave_it(calibration: q.Calibration) -> None:
    calibration.set_range("conv1.output", 0.0, 0.5)
    calibration.choose("conv1.output", bits=6)
    assert calibration["conv1.output"].override == (0.0, 0.5)
    calibration.choose("conv1.output", rule="mse")
    assert calibration["conv1.output"].override is None
    calibration.undo()
    assert calibration["conv1.output"].override == (0.0, 0.5)
    assert settings_of(calibration["conv1.output"]) == ObserverSettings("l2", False, 6, False)
    calibration.undo()
    calibration.undo()
    assert factory_of(calibration["conv1.output"]) == q.HistogramObserver.with_args(
        dtype=wb.quint8, qscheme=wb.per_tensor_affine, reduce_range=True, search="l2"
    )
    for _ in range(3):
        calibration.redo()
    assert settings_of(calibration["conv1.output"]) == ObserverSettings("mse", False, 6, False)


def test_choosing_what_is_there_changes_nothing(calibration: q.Calibration) -> None:
    before = calibration["conv1.output"]
    calibration.choose("conv1.output", rule="l2", bits=7, symmetric=False, per_channel=False)
    assert calibration["conv1.output"] is before
    assert calibration.undo_count == 0


def test_figures_follow_a_choice(calibration: q.Calibration, prepared: Any, images: Any) -> None:
    good = calibration.figures()
    calibration.choose("conv1.output", bits=2)
    bad = calibration.figures()
    assert bad.sqnr is not None and good.sqnr is not None and bad.sqnr < good.sqnr - 10
    with wb.no_grad():
        exact = q.sqnr(calibration.measurement._scores.rows, q.convert(prepared)(images))  # type: ignore[union-attr]
    assert bad.sqnr == pytest.approx(exact, abs=1e-6)
    calibration.undo()
    assert calibration.figures() == good


def test_two_sides(calibration: q.Calibration) -> None:
    with pytest.raises(wb.QuantizationError, match="keep the present settings as A first"):
        calibration.switch()
    with pytest.raises(wb.QuantizationError, match="keep the present settings as A first"):
        calibration.leave()
    good = calibration.figures()
    calibration.keep()
    assert calibration.active == "B"
    calibration.choose("conv1.output", bits=2)
    calibration.set_range("conv2.output", 0.0, 0.4)
    bad = calibration.figures()
    calibration.switch()
    assert calibration.active == "A"
    assert calibration.figures() == good
    sides = calibration.compared()
    assert sides["B"].figures == bad
    assert sides["A"].sqnrs["conv1.output"] > sides["B"].sqnrs["conv1.output"]  # type: ignore[operator]
    assert calibration["conv2.output"].override is None
    calibration.switch()
    assert calibration["conv2.output"].override == (0.0, 0.4)
    calibration.undo()
    assert calibration.active == "A"
    assert calibration.figures() == good
    calibration.redo()
    assert calibration.active == "B"
    calibration.leave()
    assert calibration.compared() == {}
    calibration.undo()
    assert (calibration.active, calibration["conv2.output"].override) == ("", None)


def test_steps_of_an_ended_comparison_change_no_side_of_the_next(calibration: q.Calibration) -> None:
    calibration.keep()
    calibration.set_range("conv2.output", 0.0, 0.4)
    calibration.switch()
    calibration.keep()
    calibration.undo()
    assert (calibration.active, calibration["conv2.output"].override) == ("B", (0.0, 0.4))
    calibration.redo()
    assert (calibration.active, calibration["conv2.output"].override) == ("B", None)
    calibration.undo()
    calibration.switch()
    assert (calibration.active, calibration["conv2.output"].override) == ("A", None)
    calibration.switch()
    assert calibration.active == "B" and set(calibration.compared()) == {"A", "B"}


def test_a_side_has_no_figures_of_what_was_set_before(calibration: q.Calibration) -> None:
    good = calibration.figures()
    calibration.choose("conv1.output", bits=2)
    calibration.keep()
    kept = calibration.compared()["A"].figures
    assert kept != good
    bad = calibration.figures()
    # Nothing is set otherwise yet: what is measured now is measured of A.
    assert calibration.compared()["A"].figures == bad
    calibration.set_range("conv2.output", 0.0, 0.4)
    calibration.switch()
    assert calibration.compared()["B"].figures != bad
    calibration.figures()
    assert calibration.compared()["A"].figures == bad


def test_a_choice_while_another_thread_runs_the_model(
    calibration: q.Calibration, prepared: Any, images: Any
) -> None:
    stop = threading.Event()
    wrong: list[BaseException] = []

    def run() -> None:
        try:
            with wb.no_grad():
                while not stop.is_set():
                    prepared(images)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    for bits in (4, 8, 3, 6):
        for rule in RULE_NAMES:
            calibration.choose("conv1.output", rule=rule, bits=bits)
    stop.set()
    thread.join()
    assert not wrong
    assert calibration["conv1.output"].bits == 6


def test_training_goes_on_with_another_observer() -> None:
    wb.manual_seed(0)
    model = q.prepare_qat(wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU(), wb.nn.Linear(3, 2)))
    calibration = model.calibration
    x = wb.randn(16, 4)
    model(x).sum().backward()
    calibration.choose("0.output", rule="l2", bits=4)
    calibration.choose("0.weight", per_channel=False, bits=3)
    model(x).sum().backward()
    fake = model.module[0].activation_post_process
    assert isinstance(fake.observer, q.HistogramObserver)
    assert fake.observer is calibration["0.output"]
    assert (
        len(
            {
                round(float(one), 5)
                for one in model.module[0].weight_fake_quant(model.module[0].weight).ravel()
            }
        )
        <= 8
    )
    calibration.undo()
    model(x)
    assert type(calibration["0.weight"]) is q.MovingAveragePerChannelMinMaxObserver
    assert q.convert(model.eval())(x).shape == (16, 2)


@pytest.mark.parametrize("name", ["0.output", "0.weight"])
def test_bits_that_are_chosen_back_are_those_of_the_beginning(name: str) -> None:
    mapping = wb.quantization.get_default_qconfig("x86")
    model = wb.nn.Sequential(wb.nn.Linear(6, 5), wb.nn.ReLU()).eval()
    prepared = wb.quantization.prepare(model, mapping)
    prepared(wb.randn(16, 6))
    calibration = prepared.calibration
    first = factory_of(calibration[name])
    code, bits = calibration.code(), calibration[name].bits
    calibration.choose(name, bits=4)
    assert factory_of(calibration[name]) != first
    calibration.choose(name, bits=bits)
    assert factory_of(calibration[name]) == first
    assert calibration.code() == code
    calibration.choose("0.output", rule="kl")
    assert calibration["0.output"].reduce_range


def test_of_two_choices_at_once_each_builds_on_the_other(
    calibration: q.Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["workbench.quantization.calibration"]
    reset_by = module.reset_by  # type: ignore[attr-defined]

    def slowly(observer: Any, **chosen: Any) -> Any:
        found = reset_by(observer, **chosen)
        time.sleep(0.1)
        return found

    monkeypatch.setattr(module, "reset_by", slowly)
    choices: list[dict[str, Any]] = [{"bits": 4}, {"rule": "kl"}]
    threads = [
        threading.Thread(target=calibration.choose, args=("conv1.output",), kwargs=one) for one in choices
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now: Any = calibration["conv1.output"]
    assert (now.search, now.quant_max) == ("kl", 15)
