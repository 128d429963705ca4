"""Recurrent layers and their cells in words that can be scripted; see `layers`.

Sequences that are packed have words of their own: a call is read for the type of what it is given.
"""

from __future__ import annotations

from workbench import nn
from workbench.jit.scripting.layers import LAYERS
from workbench.nn.utils.rnn import PackedSequence
from workbench.ops.nn.recurrent.functions import (
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
)
from workbench.tensor import Tensor
from workbench.tensor.factories import zeros

__all__: list[str] = []


def _first(input: Tensor, layers: int, batch: int, width: int) -> Tensor:
    return zeros(layers, batch, width, dtype=input.dtype)


def _ordered(state: Tensor, order: Tensor | None) -> Tensor:
    return state if order is None else state.index_select(1, order)


@LAYERS.put(nn.LSTM)
def _lstm(  # type: ignore[no-untyped-def]
    self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    batch = 0 if self.batch_first else 1
    alone = input.dim() == 2
    if alone:
        input = input.unsqueeze(batch)
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        h = _first(input, layers, input.size(batch), width)
        c = _first(input, layers, input.size(batch), self.hidden_size)
    else:
        h, c = hx
        if alone:
            h, c = h.unsqueeze(1), c.unsqueeze(1)
    y, h, c = lstm(
        input, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
        self.bidirectional, self.batch_first,
    )  # fmt: skip
    if alone:
        y, h, c = y.squeeze(batch), h.squeeze(1), c.squeeze(1)
    return y, (h, c)


@LAYERS.put(nn.LSTM, packed=True)
def _packed_lstm(  # type: ignore[no-untyped-def]
    self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
) -> tuple[PackedSequence, tuple[Tensor, Tensor]]:
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        h = _first(input.data, layers, int(input.batch_sizes[0]), width)
        c = _first(input.data, layers, int(input.batch_sizes[0]), self.hidden_size)
    else:
        h, c = _ordered(hx[0], input.sorted_indices), _ordered(hx[1], input.sorted_indices)
    y, h, c = lstm(
        input.data, input.batch_sizes, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout,
        self.training, self.bidirectional,
    )  # fmt: skip
    last = _ordered(h, input.unsorted_indices), _ordered(c, input.unsorted_indices)
    return PackedSequence(y, input.batch_sizes, input.sorted_indices, input.unsorted_indices), last


@LAYERS.put(nn.GRU)
def _gru(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
    batch = 0 if self.batch_first else 1
    alone = input.dim() == 2
    if alone:
        input = input.unsqueeze(batch)
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        h = _first(input, layers, input.size(batch), self.hidden_size)
    else:
        h = hx.unsqueeze(1) if alone else hx
    y, h = gru(
        input, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        self.batch_first,
    )  # fmt: skip
    return (y.squeeze(batch), h.squeeze(1)) if alone else (y, h)


@LAYERS.put(nn.GRU, packed=True)
def _packed_gru(  # type: ignore[no-untyped-def]
    self, input: PackedSequence, hx: Tensor | None = None
) -> tuple[PackedSequence, Tensor]:
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        h = _first(input.data, layers, int(input.batch_sizes[0]), self.hidden_size)
    else:
        h = _ordered(hx, input.sorted_indices)
    y, h = gru(
        input.data, input.batch_sizes, h, self._flat_weights, self.bias, self.num_layers, self.dropout,
        self.training, self.bidirectional,
    )  # fmt: skip
    given = PackedSequence(y, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
    return given, _ordered(h, input.unsorted_indices)


@LAYERS.put(nn.RNN, where=lambda module: module.nonlinearity == "tanh")
def _tanh(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
    batch = 0 if self.batch_first else 1
    alone = input.dim() == 2
    if alone:
        input = input.unsqueeze(batch)
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        h = _first(input, layers, input.size(batch), self.hidden_size)
    else:
        h = hx.unsqueeze(1) if alone else hx
    y, h = rnn_tanh(
        input, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        self.batch_first,
    )  # fmt: skip
    return (y.squeeze(batch), h.squeeze(1)) if alone else (y, h)


@LAYERS.put(nn.RNN, packed=True, where=lambda module: module.nonlinearity == "tanh")
def _packed_tanh(  # type: ignore[no-untyped-def]
    self, input: PackedSequence, hx: Tensor | None = None
) -> tuple[PackedSequence, Tensor]:
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        h = _first(input.data, layers, int(input.batch_sizes[0]), self.hidden_size)
    else:
        h = _ordered(hx, input.sorted_indices)
    y, h = rnn_tanh(
        input.data, input.batch_sizes, h, self._flat_weights, self.bias, self.num_layers, self.dropout,
        self.training, self.bidirectional,
    )  # fmt: skip
    given = PackedSequence(y, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
    return given, _ordered(h, input.unsorted_indices)


@LAYERS.put(nn.RNN, where=lambda module: module.nonlinearity == "relu")
def _relu(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
    batch = 0 if self.batch_first else 1
    alone = input.dim() == 2
    if alone:
        input = input.unsqueeze(batch)
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        h = _first(input, layers, input.size(batch), self.hidden_size)
    else:
        h = hx.unsqueeze(1) if alone else hx
    y, h = rnn_relu(
        input, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        self.batch_first,
    )  # fmt: skip
    return (y.squeeze(batch), h.squeeze(1)) if alone else (y, h)


@LAYERS.put(nn.RNN, packed=True, where=lambda module: module.nonlinearity == "relu")
def _packed_relu(  # type: ignore[no-untyped-def]
    self, input: PackedSequence, hx: Tensor | None = None
) -> tuple[PackedSequence, Tensor]:
    if hx is None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        h = _first(input.data, layers, int(input.batch_sizes[0]), self.hidden_size)
    else:
        h = _ordered(hx, input.sorted_indices)
    y, h = rnn_relu(
        input.data, input.batch_sizes, h, self._flat_weights, self.bias, self.num_layers, self.dropout,
        self.training, self.bidirectional,
    )  # fmt: skip
    given = PackedSequence(y, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
    return given, _ordered(h, input.unsorted_indices)


@LAYERS.put(nn.LSTMCell)
def _lstm_cell(  # type: ignore[no-untyped-def]
    self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    alone = input.dim() == 1
    if alone:
        input = input.unsqueeze(0)
    if hx is None:
        h = zeros(input.size(0), self.hidden_size, dtype=input.dtype)
        c = zeros(input.size(0), self.hidden_size, dtype=input.dtype)
    else:
        h, c = hx
        if alone:
            h, c = h.unsqueeze(0), c.unsqueeze(0)
    h, c = lstm_cell(input, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return (h.squeeze(0), c.squeeze(0)) if alone else (h, c)


@LAYERS.put(nn.GRUCell)
def _gru_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:  # type: ignore[no-untyped-def]
    alone = input.dim() == 1
    if alone:
        input = input.unsqueeze(0)
    if hx is None:
        h = zeros(input.size(0), self.hidden_size, dtype=input.dtype)
    else:
        h = hx.unsqueeze(0) if alone else hx
    h = gru_cell(input, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return h.squeeze(0) if alone else h


@LAYERS.put(nn.RNNCell, where=lambda module: module.nonlinearity == "tanh")
def _rnn_tanh_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:  # type: ignore[no-untyped-def]
    alone = input.dim() == 1
    if alone:
        input = input.unsqueeze(0)
    if hx is None:
        h = zeros(input.size(0), self.hidden_size, dtype=input.dtype)
    else:
        h = hx.unsqueeze(0) if alone else hx
    h = rnn_tanh_cell(input, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return h.squeeze(0) if alone else h


@LAYERS.put(nn.RNNCell, where=lambda module: module.nonlinearity == "relu")
def _rnn_relu_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:  # type: ignore[no-untyped-def]
    alone = input.dim() == 1
    if alone:
        input = input.unsqueeze(0)
    if hx is None:
        h = zeros(input.size(0), self.hidden_size, dtype=input.dtype)
    else:
        h = hx.unsqueeze(0) if alone else hx
    h = rnn_relu_cell(input, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return h.squeeze(0) if alone else h
