"""What became of a pickle, looked over as a whole: nothing refused, nothing without end, and not too deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import WeightsError, short

__all__ = ["MAXIMUM_VALUES", "Refused", "Token", "check_result"]

MAXIMUM_VALUES = 10_000_000
"""Most values that a value comes to, where one that stands in several places counts in each."""
MAXIMUM_DEPTH = 200
"""How deep values may lie within each other."""


@dataclass(frozen=True)
class Refused:
    """Stands for what is not read, and says why."""

    reason: str


@dataclass(frozen=True)
class Token:
    """What stands in a pickle on the way to a value, and is none."""

    name: str


Place = tuple[Any, str] | None
"""Where a value stands: the place of what holds it, and the step from there."""


def check_result(root: Any, attributes: Callable[[Any], dict[str, Any] | None] = lambda _: None) -> None:
    """Raise `WeightsError` at the first value that is refused, holds itself or lies too deep, with its place.

    `attributes` gives what an object holds, where a value is one.
    """

    def parts(value: Any) -> Iterator[tuple[str, Any]]:
        inside = attributes(value)
        return _parts(value) if inside is None else ((f".{key}", inside[key]) for key in reversed(inside))

    heights: dict[int, int] = {}
    """How deep values lie within those looked at; 0 for those that are being looked at."""
    counts: dict[int, int] = {}
    """How many values those looked at come to, where one that stands in several places counts in each."""
    # A stack of our own, for values may lie deeper within each other than Python can call.
    pending: list[tuple[Any, Place, bool]] = [(root, None, False)]
    while pending:
        value, place, leaving = pending.pop()
        if leaving:
            height = 1 + max((heights.get(id(one), 0) for _, one in parts(value)), default=0)
            if height > MAXIMUM_DEPTH:
                raise WeightsError(f"values lie more than {MAXIMUM_DEPTH} deep within each other")
            heights[id(value)] = height
            count = 1 + sum(counts.get(id(one), 1) for _, one in parts(value))
            if count > MAXIMUM_VALUES:
                raise WeightsError(
                    f"values stand in each other so often that they come to more than {MAXIMUM_VALUES}"
                )
            counts[id(value)] = count
        elif isinstance(value, Refused):
            raise WeightsError(f"{_told(place)}: {value.reason}")
        elif isinstance(value, Token):
            raise WeightsError(f"{_told(place)}: it holds {value.name}, which is no value")
        elif isinstance(value, dict | list | tuple) or attributes(value) is not None:
            height = heights.get(id(value), -1)
            if height == 0:
                raise WeightsError(f"{_told(place)}: it holds itself")
            if height < 0:
                heights[id(value)] = 0
                pending.append((value, None, True))
                pending += [(one, (place, step), False) for step, one in parts(value)]


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a container holds, last first, with the step that leads there."""
    if isinstance(value, dict):
        if hasattr(value, "_metadata"):
            yield "._metadata", value._metadata
        for key in reversed(value):
            yield f"[{short(key)}]", value[key]
    elif isinstance(value, list | tuple):
        for i in range(len(value) - 1, -1, -1):
            yield f"[{i}]", value[i]


def _told(place: Place) -> str:
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return "at " + "".join(reversed(steps)) if steps else "at the top"
