"""LSTM written with linear layers and functions that can be observed each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import nn
from workbench.base.dtypes import DType, quint8
from workbench.base.errors import QuantizationError
from workbench.core.value import new
from workbench.nn import Linear, Module, ModuleDict, ModuleList, Parameter
from workbench.ops.quantized.quantize import quantize_per_tensor
from workbench.ops.shape.join import cat, stack
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.quantizable.observed_parts import MadeOfParts

__all__ = ["LSTM", "LSTMCell"]


def zeros(*sizes: int) -> Any:
    """Return a float32 tensor of 0."""
    return new(np.zeros(sizes, np.float32))


State = tuple[Any, Any]

_GATES = ("input", "forget", "cell", "output")


class LSTMCell(MadeOfParts):
    """One step of an LSTM, [N, input_dim] and states [N, hidden_dim] to states, every product and sum a part.

    i, f, g, o = split(W_ih·x + b_ih + W_hh·h + b_hh); c' = σ(f)·c + σ(i)·tanh(g); h' = σ(o)·tanh(c'). With
    `split_gates` each of the four has linear layers of its own.

    >>> import workbench as wb
    >>> h, c = LSTMCell(3, 2)(wb.zeros(4, 3))
    >>> tuple(h.shape), c.abs().sum() < 4
    ((4, 2), tensor(True))
    """

    _FLOAT_MODULE = nn.LSTMCell

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_dim, hidden_dim
        self.bias, self.split_gates = bias, split_gates

        def linear(size: int, gates: int) -> Linear:
            return Linear(size, gates * hidden_dim, bias=bias, device=device, dtype=dtype)

        if split_gates:
            self.igates: Any = ModuleDict({gate: linear(input_dim, 1) for gate in _GATES})
            self.hgates: Any = ModuleDict({gate: linear(hidden_dim, 1) for gate in _GATES})
            self.gates: Any = ModuleDict({gate: FloatFunctional() for gate in _GATES})
        else:
            self.igates, self.hgates = linear(input_dim, 4), linear(hidden_dim, 4)
            self.gates = FloatFunctional()
        self.input_gate, self.forget_gate, self.output_gate = nn.Sigmoid(), nn.Sigmoid(), nn.Sigmoid()
        self.cell_gate = nn.Tanh()
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype: DType = quint8
        self.cell_state_dtype: DType = quint8

    def forward(self, x: Any, hidden: State | None = None) -> State:
        """Return the states after `x`, [N, input_dim]; without `hidden` they begin with 0."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        before, cell = hidden
        entered, forgotten, new, left = self._gates(x, before)
        kept = self.fgate_cx.mul(self.forget_gate(forgotten), cell)
        added = self.igate_cgate.mul(self.input_gate(entered), self.cell_gate(new))
        after = self.fgate_cx_igate_cgate.add(kept, added)
        return self.ogate_cy.mul(self.output_gate(left), after.tanh()), after

    def _gates(self, x: Any, before: Any) -> tuple[Any, ...]:
        if not self.split_gates:
            return tuple(self.gates.add(self.igates(x), self.hgates(before)).chunk(4, 1))
        return tuple(self.gates[gate].add(self.igates[gate](x), self.hgates[gate](before)) for gate in _GATES)

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> State:
        """Return states of 0, [N, hidden_dim] each, as codes where the input is."""
        states = (zeros(batch_size, self.hidden_size), zeros(batch_size, self.hidden_size))
        if not is_quantized:
            return states
        given = (self.initial_hidden_state_qparams, self.initial_cell_state_qparams)
        types = (self.hidden_state_dtype, self.cell_state_dtype)
        return tuple(  # type: ignore[return-value]
            quantize_per_tensor(one, scale, zero, kind)
            for one, (scale, zero), kind in zip(states, given, types, strict=True)
        )

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(
        cls, wi: Any, wh: Any, bi: Any = None, bh: Any = None, split_gates: bool = False
    ) -> LSTMCell:
        """Return a cell with these weights, [4·hidden, input] and [4·hidden, hidden], and biases, [4·hidden].

        Raises `QuantizationError` where only one of the biases is given.
        """
        if (bi is None) != (bh is None):
            raise QuantizationError("an LSTM has both biases or none: give bi and bh, or neither")
        made = cls(wi.shape[1], wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for weight, bias, linear in ((wi, bi, made.igates), (wh, bh, made.hgates)):
            if not split_gates:
                _set(linear, weight, bias)
                continue
            parts = (None,) * 4 if bias is None else bias.chunk(4, 0)
            for part, own, one in zip(weight.chunk(4, 0), parts, linear.values(), strict=True):
                _set(one, part, own)
        return made

    @classmethod
    def from_float(
        cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False
    ) -> LSTMCell:
        """Return an observed cell with the weights of an `nn.LSTMCell` that has a qconfig."""
        config = cls._check_float(other)
        made = cls.from_params(
            other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh, split_gates=split_gates
        )
        made.train(other.training)._observe(config)
        return made


def _set(linear: Any, weight: Any, bias: Any) -> None:
    linear.weight = Parameter(weight.detach())
    if bias is not None:
        linear.bias = Parameter(bias.detach())


class _LSTMSingleLayer(Module):
    """One direction of one layer, [T, N, C] to [T, N, hidden] and the last states."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Any, hidden: State | None) -> tuple[Any, State]:
        """Go through the steps in turn."""
        results = []
        for step in range(x.shape[0]):
            hidden = self.cell(x[step], hidden)
            results.append(hidden[0])
        assert hidden is not None  # an LSTM begins with states
        return stack(results, 0), hidden


class _LSTMLayer(Module):
    """One layer in one direction or both, [T, N, C] to [T, N, directions·hidden] and states [directions, N, hidden]."""

    def __init__(self, forward: LSTMCell, backward: LSTMCell | None) -> None:
        super().__init__()
        self.bidirectional = backward is not None
        self.layer_fw = _LSTMSingleLayer(forward)
        if backward is not None:
            self.layer_bw = _LSTMSingleLayer(backward)

    def forward(self, x: Any, hidden: State) -> tuple[Any, State]:
        """Go through the steps, and through them the other way round."""
        h, c = hidden
        result, (last, cell) = self.layer_fw(x, (h[0], c[0]))
        if not self.bidirectional:
            return result, (stack([last], 0), stack([cell], 0))
        back, (first, other) = self.layer_bw(x.flip(0), (h[1], c[1]))
        return cat([result, back.flip(0)], 2), (stack([last, first], 0), stack([cell, other], 0))


class LSTM(MadeOfParts):
    """`nn.LSTM` whose products and sums are observed each by itself; `prepare` puts it in the other's place.

    [T, N, input_size], or [N, T, input_size] where `batch_first`, to [T, N, directions·hidden_size] and states
    [layers·directions, N, hidden_size].

    >>> import workbench as wb
    >>> y, (h, c) = LSTM(3, 5, num_layers=2, bidirectional=True)(wb.zeros(4, 2, 3))
    >>> tuple(y.shape), tuple(h.shape)
    ((4, 2, 10), (4, 2, 5))
    """

    _FLOAT_MODULE = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        self.dropout = float(dropout)
        if not 0.0 <= self.dropout <= 1.0:
            raise ValueError(f"dropout is a probability, from 0 to 1, and {dropout} was given")
        directions = 2 if bidirectional else 1

        def cell(size: int) -> LSTMCell:
            return LSTMCell(size, hidden_size, bias, device, dtype, split_gates=split_gates)

        sizes = [input_size] + [directions * hidden_size] * (num_layers - 1)
        self.layers: Any = ModuleList(
            [_LSTMLayer(cell(size), cell(size) if bidirectional else None) for size in sizes]
        )
        # Values between layers are never dropped: it is a model in use that is observed.
        self.eval()

    def forward(self, x: Any, hidden: State | None = None) -> tuple[Any, State]:
        """Return what the last layer gives at each step, and the last states of all layers."""
        x = x.transpose(0, 1) if self.batch_first else x
        directions = 2 if self.bidirectional else 1
        sizes = (directions, x.shape[1], self.hidden_size)
        if hidden is None:
            begin = zeros(*sizes)
            if x.is_quantized:
                begin = quantize_per_tensor(begin, 1.0, 0, x.dtype)
            states = [(begin, begin)] * self.num_layers
        else:
            h, c = (one.reshape(self.num_layers, *sizes) for one in hidden)
            states = [(h[i], c[i]) for i in range(self.num_layers)]
        last: list[State] = []
        for layer, state in zip(self.layers, states, strict=True):
            x, state = layer(x, state)
            last.append(state)
        ends = tuple(stack(list(one), 0).reshape(-1, *sizes[1:]) for one in zip(*last, strict=True))
        return (x.transpose(0, 1) if self.batch_first else x), ends  # type: ignore[return-value]

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> LSTM:
        """Return an observed one with the weights of an `nn.LSTM`, by its qconfig or by the one that is given.

        Raises `QuantizationError` for one with projections, or without a qconfig.
        """
        config = cls._check_float(other, qconfig)
        if getattr(other, "proj_size", 0):
            raise QuantizationError(
                f"an LSTM with projections (proj_size={other.proj_size}) has no parts to observe: leave it in floating "
                "point by qconfig = None, or quantize its weights by quantize_dynamic"
            )
        made = cls(
            other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first, other.dropout,
            other.bidirectional, split_gates=split_gates,
        )  # fmt: skip
        for i, layer in enumerate(made.layers):
            for single, ending in (("layer_fw", ""), ("layer_bw", "_reverse")):
                if hasattr(layer, single):
                    wi, wh, bi, bh = (
                        getattr(other, f"{name}_l{i}{ending}", None)
                        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                    )
                    cell = LSTMCell.from_params(wi, wh, bi, bh, split_gates=split_gates)
                    getattr(layer, single).cell = cell
        made.train(other.training)._observe(config)
        return made

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Refuse: this is what is observed."""
        raise QuantizationError(
            "an LSTM of nn.quantizable is what is observed: nn.quantized.LSTM.from_observed makes codes of it"
        )
