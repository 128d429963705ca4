"""Dropout in a model on codes, where nothing is dropped."""

from __future__ import annotations

from typing import Any

from workbench import nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """Stands where a model in floating point drops values: on codes they pass.

    >>> import workbench as wb
    >>> Dropout(0.5)(wb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def forward(self, input: Any) -> Any:
        """Return [any dims] as they are."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """Return one in the place of an `nn.Dropout`."""
        return cls(mod.p, mod.inplace)
