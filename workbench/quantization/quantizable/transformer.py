"""Layers of transformers whose sums are observed: `prepare` puts them in the place of those of `workbench.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import nn
from workbench.nn import Module, functional
from workbench.nn.modules.transformer import named_as
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.quantizable.observed_parts import MadeOfParts
from workbench.quantization.stubs import DeQuantStub, QuantStub

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]


class _LayerOfParts(MadeOfParts):
    """What makes parts of the sums of a layer, and of an activation that takes no codes."""

    whole = False

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._part()

    def _part(self) -> None:
        own: Any = self
        parts: dict[str, Module] = {f"add{k}": FloatFunctional() for k in range(1, len(own.attentions) + 2)}
        # A rectifier takes codes, and a module is observed by itself.
        self._computed = own.activation is not functional.relu and not isinstance(own.activation, Module)
        if self._computed:
            parts |= {"dequant_activation": DeQuantStub(), "quant_activation": QuantStub()}
        for name, part in parts.items():
            setattr(own, name, part)
        self._made = tuple(parts)

    def _block(self, x: Any, block: Callable[[Any], Any], k: int) -> Any:
        own: Any = self
        norm, dropout, add = (getattr(own, f"{part}{k}") for part in ("norm", "dropout", "add"))
        change = dropout(block(norm(x) if own.norm_first else x))
        found = add.add(x, named_as(change, x.names))
        return found if own.norm_first else norm(found)

    def _map(self, x: Any) -> Any:
        own: Any = self
        x = own.linear1(x)
        if self._computed:
            x = own.quant_activation(own.activation(own.dequant_activation(x)))
        else:
            x = own.activation(x)
        return own.linear2(own.dropout(x))

    def is_part(self, path: str) -> bool:
        """Say whether what stands at a path in here is a part that the layer in floating point does not have."""
        return path in self._made

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """Return the layer itself, which has a qconfig and becomes one of this kind: its parts are observed each."""
        config = cls._check_float(other)
        other.__class__ = cls
        other._part()
        for name in other._made:
            part = other.get_submodule(name).train(other.training)
            object.__setattr__(part, "qconfig", config)
        return other


class TransformerEncoderLayer(_LayerOfParts, nn.TransformerEncoderLayer):
    """`nn.TransformerEncoderLayer` whose sums, ``add1`` and ``add2``, are observed, as all its other parts are.

    An activation that is a function, and no rectifier, is computed in floating point.

    >>> import workbench as wb
    >>> layer = wb.nn.Sequential(wb.nn.TransformerEncoderLayer(8, 2, 16)).eval()
    >>> prepared = wb.quantization.prepare(layer)
    >>> type(prepared.module[0].add1.activation_post_process).__name__
    'HistogramObserver'
    """

    _FLOAT_MODULE = nn.TransformerEncoderLayer


class TransformerDecoderLayer(_LayerOfParts, nn.TransformerDecoderLayer):
    """`nn.TransformerDecoderLayer` whose sums, ``add1`` to ``add3``, are observed, as all its other parts are.

    >>> import workbench as wb
    >>> layer = TransformerDecoderLayer(8, 2, 16)
    >>> layer(wb.zeros(3, 1, 8), wb.zeros(5, 1, 8)).shape
    (3, 1, 8)
    """

    _FLOAT_MODULE = nn.TransformerDecoderLayer
