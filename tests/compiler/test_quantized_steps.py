"""Quantized models, compiled: the very codes of eager, by programs whose steps go from codes to codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn
from workbench import quantization as q
from workbench.compiler import lowering
from workbench.compiler.codings import coding_of
from workbench.core.op import ops
from workbench.quantization.quantized import functional as F

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


@pytest.fixture(params=["x86", "onednn", "fbgemm", "qnnpack"])
def engine(request: Any) -> Any:
    before = wb.backends.quantized.engine
    wb.backends.quantized.engine = request.param
    yield request.param
    wb.backends.quantized.engine = before


def spread(model: Any) -> Any:
    """Give normalisations statistics of a network that has learnt, none of them zero."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.weight.data.uniform_(0.5, 1.5)
            module.running_mean.normal_().mul_(0.1)
            module.running_var.uniform_(0.5, 1.5)
    return model.eval()


def by_graph(model: Any, *given: Any) -> Any:
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("x86"), given)
    with wb.no_grad():
        prepared(*given)
    return q.convert_fx(prepared)


def same(model: Any, *given: Any) -> Any:
    """Return what became of a compiled model, whose numbers are those of eager to the last bit."""
    compiled = wb.compile(model)
    with wb.no_grad():
        expected, found = model(*given), compiled(*given)
    assert found.names == expected.names and found.dtype is expected.dtype
    np.testing.assert_array_equal(
        *(one.int_repr().numpy() if one.is_quantized else one.numpy() for one in (found, expected))
    )
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 1}, str(report)
    return report.programs[0]


class Block(nn.Module):
    """A residual block: a sum that is rectified, another that is not, and bounds between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 20, 3, padding=1), nn.Conv2d(20, 20, 3, padding=1, groups=20)
        self.third, self.beside = nn.Conv2d(20, 24, 1), nn.Conv2d(20, 24, 1)
        self.bounded = nn.ReLU6()
        self.last = nn.Linear(24, 5)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(self.first(x).relu(), 3, 2, 1)
        y = self.third(self.bounded(self.second(x)))
        z = (y + self.beside(x)).relu()
        z = z + self.third(x)
        return self.last(z.flatten(2).transpose(1, 2))


@pytest.mark.parametrize("count", [1, 3])
def test_a_residual_block_is_one_program_of_codes(engine: str, count: int) -> None:
    wb.manual_seed(1)
    x = wb.randn(count, 3, 10, 13)
    program = same(by_graph(Block().eval(), x), x)
    assert not program.eager
    assert program.steps["convolution of codes own, sum"] == 2
    # Rectifiers and bounds are the layers' own.
    assert "look up codes own" not in program.steps


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_the_work(threads: int) -> None:
    wb.manual_seed(2)
    before = wb.get_num_threads()
    x = wb.randn(2, 3, 33, 40)
    model = by_graph(Block().eval(), x)
    wb.set_num_threads(threads)
    try:
        same(model, x)
    finally:
        wb.set_num_threads(before)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_networks_of_images_give_the_codes_of_eager(name: str) -> None:
    wb.manual_seed(3)
    x = wb.randn(1, 3, 64, 64)
    model = by_graph(spread(getattr(wb.models, name)()), x)
    same(model, x)


def test_the_digits_network_converted_by_layers() -> None:
    wb.manual_seed(4)
    model = wb.models.DigitsNet().eval()
    groups = [["conv1", "bn1", "relu1", "pool1"], ["conv2", "bn2", "relu2", "pool2"], ["fc1", "relu3"]]
    prepared = q.prepare(q.fuse_modules(model, groups), q.get_default_qconfig("x86"))
    x = wb.rand(5, 1, 28, 28)
    with wb.no_grad():
        prepared(x)
    program = same(q.convert(prepared), x)
    assert not program.eager


def test_the_weights_of_layers_of_codes_are_counted_once() -> None:
    model = spread(nn.Sequential(nn.Conv2d(16, 64, 3), nn.Flatten(), nn.Linear(64 * 36, 10)))
    compiled = wb.compile(by_graph(model, wb.randn(2, 16, 8, 8)))
    found = []
    for batch in (1, 3):
        compiled(wb.randn(batch, 16, 8, 8))
        found.append(wb.compiler.explain(compiled).weight_bytes)
    weights = 64 * 16 * 9 + 64 * 36 * 10
    # Panels of sixteen outputs and groups of steps are filled up with zeros; floats would take four bytes each.
    assert found[0] == found[1] and weights <= found[0] < 4 * weights


def test_a_result_may_be_codes() -> None:
    w = wb.quantize_per_tensor(wb.randn(4, 3, 1, 1), 0.02, 0, wb.qint8)

    def function(x: Any) -> Any:
        return F.conv2d(wb.quantize_per_tensor(x, 0.05, 100, wb.quint8), w, None, scale=0.1, zero_point=30)

    x = wb.randn(2, 3, 4, 5)
    same(function, x)
    with wb.no_grad():
        found = wb.compile(function)(x)
    assert (found.q_scale(), found.q_zero_point()) == (0.1, 30)


def test_an_op_without_a_step_goes_from_codes_to_codes_by_itself() -> None:
    def function(x: Any) -> Any:
        codes = wb.quantize_per_tensor(x, 0.05, 100, wb.quint8)
        return codes.sort(0)[0].relu().dequantize()

    program = same(function, wb.randn(40, 50))
    assert list(program.eager) == ["sort"] and program.steps["look up codes own"] == 1
    assert program.eager["sort"] == "sort has no step on codes"


def test_functions_of_one_value_are_tables() -> None:
    def function(x: Any) -> Any:
        codes = wb.quantize_per_tensor(x, 0.05, 100, wb.quint8)
        return wb.sigmoid(codes).dequantize() + nn.functional.hardtanh(codes, -1.0, 1.0).dequantize()

    program = same(function, wb.randn(40, 50))
    assert program.steps["look up codes own"] == 2 and not program.eager


@pytest.mark.parametrize("limits", [(-0.4, 0.7), (0.3, None), (None, -0.2), (float("nan"), None)])
def test_limits_that_are_numbers_are_tables(limits: tuple[float | None, float | None]) -> None:
    def function(x: Any) -> Any:
        return wb.quantize_per_tensor(x, 0.05, 60, wb.quint8).clamp(*limits).dequantize()

    same(function, wb.randn(3, 4, 5))


@pytest.mark.parametrize("number", [1.5, -2.0, 0.0, 40.0])
def test_numbers_beside_codes_change_what_these_stand_for(number: float) -> None:
    def function(x: Any) -> Any:
        codes = wb.quantize_per_tensor(x, 0.05, 70, wb.quint8)
        return F.mul_scalar(F.add_scalar_relu(codes, number), number - 0.5).dequantize()

    program = same(function, wb.randn(3, 40))
    assert program.steps["look up codes own"] == 2 and not program.eager


def test_moves_and_joins_take_codes_along() -> None:
    def function(x: Any) -> Any:
        codes = wb.quantize_per_tensor(x, 0.05, 100, wb.quint8)
        turned = codes.permute(0, 2, 1)
        return wb.cat([turned, turned.relu()], 1).reshape(-1, 6).dequantize()

    program = same(function, wb.randn(2, 3, 4))
    assert not program.eager


def test_signed_codes_come_and_go() -> None:
    program = same(lambda x: wb.quantize_per_tensor(x, 0.05, -3, wb.qint8).dequantize(), wb.randn(3, 100))
    assert program.gives["qint8"] == 1 and not program.eager


def test_another_engine_is_another_program() -> None:
    wb.manual_seed(5)
    x = wb.randn(2, 3, 8, 8)
    model = by_graph(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval(), x)
    compiled, before = wb.compile(model), wb.backends.quantized.engine
    try:
        for name in ("x86", "qnnpack", "x86"):
            wb.backends.quantized.engine = name
            with wb.no_grad():
                np.testing.assert_array_equal(compiled(x).numpy(), model(x).numpy())
    finally:
        wb.backends.quantized.engine = before
    assert wb.compiler.explain(compiled).calls == {"compiled": 3}


def test_nan_and_infinities_become_the_codes_of_eager() -> None:
    x = wb.tensor([float("nan"), float("inf"), float("-inf"), 1e30, -0.0] * 20)
    same(lambda x: wb.quantize_per_tensor(x, 0.05, 7, wb.quint8).dequantize(), x)


def test_views_and_strides_are_read_as_they_are() -> None:
    model = by_graph(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval(), wb.randn(2, 3, 8, 8))
    wide = wb.randn(2, 8, 16, 3)
    same(model, wide[:, :, ::2].permute(0, 3, 1, 2))


def test_another_weight_is_noticed() -> None:
    wb.manual_seed(6)
    x = wb.randn(1, 3, 8, 8)
    model, other = (by_graph(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval(), x) for _ in range(2))
    compiled = wb.compile(model)
    with wb.no_grad():
        before = compiled(x).numpy().copy()
        model.load_state_dict(other.state_dict())
        after = compiled(x).numpy()
        np.testing.assert_array_equal(after, model(x).numpy())
    assert not np.array_equal(before, after)


def test_hooks_of_the_user_run_beside_those_that_quantize() -> None:
    model = q.prepare(wb.models.DigitsNet().eval(), q.get_default_qconfig("x86"))
    x, seen = wb.rand(2, 1, 28, 28), []
    with wb.no_grad():
        model(x)
        compiled = wb.compile(q.convert(model))
        first = compiled(x)
        with compiled.register_forward_hook(lambda module, inputs, output: seen.append(output.shape)):
            second = compiled(x)
        compiled(x)
    assert seen == [(2, 10)]
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    assert wb.compiler.explain(compiled).calls["compiled"] == 2


@pytest.mark.parametrize("sizes", [(7, 7), (1, 8), (3, 1), (9, 2)])
def test_means_of_planes(sizes: tuple[int, int]) -> None:
    def function(x: Any) -> Any:
        codes = wb.quantize_per_tensor(x, 0.013, 100, wb.quint8)
        return nn.functional.adaptive_avg_pool2d(codes, 1).dequantize()

    assert not same(function, wb.randn(3, 70, *sizes)).eager


def test_codes_of_which_nobody_says_what_they_stand_for_stay_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsaid(node: Any, known: Any) -> Any:
        return None if node.op is ops.adaptive_avg_pool else coding_of(node, known)

    def function(x: Any) -> Any:
        codes = wb.quantize_per_tensor(x, 0.013, 100, wb.quint8)
        return nn.functional.adaptive_avg_pool2d(codes, 1).dequantize()

    monkeypatch.setattr(lowering, "coding_of", unsaid)
    found = same(function, wb.randn(2, 5, 3, 3)).eager
    assert found["adaptive_avg_pool"] == "nobody says what the codes stand for that it gives"


def weight_of(*shape: int, axis: int = 0) -> Any:
    scales = np.linspace(0.01, 0.03, shape[axis])
    return wb.quantize_per_channel(wb.randn(*shape) * 0.5, scales.tolist(), [0] * shape[axis], axis, wb.qint8)


def codes_of(x: Any, zero: int = 100) -> Any:
    return wb.quantize_per_tensor(x, 0.03, zero, wb.quint8)


BESIDE: dict[str, tuple[tuple[int, ...], str, Any]] = {
    "add": ((2, 3, 5, 6), "sum of told codes own", lambda q: F.add(q, F.silu(q, 0.02, 7), 0.05, 90)),
    "add_relu": ((9, 33), "sum of told codes own", lambda q: F.add_relu(q, F.silu(q, 0.02, 7), 0.05, 90)),
    "mul": ((2, 3, 5, 6), "product of codes own", lambda q: F.mul(q, F.hardswish(q, 0.02, 7), 0.05, 90)),
    "mul of others' sizes": ((4, 1, 30), "product of codes own", lambda q: F.mul(q, q.transpose(0, 1), 0.05, 90)),
    "pad": ((2, 3, 5, 6), "codes spread own", lambda q: nn.functional.pad(q, (1, 2, 0, 3), value=0.5)),
    "pad that cuts": ((2, 3, 40), "codes spread own", lambda q: nn.functional.pad(q, (-1, 2))),
    "matmul": ((4, 9, 20), "product of matrices of codes own", lambda q: F.matmul(q, q.transpose(1, 2), 0.1, 90)),
    "matmul by one": (
        (4, 9, 20), "product of matrices of codes own", lambda q: F.matmul(q, q.reshape(36, 20).t(), 0.1, 90)
    ),
    "softmax": ((4, 9, 20), "softmax of codes own", lambda q: nn.functional.softmax(q, -1)),
    "softmax of columns": ((4, 9, 20), "softmax of codes own", lambda q: F.softmax(q, 1, 1 / 128, 3)),
    "layer norm": (
        (4, 9, 20), "norm of codes own", lambda q: F.layer_norm(q, [20], FACTORS[:20], FACTORS[:20], 1e-5, 0.03, 90)
    ),
    "rms norm": ((4, 9, 20), "norm of codes own", lambda q: F.rms_norm(q, [9, 20], None, 1e-5, 0.03, 90)),
    "group norm": (
        (2, 6, 5, 4), "norm of codes own", lambda q: F.group_norm(q, 2, FACTORS[:6], FACTORS[:6], 1e-5, 0.03, 90)
    ),
    "conv1d": (
        (2, 6, 30), "convolution of codes own", lambda q: F.conv1d(q, WEIGHT_1D, FACTORS[:8], 2, 1, 2, 2, scale=0.1)
    ),
    "conv3d": (
        (2, 6, 5, 6, 7), "planes of codes own",
        lambda q: F.conv3d(q, WEIGHT_3D, FACTORS[:8], (2, 1, 1), 1, 1, 2, scale=0.1),
    ),
    "transposed conv1d": (
        (2, 6, 9), "codes spread own", lambda q: F.conv_transpose1d(q, BACK_1D, FACTORS[:8], 3, 1, 1, 2, 2, scale=0.1)
    ),
    "transposed conv2d": (
        (2, 6, 5, 4), "codes spread own", lambda q: F.conv_transpose2d(q, BACK_2D, None, 2, 2, 1, 1, scale=0.1)
    ),
    "transposed conv3d": (
        (1, 6, 3, 4, 3), "planes of codes own", lambda q: F.conv_transpose3d(q, BACK_3D, None, 2, 1, 0, 1, scale=0.1)
    ),
}  # fmt: skip
"""What is computed on codes beside linear layers and convolutions of images, and a step that does it."""
wb.manual_seed(11)
FACTORS = wb.rand(20) + 0.5
WEIGHT_1D, WEIGHT_3D = weight_of(8, 3, 3), weight_of(8, 3, 3, 2, 3)
BACK_1D, BACK_2D = weight_of(6, 4, 3, axis=1), weight_of(6, 4, 3, 3, axis=1)
BACK_3D = weight_of(6, 4, 2, 3, 3, axis=1)


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("zero", [0, 100, 255])
def test_what_stands_beside_layers_stays_in_codes(name: str, zero: int, engine: str) -> None:
    wb.manual_seed(7)
    sizes, step, function = BESIDE[name]
    program = same(lambda x: function(codes_of(x, zero)), 2 * wb.randn(*sizes))
    assert not program.eager and step in program.steps, program


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_what_stands_beside_layers(threads: int) -> None:
    before = wb.get_num_threads()
    wb.set_num_threads(threads)
    try:
        for name in ("matmul", "softmax", "layer norm", "mul", "conv3d"):
            sizes, _, function = BESIDE[name]
            x = wb.randn(*sizes[:1], 40, *sizes[2:]) if name in ("softmax", "mul") else wb.randn(*sizes)
            same(lambda x, function=function: function(codes_of(x)), x)
    finally:
        wb.set_num_threads(before)


def test_sums_of_modules_stay_in_codes() -> None:
    class Sums(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.ConvTranspose2d(8, 8, 2, 2)
            self.norm, self.add, self.mul = (
                nn.LayerNorm(8),
                nn.quantized.FloatFunctional(),
                nn.quantized.FloatFunctional(),
            )

        def forward(self, x: Any) -> Any:
            x = self.first(self.quant(x))
            x = self.mul.mul(self.add.add(x, x), x)
            x = self.norm(self.second(x).permute(0, 2, 3, 1))
            return self.dequant(x)

    wb.manual_seed(5)
    x = wb.randn(2, 3, 8, 9)
    model = Sums().eval()
    model.qconfig = q.get_default_qconfig("qnnpack")
    prepared = q.prepare(model)
    with wb.no_grad():
        prepared(x)
    program = same(q.convert(prepared), x)
    assert not program.eager, program


@pytest.mark.parametrize("layer", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_sums_round_as_what_they_are_made_of(layer: bool, relu: bool) -> None:
    # Half of all sums lie between two codes: one op rounds in front of its odd zero point, three ops behind it.
    codes = wb.from_numpy(np.arange(2 * 64 * 4, dtype=np.float32).reshape(2, 1, 64, 4) % 41 - 20) * 0.5
    weight = wb.quantize_per_tensor(wb.full((1, 1, 1, 1), 2.0), 1.0, 0, wb.qint8)

    def terms(x: Any) -> Any:
        one = wb.quantize_per_tensor(x, 0.5, 100, wb.quint8)
        other = F.conv2d(one, weight, None, scale=0.5, zero_point=120) if layer else x * 2.0
        return one, other if layer else wb.quantize_per_tensor(other, 0.5, 120, wb.quint8)

    def at_once(x: Any) -> Any:
        one, other = terms(x)
        return (F.add_relu if relu else F.add)(one, other, 1.0, 101)

    def by_numbers(x: Any) -> Any:
        one, other = terms(x)
        total = one.dequantize() + other.dequantize()
        return wb.quantize_per_tensor(total.relu() if relu else total, 1.0, 101, wb.quint8)

    programs = [same(one, codes) for one in (at_once, by_numbers)]
    steps = ["convolution of codes own, sum"] * 2 if layer else ["sum of told codes own", "sum of codes own"]
    for program, step in zip(programs, steps, strict=True):
        assert step in program.steps and not program.eager
    found = [one(codes).int_repr().numpy() for one in (at_once, by_numbers)]
    assert (found[0] != found[1]).any() and abs(found[0].astype(int) - found[1]).max() == 1


def test_a_bias_of_more_than_30_bits_is_added_as_eager_adds_it(engine: str) -> None:
    wb.manual_seed(4)
    # A step of the sums is the product of the least scale of a weight with that of the input.
    model = nn.Sequential(nn.Conv2d(2, 8, 3), nn.Flatten(), nn.Linear(32, 8)).eval()
    for layer in (model[0], model[2]):
        layer.weight.data.mul_(1e-9)
        layer.bias.data.copy_(wb.linspace(-1.9, 1.9, 8))
    x = wb.rand(3, 2, 4, 4)
    prepared = by_graph(model, x)
    assert prepared(x)[0, -1].item() == pytest.approx(1.9, abs=0.05)
    program = same(prepared, x)
    assert bool(program.eager) is (engine == "qnnpack")
