"""Weights of few bits: to the nearest, by GPTQ, by AWQ."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.weight_only import descent, methods
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
@pytest.mark.parametrize("symmetric", [False, True])
def test_going_over_the_groups_again_lessens_the_error_every_time(
    bits: int, symmetric: bool, weight: Array, inputs: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, gram = Setting(bits, 32, symmetric), inputs.T.astype(np.float64) @ inputs
    errors = []
    for rounds in range(5):
        monkeypatch.setattr(descent, "_ROUNDS", rounds)
        errors.append(_error(scaled_optimal(weight, gram, setting), weight, inputs))
    assert errors[1] < 0.95 * errors[0]
    # The points are the same in floats and in codes but for the rounding of floats.
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(errors))


@pytest.mark.parametrize("seed", range(4))
def test_grids_by_groups_lose_less_than_codes_gone_over_one_by_one(seed: int) -> None:
    """What was computed before: one grid for all, columns in turn, and then the best code of each column by itself."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(500, 64)) @ random.normal(size=(64, 64)) * np.geomspace(0.2, 3, 64)
    weight, gram, setting = random.normal(size=(48, 64)).astype(np.float32), x.T @ x, Setting(4, 16, False)
    grid = setting.grid(weight, methods._shrunk(weight, gram, setting))
    found = methods._in_turn(weight, gram, grid).astype(np.float64)
    for _ in range(3):
        for j in np.argsort(-np.diag(gram)):
            found[:, j] = grid.column(found[:, j] + (weight - found) @ gram[:, j] / gram[j, j], j)
    points, _ = descent.by_groups(weight, gram, setting, 0.01)
    assert output_error(points - weight, gram) < 0.97 * output_error(found - weight, gram)


@pytest.mark.parametrize(("group", "columns"), [(1, 5), (3, 7), (7, 7), (16, 7)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_points_found_by_groups_are_those_of_the_codes(group: int, columns: int, symmetric: bool) -> None:
    """Codes stand for the points: groups went back to their places, also a last one that is shorter."""
    random = np.random.default_rng(3)
    weight, x = (
        random.normal(size=(9, columns)),
        random.normal(size=(50, columns)) * np.arange(1, columns + 1),
    )
    points, grid = descent.by_groups(weight, x.T @ x, Setting(4, group, symmetric), 0.01)
    np.testing.assert_allclose(grid.codes(points).dequantize(), points, rtol=1e-6, atol=1e-9)
    assert grid.scale.shape == grid.zero.shape == (9, -(-columns // group))
    assert not symmetric or (grid.zero == 8).all()


def test_rows_in_parts_are_found_as_all_at_once(
    weight: Array, inputs: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    gram, setting = inputs.T.astype(np.float64) @ inputs, Setting(4, 32, False)
    whole, _ = descent.by_groups(weight, gram, setting, 0.01)
    monkeypatch.setattr(descent, "_SIZE", 32 * 18 * 7)
    parts, _ = descent.by_groups(weight, gram, setting, 0.01)
    assert (np.abs(whole - parts) < 1e-6).mean() > 0.999


@pytest.mark.parametrize("size", [1e-4, 1, 1e4])
def test_inputs_that_are_always_zero_ask_groups_for_the_nearest(
    size: float, weight: Array, inputs: Array
) -> None:
    """However large the other inputs are; the grid is theirs, and may clip."""
    inputs[:, 10:20] = 0
    gram = (size * inputs.T.astype(np.float64)) @ (size * inputs)
    points, grid = descent.by_groups(weight, gram, Setting(4, 32, False), 0.01)
    np.testing.assert_allclose(points[:, 10:20], grid.near(weight)[:, 10:20], rtol=1e-5, atol=1e-5)
    plain = Setting(4, 32, False).grid(weight).near(weight)
    assert output_error(points - weight, gram) < 0.6 * output_error(plain - weight, gram)


def test_weights_that_lie_on_a_grid_are_found_exactly(inputs: Array) -> None:
    codes = np.random.default_rng(5).integers(0, 16, (8, 96))
    codes[:, ::16], codes[:, 1::16] = 0, 15
    for weight in ((codes - 6) * np.float32(0.25), np.full((8, 96), np.float32(0.5)), np.zeros((8, 96))):
        points, _ = descent.by_groups(
            weight, inputs.T.astype(np.float64) @ inputs, Setting(4, 16, False), 0.01
        )
        np.testing.assert_allclose(points, weight, atol=1e-5)


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


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("here", list(q.weight_only.METHODS))
@pytest.mark.parametrize("saved", list(q.weight_only.METHODS))
def test_a_state_of_any_method_is_loaded(saved: str, here: str, strict: bool, inputs: Array) -> None:
    x = wb.from_numpy(inputs)
    model, other = _model(), _model()
    wb.nn.init.normal_(other[0].weight)
    one = q.quantize_weights(model, [x[:200]], group_size=32, method=saved)
    made = q.quantize_weights(other, [x[200:]], group_size=32, method=here)
    assert made.load_state_dict(one.state_dict(), strict=strict) == ([], [])
    assert made.state_dict().keys() == one.state_dict().keys()
    np.testing.assert_array_equal(made(x).numpy(), one(x).numpy())


def test_states_that_do_not_fit(inputs: Array) -> None:
    x = wb.from_numpy(inputs)
    state = q.quantize_weights(_model(), [x], group_size=32, method="awq").state_dict()
    short = {**state, "0.input_scale": wb.ones(5)}
    for settings, given, message in (
        ({}, short, r"size mismatch for 0\.input_scale: .* shape \[5\] .*, the layer takes 96 features"),
        (
            {"bits": 8},
            state,
            r"0\.weight: quint4x2 in groups of 32 do not go into qint8 in groups of 32: give",
        ),
        (
            {"group_size": 48},
            state,
            r"0\.weight: quint4x2 in groups of 32 do not go into quint4x2 in groups of 48",
        ),
        ({}, _model().state_dict(), r"type mismatch for 0\.weight: float32 does not go into .*quint4x2"),
    ):
        made = q.quantize_weights(_model(), **{"group_size": 32, **settings})
        before, keys = made(x).numpy(), list(made.state_dict())
        with pytest.raises(RuntimeError, match=message):
            made.load_state_dict(given, strict=False)
        assert list(made.state_dict()) == keys
        np.testing.assert_array_equal(made(x).numpy(), before)


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


def test_attention_has_weights_of_few_bits_too() -> None:
    wb.manual_seed(0)
    model = wb.nn.TransformerEncoder(wb.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 1).eval()
    x = wb.randn(16, 9, 32)
    attention = [f"layers.0.self_attn.{name}" for name in ("linear_Q", "linear_K", "linear_V", "out_proj")]
    for method in ("nearest", "gptq", "awq"):
        small = q.quantize_weights(model, [x], bits=4, group_size=16, method=method)
        found = {name for name, one in small.named_modules() if type(one) is q.weight_only.WeightOnlyLinear}
        assert found == {*attention, "layers.0.linear1", "layers.0.linear2"}
        assert q.sqnr(model(x), small(x)) > 22
        # The old weights are gone.
        assert q.model_size(small) < 0.32 * q.model_size(model)
    some = q.quantize_weights(model, layers=["layers.0.self_attn.linear_K"], group_size=16)
    found = {name for name, one in some.named_modules() if type(one) is q.weight_only.WeightOnlyLinear}
    assert found == {attention[1]}
    plain = q.quantize_weights(model, layers=["layers.0.linear1"], group_size=16)
    assert type(plain.layers[0].self_attn) is wb.nn.MultiheadAttention
    with pytest.raises(
        wb.QuantizationError, match=r"no linear layer 'layers\.0\.self_attn\.linear_X': did you mean"
    ):
        q.quantize_weights(model, layers=["layers.0.self_attn.linear_X"])
    assert type(model.layers[0].self_attn) is wb.nn.MultiheadAttention


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
