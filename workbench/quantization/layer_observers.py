"""Observers on layers: which layers have them, how they are shown what flows by, and how that is switched off."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workbench.nn import Conv2d, Linear, Module
from workbench.quantization.fake_quantize import FakeQuantize
from workbench.quantization.intrinsic import ConvReLU2d, ConvReLUMaxPool2d, LinearReLU, weighted_layer
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.qconfig import QConfig
from workbench.quantization.stubs import QuantStub

__all__ = [
    "WEIGHTED",
    "attach",
    "observer_of",
    "observe_weights",
    "propagate_qconfig",
    "quantizable",
    "unobserved",
]

WEIGHTED: tuple[type, ...] = (Conv2d, Linear, ConvReLU2d, ConvReLUMaxPool2d, LinearReLU)
"""Layers whose weight and output are quantized."""

# By thread: while one measures, another may calibrate.
_observing: contextvars.ContextVar[bool] = contextvars.ContextVar("workbench_observing", default=True)


@contextmanager
def unobserved() -> Iterator[None]:
    """Call prepared models in this block, in this thread, without their observers taking note."""
    token = _observing.set(False)
    try:
        yield
    finally:
        _observing.reset(token)


def _observe(module: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    """Show the output of a layer to its observer; fake quantization returns another output."""
    if not _observing.get():
        return None
    observer = module.activation_post_process
    result = observer(output)
    return result if isinstance(observer, FakeQuantize) else None


def propagate_qconfig(model: Module, qconfig: QConfig | None = None) -> None:
    """Give every module the `qconfig` of the nearest module above that has one; None leaves a part in float."""
    own = model.__dict__.get("qconfig", qconfig)
    object.__setattr__(model, "qconfig", own)
    for child in model.children():
        propagate_qconfig(child, own)


def quantizable(model: Module) -> list[tuple[str, Any]]:
    """Return the layers of `model` that have a qconfig and an integer form, with their paths, in their order."""
    found: list[tuple[str, Any]] = []
    below: set[int] = set()
    for name, module in model.named_modules():
        if id(module) in below or getattr(module, "qconfig", None) is None:
            continue
        # Its parts have a qconfig too, and are quantized as one.
        if isinstance(module, ConvReLU2d | ConvReLUMaxPool2d | LinearReLU):
            below.update(id(part) for part in module.modules())
        if isinstance(module, (*WEIGHTED, QuantStub)):
            found.append((name, module))
    return found


def attach(module: Any) -> None:
    """Give a layer the observers that its qconfig asks for."""
    config = module.qconfig
    module.activation_post_process = config.activation().eval()
    if not isinstance(module, QuantStub):
        module.weight_post_process = config.weight().eval()
    module.register_forward_hook(_observe)


def observer_of(module: Any, what: str = "activation_post_process") -> ObserverBase:
    """Return the observer of a prepared layer's output, or of its weight (``weight_post_process``)."""
    found = getattr(module, what)
    return found.observer if isinstance(found, FakeQuantize) else found


def observe_weights(model: Module) -> None:
    """Show the weights, as they are now, to their observers; what these saw before is forgotten."""
    for _, module in quantizable(model):
        if isinstance(module, QuantStub):
            continue
        observer = observer_of(module, "weight_post_process")
        # Weights may have been trained on, and those of before would widen the range for good.
        observer.reset()
        observer(weighted_layer(module).weight.detach())
