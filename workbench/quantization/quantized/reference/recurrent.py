"""Recurrent layers and cells that have codes and compute in floating point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import nn
from workbench.nn import Module
from workbench.quantization.quantized.reference.weights import rounded, settle, weight_codes

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


class _Recurrent(Module):
    """What recurrent ones share: each weight has a scale and a zero point, told by its name."""

    def __init__(
        self, *sizes: Any, weight_qparams_dict: Mapping[str, Any] | None = None, **settings: Any
    ) -> None:
        super().__init__(*sizes, **settings)
        given = {} if weight_qparams_dict is None else weight_qparams_dict
        for name, _ in [*self.named_parameters()]:
            if name.startswith("weight"):
                settle(self, name, given.get(name))

    def _values(self, name: str) -> Any:
        return rounded(self, name) if name.startswith("weight") else getattr(self, name)

    @classmethod
    def from_float(cls, mod: Any, weight_qparams_dict: Mapping[str, Any]) -> Any:
        """Return the layer for one in floating point, and the scale and zero point of each of its weights."""
        made = cls(*cls._sizes(mod), weight_qparams_dict=weight_qparams_dict, **cls._settings(mod))
        for name, parameter in mod.named_parameters():
            setattr(made, name, parameter)
        return made.train(mod.training)

    @staticmethod
    def _sizes(mod: Any) -> tuple[Any, ...]:
        return mod.input_size, mod.hidden_size

    @staticmethod
    def _settings(mod: Any) -> dict[str, Any]:
        return {"bias": mod.bias}


class _Cell(_Recurrent):
    """One step with the numbers that codes stand for."""

    bias_ih: Any
    bias_hh: Any

    def get_weight_ih(self) -> Any:
        """Return the weight of what comes in, as the numbers that its codes stand for."""
        return rounded(self, "weight_ih")

    def get_weight_hh(self) -> Any:
        """Return the weight of the state, as the numbers that its codes stand for."""
        return rounded(self, "weight_hh")

    def get_quantized_weight_ih(self) -> Any:
        """Return the weight of what comes in, in codes."""
        return weight_codes(self, "weight_ih")

    def get_quantized_weight_hh(self) -> Any:
        """Return the weight of the state, in codes."""
        return weight_codes(self, "weight_hh")

    def _weights(self) -> tuple[Any, ...]:
        return self.get_weight_ih(), self.get_weight_hh(), self.bias_ih, self.bias_hh


class RNNCell(_Cell, nn.RNNCell):
    """One step of a plain recurrent network with the numbers that codes stand for."""

    @staticmethod
    def _settings(mod: Any) -> dict[str, Any]:
        return {"bias": mod.bias, "nonlinearity": mod.nonlinearity}


class LSTMCell(_Cell, nn.LSTMCell):
    """One step of an LSTM with the numbers that codes stand for."""


class GRUCell(_Cell, nn.GRUCell):
    """One step of a GRU with the numbers that codes stand for."""


class _Layers(_Recurrent):
    """Layers and directions with the numbers that codes stand for."""

    _all_weights: Any

    def get_flat_weights(self) -> list[Any]:
        """Return all weights and biases in order, weights as the numbers that their codes stand for."""
        return [self._values(name) for names in self._all_weights for name in names]

    def get_quantized_weight_bias_dict(self) -> dict[str, Any]:
        """Return all weights in codes, and biases, by their names."""
        return {
            name: weight_codes(self, name) if name.startswith("weight") else getattr(self, name)
            for names in self._all_weights
            for name in names
        }

    def _weights(self) -> list[list[Any]]:
        return [[self._values(name) for name in names] for names in self._all_weights]

    @staticmethod
    def _settings(mod: Any) -> dict[str, Any]:
        return {
            "num_layers": mod.num_layers, "bias": mod.bias, "batch_first": mod.batch_first, "dropout": mod.dropout,
            "bidirectional": mod.bidirectional,
        }  # fmt: skip


class LSTM(_Layers, nn.LSTM):
    """A long short-term memory with the numbers that codes stand for."""


class GRU(_Layers, nn.GRU):
    """Gated recurrent units with the numbers that codes stand for."""
