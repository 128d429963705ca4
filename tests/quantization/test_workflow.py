"""Fuse, prepare, calibrate, convert: what comes out, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels
from workbench import quantization as q
from workbench.quantization.fuse import find_patterns

GROUPS = [["conv1", "bn1", "relu1"], ["conv2", "bn2", "relu2"], ["fc1", "relu3"]]


def scores(model: Any, x: Any) -> Any:
    with wb.no_grad():
        return model(x)


# ------------------------------------------------------------------------------------------- fusion


def test_fusion_keeps_what_is_computed(model: Any, images: Any) -> None:
    fused = q.fuse_modules(model, GROUPS)
    np.testing.assert_allclose(scores(fused, images).numpy(), scores(model, images).numpy(), atol=1e-5)
    assert isinstance(fused.conv1, q.intrinsic.ConvReLU2d)
    assert isinstance(fused.bn1, wb.nn.Identity)
    assert isinstance(model.conv1, wb.nn.Conv2d)
    assert fused.conv1[0].weight.names == model.conv1.weight.names
    assert scores(fused, images).names == ("N", "out_features")


@pytest.mark.parametrize("group", [["conv1", "bn1"], ["conv1", "bn1", "relu1"]])
def test_fusion_in_place_and_without_bias(group: list[str]) -> None:
    layers = {"conv1": wb.nn.Conv2d(2, 3, 3, bias=False), "bn1": wb.nn.BatchNorm2d(3), "relu1": wb.nn.ReLU()}
    model = wb.nn.Sequential(layers)
    x = wb.randn(4, 2, 6, 6)
    scores(model, x)
    model.eval()
    before = scores(model, x).numpy()
    assert q.fuse_modules(model, group, inplace=True) is model
    np.testing.assert_allclose(scores(model, x).numpy(), before, atol=1e-5)


def test_linear_with_normalisation_and_without_learned_factors() -> None:
    model = wb.nn.Sequential(wb.nn.Linear(5, 4), wb.nn.BatchNorm1d(4, affine=False))
    x = wb.randn(16, 5)
    scores(model, x)
    model.eval()
    fused = q.fuse_modules(model, [["0", "1"]])
    np.testing.assert_allclose(scores(fused, x).numpy(), scores(model, x).numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (
            ["relu1", "bn1"],
            r"did not find fuser method for: \(ReLU, BatchNorm2d\). What can be fused: Conv2d, Batch",
        ),
        (["conv1", "bn3"], "no module `bn3`"),
    ],
)
def test_refused_fusions_change_nothing(model: Any, group: list[str], message: str) -> None:
    with pytest.raises(wb.QuantizationError, match=message):
        q.fuse_modules(model, [["fc1", "relu3"], group], inplace=True)
    assert isinstance(model.fc1, wb.nn.Linear)


def test_fusion_is_for_models_in_use(model: Any) -> None:
    with pytest.raises(wb.QuantizationError, match="Fusion only for eval!"):
        q.fuse_modules(model.train(), GROUPS)


def test_patterns_are_found_by_what_flows(model: Any, images: Any) -> None:
    assert find_patterns(model, images) == [
        ["conv1", "bn1", "relu1", "pool1"], ["conv2", "bn2", "relu2", "pool2"], ["fc1", "relu3"],
    ]  # fmt: skip
    model.pool2 = wb.nn.MaxPool2d(2, 2, 1)
    assert find_patterns(model, images[:, :, :8, :8])[1] == ["conv2", "bn2", "relu2"]


def test_what_was_fused_is_one_layer(fused: Any, images: Any) -> None:
    assert find_patterns(fused, images) == []
    assert q.fuse_automatically(fused, images) is fused
    rest = q.fuse_modules(
        wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU(), wb.nn.Linear(3, 2), wb.nn.ReLU()).eval(),
        ["0", "1"],
    )
    x = wb.rand(8, 4)
    assert find_patterns(rest, x) == [["2", "3"]] and find_patterns(rest[0], x) == []
    integer = q.quantize(rest, [x])
    assert [type(integer.module[i]).__name__ for i in (0, 2)] == ["LinearReLU", "LinearReLU"]
    assert q.sqnr(scores(rest, x), scores(q.correct_bias(integer, rest, [x]), x)) > 25


class Residual(wb.nn.Module):
    """A normalised convolution whose output is used twice, once outside of modules."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.relu = wb.nn.Conv2d(2, 2, 1), wb.nn.ReLU()

    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        return self.relu(y) + y


class Reused(wb.nn.Module):
    """One rectifier behind two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.relu = wb.nn.Linear(3, 3), wb.nn.Linear(3, 3), wb.nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.relu(self.b(self.relu(self.a(x))))


def test_what_would_compute_something_else_is_not_fused() -> None:
    model, x = Residual().eval(), wb.randn(2, 2, 4, 4)
    assert q.fuse_automatically(model, x) is model
    assert find_patterns(Reused().eval(), wb.randn(2, 3)) == []


# ---------------------------------------------------------------------------------- prepare, convert


def test_observers_are_attached_and_the_model_computes_the_same(fused: Any, images: Any) -> None:
    prepared = q.prepare(fused)
    np.testing.assert_array_equal(scores(prepared, images).numpy(), scores(fused, images).numpy())
    assert prepared.calibration.names == (
        "input", "conv1.weight", "conv1.output", "conv2.weight", "conv2.output", "fc1.weight", "fc1.output",
        "fc2.weight", "fc2.output",
    )  # fmt: skip
    assert prepared.conv1.activation_post_process.batches == 1
    assert not hasattr(fused.conv1, "activation_post_process")


def test_integer_model(prepared: Any, images: Any) -> None:
    before = scores(prepared, images)
    integer = q.convert(prepared)
    after = scores(integer, images)
    assert type(integer.conv1) is q.quantized.ConvReLU2d
    assert type(integer.pool1) is q.quantized.MaxPool2d
    assert type(integer.fc2) is q.quantized.Linear
    assert after.names == before.names
    assert q.sqnr(before, after) > 28
    inside: list[Any] = []
    stop = integer.conv2.register_forward_hook(lambda module, inputs, output: inside.append(output))
    scores(integer, images)
    stop()
    assert inside[0].is_quantized
    assert inside[0].names == ("N", "C", "H", "W")
    assert int(inside[0].int_repr().numpy().max()) <= 127


def test_every_path_computes_the_same(prepared: Any, images: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    integer = q.convert(prepared)
    compiled = scores(integer, images).numpy()
    monkeypatch.setattr("workbench.ops.quantized.requantize.kernels.available", lambda: False)
    monkeypatch.setattr("workbench.ops.quantized.pooling._POOL", None)
    plain = scores(integer, images).numpy()
    step = integer.fc2.scale.item()
    assert np.abs(plain - compiled).max() <= 2.01 * step
    assert (np.abs(plain - compiled) > step / 2).mean() < 0.05


def test_conversion_needs_calibration(fused: Any, images: Any) -> None:
    prepared = q.prepare(fused)
    with pytest.raises(
        wb.QuantizationError, match="not calibrated: conv1, conv2, fc1, fc2, quant have seen no values"
    ):
        q.convert(prepared)
    scores(prepared, images * float("nan"))
    with pytest.raises(wb.QuantizationError, match="not calibrated"):
        q.convert(prepared)
    for name in ("input", "conv1.output", "conv2.output", "fc1.output"):
        prepared.calibration.set_range(name, -1.0, 1.0)
    with pytest.raises(wb.QuantizationError, match="not calibrated: fc2 has seen no values"):
        q.convert(prepared)
    prepared.calibration.set_range("fc2.output", -1.0, 1.0)
    assert q.convert(prepared).fc2.scale.item() == pytest.approx(2 / 127)


def test_ranges_set_by_hand_reach_the_integer_model(prepared: Any, images: Any) -> None:
    prepared.calibration.set_range("conv2.output", 0.0, 0.5)
    integer = q.convert(prepared)
    assert integer.conv2.scale.item() == pytest.approx(0.5 / 127)
    out: list[Any] = []
    integer.conv2.register_forward_hook(lambda module, inputs, output: out.append(output))
    scores(integer, images)
    assert out[0].dequantize().numpy().max() == pytest.approx(0.5, rel=1e-5)


def test_weights_are_those_of_the_moment_of_conversion(prepared: Any) -> None:
    with wb.no_grad():
        prepared.fc2.weight.mul_(2.0)
    integer = q.convert(prepared)
    np.testing.assert_allclose(
        integer.fc2.weight.dequantize().numpy(), prepared.fc2.weight.detach().numpy(), atol=5e-3
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.train(), r"call model.eval\(\) first"),
        (lambda m: q.prepare(m), "has observers already"),
        (lambda m: setattr(m, "qconfig", None) or m, "nothing to quantize"),
    ],
)
def test_refused_preparations(fused: Any, change: Any, message: str) -> None:
    given = change(fused)
    with pytest.raises(wb.QuantizationError, match=message):
        q.prepare(given)


def test_a_model_that_was_not_prepared_is_not_converted(fused: Any) -> None:
    with pytest.raises(wb.QuantizationError, match="the model has no observers: prepare"):
        q.convert(fused)


def test_a_part_can_stay_in_floating_point(images: Any) -> None:
    class Mixed(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.first, self.second = wb.nn.Linear(12, 6), wb.nn.Linear(6, 2)

        def forward(self, x: Any) -> Any:
            return self.second(self.dequant(self.first(self.quant(x))))

    model: Any = Mixed().eval()
    model.qconfig, model.second.qconfig = q.default_qconfig, None
    prepared = q.prepare(model)
    scores(prepared, images)
    integer = q.convert(prepared)
    assert type(integer.second) is wb.nn.Linear
    assert type(integer.quant) is q.quantized.Quantize
    assert q.sqnr(scores(model, images), scores(integer, images)) > 30


def test_sequences_are_wrapped(images: Any) -> None:
    model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(144, 8), wb.nn.ReLU(), wb.nn.Linear(8, 3)).eval()
    integer = q.quantize(model, [images], evaluate=images)
    assert isinstance(integer, q.QuantWrapper)
    assert type(integer.module[1]) is q.quantized.LinearReLU
    assert integer.calibration.names[:2] == ("input", "1.weight")
    assert q.sqnr(scores(model, images), scores(integer, images)) > 28
    assert integer.calibration.finished


def test_integer_layers_want_codes_and_say_how(prepared: Any, images: Any) -> None:
    integer = q.convert(prepared)
    with pytest.raises(
        wb.QuantizationError, match=r"takes a quantized tensor, and got float32: put a QuantStub"
    ):
        integer.conv1(images)
    with pytest.raises(wb.DTypeError, match="exp is not defined for quantized tensors"):
        wb.exp(integer.quant(images))  # type: ignore[attr-defined]
    with pytest.raises(wb.DimensionError, match=r"takes dims \['N', 'C', 'H', 'W'\]"):
        integer.conv1(integer.quant(images.rename(H="W", W="H")))


def test_two_floating_point_inputs_need_stubs() -> None:
    class Two(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = wb.nn.Linear(3, 2)

        def forward(self, x: Any, y: Any) -> Any:
            return self.fc(x)

    with pytest.raises(wb.QuantizationError, match="the model takes 2 floating point inputs"):
        q.prepare(Two().eval())(wb.ones(1, 3), wb.ones(1, 3))


def test_the_state_of_an_integer_model_travels(prepared: Any, images: Any) -> None:
    integer = q.convert(prepared)
    with wb.no_grad():
        prepared(images * 3)
    other = q.convert(prepared)
    other.load_state_dict(integer.state_dict())
    np.testing.assert_array_equal(scores(other, images).numpy(), scores(integer, images).numpy())
    np.testing.assert_array_equal(
        scores(copy.deepcopy(integer), images).numpy(), scores(integer, images).numpy()
    )


def test_configurations() -> None:
    with pytest.raises(
        ValueError, match="QConfig received observer instance, please pass observer class instead"
    ):
        q.QConfig(q.MinMaxObserver(), q.MinMaxObserver)  # type: ignore[arg-type]
    with pytest.raises(
        wb.QuantizationError, match="there is no backend 'tpu'; choose one of x86, fbgemm, onednn, qnnpack"
    ):
        q.get_default_qconfig("tpu")
    with pytest.raises(wb.QuantizationError, match="a code has 2 to 8 bits"):
        q.bits_qconfig(9)
    assert q.get_default_qconfig("x86").activation().bits == 7
    assert q.get_default_qconfig("fbgemm").weight().qscheme is q.per_channel_symmetric
    assert q.get_default_qconfig("qnnpack").activation().bits == 8
    assert q.get_default_qconfig("qnnpack").weight().qscheme is q.per_tensor_symmetric
    assert q.bits_qconfig(4, 3).weight().quant_max == 3


def test_data_that_gives_nothing(model: Any) -> None:
    with pytest.raises(wb.QuantizationError, match="there is nothing to calibrate with"):
        q.quantize(model, [])
    with pytest.raises(wb.QuantizationError, match="a batch is a tensor or a pair"):
        q.quantize(model, [["x"]])


# --------------------------------------------------------------------------------------------- fake


def test_fake_quantization_observes_and_rounds() -> None:
    fake = q.FakeQuantize(q.MovingAverageMinMaxObserver, 0, 3)
    x = wb.tensor([0.0, 1.0, 2.9], requires_grad=True)
    fake(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(fake(x).detach().numpy(), [0, 2.9 / 3, 2.9], rtol=1e-6)
    fake.apply(q.disable_observer)
    assert fake(wb.tensor([9.0])).item() == pytest.approx(2.9)
    fake.apply(q.disable_fake_quant)
    assert fake(wb.tensor([9.0])).item() == 9.0
    fake.apply(q.enable_observer)
    fake.apply(q.enable_fake_quant)
    assert fake(wb.tensor([9.0])).item() < 9.0
    with pytest.raises(wb.QuantizationError, match="`quant_min` should be less than or equal to `quant_max`"):
        q.FakeQuantize(quant_min=5, quant_max=1)


def test_fake_quantization_in_place_of_an_observer(fused: Any, images: Any) -> None:
    prepared = q.prepare(fused, q.default_qat_qconfig)
    before = scores(fused, images)
    with wb.no_grad():
        prepared(images)
    assert 20 < q.sqnr(before, scores(prepared, images)) < 60
    assert q.sqnr(before, scores(q.convert(prepared), images)) > 20


# ----------------------------------------------------------------------------------------- the whole


@pytest.mark.skipif(
    not kernels.available(), reason="a whole training takes minutes in NumPy, and its parts are tested there"
)
def test_digits_stay_recognised() -> None:
    wb.manual_seed(0)
    train, test = wb.data.digits()
    model: Any = wb.models.DigitsNet()
    optimizer = wb.optim.Adam(model.parameters(), lr=2e-3)
    images, labels = train[:3000]
    for _ in range(2):
        for start in range(0, 3000, 100):
            optimizer.zero_grad()
            here = slice(start, start + 100)
            wb.cross_entropy(model(images[here]), labels[here]).backward()  # type: ignore[attr-defined]
            optimizer.step()
    model.eval()
    fused = q.fuse_modules(model, GROUPS)
    batches = [test[i * 500 : (i + 1) * 500] for i in range(4)]
    calibration = [images[i * 64 : (i + 1) * 64] for i in range(8)]
    integer = q.quantize(model, calibration, evaluate=batches[0])
    exact = q.accuracy(model, batches)
    assert exact > 0.85
    assert exact - q.accuracy(integer, batches) < 0.005
    assert 3.9 < q.model_size(fused) / q.model_size(integer) < 4.0
    compared = {layer.name: layer.sqnr for layer in q.compare_layers(model, integer, batches[0][0])}
    assert list(compared) == ["pool1", "pool2", "flatten", "relu3", "fc2"]
    assert min(compared.values()) > 25


def test_a_layer_that_gives_nothing_is_joined_with_its_rectifier_too() -> None:
    model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU())
    model[0].weight.data.fill_(-1.0)
    model[0].bias.data.fill_(-1.0)
    assert type(q.quantize(model, [wb.ones(8, 4)]).module[0]).__name__ == "LinearReLU"
    assert q.sqnr(wb.zeros(3), wb.zeros(3)) == float("inf")


class Recurrent(wb.nn.Module):
    def __init__(self, ahead: Any, behind: Any) -> None:
        super().__init__()
        self.ahead, self.behind = ahead(4, 4), behind(4, 4)

    def forward(self, x: Any) -> Any:
        return self.behind(self.ahead(x)[0])[0]


class Stubbed(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = wb.nn.LSTM(4, 4), wb.nn.GRU(4, 4)
        self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()

    def forward(self, x: Any) -> Any:
        return self.gru(self.dequant(self.lstm(self.quant(x))[0]))[0]


class Added(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = wb.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.fc(x) + x


REFUSED = "GRU computes with numbers, and was given codes, quint8: call"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: Recurrent(wb.nn.LSTM, wb.nn.GRU), REFUSED),
        (lambda: Recurrent(wb.nn.GRU, wb.nn.LSTM), REFUSED),
        (Added, "add is not defined for quantized tensors"),
    ],
    ids=["LSTM before GRU", "GRU before LSTM", "sum"],
)
def test_what_takes_no_codes_is_told_by_quantize_itself(model: Any, words: str) -> None:
    x = wb.rand(3, 2, 4)
    with pytest.raises(wb.DTypeError, match=words) as told:
        q.quantize(model(), [x, x])
    assert "quantize called the integer form of the model once, with its first batch" in told.value.__notes__


def test_a_layer_between_stubs_of_its_own_is_taken() -> None:
    model, x = Stubbed(), wb.rand(3, 2, 4)
    assert q.quantize(model, [x])(x).shape == (3, 2, 4)
    assert q.quantize(model, lambda prepared: prepared(x))(x).shape == (3, 2, 4)
