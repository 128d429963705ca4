"""What is given to the functions of quantization is looked at before anything changes."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError, short
from workbench.graph import Graph
from workbench.nn import Module

__all__ = ["checked_qconfig", "require_model"]


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
