"""Observers on layers: which layers have them, how they are shown what flows by, and how that is switched off."""

from __future__ import annotations

from typing import Any

from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.nn import Identity, Module
from workbench.quantization.attaching import attach_observers, observe_weight
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.given import checked_qconfig
from workbench.quantization.intrinsic.modules import is_fused
from workbench.quantization.mappings import OBSERVED, TABLES, WEIGHTED
from workbench.quantization.observed import no_range, observer_of, range_of, without_range
from workbench.quantization.plain_observers import RecordingObserver
from workbench.quantization.qconfig import QConfig

__all__ = [
    "attach",
    "check_observers",
    "check_tables",
    "has_weight",
    "observe_weights",
    "observer_of",
    "propagate_qconfig",
    "propagate_qconfig_",
    "quantizable",
]


def propagate_qconfig(
    model: Module, qconfig: QConfig | None = None, by: dict[Any, Any] | None = None, prefix: str = ""
) -> None:
    """Give every module the `qconfig` of the nearest module above that has one; None leaves a part in float.

    `by` has qconfigs by type of module or by path, of which the path counts for more, and a module's own most.
    """
    named = by or {}
    qconfig = named.get(prefix, named.get(type(model), qconfig))
    own = model.__dict__.get("qconfig", qconfig)
    object.__setattr__(model, "qconfig", own)
    for name, child in model.named_children():
        propagate_qconfig(child, own, by, f"{prefix}.{name}" if prefix else name)


def propagate_qconfig_(module: Module, qconfig_dict: dict[Any, Any] | None = None) -> None:
    """Give every module of a model a `qconfig`, by type or path where `qconfig_dict` has one, else from above.

    Raises `QuantizationError`, and changes nothing, for a name that no module has.
    """
    paths = {name for name, _ in module.named_modules()}
    for name in qconfig_dict or {}:
        if isinstance(name, str) and name not in paths:
            near = near_miss(name, paths)
            raise QuantizationError(
                f"there is a qconfig for {name!r}, and no module of that name"
                + (f": did you mean {near!r}?" if near else "")
            )
    for name, config in (qconfig_dict or {}).items():
        checked_qconfig(
            config, repr(name) if isinstance(name, str) else getattr(name, "__name__", repr(name))
        )
    propagate_qconfig(module, None, qconfig_dict)


def has_weight(module: Any) -> bool:
    """Say whether a layer has a weight that is quantized with it."""
    return isinstance(module, WEIGHTED)


def quantizable(model: Module) -> list[tuple[str, Any]]:
    """Return the layers of `model` that have a qconfig and an integer form, with their paths, in their order."""
    found: list[tuple[str, Any]] = []
    below: set[int] = set()
    for name, module in model.named_modules():
        if id(module) in below or getattr(module, "qconfig", None) is None:
            continue
        # Its parts have a qconfig too, and are quantized as one.
        if is_fused(module) or hasattr(module, "folded"):
            below.update(id(part) for part in module.modules() if part is not module)
        if type(module) in OBSERVED:
            found.append((name, module))
    return found


def attach(module: Any) -> None:
    """Give a layer the observers that its qconfig asks for."""
    attach_observers(module, has_weight(module), hook=not isinstance(module, FloatFunctional))


def check_observers(model: Module) -> None:
    """Refuse, with `QuantizationError`, layers that become codes and whose qconfig has observers without a range.

    Values may be recorded, or left as they are while a layer's other half is studied; so may a weight in training.
    `convert` refuses what is left so.
    """
    for name, module in quantizable(model):
        config, kind = module.qconfig, type(module).__name__
        values = range_of(config.activation())
        if without_range(values) and not isinstance(values, RecordingObserver | Identity):
            raise no_range(name, kind, values, "values")
        if not has_weight(module):
            continue
        weight = None if config.weight is None else range_of(config.weight())
        studied = isinstance(weight, Identity) and hasattr(module, "weight_fake_quant")
        if weight is None or (without_range(weight) and not studied):
            raise no_range(name, kind, weight, "weight")


def check_tables(model: Module) -> None:
    """Refuse, with `QuantizationError`, embeddings whose qconfig does not suit a table of rows."""
    for name, module in model.named_modules():
        config = getattr(module, "qconfig", None)
        if type(module) not in TABLES or config is None:
            continue
        scheme = getattr(config.weight(), "qscheme", None)
        if scheme is None or not scheme.value.endswith("float_qparams"):
            raise QuantizationError(
                "Embedding quantization is only supported with float_qparams_weight_only_qconfig: set it as "
                f"model.{name}.qconfig, or set model.{name}.qconfig = None to leave the table in floating point"
            )


def observe_weights(model: Module) -> None:
    """Show the weights, as they are now, to their observers; what these saw before is forgotten.

    In training the fake quantization of a weight decides itself what it keeps, and whether it still observes.
    """
    for _, module in quantizable(model):
        if has_weight(module):
            observe_weight(module)
