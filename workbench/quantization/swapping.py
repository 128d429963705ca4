"""Modules in the place of others, under every name that these have in a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.nn import Module

__all__ = ["put", "put_all"]


def put(model: Module, path: str, made: Any) -> None:
    """Put a module in the place of the one at `path`, in place: what stands under several names does so afterwards.

    >>> import workbench as wb
    >>> shared = wb.nn.Linear(2, 2)
    >>> model = wb.nn.Sequential(shared, wb.nn.ReLU(), shared)
    >>> put(model, "0", wb.nn.Identity())
    >>> model[0] is model[2]
    True
    """
    put_all(model, {path: made})


def put_all(model: Module, made: Mapping[str, Any]) -> None:
    """Put several modules in the places of those at their paths."""
    instead = {id(model.get_submodule(path)): one for path, one in made.items()}
    gone: set[str] = set()
    for path, module in [*model.named_modules(remove_duplicate=False)]:
        above = path.rpartition(".")[0]
        # What stood in a module that was replaced has gone with it.
        if above in gone:
            gone.add(path)
        elif path and id(module) in instead:
            model.set_submodule(path, instead[id(module)])
            gone.add(path)
