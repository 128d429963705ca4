"""Settings of methods that others compute, checked before anything runs: numbers, and where points are to begin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import near_miss
from workbench.embedding.methods import Problem
from workbench.embedding.scales import MOST
from workbench.embedding.vectors import as_array, is_whole
from workbench.tensor import Tensor

__all__ = ["Number", "beginning", "check_numbers", "check_seed"]

Array = np.ndarray[Any, Any]


class Number(NamedTuple):
    """What a setting takes for a number, `low` and `high` among them, and which words or None instead of one."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    above: bool = False
    """Whether `low` itself is none."""
    other: tuple[Any, ...] = ()

    def takes(self, value: Any) -> bool:
        """Say whether `value` is such a number, or one of the other values."""
        if value is None or isinstance(value, str):
            return value in self.other
        if isinstance(value, bool | np.bool_) or not isinstance(
            value, int | float | np.integer | np.floating
        ):
            return False
        if self.whole and not is_whole(value):
            return False
        return bool(self.low <= value <= self.high and not (self.above and value == self.low))

    def __str__(self) -> str:
        words = ["a whole number" if self.whole else "a number"]
        if self.low > -math.inf:
            words.append(f"above {self.low:g}" if self.above else f"from {self.low:g}")
        if self.high < math.inf:
            words.append(f"to {self.high}" if self.whole else f"to {self.high:g}")
        others = [repr(one) for one in self.other]
        return " ".join(words) + (f", or {' or '.join(others)}" if others else "")


def check_numbers(
    method: str, settings: Mapping[str, Any], known: Mapping[str, Number], lists: bool = False
) -> None:
    """Raise ValueError where a setting is not of the numbers that are `known`; with `lists` it may be several.

    >>> check_numbers("UMAP", {"n_epochs": 2.5}, {"n_epochs": Number(0, whole=True, other=(None,))})
    Traceback (most recent call last):
        ...
    ValueError: UMAP: n_epochs is a whole number from 0, or None, got 2.5
    """
    for name, number in known.items():
        if name not in settings:
            continue
        value = settings[name]
        several = list(value) if lists and isinstance(value, list | tuple | np.ndarray) else [value]
        if not all(number.takes(one) for one in several):
            raise ValueError(f"{method}: {name} is {number}, got {value!r}")


SEED = Number(0, 2**32 - 1, whole=True, other=(None,))
"""What NumPy's older generators, which the libraries draw from, are seeded with."""


def check_seed(method: str, settings: Mapping[str, Any]) -> None:
    """Raise ValueError where ``random_state`` is no seed, nor one of NumPy's generators that are seeded already.

    >>> check_seed("UMAP", {"random_state": -1})
    Traceback (most recent call last):
        ...
    ValueError: UMAP: random_state is a whole number from 0 to 4294967295, or None, got -1
    """
    if not isinstance(settings.get("random_state"), np.random.RandomState):
        check_numbers(method, settings, {"random_state": SEED})


def beginning(method: str, name: str, value: Any, words: Sequence[str], problem: Problem) -> str | Array:
    """Return where points are to begin: one of `words`, or numbers [N, dims], float64, of the points in the picture.

    Numbers of all points of the embedding, of which some are left out, are those of the rest.

    Raises:
        TypeError: it is neither a word nor numbers.
        ValueError: there is no such word, or there are other numbers, or some are not finite.
    """
    if isinstance(value, str):
        if value not in words:
            near = near_miss(value, words)
            raise ValueError(
                f"{method}: {name} is {', '.join(map(repr, words))} or numbers [N, {problem.dims}], not {value!r}"
                + (f"; did you mean {near!r}?" if near else "")
            )
        return value
    if not isinstance(value, Tensor | np.ndarray | list | tuple):
        raise TypeError(
            f"{method}: {name} is a word ({', '.join(words)}), or numbers [N, {problem.dims}] of an array, got "
            f"{type(value).__name__}"
        )
    array = as_array(value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{method}: {name} is of real numbers, got {array.dtype.name}")
    count = len(problem.rows)
    if array.ndim != 2 or array.shape[1] != problem.dims or len(array) not in (count, problem.of):
        all_ = f", or {problem.of:,} of all points" if problem.of != count else ""
        raise ValueError(
            f"{method}: {name} is [{count:,}, {problem.dims}], a place for each point{all_}; got {list(array.shape)}"
        )
    array = array.astype(np.float64)
    if len(array) != count:
        array = array[problem.rows]
    wrong = np.flatnonzero(~(np.abs(array) <= MOST).all(axis=1))
    if len(wrong):
        raise ValueError(
            f"{method}: {name} holds {len(wrong):,} places of NaN, infinite or too large values (row {wrong[0]})"
        )
    return array
