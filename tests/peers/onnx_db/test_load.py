"""Opening files: what becomes of a model's names, weights, blocks and sizes, and what is refused in which words."""

from __future__ import annotations

import io

import numpy as np
import pytest

import workbench as wb

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, numpy_helper, parser  # noqa: E402

from tests.peers.onnx_db.models import (  # noqa: E402
    F32,
    FUNCTION,
    IF,
    LOOP,
    MLP,
    QDQ,
    QLINEAR,
    RESHAPED,
    floats,
    mlp_weights,
    model,
    quantized,
)


def load(text: str, opset: int = 17, extra: str = "", **weights: np.ndarray):
    return wb.onnx.load(model(text, opset, extra, **weights).SerializeToString())


def session(made, **inputs: np.ndarray):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(made.SerializeToString(), options).run(None, inputs)


def test_weights_are_parameters_and_learn_as_ours_do():
    weights = mlp_weights()
    module = load(MLP, **weights)
    assert [name for name, _ in module.named_parameters()] == list(weights)
    own = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU(), wb.nn.Linear(3, 2))
    own.load_state_dict(
        {key: wb.from_numpy(one) for key, one in zip(own.state_dict(), weights.values(), strict=True)}
    )
    x = wb.from_numpy(floats(5, 4, seed=4))
    for one in (module, own):
        one(x).square().sum().backward()
    for mine, theirs in zip(module.parameters(), own.parameters(), strict=True):
        assert wb.allclose(mine.grad, theirs.grad, rtol=1e-6)
    before = module(x)
    wb.optim.SGD(module.parameters(), lr=0.1).step()
    assert not wb.allclose(module(x), before)


def test_a_file_is_given_as_path_bytes_or_open_file(tmp_path):
    made = model(MLP, **mlp_weights())
    path = tmp_path / "mlp.onnx"
    onnx.save(made, path)
    x = wb.from_numpy(floats(5, 4))
    wanted = load(MLP, **mlp_weights())(x)
    with path.open("rb") as file:
        for source in (path, str(path), file, io.BytesIO(path.read_bytes())):
            assert wb.equal(wb.onnx.load(source)(x), wanted)


def test_names_with_dots_are_modules_in_modules():
    made = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    made.graph.initializer.append(numpy_helper.from_array(floats(2), "block.0.norm.bias"))
    made.graph.node[0].input[1] = "block.0.norm.bias"
    module = wb.onnx.load(made.SerializeToString())
    assert list(module.state_dict()) == ["block.0.norm.bias"]
    assert module.block._modules["0"].norm.bias.requires_grad


def test_statistics_and_scales_are_buffers():
    text = (
        """g (float[N, 3] x) => (float[N, 3] y) { y = BatchNormalization(x, scale, bias, mean, variance) }"""
    )
    ones = np.ones(3, np.float32)
    module = load(text, scale=ones, bias=ones, mean=ones, variance=ones)
    assert [name for name, _ in module.named_parameters()] == ["scale", "bias"]
    assert [name for name, _ in module.named_buffers()] == ["mean", "variance"]


def test_a_graph_prints_in_both_forms_and_is_read_back():
    module = load(MLP, **mlp_weights())
    held = {value.name: tensor for value, tensor in module.graph.held().items()}
    assert "onnx.Gemm(%x, %first_weight" in str(module.graph)
    again = wb.graph.parse(str(module.graph), held)
    x = wb.from_numpy(floats(5, 4))
    assert wb.equal(again(x), module(x))
    assert "onnx.Gemm(" in wb.graph.python_text(module.graph)


def test_dims_have_the_names_of_the_file():
    module = load(MLP, **mlp_weights())
    assert str(module.signature) == "(x : f32[N, 4]) → (y : f32[N, 2])"
    assert module.graph.inputs[0].tensor.dims.names == ("N", None)
    with pytest.raises(wb.DimensionError, match="traced with dims"):
        wb.graph.run(module.graph, wb.ones(B=2, C=4))


def test_sizes_that_are_computed_are_expressions_of_a_trace():
    module = load(RESHAPED)
    graph = wb.graph.trace(module, wb.ones(4, 2, 3))
    assert "sizes=(%x.shape[0], -1)" in str(graph)
    assert graph(wb.ones(7, 2, 3)).shape == (7, 6)


def test_a_loop_gathers_rows_and_reads_from_around():
    made, x = model(LOOP), floats(2)
    wanted = session(made, x=x, n=np.array(4))
    module = wb.onnx.load(made.SerializeToString())
    tensor = wb.from_numpy(x).requires_grad_()
    got = module(tensor, wb.tensor(4))
    for want, found in zip(wanted, got, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), want, rtol=1e-6)
    got[1].sum().backward()
    assert tensor.grad is not None
    assert module(wb.from_numpy(x), wb.tensor(0))[1].shape == (0, 2)


def test_a_branch_reads_weights_from_around():
    module = load(IF, w=np.ones(2, np.float32))
    assert [name for name, _ in module.named_parameters()] == ["w"]
    x = wb.zeros(2)
    assert module(x, wb.tensor(True)).tolist() == [1, 1]
    assert module(x, wb.tensor(False)).tolist() == [-1, -1]


def test_a_function_of_the_file_is_written_where_it_is_called():
    made = parser.parse_model(FUNCTION)
    module = wb.onnx.load(made.SerializeToString())
    assert module(wb.ones(2)).tolist() == [3, 3]


UNKNOWN = """g (float[2] x) => (float[2] y, float[2] z) {
  a = Relu(x)
  b = own.Strange(a)
  y = Exp(b)
  z = own.Strange(x)
}"""


def test_an_operator_that_is_not_known_is_counted_and_the_rest_runs():
    module = load(UNKNOWN, extra="own")
    assert dict(module.unknown) == {"own.Strange": 2}
    assert "onnx.unknown" in str(module.graph)
    assert module.run_until("a", wb.tensor([-1.0, 1.0])).tolist() == [0, 1]
    with pytest.raises(
        wb.onnx.UnknownOperatorError, match=r"node 'b' \(own.Strange\), whose operator own.Strange"
    ):
        module(wb.ones(2))
    with pytest.raises(wb.onnx.OnnxError, match="there is no value 'nothing'"):
        module.run_until("nothing", wb.ones(2))


@pytest.mark.parametrize(
    ("inputs", "keywords", "error", "words"),
    [
        ((), {}, TypeError, r"missing the input x : f32\[N, 4\]"),
        ((wb.ones(1, 4),) * 2, {}, TypeError, "takes 1 inputs"),
        ((), {"y": wb.ones(1, 4)}, TypeError, "has no input 'y': it takes 'x'"),
        (([1.0],), {}, TypeError, r"x : f32\[N, 4\] is a tensor, got list"),
        ((wb.ones(1, 4).double(),), {}, TypeError, r"is workbench.float32, got workbench.float64: call x.to"),
        ((wb.ones(4),), {}, wb.DimensionError, r"has 2 dims, got 1"),
        ((wb.ones(1, 5),), {}, wb.DimensionError, r"dim 1 of the input x : f32\[N, 4\] is 4, got 5"),
    ],
)
def test_an_input_that_does_not_fit_is_refused_before_anything_runs(inputs, keywords, error, words):
    module = load(MLP, **mlp_weights())
    with pytest.raises(error, match=words):
        module(*inputs, **keywords)


def test_named_inputs_are_checked_and_results_have_the_names_of_the_file():
    module = load(MLP, **mlp_weights())
    assert module(wb.ones(N=3, C=4)).names == ("N", None)
    assert module(wb.ones(3, 4)).names == (None, None)
    with pytest.raises(wb.DimensionError, match=r"x is f32\[N:2, ·:4\], got dims \['B', 'C'\]"):
        module(wb.ones(B=3, C=4))


def test_a_run_that_fails_names_the_node():
    text = "g (float[N] x, int64[2] s) => (float[A, B] y) { a = Relu(x) y = Reshape(a, s) }"
    module = load(text)
    with pytest.raises(RuntimeError, match="reshape") as caught:
        module(wb.ones(3), wb.tensor([2, 2]))
    assert "in node 'y' (Reshape)" in caught.value.__notes__
    module = load("g (int64[1] s) => (float[N] y) { a = Neg(s) y = ConstantOfShape(a) }")
    with pytest.raises(
        wb.onnx.OnnxError, match=r"node 'y' \(ConstantOfShape\): a tensor of the sizes \[-3\]"
    ):
        module(wb.tensor([3]))


def test_a_size_with_a_name_is_one_size():
    module = load("g (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }")
    with pytest.raises(wb.DimensionError, match="dim 0 of the input y : f32\\[N\\] is 3, got 1"):
        module(wb.ones(3), wb.ones(1))


def external(location: str, offset: int = 0, length: int | None = None):
    made = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    tensor = made.graph.initializer.add(name="w", data_type=F32, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    tensor.external_data.add(key="offset", value=str(offset))
    if length is not None:
        tensor.external_data.add(key="length", value=str(length))
    return made


def test_values_in_a_file_beside_the_model(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"head" + np.array([1, 2], np.float32).tobytes())
    path = tmp_path / "g.onnx"
    path.write_bytes(external("w.bin", 4, 8).SerializeToString())
    assert wb.onnx.load(path)(wb.zeros(2)).tolist() == [1, 2]
    with pytest.raises(wb.onnx.OnnxError, match="open the model by its path, not by its bytes"):
        wb.onnx.load(path.read_bytes())


@pytest.mark.parametrize(
    ("location", "offset", "length", "words"),
    [
        ("../secret.bin", 0, 8, "a path without '..'"),
        ("/etc/hostname", 0, 8, "a path without '..'"),
        ("link.bin", 0, 8, "there is no such file"),
        ("nothing.bin", 0, 8, "there is no such file"),
        ("", 0, 8, "a path without '..'"),
        ("w.bin", 4, 8, "needs 8 bytes"),
        ("w.bin", -1, 8, "needs 8 bytes"),
        ("w.bin", 0, 1 << 60, "needs 8 bytes"),
    ],
)
def test_values_anywhere_else_are_refused(tmp_path, location, offset, length, words):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    (folder / "w.bin").write_bytes(bytes(8))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = folder / "g.onnx"
    path.write_bytes(external(location, offset, length).SerializeToString())
    with pytest.raises(wb.onnx.OnnxError, match=words):
        wb.onnx.load(path)


def huge():
    made = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    made.graph.initializer.add(name="w", data_type=F32, dims=[1 << 40, 1 << 20], raw_data=bytes(8))
    return made


def circle():
    return model("g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Exp(b) }")


def endless():
    return parser.parse_model("""<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
      g (float[2] x) => (float[2] y) { y = own.f(x) }
      <domain: "own", opset_import: ["" : 17, "own" : 1]>
      f (a) => (b) { b = own.f(a) }""")


def bomb():
    """Functions that call the one before twice: a few lines, and more nodes than any machine has room for."""
    lines = [
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
      g (float[2] x) => (float[2] y) { y = own.f25(x) }"""
    ]
    head = """<domain: "own", opset_import: ["" : 17, "own" : 1]>"""
    lines.append(f"{head} f0 (a) => (b) {{ b = Relu(a) }}")
    lines += [f"{head} f{i} (a) => (b) {{ c = own.f{i - 1}(a) b = own.f{i - 1}(c) }}" for i in range(1, 26)]
    return parser.parse_model("\n".join(lines))


REFUSED = {
    "no file": (b"not a model at all, but text", "no ONNX file"),
    "nothing": (b"", "there is no graph in it"),
    "cut": (model(MLP, **mlp_weights()).SerializeToString()[:150], "no ONNX file|made by no node|reads|has no"),
    "huge": (huge().SerializeToString(), "claims the sizes"),
    "circle": (circle().SerializeToString(), r"node 'a' \(Add\): it reads 'b', which nothing before it makes"),
    "endless": (endless().SerializeToString(), "call one another in a circle"),
    "bomb": (bomb().SerializeToString(), "more than 250000 nodes"),
    "future": (model(MLP, 99, **mlp_weights()).SerializeToString(), "version 99 of the operators, and 7 to 28"),
    "ancient": (model(MLP, 3, **mlp_weights()).SerializeToString(), "version 3 of the operators"),
    "attribute": (
        model("g (float[2] x) => (float[2] y) { y = Relu<slope = 1.0>(x) }").SerializeToString(),
        r"node 'y' \(Relu\): it has the attribute 'slope', which the operator has not",
    ),
    "lacking": (
        model("g (float[2] x) => (float[2] y) { y = Concat(x, x) }").SerializeToString(),
        "it lacks the attribute 'axis'",
    ),
    "inputs": (
        model("g (float[2] x) => (float[2] y) { y = Add(x) }").SerializeToString(),
        "it takes 2 inputs, and has 1",
    ),
    "twice": (
        model("g (float[2] x) => (float[2] y) { y = Relu(x) y = Exp(x) }").SerializeToString(),
        "something else makes 'y', too",
    ),
    "no output": (
        model("g (float[2] x) => (float[2] z) { y = Relu(x) }").SerializeToString(),
        "the output 'z' is made by no node",
    ),
    "type": (
        model("g (string[2] x) => (string[2] y) { y = Identity(x) }").SerializeToString(),
        "the data type string is none of here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_is_not_what_it_claims_is_refused(what):
    data, words = REFUSED[what]
    with pytest.raises(wb.onnx.OnnxError, match=words):
        wb.onnx.load(data)


def test_a_size_beyond_all_bounds_is_refused_when_it_is_computed():
    module = load("g (int64[2] s) => (float[A, B] y) { y = ConstantOfShape(s) }")
    with pytest.raises(wb.onnx.OnnxError, match="more than the 268435456 values"):
        module(wb.tensor([1 << 40, 1 << 20]))


def test_a_pool_of_boxes_is_that_of_onnxruntime():
    text = """g (float[2, 3, 9, 11] x, float[4, 5] boxes) => (float[4, 3, 2, 3] y) {
      y = MaxRoiPool<pooled_shape = [2, 3], spatial_scale = 0.5>(x, boxes)
    }"""
    boxes = np.array([[0, 0, 0, 9, 9], [1, 3, 2, 20, 15], [0, 5, 5, 5, 5], [1, 30, 30, 40, 40]], np.float32)
    made, x = model(text), floats(2, 3, 9, 11)
    (wanted,) = session(made, x=x, boxes=boxes)
    got = wb.onnx.load(made.SerializeToString())(wb.from_numpy(x), wb.from_numpy(boxes))
    np.testing.assert_array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("opset", [9, 13, 17])
def test_batch_normalization_is_that_of_every_version(opset):
    text = "g (float[N, 3, 4] x) => (float[N, 3, 4] y) { y = BatchNormalization(x, scale, bias, mean, variance) }"
    weights = {name: floats(3, seed=i) for i, name in enumerate(("scale", "bias", "mean"))}
    made, x = model(text, opset, variance=np.abs(floats(3, seed=4)) + 0.5, **weights), floats(2, 3, 4)
    got = wb.onnx.load(made.SerializeToString())(wb.from_numpy(x))
    np.testing.assert_allclose(got.detach().numpy(), session(made, x=x)[0], rtol=1e-5, atol=1e-6)


def test_a_gradient_goes_through_what_is_quantized_and_back():
    module = load("""g (float[4] x) => (float[4] y) {
      q = QuantizeLinear(x, s, z)
      y = DequantizeLinear(q, s, z)
    }""", s=np.float32(0.1), z=np.uint8(10))  # fmt: skip
    x = wb.tensor([-5.0, -0.33, 0.52, 100.0], requires_grad=True)
    y = module(x)
    own = wb.fake_quantize_per_tensor_affine(x.detach().requires_grad_(), 0.1, 10, 0, 255)
    assert wb.allclose(y, own, atol=1e-6)
    (y * wb.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0, 2, 3, 0]
    assert wb.equal(module(x.detach()), y)


def test_quantized_convolutions_are_those_of_onnxruntime():
    weights = {name: np.asarray(one) for name, one in quantized().items()}
    made, x = model(QDQ, **weights), floats(2, 3, 8, 8)
    (wanted,) = session(made, x=x)
    got = wb.onnx.load(made.SerializeToString())(wb.from_numpy(x)).detach().numpy()
    assert np.abs(got - wanted).max() <= 0.05 * 1.001
    assert (got == wanted).mean() > 0.98
    weights["b"] = np.array([100, -200, 300, 0], np.int32)
    made = model(QLINEAR, **weights)
    codes = np.random.default_rng(1).integers(0, 256, (2, 3, 8, 8)).astype(np.uint8)
    (wanted,) = session(made, x=codes)
    got = wb.onnx.load(made.SerializeToString())(wb.from_numpy(codes)).numpy()
    assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
    assert (got == wanted).mean() > 0.99
