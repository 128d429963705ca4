"""What is known of a layer that is to be quantized: who watches its output and its weight, and what it computes."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Identity
from workbench.quantization.fake_quantize import ObservingFakeQuantize
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.plain_observers import Carrier
from workbench.quantization.weight_observers import weight_observer

__all__ = [
    "float_layer", "no_range", "observer_of", "range_of", "require_ranges", "seen_nothing", "weight_watcher",
    "without_range",
]  # fmt: skip


def range_of(watching: Any) -> Any:
    """Return the observer of a module that watches: itself, or that of a fake quantization."""
    return watching.observer if isinstance(watching, ObservingFakeQuantize) else watching


def observer_of(module: Any, what: str = "activation_post_process") -> Any:
    """Return the observer of a prepared layer's output, or of its weight (``weight_post_process``)."""
    # Layers in training call their weight's by PyTorch's name.
    found = (
        module.weight_fake_quant
        if what == "weight_post_process" and _is_trained(module)
        else getattr(module, what)
    )
    return range_of(found)


def _is_trained(module: Any) -> bool:
    return hasattr(module, "weight_fake_quant")


def float_layer(module: Any) -> Any:
    """Return the layer in floating point whose weight is quantized: normalisations are folded into it."""
    return module.folded() if hasattr(module, "folded") else weighted_layer(module)


def weight_watcher(module: Any) -> Any:
    """Return an observer for the weight of a layer with a qconfig.

    Raises `QuantizationError` where the qconfig has none.
    """
    if _is_trained(module):
        return observer_of(module, "weight_post_process")
    config = getattr(module, "qconfig", None)
    if config is None or config.weight is None:
        raise QuantizationError(
            f"{type(module).__name__} has no qconfig with an observer for its weight: set one, such as "
            "wb.quantization.default_qconfig"
        )
    return range_of(weight_observer(config, weighted_layer(module)))


def seen_nothing(names: list[str], observers: list[Any]) -> str:
    """Say of observers without a range that they have seen nothing, or nothing finite."""
    told = f"not calibrated: {', '.join(names)} {'has' if len(names) == 1 else 'have'} seen no values"
    if any(one.nan_count or one.inf_count for one in observers):
        told += " but NaN and infinity: look where these come from"
    return told


def without_range(watching: Any) -> bool:
    """Say whether what watches finds no range, whatever it sees: placeholders, recorders and identities do not."""
    return isinstance(range_of(watching), Carrier | Identity)


def no_range(name: str, kind: str, watching: Any, what: str) -> QuantizationError:
    """Return what refuses codes of `what`, a layer's values or its weight, of which no range is found.

    `name` is the path of the layer, and `kind` its type.
    """
    instead = "give it an observer with a range, such as those of wb.quantization.default_qconfig"
    if getattr(watching, "is_dynamic", False):
        instead = "quantize_dynamic makes layers that find a range in each call"
    known = "none" if watching is None else type(watching).__name__
    return QuantizationError(
        f"{repr(name) if name else 'the model'} is a {kind}, which becomes codes, and its qconfig has {known} for its "
        f"{what}, which finds no range: {instead}, or set qconfig = None to leave it in floating point"
    )


def require_ranges(layers: list[tuple[str, Any]]) -> None:
    """Raise `QuantizationError` where one of these prepared layers has values or a weight without a range."""
    for name, module in layers:
        for slot, what in (("activation_post_process", "values"), ("weight_fake_quant", "weight")):
            watching = getattr(module, slot, None)
            if watching is not None and without_range(watching):
                raise no_range(name, type(module).__name__, range_of(watching), what)
