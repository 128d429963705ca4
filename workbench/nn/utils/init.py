"""A module whose parameters nobody has drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from workbench.nn import init
from workbench.nn.module import Module

__all__ = ["skip_init"]

Kind = TypeVar("Kind", bound=Module)


def skip_init(module_cls: Callable[..., Kind], *args: Any, **kwargs: Any) -> Kind:
    """Return ``module_cls(*args, **kwargs)`` without drawing first values, for one that is loaded right after.

    A `device` among the keywords is where its parameters are then. Raises TypeError for what is no class of modules.

    >>> import workbench as wb
    >>> layer = skip_init(wb.nn.Linear, 2, 3)
    >>> layer.weight.shape
    (3, 2)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise TypeError(f"Expected a Module; got {module_cls!r}")
    # Parameters are made on the CPU first, and unfilled memory costs nothing there.
    device = kwargs.pop("device", "cpu")
    with init.skipped():
        module: Any = module_cls(*args, **kwargs)
    return module if device == "cpu" else module.to_empty(device=device)  # type: ignore[no-any-return]
