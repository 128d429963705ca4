"""LSTM on codes, every product and sum of which has a scale of its own."""

from __future__ import annotations

from workbench.quantization import quantizable
from workbench.quantization.quantized.from_parts import InCodes

__all__ = ["LSTM"]


class LSTM(InCodes, quantizable.LSTM):
    """An observed LSTM on codes: quint8 in and out, [T, N, C] to [T, N, directions·hidden_size] and states.

    `from_observed` makes it of a `workbench.ao.nn.quantizable.LSTM`; `convert` does so of what `prepare` observed.
    """

    def _get_name(self) -> str:
        return "QuantizedLSTM"
