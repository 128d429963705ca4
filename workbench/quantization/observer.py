"""Observers: modules that watch values and choose a range for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import DType, as_dtype, float16, float32, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.core.value import new
from workbench.nn import Module
from workbench.quantization.histogram import SPARE, ChannelExtremes, RunningHistogram
from workbench.quantization.noise import Density
from workbench.quantization.observer_base import Array, ObserverBase, PartialObserver
from workbench.quantization.search import choose
from workbench.tensor import Tensor

__all__ = [
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "NoopObserver",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
]

BINS = 2048
"""Bins of a histogram, unless somebody asks for others."""


class _PerTensor(ObserverBase):
    """What observers of one range for all values share."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.qscheme.per_channel:
            raise QuantizationError(
                f"{type(self).__name__} takes per_tensor_affine or per_tensor_symmetric, not {self.qscheme!r}: "
                "use PerChannelMinMaxObserver for a range a channel"
            )
        self.channels = ChannelExtremes()
        """Ends of the channels, known as far as somebody watched."""
        self._beside: RunningHistogram | None = None

    def forward(self, x: Any) -> Any:
        """Take note of `x`, [any dims], and return it."""
        if self.watched() and self.enabled and type(x.payload) is np.ndarray:
            self.channels.look(x.payload, x.dim_labels)
        return super().forward(x)

    def _keep_histogram(self, array: Array, low: float, high: float) -> None:
        """Count values for those who watch; nothing is counted while nobody does."""
        if self.watched():
            if self._beside is None:
                self._beside = RunningHistogram.of(SPARE * BINS)
            self._beside.add(array, low, high)

    def density(self) -> Density | None:
        """Return the distribution of the values seen, or None where it is not known."""
        with self._lock:
            if self._beside is None or self._beside.empty:
                return None
            return Density(*self._beside.used())

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        with self._lock:
            super().reset()
            self._beside = None
            self.channels = ChannelExtremes()

    def _put(self, low: float, high: float) -> None:
        self.min_val.payload = np.array(low, np.float32)
        self.max_val.payload = np.array(high, np.float32)


class MinMaxObserver(_PerTensor):
    """Keeps the least and the greatest value seen.

    >>> import workbench as wb
    >>> observer = MinMaxObserver()
    >>> _ = observer(wb.tensor([[-1.0, 0.5, 2.0], [0.25, 3.0, -4.0]]))
    >>> scale, zero_point = observer.calculate_qparams()
    >>> round(scale.item(), 7), zero_point.item()
    (0.027451, 146)
    """

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: QScheme = QScheme.PER_TENSOR_AFFINE,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
            **settings,
        )  # fmt: skip

    def observe(self, array: Array) -> None:
        """Widen the range to hold this batch."""
        ends = self._extremes(array)
        if ends is None:
            return
        self._put(min(float(self.min_val.payload), ends[0]), max(float(self.max_val.payload), ends[1]))
        self._keep_histogram(array, *ends)


class MovingAverageMinMaxObserver(_PerTensor):
    """Lets the range follow the batches' ends: m ← m + averaging_constant·(batch - m); the first batch sets it."""

    def __init__(self, averaging_constant: float = 0.01, dtype: Any = quint8, **settings: Any) -> None:
        super().__init__(dtype=dtype, **settings)
        if not 0 < averaging_constant <= 1:
            raise QuantizationError(f"averaging_constant lies in (0, 1], and {averaging_constant} was given")
        self.averaging_constant = averaging_constant

    def observe(self, array: Array) -> None:
        """Move the ends towards those of this batch."""
        ends = self._extremes(array)
        if ends is None:
            return
        if not self.has_data:
            self._put(*ends)
        else:
            low, high = self.min_val.payload, self.max_val.payload
            # In float32 at each step, as PyTorch.
            share = np.float32(self.averaging_constant)
            self._put(low + share * (np.float32(ends[0]) - low), high + share * (np.float32(ends[1]) - high))
        self._keep_histogram(array, *ends)


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
        self.ch_axis = ch_axis
        self.min_val.payload = np.zeros(0, np.float32)
        self.max_val.payload = np.zeros(0, np.float32)

    def observe(self, array: Array) -> None:
        """Widen the range of each channel."""
        if not -array.ndim <= self.ch_axis < array.ndim:
            raise QuantizationError(f"ch_axis {self.ch_axis} is out of range for values of {array.ndim} dims")
        rows = np.moveaxis(array, self.ch_axis, 0).reshape(array.shape[self.ch_axis], -1)
        low, high = rows.min(axis=1), rows.max(axis=1)
        # Only then: hardly a batch has values that are not finite.
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            # For its counts of them.
            self._extremes(array)
            finite = np.isfinite(rows)
            low = np.where(finite, rows, np.inf).min(axis=1)
            high = np.where(finite, rows, -np.inf).max(axis=1)
        before = self.min_val.payload
        if before.size and before.shape != low.shape:
            raise QuantizationError(f"{before.size} channels were seen before, and now {low.size}")
        self.min_val.payload = (np.minimum(before, low) if before.size else low).astype(np.float32)
        self.max_val.payload = (np.maximum(self.max_val.payload, high) if before.size else high).astype(
            np.float32
        )

    def observed_range(self) -> tuple[Array, Array]:
        """Return the ends of each channel; a channel without a finite value gets [0, 0]."""
        low, high = super().observed_range()
        # A channel that saw nothing finite still has its ends the wrong way round.
        seen = low <= high
        return np.where(seen, low, 0.0), np.where(seen, high, 0.0)

    @property
    def has_data(self) -> bool:
        """True once a finite value was seen in some channel."""
        return self.min_val.payload.size > 0 and bool(np.any(self.min_val.payload <= self.max_val.payload))

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        with self._lock:
            super().reset()
            self.min_val.payload = np.zeros(0, np.float32)
            self.max_val.payload = np.zeros(0, np.float32)


class HistogramObserver(_PerTensor):
    """Keeps a histogram of the values seen, and searches it for a range.

    By default the search looks for the least squared error that the codes leave, for the number of bits in use: the
    fewer, the more is clipped. `search` may also be ``minmax``, ``percentile`` (99.9 %) or ``kl``.

    >>> import workbench as wb
    >>> four_bits = HistogramObserver(quant_min=0, quant_max=15)
    >>> _ = four_bits(wb.manual_seed(0) and wb.randn(1000))
    >>> low, high = four_bits.range()
    >>> bool(high < four_bits.max_val.item() - 0.3)
    True
    """

    resizable = ("min_val", "max_val", "histogram")
    histogram: Tensor
    edges: Tensor

    def __init__(
        self,
        bins: int = BINS,
        dtype: Any = quint8,
        qscheme: QScheme = QScheme.PER_TENSOR_AFFINE,
        search: str = "l2",
        **settings: Any,
    ) -> None:
        super().__init__(dtype=dtype, qscheme=qscheme, **settings)
        if type(bins) is not int or not 2 <= bins <= 1 << 20:
            raise QuantizationError(f"bins is a whole number from 2 to {1 << 20}, and {bins!r} was given")
        if search not in ("l2", "minmax", "percentile", "kl"):
            raise QuantizationError(f"search is 'l2', 'minmax', 'percentile' or 'kl', not {search!r}")
        self.bins = bins
        self.search = search
        self._chosen: tuple[tuple[int, float, float], float, float] | None = None
        self.register_buffer("histogram", new(np.zeros(SPARE * bins, np.int64)))
        self.register_buffer("edges", new(np.zeros(2, np.float64)))

    def observe(self, array: Array) -> None:
        """Count the values of this batch."""
        ends = self._extremes(array)
        if ends is None:
            return
        self._put(min(float(self.min_val.payload), ends[0]), max(float(self.max_val.payload), ends[1]))
        RunningHistogram(self.histogram.payload, self.edges.payload).add(array, *ends)

    def density(self) -> Density | None:
        """Return the distribution of the values seen, or None before the first."""
        with self._lock:
            running = RunningHistogram(self.histogram.payload, self.edges.payload)
            return None if running.empty else Density(*running.used())

    def observed_range(self) -> tuple[Array, Array]:
        """Return the range that the search finds."""
        if not self.has_data or self.search == "minmax":
            return super().observed_range()
        # With the ends, which a state that is loaded changes without a batch.
        key = self.batches, float(self.min_val.payload), float(self.max_val.payload)
        if self._chosen is None or self._chosen[0] != key:
            density = self.density()
            if density is None:
                return super().observed_range()
            low, high = choose(self.search, density, self.scheme)
            self._chosen = key, low, high
        return np.array(self._chosen[1]), np.array(self._chosen[2])

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        with self._lock:
            super().reset()
            self.histogram.payload[...] = 0
            self.edges.payload[...] = 0
            self._chosen = None


class PlaceholderObserver(Module):
    """Watches nothing and only carries a type, such as float16 for weights that are merely stored so."""

    def __init__(self, dtype: Any = float32, **settings: Any) -> None:
        super().__init__()
        self.dtype: DType = as_dtype(dtype)
        self.settings = settings

    @classmethod
    def with_args(cls, **settings: Any) -> PartialObserver:
        """Return a factory of observers of this kind with the given settings."""
        return PartialObserver(cls, settings)

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Raise: there is nothing to compute scale and zero point from."""
        raise QuantizationError(
            f"calculate_qparams should not be called for {type(self).__name__}: it watches nothing. "
            "Use MinMaxObserver or HistogramObserver."
        )


class NoopObserver(PlaceholderObserver):
    """Watches nothing: weights become float16."""

    def __init__(self, dtype: Any = float16, **settings: Any) -> None:
        super().__init__(dtype, **settings)
