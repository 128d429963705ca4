"""The older weight normalisation, by a hook before each call."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from workbench.core.tape import alias_like
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.utils.weight_hooks import found, parameter_of, put, take_out
from workbench.nn.utils.weight_norms import direction_times_length, lengths

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

Layer = TypeVar("Layer", bound=Module)


class WeightNorm:
    """The hook: sets the weight to g·v / ‖v‖ before each call."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the weight from its length and its direction."""
        direction, length = module.__dict__[f"{self.name}_v"], module.__dict__[f"{self.name}_g"]
        weight = direction_times_length(direction.rename(None), length.rename(None), self.dim)
        return alias_like(weight, direction)

    def __call__(self, module: Module, inputs: Any) -> None:
        put(module, self.name, self.compute_weight(module))


def weight_norm(module: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Learn the length and the direction of a weight apart, as ``weight_g`` and ``weight_v``: w = g·v / ‖v‖.

    PyTorch's older form, which warns: `parametrizations.weight_norm` does the same and loads its states. Raises
    RuntimeError where the weight is normalised so already, ValueError where it is no parameter.
    """
    warnings.warn(
        "`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if found(module, WeightNorm, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight = parameter_of(module, name, "weight_norm")
    hook = WeightNorm(name, dim)
    plain = weight.detach().rename(None)
    length = lengths(plain, hook.dim)
    # One length for all has no dims that could be named.
    if length.ndim == plain.ndim:
        length = alias_like(length, weight)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(length, weight.requires_grad))
    module.register_parameter(f"{name}_v", Parameter(weight.detach(), weight.requires_grad))
    put(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Layer, name: str = "weight") -> Layer:
    """Make a normalised weight a plain parameter again. Raises ValueError where it is not normalised so."""
    hook = found(module, WeightNorm, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    # Asked before it goes: frozen weights stay frozen.
    learned = module.__dict__[f"{name}_v"].requires_grad
    weight = hook[1].compute_weight(module).detach()
    for one in (name, f"{name}_g", f"{name}_v"):
        delattr(module, one)
    module.register_parameter(name, Parameter(weight, learned))
    take_out(module, hook[0])
    return module
