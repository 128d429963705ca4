"""Layers with weights in a prepared or converted model, by layers or as a graph alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.fx import GraphModule
from workbench.nn import Module
from workbench.quantization.convert import convert
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.graph_mode.observing import is_prepared as is_prepared_graph
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.layer_observers import has_weight, quantizable
from workbench.quantization.observed import observer_of
from workbench.quantization.observer_base import ObserverBase, unobserved
from workbench.quantization.quantize_fx import convert_fx
from workbench.quantization.quantized.layers import Weighted

__all__ = ["Place", "converted", "is_prepared", "limits", "paused", "places", "require_prepared", "watching"]


class Place(NamedTuple):
    """A layer with a weight that becomes codes."""

    path: str
    module: Any
    """What is converted: the layer, or what it is joined with."""

    @property
    def observer(self) -> Any:
        """What says which codes its weight becomes."""
        return observer_of(self.module, "weight_post_process")

    @property
    def layer(self) -> Any:
        """The layer itself."""
        return weighted_layer(self.module)


def is_prepared(model: Any) -> bool:
    """Say whether a model has observers."""
    return any(isinstance(one, ObserverBase | FakeQuantizeBase) for one in model.modules())


def require_prepared(model: Any, what: str) -> None:
    """Raise `QuantizationError` for a model without observers, and for one in training."""
    if not isinstance(model, Module) or not is_prepared(model):
        raise QuantizationError(
            f"{what} takes a prepared and calibrated model: call prepare or prepare_fx, and the result with some data"
        )
    if any(isinstance(one, FakeQuantizeBase) for one in model.modules()):
        raise QuantizationError(
            f"{what} is for models that are not trained: this one has fake quantization, which learns its rounding "
            "by training"
        )


def places(prepared: Any) -> list[Place]:
    """Return the layers of a prepared model whose weights become codes, in their order."""
    found = quantizable(prepared)
    if isinstance(prepared, GraphModule) and is_prepared_graph(prepared):
        found = [*prepared.named_modules()]
    return [
        Place(name, one) for name, one in found if has_weight(one) and hasattr(one, "weight_post_process")
    ]


def converted(prepared: Any) -> Any:
    """Return the integer form of a prepared model, with its layers under their own names."""
    by_graph = isinstance(prepared, GraphModule) and is_prepared_graph(prepared)
    return convert_fx(prepared) if by_graph else convert(prepared, remove_qconfig=False)


def limits(layer: Any) -> tuple[float, float]:
    """Return the least and the largest value that leaves an integer layer: codes and a rectifier cut off the rest.

    A ReLU6 behind a layer of a graph is among them: its codes reach from 0 to 6 then. Nothing is cut off what goes on
    in floating point, as the sums of joined layers do.

    >>> import workbench as wb
    >>> limits(wb.quantization.quantized.LinearReLU(2, 2))
    (0.0, 255.0)
    """
    if not isinstance(layer, Weighted):
        return 0.0 if getattr(layer, "relu", False) else -math.inf, math.inf
    told = layer._output()
    low = 0.0 if told["relu"] else -math.inf
    if told["scale"] is None:
        return low, math.inf
    least, most = ((told[end] - told["zero_point"]) * told["scale"] for end in ("qmin", "qmax"))
    return max(low, least), most


@contextmanager
def watching(hooks: dict[Any, Any]) -> Iterator[None]:
    """Call a function after each call of a module: ``hook(module, arguments, output)``."""
    stops = [module.register_forward_hook(hook) for module, hook in hooks.items()]
    try:
        yield
    finally:
        for stop in stops:
            stop()


@contextmanager
def paused() -> Iterator[None]:
    """Call models in this block without gradients and without their observers taking note."""
    with dispatch.no_grad(), unobserved():
        yield
