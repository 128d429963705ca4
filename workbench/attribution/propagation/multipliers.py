"""How the difference that two runs make at one call is shared out among its inputs, by the kind of its op.

Every rule is complete: what the inputs get adds up to what the outputs had. For values x and references x', with
Δx = x - x', a multiplier m goes back such that Σ m·Δx is the sum of the outputs' shares.

- One value at each place: m = Δy / Δx, the Rescale rule of Shrikumar et al. 2017; where Δx is 0, the slope.
- Several values at each place: the Shapley values of the inputs, each Δy / Δx of its own; of a product this is
  Δa·(b + b')/2 + Δb·(a + a')/2.
- The largest of several: the part by which it grew beyond the reference goes to the place where it stands, the part
  by which it fell to the place where it stood (as in Shrikumar et al.'s and Lundberg and Lee's implementations).
- What is smooth: the gradient's mean along the straight line from x' to x (Aumann and Shapley 1974; Sundararajan et
  al. 2017), by Gauss-Legendre, with more nodes until it is complete to rounding. Of products that contract, of which
  both factors vary, that is the gradient at the midpoint.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.propagation.recording import conjugate, to_sizes
from workbench.core.contribution import Contribution
from workbench.core.op import Op
from workbench.core.tape import Call
from workbench.core.value import new

__all__ = ["SMALL", "Difference", "Sharing", "sharing"]

SMALL = 1e-10
"""Differences up to this count as none: there the slope stands for the quotient, as in Captum."""
_NODES = (6, 12, 24, 48, 96, 192)
"""So many nodes are tried, one number after the other; of products one is tried first, the midpoint."""
_COMPLETE = {"E": 5e-2, "e": 1e-2, "f": 2e-6, "d": 1e-11}
"""Shares are complete when they miss no more of what there is to share, by the type of the numbers."""

Array = Any
Sharing = Callable[[tuple[Any, ...]], tuple[Any, ...]]
"""From the multipliers of the outputs (None for nothing) to those of the inputs."""


@dataclass(frozen=True)
class Difference:
    """One call in two runs, as arrays (inputs may be numbers)."""

    op: Op
    rule: Contribution
    params: dict[str, Any]
    followed: tuple[bool, ...]
    """Which inputs depend on what is explained."""
    values: list[Any]
    outs: list[Array]
    references: list[Any]
    before: list[Array]
    """The outputs for the references."""
    small: float = SMALL
    kind: str = "f"
    """NumPy's letter of the type that the outputs were rounded to; those of 16 bits come as float32."""

    def run(self, values: list[Any]) -> tuple[Any, ...]:
        """Return the outputs for other inputs."""
        results: Any = self.op(*_values(values), **self.params)
        return results if isinstance(results, tuple) else (results,)

    def gradient(self, values: list[Any], outs: tuple[Any, ...], given: Any) -> list[Any]:
        """Return the gradients of the inputs that are followed, as arrays, by the table's rule."""
        call = Call(self.op, _values(values), self.params, outs, self.followed)
        found = self.op.vjp(call, *given)  # type: ignore[operator]
        return [
            one.payload if goes and one is not None else None
            for one, goes in zip(found, self.followed, strict=True)
        ]

    def spread(self, at: int) -> Array:
        """Return the difference of one input, in the sizes of the output."""
        y = self.outs[0]
        difference = np.asarray(changed(self.values[at], self.references[at]))
        if np.isrealobj(difference):  # what is complex may have a real function, as its absolute value
            difference = difference.astype(y.dtype, copy=False)
        return difference if difference.shape == y.shape else np.broadcast_to(difference, y.shape)

    def slope(self, at: int) -> Array:
        """Return the derivative at each place for one of the inputs; 0 where the op has none."""
        if not self.op.vjp:
            return np.zeros(1)
        sizes = self.outs[0].shape
        spread = [
            np.ascontiguousarray(np.broadcast_to(one, sizes)) if isinstance(one, np.ndarray) else one
            for one in self.values
        ]
        outs = self.run(spread)
        needs = tuple([i == at for i in range(len(spread))])
        ones = new(np.ones(sizes, outs[0].payload.dtype))
        call = Call(self.op, _values(spread), self.params, outs, needs)
        return conjugate(np.asarray(self.op.vjp(call, ones)[at].payload))  # type: ignore[operator]

    def quotient(self, change: Array, difference: Array, slope: Callable[[], Array]) -> Array:
        """Return change / difference, and the slope where there is no difference."""
        none = np.abs(difference) <= self.small
        if not none.any():
            return np.asarray(change / difference)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = np.asarray(change / difference)
        np.copyto(found, slope(), where=none)
        return found


def changed(value: Any, reference: Any) -> Any:
    """Return value - reference; of what is infinite in both runs that is 0."""
    with np.errstate(invalid="ignore"):
        difference = value - reference
    if np.isnan(difference).any():
        return np.where(value == reference, 0, difference).astype(difference.dtype)
    return difference


def sharing(difference: Difference) -> Sharing:
    """Return how a call shares out the difference between its values and its references."""
    kind = difference.rule.kind
    if kind == "elementwise":
        return _shapley(difference) if sum(difference.followed) > 1 else _rescaled(difference)
    return _selected(difference) if kind == "selected" else _integrated(difference)


def _at_places(multipliers: list[Array | None], values: list[Any]) -> Sharing:
    """Multiply what arrives, place by place; of complex numbers by the conjugate, as a gradient does."""
    sizes = [np.shape(one) for one in values]

    def share(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        g = gradients[0].payload
        return tuple(
            [
                None if one is None else new(np.asarray(to_sizes(g * conjugate(one), size)))
                for one, size in zip(multipliers, sizes, strict=True)
            ]
        )

    return share


def _rescaled(d: Difference) -> Sharing:
    at = d.followed.index(True)
    found: list[Array | None] = [None] * len(d.values)
    found[at] = d.quotient(changed(d.outs[0], d.before[0]), d.spread(at), lambda: d.slope(at))
    return _at_places(found, d.values)


def _shapley(d: Difference) -> Sharing:
    """Share out among several inputs: the mean over all orders in which they go from reference to value."""
    players = [i for i, goes in enumerate(d.followed) if goes]
    y = d.outs[0]
    known = {frozenset[int](): d.before[0], frozenset(players): y}

    def at(group: frozenset[int]) -> Array:
        if group not in known:
            # What is not followed and differs all the same changes with the first.
            here = group | (
                {i for i, goes in enumerate(d.followed) if not goes} if players[0] in group else set()
            )
            mixed = [(d.values if i in here else d.references)[i] for i in range(len(d.values))]
            known[group] = d.run(mixed)[0].payload
        return known[group]

    found: list[Array | None] = [None] * len(d.values)
    for player in players:
        others = [one for one in players if one != player]
        share: Any = 0
        for count in range(len(players)):
            weight = (
                math.factorial(count) * math.factorial(len(others) - count) / math.factorial(len(players))
            )
            for group in itertools.combinations(others, count):
                share = share + weight * changed(at(frozenset((*group, player))), at(frozenset(group)))
        slope = functools.partial(d.slope, player)
        found[player] = d.quotient(np.asarray(share, y.dtype), d.spread(player), slope)
    return _at_places(found, d.values)


def _selected(d: Difference) -> Sharing:
    at = d.followed.index(True)
    y, before = d.outs[0], d.before[0]
    most = (np.maximum if d.rule.largest else np.minimum)(y, before)
    here, there = _values(d.outs), _values(d.before)
    change = changed(d.values[at], d.references[at])
    none = [None] * (len(d.outs) - 1)

    def share(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        g = gradients[0].payload
        stands = d.gradient(d.values, here, [new(np.asarray(g * changed(most, before))), *none])[at]
        stood = d.gradient(d.references, there, [new(np.asarray(g * changed(y, most))), *none])[at]
        found: list[Any] = [None] * len(d.followed)
        found[at] = d.quotient(
            stands + stood, change, lambda: d.gradient(d.values, here, [gradients[0], *none])[at]
        )
        return _as_values(found)

    return share


def _integrated(d: Difference) -> Sharing:
    pairs = zip(d.values, d.references, d.followed, strict=True)
    changes = [changed(a, b) if goes else None for a, b, goes in pairs]

    def share(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        wanted = scale = 0.0
        for gradient, y, reference in zip(gradients, d.outs, d.before, strict=True):
            if gradient is not None:
                part = _shared(gradient.payload, changed(y, reference))
                wanted, scale = wanted + part.sum(), scale + np.abs(part).sum()
        found: list[Any] = []
        for count in (1, *_NODES) if d.rule.kind == "product" else _NODES:
            found = _mean_gradient(d, changes, gradients, count)
            pairs = zip(found, changes, strict=True)
            given = sum(_shared(one, by).sum() for one, by in pairs if one is not None)
            if abs(given - wanted) <= _COMPLETE.get(d.kind, 1e-6) * scale:
                break
        return _as_values(found)

    return share


def _shared(multipliers: Array, changes: Array) -> Array:
    """Return what changes get at each place, float64: of complex numbers the real part, as their gradients have it."""
    return np.real(conjugate(multipliers) * changes).astype(np.float64)


def _mean_gradient(d: Difference, changes: list[Any], gradients: tuple[Any, ...], count: int) -> list[Any]:
    """Return the mean of the gradients along the straight line, by `count` nodes."""
    places, weights = np.polynomial.legendre.leggauss(count)
    total: list[Any] = [None] * len(d.values)
    for place, weight in zip(places, weights, strict=True):
        back = (1 - place) / 2
        there = [
            one if by is None else np.asarray(one - back * by, one.dtype)
            for one, by in zip(d.values, changes, strict=True)
        ]
        outs = d.run(there) if d.op.saves.output else _values(d.outs)
        for i, one in enumerate(d.gradient(there, outs, gradients)):
            if one is not None:
                part = one * (weight / 2)
                total[i] = part if total[i] is None else total[i] + part
    return [None if one is None else np.asarray(one, d.values[i].dtype) for i, one in enumerate(total)]


def _values(arrays: Any) -> tuple[Any, ...]:
    return tuple([new(one) if isinstance(one, np.ndarray) else one for one in arrays])


def _as_values(arrays: list[Any]) -> tuple[Any, ...]:
    return tuple([None if one is None else new(np.asarray(one)) for one in arrays])
