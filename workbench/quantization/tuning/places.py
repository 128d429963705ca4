"""Layers with weights in a prepared or converted model, by layers or as a graph alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.fx import GraphModule
from workbench.nn import Module
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.graph_mode.observing import is_prepared as is_prepared_graph
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.layer_observers import has_weight, quantizable
from workbench.quantization.observed import observer_of
from workbench.quantization.observer_base import ObserverBase, unobserved

__all__ = ["Place", "is_prepared", "paused", "places", "require_prepared", "watching"]


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
