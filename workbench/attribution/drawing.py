"""Random numbers of the methods that draw: from the default generator, so that `wb.manual_seed` repeats a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.tensor.random import rand, randint, randn

__all__ = ["check_count", "normals", "numbers_below", "spreads", "uniforms"]

Array = np.ndarray[Any, Any]


def uniforms(count: int) -> Array:
    """Return `count` numbers in [0, 1), float64."""
    return np.asarray(rand(count).numpy(), np.float64)


def numbers_below(bound: int, count: int) -> Array:
    """Return `count` whole numbers from 0 to below `bound`, int64."""
    return np.asarray(randint(0, bound, (count,)).numpy())


def normals(shape: Sequence[int], spread: float, dtype: Any) -> Array:
    """Return normally distributed numbers of mean 0 and a standard deviation, in the type `dtype`."""
    return np.asarray(randn(*shape).numpy() * spread, dtype)


def spreads(stdevs: Any, inputs: int, method: str) -> tuple[float, ...]:
    """Return one standard deviation an input, given one for all or a tuple.

    Raises:
        TypeError: not numbers.
        ValueError: negative ones, or not one for each input.

    >>> spreads(0.5, 2, "NoiseTunnel")
    (0.5, 0.5)
    """
    given = stdevs if isinstance(stdevs, tuple) else (stdevs,) * inputs
    if len(given) != inputs:
        raise ValueError(
            f"{method}: {len(given)} stdevs for {inputs} inputs; give a number, or a tuple with one for each"
        )
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int | float):
            raise TypeError(f"{method}: stdevs is a number, or a tuple of numbers, got {one!r}")
        if not 0 <= one < np.inf:
            raise ValueError(f"{method}: a standard deviation is a number from 0, got {one!r}")
    return tuple(float(one) for one in given)


def check_count(count: Any, what: str, method: str) -> None:
    """Raise where `count` is no whole number from 1."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{method}: {what} is a whole number, got {count!r}")
    if count < 1:
        raise ValueError(f"{method}: {what} is a number from 1, got {count!r}")
