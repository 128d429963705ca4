"""Which number of a model's output is explained: one a sample, by its place in the output."""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn

import numpy as np

from workbench.attribution.precision import is_floating
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.foreign import is_foreign, told
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["Target", "check_output", "parse_target", "select"]

Array = np.ndarray[Any, Any]
Target = Array | None
"""int64 [N, dims of the output after the first], or None where the output is one number a sample."""


_LARGE = 2**62
"""No dim of an array has so many entries, and NumPy takes no much larger number."""


def parse_target(target: Any, samples: int, method: str) -> Target:
    """Return a target in its one form.

    A target is an int, a tuple of ints (one for each dim of the output after the first; last dims of one entry may be
    left away), a tensor or an array of ints (one a sample, or one for all), or a list with an int or a tuple for each
    sample. One below 0 counts from the end of its dim.

    Raises:
        TypeError: a target is a tensor of another library.
        DTypeError: a target is not a whole number.
        DimensionError: there are not as many targets as samples.
        DimensionIndexError: no output has so many entries.

    >>> parse_target((1, 2), 2, "Saliency").tolist()
    [[1, 2], [1, 2]]
    """
    if target is None:
        return None
    if is_foreign(target):
        raise TypeError(f"{method}: the target is a {told(target)}")
    if isinstance(target, Tensor):
        target = target.detach().numpy()
    if isinstance(target, np.ndarray):
        if target.dtype.kind not in "iu":
            raise DTypeError(
                f"{method}: targets are whole numbers, got a tensor of {target.dtype.name}; use targets.long()"
            )
        # One number is meant for all samples, in whatever shape it comes.
        target = target.item() if target.size == 1 else target.tolist()
    if type(target) is int and -_LARGE < target < _LARGE:
        return np.full((samples, 1), target, np.int64)
    if not isinstance(target, list):
        return np.array([_place(target, method)] * samples, np.int64)
    if len(target) != samples:
        raise DimensionError(
            f"{len(target)} targets for {samples} samples: give one for all, or one for each sample",
            op=method,
        )
    places = [_place(one, method) for one in target]
    if len({len(place) for place in places}) > 1:
        raise DimensionError("the targets of the samples have different numbers of indices", op=method)
    return np.array(places, np.int64)


def _place(target: Any, method: str) -> tuple[int, ...]:
    entries = tuple(target) if isinstance(target, (tuple, list)) else (target,)
    for entry in entries:
        if isinstance(entry, (bool, np.bool_)) or not hasattr(entry, "__index__"):
            raise DTypeError(
                f"{method}: a target is the index of an output, a whole number; got {type(entry).__name__}"
            )
    places = tuple(operator.index(entry) for entry in entries)
    for place in places:
        if not -_LARGE < place < _LARGE:
            raise DimensionIndexError(
                f"target {place} is out of range: no output has so many entries", op=method
            )
    return places


def check_output(output: Any, rows: Array, method: str, gradients: bool = True) -> None:
    """Raise where `output` does not hold numbers for each of `rows`, floating point if there are to be `gradients`."""
    if not isinstance(output, Tensor):
        raise TypeError(f"{method}: the model must return a tensor, it returned {told(output)}")
    if gradients and (output.is_quantized or not is_floating(output.dtype.numpy)):
        raise DTypeError(
            f"{method}: the model's output is {output.dtype.name}, which has no gradients; explain its scores"
        )
    if output.ndim == 0 or output.shape[0] != len(rows):
        raise DimensionError(
            f"{len(rows)} samples went into the model and an output of shape {list(output.shape)} came out: its first "
            "dim must be the samples. Return the scores of each, without a sum or a mean over the batch",
            op=method,
            operands=(dims_of(output).operand("output"),),
        )


def _fits(place: int, size: int) -> bool:
    return 0 <= place < size


def select(
    output: Any, target: Target, rows: Array, method: str, gradients: bool = True
) -> tuple[Array, ...]:
    """Return where in `output` the explained number of each of `rows` is, as an index into the output's array.

    Without `gradients` an output of whole numbers will do.

    Raises:
        DimensionError: the target does not pick one number a sample.
        DimensionIndexError: the target is out of range.
    """
    check_output(output, rows, method, gradients)
    each = np.arange(len(rows))
    sizes = output.payload.shape[1:]
    if target is None:
        if math.prod(sizes) != 1:
            raise DimensionError(
                f"the output has several numbers a sample, its shape is {list(output.shape)}: a target must say which "
                "of them is explained",
                op=method,
                operands=(dims_of(output).operand("output"),),
                fix=f"target={0 if len(sizes) == 1 else (0,) * len(sizes)}",
            )
        return (each, *(np.zeros_like(each) for _ in sizes))
    places = target[rows]
    # Of one row Python looks at the numbers sooner.
    if places.shape == (1, len(sizes)) and all(map(_fits, places[0].tolist(), sizes)):
        return (each, *places.T)
    if (places < 0).any() and places.shape[1] <= len(sizes):
        # From the end, as everywhere; what is below even so is refused as it was given.
        counted = places + np.array(sizes[: places.shape[1]])
        places = np.where((places < 0) & (counted >= 0), counted, places)
    if places.shape[1] < len(sizes) and all(size == 1 for size in sizes[places.shape[1] :]):
        # Dims of one entry leave no choice.
        places = np.pad(places, ((0, 0), (0, len(sizes) - places.shape[1])))
    if places.shape[1] != len(sizes):
        raise DimensionError(
            f"a target of {places.shape[1]} indices does not pick one number a sample of an output of shape "
            f"{list(output.shape)}: it takes {len(sizes)}",
            op=method,
            operands=(dims_of(output).operand("output"),),
        )
    if not ((places >= 0) & (places < sizes)).all():
        _refuse_place(output, places, rows, method)
    return (each, *places.T)


def _refuse_place(output: Any, places: Array, rows: Array, method: str) -> NoReturn:
    """Raise DimensionIndexError for the first target that is out of range."""
    for axis, size in enumerate(output.shape[1:]):
        wrong = (places[:, axis] < 0) | (places[:, axis] >= size)
        if wrong.any():
            break
    row = int(wrong.argmax())
    name = output.names[axis + 1] or f"dim {axis + 1}"
    raise DimensionIndexError(
        f"target {int(places[row, axis])} of sample {int(rows[row])} is out of range: {name} of the output has "
        f"{size} entries, 0 to {size - 1}",
        op=method,
        operands=(dims_of(output).operand("output", [axis + 1]),),
    )
