"""What belongs to which samples of a batch: labels, rows of tensors, and what a model predicts of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.layer.activation import LayerActivation
from workbench.attribution.metrics.scoring import repeated
from workbench.core.dispatch import no_grad
from workbench.tensor import Tensor

__all__ = ["by_sample", "checked_labels", "each", "predicted", "repeated_by_sample", "rows_of", "strongest"]

Array = np.ndarray[Any, Any]

ROWS = 64
"""So many samples go through a model at once to see what it predicts."""


def each(name: str, values: Any, samples: int) -> Any:
    """Return `values`, of which there must be one for each of the samples."""
    if len(values) != samples:
        raise ValueError(f"{len(values)} {name} for {samples} samples: give one for each")
    return values


def checked_labels(labels: Any, samples: int) -> Array | None:
    """Return true classes as an array [samples] of whole numbers; None where they are not known."""
    if labels is None:
        return None
    array = np.asarray(labels.numpy() if isinstance(labels, Tensor) else labels)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError(
            f"labels are whole numbers, one for each sample; got {array.dtype} {list(array.shape)}"
        )
    each("labels", array, samples)
    return array


def by_sample(value: Any, samples: int) -> bool:
    """Say whether something is a tensor with an entry for each of the samples.

    >>> by_sample(Tensor([[1.0], [2.0]]), 2), by_sample(Tensor([[1.0]]), 2), by_sample(3, 2)
    (True, False, False)
    """
    return isinstance(value, Tensor) and value.ndim > 0 and value.shape[0] == samples


def rows_of(values: Any, rows: Sequence[int], samples: int) -> Any:
    """Return what belongs to `rows` of the samples: of each tensor with an entry for each sample, those.

    >>> rows_of((Tensor([1.0, 2.0, 3.0]), 7), [2, 0], 3)
    (tensor([3., 1.]), 7)
    """
    if isinstance(values, tuple):
        return tuple(rows_of(one, rows, samples) for one in values)
    return values[list(rows)] if by_sample(values, samples) else values


def repeated_by_sample(values: Any, samples: int, times: int) -> Any:
    """Return what goes along with samples that are there `times` times in a row each.

    >>> repeated_by_sample((Tensor([1.0, 2.0]), 7), 2, 2)
    (tensor([1., 1., 2., 2.]), 7)
    """
    if isinstance(values, tuple):
        return tuple(repeated_by_sample(one, samples, times) for one in values)
    return repeated(values, times) if times > 1 and by_sample(values, samples) else values


def predicted(model: Callable[..., Any], inputs: Any, extra: Any, samples: int) -> Array | None:
    """Return the class [samples] that `model` gives each sample; None where its output is no list of classes.

    >>> predicted(lambda x: x, Tensor([[1.0, 2.0], [4.0, 3.0]]), None, 2).tolist()
    [1, 0]
    """
    found: list[Array] = []
    for start in range(0, samples, ROWS):
        rows = range(start, min(start + ROWS, samples))
        arguments: list[Any] = []
        for some in (rows_of(inputs, rows, samples), rows_of(extra, rows, samples)):
            arguments += () if some is None else some if isinstance(some, tuple) else (some,)
        with no_grad():
            output = model(*arguments)
        if not isinstance(output, Tensor) or output.ndim != 2 or output.shape[1] < 2:
            return None
        found.append(output.numpy(force=True).argmax(axis=1))
    return np.concatenate(found) if found else None


def strongest(model: Callable[..., Any], layer: str, inputs: Any, extra: Any) -> tuple[int, ...] | None:
    """Return where in a layer, behind the samples, the largest value of the first sample is.

    None where one number says it, or where the layer gives several tensors.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten()).eval()
    >>> x = wb.tensor([[[1.0, 5.0], [2.0, 3.0]]])
    >>> strongest(model, "0", x, None), strongest(model, "1", x, None)
    ((0, 1), None)
    """
    found = LayerActivation(model, layer).attribute(inputs, extra)
    if not isinstance(found, Tensor) or found.ndim < 3:
        return None
    first = found.numpy(force=True)[0]
    return tuple(int(one) for one in np.unravel_index(np.argmax(first), first.shape))
