"""The floating point form of a prepared model, with weights that stay as they were while others train them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from workbench.core import dispatch
from workbench.nn import Module
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.points import floating_twin

__all__ = ["HeldTwin"]


class HeldTwin:
    """A floating point twin of `model`: on its very tensors, or on copies of them once it is trained.

    A measurement takes a while, in which a running cell makes steps: all of it is to be of one moment. `hook` is called
    before each of its layers is.
    """

    def __init__(self, model: Module, hook: Callable[..., None]) -> None:
        self._model, self._hook = model, hook
        self._copies: list[tuple[Any, Any]] = []
        self._have(floating_twin(model))

    def _have(self, module: Any) -> None:
        self.module: Any = module
        for part in module.modules():
            part.register_forward_pre_hook(self._hook)

    def take(self) -> None:
        """Have the weights as they are now; without this they stay as they were, or are the model's own."""
        if not self._copies:
            # From the model once more: what has hooks is not copied, nor is who hears of them.
            shared = floating_twin(self._model)
            own = copy.deepcopy(shared)
            self._copies = list(zip(_tensors(shared), _tensors(own), strict=True))
            self._have(own)
            return
        with dispatch.no_grad():
            for theirs, own in self._copies:
                own.copy_(theirs)


def _tensors(module: Any) -> list[Any]:
    """Those that the twin computes with: it neither observes nor rounds."""
    return [
        one
        for part in module.modules()
        if not isinstance(part, ObserverBase | FakeQuantizeBase)
        for one in (*part.parameters(recurse=False), *part.buffers(recurse=False))
    ]
