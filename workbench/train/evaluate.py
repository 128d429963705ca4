"""How well a model does on data that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core import dispatch
from workbench.ops.nn.loss.cross_entropy import cross_entropy
from workbench.quantization import unobserved
from workbench.train.metrics import Accuracy, Metric, MetricLike, collect, numbers_of
from workbench.train.modes import mode
from workbench.train.output import Output, as_output
from workbench.train.position import check_loader

__all__ = ["Evaluation", "evaluate", "measure"]


@dataclass(frozen=True)
class Evaluation(Mapping[str, Any]):
    """The outcome of an evaluation: the loss and the metrics by name. As a number it is the accuracy."""

    loss: float
    """Mean over the samples."""
    count: int
    """Number of samples."""
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Fraction that was right."""
        return float(self["accuracy"])

    @property
    def numbers(self) -> dict[str, float]:
        """What is one number, by name; a confusion matrix is none."""
        return numbers_of(self)

    def __float__(self) -> float:
        return self.accuracy

    def __getitem__(self, name: str) -> Any:
        if name == "loss":
            return self.loss
        if name not in self.metrics:
            raise KeyError(f"{name!r} was not measured; there are {', '.join(self)}")
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("loss", *self.metrics))

    def __len__(self) -> int:
        return 1 + len(self.metrics)

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())
        return f"{figures} ({self.count} samples)"


def measure(
    model: Any,
    step: Callable[[Any], Any],
    loader: Any,
    metrics: Mapping[str, Metric],
    *,
    sums: bool = False,
    each: Callable[[], Any] | None = None,
) -> Evaluation:
    """Go over `loader` in evaluation mode, without gradients; ValueError where there is no sample.

    `step` gives what a training step gives; `sums` says that its losses are sums, not means. `each` is called after
    every batch.
    """
    check_loader("loader", loader)
    for metric in metrics.values():
        metric.reset()
    count, total = 0, 0.0
    # What a model is measured by must not move its ranges.
    with mode(model, training=False), dispatch.no_grad(), unobserved():
        for batch in loader:
            output: Output = as_output(step(batch), batch)
            samples = output.count
            # A mean counts for its samples: the last batch is often smaller.
            total += output.loss.item() * (1 if sums else samples)
            count += samples
            for metric in metrics.values():
                metric.take(output)
            if each is not None:
                each()
    if count == 0:
        raise ValueError("there is nothing to evaluate: the loader gave no batch")
    return Evaluation(total / count, count, {name: metric.compute() for name, metric in metrics.items()})


def evaluate(
    model: Any,
    loader: Any,
    loss: Callable[[Any, Any], Any] = cross_entropy,
    *,
    metrics: MetricLike | list[MetricLike] | dict[str, MetricLike] | None = None,
) -> Evaluation:
    """Measure the mean loss and the metrics, by default the accuracy, over all batches (input, target) of `loader`.

    The model is put into evaluation mode meanwhile. Raises ValueError where there is no sample.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.eye(3, names=("N", "C")), wb.arange(3, names=("N",)))
    >>> evaluate(wb.nn.Identity(), wb.data.DataLoader(data, batch_size=2)).accuracy
    1.0
    """

    def step(batch: Any) -> Output:
        *inputs, targets = batch
        predictions = model(*inputs)
        return Output(loss(predictions, targets), predictions, targets)

    found = collect([Accuracy()] if metrics is None else metrics)
    return measure(model, step, loader, found, sums=getattr(loss, "reduction", "mean") == "sum")
