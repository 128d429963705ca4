"""One observer in the place of another, while the model runs: what was seen is kept as far as the new one can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.quantization.learnable_fake_quantize import CHANGING, LearnableFakeQuantize
from workbench.quantization.observer import HistogramObserver
from workbench.quantization.observer_base import ObserverBase

__all__ = ["put_in_place", "successor"]


def successor(old: ObserverBase, make: Callable[[], Any], layer: Any = None) -> ObserverBase:
    """Return what `make` makes, with what `old` has seen, and no range set by hand.

    Ends of channels become those of all of them. Ends of all say nothing of channels: of a weight's, `layer` is asked;
    else they begin anew. A histogram is taken over where both have one.
    """
    new = make()
    if not isinstance(new, ObserverBase):
        raise QuantizationError(
            f"an observer takes the place of an observer, and {type(new).__name__} is none"
        )
    with old._lock:
        for name in ("batches", "nan_count", "inf_count", "serial", "names", "enabled"):
            setattr(new, name, getattr(old, name))
        low, high = old.min_val.payload, old.max_val.payload
        if new.qscheme.per_channel == old.qscheme.per_channel:
            new.min_val.payload, new.max_val.payload = low.copy(), high.copy()
        elif old.has_data and not new.qscheme.per_channel:
            new.min_val.payload, new.max_val.payload = np.asarray(low.min()), np.asarray(high.max())
        new.take_values(old)
        new.train(old.training)
    uncounted = isinstance(new, HistogramObserver) and new.density() is None
    if layer is not None and (uncounted or not new.has_data):
        batches = new.batches
        new(layer.weight.detach())
        new.batches = batches
    # Who keeps figures by these numbers must not take the old ones for those of now.
    new.version, new.data_version = old.version + 1, old.data_version + 1
    return new


def put_in_place(model: Any, old: ObserverBase, new: ObserverBase) -> None:
    """Put `new` wherever `model` has `old`; the next call of the model shows it what it has shown the other.

    Raises `QuantizationError`, and changes nothing, where scales are learned and `new` has another number of them.
    """
    held = [
        (module, name)
        for module in model.modules()
        for name, child in module.named_children()
        if child is old
    ]
    learned = [module for module, _ in held if isinstance(module, LearnableFakeQuantize)]
    with CHANGING:
        for module in learned:
            module.check_follower(new)
        for module, name in held:
            setattr(module, name, new)
        for module in learned:
            module.take_range()
