"""Weights of few bits: to the nearest, by GPTQ, by AWQ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.weight_only.grid import Setting
from workbench.quantization.weight_only.methods import (
    activation_aware,
    nearest,
    optimal,
    output_error,
    scaled_optimal,
)

Array = np.ndarray[Any, Any]


@pytest.fixture
def inputs() -> Array:
    """Inputs [samples, features] as a network has them: some large, all of them alike in part."""
    random = np.random.default_rng(0)
    mixed = random.normal(size=(400, 24)) @ random.normal(size=(24, 96))
    return (mixed * np.geomspace(0.1, 5, 96) + 0.1 * random.normal(size=(400, 96))).astype(np.float32)


@pytest.fixture
def weight() -> Array:
    return np.random.default_rng(1).normal(size=(40, 96)).astype(np.float32)


def _error(found: Any, weight: Array, inputs: Array) -> float:
    scale = np.ones(weight.shape[1], np.float32) if found.input_scale is None else found.input_scale
    expected = inputs.astype(np.float64) @ weight.T
    return float(np.sum(((inputs / scale) @ found.codes.dequantize().T - expected) ** 2))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [1, 32, 36, 96, 200])
@pytest.mark.parametrize("symmetric", [False, True])
def test_methods_that_see_data_have_less_error(
    bits: int, group: int, symmetric: bool, weight: Array, inputs: Array
) -> None:
    setting, gram = Setting(bits, group, symmetric), inputs.T.astype(np.float64) @ inputs
    errors = [
        _error(method(weight, gram, setting), weight, inputs)
        for method in (nearest, activation_aware, optimal, scaled_optimal)
    ]
    assert errors[1] <= errors[0] * 1.0001
    if group > 1:
        assert errors[2] < 0.6 * errors[0]
        assert errors[3] < 0.97 * errors[2]


@pytest.mark.parametrize("bits", [4, 8])
def test_going_over_the_codes_again_lessens_the_error(
    bits: int, weight: Array, inputs: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, gram = Setting(bits, 32, False), inputs.T.astype(np.float64) @ inputs
    again = _error(scaled_optimal(weight, gram, setting), weight, inputs)
    monkeypatch.setattr("workbench.quantization.weight_only.methods._ROUNDS", 0)
    assert again < 0.95 * _error(scaled_optimal(weight, gram, setting), weight, inputs)


def test_the_nearest_is_the_brute_force_nearest(weight: Array) -> None:
    """A scale and a zero point of each group, from its ends: what a loop over groups says."""
    setting = Setting(4, 36, False)
    codes = nearest(weight, None, setting).codes
    for row in range(len(weight)):
        for at, start in enumerate(range(0, 96, 36)):
            part = weight[row, start : start + 36].astype(np.float64)
            low, step = min(part.min(), 0), (max(part.max(), 0) - min(part.min(), 0)) / 15
            zero = int(np.clip(-np.rint(low / step), 0, 15))
            assert codes.scale[row, at] == np.float32(step) and codes.zero_point[row, at] == zero
            inverse = np.float32(1) / np.float32(step)
            expected = np.clip(np.rint(part.astype(np.float32) * inverse + np.float32(zero)), 0, 15)
            np.testing.assert_array_equal(codes.codes[row, start : start + 36], expected)


def test_the_error_of_the_output_needs_no_sample(weight: Array, inputs: Array) -> None:
    difference = np.random.default_rng(2).normal(size=weight.shape)
    direct = np.sum((inputs.astype(np.float64) @ difference.T) ** 2)
    assert output_error(difference, inputs.T.astype(np.float64) @ inputs) == pytest.approx(direct, rel=1e-9)


def test_inputs_that_are_always_zero_change_nothing(weight: Array, inputs: Array) -> None:
    """Their columns are rounded to the nearest, and no other column makes up for them."""
    inputs[:, 10:20] = 0
    setting, gram = Setting(4, 96, False), inputs.T.astype(np.float64) @ inputs
    found = optimal(weight, gram, setting).codes
    step = found.scale * 0.5001
    assert (
        np.abs(found.dequantize() - weight)[:, 10:20]
        <= np.maximum(step, 0) + _clipped(found, weight)[:, 10:20]
    ).all()
    assert np.isfinite(found.dequantize()).all()
    for method in (activation_aware, scaled_optimal):
        assert np.isfinite(method(weight, np.zeros_like(gram), setting).codes.dequantize()).all()


def _clipped(found: Any, weight: Array) -> Array:
    low, high = (0 - found.zero_point) * found.scale, (15 - found.zero_point) * found.scale
    return np.maximum(np.maximum(low - weight, weight - high), 0)


def _model() -> Any:
    wb.manual_seed(0)
    return wb.nn.Sequential(wb.nn.Linear(96, 64), wb.nn.GELU(), wb.nn.Linear(64, 10)).eval()


@pytest.mark.parametrize("method", list(q.weight_only.METHODS))
def test_a_model_keeps_its_answers(method: str, inputs: Array) -> None:
    model, x = _model(), wb.from_numpy(inputs)
    small = q.quantize_weights(model, [x[:200]], group_size=32, method=method)
    assert [type(one).__name__ for one in small] == ["WeightOnlyLinear", "GELU", "WeightOnlyLinear"]
    assert type(model[0]).__name__ == "Linear"
    assert (
        q.sqnr(model(x[200:]), small(x[200:]))
        > {"nearest": 15, "gptq": 20, "awq": 16, "awq+gptq": 20}[method]
    )
    assert q.model_size(small) < 0.25 * q.model_size(model)
    wide = q.quantize_weights(model, [x[:200]], group_size=32, method=method, bits=8)
    assert q.sqnr(model(x[200:]), wide(x[200:])) > 38


def test_values_of_other_types_and_gradients_pass(inputs: Array) -> None:
    small = q.quantize_weights(_model(), group_size=32)
    x = wb.from_numpy(inputs[:4]).requires_grad_()
    y = small(x)
    y.sum().backward()
    assert x.grad is not None and float(x.grad.abs().sum()) > 0
    with wb.no_grad():
        assert q.sqnr(y, small(x)) > 100
        assert small(x.to(wb.float16)).dtype is wb.float16
    named = small(wb.from_numpy(inputs[:4]).refine_names("N", "features"))
    assert named.names == ("N", "out_features")


def test_layers_that_see_one_value_are_one_stage() -> None:
    """Three projections of one value are found by one run of the model, and those behind them see their codes."""

    class Attention(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.out = (wb.nn.Linear(8, 8) for _ in range(3))

        def forward(self, x: Any) -> Any:
            return self.out(self.q(x) * self.k(x))

    model, runs = Attention().eval(), []

    def run(one: Any) -> None:
        runs.append([type(layer).__name__ for layer in one.children()])
        one(wb.rand(32, 8))

    q.quantize_weights(model, run, group_size=8, method="gptq")
    small = "WeightOnlyLinear"
    assert runs == [["Linear"] * 3, [small, small, "Linear"]]


def test_state_goes_into_another(inputs: Array) -> None:
    small = q.quantize_weights(_model(), [wb.from_numpy(inputs)], group_size=32, method="awq")
    other = q.quantize_weights(_model(), [wb.from_numpy(inputs[::-1].copy())], group_size=32, method="awq")
    other.load_state_dict(small.state_dict())
    x = wb.from_numpy(inputs[:8])
    np.testing.assert_array_equal(other(x).numpy(), small(x).numpy())


def test_what_cannot_be_done_is_refused(inputs: Array) -> None:
    model, x = _model(), wb.from_numpy(inputs)
    with pytest.raises(wb.QuantizationError, match="bits=3: weights have 4 or 8 bits"):
        q.quantize_weights(model, bits=3)
    with pytest.raises(wb.QuantizationError, match="group_size=0: give a whole number"):
        q.quantize_weights(model, group_size=0)
    with pytest.raises(wb.QuantizationError, match="method='gtpq': the methods are nearest, gptq, awq"):
        q.quantize_weights(model, method="gtpq")
    with pytest.raises(wb.QuantizationError, match="gptq looks at what layers are given: pass data"):
        q.quantize_weights(model, method="gptq")
    with pytest.raises(wb.QuantizationError, match="no linear layer 'zero'"):
        q.quantize_weights(model, layers=["zero"])
    with pytest.raises(wb.QuantizationError, match="no linear layer inside"):
        q.quantize_weights(wb.nn.Sequential(wb.nn.ReLU()))
    with pytest.raises(wb.QuantizationError, match="the data gave no batch"):
        q.quantize_weights(model, [], method="awq")
    with pytest.raises(wb.QuantizationError, match="2 was never called: leave it out by layers"):
        q.quantize_weights(model, lambda one: one[0](x), method="gptq")
    with pytest.raises(wb.QuantizationError, match="0 was given NaN or infinite values"):
        q.quantize_weights(model, [x / 0], method="gptq")
    assert [type(one).__name__ for one in model] == ["Linear", "GELU", "Linear"]
