"""How far to go along a direction: a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["strong_wolfe"]

# The constants of Wolfe's conditions that are usual, and PyTorch's.
_DECREASE, _CURVATURE, _SMALLEST = 1e-4, 0.9, 1e-9


class _Point(NamedTuple):
    """A length, the loss there, the gradient, and the gradient along the direction."""

    length: Any
    loss: float
    gradient: Any
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Any]],
    length: Any,
    direction: Any,
    start: tuple[float, Any, Any],
    most: int,
) -> tuple[float, Any, Any]:
    """Return loss, gradient and length of a step that falls enough and is flat enough.

    f(t) ≤ f(0) + 1e-4·t·f'(0) and |f'(t)| ≤ 0.9·|f'(0)|. First a bracket is found that holds such a length, then it is
    made smaller by cubics through its ends; after `most` evaluations the best so far is returned. `evaluate` gives loss
    and gradient at a length, `start` is loss, gradient and slope at 0. Nocedal and Wright 2006, 3.5.
    """
    loss, gradient, slope = start

    def at(where: Any) -> _Point:
        there, steepness = evaluate(where)
        return _Point(where, there, steepness, steepness.dot(direction))

    def too_high(point: _Point) -> bool:
        return bool(point.loss > loss + _DECREASE * point.length * slope)

    def flat(point: _Point) -> bool:
        return bool(abs(point.slope) <= -_CURVATURE * slope)

    bracket, done, count = _bracket(at, too_high, flat, _Point(0, loss, gradient, slope), at(length), most)
    stuck = False
    reach = np.abs(direction).max()
    low = 0 if bracket[0].loss <= bracket[-1].loss else 1
    while not done and count < most:
        high = 1 - low
        width = bracket[high].length - bracket[low].length
        if abs(width) * reach < _SMALLEST:
            break
        ends = [one.length for one in bracket]
        where, stuck = _inside(
            _cubic(bracket[0], bracket[1], min(ends), max(ends)), min(ends), max(ends), stuck
        )
        point = at(where)
        count += 1
        # Higher than allowed, or than the best so far: a minimum lies before it.
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        if flat(point):
            done = True
        # The way down from here leads back: the minimum lies between this place and the former low end.
        elif point.slope * width >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    best = bracket[low]
    return best.loss, best.gradient, best.length


def _bracket(
    at: Callable[[Any], _Point],
    too_high: Callable[[_Point], bool],
    flat: Callable[[_Point], bool],
    origin: _Point,
    point: _Point,
    most: int,
) -> tuple[list[_Point], bool, int]:
    """Go further and further until a good length lies behind; return the ends, whether one is good, and the tries."""
    before = origin
    for count in range(most):
        if too_high(point) or (count > 1 and point.loss >= before.loss):
            return [before, point], False, count
        if flat(point):
            return [point], True, count
        if point.slope >= 0:
            return [before, point], False, count
        # At least a little beyond the last length, and at most ten times as far.
        least, longest = point.length + 0.01 * (point.length - before.length), point.length * 10
        where = _cubic(before, point, least, longest)
        before, point = point, at(where)
    return [origin, point], False, most


def _cubic(one: _Point, other: _Point, least: Any, longest: Any) -> Any:
    """Return where the cubic through two points with their slopes is lowest, within bounds; the middle if nowhere."""
    left, right = (one, other) if one.length <= other.length else (other, one)
    rise = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.length - right.length)
    square = rise**2 - left.slope * right.slope
    # Also NaN, of losses that are not finite.
    if not square >= 0:
        return (least + longest) / 2.0
    root = math.sqrt(square)
    part = (right.slope + root - rise) / (right.slope - left.slope + 2 * root)
    return min(max(right.length - (right.length - left.length) * part, least), longest)


def _inside(where: Any, least: Any, longest: Any, stuck: bool) -> tuple[Any, bool]:
    """Keep a trial off the ends of the bracket where it would shrink too little; say whether it nearly did."""
    margin = 0.1 * (longest - least)
    if min(longest - where, where - least) >= margin:
        return where, False
    if not (stuck or where >= longest or where <= least):
        return where, True
    nearer_to_longest = abs(where - longest) < abs(where - least)
    return (longest - margin if nearer_to_longest else least + margin), False
