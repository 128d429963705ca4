"""An observer of a weight whose scale is settled: what it is shown changes nothing any more."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.value import new
from workbench.quantization.observer_base import Array, ObserverBase
from workbench.tensor import Tensor

__all__ = ["SettledObserver"]


class SettledObserver(ObserverBase):
    """Has the scale and the zero point that another observer had found, for good.

    A weight whose codes were chosen lies on their grid. Its ends need not be those of the weight before, and a range
    that was observed anew would be another grid.

    >>> import workbench as wb
    >>> found = wb.quantization.MinMaxObserver()
    >>> _ = found(wb.tensor([-1.0, 1.0]))
    >>> settled = SettledObserver(found)
    >>> _ = settled(wb.tensor([-8.0, 8.0]))
    >>> settled.calculate_qparams()[0].item() == found.calculate_qparams()[0].item()
    True
    """

    settled_scale: Tensor
    settled_zero_point: Tensor

    def __init__(self, found: ObserverBase) -> None:
        super().__init__(
            dtype=found.dtype, qscheme=found.qscheme, quant_min=found.quant_min, quant_max=found.quant_max
        )
        self.scheme = found.scheme
        if found.qscheme.per_channel:
            self.ch_axis = int(getattr(found, "ch_axis", 0))
        scale, zero = found.qparams()
        self.min_val.payload, self.max_val.payload = (np.array(one, np.float32) for one in found.range())
        self.register_buffer("settled_scale", new(np.array(scale, np.float32)))
        self.register_buffer("settled_zero_point", new(np.array(zero, np.int64)))

    def observe(self, array: Array) -> None:
        """Count what is not finite; the scale stays."""
        self._extremes(array)

    def reset(self) -> None:
        """Keep what is settled."""

    def qparams(self) -> tuple[Array, Array]:
        """Return the settled scale and zero point."""
        return self.settled_scale.payload, self.settled_zero_point.payload

    def extra_repr(self) -> str:
        """Return what it holds."""
        many: Any = self.settled_scale.payload.size
        return f"settled, {many} scale{'s' if many > 1 else ''}"
