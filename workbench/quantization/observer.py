"""Observers of one range for all values: least and greatest, their moving average, a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.core.value import new
from workbench.quantization.histogram import SPARE, ChannelExtremes, RunningHistogram
from workbench.quantization.noise import Density
from workbench.quantization.observer_base import Array, ObserverBase
from workbench.quantization.schemes import real_number
from workbench.quantization.search import NAMES, Candidate, candidates, choose
from workbench.tensor import Tensor

__all__ = [
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
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
        if self.observing and self.watched() and type(x.payload) is np.ndarray:
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

    def _running(self) -> RunningHistogram | None:
        """Return the histogram that is kept, or None."""
        return self._beside

    def take_values(self, other: ObserverBase) -> None:
        """Take what `other` knows of the values beside their ends, as far as it can be kept here."""
        if isinstance(other, _PerTensor):
            self.channels = other.channels
            running = other._running()
            if running is not None and not running.empty:
                self._take_histogram(running)

    def _take_histogram(self, running: RunningHistogram) -> None:
        self._beside = RunningHistogram(running.counts.copy(), running.edges.copy())

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


def checked_share(averaging_constant: float) -> float:
    """Return the constant of a moving average; raise `QuantizationError` where it is none."""
    if not 0 < real_number(averaging_constant, "averaging_constant=") <= 1:
        raise QuantizationError(f"averaging_constant lies in (0, 1], and {averaging_constant} was given")
    return averaging_constant


def moved(before: Any, now: Any, share: float) -> Any:
    """Return before + share·(now - before) in float32 at each step, as PyTorch."""
    with np.errstate(over="ignore"):
        result = before + np.float32(share) * (now - before)
    if np.isfinite(result).all():
        return result.astype(np.float32, copy=False)
    # Ends that lie further apart than float32 reaches come to the newer one's side within the reach of the type.
    wide = np.asarray(before, np.float64) + share * (np.asarray(now, np.float64) - before)
    return np.where(np.isfinite(result), result, wide).astype(np.float32)


class MovingAverageMinMaxObserver(_PerTensor):
    """Lets the range follow the batches' ends: m ← m + averaging_constant·(batch - m); the first batch sets it."""

    sharing = 1
    """How many values it is shown of each batch, one after the other: their ends together are those of the batch."""

    def __init__(self, averaging_constant: float = 0.01, dtype: Any = quint8, **settings: Any) -> None:
        super().__init__(dtype=dtype, **settings)
        self.averaging_constant = checked_share(averaging_constant)
        self._lately: list[tuple[float, float]] = []
        self._first = False

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        super().reset()
        self._lately, self._first = [], False

    def observe(self, array: Array) -> None:
        """Move the ends towards those of this batch."""
        ends = self._extremes(array)
        if ends is None:
            return
        if self.sharing > 1:
            self._first = not self.has_data or (self._first and len(self._lately) < self.sharing)
            self._lately = [*self._lately[1 - self.sharing :], ends]
            ends = min(low for low, _ in self._lately), max(high for _, high in self._lately)
        if not self.has_data or self._first:
            self._put(*ends)
        else:
            before = np.array((self.min_val.payload, self.max_val.payload), np.float32)
            self._put(*moved(before, np.array(ends, np.float32), self.averaging_constant))
        self._keep_histogram(array, *ends)


class HistogramObserver(_PerTensor):
    """Keeps a histogram of the values seen, and searches it for a range.

    By default the search looks for the least squared error that the codes leave, for the number of bits in use: the
    fewer, the more is clipped. `search` may also be ``mse`` (the same error over a grid of both ends), ``minmax``,
    ``percentile`` (99.9 %) or ``kl``. `candidates` are the ranges that were looked at, with the error of each.

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
        upsample_rate: int | None = None,
        **settings: Any,
    ) -> None:
        # PyTorch spreads a histogram over finer bins when it grows; here counts stay exact, and nothing is spread.
        super().__init__(dtype=dtype, qscheme=qscheme, **settings)
        if type(bins) is not int or not 2 <= bins <= 1 << 20:
            raise QuantizationError(f"bins is a whole number from 2 to {1 << 20}, and {bins!r} was given")
        if search not in NAMES:
            raise QuantizationError(f"search is one of {', '.join(NAMES)}, and {search!r} was given")
        self.bins = bins
        self.search = search
        self._chosen: tuple[tuple[int, float, float], float, float] | None = None
        self.register_buffer("histogram", new(np.zeros(SPARE * bins, np.int64)))
        self.register_buffer("edges", new(np.zeros(2, np.float64)))

    def observe(self, array: Array) -> None:
        """Count the values of this batch."""
        ends = self._seen(*self._running().observe(array))
        if ends is not None:
            self._put(min(float(self.min_val.payload), ends[0]), max(float(self.max_val.payload), ends[1]))

    def density(self) -> Density | None:
        """Return the distribution of the values seen, or None before the first."""
        with self._lock:
            running = self._running()
            return None if running.empty else Density(*running.used())

    def _running(self) -> RunningHistogram:
        return RunningHistogram(self.histogram.payload, self.edges.payload)

    def _take_histogram(self, running: RunningHistogram) -> None:
        # Counts in so many bins are not those in others.
        if len(running.counts) == self.histogram.payload.size:
            self.histogram.payload[...] = running.counts
            self.edges.payload[...] = running.edges

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

    def candidates(self) -> list[Candidate]:
        """Return what each rule of search would choose, with the error of every range that it looked at on its way.

        >>> import workbench as wb
        >>> observer = HistogramObserver(quant_min=0, quant_max=15)
        >>> _ = observer(wb.linspace(-1, 3, 1000))
        >>> [one.rule for one in observer.candidates()]
        ['minmax', 'percentile', 'l2', 'kl', 'mse']
        """
        density = self.density()
        return [] if density is None else candidates(density, self.scheme)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take a state of PyTorch's, too: its bins go from the least value to the greatest, and no edges are kept."""
        names = [f"{prefix}{name}" for name in ("histogram", "min_val", "max_val")]
        own = f"{prefix}edges"
        if own not in state_dict and all(isinstance(state_dict.get(name), Tensor) for name in names):
            counts, low, high = (state_dict[name].detach().numpy().astype(np.float64) for name in names)
            if counts.ndim == 1 and counts.size and low.size == high.size == 1:
                found = RunningHistogram.of(self.histogram.payload.size)
                found.spread(counts, low.item(), high.item())
                state_dict = {**state_dict, names[0]: new(found.counts), own: new(found.edges)}
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        with self._lock:
            super().reset()
            self.histogram.payload[...] = 0
            self.edges.payload[...] = 0
            self._chosen = None
