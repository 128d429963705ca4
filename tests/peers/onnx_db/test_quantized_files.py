"""Files of quantized models: onnxruntime runs them in whole numbers, and gives what the workbench gives."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization
from workbench.graph.interpreter import tapped
from workbench.nn import functional

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


class Written:
    """A file of a model, what onnxruntime makes of it, and its answers."""

    def __init__(self, model: Any, x: Any, folder: Any, **options: Any) -> None:
        path, optimised = folder / "model.onnx", folder / "optimised.onnx"
        wb.onnx.save(model, path, x, **options)
        self.data = path.read_bytes()
        self.proto = onnx.load_from_string(self.data)
        onnx.checker.check_model(self.proto, full_check=True)
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level, settings.intra_op_num_threads = 4, 1
        settings.optimized_model_filepath = str(optimised)
        settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        self.answers = answers(onnxruntime.InferenceSession(self.data, settings), x)
        self.kernels = Counter(node.op_type for node in onnx.load(optimised).graph.node)

    def codes(self, names: Any, x: Any) -> dict[str, np.ndarray]:
        """Return onnxruntime's codes of the values of a graph that the file has under the same names."""
        made, kept = {name for node in self.proto.graph.node for name in node.output}, onnx.ModelProto()
        kept.CopyFrom(self.proto)
        results = {one.name for one in kept.graph.output}
        wanted = [name for name in names if name in made and name not in results]
        for name in wanted:
            kept.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.UINT8, None))
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level, settings.intra_op_num_threads = 4, 1
        run = onnxruntime.InferenceSession(kept.SerializeToString(), settings)
        return dict(zip(wanted, run.run(wanted, {run.get_inputs()[0].name: x.numpy()}), strict=True))

    def again(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the answers of the opened file, and onnxruntime's to what it is written as."""
        opened, file = wb.onnx.load(self.data), io.BytesIO()
        wb.onnx.save(opened, file)
        return first(opened(x)), answers(onnxruntime.InferenceSession(file.getvalue()), x)


def answers(session: Any, x: Any) -> np.ndarray:
    found: np.ndarray = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    return found


def first(result: Any) -> np.ndarray:
    one = result[0] if isinstance(result, tuple | list) else result
    found: np.ndarray = one.detach().numpy()
    return found


def step_of(model: Any, x: Any) -> float:
    """Return the scale of the last codes."""
    scales = [node.params["scale"] for node in wb.graph.trace(model, x).nodes if node.params.get("scale")]
    return float(scales[-1])


def judge_each(graph: Any, written: Written, x: Any) -> int:
    """Hold each node to what onnxruntime makes of the same codes: the same but for halves. Return how many were."""
    places = {node.outputs[0].name: node for node in graph.nodes if node.outputs}
    theirs = written.codes(places, x)
    apart = count = 0

    def judged(name: str, value: Any) -> Any:
        nonlocal apart, count
        found = value.int_repr() if value.is_quantized else value
        differ = np.abs(found.numpy().astype(int) - theirs[name])
        assert differ.max() <= 1, name
        # A channel of a depthwise convolution may be all halves.
        assert (differ > 0).mean() < 0.05, name
        apart, count = apart + np.count_nonzero(differ), count + differ.size
        codes = wb.from_numpy(theirs[name])
        if not value.is_quantized:
            return codes
        return wb._make_per_tensor_quantized_tensor(codes, value.q_scale(), value.q_zero_point())

    with ExitStack() as taps:
        for name in theirs:
            taps.enter_context(tapped(places[name], partial(judged, name)))
        graph(x)
    assert apart <= count / 500
    return len(theirs)


def in_graph_mode(model: Any, x: Any, config: Any = None) -> Any:
    mapping = config or quantization.get_default_qconfig_mapping()
    prepared = quantization.prepare_fx(model.eval(), mapping, (x,))
    prepared(x)
    return quantization.convert_fx(prepared)


def by_layers(model: Any, x: Any) -> Any:
    prepared = quantization.prepare(quantization.fuse_automatically(model.eval(), x))
    prepared(x)
    return quantization.convert(prepared)


def after_training(model: Any, x: Any) -> Any:
    prepared = quantization.prepare_qat_fx(
        model.train(), quantization.get_default_qat_qconfig_mapping(), (x,)
    )
    optimizer = wb.optim.SGD(prepared.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        prepared(x).square().mean().backward()
        optimizer.step()
    return quantization.convert_fx(prepared.eval())


def normalised(model: Any, x: Any) -> Any:
    """Give batch normalisations the statistics of some data: without, a deep model ends in zeros."""
    model.train()
    for _ in range(20):
        with wb.no_grad():
            model(x)
    return model.eval()


# Images of 96 end in planes of nine codes, whose means are no halves.
CASES = {
    "digits by layers": (wb.models.DigitsNet, (8, 1, 28, 28), by_layers, {"QLinearConv": 2, "QGemm": 2}),
    "digits as a graph": (wb.models.DigitsNet, (8, 1, 28, 28), in_graph_mode, {"QLinearConv": 2, "QGemm": 2}),
    "digits in training": (
        wb.models.DigitsNet, (8, 1, 28, 28), after_training, {"QLinearConv": 2, "QGemm": 2},
    ),
    "resnet18": (
        lambda: wb.models.resnet18(10), (2, 3, 96, 96), in_graph_mode,
        {"QLinearConv": 20, "QLinearAdd": 8, "QLinearGlobalAveragePool": 1, "QGemm": 1},
    ),
    "resnet50": (
        wb.models.resnet50, (1, 3, 96, 96), in_graph_mode,
        {"QLinearConv": 53, "QLinearAdd": 16, "QLinearGlobalAveragePool": 1, "QGemm": 1},
    ),
    "mobilenet_v2": (
        lambda: wb.models.mobilenet_v2(10, width=0.35), (2, 3, 96, 96), in_graph_mode,
        {"QLinearConv": 52, "QLinearAdd": 10, "QLinearGlobalAveragePool": 1, "QGemm": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_whole_numbers_from_end_to_end(name, tmp_path):
    make, sizes, convert, wanted = CASES[name]
    wb.manual_seed(0)
    x = wb.randn(*sizes)
    model = convert(normalised(make(), x), x)
    with wb.no_grad():
        ours = model(x).numpy()
        step = step_of(model, x)
        written = Written(model, x, tmp_path)
        opened, again = written.again(x)
    assert {one: written.kernels[one] for one in wanted} == wanted
    # Only what goes in becomes codes, and only what comes out becomes numbers.
    assert (written.kernels["QuantizeLinear"], written.kernels["DequantizeLinear"]) == (1, 1)
    assert not {"Conv", "Gemm", "MatMul", "Add", "Relu", "FusedConv"} & set(written.kernels)
    # A bias is rounded in a file: a code here and there is its neighbour, of which so many layers of random weights
    # make more or less, as it happens. So each is judged by itself.
    with wb.no_grad():
        for graph in (wb.graph.trace(model, x), wb.onnx.load(written.data).graph):
            assert judge_each(graph, written, x) >= sum(wanted.values())
    for one in (written.answers, opened, again):
        assert quantization.sqnr(wb.from_numpy(ours), wb.from_numpy(one)) > 25
    np.testing.assert_allclose(again, written.answers, atol=1.001 * step)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("convert", [by_layers, in_graph_mode, after_training])
def test_a_border_is_of_codes(convert, mode, tmp_path):
    wb.manual_seed(0)
    x, settings = wb.randn(2, 3, 9, 8), {"padding": "same", "padding_mode": mode}
    layers = [wb.nn.Conv2d(3, 4, 4, **settings), wb.nn.ReLU(), wb.nn.Conv2d(4, 5, 3, **settings)]
    model = convert(wb.nn.Sequential(*layers), x)
    with wb.no_grad():
        ours, step = model(x).numpy(), step_of(model, x)
        written = Written(model, x, tmp_path)
        opened, again = written.again(x)
    assert written.kernels["QLinearConv"] == 2 and not {"Conv", "FusedConv"} & set(written.kernels)
    if mode == "zeros":
        # An even kernel has an uneven border, which is the operator's own.
        assert "Pad" not in written.kernels and written.kernels["QuantizeLinear"] == 1
    for one in (written.answers, opened, again):
        assert np.abs(one - ours).max() <= 1.001 * step
        assert (np.abs(one - ours) <= 0.001 * step).mean() > 0.97


def test_a_bias_has_the_scale_of_its_sums(tmp_path):
    wb.manual_seed(0)
    x = wb.randn(4, 3, 8, 8)
    model = in_graph_mode(wb.nn.Sequential(wb.nn.Conv2d(3, 5, 3), wb.nn.ReLU()), x)
    graph = Written(model, x, tmp_path).proto.graph
    made = {name: node for node in graph.node for name in node.output}
    values = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    values |= {
        node.output[0]: onnx.numpy_helper.to_array(node.attribute[0].t)
        for node in graph.node
        if node.op_type == "Constant"
    }
    (conv,) = (node for node in graph.node if node.op_type == "Conv")
    x_scale, w_scale, b_scale = (values[made[name].input[1]] for name in conv.input)
    assert (x_scale.shape, w_scale.shape, b_scale.shape) == ((), (5,), (5,))
    np.testing.assert_array_equal(b_scale, x_scale * w_scale)
    weight, bias = (values[made[name].input[0]] for name in conv.input[1:])
    assert (weight.dtype, bias.dtype) == (np.int8, np.int32)
    assert not values[made[conv.input[1]].input[2]].any()
    assert [one.i for one in made[conv.input[1]].attribute] == [0]


DYNAMIC = {
    "linear": (lambda: wb.nn.Sequential(wb.nn.Linear(64, 32), wb.nn.ReLU(), wb.nn.Linear(32, 8)), (4, 64), 2, 0),
    "lstm": (lambda: wb.nn.LSTM(16, 24, 2, bidirectional=True), (7, 3, 16), 4, 4),
    "gru": (lambda: wb.nn.GRU(16, 24, batch_first=True), (3, 7, 16), 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_what_is_quantized_in_each_call_is_so_in_a_file(name, tmp_path):
    make, sizes, products, scans = DYNAMIC[name]
    wb.manual_seed(0)
    x = wb.randn(*sizes)
    model = quantization.quantize_dynamic(make())
    written = Written(model, x, tmp_path)
    assert (written.kernels["MatMulIntegerToFloat"], written.kernels["Scan"]) == (products, scans)
    ours = first(model(x))
    for one in (written.answers, *written.again(x)):
        np.testing.assert_allclose(one, ours, atol=0.01 * np.abs(ours).max())


@pytest.mark.parametrize("per_token", [False, True], ids=["tensor", "token"])
def test_all_eight_bits_are_the_operator_for_that(per_token, tmp_path):
    wb.manual_seed(0)
    layer = wb.nn.Linear(12, 7)
    weight = wb.quantize_per_tensor(layer.weight.detach(), 0.01, 0, wb.qint8)
    product = quantization.quantized.functional.linear_dynamic
    x = wb.randn(5, 12)

    def model(x: Any) -> Any:
        return product(x, weight, layer.bias.detach(), per_token=per_token)

    written = Written(model, x, tmp_path)
    assert written.kernels["MatMulInteger" if per_token else "DynamicQuantizeMatMul"] == 1
    # A code may be another where a value meets a half.
    np.testing.assert_allclose(written.answers, first(model(x)), atol=0.02)


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_in_groups_stay_codes(bits, tmp_path):
    wb.manual_seed(0)
    x = wb.randn(4, 96)
    layers = wb.nn.Sequential(wb.nn.Linear(96, 64), wb.nn.ReLU(), wb.nn.Linear(64, 8))
    model = quantization.quantize_weights(layers, bits=bits, group_size=32)
    written = Written(model, x, tmp_path)
    kinds = {one.name: one.data_type for one in written.proto.graph.initializer}
    assert kinds["0.weight"] == (onnx.TensorProto.UINT4 if bits == 4 else onnx.TensorProto.INT8)
    assert [one.version for one in written.proto.opset_import] == [21]
    for one in (written.answers, *written.again(x)):
        np.testing.assert_allclose(one, first(model(x)), rtol=1e-4, atol=1e-5)


def test_functions_of_codes_keep_their_answers(tmp_path):
    class Mixed(wb.nn.Module):
        def forward(self, x):
            both = wb.cat([wb.sigmoid(x), functional.hardswish(x), x * x], 1)
            return functional.avg_pool2d(both.transpose(2, 3), 2).flatten(1)

    wb.manual_seed(0)
    x = wb.randn(2, 3, 6, 8)
    model = in_graph_mode(Mixed(), x)
    written = Written(model, x, tmp_path)
    step = step_of(model, x)
    for one in (written.answers, *written.again(x)):
        assert np.abs(one - first(model(x))).max() <= 1.001 * step
    assert {"QLinearSigmoid", "QLinearConcat", "QLinearAveragePool", "QLinearMul"} <= set(written.kernels)


class Alone(wb.nn.Module):
    """A softmax over one value, which is 1, between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead, self.behind = wb.nn.Linear(4, 1), wb.nn.Linear(1, 3)

    def forward(self, x: Any) -> Any:
        return self.behind(functional.softmax(self.ahead(x), -1))


def test_a_softmax_of_codes_over_one_value_is_1(tmp_path):
    wb.manual_seed(0)
    model, x = Alone().eval(), wb.randn(5, 4)
    model.behind.weight.data.fill_(2.0)
    integer = in_graph_mode(model, x)
    written = Written(integer, x, tmp_path)
    np.testing.assert_array_equal(written.answers, integer(x).numpy())
    np.testing.assert_array_equal(written.again(x)[1], integer(x).numpy())
