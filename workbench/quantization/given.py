"""What is given to the functions of quantization is looked at before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.base.errors import QuantizationError, short
from workbench.graph import Graph
from workbench.nn import Module

__all__ = [
    "checked_mapping", "checked_qconfig", "names_of_parameters", "require_layers", "require_model", "require_own",
]  # fmt: skip


def checked_qconfig(config: Any, what: str) -> Any:
    """Return a qconfig, or None; raise `QuantizationError` for what is neither."""
    if config is not None and not (hasattr(config, "activation") and hasattr(config, "weight")):
        raise QuantizationError(
            f"the qconfig for {what} is {short(repr(config))[1:-1]}, which is none: give a QConfig, "
            "get_default_qconfig() is one, or None to leave it in floating point"
        )
    return config


def require_model(model: Any) -> None:
    """Raise `QuantizationError` for what is neither a module nor has a graph of the house."""
    if isinstance(model, Module) or isinstance(getattr(model, "graph", None), Graph):
        return
    if isinstance(model, Graph):
        raise QuantizationError(
            "a Graph by itself has no mode and no layers: give the module that was traced"
        )
    raise QuantizationError(
        f"a module is quantized, or what has a graph, and {type(model).__name__} was given"
    )


def require_layers(model: Any, what: str, instead: str) -> None:
    """Raise `QuantizationError` for what is no model, and for one that runs a graph, where layers are to be swapped.

    `instead` says what would work.
    """
    require_model(model)
    if isinstance(getattr(model, "graph", None), Graph):
        raise QuantizationError(
            f"{what} works on layers, and {type(model).__name__} runs a graph, whose nodes are none: {instead}"
        )


def checked_mapping(mapping: Any, default: dict[type, Any], what: str) -> dict[type, Any]:
    """Return what becomes of layers by their types: `default` where nothing is given.

    Raises `QuantizationError` for what is no dict from types of layers to classes with a ``from_float``.
    """
    if mapping is None:
        return default
    if not isinstance(mapping, Mapping):
        hint = "; a qconfig is given by its name, qconfig=" if hasattr(mapping, "activation") else ""
        raise QuantizationError(
            f"mapping= of {what} is a dict from types of layers to what they become, and "
            f"{short(repr(mapping))[1:-1]} was given{hint}"
        )
    for kind, made in mapping.items():
        if not isinstance(kind, type) or not hasattr(made, "from_float"):
            raise QuantizationError(
                f"mapping= of {what} has {short(repr(made))[1:-1]} for {short(repr(kind))[1:-1]}: its keys are types "
                "of layers, and its values classes with a from_float, such as those of wb.ao.nn.qat"
            )
    return dict(mapping)


def names_of_parameters(model: Module) -> dict[int, list[str]]:
    """Return the dotted names that each parameter has, by its identity: more than one where modules share it.

    A module that stands under several names is one module.
    """
    standing: dict[int, list[str]] = {}
    for path, module in model.named_modules():
        for own, one in module._parameters.items():
            if one is not None:
                standing.setdefault(id(one), []).append(f"{path}.{own}" if path else own)
    return standing


def require_own(model: Module, layers: Iterable[Module], name: str, why: str) -> None:
    """Raise `QuantizationError` where a parameter called `name` of one of these layers is another module's too."""
    standing = names_of_parameters(model)
    for layer in layers:
        names = standing.get(id(getattr(layer, name)), [])
        if len(names) > 1:
            raise QuantizationError(f"{names[0]} is {names[1]} too: {why}")
