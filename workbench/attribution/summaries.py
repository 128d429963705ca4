"""Statistics over many attributions, one after the other: means, variances and extremes, by class if wanted.

What was seen is not kept: each statistic is read from the same running sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.precision import is_floating
from workbench.base.errors import DimensionError
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = [
    "MSE", "ClassSummarizer", "CommonStats", "Count", "Max", "Mean", "Min", "StdDev", "Sum", "Summarizer", "Var",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Names = tuple[str | None, ...]


@dataclass
class Moments:
    """Running sums over values of one shape, in float64 (Welford 1962)."""

    count: int
    mean: Array
    squares: Array
    """Sum of the squared deviations from the mean."""
    least: Array
    most: Array
    total: Array
    names: Names

    @classmethod
    def of(cls, value: Tensor) -> Moments:
        """Return those of a single value."""
        given = value.detach().numpy(force=True)
        mean = given.astype(np.float64)
        return cls(1, mean, np.zeros_like(mean), given, given, given, value.names)

    def add(self, value: Tensor) -> None:
        """Take one more value in."""
        if value.shape != self.mean.shape:
            raise DimensionError(
                f"what is summarised has one shape, {list(self.mean.shape)} so far; got {list(value.shape)}",
                op="Summarizer",
            )
        given = value.detach().numpy(force=True)
        self.count += 1
        before = given - self.mean
        self.mean = self.mean + before / self.count
        self.squares = self.squares + before * (given - self.mean)
        self.least, self.most = np.minimum(self.least, given), np.maximum(self.most, given)
        self.total = self.total + given


class Stat:
    """A statistic of a `Summarizer`, with the name that it has in the summary."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, moments: Moments) -> Any:
        """Return the statistic."""
        raise TypeError(f"{type(self).__name__} is the base of statistics and has no value; Mean() has")

    def _tensor(self, moments: Moments, array: Array, whole: bool = False) -> Tensor:
        """Return a number a place, in the type of what was seen where that is one of floats, or `whole`."""
        seen = moments.least.dtype
        return new(np.asarray(array, seen if whole or is_floating(seen) else np.float64), moments.names)


class Count(Stat):
    """How many there were."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "count")

    def of(self, moments: Moments) -> int:
        """Return the number."""
        return moments.count


class Mean(Stat):
    """The mean."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "mean")

    def of(self, moments: Moments) -> Tensor:
        """Return the mean; float64 of whole numbers."""
        return self._tensor(moments, moments.mean)


class MSE(Stat):
    """The sum of the squared deviations from the mean, which Captum calls so."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "mse")

    def of(self, moments: Moments) -> Tensor:
        """Return the sum."""
        return self._tensor(moments, moments.squares)


class Var(Stat):
    """The variance, ``Σ (x - mean)² / (n - order)``; 0 of no more than `order` values."""

    def __init__(self, name: str | None = None, order: int = 0) -> None:
        known = {0: "variance", 1: "sample_variance"}
        super().__init__(name or known.get(order, f"variance({order})"))
        self.order = order

    def of(self, moments: Moments) -> Tensor:
        """Return the variance, float64."""
        return new(moments.squares / max(moments.count - self.order, 1), moments.names)


class StdDev(Var):
    """The standard deviation: the root of the variance of that order."""

    def __init__(self, name: str | None = None, order: int = 0) -> None:
        known = {0: "std_dev", 1: "sample_std_dev"}
        super().__init__(name or known.get(order, f"std_dev({order})"), order)

    def of(self, moments: Moments) -> Tensor:
        """Return the deviation, float64."""
        return super().of(moments).sqrt()


class Min(Stat):
    """The least value at each place."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "min")

    def of(self, moments: Moments) -> Tensor:
        """Return the least values."""
        return self._tensor(moments, moments.least, whole=True)


class Max(Stat):
    """The greatest value at each place."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "max")

    def of(self, moments: Moments) -> Tensor:
        """Return the greatest values."""
        return self._tensor(moments, moments.most, whole=True)


class Sum(Stat):
    """The sum."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "sum")

    def of(self, moments: Moments) -> Tensor:
        """Return the sum."""
        return self._tensor(moments, moments.total, whole=True)


def CommonStats() -> list[Stat]:
    """Return the statistics that are asked for most: mean, sample variance and deviation, least and greatest.

    >>> [one.name for one in CommonStats()]
    ['mean', 'sample_variance', 'sample_std_dev', 'min', 'max']
    """
    return [Mean(), Var(order=1), StdDev(order=1), Min(), Max()]


class Summarizer:
    """Summarises the tensors that `update` is given, place by place, by `stats`.

    Of a tuple of tensors each has a summary of its own.

    >>> import workbench as wb
    >>> summarizer = Summarizer([Mean(), Max()])
    >>> for value in (1.0, 2.0, 6.0):
    ...     summarizer.update(wb.tensor([value, 0.0], names=("F",)))
    >>> summarizer.summary["mean"].tolist(), summarizer.summary["max"].names
    ([3.0, 0.0], ('F',))
    """

    def __init__(self, stats: Sequence[Stat]) -> None:
        for one in stats:
            if not isinstance(one, Stat):
                raise TypeError(f"Summarizer takes statistics such as Mean(), got {one!r}")
        self.stats = tuple(stats)
        self._moments: list[Moments] = []
        self._several: bool | None = None

    def update(self, x: Any) -> None:
        """Take in a tensor or a number, or a tuple of them.

        Raises:
            DimensionError: it has another shape, or number of tensors, than what came before.
        """
        several = isinstance(x, tuple)
        values = [one if isinstance(one, Tensor) else Tensor(one) for one in (x if several else (x,))]
        if self._several is not None and (several is not self._several or len(values) != len(self._moments)):
            before = f"a tuple of {len(self._moments)}" if self._several else "one tensor"
            raise DimensionError(
                f"what is summarised was {before} so far; got {f'a tuple of {len(values)}' if several else 'one'}",
                op="Summarizer",
            )
        if self._several is None:
            self._several = several
            self._moments = [Moments.of(one) for one in values]
            return
        for moments, one in zip(self._moments, values, strict=True):
            moments.add(one)

    @property
    def summary(self) -> Any:
        """The statistics by name; a list of such dicts for tuples, None before there was anything."""
        if self._several is None:
            return None
        found = [{one.name: one.of(moments) for one in self.stats} for moments in self._moments]
        return found if self._several else found[0]


class ClassSummarizer(Summarizer):
    """Summarises the samples of batches, all together and by class.

    >>> import workbench as wb
    >>> summarizer = ClassSummarizer([Mean()])
    >>> summarizer.update(wb.tensor([[1.0], [3.0], [5.0]]), labels=["cat", "dog", "cat"])
    >>> summarizer.class_summaries["cat"]["mean"].tolist(), summarizer.summary["mean"].tolist()
    ([3.0], [3.0])
    """

    def __init__(self, stats: Sequence[Stat]) -> None:
        super().__init__(stats)
        self.summaries: defaultdict[Hashable, Summarizer] = defaultdict(lambda: Summarizer(stats))

    def update(self, x: Any, labels: Any = None) -> None:
        """Take in a batch [N, …], or a tuple of them, whose samples have `labels`: one each, or one for all.

        Without labels the batch is summarised as it is.

        Raises:
            DimensionError: there is not one label a sample.
        """
        if labels is None:
            super().update(x)
            return
        values = x if isinstance(x, tuple) else (x,)
        given = labels.tolist() if isinstance(labels, Tensor) else labels
        named = given if isinstance(given, list) else [given]
        samples = values[0].shape[0]
        if len(named) not in (1, samples) or any(one.shape[0] != samples for one in values):
            raise DimensionError(f"{len(named)} labels for {samples} samples", op="ClassSummarizer")
        for sample in range(samples):
            own = tuple(one[sample] for one in values)
            each = own if isinstance(x, tuple) else own[0]
            self.summaries[named[sample % len(named)]].update(each)
            super().update(each)

    @property
    def class_summaries(self) -> dict[Hashable, Any]:
        """The summary of each class."""
        return {label: one.summary for label, one in self.summaries.items()}
