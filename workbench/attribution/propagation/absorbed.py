"""`Absorbed`: the relevance that did not arrive at what is explained, by what took it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.precision import rounding_of, total_of

__all__ = ["Absorbed", "absorbed_of", "spread"]

Array = np.ndarray[Any, Any]

TAKERS = ("biases", "normalization", "constants", "stabiliser", "softmax", "rules", "bypass")
"""What takes relevance: see `Absorbed.amounts`."""

SHARE = 1e-4
"""Share of the relevance that rounding may lose: what it is conserved within."""

LEAST = 1e-6
"""A rest below this is rounding, however little relevance there is."""


@dataclass(frozen=True)
class Absorbed:
    """What was taken of a batch's relevance on its way, each as a sum over all of its samples.

    A model may mix what it was given, so that nobody can say of a call's relevance whose sample it is of: what is taken
    is counted of all samples together, and ``Σ delta = Σ amounts + rest``.
    """

    amounts: Mapping[str, float]
    """By what took it: ``"biases"`` (and what else is added), ``"normalization"`` (its shift), ``"constants"`` that
    were put in a value's place, ``"stabiliser"`` (ε), ``"softmax"`` with its own rule, ``"rules"`` of others, and
    ``"bypass"``: what went to the inputs past the layer that is explained."""
    rest: float
    """What nothing took: 0 but for rounding, where all relevance is accounted for."""
    tolerance: float
    """A rest beyond this says that relevance was lost."""

    def within_tolerance(self) -> bool:
        """Say whether all relevance is accounted for."""
        return bool(abs(self.rest) <= self.tolerance)

    def trouble(self) -> str:
        """Say that relevance was lost, and what to do; nothing where all is accounted for."""
        if self.within_tolerance():
            return ""
        taken = (
            ", ".join(f"{name} took {amount:.3g}" for name, amount in self.amounts.items())
            or "nothing was taken"
        )
        return (
            f"relevance of {abs(self.rest):.3g} was lost on the way, more than {self.tolerance:.2g} ({taken}): where "
            "values that nearly cancel are added up, digits are lost; compute in float64, or choose a larger ε, e.g. "
            "composite=EpsilonRule(1e-6)"
        )

    def __str__(self) -> str:
        said = [f"{name} {amount:.3g}" for name, amount in self.amounts.items()]
        return ", ".join([*said, f"rest {self.rest:.2g}"])


def spread(taken: Mapping[str, float], count: int) -> Array:
    """Return what was taken of a batch of `count` rows as rows, [count, takers]: of each row an equal part."""
    return np.full((count, len(TAKERS)), [taken.get(name, 0.0) / count for name in TAKERS])


def absorbed_of(taken: Array, found: Sequence[Array], picked: Array) -> Absorbed:
    """Return what was taken on the way, from rows [N, takers], what arrived, [N, …] each, and the outputs [N]; rows of
    NaN were not reached.

    >>> rows = spread({"biases": 2.0}, 2)
    >>> str(absorbed_of(rows, [np.array([[1.5], [3.5]])], np.array([3.0, 4.0])))
    'biases 2, rest 0'
    """
    reached = ~np.isnan(taken[:, 0])
    sums = dict(zip(TAKERS, taken[reached].sum(axis=0).tolist(), strict=True))
    amounts = {name: amount for name, amount in sums.items() if amount}
    outputs, arrived = picked[reached].astype(np.float64), [one[reached] for one in found]
    rest = float((outputs - total_of(arrived)).sum()) - sum(amounts.values())
    size = float(np.abs(outputs).sum()) + sum(map(abs, amounts.values()))
    # Numbers of 16 bits are rounded at each call.
    sums = size + float(total_of([np.abs(one) for one in arrived]).sum())
    loss = rounding_of(np.asarray(sums), picked.dtype, *[one.dtype for one in arrived])
    return Absorbed(amounts, rest, SHARE * size + LEAST + float(loss))
