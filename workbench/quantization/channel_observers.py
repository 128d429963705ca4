"""Observers of a range for each entry of a dim, such as the channels of a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import quint8
from workbench.base.errors import QuantizationError, short
from workbench.base.quantized_array import QScheme
from workbench.quantization.histogram import row_extremes
from workbench.quantization.observer import checked_share, moved
from workbench.quantization.observer_base import Array, ObserverBase

__all__ = ["MovingAveragePerChannelMinMaxObserver", "PerChannelMinMaxObserver"]


def _rows(array: Array, axis: int) -> Array:
    """Return values as rows, one an entry of `axis`, the other dims in the order in which they lie: mostly no copy."""
    others = [place for place in range(array.ndim) if place != axis]
    others.sort(key=lambda place: -abs(array.strides[place]))
    return array.transpose(axis, *others).reshape(array.shape[axis], -1)


class PerChannelMinMaxObserver(ObserverBase):
    """Keeps the least and the greatest value of each entry of the dim `ch_axis`, such as a weight's channels.

    >>> import workbench as wb
    >>> observer = PerChannelMinMaxObserver(ch_axis=0, dtype=wb.qint8, qscheme=wb.per_channel_symmetric)
    >>> _ = observer(wb.tensor([[1.0, -2.0], [0.5, 0.25]]))
    >>> observer.min_val.tolist(), observer.max_val.tolist()
    ([-2.0, 0.25], [1.0, 0.5])
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = quint8,
        qscheme: QScheme = QScheme.PER_CHANNEL_AFFINE,
        **settings: Any,
    ) -> None:
        super().__init__(dtype=dtype, qscheme=qscheme, **settings)
        if not self.qscheme.per_channel:
            raise QuantizationError(
                f"PerChannelMinMaxObserver takes per_channel_affine or per_channel_symmetric, not {self.qscheme!r}"
            )
        if not isinstance(ch_axis, int | np.integer):
            raise QuantizationError(
                f"ch_axis= is the place of a dim, a whole number, and {short(ch_axis)} was given"
            )
        self.ch_axis = ch_axis
        self.min_val.payload = np.zeros(0, np.float32)
        self.max_val.payload = np.zeros(0, np.float32)

    def forward(self, x: Any, factor: Any = None) -> Any:
        """Take note of `x`, [any dims], and return it; with a `factor` for each channel, of their product.

        A product is rounded monotonously: its ends are those of `x` times the factor, and it is not computed for them.
        """
        if factor is None:
            return super().forward(x)
        if self.observing and x.payload.size:
            self._note(x, self._observe_scaled, x.payload, factor.payload)
        return x

    def observe(self, array: Array) -> None:
        """Widen the range of each channel."""
        self._take_ends(*self._ends(array))

    def _observe_scaled(self, array: Array, factor: Array) -> None:
        nan, inf = self.nan_count, self.inf_count
        with np.errstate(over="ignore", invalid="ignore"):
            one, other = (ends * factor for ends in self._ends(array))
        low, high = np.minimum(one, other), np.maximum(one, other)
        if (
            np.isfinite(low).all()
            and np.isfinite(high).all()
            and (nan, inf) == (self.nan_count, self.inf_count)
        ):
            self._take_ends(low, high)
            return
        # What is not finite is counted and left out, value by value.
        self.nan_count, self.inf_count = nan, inf
        shape = [-1 if place == self.ch_axis % array.ndim else 1 for place in range(array.ndim)]
        with np.errstate(over="ignore", invalid="ignore"):
            self.observe(array * factor.reshape(shape))

    def _take_ends(self, low: Array, high: Array) -> None:
        """Widen the range of each channel by the ends of a batch."""
        before = self.min_val.payload
        if before.size:
            low, high = np.minimum(before, low), np.maximum(self.max_val.payload, high)
        self.min_val.payload, self.max_val.payload = low, high

    def _ends(self, array: Array) -> tuple[Array, Array]:
        """Return least and greatest finite value of each channel, ∞ and -∞ where there is none."""
        if not -array.ndim <= self.ch_axis < array.ndim:
            raise QuantizationError(f"ch_axis {self.ch_axis} is out of range for values of {array.ndim} dims")
        axis = self.ch_axis % array.ndim
        before = self.min_val.payload
        if before.size and before.size != array.shape[axis]:
            raise QuantizationError(
                f"{before.size} channels were seen before, and now {array.shape[axis]}: an observer goes with one "
                f"layer, and ch_axis={self.ch_axis} must be the dim of its channels"
            )
        low, high, nan, inf = row_extremes(_rows(array, axis))
        self.nan_count += nan
        self.inf_count += inf
        return low.astype(np.float32), high.astype(np.float32)

    def observed_range(self) -> tuple[Array, Array]:
        """Return the ends of each channel; a channel without a finite value gets [0, 0]."""
        low, high = super().observed_range()
        # A channel that saw nothing finite still has its ends the wrong way round.
        seen = low <= high
        return np.where(seen, low, 0.0), np.where(seen, high, 0.0)

    @property
    def has_data(self) -> bool:
        """True once a finite value was seen in some channel."""
        return self.min_val.payload.size > 0 and bool((self.min_val.payload <= self.max_val.payload).any())

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        with self._lock:
            super().reset()
            self.min_val.payload = np.zeros(0, np.float32)
            self.max_val.payload = np.zeros(0, np.float32)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Lets the range of each channel follow the batches' ends: m ← m + averaging_constant·(batch - m).

    >>> import workbench as wb
    >>> observer = MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5, dtype=wb.qint8)
    >>> for values in ([[1.0, -2.0]], [[3.0, 0.0]]):
    ...     _ = observer(wb.tensor(values))
    >>> observer.min_val.tolist(), observer.max_val.tolist()
    ([-1.0], [2.0])
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = quint8,
        qscheme: QScheme = QScheme.PER_CHANNEL_AFFINE,
        **settings: Any,
    ) -> None:
        super().__init__(ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, **settings)
        self.averaging_constant = checked_share(averaging_constant)

    def _take_ends(self, low: Array, high: Array) -> None:
        """Move the ends of each channel towards those of a batch."""
        before, above = self.min_val.payload, self.max_val.payload
        if before.size:
            with np.errstate(invalid="ignore"):
                nearer, further = (
                    moved(before, low, self.averaging_constant), moved(above, high, self.averaging_constant)
                )  # fmt: skip
            known, seen = before <= above, low <= high
            if known.all() and seen.all():
                low, high = nearer, further
            else:
                # What has no finite value in this batch, or had none before, has nothing to move from.
                both = known & seen
                low = np.where(both, nearer, np.where(known, before, low))
                high = np.where(both, further, np.where(known, above, high))
        self.min_val.payload, self.max_val.payload = low, high
