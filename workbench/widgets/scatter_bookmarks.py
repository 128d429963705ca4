"""Bookmarks of the projector: arrangements kept under a name."""

from __future__ import annotations

import math

from workbench.embedding.bookmarks import MOST_BOOKMARKS
from workbench.live.messages import ScatterArrangement, ScatterBookmark
from workbench.live.model import Refused

__all__ = ["check_arrangement", "kept", "without"]

MOST_NAME = 100
MOST_FILTERS = 100
MOST_NEIGHBOURS = 999


def kept(
    bookmarks: list[ScatterBookmark], name: str, arrangement: ScatterArrangement, count: int
) -> list[ScatterBookmark]:
    """Return bookmarks with one more, in the place of one of that name.

    Raises:
        Refused: the name or the arrangement is none, or there are too many.
    """
    plain = name.strip()
    if not plain or len(plain) > MOST_NAME:
        raise Refused(f"a bookmark has a name of 1 to {MOST_NAME} characters, not {len(plain)}")
    check_arrangement(arrangement, count)
    found = ScatterBookmark(plain, arrangement)
    places = {one.name: place for place, one in enumerate(bookmarks)}
    if plain in places:
        return [found if one.name == plain else one for one in bookmarks]
    if len(bookmarks) >= MOST_BOOKMARKS:
        raise Refused(f"there are {MOST_BOOKMARKS} bookmarks, which is the most; remove one first")
    return [*bookmarks, found]


def without(bookmarks: list[ScatterBookmark], name: str) -> list[ScatterBookmark]:
    """Return bookmarks without the one of that name.

    Raises:
        Refused: there is none.
    """
    left = [one for one in bookmarks if one.name != name]
    if len(left) == len(bookmarks):
        raise Refused(f"there is no bookmark {name!r}")
    return left


def check_arrangement(arrangement: ScatterArrangement, count: int) -> None:
    """Refuse an arrangement that no picture of `count` points can have."""
    if len(arrangement.camera) not in (0, 6):
        raise Refused(f"a camera is six numbers, or none for the first look, not {len(arrangement.camera)}")
    if not all(map(math.isfinite, arrangement.camera)) or (arrangement.camera and arrangement.camera[2] <= 0):
        raise Refused(f"a camera is of finite numbers, and its zoom is above 0: got {arrangement.camera}")
    if len(arrangement.hidden) > MOST_FILTERS or len(arrangement.ranges) > MOST_FILTERS:
        raise Refused(f"at most {MOST_FILTERS} columns filter at a time")
    if not 1 <= arrangement.k <= MOST_NEIGHBOURS:
        raise Refused(f"k is 1 to {MOST_NEIGHBOURS}, not {arrangement.k}")
    for one in arrangement.ranges:
        if not (math.isfinite(one.low) and math.isfinite(one.high) and one.low <= one.high):
            raise Refused(f"the range of {one.column!r} ends before it begins: {one.low} to {one.high}")
    points = [*arrangement.selected, *(arrangement.isolated or [])]
    wrong = next((point for point in points if not 0 <= point < count), None)
    if wrong is not None:
        raise Refused(f"there is no point {wrong}; the points are 0 to {count - 1:,}")
