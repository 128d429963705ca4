"""Files that are written: what is opened again is what was written, names and sizes included; nothing is half done."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F
from workbench import models, nn
from workbench.models.bert import BertSettings
from workbench.onnx.wire import parsed
from workbench.onnx.writing.graphs import OLDEST
from workbench.onnx.writing.table import RULES


class Packed(nn.Module):
    """A recurrent layer over sequences of several lengths, which are told in the program."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer, self.lengths = kind(4, 3, bidirectional=True, **options), [5, 3, 3, 1]

    def forward(self, x):
        found, last = self.layer(nn.utils.rnn.pack_padded_sequence(x, self.lengths))
        last = last if isinstance(last, tuple) else (last,)
        return nn.utils.rnn.pad_packed_sequence(found)[0], *last


class Repeated(nn.Module):
    """Each entry several times in a row, along two dims."""

    def forward(self, x):
        return x.repeat_interleave(2, 0) + x.repeat_interleave(2, 0).repeat_interleave(2, 1)[:, ::2]


class Projected(nn.Module):
    """Two layers each way, whose hidden state is narrower than the cell, from a state that is given."""

    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(4, 5, 2, bidirectional=True, proj_size=2)

    def forward(self, x, h, c):
        return self.layers(x, (h, c))


PACKED = {
    "lstm": lambda: Packed(nn.LSTM),
    "lstm of two layers": lambda: Packed(nn.LSTM, num_layers=2),
    "gru": lambda: Packed(nn.GRU),
    "rnn": lambda: Packed(nn.RNN, nonlinearity="tanh"),
}


MODELS = {
    "lenet": (models.LeNet, lambda n: (wb.randn(n, 1, 28, 28),)),
    "digits": (models.DigitsNet, lambda n: (wb.randn(n, 1, 28, 28),)),
    "resnet18": (lambda: models.resnet18(10), lambda n: (wb.randn(n, 3, 40, 32),)),
    "mobilenet_v2": (lambda: models.mobilenet_v2(10, width=0.35), lambda n: (wb.randn(n, 3, 32, 32),)),
    "efficientnet_lite0": (lambda: models.efficientnet_lite0(10), lambda n: (wb.randn(n, 3, 40, 32),)),
    "vit_small": (lambda: models.vit_small(size=16), lambda n: (wb.randn(n, 3, 16, 16),)),
    "bert": (
        lambda: models.BertEncoder(BertSettings(100, 48, 2, 4, 96)), lambda n: (wb.randint(0, 100, (n, 5)),),
    ),
    "language": (lambda: models.WordLanguageModel(50), lambda n: (wb.randint(0, 50, (7, n)),)),
    "gru": (lambda: nn.GRU(4, 3, 2, bidirectional=True), lambda n: (wb.randn(6, n, 4),)),
    "rnn": (lambda: nn.RNN(4, 3, nonlinearity="relu", batch_first=True), lambda n: (wb.randn(n, 6, 4),)),
    "lstm_cell": (lambda: nn.LSTMCell(4, 3), lambda n: (wb.randn(n, 4),)),
    "gru_cell": (lambda: nn.GRUCell(4, 3), lambda n: (wb.randn(n, 4),)),
    "lstm with a projection": (
        lambda: Projected(),
        lambda n: (wb.randn(6, n, 4), wb.randn(4, n, 2), wb.randn(4, n, 5)),
    ),
    "neighbours": (lambda: nn.LocalResponseNorm(3), lambda n: (wb.randn(n, 5, 4, 3),)),
    "repeated": (lambda: Repeated(), lambda n: (wb.randn(n, 3, 2),)),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), lambda n: (wb.randn(n, 5, 16),),
    ),
}  # fmt: skip


def saved(model, *examples, **options) -> bytes:
    file = io.BytesIO()
    wb.onnx.save(model, file, *examples, **options)
    return file.getvalue()


def flat(results):
    for one in results if isinstance(results, tuple | list) else (results,):
        yield from flat(one) if isinstance(one, tuple | list) else (one,)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_what_it_was_when_its_file_is_opened(name):
    make, inputs = MODELS[name]
    model = make().eval()
    opened = wb.onnx.load(saved(model, *inputs(2)))
    assert not opened.unknown
    for count in (2, 1, 3):
        given = inputs(count)
        with wb.no_grad():
            wanted, found = list(flat(model(*given))), list(flat(opened(*given)))
        for one, other in zip(wanted, found, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-4, atol=1e-5)


def test_packed_sequences_with_a_projection_are_refused():
    with pytest.raises(
        wb.onnx.OnnxError, match="packed sequences with a projection of the hidden state have no form"
    ):
        saved(Packed(nn.LSTM, proj_size=2), wb.randn(5, 4, 4))


@pytest.mark.parametrize("name", PACKED)
def test_packed_sequences_are_what_they_were(name):
    wb.manual_seed(0)
    model, x = PACKED[name]().eval(), wb.randn(5, 4, 4)
    opened = wb.onnx.load(saved(model, x))
    for one, other in zip(model(x), opened(x), strict=True):
        np.testing.assert_allclose(other.detach().numpy(), one.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_rows_of_a_table_are_added_up_in_a_file():
    bag = nn.EmbeddingBag(7, 3, mode="mean")
    opened = wb.onnx.load(saved(bag, wb.tensor([[0, 2], [6, 2]])))
    places = wb.tensor([[1, 1], [5, 0]])
    assert wb.allclose(opened(places), bag(places), atol=1e-6)
    with pytest.raises(wb.onnx.OnnxError, match="added up from version 16 of the operators on"):
        saved(bag, places, opset=15)


@pytest.mark.parametrize("opset", range(OLDEST, 24))
def test_every_version_of_the_operators_is_written(opset):
    @wb.no_grad()
    def both(x):
        y = F.hardswish(F.layer_norm(x, x.shape[1:])) + F.gelu(x)
        return wb.var(y, 1), y.reshape(x.shape[0] * 2, -1).amax(1)

    x = wb.randn(3, 4)
    opened = wb.onnx.load(saved(both, x, opset=opset))
    for one, other in zip(both(x), opened(x), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-6)
    assert opened(wb.randn(5, 4))[0].shape == (5,)


def test_names_are_those_of_the_model():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    data = saved(
        model, wb.ones(N=2, C=1, H=5, W=5), input_names=["picture"], output_names=["scores"],
        dim_names={"picture": {2: "height"}},
    )  # fmt: skip
    opened = wb.onnx.load(data)
    (port,), (result,) = opened.signature.inputs, opened.signature.outputs
    assert (port.name, port.sizes) == ("picture", ("N", 1, "height", "W"))
    assert (result.name, result.sizes[0]) == ("scores", "N")
    assert result.sizes[1] == "2*height*W - 4*height - 4*W + 8"
    assert [name for name, _ in opened.named_parameters()] == ["0.weight", "0.bias"]
    assert next(node.source for node in opened.graph.nodes) == "node '0/Conv' (Conv)"


def test_sizes_that_must_agree_have_one_name():
    port, other = wb.onnx.load(saved(wb.matmul, wb.ones(N=2, C=3), wb.ones(3, 2))).signature.inputs
    assert port.sizes == ("N", "C")
    assert other.sizes == ("C", "other_dim_1")


def test_dims_that_are_kept_are_kept_by_the_operator():
    token, x = wb.randn(1, 1, 3), wb.ones(2, 4)
    data = saved(lambda x: token.expand(x.shape[0], -1, -1) + x[:, :1, None], x)
    (row,) = (one for one in parsed(data).graph.initializer if list(one.dims) == [2])
    assert np.frombuffer(row.raw_data, np.int64).tolist() == [1, 1]
    assert wb.allclose(wb.onnx.load(data)(wb.ones(5, 4)), token.expand(5, -1, -1) + 1)


def test_a_border_of_zeros_is_that_of_the_convolutions_that_read_it():
    weight = wb.randn(4, 3, 2, 4)

    def conv(x, **options):
        return F.conv2d(x, weight, **options)

    def border(x):
        return F.pad(x, (1, 2, 0, 1))

    def twice(x):
        y = border(x)
        return conv(y) + conv(y, padding=(1, 2), dilation=2)[:, :, 1:, 1:]

    x = wb.randn(2, 3, 6, 7)
    operators = {
        twice: ["Conv", "Conv"],
        (lambda x: conv(x, padding="same")): ["Conv"],
        # Another value, another reader, a result, a border of channels: then it stands there.
        (lambda x: conv(F.pad(x, (1, 2, 0, 1), value=1.0))): ["Pad", "Conv"],
        (lambda x: (conv(y := border(x)), y)): ["Pad", "Conv"],
        (lambda x: conv(y := border(x)) + y[:, :1, :6, :7]): ["Pad", "Conv"],
        (lambda x: conv(F.pad(x[:, :2], (0, 0, 0, 0, 0, 1)))): ["Pad", "Conv"],
        (lambda x: conv(F.pad(x, (-1, 2, 0, 1)))): ["Pad", "Conv"],
    }
    for function, wanted in operators.items():
        exact = list(flat(function(x)))
        data = saved(function, x)
        found = [node.op_type for node in parsed(data).graph.node if node.op_type in ("Pad", "Conv")]
        assert sorted(found) == sorted(wanted)
        for one, other in zip(exact, flat(wb.onnx.load(data)(x)), strict=True):
            np.testing.assert_allclose(other.detach().numpy(), one.numpy(), atol=1e-5)


def test_sizes_that_are_computed_are_computed_in_the_file():
    def f(x):
        n, c, h, w = x.shape
        return x.reshape(n, c * h, w // 2, -1).mean(2) / h**0.5 + (n - 4) // 2

    x = wb.randn(2, 3, 4, 6)
    opened = wb.onnx.load(saved(f, x))
    for sizes in ((2, 3, 4, 6), (1, 2, 5, 4), (5, 1, 1, 2)):
        x = wb.randn(*sizes)
        assert wb.allclose(opened(x), f(x), atol=1e-6)
    assert wb.onnx.load(saved(f, x, dynamic=False)).signature.inputs[0].sizes == (5, 1, 1, 2)


@pytest.mark.parametrize(
    "quotient",
    [
        lambda n, c: (3 - n) // 2,
        lambda n, c: (1 - n * c) // 3,
        lambda n, c: (c - n) // (n + 1),
        lambda n, c: -n // c,
    ],
    ids=["half", "third", "by a size", "of two"],
)
def test_quotients_of_what_is_below_zero_are_rounded_down_in_the_file(quotient):
    # The format cuts towards zero: both are the same for what is above, and for what a size is put in order into.
    def f(x):
        return x.new_full((1,), quotient(*x.shape))

    opened = wb.onnx.load(saved(f, wb.ones(2, 3)))
    sizes = [(n, c) for n in range(1, 9) for c in range(1, 6)]
    assert [opened(wb.ones(*one)).item() for one in sizes] == [quotient(*one) for one in sizes]


def test_a_size_that_is_needed_as_a_number_is_one():
    opened = wb.onnx.load(saved(nn.Linear(3, 2), wb.ones(4, 3)))
    assert opened.signature.inputs[0].sizes == ("input_dim_0", 3)
    with pytest.raises(wb.DimensionError, match="dim 1 of the input"):
        opened(wb.ones(4, 5))


def test_guards_are_told_in_the_file():
    data = saved(lambda x: x if x.shape[0] < 9 else x * 2, wb.ones(2))
    assert b"x.shape[0] < 9" in data


@pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16, wb.float64])
def test_models_of_other_types_are_written(dtype):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8)).to(dtype).eval()
    x = wb.randn(3, 4).to(dtype)
    opened = wb.onnx.load(saved(model, x))
    assert {one.dtype for one in opened.parameters()} == {dtype}
    assert wb.allclose(opened(x).float(), model(x).float(), rtol=0.05, atol=0.05)


def test_an_op_without_a_form_is_named_with_its_lines_and_nothing_is_written(tmp_path):
    def f(x):
        y = wb.linalg.inv(x)
        return y + wb.linalg.inv(y) + wb.lgamma(x)

    path = tmp_path / "model.onnx"
    path.write_bytes(b"what was there")
    with pytest.raises(wb.onnx.OnnxError) as found:
        wb.onnx.save(f, path, wb.eye(3))
    words = str(found.value)
    assert "3 nodes have no form in the format, and nothing was written" in words
    assert "lgamma, once at test_save.py:" in words
    assert "linalg_inv, 2 times at test_save.py:" in words
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_values_stand_beside_the_file_where_that_is_asked_for(tmp_path):
    model, path = nn.Linear(64, 32), tmp_path / "model.onnx"
    wb.onnx.save(model, path, wb.ones(2, 64), external_data=True)
    assert {one.name for one in tmp_path.iterdir()} == {"model.onnx", "model.onnx.data"}
    assert path.stat().st_size < 2000
    x = wb.randn(2, 64)
    assert wb.allclose(wb.onnx.load(path)(x), model(x), atol=1e-6)
    wb.onnx.save(model, path, wb.ones(2, 64), external_data="weights.bin")
    assert wb.allclose(wb.onnx.load(path)(x), model(x), atol=1e-6)
    assert (tmp_path / "weights.bin").exists()


@pytest.mark.parametrize("name", ["../weights", "a/b", "", "..", "model.onnx"])
def test_values_stand_nowhere_else(tmp_path, name):
    with pytest.raises(wb.onnx.OnnxError, match=r"beside the model's|cannot stand in"):
        wb.onnx.save(nn.Linear(64, 32), tmp_path / "model.onnx", wb.ones(2, 64), external_data=name)
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")

    def broken(message):
        yield b"half of it"
        raise OSError("the disk is full")

    monkeypatch.setattr("workbench.onnx.writing.saving.chunks", broken)
    with pytest.raises(OSError, match="disk is full"):
        wb.onnx.save(nn.ReLU(), path, wb.ones(2))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_written_over(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        wb.onnx.save(nn.ReLU(), tmp_path, wb.ones(2))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        wb.onnx.save(nn.ReLU(), tmp_path / "no" / "model.onnx", wb.ones(2))


WRONG = {
    "opset": (lambda: saved(nn.ReLU(), wb.ones(2), opset=7), wb.onnx.OnnxError, "13 to 23 of the operators, not 7"),
    "word": (lambda: saved(nn.ReLU(), wb.ones(2), opset="17"), TypeError, "opset is the number of a version"),
    "names": (
        lambda: saved(nn.ReLU(), wb.ones(2), input_names=["a", "b"]), wb.onnx.OnnxError, "2 names for 1 inputs",
    ),
    "text": (lambda: saved(nn.ReLU(), wb.ones(2), input_names="x"), TypeError, "input_names is a list of names"),
    "twice": (
        lambda: saved(wb.add, wb.ones(2), wb.ones(2), input_names=["a", "a"]), wb.onnx.OnnxError, "called 'a'",
    ),
    "dim": (
        lambda: saved(nn.ReLU(), wb.ones(2), input_names=["x"], dim_names={"x": {3: "N"}}), wb.onnx.OnnxError,
        "has 1 dims, and dim 3",
    ),
    "what": (lambda: saved(3, wb.ones(2)), TypeError, "writes a module, a function or a graph, not int"),
    "graph": (
        lambda: saved(wb.graph.trace(wb.relu, wb.ones(2)), wb.ones(2)), TypeError, "a graph is written as it is",
    ),
    "path": (lambda: wb.onnx.save(nn.ReLU(), 3, wb.ones(2)), TypeError, "a path or an open file, not int"),
    "number": (lambda: saved(lambda x: (x, 3), wb.ones(2)), Exception, "return"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_written_is_told(what):
    call, error, words = WRONG[what]
    with pytest.raises(error, match=words):
        call()


def test_a_model_is_written_as_it_is_used_and_stays_as_it_was():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    model[2].eval()
    x = wb.randn(3, 4)
    opened = wb.onnx.load(saved(model, x))
    assert [one.training for one in model] == [True, True, False]
    assert wb.allclose(opened(x), model.eval()(x), atol=1e-6)


def test_what_only_training_does_is_told_or_left_away():
    model, x = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)), wb.randn(3, 4)
    with pytest.raises(wb.onnx.OnnxError, match=r"changes 0\.running_mean.* pass training=True"):
        saved(model, x, training=None)
    with pytest.raises(wb.onnx.OnnxError, match=r"it draws numbers: call model\.eval"):
        saved(nn.Dropout(0.5), x, training=None)
    data = saved(model, x, training=True)
    assert b"Dropout" in data
    normalized = wb.onnx.load(saved(nn.BatchNorm1d(4), x, training=True))(x)
    assert wb.allclose(normalized.mean(0), wb.zeros(4), atol=1e-6)


def test_outputs_have_names_of_their_own():
    def f(x):
        y = wb.relu(x)
        return y, y, x

    opened = wb.onnx.load(saved(f, wb.ones(2)))
    assert len({one.name for one in opened.signature.outputs}) == 3
    assert [one.tolist() for one in opened(wb.tensor([1.0, -1.0]))] == [[1, 0], [1, 0], [1, -1]]


def test_a_tensor_that_is_read_twice_is_written_once():
    shared = nn.Linear(50, 50)
    data = saved(nn.Sequential(shared, nn.ReLU(), shared), wb.ones(2, 50))
    assert len(data) < 2 * 50 * 50 * 4


def test_the_file_is_the_same_each_time():
    model, x = models.vit_small(size=16).eval(), wb.randn(2, 3, 16, 16)
    assert saved(model, x) == saved(model, x)


class TestExport:
    """PyTorch's word."""

    def test_sizes_are_numbers_but_for_those_that_are_named(self, tmp_path):
        path = tmp_path / "model.onnx"
        wb.onnx.export(
            nn.Conv2d(3, 4, 3), (wb.randn(1, 3, 8, 8),), str(path), export_params=True, opset_version=17,
            do_constant_folding=True, input_names=["input"], output_names=["output"],
            dynamic_axes={"input": {0: "batch_size"}, "output": {0: "batch_size"}}, dynamo=False,
        )  # fmt: skip
        opened = wb.onnx.load(Path(path))
        assert (
            str(opened.signature)
            == "(input : f32[batch_size, 3, 8, 8]) → (output : f32[batch_size, 4, 6, 6])"
        )

    def test_without_a_path_there_is_a_program(self, tmp_path):
        program = wb.onnx.export(nn.Linear(3, 2), wb.ones(4, 3))
        program.save(tmp_path / "model.onnx")
        assert wb.onnx.load(tmp_path / "model.onnx").signature.inputs[0].sizes == (4, 3)

    def test_keywords_and_shapes(self):
        def f(x, y=None):
            return x - y

        file = io.BytesIO()
        wb.onnx.export(
            f, (wb.ones(4, 3),), file, kwargs={"y": wb.ones(3)}, input_names=["x", "y"],
            dynamic_shapes={"x": {0: "N"}, "y": None},
        )  # fmt: skip
        assert wb.onnx.load(file.getvalue()).signature.inputs[0].sizes == ("N", 3)

    def test_what_it_does_not_take_is_told(self):
        with pytest.raises(TypeError, match="export takes no argument 'colour'"):
            wb.onnx.export(nn.ReLU(), wb.ones(2), colour=3)
        with pytest.raises(wb.onnx.OnnxError, match="parameters are part of the file"):
            wb.onnx.export(nn.ReLU(), wb.ones(2), export_params=False)


def test_rules_are_those_of_ops_that_there_are():
    assert set(RULES) <= {op.name for op in wb.core.op.table()}


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_layer_is_one_op_whether_it_is_written_or_opened(kind):
    layer, x = getattr(nn, kind)(4, 3, bidirectional=True), wb.randn(5, 2, 4)
    opened = wb.onnx.load(saved(layer, x))
    graph = wb.graph.trace(opened, x)
    names = [node.op.name for node, _ in graph.walk() if node.op is not None]
    assert names.count(kind.lower()) == 2
    # For other numbers of steps, too: nothing is unrolled.
    longer = wb.randn(9, 3, 4)
    wanted, again = layer(longer)[0], wb.onnx.load(saved(opened, x))
    for one in (opened, graph, again):
        assert wb.allclose(one(longer)[0], wanted, atol=1e-6)


def test_a_trace_of_an_opened_file_calls_its_inputs_as_the_file_does():
    opened = wb.onnx.load(saved(wb.add, wb.ones(2), wb.ones(2), input_names=["left side", "lambda"]))
    graph = wb.graph.trace(opened, wb.ones(2), wb.ones(2))
    assert [one.name for one in graph.inputs] == ["left_side", "lambda_"]


BRANCHES = """g(%x : f32[N:3, ·:2]):
  %s : f32[] = sum(%x, dim=(0, 1), keepdim=False)
  %gt : bool[] = gt(%s, 0)
  %c : bool = builtins.bool(%gt)
  %y : f32[N:3, ·:2] = if(%c):
    then():
      %a : f32[N:3, ·:2] = mul(%x, 2)
      return %a
    else():
      return %x
  %z : f32[N:3, ·:2] = relu(%y)
  return %z"""

TURNS = """g(%x : f32[N:3], %n : int):
  %m : int = operator.add(%n, 1)
  %y : f32[N:3] = loop(%m, True, %x):
    body(%i : int, %v : f32[N:3]):
      %w : f32[N:3] = add(%v, %i)
      %k : f32[N:3] = mul(%w, %x)
      %s : f32[] = sum(%k, dim=(0,), keepdim=False)
      %lt : bool[] = lt(%s, 100)
      %b : bool = builtins.bool(%lt)
      return %b, %k
  return %y"""


@pytest.mark.parametrize("sign", [1, -1])
def test_an_if_is_one_in_the_file(sign):
    graph = wb.graph.parse(BRANCHES)
    opened = wb.onnx.load(saved(graph))
    x = wb.randn(4, 2).abs() * sign
    assert wb.equal(opened(x), graph(x.rename("N", None)).rename(None))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_loop_is_one_in_the_file(count):
    graph = wb.graph.parse(TURNS)
    opened = wb.onnx.load(saved(graph))
    x = wb.tensor([1.0, 2.0, 0.5, -1.0])
    assert wb.equal(opened(x, wb.tensor(count)), graph(x.rename("N"), count).rename(None))


def test_a_function_whose_types_are_not_known_is_named_with_its_line():
    graph = wb.graph.parse("g(%x : tensor):\n  %y : tensor = Tensor.abs(%x)\n  return %y")
    with pytest.raises(wb.onnx.OnnxError, match=r"Tensor\.abs, once.*a function by its name"):
        saved(graph)


def test_an_opened_file_is_written_as_it_was():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    data = saved(model, wb.ones(N=2, C=1, H=5, W=5), opset=14)
    opened = wb.onnx.load(data)
    again = wb.onnx.load(saved(opened))
    assert str(again.signature) == str(opened.signature)
    assert (again.versions, [*dict(again.named_parameters())]) == ({"": 14}, ["0.weight", "0.bias"])
    x = wb.randn(3, 1, 6, 5)
    assert wb.equal(again(x), opened(x))
