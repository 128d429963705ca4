"""Metrics that go along with the batches: they add up counts and sums, and weigh every sample the same."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError
from workbench.core import dispatch
from workbench.core.value import dims_of, labelled
from workbench.ops.nn.loss.cross_entropy import cross_entropy
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = [
    "Accuracy",
    "ConfusionMatrix",
    "MeanAbsoluteError",
    "MeanLoss",
    "Metric",
    "MetricLike",
    "Perplexity",
    "TopKAccuracy",
    "collect",
    "numbers_of",
]

Array = np.ndarray[Any, Any]


class Metric:
    """Base of metrics: `update` with batches, `compute` what they come to, `reset`.

    What is added up lies in the attributes that `sums` names: numbers or arrays, zero at the start.

    >>> import workbench as wb
    >>> right = Accuracy()
    >>> right.update(wb.eye(3, names=("N", "C")), wb.tensor([0, 1, 0], names=("N",)))
    >>> round(right.compute(), 3)
    0.667
    """

    name: str = "metric"
    """What it is called in a history."""
    mode: str = "max"
    """Whether more is better (``"max"``) or less (``"min"``)."""
    sums: tuple[str, ...] = ("total", "count")
    total: Any = 0.0
    count: int = 0

    def update(self, predictions: Any, targets: Any) -> None:
        """Take one batch; every metric has its own rule."""
        raise TypeError(f"{type(self).__name__} has no rule: define update(self, predictions, targets)")

    def take(self, output: Any) -> None:
        """Take what a training step gave; most look at its predictions and targets."""
        if output.predictions is not None and output.targets is not None:
            self.update(output.predictions, output.targets)

    def compute(self) -> Any:
        """Return what the batches so far come to; NaN where there were none."""
        return self.total / self.count if self.count else math.nan

    def reset(self) -> None:
        """Forget all batches."""
        for name in self.sums:
            # What then shows is the class's own zero.
            self.__dict__.pop(name, None)

    def state_dict(self) -> dict[str, Any]:
        """Return what has been added up."""
        return {name: copy.copy(getattr(self, name)) for name in self.sums}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was."""
        found = {name: state_dict[name] for name in self.sums}
        for name, value in found.items():
            setattr(self, name, value.numpy() if isinstance(value, Tensor) else value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}={self.compute()})"


class Accuracy(Metric):
    """Fraction of the samples whose largest score is that of their label: scores [N, C, *] or [*, C], labels [N, *].

    Labels that equal `ignore_index` do not count. Raises `DimensionError` for other shapes.
    """

    name = "accuracy"
    total = 0

    def __init__(self, *, ignore_index: int = -100) -> None:
        self.ignore_index = ignore_index

    def update(self, predictions: Any, targets: Any) -> None:
        """Count the samples, and those that are right."""
        scores, labels = _scores(predictions, targets, self.name)
        kept = labels != self.ignore_index
        self.total += int(np.count_nonzero((scores.argmax(-1) == labels) & kept))
        self.count += int(np.count_nonzero(kept))


class TopKAccuracy(Metric):
    """Fraction of the samples whose label is among the `k` largest scores; equal scores count as larger."""

    total = 0

    def __init__(self, k: int = 5, *, ignore_index: int = -100) -> None:
        if k < 1:
            raise ValueError(f"k must be 1 or more, got {k}")
        self.k, self.ignore_index = k, ignore_index
        self.name = f"top{k}"

    def update(self, predictions: Any, targets: Any) -> None:
        """Count the samples, and those with few scores above that of their label."""
        scores, labels = _scores(predictions, targets, self.name)
        kept = labels != self.ignore_index
        scores, labels = scores[kept], labels[kept].astype(np.int64)
        own = np.take_along_axis(scores, labels[:, None], axis=1)
        # A score is not below itself. Other equal ones count against the label, as ties are no merit.
        ahead = (scores >= own).sum(1) - 1
        # NaN is below nothing, and so would be ahead of nobody: it must not count as a hit.
        self.total += int(np.count_nonzero((ahead < self.k) & np.isfinite(own[:, 0])))
        self.count += len(labels)


class MeanLoss(Metric):
    """Mean of the loss over the samples: `update` with the loss of a batch and the number of its samples."""

    name = "loss"
    mode = "min"

    def update(self, predictions: Any, targets: Any) -> None:
        """Take a loss and a number of samples."""
        loss = predictions.item() if isinstance(predictions, Tensor) else predictions
        self.total += float(loss) * int(targets)
        self.count += int(targets)

    def take(self, output: Any) -> None:
        """Take the loss of a training step."""
        self.update(output.loss, output.count)


class Perplexity(Metric):
    """exp of the mean cross entropy: scores [N, C, *] or [*, C], labels [N, *], every label weighed the same."""

    name = "perplexity"
    mode = "min"

    def __init__(self, *, ignore_index: int = -100) -> None:
        self.ignore_index = ignore_index

    def update(self, predictions: Any, targets: Any) -> None:
        """Add up the cross entropy of the labels."""
        scores, labels = _scores(predictions, targets, self.name)
        with dispatch.no_grad():
            # In float64, for the sum grows with the data.
            flat = from_numpy(scores.reshape(-1, scores.shape[-1]).astype(np.float64))
            loss = cross_entropy(
                flat, from_numpy(labels.reshape(-1)), reduction="sum", ignore_index=self.ignore_index
            )
        self.total += float(loss.item())
        self.count += int(np.count_nonzero(labels != self.ignore_index))

    def compute(self) -> float:
        """Return the perplexity so far."""
        mean = super().compute()
        # exp of more than 709 is beyond float64.
        return math.exp(mean) if mean < 700 else math.inf if mean == mean else math.nan


class MeanAbsoluteError(Metric):
    """Mean of |prediction - target| over all values of both, which have one shape."""

    name = "mean_absolute_error"
    mode = "min"

    def update(self, predictions: Any, targets: Any) -> None:
        """Add up the distances."""
        first, second = _array(predictions), _array(targets)
        # [N] against [N, 1] would be broadcast to [N, N], and give a number without a word.
        if first.shape != second.shape:
            raise DimensionError(
                "the mean absolute error is between two of one shape.",
                op=self.name,
                operands=_operands(predictions, targets),
                fix="predictions.squeeze(-1)" if first.shape == (*second.shape, 1) else "",
            )
        # In float64 before the difference: unsigned whole numbers would wrap around below 0.
        self.total += float(np.abs(first.astype(np.float64) - second).sum())
        self.count += first.size


class ConfusionMatrix(Metric):
    """How often samples of one class were taken for another: counts [target, prediction]."""

    name = "confusion"
    sums = ("total",)
    total: Any = None

    def __init__(self, classes: int | None = None, *, ignore_index: int = -100) -> None:
        self.classes, self.ignore_index = classes, ignore_index

    def update(self, predictions: Any, targets: Any) -> None:
        """Count the pairs."""
        scores, labels = _scores(predictions, targets, self.name)
        classes = scores.shape[-1] if self.classes is None else self.classes
        kept = labels != self.ignore_index
        found, labels = scores.argmax(-1)[kept], labels[kept].astype(np.int64)
        if labels.size and not (0 <= labels.min() and max(labels.max(), found.max()) < classes):
            raise ValueError(f"{self.name}: labels are from 0 to {classes - 1}, got {labels.max()}")
        # A pair as one number, so that one pass counts them all.
        counts = np.bincount(labels * classes + found, minlength=classes * classes).reshape(classes, classes)
        self.total = counts if self.total is None else self.total + counts

    def compute(self) -> Any:
        """Return the counts so far, int64 [target, prediction]; the dims are labelled so."""
        counts = np.zeros((self.classes or 0,) * 2, np.int64) if self.total is None else self.total
        return labelled(from_numpy(np.array(counts, np.int64)), ("target", "prediction"))

    def __repr__(self) -> str:
        return f"ConfusionMatrix(classes={self.classes or 'as many as there are scores'})"


class _Mean(Metric):
    """The mean over the samples of what a function of predictions and targets gives."""

    def __init__(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        self.name, self.function = name, function

    def update(self, predictions: Any, targets: Any) -> None:
        """Add up the function's values, each for as many samples as the batch has."""
        with dispatch.no_grad():
            value = self.function(predictions, targets)
        count = _array(targets).shape[0] if _array(targets).shape else 1
        self.total += float(value.item() if isinstance(value, Tensor) else value) * count
        self.count += count


MetricLike = Metric | str | Callable[[Any, Any], Any]
KNOWN: dict[str, Callable[[], Metric]] = {
    "accuracy": Accuracy,
    "top5": TopKAccuracy,
    "perplexity": Perplexity,
    "mean_absolute_error": MeanAbsoluteError,
    "confusion": ConfusionMatrix,
}
"""What a metric can be asked for by its name."""


def collect(asked: MetricLike | Iterable[MetricLike] | Mapping[str, MetricLike] | None) -> dict[str, Metric]:
    """Return metrics by name: of metrics, words that `KNOWN` has, and functions (predictions, targets).

    >>> list(collect(["accuracy", TopKAccuracy(2)]))
    ['accuracy', 'top2']
    """
    if asked is None:
        return {}
    if isinstance(asked, Mapping):
        found = {name: _metric(one, name) for name, one in asked.items()}
    else:
        several = [asked] if isinstance(asked, Metric | str) or callable(asked) else list(asked)
        made = [_metric(one, getattr(one, "__name__", "metric")) for one in several]
        found = {one.name: one for one in made}
        if len(found) < len(made):
            raise ValueError(f"two metrics are called the same: {[one.name for one in made]}. Give a dict")
    if "loss" in found:
        raise ValueError("the mean loss is always measured, as 'loss': call this metric otherwise")
    return found


def _metric(asked: MetricLike, name: str) -> Metric:
    if isinstance(asked, str):
        if asked not in KNOWN:
            near = near_miss(asked, KNOWN)
            raise ValueError(
                f"there is no metric {asked!r}; there are {', '.join(KNOWN)}"
                + (f". Did you mean {near!r}?" if near else "")
            )
        return KNOWN[asked]()
    if isinstance(asked, Metric):
        return asked
    if isinstance(asked, type):
        raise TypeError(
            "a metric is a Metric, its name or a function(predictions, targets), got the class "
            f"{asked.__name__} itself: make one, {asked.__name__}()"
        )
    if not callable(asked):
        raise TypeError(f"a metric is a Metric, its name or a function(predictions, targets), got {asked!r}")
    return _Mean(name, asked)


def numbers_of(values: Mapping[str, Any]) -> dict[str, float]:
    """Return by name what is one number, be it Python's, NumPy's or a tensor; a confusion matrix is none."""
    return {
        name: float(_array(value).item())
        for name, value in values.items()
        if isinstance(value, bool | int | float | np.generic | np.ndarray | Tensor)
        and _array(value).size == 1
        and _array(value).dtype.kind in "biuf"
    }


def _array(value: Any) -> Array:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _operands(predictions: Any, targets: Any) -> tuple[Any, ...]:
    pair = (("predictions", predictions), ("targets", targets))
    return tuple(dims_of(one).operand(label) for label, one in pair if isinstance(one, Tensor))


def _scores(predictions: Any, targets: Any, name: str) -> tuple[Array, Array]:
    """Return scores with the classes last, and the labels: classes are the second dim, or the last."""
    for one in (predictions, targets):
        if isinstance(one, Mapping | tuple):
            raise TypeError(
                f"{name} compares one tensor of scores with one of labels, and this is a {type(one).__name__}: pass a "
                "function of predictions and targets that takes its part, metrics={'name': function}"
            )
    scores, labels = _array(predictions), _array(targets)
    if scores.ndim == labels.ndim + 1 and scores.ndim > 1:
        names = getattr(predictions, "_names", None)
        own = getattr(targets, "_names", None)
        second = scores.shape[:1] + scores.shape[2:] == labels.shape
        last = scores.shape[:-1] == labels.shape
        if second and last and names and own:  # sizes leave it open, names may tell
            second = names[:1] + names[2:] == own or names[:-1] != own
        if second:
            return np.moveaxis(scores, 1, -1), labels
        if last:
            return scores, labels
    raise DimensionError(
        "scores are [N, classes] and labels [N], with the same dims after N in both, or before the classes. Where "
        "there is one score a sample, a function measures it.",
        op=name,
        operands=_operands(predictions, targets),
        fix="metrics={'accuracy': lambda scores, labels: ((scores > 0) == (labels > 0)).float().mean()}"
        if scores.shape == labels.shape
        else "",
    )
