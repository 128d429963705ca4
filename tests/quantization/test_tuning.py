"""Corrected biases and learned rounding: the mean comes back, four bits lose less, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.tuning.places import limits

FOUR = q.bits_qconfig(8, 4)


def by_graph(model: Any, x: Any, config: Any = FOUR) -> Any:
    prepared = q.prepare_fx(model, config, (x[:2],))
    with wb.no_grad():
        prepared(x)
    return prepared


def by_layers(model: Any, x: Any, config: Any = FOUR) -> Any:
    prepared = q.prepare(q.fuse_automatically(model, x[:2]), config)
    with wb.no_grad():
        prepared(x)
    return prepared


WAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "graph": (by_graph, q.convert_fx),
    "layers": (by_layers, q.convert),
}


def loss(model: Any, made: Any, x: Any) -> float:
    with wb.no_grad():
        return q.sqnr(model(x), made(x))


# ------------------------------------------------------------------------------------------------- bias


@pytest.mark.parametrize("way", WAYS)
def test_the_mean_of_each_channel_comes_back(trained: Any, digits: Any, way: str) -> None:
    prepare, convert = WAYS[way]
    x = digits[1][0]
    prepared = prepare(trained, x)
    integer = convert(prepared)
    corrected = q.correct_bias(integer, trained, [x[:64], (x[64:], digits[1][1][64:])])
    with wb.no_grad():
        wanted = trained(x).mean(0)
        before, after = ((one(x).mean(0) - wanted).abs().max().item() for one in (integer, corrected))
    assert after < before / 3
    assert loss(trained, corrected, digits[2][0]) > loss(trained, integer, digits[2][0])
    # What is prepared is corrected by the same numbers.
    again = convert(q.correct_bias(prepared, trained, x))
    with wb.no_grad():
        np.testing.assert_allclose(again(x).numpy(), corrected(x).numpy(), atol=1e-5)


class Turned(nn.Module):
    """Three layers, named in the order of their calls or in another."""

    def __init__(self, names: str) -> None:
        super().__init__()
        made = {name: nn.Conv2d(3, 3, 3) for name in "abc"}
        for name in names:
            self.add_module(name, made[name])

    def forward(self, x: Any) -> Any:
        return self.get_submodule("c")(self.get_submodule("b")(self.get_submodule("a")(x)))


@pytest.mark.parametrize("way", WAYS)
def test_biases_are_corrected_in_the_order_of_calls_whatever_a_model_names_first(way: str) -> None:
    prepare, convert = WAYS[way]
    wb.manual_seed(0)
    x, found = wb.randn(16, 3, 9, 9), {}
    usual = Turned("abc").eval()
    for names in ("abc", "cba"):
        model = Turned(names).eval()
        model.load_state_dict(usual.state_dict())
        corrected = q.correct_bias(convert(prepare(model, x)), model, x)
        found[names] = [corrected.get_submodule(name).bias.numpy() for name in "abc"]
    for one, other in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(one, other)


class Functional(Turned):
    """The same, but that the layer in the middle is a function."""

    def forward(self, x: Any) -> Any:
        middle = self.get_submodule("b")
        x = nn.functional.conv2d(self.get_submodule("a")(x), middle.weight, middle.bias)
        return self.get_submodule("c")(x)


def test_biases_of_functions_are_corrected_when_they_are_called() -> None:
    """Their layers stand behind all others in a graph."""
    wb.manual_seed(0)
    x, usual, other = wb.randn(16, 3, 9, 9), Turned("abc").eval(), Functional("abc").eval()
    other.load_state_dict(usual.state_dict())
    one, two = (q.correct_bias(q.convert_fx(by_graph(model, x)), model, x) for model in (usual, other))
    for name, same in (("a", "a"), ("b", "conv2d_layer"), ("c", "c")):
        biases = (made.get_submodule(path).bias.numpy() for made, path in ((one, name), (two, same)))
        np.testing.assert_array_equal(*biases)


def test_a_bias_is_made_where_there_is_none() -> None:
    wb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(16, 4, bias=False)).eval(), wb.rand(64, 16) + 1
    integer = q.convert_fx(by_graph(model, x, q.bits_qconfig(8, 3)))
    corrected = q.correct_bias(integer, model, x)
    layer = next(one for one in corrected.modules() if isinstance(one, q.quantized.Linear))
    # By hand: the mean of what codes compute against that of the layer, as far as its codes reach.
    ahead = next(one for one in integer.modules() if type(one) is q.quantized.Quantize)
    codes, weight = ahead(x).dequantize(), layer.weight.dequantize()
    low, high = limits(layer)
    exact, found = x @ model[0].weight.T, codes @ weight.T
    passing = ((exact > low) & (exact < high)) | ((found > low) & (found < high))
    wanted = (exact.clamp(low, high) - found.clamp(low, high)).sum(0) / passing.sum(0)
    np.testing.assert_allclose(layer.bias.numpy(), wanted.detach().numpy(), atol=1e-5)
    assert model[0].bias is None and loss(model, corrected, x) > loss(model, integer, x) + 3


def test_what_a_rectifier_cuts_off_has_no_say_in_a_bias() -> None:
    wb.manual_seed(2)
    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU6(), nn.Linear(24, 8)).eval()
    # Of eight samples one lies where the rectifier lets it through: by the mean of all, more would be lost than before.
    x = wb.rand(256, 16) * wb.where(wb.arange(256) % 8 < 1, 1.0, 16.0)[:, None]
    with wb.no_grad():
        model[0].weight.copy_(wb.randn(24, 16) * 2)
        model[0].bias.copy_(wb.full((24,), 2.0))
    prepared = by_graph(model, x, q.bits_qconfig(8, 3))
    corrected = q.convert_fx(q.correct_bias(prepared, model, x))
    assert loss(model, corrected, x) > loss(model, q.convert_fx(prepared), x) + 0.5
    np.testing.assert_allclose(limits(corrected.get_submodule("0")), (0, 6), atol=0.01)


class Turns(nn.Module):
    """A layer that is called as often as data have rows for each of four."""

    def __init__(self, most: int = 8) -> None:
        super().__init__()
        self.quant, self.dequant, self.layer, self.most = (
            q.QuantStub(),
            q.DeQuantStub(),
            nn.Linear(4, 4),
            most,
        )

    def forward(self, x: Any) -> Any:
        x = self.quant(x)
        for _ in range(min(self.most, x.shape[0] // 4)):
            x = self.layer(x)
        return self.dequant(x)


def test_a_bias_is_corrected_by_calls_of_both_models() -> None:
    wb.manual_seed(0)
    model, other, x = Turns().eval(), Turns(most=1).eval(), wb.rand(8, 4)
    other.load_state_dict(model.state_dict())
    prepared = q.prepare(model)
    prepared(x)
    integer = q.convert(prepared)
    assert loss(model, q.correct_bias(integer, model, x), x) > 20
    with pytest.raises(wb.QuantizationError, match="layer was never called: the data must reach every layer"):
        q.correct_bias(integer, model, x[:2])
    with pytest.raises(
        wb.QuantizationError, match="was called 2 times in codes, and 1 times in floating point"
    ):
        q.correct_bias(integer, other, x)


def test_a_joined_function_is_no_rectifier() -> None:
    wb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh()).eval(), wb.rand(256, 8)
    with wb.no_grad():
        # A rectifier would leave nothing to learn from.
        model[0].bias.copy_(wb.full((8,), -1.5))
    way = {(nn.Linear, nn.Tanh): lambda is_qat, linear, tanh: wb.ao.nn.intrinsic.LinearTanh(linear, tanh)}
    joined = q.fuse_modules(
        model, [["0", "1"]], fuse_custom_config_dict={"additional_fuser_method_mapping": way}
    )
    prepared = by_layers(q.QuantWrapper(joined), x, q.bits_qconfig(8, 3))
    near, rounded = q.convert(prepared), q.convert(q.adaround(prepared, x, steps=100))
    assert not np.array_equal(*(one.module[0].weight.payload.codes for one in (near, rounded)))
    assert loss(model, rounded, x) > loss(model, near, x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, p, x: q.correct_bias(m, m, x), "no integer layer with a weight, and no observers"),
        (lambda m, p, x: q.correct_bias(p, m, []), "there is nothing to look at: the data gave no batch"),
        (lambda m, p, x: q.correct_bias(p, m, x * float("nan")), "batch 0 has 18,432 NaN or infinite values"),
        (lambda m, p, x: q.correct_bias(p, m, [3]), "batch 0 is a int: a batch is a tensor, or a pair"),
        (lambda m, p, x: q.correct_bias(p, m, None), "data are batches: a tensor, a pair .* NoneType was given"),
        (lambda m, p, x: q.correct_bias(p, nn.Linear(144, 2).eval(), x.flatten(1)), "no layer with a weight in common"),
        (lambda m, p, x: q.correct_bias(p, "m", x), "the model before is a module, and str was given"),
        (lambda m, p, x: q.correct_bias(p, nn.Linear(2, 2), x), "Call model.eval.. first"),
        (lambda m, p, x: q.adaround(m, x), "adaround takes a prepared and calibrated model"),
        (lambda m, p, x: q.adaround(p, x[:0]), "all batches are empty"),
        (lambda m, p, x: q.adaround(p, x, layers=["conv3"]), "has no layer 'conv3' .*: did you mean 'conv"),
        (lambda m, p, x: q.adaround(p, x, memory_limit=100), "one sample of conv1 takes 2.81 KB, and memory_limit is"),
        (lambda m, p, x: q.adaround(p, x, steps=0), "steps=0: give a whole number"),
        (lambda m, p, x: q.adaround(p, x, learning_rate=0.0), "the first is above 0"),
    ],
)  # fmt: skip
def test_what_is_refused(trained: Any, digits: Any, call: Any, message: str) -> None:
    x = digits[1][0]
    with pytest.raises(wb.QuantizationError, match=message):
        call(trained, by_graph(trained, x), x)


def test_what_is_trained_is_not_rounded(trained: Any, digits: Any) -> None:
    x = digits[1][0]
    training = q.prepare_qat_fx(trained.train(), q.get_default_qat_qconfig_mapping(), (x[:2],))
    trained.eval()
    with pytest.raises(wb.QuantizationError, match="this one has fake quantization"):
        q.adaround(training, x)


# --------------------------------------------------------------------------------------------- rounding


@pytest.mark.parametrize("way", WAYS)
def test_learned_rounding_is_better_at_four_bits(trained: Any, digits: Any, way: str) -> None:
    prepare, convert = WAYS[way]
    x, seen = digits[1][0], digits[2][0]
    prepared = prepare(trained, x)
    rounded = q.adaround(prepared, x, steps=120)
    integer = convert(rounded)
    nearest = convert(prepared)
    # In decibels: 1 to 2, by the network that a processor has trained.
    assert loss(trained, integer, seen) > loss(trained, nearest, seen) + 0.8
    # Each weight is one of the two codes beside it, under the scale of before, and some are not the nearest.
    flipped = 0
    for name, layer in nearest.named_modules():
        if not hasattr(layer, "weight") or layer.weight is None:
            continue
        near, learned = layer.weight.payload, integer.get_submodule(name).weight.payload
        np.testing.assert_array_equal(near.scale, learned.scale)
        assert np.abs(near.codes.astype(int) - learned.codes).max() <= 1
        flipped += int((near.codes != learned.codes).sum())
    assert flipped > 20


def test_the_same_seed_gives_the_same_codes_and_observers_stay_as_they_are(trained: Any, digits: Any) -> None:
    x = digits[1][0]
    prepared = by_graph(trained, x)
    first, second = (q.adaround(prepared, x, steps=20, layers=["fc2"], memory_limit=5000) for _ in range(2))
    np.testing.assert_array_equal(first.fc2.weight.detach().numpy(), second.fc2.weight.detach().numpy())
    for one in (first, prepared):
        assert {
            o.batches for o in one.modules() if isinstance(o, ObserverBase) and not o.qscheme.per_channel
        } == {1}
    # Layers that were not asked for have their weights.
    np.testing.assert_array_equal(
        first.fc1[0].weight.detach().numpy(), prepared.fc1[0].weight.detach().numpy()
    )
    assert not np.array_equal(first.fc2.weight.detach().numpy(), prepared.fc2.weight.detach().numpy())


def test_a_weight_on_its_grid_stays() -> None:
    wb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 3)).eval(), wb.rand(32, 4)
    with wb.no_grad():
        # Codes from -8 to 7 of a scale of 1/8.
        codes = np.random.default_rng(0).integers(-7, 8, (3, 4)).astype(np.float32)
        codes[:, 0] = 7.5
        model[0].weight.copy_(wb.tensor(codes / 8))
    rounded = q.adaround(by_graph(model, x), x, steps=10)
    found = rounded.get_submodule("0").weight.detach().numpy()[:, 1:] * 8
    np.testing.assert_allclose(found, codes[:, 1:], atol=1e-5)


def test_weights_of_one_scale_are_rounded_too() -> None:
    wb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval(), wb.randn(64, 8)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("qnnpack"), (x,))
    prepared(x)
    before = q.sqnr(model(x), q.convert_fx(prepared)(x))
    q.adaround(prepared, [x])
    assert q.sqnr(model(x), q.convert_fx(prepared)(x)) >= before - 0.01
