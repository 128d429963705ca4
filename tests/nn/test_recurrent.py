"""Recurrent layers: what they are called, the names they give, what they refuse; packing and padding of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.nn.utils import rnn
from workbench.testing import assert_close


def sizes(**dims: int) -> Any:
    array = np.random.default_rng(0).standard_normal(tuple(dims.values())).astype(np.float32)
    return wb.from_numpy(array, names=tuple(dims))


def test_lstm_is_its_equations() -> None:
    layer, x = nn.LSTM(3, 4), sizes(T=5, N=2, C=3)
    w_ih, w_hh, b_ih, b_hh = (one.detach().numpy() for one in layer.parameters())
    h = c = np.zeros((2, 4), np.float32)
    expected = []
    for step in x.numpy():
        a = step @ w_ih.T + b_ih + h @ w_hh.T + b_hh
        i, f, o = (1 / (1 + np.exp(-a[:, k * 4 : k * 4 + 4])) for k in (0, 1, 3))
        c = f * c + i * np.tanh(a[:, 8:12])
        h = o * np.tanh(c)
        expected.append(h)
    y, (last, cell) = layer(x)
    assert_close(y, expected, rtol=1e-5)
    assert_close(last[0], h, rtol=1e-5)
    assert_close(cell[0], c, rtol=1e-5)


def test_names_of_steps_and_batch_stay_and_the_last_is_hidden() -> None:
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    y, (h, c) = layer(sizes(time=5, N=2, features=3))
    assert y.names == ("time", "N", "hidden")
    assert h.names == c.names == ("layers", "N", "hidden")
    y, h = nn.GRU(3, 4, batch_first=True)(sizes(N=2, T=5, C=3))
    assert y.names == ("N", "T", "hidden")
    assert nn.RNN(3, 4)(wb.zeros(5, 2, 3))[0].names == (None, None, None)
    assert nn.RNN(3, 4)(wb.zeros(5, 2, 3).rename(None, None, "C"))[0].names == (None, None, "hidden")
    assert nn.RNN(3, 4)(sizes(T=5, C=3))[1].names == ("layers", "hidden")
    assert nn.GRUCell(3, 4)(sizes(N=5, C=3)).names == ("N", "hidden")


def test_a_projected_layer_has_cells_of_another_name_and_size() -> None:
    layer = nn.LSTM(3, 4, proj_size=2)
    y, (h, c) = layer(sizes(T=5, N=2, C=3))
    assert (y.names, h.names, c.names) == (
        ("T", "N", "hidden"),
        ("layers", "N", "hidden"),
        ("layers", "N", "cell"),
    )
    assert (y.shape, h.shape, c.shape) == ((5, 2, 2), (1, 2, 2), (1, 2, 4))
    layer(sizes(T=5, N=2, C=3), (h, c))
    with pytest.raises(wb.DimensionError, match="'cell' and dim 'hidden'"):
        layer(sizes(T=5, N=2, C=3), (h, c.rename(cell="hidden")))


def test_parameters_are_named_and_keyed_as_in_pytorch() -> None:
    layer = nn.LSTM(3, 4, bidirectional=True, proj_size=2)
    assert {name: one.dim_labels for name, one in layer.named_parameters() if "reverse" in name} == {
        "weight_ih_l0_reverse": ("gates", "in_features"),
        "weight_hh_l0_reverse": ("gates", "hidden"),
        "bias_ih_l0_reverse": ("gates",),
        "bias_hh_l0_reverse": ("gates",),
        "weight_hr_l0_reverse": ("hidden", "cell"),
    }
    assert [len(one) for one in layer.all_weights] == [5, 5]
    layer.flatten_parameters()
    assert repr(layer) == "LSTM(3, 4, proj_size=2, bidirectional=True)"
    assert (
        repr(nn.RNNCell(3, 4, bias=False, nonlinearity="relu"))
        == "RNNCell(3, 4, bias=False, nonlinearity=relu)"
    )
    bound = max(float(abs(one.detach().numpy()).max()) for one in nn.GRU(3, 16).parameters())
    assert 0.2 < bound <= 0.25


def test_a_state_of_another_batch_is_refused_with_both() -> None:
    layer = nn.LSTM(3, 4)
    x = sizes(T=5, N=2, C=3)
    with pytest.raises(wb.DimensionError, match=r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 3, 4\]"):
        layer(x, (wb.zeros(1, 2, 4), wb.zeros(1, 3, 4)))
    with pytest.raises(wb.DimensionError, match="do not match"):
        layer(x, (wb.zeros(layers=1, batch=2, hidden=4), wb.zeros(1, 2, 4)))
    with pytest.raises(wb.DimensionError, match=r"Expected 3, got 4"):
        layer(sizes(T=5, N=2, C=4))
    with pytest.raises(TypeError, match="pair"):
        layer(x, wb.zeros(1, 2, 4))
    with pytest.raises(wb.DimensionError, match=r"rename\(B='N'\)"):
        nn.RNNCell(3, 4)(sizes(N=2, C=3), wb.zeros(B=2, hidden=4))


def test_dropout_is_between_layers_and_only_while_training() -> None:
    wb.manual_seed(0)
    layer = nn.RNN(3, 16, num_layers=2, dropout=0.5)
    x = sizes(T=5, N=2, C=3)
    assert not np.array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())
    layer.eval()
    assert np.array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        nn.RNN(3, 4, dropout=0.5)


def test_packed_sequences_give_what_each_gives_alone() -> None:
    layer = nn.GRU(3, 4, bidirectional=True)
    sequences = [sizes(T=length, C=3) for length in (2, 5, 3)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    output, last = layer(packed)
    assert isinstance(output, rnn.PackedSequence)
    assert output.data.names == (None, "hidden")
    for i, (one, found) in enumerate(zip(sequences, rnn.unpack_sequence(output), strict=True)):
        alone, end = layer(one)
        assert_close(found, alone.detach(), rtol=1e-5)
        assert_close(last[:, i], end.detach(), rtol=1e-5)
        assert found.names == ("T", "hidden")


def test_names_of_a_padded_batch_come_back() -> None:
    x = sizes(N=2, T=4, C=3)
    packed = rnn.pack_padded_sequence(x, [4, 2], batch_first=True)
    output, last = nn.RNN(3, 5)(packed)
    padded, lengths = rnn.pad_packed_sequence(output)
    assert padded.names == ("T", "N", "hidden")
    assert last.names == ("layers", "N", "hidden")
    assert lengths.tolist() == [4, 2]
    assert packed.double().data.dtype == wb.float64
    assert packed.to("float32") is packed
    assert not packed.is_cuda
    assert packed.data.is_cpu


def test_lengths_that_do_not_fit_are_refused() -> None:
    x = sizes(T=3, N=2, C=1)
    with pytest.raises(RuntimeError, match="enforce_sorted=False"):
        rnn.pack_padded_sequence(x, [2, 3])
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(x, [2, 0])
    with pytest.raises(RuntimeError, match=r"batch_size=2"):
        rnn.pack_padded_sequence(x, [3])
    with pytest.raises(RuntimeError, match="has 3 steps"):
        rnn.pack_padded_sequence(x, [4, 2])
    with pytest.raises(ValueError, match="total_length"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 2]), total_length=2)


def test_nothing_is_dropped_after_the_last_layer() -> None:
    layer = nn.RNN(2, 64, num_layers=2, dropout=0.9)
    output, _ = layer(wb.randn(4, 3, 2))
    assert bool((output != 0).all())


def test_a_first_state_is_sorted_with_the_sequences_it_belongs_to() -> None:
    layer = nn.GRU(2, 3)
    x, state = wb.randn(4, 3, 2), wb.randn(1, 3, 3)
    lengths = [2, 4, 3]
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    _, last = layer(packed, state)
    for i, length in enumerate(lengths):
        _, alone = layer(x[:length, i : i + 1], state[:, i : i + 1])
        np.testing.assert_allclose(last.detach().numpy()[:, i : i + 1], alone.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_codes_are_refused(kind: Any) -> None:
    codes = wb.quantize_per_tensor(sizes(T=5, C=3), 0.1, 3, wb.quint8)
    with pytest.raises(
        wb.DTypeError, match=f"{kind.__name__} computes with numbers, and was given codes, quint8"
    ):
        kind(3, 4)(codes)
