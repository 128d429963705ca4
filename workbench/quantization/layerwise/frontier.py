"""One option for each of several items, so that their costs keep a budget and the sum of their harm is least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Option", "Stop", "best_within", "frontier"]

MOST = 4096
"""Most partial choices that are kept: with more, the best of each of so many stretches of the cost."""


class Option(NamedTuple):
    """One way for an item."""

    name: str
    cost: float
    harm: float


class Stop(NamedTuple):
    """A choice that no other beats in both cost and harm."""

    cost: float
    harm: float
    chosen: tuple[str, ...]
    """An option's name for each item."""


def frontier(items: Sequence[Sequence[Option]]) -> list[Stop]:
    """Return the choices that no other beats, the cheapest first: dynamic programming over the items.

    Exact as long as no more than `MOST` partial choices are unbeaten.

    >>> [(one.cost, one.harm) for one in frontier([[Option("a", 1, 5), Option("b", 2, 1)], [Option("c", 1, 1)]])]
    [(2.0, 6.0), (3.0, 2.0)]
    """
    # A choice is kept as a chain, each link with what was chosen and the choice before.
    states: list[tuple[float, float, object]] = [(0.0, 0.0, None)]
    for options in items:
        grown: list[tuple[float, float, object]] = [
            (cost + one.cost, harm + one.harm, (one.name, before))
            for cost, harm, before in states
            for one in options
        ]
        states = _thinned(_unbeaten(grown))
    return [Stop(cost, harm, _names(chain)) for cost, harm, chain in states]


def _unbeaten(states: list[tuple[float, float, object]]) -> list[tuple[float, float, object]]:
    kept: list[tuple[float, float, object]] = []
    for one in sorted(states, key=lambda state: state[:2]):
        if not kept or one[1] < kept[-1][1]:
            kept.append(one)
    return kept


def _thinned(states: list[tuple[float, float, object]]) -> list[tuple[float, float, object]]:
    """Keep the cheapest, and the least harm of each stretch of the cost."""
    if len(states) <= MOST:
        return states
    low, width = states[0][0], (states[-1][0] - states[0][0]) / (MOST - 1)
    # Harm falls with the cost: the last of a stretch has the least.
    last = {int((one[0] - low) / width): one for one in states}
    return _unbeaten([states[0], *last.values()])


def _names(chain: object) -> tuple[str, ...]:
    found: list[str] = []
    while isinstance(chain, tuple):
        name, chain = chain
        found.append(name)
    return tuple(reversed(found))


def best_within(stops: Sequence[Stop], budget: float) -> Stop | None:
    """Return the choice with the least harm that keeps the budget; None where none does."""
    fitting = [one for one in stops if one.cost <= budget]
    return fitting[-1] if fitting else None
