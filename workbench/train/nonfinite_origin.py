"""Where a value that is not finite came from: the batch, a parameter, a module on the way, or a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.base.random import fork_rng
from workbench.core import dispatch
from workbench.nn import Module
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain
from workbench.train.modes import buffers_of, put_back
from workbench.train.output import tensors_in

__all__ = ["Finding", "of_gradients", "of_loss"]

Finding = tuple[str | None, str]
"""What holds the value, and a sentence on it."""


def _told(value: Any) -> str | None:
    """Return how many values are not finite, in words; None where all are."""
    array = plain(value) if isinstance(value, Tensor) else value
    # V is bfloat16, to NumPy.
    if array.dtype.kind not in "fcV" or np.isfinite(array).all():
        return None
    nan = int(np.isnan(array).sum())
    inf = int(array.size - np.isfinite(array).sum()) - nan
    parts = [f"{count} {word}" for count, word in ((nan, "NaN"), (inf, "inf")) if count]
    return f"{' and '.join(parts)} among {array.size} values"


def of_loss(model: Any, run: Callable[[Any], Any], batch: Any) -> Finding:
    """Say what first held a value that is not finite, going from the batch to the loss.

    `run` computes the loss of the batch once more; the model's buffers and the random streams stay as they are.
    """
    for name, tensor in tensors_in(batch):
        if told := _told(tensor):
            return name, f"The batch itself is to blame: {name} has {told}."
    if isinstance(model, Module):
        # Before the modules: what a parameter holds would come out of every module that uses it.
        for kind, values in (("parameter", model.named_parameters()), ("buffer", model.named_buffers())):
            for name, value in values:
                if told := _told(value):
                    return name, f"The {kind} {name} has {told}."
        if first := _first_module(model, run, batch):
            name, told = first
            return name, f"The first module that gave such values is {name}: its output has {told}."
    return None, "Batch and parameters are finite: look at the loss function, or try a smaller learning rate."


def _first_module(model: Module, run: Callable[[Any], Any], batch: Any) -> tuple[str, str] | None:
    found: list[tuple[str, str]] = []

    def watch(name: str) -> Callable[..., None]:
        def look(module: Any, inputs: Any, output: Any) -> None:
            for _, tensor in tensors_in(output):
                told = _told(tensor)
                # A module is done after those in it, so the first one found is the innermost.
                if told and not found:
                    found.append((name, told))

        return look

    handles = [
        module.register_forward_hook(watch(name or type(model).__name__))
        for name, module in model.named_modules()
    ]
    before = buffers_of(model)
    try:
        with fork_rng(), dispatch.no_grad():
            run(batch)
    finally:
        put_back(before)
        for handle in handles:
            handle.remove()
    return found[0] if found else None


def of_gradients(named: Iterator[tuple[str, Any]]) -> Finding:
    """Say which gradient first held a value that is not finite, on the way back from the loss."""
    gradients = [(name, one.grad) for name, one in named if one.grad is not None]
    bad = [(name, told) for name, gradient in gradients if (told := _told(gradient))]
    if not bad:
        return None, "Every gradient is finite, only their norm is not."
    # The way back goes from the last layer to the first.
    name, told = bad[-1]
    others = f", and {len(bad) - 1} gradients after it" if len(bad) > 1 else ""
    return name, f"On the way back the gradient of {name} is the first: it has {told}{others}."
