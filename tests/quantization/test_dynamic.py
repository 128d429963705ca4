"""Weights in codes, activations quantized in each call."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.quantized import dynamic


def outputs(model: Any, *inputs: Any) -> Any:
    with wb.no_grad():
        found = model(*inputs)
    return found[0] if isinstance(found, tuple) else found


class Mixed(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = wb.nn.Embedding(30, 12)
        self.rnn = wb.nn.LSTM(12, 16, 2, bidirectional=True)
        self.head = wb.nn.Sequential(wb.nn.Linear(32, 20), wb.nn.ReLU(), wb.nn.Linear(20, 5))

    def forward(self, words: Any) -> Any:
        return self.head(self.rnn(self.table(words))[0])


@pytest.fixture
def mixed() -> Any:
    wb.manual_seed(2)
    return Mixed()


@pytest.fixture
def words() -> Any:
    return wb.from_numpy(np.random.default_rng(3).integers(0, 30, (9, 4)))


def test_layers_by_default(mixed: Any, words: Any) -> None:
    found = q.quantize_dynamic(mixed)
    assert type(found.rnn) is dynamic.LSTM
    assert type(found.head[2]) is dynamic.Linear
    assert type(found.table) is wb.nn.Embedding
    assert type(mixed.rnn) is wb.nn.LSTM
    assert q.sqnr(outputs(mixed, words), outputs(found, words)) > 25
    assert q.model_size(found.rnn) < q.model_size(mixed.rnn) / 3.4
    other = q.quantize_dynamic(Mixed())
    other.load_state_dict(found.state_dict())
    np.testing.assert_array_equal(outputs(other, words).numpy(), outputs(copy.deepcopy(found), words).numpy())


def test_in_place_changes_the_model_itself(mixed: Any) -> None:
    assert q.quantize_dynamic(mixed, {wb.nn.Linear}, inplace=True) is mixed
    assert type(mixed.head[0]) is dynamic.Linear
    assert type(mixed.rnn) is wb.nn.LSTM


def test_rows_and_tokens_have_scales_of_their_own(mixed: Any) -> None:
    x = wb.from_numpy(np.random.default_rng(4).standard_normal((6, 32)).astype(np.float32))
    x[3] *= 100.0
    model = mixed.head
    ratio = {}
    for name, config in (
        ("batch", q.default_dynamic_qconfig), ("rows", q.per_channel_dynamic_qconfig),
        ("tokens", q.per_token_dynamic_qconfig),
    ):  # fmt: skip
        found = q.quantize_dynamic(model, {wb.nn.Linear: config})
        ratio[name] = q.sqnr(outputs(model, x)[:3], outputs(found, x)[:3])
    assert ratio["tokens"] > ratio["rows"] + 10
    alone = outputs(found, x[:1])
    np.testing.assert_allclose(alone.numpy(), outputs(found, x)[:1].numpy(), atol=1e-5)


def test_half_precision_and_tables(mixed: Any, words: Any) -> None:
    half = q.quantize_dynamic(mixed, dtype=wb.float16)
    assert half.head[0].weight.dtype is wb.float16
    assert q.sqnr(outputs(mixed, words), outputs(half, words)) > 50
    table = q.quantize_dynamic(mixed, dtype=wb.quint8).table
    assert q.sqnr(outputs(mixed.table, words), outputs(table, words)) > 40
    assert table.codes.dtype is wb.uint8
    with pytest.raises(IndexError, match=r"30 is not in \[0, 30\)"):
        table(wb.tensor([30]))


def test_bags_skip_their_padding() -> None:
    bag = wb.nn.EmbeddingBag(10, 4, mode="sum", padding_idx=3)
    found = q.quantize_dynamic(wb.nn.ModuleList([bag]), dtype=wb.quint8)[0]
    rows, offsets = wb.tensor([3, 1, 3, 2]), wb.tensor([0, 3])
    np.testing.assert_allclose(found(rows, offsets).numpy(), bag(rows, offsets).detach().numpy(), atol=0.05)
    other = wb.tensor([4, 1, 5, 2])
    np.testing.assert_allclose(found(other, offsets).numpy(), bag(other, offsets).detach().numpy(), atol=0.05)


@pytest.mark.parametrize("kind", [wb.nn.Embedding, wb.nn.EmbeddingBag])
def test_tables_that_were_called_are_pickled_and_copied(kind: Any) -> None:
    places = wb.tensor([[1, 9, 3], [0, 0, 2]])
    found = q.quantize_dynamic(wb.nn.Sequential(kind(10, 6)), dtype=wb.quint8)
    expected = found(places).numpy()
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        np.testing.assert_array_equal(other(places).numpy(), expected)
        # It is a table of its own.
        other[0].scales.mul_(2)
        np.testing.assert_allclose(other(places).numpy(), 2 * expected, rtol=1e-6)
    np.testing.assert_array_equal(found(places).numpy(), expected)


@pytest.mark.parametrize("bits", [8, 4])
def test_tables_are_traced(bits: int) -> None:
    config = q.float_qparams_weight_only_qconfig if bits == 8 else q.float_qparams_weight_only_qconfig_4bit
    places, other = wb.tensor([[1, 9, 3], [0, 0, 2]]), wb.tensor([[4, 4], [3, 0], [8, 7]])
    for kind, told in ((wb.nn.Embedding, {}), (wb.nn.EmbeddingBag, {"mode": "max", "padding_idx": 3})):
        found = q.quantize_dynamic(wb.nn.Sequential(kind(10, 6, **told)), {kind: config}).eval()
        graph = wb.graph.trace(found, places)
        np.testing.assert_array_equal(graph(other).numpy(), found(other).numpy())
        # What is written into the table is seen.
        before = found(other).numpy().copy()
        found[0].scales.mul_(2)
        np.testing.assert_allclose(found(other).numpy(), 2 * before, rtol=1e-6)


def test_a_transformer_is_quantized() -> None:
    wb.manual_seed(0)
    layer = wb.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = wb.randn(2, 5, 16)
    found = q.quantize_dynamic(layer, {wb.nn.Linear}, dtype=wb.qint8)
    assert type(found.linear1) is dynamic.Linear
    assert q.sqnr(outputs(layer, x), outputs(found, x)) > 30


def test_one_layer_alone_becomes_another() -> None:
    assert type(q.quantize_dynamic(wb.nn.Linear(3, 2))) is dynamic.Linear


@pytest.mark.parametrize(
    ("spec", "dtype", "message"),
    [
        ({"haed"}, "qint8", "a qconfig for 'haed', and no module of that name: did you mean 'head'"),
        ({wb.nn.Conv2d}, "qint8", "Conv2d has no dynamic form; these have: .*LSTM"),
        (None, "qint32", "Don't know how to quantize with default settings for qint32"),
        ({wb.nn.Embedding}, "qint8", "only supported with float_qparams_weight_only_qconfig"),
    ],
)
def test_refusals_change_nothing(mixed: Any, spec: Any, dtype: str, message: str) -> None:
    with pytest.raises(wb.QuantizationError, match=message):
        q.quantize_dynamic(mixed, spec, dtype=getattr(wb, dtype), inplace=True)
    assert type(mixed.head[0]) is wb.nn.Linear
    assert not hasattr(mixed.head[0], "qconfig")


def test_what_a_dynamic_layer_takes(mixed: Any) -> None:
    found = q.quantize_dynamic(mixed)
    codes = wb.quantize_per_tensor(wb.ones(1, 32), 0.1, 0, wb.quint8)
    with pytest.raises(wb.QuantizationError, match="takes floating point values, and got quint8"):
        found.head(codes)
    with pytest.raises(wb.QuantizationError, match="takes floating point values, and got int64"):
        found.rnn(wb.ones(2, 1, 12, dtype=wb.int64))
    x = wb.randn(3, 32)
    np.testing.assert_array_equal(found.head(x.bfloat16()).numpy(), found.head(x.bfloat16().float()).numpy())
    with pytest.raises(wb.QuantizationError, match="Expected 12, got 7"):
        found.rnn(wb.ones(2, 1, 7))
    with pytest.raises(wb.QuantizationError, match="Expected 12, got 5"):
        found.rnn(wb.nn.utils.rnn.pack_sequence([wb.ones(2, 5)]))


ROUNDED = {
    "a scale": {},
    "a scale for each token": {"spec": q.per_token_dynamic_qconfig},
    "half": {"dtype": wb.float16},
}


def recurrent(kind: str, rounded: str, **settings: Any) -> tuple[Any, Any]:
    """Return a layer, and its dynamic form."""
    wb.manual_seed(3)
    layer = getattr(wb.nn, kind)(5, 6, **settings).eval()
    given = dict(ROUNDED[rounded])
    spec = {type(layer): given.pop("spec")} if "spec" in given else {type(layer)}
    return layer, q.quantize_dynamic(wb.nn.ModuleList([layer]), spec, **given)[0]


def parts(output: Any) -> list[Any]:
    if isinstance(output, wb.nn.utils.rnn.PackedSequence):
        return [output.data]
    return [output] if isinstance(output, wb.Tensor) else [part for one in output for part in parts(one)]


@pytest.mark.parametrize("rounded", ROUNDED)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bidirectional": True, "num_layers": 2},
        {"batch_first": True, "bias": False},
        {"bidirectional": True, "batch_first": True},
    ],
)
@pytest.mark.parametrize(("kind", "width"), [("LSTM", 0), ("LSTM", 3), ("GRU", 0)])
def test_recurrent_layers_of_every_setting(
    kind: str, width: int, settings: dict[str, Any], packed: bool, rounded: str
) -> None:
    settings = {**settings, "proj_size": width} if width else settings
    layer, found = recurrent(kind, rounded, **settings)
    first, batch = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1), 3
    x: Any = wb.randn(*((batch, 7) if settings.get("batch_first") else (7, batch)), 5)
    if packed:
        ways = {"batch_first": settings.get("batch_first", False), "enforce_sorted": False}
        x = wb.nn.utils.rnn.pack_padded_sequence(x, wb.tensor([5, 7, 2]), **ways)
    states = [wb.randn(first, batch, size) for size in (width or 6, 6)]
    for hx in (None, tuple(states) if kind == "LSTM" else states[0]):
        for one, other in zip(parts(layer(x, hx)), parts(found(x, hx)), strict=True):
            assert one.shape == other.shape
            assert q.sqnr(one, other) > 28
    if packed:
        return
    single = [one[:, 0] for one in states]
    hx = tuple(single) if kind == "LSTM" else single[0]
    for one, other in zip(parts(layer(x[0], hx)), parts(found(x[0], hx)), strict=True):
        assert one.shape == other.shape
        assert q.sqnr(one, other) > 28


@pytest.mark.parametrize("rounded", ROUNDED)
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_first_states_of_other_sizes(kind: str, rounded: str) -> None:
    _, found = recurrent(kind, rounded, num_layers=2)
    x, pair = wb.randn(7, 4, 5), kind == "LSTM"
    for sizes in ((1, 4, 6), (3, 4, 6), (2, 1, 6), (2, 4, 1), (2, 6)):
        state = wb.zeros(*sizes)
        with pytest.raises(
            wb.DimensionError, match=rf"{kind}: Expected hidden\[0\] size \(2, 4, 6\), got \[{sizes[0]}"
        ):
            found(x, (state, wb.zeros(2, 4, 6)) if pair else state)
    if pair:
        with pytest.raises(
            wb.DimensionError, match=r"Expected hidden\[1\] size \(2, 4, 6\), got \[2, 1, 6\]"
        ):
            found(x, (wb.zeros(2, 4, 6), wb.zeros(2, 1, 6)))
        with pytest.raises(TypeError, match=r"LSTM takes its first states as a pair \(h, c\), got Tensor"):
            found(x, wb.zeros(2, 4, 6))
    with pytest.raises(ValueError, match=f"{kind}: Expected input to be 2D or 3D, got 1D tensor instead"):
        found(x[0, 0])
    _, cell = recurrent(f"{kind}Cell", rounded)
    with pytest.raises(
        wb.DimensionError, match=rf"{kind}Cell: Expected hidden\[0\] size \(4, 6\), got \[1, 6\]"
    ):
        cell(x[0], (wb.zeros(1, 6), wb.zeros(4, 6)) if pair else wb.zeros(1, 6))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("config", [q.default_dynamic_qconfig, q.per_token_dynamic_qconfig])
def test_sequences_that_are_packed(kind: str, config: Any) -> None:
    wb.manual_seed(3)
    layer = getattr(wb.nn, kind)(5, 6, 2, bidirectional=True)
    found = q.quantize_dynamic(wb.nn.ModuleList([layer]), {type(layer): config})[0]
    sequences = [wb.randn(length, 5) for length in (2, 4, 3)]
    packed = wb.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    state = wb.randn(4, 3, 6)
    hx = (state, state * 0.5) if kind == "LSTM" else state
    with wb.no_grad():
        (output, last), (expected, other) = found(packed, hx), layer(packed, hx)
    assert type(output) is type(packed)
    assert output.unsorted_indices.tolist() == packed.unsorted_indices.tolist()
    np.testing.assert_allclose(output.data.numpy(), expected.data.numpy(), atol=0.03)
    for mine, theirs in zip(
        last if kind == "LSTM" else [last], other if kind == "LSTM" else [other], strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=0.03)
    # Of one length, packed rows are those of a batch.
    batch = wb.stack([wb.ones(4, 5), sequences[1]], 1)
    rows = found(wb.nn.utils.rnn.pack_padded_sequence(batch, [4, 4]))[0].data
    np.testing.assert_array_equal(rows.numpy(), found(batch)[0].reshape(8, 12).numpy())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("config", [q.default_dynamic_qconfig, q.per_token_dynamic_qconfig])
def test_a_value_that_is_no_number_is_neither_hidden_nor_spread(config: Any, bad: float) -> None:
    wb.manual_seed(0)
    rectified = q.fuse_modules(wb.nn.Sequential(wb.nn.Linear(32, 5), wb.nn.ReLU()).eval(), [["0", "1"]])
    for model in (wb.nn.Sequential(wb.nn.Linear(32, 5)), rectified):
        found = q.quantize_dynamic(model, {type(model[0]): config})
        x = wb.randn(3, 32)
        before = found(x).numpy()
        x = wb.cat([x, wb.zeros(1, 32)])
        x[3, 7] = bad
        after = found(x).numpy()
        np.testing.assert_array_equal(after[:3], before)
        assert np.isnan(after[3]).all()


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_sequence_with_a_value_that_is_no_number_says_so_from_there_on(kind: str) -> None:
    wb.manual_seed(0)
    layer = wb.nn.Sequential(getattr(wb.nn, kind)(4, 8, num_layers=2))
    found = q.quantize_dynamic(layer)
    x = wb.randn(5, 2, 4)
    x[2, 1, 0] = float("nan")
    y = found(x)[0].numpy()
    assert np.isfinite(y[:, 0]).all() and np.isfinite(y[:2]).all()
    assert np.isnan(y[2:, 1]).all()


def test_rows_with_a_scale_of_their_own_have_all_eight_bits() -> None:
    wb.manual_seed(0)
    model, x = wb.nn.Sequential(wb.nn.Linear(256, 64)).eval(), wb.randn(64, 256)
    found = {
        name: q.sqnr(outputs(model, x), outputs(q.quantize_dynamic(model, {wb.nn.Linear: config}), x))
        for name, config in (("batch", q.per_channel_dynamic_qconfig), ("token", q.per_token_dynamic_qconfig))
    }
    assert found["token"] > 38 and found["token"] > found["batch"] + 3


@pytest.mark.parametrize("kind", [wb.nn.LSTM, wb.nn.GRU])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers_take_no_sequences(kind: Any, batch_first: bool) -> None:
    layer = kind(4, 5, 2, batch_first=batch_first, bidirectional=True)
    made = q.quantize_dynamic(wb.nn.Sequential(layer))[0]
    x = wb.zeros(0, 3, 4) if batch_first else wb.zeros(3, 0, 4)
    with wb.no_grad():
        (y, states), (own, own_states) = made(x), layer(x)
    assert tuple(y.shape) == tuple(own.shape)
    pairs = zip(states, own_states, strict=True) if kind is wb.nn.LSTM else [(states, own_states)]
    assert all(tuple(a.shape) == tuple(b.shape) for a, b in pairs)


def test_layers_in_codes_print_that_they_are() -> None:
    """As PyTorch's do: a model that is printed shows what became codes, and what did not."""
    model = wb.nn.Sequential(wb.nn.LSTM(4, 4), wb.nn.Linear(4, 4), wb.nn.GELU()).eval()
    lines = repr(q.quantize_dynamic(model)).splitlines()
    assert [line.split("(")[1].split(": ")[1] for line in lines[1:4]] == [
        "DynamicQuantizedLSTM", "DynamicQuantizedLinear", "GELU",
    ]  # fmt: skip
    model = wb.nn.Sequential(
        wb.nn.Conv2d(1, 2, 3), wb.nn.ReLU(), wb.nn.ELU(), wb.nn.Flatten(), wb.nn.Linear(8, 2)
    ).eval()
    lines = repr(q.quantize(model, [wb.rand(2, 1, 4, 4)])).splitlines()
    for name in ("Quantize(", "QuantizedConvReLU2d(", "QuantizedELU(", "Flatten(", "QuantizedLinear("):
        assert any(line.strip().partition(": ")[2].startswith(name) for line in lines), name
