"""Training and evaluation mode for a while, and buffers taken down and put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.nn import Module

__all__ = ["buffers_of", "mode", "put_back"]


@contextmanager
def mode(model: Any, training: bool) -> Iterator[None]:
    """Have a model train, or not, in this block; afterwards each of its modules does what it did before."""
    # Of every module, for a part of the model may be kept in evaluation mode while the rest learns.
    before = [(module, module.training) for module in model.modules()] if isinstance(model, Module) else []
    try:
        if isinstance(model, Module):
            model.train(training)
        yield
    finally:
        for module, was in before:
            module.training = was


Buffers = list[tuple[Any, Any, Any]]


def buffers_of(model: Any) -> Buffers:
    """Return the buffers of a model, such as running means, with their values of now."""
    buffers = model.buffers() if isinstance(model, Module) else ()
    return [
        # The array, too: a step may put another one into the buffer, and this one is shared with views.
        (buffer, buffer.payload, buffer.payload.copy())
        for buffer in buffers
        if isinstance(buffer.payload, np.ndarray)
    ]


def put_back(buffers: Buffers) -> None:
    """Give buffers the values that they had, in the memory that they had."""
    for buffer, array, values in buffers:
        np.copyto(array, values)
        buffer.payload = array
        buffer._version += 1
