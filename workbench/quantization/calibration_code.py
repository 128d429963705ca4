"""The observers of a model as Python that prepares it so again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.base.dtypes import DType
from workbench.base.quantized_array import QScheme
from workbench.fx import GraphModule
from workbench.quantization.fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    ObservingFakeQuantize,
)
from workbench.quantization.layer_observers import quantizable
from workbench.quantization.learnable_fake_quantize import LearnableFakeQuantize
from workbench.quantization.mappings import OBSERVED
from workbench.quantization.observer_base import ObserverBase, PartialObserver
from workbench.quantization.observer_settings import factory_of, settings_of
from workbench.quantization.quantizable.observed_parts import MadeOfParts

__all__ = ["code_of"]


def code_of(model: Any, observers: Mapping[str, ObserverBase], chosen: Iterable[str] = ()) -> str:
    """Return Python that prepares the model with these observers, and sets the ranges that were set by hand.

    A `QConfigMapping` says all of it for a model of layers. Of a graph it says what was `chosen` of layers, on top of
    the one by which it was prepared; what functions have is set by name afterwards.
    """
    fakes = {id(one.observer): one for one in model.modules() if isinstance(one, ObservingFakeQuantize)}
    written = _Written(fakes)
    if isinstance(model, GraphModule):
        lines = _of_graph(written, model, observers, set(chosen))
    else:
        lines = _of_layers(written, model, observers)
    lines += [
        f"prepared.calibration.set_range({name!r}, {observer.override[0]!r}, {observer.override[1]!r})"
        for name, observer in observers.items()
        if observer.override is not None
    ]
    text = "\n".join(lines)
    return "\n".join([*written.imports(text), "", text])


class _Written:
    """Writes factories of observers, and notes which names they need."""

    def __init__(self, fakes: Mapping[int, ObservingFakeQuantize]) -> None:
        self.fakes = fakes
        self.names: set[str] = set()
        self.own: set[str] = set()

    def observer(self, observer: ObserverBase) -> str:
        """Return the factory of an observer, or of the fake quantization around it."""
        made = factory_of(observer)
        if made is None:
            # It has settings that are not known here; its class is written, to be completed.
            self.own.add(type(observer).__name__)
            return type(observer).__name__
        fake = self.fakes.get(id(observer))
        if fake is None:
            return self.factory(made)
        settings = {"observer": type(observer), **made.settings}
        # Some have limits of their own unless others are given.
        if isinstance(fake, LearnableFakeQuantize):
            # Those that are written have the bit less already.
            settings.pop("reduce_range", None)
            limits = {"quant_min": observer.quant_min, "quant_max": observer.quant_max}
            return self.factory(
                PartialObserver(LearnableFakeQuantize, {**settings, **limits, **_learning(fake)})
            )
        # Only a moving average goes with the fused one, whatever was there first.
        if isinstance(fake, FusedMovingAvgObsFakeQuantize) and "MovingAverage" in type(observer).__name__:
            settings = {"quant_min": None, "quant_max": None, **settings}
            return self.factory(PartialObserver(FusedMovingAvgObsFakeQuantize, settings))
        return self.factory(PartialObserver(FakeQuantize, settings))

    def factory(self, made: PartialObserver) -> str:
        """Return a factory of a class of this room as code."""
        given = ", ".join(f"{name}={self._value(value)}" for name, value in made.settings.items())
        return f"{self._value(made.make)}.with_args({given})"

    def _value(self, value: Any) -> str:
        if isinstance(value, type):
            self.names.add(value.__name__)
            return value.__name__
        if isinstance(value, DType | QScheme):
            return repr(value).replace("workbench.", "wb.")
        return repr(value)

    def imports(self, text: str) -> list[str]:
        """Return the lines that code begins with whose rest is `text`."""
        names = sorted(name for name in self.names if re.search(rf"\b{name}\b", text))
        lines = ["import workbench as wb"]
        lines += ["from workbench.quantization import (", *(f"    {name}," for name in names), ")"]
        return lines + [
            f"# {name} is the program's own: import it, and give it its settings" for name in sorted(self.own)
        ]


def _learning(fake: LearnableFakeQuantize) -> dict[str, Any]:
    several = {"channel_len": fake.scale.shape[0]} if fake.qscheme.per_channel else {}
    return {**several, **({"use_grad_scaling": True} if fake.use_grad_scaling else {})}


def _of_layers(written: _Written, model: Any, observers: Mapping[str, ObserverBase]) -> list[str]:
    wrapped = type(model).__name__ == "QuantWrapper"
    layers: dict[str, dict[str, str]] = {}
    parts = _Parts(model, wrapped)
    for name, observer in observers.items():
        path, _, what = ("quant", "", "output") if name == "input" else name.rpartition(".")
        if not parts.take(path, name, what, said := written.observer(observer)):
            layers.setdefault(path, {})[what] = said
    layers |= parts.usual()
    usual = {
        what: Counter(layer[what] for layer in layers.values() if what in layer).most_common(1)
        for what in ("output", "weight")
    }
    common = {what: found[0][0] for what, found in usual.items() if found}
    lines = [
        "usual = QConfig(",
        f"    activation={common['output']},",
        f"    weight={common.get('weight', common['output'])},",
        ")",
        "qconfig_mapping = QConfigMapping().set_global(usual)",
    ]
    for path, layer in layers.items():
        if any(common[what] != said for what, said in layer.items()):
            lines += _named(path, *(
                "usual." + word if layer.get(what, common.get(what)) == common.get(what) else layer[what]
                for what, word in (("output", "activation"), ("weight", "weight"))
            ))  # fmt: skip
    observed = {id(module) for _, module in quantizable(model)}
    for path, module in model.named_modules():
        if (
            type(module) in OBSERVED
            and id(module) not in observed
            and getattr(module, "qconfig", None) is None
        ):
            path = path.removeprefix("module.") if wrapped else path
            lines.append(f"qconfig_mapping.set_module_name({path!r}, None)")
    trained = bool(written.fakes)
    written.names |= {"QConfig", "QConfigMapping"}
    written.names.add("prepare_qat" if trained else "prepare")
    way = "prepare_qat(model, qconfig=qconfig_mapping)" if trained else "prepare(model, qconfig_mapping)"
    return [*lines, f"prepared = {way}", *(_chosen(name, observers[name]) for name in parts.others(common))]


class _Parts:
    """Observers of layers that preparing writes with parts: before that only the layer has a path to name them by."""

    def __init__(self, model: Any, wrapped: bool) -> None:
        self._layers = {
            path.removeprefix("module.") if wrapped else path: module
            for path, module in model.named_modules()
            if isinstance(module, MadeOfParts)
        }
        self._said: dict[str, list[tuple[str, str, str]]] = {}
        self._added: list[tuple[str, str, str]] = []

    def take(self, path: str, name: str, what: str, said: str) -> bool:
        """Note what is said of an observer, and say whether it is one of such a layer."""
        around = [one for one in self._layers if not one or path.startswith(f"{one}.")]
        layer = max(around, key=len, default=None)
        if layer is None or not self._layers[layer].is_part(path[len(layer) :].lstrip(".")):
            return False
        # What is said of a layer is said of the layers in it, too, where these have paths of their own.
        noted = self._said.setdefault(layer, []) if self._layers[layer].whole else self._added
        noted.append((name, what, said))
        return True

    def usual(self) -> dict[str, dict[str, str]]:
        """Return for each layer what is said of most of its parts."""
        return {
            layer: {
                what: Counter(said for _, one, said in parts if one == what).most_common(1)[0][0]
                for what in dict.fromkeys(what for _, what, _ in parts)
            }
            for layer, parts in self._said.items()
        }

    def others(self, common: Mapping[str, str]) -> list[str]:
        """Return the names of the observers of which another thing is said; `common` is that of most layers."""
        usual = self.usual()
        apart = [
            name
            for layer, parts in self._said.items()
            for name, what, said in parts
            if said != usual[layer][what]
        ]
        return apart + [name for name, what, said in self._added if said != common[what]]


def _chosen(name: str, observer: ObserverBase) -> str:
    """Return the line that sets an observer once it is there."""
    settings = settings_of(observer)
    if settings is None:
        return f"# {name} is watched by a {type(observer).__name__}, which has to be put there by hand"
    said = ", ".join(f"{word}={value!r}" for word, value in vars(settings).items())
    return f"prepared.calibration.choose({name!r}, {said})"


def _named(path: str, activation: str, weight: str) -> list[str]:
    return [
        f"qconfig_mapping.set_module_name({path!r}, QConfig(",
        f"    activation={activation},",
        f"    weight={weight},",
        "))",
    ]


def _of_graph(
    written: _Written, model: GraphModule, observers: Mapping[str, ObserverBase], chosen: set[str]
) -> list[str]:
    trained = bool(written.fakes)
    default = "get_default_qat_qconfig_mapping" if trained else "get_default_qconfig_mapping"
    way = "prepare_qat_fx" if trained else "prepare_fx"
    written.names |= {default, way}
    lines = [f"qconfig_mapping = {default}()  # or the one by which the model was prepared"]
    paths = {path for path, _ in model.named_modules()}
    after = []
    done: set[str] = set()
    for name, observer in observers.items():
        path = name.rpartition(".")[0]
        both = [observers.get(f"{path}.{one}") for one in ("output", "weight")]
        if name not in chosen or path in done:
            continue
        if path in paths and None not in both:
            done.add(path)
            written.names.add("QConfig")
            lines += _named(path, *(written.observer(one) for one in both if one is not None))
        elif settings_of(observer) is not None:
            after.append(_chosen(name, observer))
    return [*lines, f"prepared = {way}(model, qconfig_mapping, example_inputs)", *after]
