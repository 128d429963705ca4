"""What becomes of pictures when a cell of the notebook has ended: the last state is drawn, without a rest."""

from __future__ import annotations

from typing import Any

from workbench.base.listeners import Listeners
from workbench.live.registry import Registry
from workbench.live.throttle import Throttle

__all__ = ["ended", "settle"]

ended: Listeners[[Any, dict[str, Any]]] = Listeners()
"""Told of every cell that has ended: what IPython says of it (its ``ExecutionResult``), and the program's variables."""


def settle(registry: Registry, throttle: Throttle) -> None:
    """Bring all pictures up to date: while the cell ran, the work went before them, and now there is none.

    Without this the last figures of a run would wait for as long as costly pictures rest.
    """
    for model in registry.known():
        model.settle()
    throttle.hurry()
