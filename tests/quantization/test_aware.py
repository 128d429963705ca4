"""Training with fake quantization: what is swapped, folded, frozen, converted and refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.nn import intrinsic
from workbench.nn.intrinsic import qat as intrinsic_qat

GROUPS = [["conv1", "bn1", "relu1"], ["conv2", "bn2", "relu2"], ["fc1", "relu3"]]


def outputs(model: Any, *inputs: Any) -> Any:
    with wb.no_grad():
        return model(*inputs)


@pytest.fixture
def aware(model: Any) -> Any:
    return q.prepare_qat(q.fuse_modules_qat(model.train(), GROUPS))


def test_layers_are_swapped_and_train(aware: Any, images: Any) -> None:
    assert type(aware.conv1) is intrinsic_qat.ConvBnReLU2d
    assert type(aware.fc1) is intrinsic_qat.LinearReLU
    assert type(aware.fc2) is q.qat.Linear
    assert aware.calibration.names[:3] == ("input", "conv1.weight", "conv1.output")
    aware(images).sum().backward()
    assert aware.conv1.weight.grad is not None and aware.conv1.bn.weight.grad is not None
    assert aware.fc2.weight.grad is not None
    keys = set(aware.state_dict())
    assert {"conv1.weight", "conv1.bn.running_mean", "conv1.weight_fake_quant.scale", "fc2.weight"} <= keys


def test_an_aware_model_converts_to_what_it_was_trained_for(aware: Any, images: Any) -> None:
    optimizer = wb.optim.SGD(aware.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        (aware(images) ** 2).mean().backward()
        optimizer.step()
    aware.apply(q.disable_observer)
    aware.apply(intrinsic_qat.freeze_bn_stats)
    aware.eval()
    integer = q.convert(aware)
    assert type(integer.conv1) is q.quantized.ConvReLU2d
    assert type(integer.fc2) is q.quantized.Linear
    assert q.sqnr(outputs(aware, images), outputs(integer, images)) > 30
    assert type(aware.conv1) is intrinsic_qat.ConvBnReLU2d


def test_frozen_statistics_stay_frozen(aware: Any, images: Any) -> None:
    aware.apply(intrinsic_qat.freeze_bn_stats)
    before = aware.conv1.bn.running_mean.numpy().copy()
    aware.train()
    aware(images * 3)
    np.testing.assert_array_equal(aware.conv1.bn.running_mean.numpy(), before)
    aware.apply(intrinsic_qat.update_bn_stats)
    aware(images * 3)
    assert not np.array_equal(aware.conv1.bn.running_mean.numpy(), before)


def test_a_frozen_layer_computes_what_its_folded_form_does(aware: Any, images: Any) -> None:
    aware.eval()
    aware.apply(q.disable_fake_quant)
    layer = aware.conv1
    expected = wb.relu(layer.folded()(images))  # type: ignore[attr-defined]
    np.testing.assert_allclose(outputs(layer, images).numpy(), expected.detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("how", ["plain", "negative", "not finite", "frozen range"])
@pytest.mark.parametrize("observer", [q.PerChannelMinMaxObserver, q.MovingAveragePerChannelMinMaxObserver])
def test_a_weight_and_its_factor_are_rounded_as_their_product(how: str, observer: Any) -> None:
    random = np.random.default_rng(0)
    values = random.standard_normal((6, 8, 7, 5)).astype(np.float32)
    factors = np.abs(random.standard_normal(6)).astype(np.float32) + 0.1
    if how == "negative":
        factors[1:3] *= -1
        factors[4] = 0
    if how == "not finite":
        values[2, 3, 1, 1], values[3, 0, 0, 0], factors[5] = np.nan, np.inf, 3e38
    make = q.FakeQuantize.with_args(observer=observer, dtype=wb.qint8, qscheme=wb.per_channel_symmetric)

    def rounded(together: bool) -> tuple[Any, ...]:
        fake, weight, factor = make(), wb.tensor(values), wb.tensor(factors)
        weight.requires_grad_(), factor.requires_grad_()
        column = factor.reshape(-1, 1, 1, 1)
        if how == "frozen range":
            fake(weight * 0.5)
            fake.disable_observer()
        for _ in range(2):
            out = fake(weight, factor) if together else fake(weight * column)
        out.backward(wb.tensor(values[::-1].copy()))
        watching = fake.observer
        counts = watching.nan_count, watching.inf_count, watching.batches
        seen = [
            watching.min_val,
            watching.max_val,
            fake.scale,
            fake.zero_point,
            out,
            weight.grad,
            factor.grad,
        ]
        return counts, type(out.grad_fn), *(one.detach().numpy() for one in seen)

    for one, other in zip(rounded(True), rounded(False), strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-5 if one.shape == (6,) else 0, atol=0)
        elif isinstance(one, tuple):
            assert one == other


def test_all_at_once(model: Any, images: Any) -> None:
    def train(prepared: Any, data: Any) -> None:
        prepared(data)

    integer = q.quantize_qat(model, train, [images])
    assert type(integer.conv1) is q.quantized.Conv2d
    assert type(model.conv1) is wb.nn.Conv2d


def test_a_function_runs_the_model_with_its_arguments(model: Any, images: Any) -> None:
    integer = q.quantize(q.QuantWrapper(model), lambda prepared, data: prepared(data), [images])
    assert type(integer.module.conv1) is q.quantized.Conv2d


def test_learned_scales_reach_the_integer_model() -> None:
    config = q.QConfig(
        q.default_fake_quant,
        q.LearnableFakeQuantize.with_args(
            observer=q.MinMaxObserver,
            quant_min=-128,
            quant_max=127,
            dtype=wb.qint8,
            qscheme=q.per_tensor_symmetric,
        ),
    )
    model = wb.nn.Sequential(wb.nn.Linear(4, 3)).train()
    model.qconfig = config
    prepared = q.prepare_qat(model)
    x = wb.rand(16, 4)
    prepared(x)
    fake = prepared.module[0].weight_fake_quant
    fake.enable_param_learning()
    prepared(x).sum().backward()
    assert fake.scale.grad is not None
    with wb.no_grad():
        fake.scale *= 1.25
    integer = q.convert(prepared.eval())
    assert float(integer.module[0].weight.q_scale()) == pytest.approx(float(fake.scale.item()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: q.prepare_qat(m.eval()), r"models in training mode: call model.train\(\) first"),
        (lambda m: q.prepare_qat(q.prepare_qat(m)), "has observers already"),
        (lambda m: q.fuse_modules_qat(m.eval(), GROUPS), "for models in training"),
        (lambda m: q.fuse_modules_qat(m, ["conv1", "relu2", "bn1"]), "did not find fuser method"),
        (lambda m: q.convert(q.prepare_qat(m)), "not calibrated: conv1, bn1, .*quant have seen no values"),
        (lambda m: q.qat.Linear(2, 2), "takes a qconfig"),
        (lambda m: q.qat.Conv2d.from_float(m.conv1), "takes a layer with a qconfig"),
    ],
)
def test_refusals(model: Any, change: Any, message: str) -> None:
    model.train()
    with pytest.raises(wb.QuantizationError, match=message):
        change(model)
    assert type(model.conv1) is wb.nn.Conv2d


def test_functions_as_modules(images: Any) -> None:
    class Net(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.a, self.b = wb.nn.Conv2d(1, 2, 1), wb.nn.Conv2d(1, 2, 1)
            self.sum, self.join, self.unused = (q.quantized.FloatFunctional() for _ in range(3))

        def forward(self, x: Any) -> Any:
            x = self.quant(x)
            a, b = self.a(x), self.b(x)
            y = self.sum.add_relu(a, self.join.mul_scalar(b, -2.0))
            return self.dequant(self.join.cat([y, self.sum.add_scalar(a, 0.5)], dim=1))

    model = Net().eval()
    model.qconfig = q.default_qconfig  # type: ignore[assignment]
    prepared = q.prepare(model)
    before = outputs(prepared, images)
    integer = q.convert(prepared)
    assert type(integer.sum) is q.quantized.QFunctional
    assert q.sqnr(before, outputs(integer, images)) > 28
    codes = integer.quant(images)
    with pytest.raises(wb.QuantizationError, match="QFunctional has seen no values before convert"):
        integer.unused.add(codes, codes)
    with pytest.raises(wb.QuantizationError, match="is not called itself: call its add, add_scalar"):
        integer.sum(images)


class _Tokens(wb.nn.Module):
    """A token and positions are joined with, and added to, what a layer gives: by functions, or by modules."""

    def __init__(self, by_modules: bool) -> None:
        super().__init__()
        wb.manual_seed(0)
        self.token, self.positions = (wb.nn.Parameter(wb.randn(*sizes)) for sizes in ((1, 1, 8), (5, 8)))
        self.first, self.last = wb.nn.Linear(8, 8), wb.nn.Linear(8, 8)
        self.join, self.sum, self.product, self.scores = (q.quantized.FloatFunctional() for _ in range(4))
        self.by_modules = by_modules

    def forward(self, x: Any) -> Any:
        x, token = self.first(x), self.token.expand(x.shape[0], -1, -1)
        if not self.by_modules:
            return self.last(wb.cat((token, x), 1) + self.positions)
        x = self.sum.add_relu(self.positions, self.join.cat((token, x), 1))
        x = self.last(self.product.mul(x, self.positions.half()))
        return self.scores.matmul(x, self.positions.T)


def test_parameters_in_floating_point_beside_codes() -> None:
    model, x = _Tokens(True).eval(), wb.randn(64, 4, 8)
    integer = q.quantize(model, [x])
    assert q.sqnr(model(x), integer(x)) > 30
    # What is joined is rounded once: not to the codes of what it stands beside.
    codes = wb.quantize_per_tensor(wb.tensor([[1.0]]), 0.5, 0, wb.quint8)
    both = q.quantized.QFunctional()
    both.scale.fill_(0.01)
    np.testing.assert_allclose(
        both.cat([codes, wb.tensor([[0.13]])]).dequantize().numpy(), [[1.0], [0.13]], atol=1e-6
    )
    for given in ((wb.ones(2), wb.ones(2)), (codes, wb.ones(2).long())):
        with pytest.raises(
            wb.QuantizationError, match="quantized QFunctional takes a quantized tensor, and got"
        ):
            both.add(*given)


def test_functions_on_codes_and_parameters_name_the_module_that_does_it() -> None:
    model, x = _Tokens(False).eval(), wb.randn(8, 4, 8)
    message = r"cat of codes and plain numbers, float32: .* self\.f\.cat\(\(x, y\), dim\) do it, also with a parameter"
    with pytest.raises(wb.DTypeError, match=message):
        q.quantize(model, [x])(x)
    codes = wb.quantize_per_tensor(x, 0.1, 128, wb.quint8)
    with pytest.raises(
        wb.DTypeError, match=r"add is not defined .* self\.f\.add\(x, y\) do it, .* prepare_fx takes"
    ):
        _ = codes + model.positions[1:]
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,))
    prepared(x)
    assert q.sqnr(model(x), q.convert_fx(prepared)(x)) > 28


@pytest.mark.parametrize("value", [0.7, -0.7, 30.0, -30.0, 0.0])
def test_numbers_beside_codes(value: float) -> None:
    x = np.linspace(-2, 3, 50).astype(np.float32)
    codes = wb.quantize_per_tensor(wb.from_numpy(x), 5 / 255, 102, wb.quint8)
    both = q.quantized.QFunctional()
    real = codes.dequantize().numpy()
    np.testing.assert_allclose(both.add_scalar(codes, value).dequantize().numpy(), real + value, atol=0.14)
    np.testing.assert_allclose(both.mul_scalar(codes, value).dequantize().numpy(), real * value, atol=1e-4)


@pytest.mark.parametrize("n", [1, 3])
def test_other_convolutions_and_layers_between_codes(n: int) -> None:
    nn = wb.nn
    layers: list[Any] = [
        getattr(nn, f"Conv{n}d")(2, 4, 3, padding=1),
        nn.ReLU(),
        getattr(nn, f"Conv{n}d")(4, 2, 1),
    ]
    layers += [nn.Hardswish(), getattr(nn, f"ConvTranspose{n}d")(2, 3, 2, stride=2), nn.LeakyReLU()]
    model = nn.Sequential(*layers).eval()
    x = wb.randn(2, 2, *[6] * n)
    fused = q.fuse_modules(model, ["0", "1"])
    assert type(fused[0]) is getattr(intrinsic, f"ConvReLU{n}d")
    prepared = q.prepare(fused, q.QConfig(q.MinMaxObserver, q.default_weight_observer))
    outputs(prepared, x)
    integer = q.convert(prepared)
    assert q.sqnr(outputs(model, x), outputs(integer, x)) > 25


def test_a_table_needs_a_qconfig_of_its_own() -> None:
    model = wb.nn.Sequential(wb.nn.Embedding(5, 4), wb.nn.Linear(4, 2)).eval()
    with pytest.raises(wb.QuantizationError, match="only supported with float_qparams_weight_only_qconfig"):
        q.prepare(model)


def test_a_normalisation_that_begins_at_zero_learns() -> None:
    wb.manual_seed(0)
    layers = wb.nn.Sequential(wb.nn.Conv2d(3, 8, 3, bias=False), wb.nn.BatchNorm2d(8)).train()
    wb.nn.init.zeros_(layers[1].weight)
    x = wb.randn(4, 3, 8, 8)
    prepared = q.prepare_qat_fx(layers, q.get_default_qat_qconfig_mapping("x86"), (x,))
    target = wb.randn(4, 8, 6, 6)
    optimizer = wb.optim.SGD(prepared.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (prepared(x) - target).square().mean().backward()
        learnt = [one.grad for one in prepared.parameters() if one.grad is not None]
        assert len(learnt) == 3 and all(bool(wb.isfinite(one).all()) for one in learnt)
        optimizer.step()
    gamma = dict(prepared.named_parameters())["0.bn.weight"]
    assert bool((gamma != 0).all())


class Parts(wb.nn.Module):
    """Layers that are written with parts."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.heads = (
            wb.nn.LSTM(6, 8, batch_first=True),
            wb.nn.MultiheadAttention(8, 2, batch_first=True),
        )
        self.out = wb.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        y = self.steps(x)[0]
        return self.out(self.heads(y, y, y)[0])


def test_layers_made_of_parts_learn_with_rounded_weights() -> None:
    wb.manual_seed(0)
    x = wb.randn(8, 5, 6)
    prepared = q.prepare_qat(Parts().train())
    rounded = [name for name, part in prepared.named_modules() if isinstance(part, wb.ao.nn.qat.Linear)]
    assert rounded == [
        *("steps.layers.0.layer_fw.cell.igates", "steps.layers.0.layer_fw.cell.hgates"),
        *("heads.linear_Q", "heads.linear_K", "heads.linear_V", "heads.out_proj", "out"),
    ]
    optimizer = wb.optim.SGD(prepared.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (prepared(x) ** 2).mean()
        loss.backward()
        assert all(one.grad is not None for one in prepared.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    prepared.eval()
    assert {"steps.layers.0.layer_fw.cell.igates.weight", "heads.linear_Q.weight"} < set(
        prepared.calibration.names
    )
    trained = prepared(x)
    converted = q.convert(prepared)
    assert isinstance(converted.steps, wb.ao.nn.quantized.LSTM)
    # What gates give is rounded on codes, and not in training.
    assert q.sqnr(trained, converted(x)) > 20


def test_values_of_a_fixed_range_are_rounded_as_their_codes() -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(
        wb.nn.Linear(4, 4), wb.nn.Sigmoid(), wb.nn.Linear(4, 4), wb.nn.Tanh(), wb.nn.Linear(4, 3), wb.nn.Softmax(1)
    )  # fmt: skip
    model[5].qconfig = None
    prepared = q.prepare_qat(model, qconfig=q.get_default_qat_qconfig())
    seen: list[Any] = []
    for place in (1, 3):
        prepared.module[place].register_forward_hook(lambda module, inputs, out: seen.append(out))
    x = wb.randn(8, 4)
    prepared(x).sum().backward()
    for out, steps in zip(seen, (256, 128), strict=True):
        codes = out.detach().numpy() * steps
        np.testing.assert_array_equal(codes, np.rint(codes))
    assert prepared.module[0].weight.grad is not None
    assert not hasattr(prepared.module[5], "activation_post_process")
    # Nobody chooses their range, and nothing rounds twice where codes are.
    assert not [name for name in prepared.calibration.names if name.startswith(("1", "3"))]
    integer = q.convert(prepared.eval())
    assert not [name for name in integer.state_dict() if "activation_post_process" in name]
    values = integer.module[1](wb.tensor([0.3]))
    assert float(values) * 256 != round(float(values) * 256)
    assert hasattr(prepared.module[1], "activation_post_process")
    np.testing.assert_allclose(integer(x).numpy(), prepared(x).detach().numpy(), atol=0.01)


def test_models_without_a_weight() -> None:
    class Sum(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.sum = wb.ao.nn.quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            x = self.quant(x)
            return self.dequant(self.sum.add(x, x))

    x = wb.randn(16, 4)
    for prepared in (q.prepare(Sum().eval()), q.prepare_qat(Sum().train())):
        prepared(x)
        assert len(prepared.calibration.names) == 2
        integer = q.convert(prepared.eval())
        np.testing.assert_allclose(integer(x).numpy(), 2 * x.numpy(), atol=0.1)
