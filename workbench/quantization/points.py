"""What is observed in a prepared model, and the forms of it that measuring needs: for models by layers."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

from workbench.nn import Module
from workbench.quantization.convert import refresh, uncalibrated, with_integer_layers
from workbench.quantization.fake_quantize import FakeQuantizeBase, ObservingFakeQuantize
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.layer_observers import observe_weights
from workbench.quantization.mappings import DEFAULT_MODULE_TO_ACT_POST_PROCESS, ROUNDED
from workbench.quantization.observer_base import ObserverBase

__all__ = ["Point", "PreparedForm", "PreparedLayers", "floating_twin", "followed"]


@dataclass(frozen=True)
class Point:
    """One observed value or weight: what it is called, who watches it, and where it stands in the model."""

    name: str
    observer: ObserverBase
    slot: str
    """Path of the module that watches: the observer, or the fake quantization around it."""
    layer: Any = None
    """The layer whose weight is observed; None for activations."""
    path: str = ""
    """Path of the layer that it belongs to; empty for functions and inputs."""
    nodes: tuple[str, ...] = ()
    """Names of the nodes whose values, or whose weight, have its scale; empty for models without a graph."""


def followed(points: list[Point], old: ObserverBase, new: ObserverBase) -> list[Point]:
    """Return the same points with `new` where `old` watched."""
    return [replace(point, observer=new) if point.observer is old else point for point in points]


class PreparedForm(Protocol):
    """What those who measure ask of a prepared model, whether it is one of layers or a graph."""

    ordered: bool
    """Whether `points` come in the order in which values reach them."""

    def points(self) -> list[Point]:
        """Return what is observed."""
        ...

    def missing(self) -> list[str]:
        """Return the names of what has seen nothing yet."""
        ...

    def integer(self) -> Any:
        """Return a new integer model by what is known now; the prepared one stays."""
        ...

    def integer_place(self, point: Point) -> str | None:
        """Return the path of the module of the integer model that gives the values of `point`, if there is one."""
        ...

    def refresh(self, converted: Any, stale: set[str], twin: Any) -> None:
        """Bring scales of an integer model up to date, and layers at the paths in `stale`, with weights of `twin`."""
        ...


_WATCHED = (
    ("weight_post_process", "weight"), ("weight_fake_quant", "weight"), ("activation_post_process", "output")
)  # fmt: skip
"""Under which names layers have their observers, and what these watch."""


class PreparedLayers:
    """A model with observers on its layers, as `prepare` and `prepare_qat` make it."""

    ordered = False

    def __init__(self, model: Any) -> None:
        self.model = model

    def points(self) -> list[Point]:
        """Return the observed points, each layer's weight before its output."""
        found = []
        wrapped = type(self.model).__name__ == "QuantWrapper"
        for place, module in self.model.named_modules():
            # What rounds to a scale that the function has anyway watches nothing, nor what has no scale in codes.
            if type(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS or type(module) in ROUNDED:
                continue
            # By the names that layers have in the model that was wrapped.
            path = place.removeprefix("module.") if wrapped else place
            for child, what in _WATCHED:
                observer = module.__dict__.get(child) if child in module._module_names else None
                if isinstance(observer, ObservingFakeQuantize):
                    observer = observer.observer
                # A fake quantization holds its own observer under this name, which is counted where it stands.
                if not isinstance(observer, ObserverBase) or isinstance(module, ObservingFakeQuantize):
                    continue
                layer = weighted_layer(module) if what == "weight" else None
                slot = f"{place}.{child}" if place else child
                found.append(Point(_name(path, what), observer, slot, layer, place))
        # The model's input first; sorting leaves the others as they stand.
        return sorted(found, key=lambda point: point.name != "input")

    def missing(self) -> list[str]:
        """Return the paths of layers that have seen nothing."""
        return uncalibrated(self.model)

    def integer(self) -> Any:
        """Return the model with integer layers."""
        made = copy.deepcopy(self.model).eval()
        observe_weights(made)
        return with_integer_layers(made)

    def integer_place(self, point: Point) -> str | None:
        """Return the path of the layer: it stays where it was."""
        return point.path

    def refresh(self, converted: Any, stale: set[str], twin: Any) -> None:
        """Bring scales up to date, and the weights of the layers named stale."""
        refresh(converted, self.model, stale, twin)


def _name(path: str, what: str) -> str:
    if path == "quant":
        return "input"
    return f"{path}.{what}" if path else what


def floating_twin(model: Module) -> Any:
    """Return `model` in use and in floating point: other layers on the same tensors, which neither observe nor round.

    What training does to the parameters is seen by it, and running it changes nothing of `model`.
    """
    watching = ObserverBase | FakeQuantizeBase
    own = {id(one) for part in model.modules() if isinstance(part, watching) for one in _tensors(part)}
    twin = copy.deepcopy(model, {id(one): one for one in _tensors(model) if id(one) not in own}).eval()
    for part in twin.modules():
        if isinstance(part, ObserverBase):
            part.enabled = False
        elif isinstance(part, FakeQuantizeBase):
            part.disable_observer().disable_fake_quant()
    return twin


def _tensors(module: Module) -> list[Any]:
    return [*module.parameters(), *module.buffers()]
