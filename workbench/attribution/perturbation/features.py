"""Which values of the inputs belong together as one feature, and inputs with some features taken away."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.precision import is_floating
from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.foreign import told
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["FeatureMaskWarning", "Features", "features_of"]

Array = np.ndarray[Any, Any]

MOST_NAMED = 8
"""How many missing numbers a warning lists."""


class FeatureMaskWarning(UserWarning):
    """A feature mask leaves out numbers between its first and its last."""


@dataclass(frozen=True)
class Features:
    """The features of one question: for each value of each input the place of its feature."""

    question: Question
    masks: tuple[Array, ...]
    """For each input int32 places from 0 to `count` − 1: its number of dims, each size that of the input, or 1."""
    numbers: Array
    """The number that each feature has in the masks as they were given, ascending."""

    @property
    def count(self) -> int:
        """Number of features."""
        return len(self.numbers)

    def kept(self, chosen: Array, samples: Array) -> list[Array]:
        """Return inputs that are those of `samples` in their chosen features, and baselines in all others.

        `chosen` is a bool [rows, count], `samples` int64 [rows]; one array an input, [rows, …].
        """
        return self._mixed([_looked_up(chosen, mask, samples) for mask in self.masks], samples)

    def without(self, features: Array, samples: Array) -> list[Array]:
        """Return the inputs of `samples` where row i has baselines in place of feature ``features[i]``."""
        keep = []
        for mask in self.masks:
            own = mask[samples] if len(mask) > 1 else mask
            keep.append(own != features.reshape(-1, *(1,) * (mask.ndim - 1)))
        return self._mixed(keep, samples)

    def spread(self, values: Array) -> list[Array]:
        """Return values of features [N or 1, …, count] as those of the inputs' values: one array [N or 1, …, *sizes]
        an input.
        """
        return [
            _spread(values, mask, one.shape)
            for mask, one in zip(self.masks, self.question.inputs, strict=True)
        ]

    def _mixed(self, keep: Sequence[Array], samples: Array) -> list[Array]:
        question = self.question
        rows = []
        for mask, value, baseline in zip(keep, question.inputs, question.baselines, strict=True):
            # A single sample is broadcast, which takes no copy of it for each row.
            own = value.payload[samples] if len(value.payload) > 1 else value.payload
            start = baseline[samples] if len(baseline) > 1 else baseline
            rows.append(np.where(mask, own, start))
        return rows


def _looked_up(chosen: Array, mask: Array, samples: Array) -> Array:
    """Return what is chosen at each place of a mask, bool [rows, …]."""
    if len(mask) == 1:
        return np.asarray(chosen[:, mask[0]])
    places = mask[samples].reshape(len(samples), -1)
    return np.take_along_axis(chosen, places, 1).reshape(len(samples), *mask.shape[1:])


def _spread(values: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    whole = np.broadcast_to(mask, (len(mask), *shape[1:]))
    if len(mask) == 1:
        return np.asarray(values[..., whole[0]])
    # Each sample has features of its own: one at a time, with whatever dims of the output lie between.
    own = np.broadcast_to(values, (len(mask), *values.shape[1:]))
    return np.stack([each[..., places] for each, places in zip(own, whole, strict=True)])


def features_of(question: Question, feature_mask: Any, together: bool = True) -> Features:
    """Return the features that a mask makes of the inputs; without a mask each value is a feature.

    A mask holds whole numbers, one for each value of a sample: values of one number are one feature. Its shape
    broadcasts to that of its input; a mask with names goes by them. Of several inputs each has a mask, and the same
    number in two of them is one feature, unless they are not taken `together`.

    Warns with `FeatureMaskWarning` where numbers between the first and the last are missing.

    Raises:
        TypeError: a mask is not a tensor.
        DTypeError: a mask does not hold whole numbers.
        DimensionError: there is not one mask an input, or a mask's shape or names do not go with its input.
    """
    if feature_mask is None:
        return Features(question, *_each_value(question))
    given = feature_mask if isinstance(feature_mask, tuple) else (feature_mask,)
    if len(given) != len(question.inputs):
        raise DimensionError(
            f"{len(given)} feature masks for {len(question.inputs)} inputs: give a tuple with one for each input",
            op=question.method,
        )
    masks = [
        _checked(question.method, mask, value) for mask, value in zip(given, question.inputs, strict=True)
    ]
    if not together:
        masks = _apart(masks)
    numbers, places = np.unique(np.concatenate([mask.ravel() for mask in masks]), return_inverse=True)
    _warn_of_gaps(question.method, numbers)
    ends = np.cumsum([mask.size for mask in masks])[:-1]
    parts = np.split(places.ravel().astype(np.int32), ends)
    shaped = tuple(part.reshape(mask.shape) for part, mask in zip(parts, masks, strict=True))
    return Features(question, shaped, numbers)


def _each_value(question: Question) -> tuple[tuple[Array, ...], Array]:
    masks, count = [], 0
    for value in question.inputs:
        size = value.numel() // value.shape[0]
        masks.append(np.arange(count, count + size, dtype=np.int32).reshape(1, *value.shape[1:]))
        count += size
    return tuple(masks), np.arange(count)


def _apart(masks: list[Array]) -> list[Array]:
    """Return masks whose numbers begin behind those of the mask before."""
    moved, start = [], 0
    for mask in masks:
        moved.append(mask - int(mask.min()) + start)
        start = int(moved[-1].max()) + 1
    return moved


def _checked(method: str, mask: Any, value: Tensor) -> Array:
    """Return a mask as whole numbers with as many dims as its input."""
    if not isinstance(mask, Tensor):
        raise TypeError(
            f"{method}: a feature mask is a tensor of whole numbers, got "
            + told(mask, "wb.attribution.feature_mask or wb.tensor(...) makes one")
        )
    given = mask.detach().numpy(force=True)
    # Whole numbers in a type of floats are whole numbers.
    if mask.dtype.kind not in "iub" and not (is_floating(given.dtype) and (given == np.rint(given)).all()):
        raise DTypeError(
            f"{method}: a feature mask numbers the features, its values are whole numbers; got {mask.dtype.name}. Cast "
            "it, mask.long()"
        )
    found = given.astype(np.int64)
    if any(mask.names) and any(value.names):
        found = _by_names(method, found, mask, value)
    elif found.ndim < value.ndim:
        found = found.reshape((1,) * (value.ndim - found.ndim) + found.shape)
    fits = found.ndim == value.ndim and all(
        size in (1, wanted) for size, wanted in zip(found.shape, value.shape, strict=True)
    )
    if not fits or not found.size:
        raise DimensionError(
            f"a feature mask of shape {list(mask.shape)} does not go with inputs of shape {list(value.shape)}: each "
            "size must be that of the inputs, or 1",
            op=method,
            operands=(dims_of(value).operand("inputs"), dims_of(mask).operand("feature_mask")),
            fix="wb.attribution.feature_mask(inputs)",
        )
    return found


def _by_names(method: str, found: Array, mask: Tensor, value: Tensor) -> Array:
    """Return a mask whose dims stand where the input has those names, with 1 for those that it lacks."""
    operands = (dims_of(value).operand("inputs"), dims_of(mask).operand("feature_mask"))
    for name in mask.names:
        if name not in value.names:
            near = near_miss(name or "", value.names)
            raise DimensionError(
                f"the feature mask has a dim {name or 'without a name'}, which the inputs have not"
                + (f"; did you mean {near!r}?" if near else ""),
                op=method,
                operands=operands,
                fix=f"mask.rename({', '.join(map(repr, value.names[-mask.ndim :]))})",
            )
    order = sorted(range(mask.ndim), key=lambda axis: value.names.index(mask.names[axis]))
    sizes = dict(zip(mask.names, mask.shape, strict=True))
    return found.transpose(order).reshape([sizes.get(name, 1) for name in value.names])


def _warn_of_gaps(method: str, numbers: Array) -> None:
    missing = int(numbers[-1]) - int(numbers[0]) + 1 - len(numbers)
    if not missing:
        return
    # Of numbers that are far apart the first few are enough.
    ends = np.flatnonzero(np.diff(numbers) > 1)
    named: list[int] = []
    for end in ends:
        named += range(int(numbers[end]) + 1, min(int(numbers[end + 1]), int(numbers[end]) + MOST_NAMED + 2))
        if len(named) > MOST_NAMED:
            break
    listed = ", ".join(map(str, named[:MOST_NAMED])) + (", …" if missing > MOST_NAMED else "")
    warnings.warn(
        f"{method}: the feature mask has gaps: its numbers run from {numbers[0]} to {numbers[-1]}, and no value has "
        f"{listed}. There are {len(numbers)} features, which are explained as they are; to number them without gaps, "
        "take wb.unique(mask, return_inverse=True)[1]",
        FeatureMaskWarning,
        stacklevel=2,
    )
