"""Attributions brought to the range that colours have: a sign chosen, outliers clipped."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any, Literal, get_args

import numpy as np

from workbench.attribution.visualization.arrays import as_image, check_finite
from workbench.base.dims import near_miss

__all__ = ["Sign", "VisualizeSign", "check_choice", "normalize", "scaled"]

Array = np.ndarray[Any, Any]
Sign = Literal["all", "positive", "negative", "absolute_value"]


class VisualizeSign(Enum):
    """Which attributions are shown, under Captum's names."""

    positive = 1
    absolute_value = 2
    negative = 3
    all = 4


SMALLEST = 1e-5
"""An attribution whose greatest value is below this is magnified with a warning."""


def check_choice(what: str, given: Any, known: Any) -> None:
    """Raise ValueError where a word is none of those that a ``Literal`` has."""
    choices = get_args(known)
    if given not in choices:
        near = near_miss(given, choices) if isinstance(given, str) else None
        raise ValueError(
            f"there is no {what} {given!r}"
            + (f"; did you mean {near!r}?" if near else f"; there are {', '.join(choices)}")
        )


def normalize(attribution: Any, sign: Sign = "all", outlier_perc: float = 2) -> Array:
    """Return an attribution [H, W, C] or [H, W] as [H, W] in [-1, 1], with `sign` other than ``"all"`` in [0, 1].

    Channels are added up, wherever a tensor's names say they are. The greatest values, which together make up
    `outlier_perc` percent of the sum of all sizes, are clipped, and the rest is scaled to fill the range. Warns where
    everything is nearly zero.

    Raises:
        ValueError: an unknown `sign`, a percentage outside of [0, 100], or values that are not finite.
        DimensionError: not an image.

    >>> normalize(np.array([[1.0, -2.0], [0.0, 4.0]]), outlier_perc=0).tolist()
    [[0.25, -0.5], [0.0, 1.0]]
    """
    return scaled(as_image(attribution, "attribution").astype(np.float64).sum(axis=2), sign, outlier_perc)


def scaled(values: Any, sign: Sign, outlier_perc: float) -> Array:
    """Return values of any shape, of `sign` alone, scaled to [-1, 1] as `normalize` says."""
    check_choice("sign", sign, Sign)
    if not 0 <= outlier_perc <= 100:
        raise ValueError(f"outlier_perc is a percentage from 0 to 100, got {outlier_perc!r}")
    values = np.asarray(values, np.float64)
    check_finite(values)
    if sign == "positive":
        values = np.maximum(values, 0)
    elif sign == "negative":
        values = np.maximum(-values, 0)
    elif sign == "absolute_value":
        values = np.abs(values)
    # Not the largest: one outlying pixel would leave all others white.
    reach = _reach(np.abs(values), outlier_perc)
    if (reach or np.abs(values).max(initial=0)) < SMALLEST:
        warnings.warn(
            f"the attributions are nearly zero, at most {reach:.3g}: their picture shows rounding as well",
            stacklevel=3,
        )
    return np.asarray(np.clip(values / reach, -1, 1)) if reach else np.sign(values)


def _reach(sizes: Array, outlier_perc: float) -> float:
    """Return the least size such that all up to it make up the share of the sum that is kept."""
    ordered = np.sort(sizes, axis=None)
    cumulated = np.cumsum(ordered)
    kept = cumulated[-1] * (1 - outlier_perc / 100)
    return float(ordered[min(int(np.searchsorted(cumulated, kept)), len(ordered) - 1)])
