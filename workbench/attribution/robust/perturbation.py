"""What attacks share: how they are called, their bounds and masks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.base.dims import broadcast, unify_names
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["Bounds", "Perturbation", "masks_of"]

Array = np.ndarray[Any, Any]


class Perturbation(ABC):
    """A way to change inputs; an object of it is called as its `perturb` is."""

    @abstractmethod
    def perturb(self, inputs: Any, *arguments: Any, **settings: Any) -> Any:
        """Return changed inputs, in the form and with the names of `inputs`."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Return what `perturb` returns."""
        return self.perturb(*arguments, **settings)


class Bounds:
    """The least and the greatest value that an input may have.

    Raises:
        ValueError: the least is not below the greatest.

    >>> Bounds("FGSM", 0, 1)(np.array([-3.0, 0.5])).tolist()
    [0.0, 0.5]
    """

    def __init__(self, method: str, lower_bound: float, upper_bound: float) -> None:
        if not lower_bound < upper_bound:
            raise ValueError(
                f"{method}: lower_bound={lower_bound!r} is not below upper_bound={upper_bound!r}; nothing is between"
            )
        self.lower, self.upper = float(lower_bound), float(upper_bound)

    def __call__(self, values: Array) -> Array:
        """Return values with those beyond a bound put on it."""
        return np.clip(values, self.lower, self.upper).astype(values.dtype, copy=False)


def masks_of(question: Question, mask: Any) -> list[Array]:
    """Return one array an input that broadcasts to it: how much of a step each value may take, usually 0 or 1.

    Raises:
        TypeError: a mask is no tensor.
        DimensionError: there are not as many masks as inputs, or one does not broadcast to its input.
    """
    if mask is None:
        return [np.ones((1,) * value.ndim, value.payload.dtype) for value in question.inputs]
    given = mask if isinstance(mask, tuple) else (mask,)
    if len(given) != len(question.inputs):
        raise DimensionError(
            f"{len(given)} masks for {len(question.inputs)} inputs: give one for each input, or None",
            op=question.method,
        )
    return [_mask(question.method, value, one) for value, one in zip(question.inputs, given, strict=True)]


def _mask(method: str, value: Tensor, mask: Any) -> Array:
    if not isinstance(mask, Tensor):
        raise TypeError(f"{method}: a mask is a tensor, got {told(mask, 'wb.tensor(...) makes one')}")
    dims, other = dims_of(value), dims_of(mask)
    unify_names(method, dims, other)
    if broadcast(method, dims, other).sizes != dims.sizes:
        raise DimensionError(
            f"a mask of shape {list(mask.shape)} does not go with an input of shape {list(value.shape)}: it broadcasts "
            "to the input",
            op=method,
            operands=(dims.operand("input"), other.operand("mask")),
        )
    return mask.detach().numpy(force=True).astype(value.payload.dtype)
