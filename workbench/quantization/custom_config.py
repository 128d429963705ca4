"""What is special about single parts of a model in graph mode: `PrepareCustomConfig` and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.base.public import words

__all__ = [
    "ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "QuantType", "StandaloneModuleConfigEntry",
]  # fmt: skip

Self = TypeVar("Self", bound="_Config")

Swaps = dict["QuantType", dict[type, type]]


class QuantType(IntEnum):
    """How a part of a model is quantized."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


_TYPES = {kind.name.lower(): kind for kind in QuantType}


@dataclass
class StandaloneModuleConfigEntry:
    """How a module that is prepared by itself is prepared; None: as the model around it."""

    qconfig_mapping: Any
    example_inputs: tuple[Any, ...]
    prepare_custom_config: PrepareCustomConfig | None
    backend_config: Any


class _Config:
    """What the three share: reading and writing dicts by the methods that set one thing each."""

    _SETTERS: Mapping[str, tuple[Callable[..., Any], Callable[[Any], list[Any]]]]

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []

    def set_preserved_attributes(self: Self, attributes: list[str]) -> Self:
        """Name what the graph is to have of the model though it does not read it itself."""
        self.preserved_attributes = list(attributes)
        return self

    @classmethod
    def from_dict(cls: type[Self], given: Mapping[str, Any]) -> Self:
        """Return what such a dict of PyTorch's says.

        Raises `QuantizationError` for keys that mean nothing in it.
        """
        made = cls()
        for key, value in given.items():
            if key not in made._SETTERS:
                near = near_miss(key, made._SETTERS)
                raise QuantizationError(
                    f"{key!r} means nothing to {cls.__name__}"
                    + (f": did you mean {near!r}?" if near else f"; there is {', '.join(made._SETTERS)}")
                )
            setter, calls = made._SETTERS[key]
            for call in calls(value):
                setter(made, *call)
        return made

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value)
        return f"{type(self).__name__}({said})"


def _once(value: Any) -> list[Any]:
    return [(value,)]


def _by_type(value: Mapping[str, Mapping[type, type]]) -> list[Any]:
    found = []
    for name, swaps in value.items():
        if name not in _TYPES:
            raise QuantizationError(f"{name!r} is no way of quantization: there is {', '.join(_TYPES)}")
        found += [(one, other, _TYPES[name]) for one, other in swaps.items()]
    return found


def _named(swaps: Swaps) -> dict[str, Any]:
    return {kind.name.lower(): dict(pairs) for kind, pairs in swaps.items()}


class PrepareCustomConfig(_Config):
    """What `prepare_fx` does with single parts, each said by a method that returns the configuration.

    >>> config = PrepareCustomConfig().set_input_quantized_indexes([0]).set_preserved_attributes(["classes"])
    >>> PrepareCustomConfig.from_dict(config.to_dict()) == config
    True
    """

    def __init__(self) -> None:
        super().__init__()
        self.standalone_module_names: dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: dict[type, StandaloneModuleConfigEntry] = {}
        self.float_to_observed_mapping: Swaps = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []
        self.float_results = False

    def set_float_results(self, float_results: bool = True) -> PrepareCustomConfig:
        """Have linear layers whose results nothing takes as codes give them in floating point, right from their sums.

        PyTorch's round them to codes first. In encoders whose sums and norms stay in floating point this is what costs
        most.
        """
        self.float_results = float_results
        return self

    def set_standalone_module_name(
        self,
        module_name: str,
        qconfig_mapping: Any,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: Any,
    ) -> PrepareCustomConfig:
        """Have the module at a path prepared and converted by itself."""
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_standalone_module_class(
        self,
        module_class: type,
        qconfig_mapping: Any,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: Any,
    ) -> PrepareCustomConfig:
        """Have all modules of a class prepared and converted by themselves."""
        self.standalone_module_classes[module_class] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_float_to_observed_mapping(
        self, float_class: type, observed_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> PrepareCustomConfig:
        """Have modules of a class become ``observed_class.from_float(module)``, called whole."""
        self.float_to_observed_mapping.setdefault(quant_type, {})[float_class] = observed_class
        return self

    def set_non_traceable_module_names(self, module_names: list[str]) -> PrepareCustomConfig:
        """Have the modules at these paths called whole."""
        self.non_traceable_module_names = list(module_names)
        return self

    def set_non_traceable_module_classes(self, module_classes: list[type]) -> PrepareCustomConfig:
        """Have modules of these classes called whole."""
        self.non_traceable_module_classes = list(module_classes)
        return self

    def set_input_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Have the converted model take codes for these inputs, counted from 0."""
        self.input_quantized_indexes = list(indexes)
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Have the converted model return codes for these results, counted from 0."""
        self.output_quantized_indexes = list(indexes)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the same as PyTorch's dict; what says nothing is left away."""

        def entries(found: Mapping[Any, StandaloneModuleConfigEntry]) -> list[Any]:
            return [(key, *vars(one).values()) for key, one in found.items()]

        said = {
            "standalone_module_name": entries(self.standalone_module_names),
            "standalone_module_class": entries(self.standalone_module_classes),
            "float_to_observed_custom_module_class": _named(self.float_to_observed_mapping),
            "non_traceable_module_name": self.non_traceable_module_names,
            "non_traceable_module_class": self.non_traceable_module_classes,
            "input_quantized_idxs": self.input_quantized_indexes,
            "output_quantized_idxs": self.output_quantized_indexes,
            "preserved_attributes": self.preserved_attributes,
            "float_results": self.float_results,
        }
        return {key: value for key, value in said.items() if value}


class ConvertCustomConfig(_Config):
    """What `convert_fx` does with single parts."""

    def __init__(self) -> None:
        super().__init__()
        self.observed_to_quantized_mapping: Swaps = {}

    def set_observed_to_quantized_mapping(
        self, observed_class: type, quantized_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> ConvertCustomConfig:
        """Have observed modules of a class become ``quantized_class.from_observed(module)``."""
        self.observed_to_quantized_mapping.setdefault(quant_type, {})[observed_class] = quantized_class
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the same as PyTorch's dict; what says nothing is left away."""
        said = {
            "observed_to_quantized_custom_module_class": _named(self.observed_to_quantized_mapping),
            "preserved_attributes": self.preserved_attributes,
        }
        return {key: value for key, value in said.items() if value}


class FuseCustomConfig(_Config):
    """What `fuse_fx` keeps besides."""

    def to_dict(self) -> dict[str, Any]:
        """Return the same as PyTorch's dict."""
        return {"preserved_attributes": self.preserved_attributes} if self.preserved_attributes else {}


_KEPT = (_Config.set_preserved_attributes, _once)
PrepareCustomConfig._SETTERS = {
    "standalone_module_name": (PrepareCustomConfig.set_standalone_module_name, list),
    "standalone_module_class": (PrepareCustomConfig.set_standalone_module_class, list),
    "float_to_observed_custom_module_class": (PrepareCustomConfig.set_float_to_observed_mapping, _by_type),
    "non_traceable_module_name": (PrepareCustomConfig.set_non_traceable_module_names, _once),
    "non_traceable_module_class": (PrepareCustomConfig.set_non_traceable_module_classes, _once),
    "input_quantized_idxs": (PrepareCustomConfig.set_input_quantized_indexes, _once),
    "output_quantized_idxs": (PrepareCustomConfig.set_output_quantized_indexes, _once),
    "float_results": (PrepareCustomConfig.set_float_results, _once),
    "preserved_attributes": _KEPT,
}
ConvertCustomConfig._SETTERS = {
    "observed_to_quantized_custom_module_class": (
        ConvertCustomConfig.set_observed_to_quantized_mapping,
        _by_type,
    ),
    "preserved_attributes": _KEPT,
}
FuseCustomConfig._SETTERS = {"preserved_attributes": _KEPT}


def config_of(kind: type[Self], given: Any) -> Self:
    """Return a configuration of this kind: what was given, what a dict says, or one that says nothing."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return given
    if isinstance(given, Mapping):
        return kind.from_dict(given)
    raise QuantizationError(f"{kind.__name__} or a dict is asked for, and {type(given).__name__} was given")


def swaps_of(given: Mapping[str, Any] | None, key: str, usual: Mapping[type, Any]) -> Mapping[type, Any]:
    """Return what is put in the place of layers by a dict of PyTorch's eager way; the `usual` ones without it.

    Raises `QuantizationError` for a dict that says something else.
    """
    if given is None:
        return usual
    unknown = [one for one in given if one != key]
    if unknown:
        raise QuantizationError(f"of custom modules by layers {key!r} is known, and not {unknown[0]!r}")
    return dict(given.get(key, {}))


def check_places(places: Sequence[int], count: int, what: str) -> None:
    """Raise `QuantizationError` for a place that a row of `count` has not."""
    for place in places:
        if not 0 <= place < count:
            raise QuantizationError(f"there is no {what} {place}: the model has {count}, counted from 0")


__getattr__, __dir__ = words(__name__, __all__)
