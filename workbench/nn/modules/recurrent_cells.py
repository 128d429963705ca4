"""One step of a recurrent layer as a module: for loops that people write themselves."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.value import dims_of
from workbench.nn.module import Module
from workbench.nn.modules.recurrent_base import draw_evenly, refuse_codes
from workbench.nn.parameter import Parameter
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import require_size
from workbench.ops.nn.recurrent.functions import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from workbench.ops.shape.creation import filled
from workbench.tensor.factories import empty

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the cells share: weights [gates·hidden, …] and biases for input and state."""

    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        require_size(0, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size

        def made(*sizes: int, labels: tuple[str, ...]) -> Parameter:
            return Parameter(empty(*sizes, device=device, dtype=dtype), dim_labels=labels)

        self.weight_ih = made(rows, input_size, labels=("gates", "in_features"))
        self.weight_hh = made(rows, hidden_size, labels=("gates", "hidden"))
        self.register_parameter("bias_ih", made(rows, labels=("gates",)) if bias else None)
        self.register_parameter("bias_hh", made(rows, labels=("gates",)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: U(-b, b), b = 1 / √hidden_size."""
        draw_evenly(self, self.hidden_size)

    def _prepared(self, input: Any, states: Any, labels: tuple[str, ...]) -> tuple[bool, Any, list[Any]]:
        """Check dims; return whether there is no batch, the input as rows, and the states as rows (zeros if None)."""
        word = type(self).__name__
        refuse_codes(word, input)
        sizes = input.payload.shape
        if len(sizes) not in (1, 2):
            raise ValueError(f"{word}: Expected input to be 1D or 2D, got {len(sizes)}D instead")
        for label, one in zip(labels, states or (), strict=False):
            if len(dims_of(one).sizes) not in (1, 2):
                raise ValueError(
                    f"{word}: Expected {label} to be 1D or 2D, got {len(dims_of(one).sizes)}D instead"
                )
        if len(sizes) == 2:
            check_places(word, input, N=0)
        if sizes[-1] != self.input_size:
            raise DimensionError(
                f"input has inconsistent input_size: got {sizes[-1]} expected {self.input_size}",
                op=word,
                operands=(dims_of(input).operand("input", [len(sizes) - 1]),),
            )
        alone = len(sizes) == 1
        if alone:
            input = ops.unsqueeze(input, dim=0, name=None)
            states = states and [ops.unsqueeze(one, dim=0, name=None) for one in states]
        if states is None:
            sizes = (input.payload.shape[0], self.hidden_size)
            return alone, input, [filled(sizes, 0, input.payload.dtype) for _ in labels]
        for one in states:
            if dims_of(one).sizes != (input.payload.shape[0], self.hidden_size):
                raise DimensionError(
                    f"Input batch size {input.payload.shape[0]} and hidden_size {self.hidden_size} do not go with a "
                    f"hidden state of sizes {list(dims_of(one).sizes)}",
                    op=word,
                    operands=(dims_of(input).operand("input"), dims_of(one).operand("hx")),
                )
        return alone, input, [_batched(one, input) for one in states]

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        """Return sizes, and what differs from the defaults."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


def _batched(state: Any, input: Any) -> Any:
    """Check the name of the state's batch dim against the input's."""
    own, given = dims_of(state).names[0], dims_of(input).names[0]
    if own is not None and given is not None and own != given:
        raise DimensionError(
            f"the state's batch dim is {own!r}, the input's {given!r}.",
            op="cell",
            operands=(dims_of(input).operand("input", [0]), dims_of(state).operand("hx", [0])),
            fix=f"hx.rename({own}={given!r})  # if they mean the same",
        )
    return state


def _alone(value: Any, alone: bool) -> Any:
    return ops.squeeze(value, dim=(0,)) if alone else value


class RNNCell(RNNCellBase):
    """One step: h' = tanh(x·W_ihᵀ + b_ih + h·W_hhᵀ + b_hh), or max(0, …). Input [N, in_features], state [N, hidden].

    >>> import workbench as wb
    >>> RNNCell(3, 5)(wb.zeros(N=2, C=3)).names
    ('N', 'hidden')
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the next state."""
        alone, input, states = self._prepared(input, None if hx is None else (hx,), ("hidden",))
        # Only now, as in PyTorch, where a cell can be made with any word.
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; it is tanh or relu")
        step = rnn_relu_cell if self.nonlinearity == "relu" else rnn_tanh_cell
        return _alone(step(input, *states, *self._weights()), alone)

    def extra_repr(self) -> str:
        """Return sizes, and what differs from the defaults."""
        own = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + own


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; see `LSTM`. Input [N, in_features]; states h and c, each [N, hidden].

    >>> import workbench as wb
    >>> h, c = LSTMCell(3, 5)(wb.zeros(N=2, C=3))
    >>> h.names, c.shape
    (('N', 'hidden'), (2, 5))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the next h and c."""
        alone, input, states = self._prepared(input, hx, ("hx[0]", "hx[1]"))
        return tuple(_alone(one, alone) for one in lstm_cell(input, states, *self._weights()))


class GRUCell(RNNCellBase):
    """One step of gated recurrent units; see `GRU`. Input [N, in_features], state [N, hidden].

    >>> import workbench as wb
    >>> GRUCell(3, 5)(wb.zeros(N=2, C=3)).names
    ('N', 'hidden')
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the next state."""
        alone, input, states = self._prepared(input, None if hx is None else (hx,), ("hidden",))
        return _alone(gru_cell(input, *states, *self._weights()), alone)
