"""A look at every layer during one step: its gradient, how far it moved, and which units never fire."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.nn import Module, ReLU
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain
from workbench.train.payload import StripName

__all__ = ["LayerWatch"]


class LayerWatch:
    """Watches one batch and one step of a model; make it before the batch, close it or ask it after the step.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU())
    >>> watch = LayerWatch(model)
    >>> _ = model(wb.zeros(4, 2)); watch.before_step()
    >>> model[0].weight.detach().mul_(1.5) is None
    False
    >>> {name: list(layers) for name, layers in watch.after_step().items()}
    {'update / weight': ['0'], 'gradient norm': [], 'dead units': ['1']}
    """

    def __init__(self, model: Module) -> None:
        self._layers = [
            (
                name or type(model).__name__,
                [one for one in module.parameters(recurse=False) if one.requires_grad],
            )
            for name, module in model.named_modules()
        ]
        self._dead: dict[str, float] = {}
        self._gradients: dict[str, float] = {}
        self._before: dict[int, Any] = {}
        self._handles = [
            module.register_forward_hook(self._look(name or type(model).__name__))
            for name, module in model.named_modules()
            if isinstance(module, ReLU)
        ]

    def _look(self, name: str) -> Any:
        def look(module: Any, inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.ndim:
                self._dead[name] = dead_fraction(output)

        return look

    def before_step(self) -> None:
        """Keep the weights as they are and the norms of their gradients, and look at activations no longer."""
        # The layers were looked at for this step alone: at others it would only cost time.
        self.close()
        for name, parameters in self._layers:
            for one in parameters:
                # A copy, for the step writes into it.
                self._before[id(one)] = plain(one).copy()
            gradients = [one.grad for one in parameters if one.grad is not None]
            if gradients:
                self._gradients[name] = math.sqrt(sum(_square(plain(one)) for one in gradients))

    def after_step(self) -> dict[StripName, dict[str, float]]:
        """Return ‖change‖ / ‖weights‖, the norm of the gradients, and the fraction of dead units, each by layer.

        Gradients are those that the optimizer had: clipped, if they are.
        """
        updates = {}
        for name, parameters in self._layers:
            moved = size = 0.0
            for one in parameters:
                old, now = self._before[id(one)], plain(one)
                moved += _square(now - old)
                size += _square(old)
            if parameters:
                updates[name] = math.sqrt(moved / size) if size else math.nan
        return {
            "update / weight": updates,
            "gradient norm": dict(self._gradients),
            "dead units": dict(self._dead),
        }

    def close(self) -> None:
        """Look at activations no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def _square(array: Any) -> float:
    # Squares of half-precision values overflow. In the order of memory, which copies nothing that is dense.
    flat = array.astype(np.float32, copy=False).ravel(order="K")
    return float(np.vdot(flat, flat))


def dead_fraction(output: Tensor) -> float:
    """Return the fraction of units that are 0 for the whole batch: of channels, or of the last dim.

    >>> import workbench as wb
    >>> dead_fraction(wb.tensor([[0.0, 1.0], [0.0, 0.0]]))
    0.5
    """
    names = output._names
    array = plain(output)
    # Units of images are their channels, those of rows and sequences come last.
    unit = names.index("C") if names and "C" in names else 1 if array.ndim > 3 else array.ndim - 1
    highest = array.max(axis=tuple(axis for axis in range(array.ndim) if axis != unit))
    # Behind a ReLU nothing is below 0.
    return float(np.mean(highest <= 0))
