"""Scales that are trained (LSQ), by layers and as a graph: converted, moved by hand, saved, written as code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.quantization.learnable_fake_quantize import CHANGING

VALUES = q.LearnableFakeQuantize.with_args(
    observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=wb.quint8, use_grad_scaling=True
)
WEIGHTS: dict[str, Any] = {
    "observed": q.default_weight_fake_quant,
    "learned": q.LearnableFakeQuantize.with_args(
        observer=q.MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=wb.qint8,
        qscheme=wb.per_tensor_symmetric, use_grad_scaling=True,
    ),
    "learned by channel": q.LearnableFakeQuantize.with_args(
        observer=q.MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=wb.qint8,
        qscheme=wb.per_channel_symmetric, channel_len=6, use_grad_scaling=True,
    ),
}  # fmt: skip
X = wb.randn(8, 3, 6, 6, generator=wb.Generator().manual_seed(1))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU()
        self.linear = nn.Linear(96, 6)

    def forward(self, x: Any) -> Any:
        x = self.relu(self.norm(self.conv(self.quant(x))))
        return self.dequant(self.linear(x.flatten(1)))


def by_layers(config: q.QConfig) -> tuple[Any, Callable[[Any], Any]]:
    wb.manual_seed(0)
    model = q.fuse_modules_qat(Net().train(), ["conv", "norm", "relu"])
    model.qconfig = config
    return q.prepare_qat(model), q.convert


def by_graph(config: q.QConfig) -> tuple[Any, Callable[[Any], Any]]:
    wb.manual_seed(0)
    return q.prepare_qat_fx(Net().train(), q.QConfigMapping().set_global(config), (X,)), q.convert_fx


WAYS = {"by layers": by_layers, "as a graph": by_graph}


def learnable(model: Any) -> list[q.LearnableFakeQuantize]:
    return [one for one in model.modules() if isinstance(one, q.LearnableFakeQuantize)]


def train(model: Any, steps: int = 4) -> Any:
    optimizer = wb.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(X) - 1).square().mean().backward()
        optimizer.step()
    return model


def learned(model: Any) -> Any:
    train(model)
    before = [one.scale.detach().numpy().copy() for one in learnable(model)]
    for one in learnable(model):
        one.enable_param_learning()
    train(model)
    assert not any(
        np.array_equal(a, one.scale.detach().numpy()) for a, one in zip(before, learnable(model), strict=True)
    )
    return model.eval().apply(q.disable_observer)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("way", WAYS)
def test_what_was_learned_is_converted(way: str, weight: str) -> None:
    model, convert = WAYS[way](q.QConfig(VALUES, WEIGHTS[weight]))
    learned(model)
    for one in learnable(model):
        scale, zero = one.observer.qparams()
        np.testing.assert_array_equal(np.atleast_1d(scale), one.scale.detach().numpy())
        np.testing.assert_array_equal(np.atleast_1d(zero), np.rint(one.zero_point.detach().numpy()))
    with wb.no_grad():
        expected, found = model(X).numpy(), convert(model)(X).numpy()
    step = float(max(one.scale.detach().numpy().max() for one in learnable(model) if one.dtype is wb.quint8))
    # A sum in the middle between two codes may be rounded the other way.
    assert np.abs(found - expected).max() <= 1.001 * step
    assert (np.abs(found - expected) > step / 2).mean() < 0.05
    assert np.abs(expected).max() > 10 * step


@pytest.mark.parametrize("way", WAYS)
def test_who_learns_from_the_start_looks_at_the_first_values(way: str) -> None:
    model, convert = WAYS[way](q.QConfig(VALUES, WEIGHTS["observed"]))
    for one in learnable(model):
        one.enable_param_learning()
        one.scale.data = wb.full((1,), 0.02)
    with pytest.raises(wb.QuantizationError, match="not calibrated: "):
        convert(model)
    train(model, 1)
    integer = convert(model.eval())
    with wb.no_grad():
        assert bool(integer(X).isfinite().all())
    assert all(abs(float(one.observer.qparams()[0]) - 0.02) < 0.02 for one in learnable(model))


@pytest.mark.parametrize("way", WAYS)
def test_a_range_set_by_hand_is_where_learning_goes_on(way: str) -> None:
    model, _ = WAYS[way](q.QConfig(VALUES, WEIGHTS["observed"]))
    learned(model)
    calibration = model.calibration
    name = next(one for one in calibration.names if one.endswith("output"))
    fake = next(one for one in learnable(model) if one.activation_post_process is calibration[name])
    calibration.set_range(name, 0.0, 2.55)
    model(X)
    assert float(fake.scale) == pytest.approx(0.01) and float(fake.zero_point) == 0
    train(model.train(), 2)
    assert float(fake.scale) != pytest.approx(0.01)
    np.testing.assert_array_equal(fake.observer.qparams()[0], fake.scale.detach().numpy()[0])
    low, high = calibration[name].range()
    assert float(high - low) == pytest.approx(255 * float(fake.scale))
    calibration.choose(name, bits=4)
    model(X)
    assert fake.quant_max == 15 and float(fake.scale) > 5 * 0.01


@pytest.mark.parametrize("way", WAYS)
def test_a_scale_for_each_channel_is_chosen_before_learning_begins(way: str) -> None:
    model, convert = WAYS[way](q.QConfig(VALUES, WEIGHTS["learned"]))
    train(model)
    calibration = model.calibration
    name = next(one for one in calibration.names if one.endswith("weight"))
    fake = next(one for one in learnable(model) if one.activation_post_process is calibration[name])
    scale = fake.scale
    calibration.choose(name, per_channel=True)
    assert fake.scale is scale and scale.shape == fake.zero_point.shape == (6,)
    learned(model.train())
    assert np.unique(scale.detach().numpy()).size == 6
    before = {one: calibration[one] for one in calibration.names}
    steps = calibration.undo_count
    for change in (calibration.undo, lambda: calibration.choose(name, per_channel=False)):
        with pytest.raises(
            wb.QuantizationError, match=r"6 scales are learned here, .* there cannot be 1 now"
        ):
            change()
    assert {one: calibration[one] for one in calibration.names} == before
    assert (calibration.undo_count, scale.shape) == (steps, (6,))
    train(model.train(), 1)
    with wb.no_grad():
        assert bool(convert(model.eval())(X).isfinite().all())
    fake.enable_static_estimate()
    calibration.undo()
    assert fake.scale is scale and scale.shape == (1,)
    train(model.train(), 1)


@pytest.mark.parametrize("mode", ["observed", "neither", "learned"])
def test_a_choice_in_the_middle_of_a_call_does_not_end_it(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = WAYS["by layers"](q.QConfig(VALUES, WEIGHTS["learned"]))
    train(model)
    calibration = model.calibration
    name = next(one for one in calibration.names if one.endswith("weight"))
    fake = next(one for one in learnable(model) if one.activation_post_process is calibration[name])
    if mode == "learned":
        fake.enable_param_learning()
    elif mode == "neither":
        fake.toggle_observer_update(False).toggle_qparam_learning(False)
    together, refused, chosen = q.LearnableFakeQuantize._together, [], []

    def choose() -> None:
        try:
            calibration.choose(name, per_channel=True)
        except wb.QuantizationError as error:
            refused.append(str(error))

    def interrupted(self: Any, x: Any) -> Any:
        found = together(self, x)
        if self is fake and not chosen:
            chosen.append(threading.Thread(target=choose))
            chosen[0].start()
            chosen[0].join(10)
            assert not chosen[0].is_alive()
        return found

    monkeypatch.setattr(q.LearnableFakeQuantize, "_together", interrupted)
    train(model, 1)
    train(model, 1)
    assert chosen and len(refused) == (mode == "learned")
    assert fake.scale.shape == ((1,) if mode == "learned" else (6,))


def test_learning_does_not_begin_while_an_observer_is_put_in_place() -> None:
    fake = q.LearnableFakeQuantize(q.MovingAverageMinMaxObserver, 0, 255)
    with CHANGING:
        other = threading.Thread(target=fake.enable_param_learning)
        other.start()
        other.join(0.05)
        assert not fake.learning_enabled.item()
    other.join(10)
    assert fake.learning_enabled.item()


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 1e38])
@pytest.mark.parametrize("way", WAYS)
def test_a_training_that_diverges_is_said_and_draws_on(way: str, scale: float) -> None:
    model, convert = WAYS[way](q.QConfig(VALUES, WEIGHTS["learned"]))
    learned(model)
    calibration = q.Calibration(model, evaluate=(X, wb.zeros(8, dtype=wb.int64)))
    calibration.figures()
    fake = learnable(model)[-1]
    before = fake.observer.range()
    fake.scale.data = wb.full((1,), scale)
    with wb.no_grad():
        model(X)
    assert calibration.outdated
    np.testing.assert_array_equal(fake.activation_post_process.range(), before)
    for once in (calibration.figures, calibration.figures, lambda: convert(model)):
        with pytest.raises(wb.QuantizationError, match=r"has learned scale \[.*the training has diverged"):
            once()
    fake.enable_static_estimate()
    model(X)
    assert calibration.figures().sqnr is not None


@pytest.mark.parametrize("weight", ["observed", "learned"])
def test_a_state_of_another_number_of_ranges_is_refused(weight: str) -> None:
    one = {"observed": q.default_weight_fake_quant, "learned": WEIGHTS["learned"]}[weight]
    model, _ = by_layers(q.QConfig(VALUES, one))
    train(model)
    whole = model.state_dict()
    name = next(one for one in model.calibration.names if one.endswith("weight"))
    model.calibration.choose(name, per_channel=True)
    train(model)
    fresh, _ = by_layers(q.QConfig(VALUES, one))
    train(fresh)
    for target, state, words in (
        (
            fresh,
            model.state_dict(),
            r"shape \[6\] .* with one for each, and here is one with one range for all channels",
        ),
        (model, whole, r"shape \[\] .* with one range for all channels, and here is one with one for each"),
    ):
        before = {key: value.numpy().copy() for key, value in target.state_dict().items()}
        with pytest.raises(RuntimeError, match=f"size mismatch for .*min_val: .*{words}"):
            target.load_state_dict(state)
        after = target.state_dict()
        assert all(np.array_equal(value, after[key].numpy()) for key, value in before.items())
        train(target)


def test_scales_are_as_many_as_the_observer_has() -> None:
    fake = q.LearnableFakeQuantize(
        q.MovingAveragePerChannelMinMaxObserver, -128, 127, dtype=wb.qint8, qscheme=wb.per_channel_symmetric
    )
    fake(wb.tensor([[1.27], [2.54]]))
    assert fake.scale.tolist() == pytest.approx([0.01, 0.02], rel=0.01)


@pytest.mark.parametrize("way", WAYS)
def test_a_state_brings_what_was_learned(way: str) -> None:
    model, convert = WAYS[way](q.QConfig(VALUES, WEIGHTS["learned"]))
    learned(model)
    fresh, _ = WAYS[way](q.QConfig(VALUES, WEIGHTS["learned"]))
    fresh.load_state_dict(model.state_dict())
    with wb.no_grad():
        np.testing.assert_array_equal(convert(fresh.eval())(X).numpy(), convert(model)(X).numpy())


def test_looking_back_to_what_is_observed() -> None:
    fake = VALUES()
    fake(wb.tensor([0.0, 2.55]))
    fake.enable_param_learning()
    with wb.no_grad():
        fake.scale.mul_(3.0)
    assert float(fake.observer.qparams()[0]) == pytest.approx(0.03)
    assert fake.observer.learned is not None
    fake.enable_static_estimate()
    fake(wb.tensor([0.0, 2.55]))
    assert fake.observer.learned is None and float(fake.scale) == pytest.approx(0.01)


@pytest.mark.parametrize("way", WAYS)
def test_figures_and_code(way: str) -> None:
    model, _ = WAYS[way](q.QConfig(VALUES, WEIGHTS["learned"]))
    learned(model)
    calibration = q.Calibration(model, evaluate=(X, wb.zeros(8, dtype=wb.int64)))
    assert len(calibration.names) == 5
    calibration.choose(next(one for one in calibration.names if one.endswith("output")), bits=7)
    code = calibration.code()
    assert "LearnableFakeQuantize.with_args(" in code and "use_grad_scaling=True" in code
    assert "quant_min=0, quant_max=127" in code and "reduce_range" not in code, (
        "the bit less is in the limits"
    )
    sqnr = calibration.figures().sqnr
    assert sqnr is not None and sqnr > 20
