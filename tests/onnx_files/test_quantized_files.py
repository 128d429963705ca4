"""Files of quantized models: what stands in them, what they answer when they are opened, and what is refused."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.onnx_files.test_save import saved
from workbench import nn, quantization
from workbench.onnx import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.wire import chunks, parsed


@pytest.fixture(autouse=True)
def _drawn_from_one_seed() -> None:
    wb.manual_seed(0)


def converted(model: Any, x: Any) -> Any:
    prepared = quantization.prepare_fx(model.eval(), quantization.get_default_qconfig_mapping(), (x,))
    prepared(x)
    return quantization.convert_fx(prepared)


def by_layers(model: Any, x: Any) -> Any:
    prepared = quantization.prepare(model.eval())
    prepared(x)
    return quantization.convert(prepared)


def step_of(model: Any, x: Any) -> float:
    scales = [node.params["scale"] for node in wb.graph.trace(model, x).nodes if node.params.get("scale")]
    return float(scales[-1])


def operators(data: bytes) -> Counter[str]:
    return Counter(node.op_type for node in parsed(data).graph.node)


class Block(nn.Module):
    """A residual block with a head."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = (
            nn.Conv2d(3, 4, 3, padding=1),
            nn.Conv2d(4, 4, 1),
            nn.Linear(4, 3),
        )

    def forward(self, x: Any) -> Any:
        x = self.first(x).relu()
        x = (x + self.second(x)).relu()
        return self.head(nn.functional.hardtanh(x.mean((2, 3)), 0.0, 6.0))


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("make", [converted, by_layers])
def test_an_uneven_border_is_the_convolutions_own(make: Any, spatial: int) -> None:
    conv = getattr(nn, f"Conv{spatial}d")
    x = wb.randn(2, 3, *(5, 6, 4)[:spatial])
    settings = {"padding": "same", "dilation": (1, 3, 2)[:spatial]}
    model = nn.Sequential(conv(3, 4, 4, **settings), nn.ReLU(), conv(4, 4, 2, **settings), nn.Flatten())
    if make is by_layers:
        model = nn.Sequential(quantization.QuantStub(), *model, quantization.DeQuantStub())
        model.qconfig = quantization.get_default_qconfig()
    integer = make(model, x)
    data = saved(integer, x)
    kinds = operators(data)
    assert (kinds["Conv"], kinds["Pad"], kinds["QuantizeLinear"]) == (2, 0, 3)
    pads = [
        next(list(one.ints) for one in node.attribute if one.name == "pads")
        for node in parsed(data).graph.node
        if node.op_type == "Conv"
    ]
    assert pads == [
        [*(1, 4, 3)[:spatial], *(2, 5, 3)[:spatial]],
        [*(0, 1, 1)[:spatial], *(1, 2, 1)[:spatial]],
    ]
    opened = wb.onnx.load(data)(x)
    assert (np.abs(opened.numpy() - integer(x).numpy()) <= 1.001 * step_of(integer, x)).all()


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_transposed_convolution_in_groups_has_a_bias_of_whole_numbers(groups: int) -> None:
    """Its weight has the channels of one group, and their scales are those of all others."""
    x = wb.randn(2, 4, 5, 5)
    config = quantization.QConfig(
        activation=quantization.default_histogram_observer,
        weight=quantization.default_per_channel_weight_observer,
    )
    model = nn.Sequential(nn.ConvTranspose2d(4, 8, 3, groups=groups)).eval()
    prepared = quantization.prepare(model, config)
    prepared(x)
    model = quantization.convert(prepared)
    data = saved(model, x)
    biases = [
        node for node in parsed(data).graph.initializer if node.data_type == 6 and list(node.dims) == [8]
    ]
    assert len(biases) == 1
    answer = wb.onnx.load(data)(x).detach().numpy()
    assert np.abs(answer - model(x).numpy()).max() <= 1.001 * step_of(model, x)


class Recurrent(nn.Module):
    """A recurrent layer with a head."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.head = nn.LSTM(6, 8, batch_first=True, bidirectional=True), nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.rows(x)[0])


@pytest.mark.parametrize("training", [False, True])
def test_a_recurrent_layer_of_parts_in_codes_is_written(training: bool) -> None:
    x = wb.randn(3, 5, 6)
    if training:
        prepared = quantization.prepare_qat(Recurrent().train())
        prepared(x)
        model = quantization.convert(prepared.eval())
    else:
        model = by_layers(Recurrent(), x)
    data = saved(model, x)
    assert operators(data)["LSTM"] == 0
    answer = wb.onnx.load(data)(x).detach().numpy()
    assert np.abs(answer - model(x).numpy()).max() <= 1.001 * step_of(model, x)


def test_a_file_has_codes_between_its_ends() -> None:
    x = wb.randn(4, 3, 6, 6)
    model = converted(Block(), x)
    data = saved(model, x)
    found = operators(data)
    assert (found["Conv"], found["Gemm"], found["Add"]) == (2, 1, 1)
    # What bounds codes cuts them off as codes.
    assert found["Clip"] > 3
    opened = wb.onnx.load(data)
    step = step_of(model, x)
    answer = opened(x).detach().numpy()
    assert np.abs(answer - model(x).numpy()).max() <= 1.001 * step
    again = io.BytesIO()
    wb.onnx.save(opened, again)
    found_again = wb.onnx.load(again.getvalue())(x).detach().numpy()
    # The memory of weights lies otherwise, and sums of floats may meet a half.
    assert np.abs(found_again - answer).max() <= 1.001 * step


def test_a_bias_is_codes_under_the_scale_of_its_sums() -> None:
    x = wb.randn(4, 3, 6, 6)
    graph = parsed(saved(converted(nn.Sequential(nn.Conv2d(3, 5, 3)), x), x)).graph
    kinds = {one.name: (one.data_type, list(one.dims)) for one in graph.initializer}
    assert kinds["0.weight"] == (3, [5, 3, 3, 3])
    assert (6, [5]) in kinds.values()


def test_an_opened_file_is_explained_where_codes_are_fewer_than_their_type_has() -> None:
    # The engine for x86 leaves a bit unused, and such codes are cut off.
    x = wb.randn(4, 6)
    model = converted(nn.Sequential(nn.Linear(6, 3)), x)
    data = saved(model, x)
    assert operators(data)["Clip"] == 2
    given = wb.cat([x[:3], wb.full((1, 6), 100.0)]).requires_grad_()
    wb.onnx.load(data)(given).sum().backward()
    assert given.grad[:3].abs().sum() > 0
    # What is cut off on its way in has no slope.
    assert not given.grad[3].any()


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_in_groups(bits: int) -> None:
    x = wb.randn(3, 60)
    model = quantization.quantize_weights(nn.Sequential(nn.Linear(60, 5)), bits=bits, group_size=16)
    data = saved(model, x)
    (weight,) = (one for one in parsed(data).graph.initializer if one.name == "0.weight")
    assert (weight.data_type, len(bytes(weight.raw_data))) == ((21, 150) if bits == 4 else (3, 300))
    np.testing.assert_allclose(wb.onnx.load(data)(x).detach().numpy(), model(x).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "make", [lambda: nn.LSTM(6, 5, 2, bidirectional=True), lambda: nn.GRU(6, 5), lambda: nn.Sequential(nn.Linear(6, 5))]
)  # fmt: skip
def test_what_is_quantized_in_each_call(make: Any) -> None:
    x = wb.randn(4, 2, 6)
    model = quantization.quantize_dynamic(make())
    data = saved(model, x)
    assert "MatMulInteger" in operators(data)
    one, other = wb.onnx.load(data)(x), model(x)
    first = [each[0] if isinstance(each, list | tuple) else each for each in (one, other)]
    np.testing.assert_allclose(*(each.detach().numpy() for each in first), atol=1e-3)


class Numbers(nn.Module):
    """Sums with numbers, between stubs."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.layer, self.functions = nn.Linear(6, 6), wb.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Any) -> Any:
        x = self.functions.add(self.layer(self.quant(x)), self.quant(x))
        return self.dequant(self.functions.mul_scalar(self.functions.add_scalar(x, 1.5), -2.0))


def test_numbers_beside_codes() -> None:
    x = wb.randn(8, 6)
    model = by_layers(Numbers(), x)
    found = wb.onnx.load(saved(model, x))(x)
    assert np.abs(found.numpy() - model(x).numpy()).max() <= 2.002 * step_of(model, x)


class Joins(nn.Module):
    """Codes of two scales side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.layer, self.join = nn.Conv2d(3, 4, 1), wb.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Any) -> Any:
        x = self.quant(x)
        return self.dequant(self.join.cat([x, self.layer(x)], 1))


@pytest.mark.parametrize("limits", [(0, 127), (30, 90)])
def test_joined_codes_are_brought_to_one_scale(limits: tuple[int, int]) -> None:
    x = wb.randn(2, 3, 5, 4)
    model = by_layers(Joins(), x)
    join = model.get_submodule("join")
    join.quant_min, join.quant_max = limits
    counts = []
    for scale in (float(model.get_submodule("quant").scale), 0.07):
        join.scale.fill_(scale)
        data = saved(model, x)
        counts.append(operators(data)["QuantizeLinear"])
        found, expected = wb.onnx.load(data)(x).detach().numpy(), model(x).numpy()
        # A bias is rounded in a file.
        assert np.abs(found - expected).max() <= 1.001 * scale
        assert (np.abs(found - expected) < 1e-6).mean() > 0.95
    # What has the scale already is no number in between.
    assert counts[0] == counts[1] - 1


# ------------------------------------------------------------------------------------------- refusals


def no_scale(x: Any) -> Any:
    model = converted(nn.Sequential(nn.Linear(6, 3)), x)
    model.get_submodule("0").scale.payload[...] = 0
    return model


def prepared(x: Any) -> Any:
    return quantization.prepare_fx(
        nn.Sequential(nn.Linear(6, 3)).eval(), quantization.get_default_qconfig_mapping(), (x,)
    )


REFUSED = {
    "prepared": (
        prepared, {},
        r"prepared for quantization, and not converted: 3 observers watch it \(0\.weight_post_process, .*convert_fx",
    ),
    "a scale of 0": (
        no_scale, {}, "quantized_linear, once .*codes have the scale 0, under which they stand for no numbers: cali",
    ),
    "groups at 17": (
        lambda x: quantization.quantize_weights(nn.Sequential(nn.Linear(6, 3)), bits=4, group_size=2), {"opset": 17},
        "codes in groups came with version 21 of the operators: pass opset=21, or quantize with a scale for each row",
    ),
    "floats of 8 bits": (
        lambda x: wb.fake_float8, {}, "floats of 8 bits came with version 19 of the operators: pass opset=19",
    ),
    "codes of 32 bits": (
        lambda x: lambda x: wb.quantize_per_tensor(x, 0.1, 0, wb.qint32).dequantize(), {},
        "QuantizeLinear makes no workbench.qint32: quantize to quint8 or qint8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_says_what_would_work(name: str) -> None:
    make, options, why = REFUSED[name]
    x, file = wb.randn(4, 6), io.BytesIO()
    model = make(x)
    with pytest.raises(OnnxError, match=why):
        wb.onnx.save(model, file, x, **options)
    assert not file.getvalue()


def four_bits(kind: int, count: int, data: bytes, operator: str = "DequantizeLinear") -> bytes:
    """Return a file with a tensor of 4 bits in it, as codes or as a zero point."""
    nibbles = Message("Tensor", name="q", data_type=kind, dims=[count], raw_data=data)
    scale = Message("Tensor", name="s", data_type=1, dims=[], raw_data=np.float32(0.5).tobytes())
    shape = Message("Shape", dim=[Message("Dimension", dim_value=3)])
    info = Message("Type", tensor_type=Message("TensorType", elem_type=1, shape=shape))
    inputs = ["q", "s"] if operator == "DequantizeLinear" else ["x", "s", "q"]
    graph = Message(
        "Graph", name="g", node=[Message("Node", op_type=operator, input=inputs, output=["y"])],
        initializer=[nibbles, scale], input=[Message("ValueInfo", name="x", type=info)],
        output=[Message("ValueInfo", name="y", type=info)],
    )  # fmt: skip
    versions = [Message("OperatorSet", domain="", version=21)]
    return b"".join(chunks(Message("Model", ir_version=10, opset_import=versions, graph=graph)))


@pytest.mark.parametrize(("kind", "wanted"), [(21, [1, 15, 8]), (22, [1, -1, -8])])
def test_tensors_of_four_bits_are_read(kind: int, wanted: list[int]) -> None:
    found = wb.onnx.load(four_bits(kind, 3, bytes([0xF1, 0x08])))(wb.zeros(3))
    assert (found / 0.5).tolist() == wanted


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (four_bits(21, 3, b"\1"), "claims 3 values of 4 bits, and has 1 bytes: 2 hold them"),
        (four_bits(21, 1 << 40, b"\1"), "claims 1099511627776 values of 4 bits, and has 1 bytes"),
        (four_bits(21, 1, b"\1", "QuantizeLinear"), "it makes whole numbers of 4 bits, which only tensors of the file"),
    ],
)  # fmt: skip
def test_tensors_of_four_bits_are_held_against_their_bytes(data: bytes, why: str) -> None:
    with pytest.raises(OnnxError, match=re.escape(why)):
        wb.onnx.load(data)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("mode", [None, "sum", "mean", "max"])
def test_tables_of_embeddings(bits: int, mode: str | None) -> None:
    layer = nn.Embedding(10, 6) if mode is None else nn.EmbeddingBag(10, 6, mode=mode, padding_idx=3)
    config = quantization.float_qparams_weight_only_qconfig
    if bits == 4:
        config = quantization.float_qparams_weight_only_qconfig_4bit
    model = quantization.quantize_dynamic(nn.Sequential(layer), {type(layer): config}).eval()
    places = wb.tensor([[1, 9, 3], [3, 3, 3]])
    data = saved(model, places)
    found = operators(data)
    assert found["DequantizeLinear"] == 1 and found["Sub"] == 1
    np.testing.assert_allclose(
        wb.onnx.load(io.BytesIO(data))(places).detach().numpy(), model(places).numpy(), atol=1e-6
    )


class Upsampled(nn.Module):
    """A layer whose image becomes larger."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.layer, self.mode = nn.Conv2d(3, 4, 3, padding=1), mode

    def forward(self, x: Any) -> Any:
        return nn.functional.interpolate(self.layer(x), scale_factor=2, mode=self.mode)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_what_is_converted_from_a_file_runs_at_another_batch(mode: str) -> None:
    x = wb.randn(1, 3, 8, 8)
    more = wb.cat([x, x, x], 0)
    buffer = io.BytesIO()
    wb.onnx.export(Upsampled(mode), (x,), buffer, input_names=["x"], dynamic_axes={"x": {0: "N"}})
    opened = wb.onnx.load(io.BytesIO(buffer.getvalue()))
    small = converted(opened, x)
    found, wanted = small(more).dequantize(), opened(more)
    assert found.shape == wanted.shape == (3, 4, 16, 16)
    assert float((found - wanted).abs().max()) < 0.1


def test_a_weight_that_is_folded_and_rounded_in_training_is_written() -> None:
    wb.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU()).train()
    x = wb.randn(4, 3, 8, 8)
    mapping = quantization.get_default_qat_qconfig_mapping("x86")
    prepared = quantization.prepare_qat_fx(net, mapping, (x,))
    for _ in range(3):
        prepared(x)
    prepared.eval().apply(quantization.disable_observer)
    data = saved(prepared, x)
    assert operators(data)["QuantizeLinear"] == 3  # of the input, of the folded weight, of the result
    found, wanted = wb.onnx.load(io.BytesIO(data))(x).detach(), prepared(x).detach()
    # Sums in another order are rounded to the code beside at times.
    assert quantization.sqnr(wanted, found) > 40


@pytest.mark.parametrize("count", [1, 2])
def test_a_softmax_over_one_value_is_no_softmax_in_a_file(count: int) -> None:
    """ONNX Runtime gives 0 for it where codes stand around it."""
    model = nn.Sequential(nn.Linear(2, count), nn.Softmax(-1)).eval()
    x = wb.tensor([[1.0, 2.0], [float("inf"), 3.0], [-1.0, float("nan")]])
    data = saved(model, x)
    assert ("Softmax" in operators(data)) is (count > 1)
    np.testing.assert_allclose(wb.onnx.load(data)(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-6)
    # A size that differs from call to call may be another.
    assert "Softmax" in operators(saved(nn.Softmax(-1), wb.ones(3, count)))


def test_a_softmax_of_a_number_is_1_in_a_file() -> None:
    data = saved(nn.Softmax(-1), wb.tensor(3.0))
    assert "Softmax" not in operators(data) and wb.onnx.load(data)(wb.tensor(5.0)).item() == 1.0
