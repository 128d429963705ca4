"""The observer of a layer's weight, along the dim that its channels lie along."""

from __future__ import annotations

from typing import Any

__all__ = ["weight_observer"]


def weight_observer(config: Any, layer: Any) -> Any:
    """Return the observer, or the fake quantization, that a qconfig asks for the weight of a layer.

    Where each channel has a scale of its own, those of a transposed convolution [in, out / groups, …] lie along dim 1.

    >>> import workbench as wb
    >>> config = wb.quantization.get_default_qconfig("x86")
    >>> weight_observer(config, wb.nn.Conv2d(3, 4, 3)).ch_axis
    0
    >>> weight_observer(config, wb.nn.ConvTranspose2d(3, 4, 3)).ch_axis
    1
    """
    made = config.weight()
    observer = getattr(made, "observer", made)
    if getattr(layer, "transposed", False) and getattr(observer, "ch_axis", None) == 0:
        observer.ch_axis = 1
    return made
