"""Recurrent layers, attention and transformers are scripted into their ops: they run, save and load as written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.base.errors import DimensionError
from workbench.graph import LeafModule
from workbench.graph.arguments import tensors_in
from workbench.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def _equal(found: Any, expected: Any) -> None:
    ours, wanted = list(tensors_in((found,))), list(tensors_in((expected,)))
    assert len(ours) == len(wanted)
    for one, other in zip(ours, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


def _holds(module: nn.Module, folder: Path, *several: tuple[Any, ...]) -> None:
    """Script a module, keep it and bring it back: each gives what the module gives."""
    scripted = wb.jit.script(module.eval())
    assert not [node for node, _ in scripted.graph.walk() if isinstance(node.callee, LeafModule)]
    wb.jit.save(scripted, folder / "layer.wb")
    loaded = wb.jit.load(folder / "layer.wb")
    for arguments in several:
        expected = module(*arguments)
        _equal(scripted(*arguments), expected)
        _equal(loaded(*arguments), expected)


RECURRENT: dict[str, Any] = {
    "LSTM": lambda: nn.LSTM(3, 5),
    "LSTM both ways": lambda: nn.LSTM(3, 5, 2, bidirectional=True),
    "LSTM with a projection": lambda: nn.LSTM(3, 5, 2, proj_size=2, batch_first=True),
    "LSTM without biases": lambda: nn.LSTM(3, 5, bias=False),
    "GRU": lambda: nn.GRU(3, 5, 2, batch_first=True),
    "GRU both ways": lambda: nn.GRU(3, 5, bidirectional=True),
    "RNN": lambda: nn.RNN(3, 5, 2),
    "RNN that rectifies": lambda: nn.RNN(3, 5, nonlinearity="relu", bidirectional=True),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers(name: str, tmp_path: Path) -> None:
    wb.manual_seed(0)
    layer = RECURRENT[name]()
    x = wb.randn(4, 2, 3)
    state = layer(x)[1]
    alone = layer(x[0] if layer.batch_first else x[:, 0])[1]
    _holds(layer, tmp_path, (x,), (x, state), (x[0] if layer.batch_first else x[:, 0],), (x[0], alone))
    _holds(layer, tmp_path, (wb.randn(7, 5, 3),))


class Packed(nn.Module):
    """Sequences of several lengths go through a layer and come back padded."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: wb.Tensor, lengths: wb.Tensor) -> tuple[wb.Tensor, wb.Tensor]:
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, _ = self.layer(packed)
        return pad_packed_sequence(output)


@pytest.mark.parametrize("name", ["LSTM both ways", "GRU both ways", "RNN", "RNN that rectifies"])
def test_packed_sequences(name: str, tmp_path: Path) -> None:
    wb.manual_seed(0)
    lengths = wb.tensor([2, 6, 4])
    _holds(
        Packed(RECURRENT[name]()),
        tmp_path,
        (wb.randn(6, 3, 3), lengths),
        (wb.randn(7, 2, 3), wb.tensor([7, 1])),
    )


@pytest.mark.parametrize("make", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_cells(make: Any, tmp_path: Path) -> None:
    wb.manual_seed(0)
    cell = make(3, 5)
    x = wb.randn(2, 3)
    _holds(cell, tmp_path, (x,), (x, cell(x)), (x[0],))


def test_a_cell_that_rectifies(tmp_path: Path) -> None:
    wb.manual_seed(0)
    _holds(nn.RNNCell(3, 5, nonlinearity="relu"), tmp_path, (wb.randn(2, 3),))


@pytest.mark.parametrize("batch_first", [False, True])
def test_attention(batch_first: bool, tmp_path: Path) -> None:
    wb.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first)
    x, y = wb.randn(3, 3, 8), wb.randn(3, 3, 8)
    mask = wb.triu(wb.full((3, 3), -float("inf")), 1)
    _holds(layer, tmp_path, (x, x, x), (x, y, y), (x, y, y, None, False, mask))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", wb.tanh])
def test_transformer_layers(norm_first: bool, activation: Any, tmp_path: Path) -> None:
    wb.manual_seed(0)
    settings = {
        "norm_first": norm_first,
        "activation": activation,
        "dim_feedforward": 12,
        "batch_first": True,
    }
    x, y = wb.randn(2, 4, 8), wb.randn(2, 5, 8)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, **settings), 2, enable_nested_tensor=False
    )
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    _holds(
        encoder, tmp_path, (x,), (x, mask), (x, None, wb.tensor([[False] * 4, [False, False, True, True]]))
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **settings), 2)
    _holds(decoder, tmp_path, (x, y), (x, y, mask))


def test_a_whole_transformer(tmp_path: Path) -> None:
    wb.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 12, batch_first=True)
    _holds(model, tmp_path, (wb.randn(2, 4, 8), wb.randn(2, 3, 8)), (wb.randn(1, 6, 8), wb.randn(1, 2, 8)))


def test_gradients_are_those_of_the_layer() -> None:
    wb.manual_seed(0)
    layer, x = nn.LSTM(3, 5, 2), wb.randn(4, 2, 3)
    layer(x)[0].square().sum().backward()
    expected = [one.grad.numpy().copy() for one in layer.parameters()]
    layer.zero_grad()
    wb.jit.script(layer)(x)[0].square().sum().backward()
    for one, grad in zip(layer.parameters(), expected, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), grad, rtol=1e-5, atol=1e-6)


def test_sequences_that_do_not_go_together_are_refused() -> None:
    scripted = wb.jit.script(nn.Transformer(8, 2, 1, 1, 12, batch_first=True).eval())
    with pytest.raises(DimensionError, match="the batch number of src and tgt must be equal"):
        scripted(wb.randn(2, 4, 8), wb.randn(3, 3, 8))
