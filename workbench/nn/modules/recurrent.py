"""Recurrent layers: RNN, LSTM and GRU over sequences of equal lengths, or packed ones of different lengths."""

from __future__ import annotations

from typing import Any

from workbench.nn.modules.recurrent_base import RNNBase

__all__ = ["GRU", "LSTM", "RNN"]


def _no_more(layer: str, keywords: dict[str, Any]) -> None:
    """Refuse what only other layers are made with."""
    if "proj_size" in keywords:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if keywords:
        raise TypeError(f"{layer} got an unexpected keyword argument {next(iter(keywords))!r}")


class RNN(RNNBase):
    """Elman's recurrent layers: h_t = tanh(x_t·W_ihᵀ + b_ih + h_{t-1}·W_hhᵀ + b_hh), or max(0, …).

    Input [T, N, in_features] (with `batch_first` [N, T, in_features]; [T, in_features] without a batch), or a
    `PackedSequence`; output [T, N, hidden], in both directions side by side where `bidirectional`, and the last state
    [layers·directions, N, hidden]. Dims of steps and batch keep their names, the last is then called ``hidden``.
    Elman 1990.

    >>> import workbench as wb
    >>> y, last = RNN(3, 5, num_layers=2)(wb.zeros(T=4, N=2, C=3))
    >>> y.names, last.names, last.shape
    (('T', 'N', 'hidden'), ('layers', 'N', 'hidden'), (2, 2, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **keywords: Any,
    ) -> None:
        _no_more("RNN", keywords)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory.

    i, f, o = σ(…) and g = tanh(…) of x_t·W_ihᵀ + b_ih + h_{t-1}·W_hhᵀ + b_hh;  c_t = f·c_{t-1} + i·g;
    h_t = o·tanh(c_t), with `proj_size` times W_hrᵀ.

    Input as for `RNN`; returns the output [T, N, hidden] and the pair of last states, h and c, each
    [layers·directions, N, hidden]. Hochreiter and Schmidhuber 1997; projections: Sak, Senior and Beaufays 2014.

    >>> import workbench as wb
    >>> y, (h, c) = LSTM(3, 5, batch_first=True, bidirectional=True)(wb.zeros(N=2, T=4, C=3))
    >>> y.names, y.shape, c.names
    (('N', 'T', 'hidden'), (2, 4, 10), ('layers', 'N', 'hidden'))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size,
            device, dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """Layers of gated recurrent units.

    r, z = σ(…) of x_t·W_ihᵀ + b_ih + s_t, with s_t = h_{t-1}·W_hhᵀ + b_hh;  n = tanh(x_t·W_ihᵀ + b_ih + r·s_t);
    h_t = (1 - z)·n + z·h_{t-1}.

    Input and results as for `RNN`. Cho et al. 2014.

    >>> import workbench as wb
    >>> y, last = GRU(3, 5)(wb.zeros(T=4, C=3))
    >>> y.names, last.shape
    (('T', 'hidden'), (1, 5))
    """

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
        **keywords: Any,
    ) -> None:
        _no_more("GRU", keywords)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )  # fmt: skip
