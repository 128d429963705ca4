"""What normalises or prunes a parameter by a hook before each call: finding it, and taking it away."""

from __future__ import annotations

from typing import Any, TypeVar

from workbench.nn.module import Module
from workbench.nn.parameter import Parameter

__all__ = ["found", "parameter_of", "put", "take_out"]

Kind = TypeVar("Kind")


def found(module: Module, kind: type[Kind], name: str) -> tuple[int, Kind] | None:
    """Return the hook of a kind that acts on a parameter, with its number; None where there is none."""
    for number, hook in (module._hooks.forward_pre if module._hooks is not None else {}).items():
        if isinstance(hook.call, kind) and hook.call.name == name:  # type: ignore[attr-defined]
            return number, hook.call
    return None


def take_out(module: Module, number: int) -> None:
    """Remove a hook by its number."""
    hooks = module._hooks
    assert hooks is not None
    del hooks.forward_pre[number]
    # As the hook's own handle would do it, which nobody has kept.
    object.__setattr__(module, "_hooked", hooks.of_calls())


def parameter_of(module: Module, name: str, who: str) -> Parameter:
    """Return a module's own parameter; raise where there is none."""
    parameter: Any = module.__dict__.get(name) if name in module._parameter_names else None
    if parameter is None:
        raise ValueError(f"`{who}` cannot be applied: {type(module).__name__} has no parameter `{name}`")
    return parameter  # type: ignore[no-any-return]


def put(module: Module, name: str, value: Any) -> None:
    """Set a plain attribute, which is neither registered nor looked for among what is."""
    object.__setattr__(module, name, value)
