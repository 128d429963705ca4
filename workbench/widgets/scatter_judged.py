"""How far a picture can be trusted, found out a part at a time, so that it can be left when nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.embedding import Projection, Quality, quality
from workbench.embedding.judged import count_judged, judged, neighbours_judged
from workbench.live.messages import ScatterQuality
from workbench.live.model import Refused

__all__ = ["MOST_UNASKED", "judge", "judgeable", "judged_unasked", "quality_message"]

MOST_UNASKED = 1_000_000
"""Pictures of more points are judged when somebody asks: it takes minutes."""

PARTS = 8
"""In so many parts the points are judged, with a chance to stop before each: more would take longer in all."""


def judgeable(projection: Projection) -> bool:
    """Say whether a picture has an original, and points enough to have neighbours."""
    return projection.vectors is not None and neighbours_judged(len(projection.rows)) > 0


def judged_unasked(projection: Projection) -> bool:
    """Say whether a picture is judged without a person asking for it."""
    return judgeable(projection) and len(projection.rows) <= MOST_UNASKED


def judge(projection: Projection, reached: Callable[[int, int], None]) -> Quality:
    """Return what `Projection.quality` is; ``reached(done, of)`` is called in between, and may end it by raising.

    Raises:
        Refused: there are too few points.
    """
    rows, space = projection.rows, projection.vectors
    if space is None or not judgeable(projection):
        raise Refused(f"trustworthiness needs three points at least, and the picture has {len(rows)}")
    k, chosen = neighbours_judged(len(rows)), judged(len(rows))
    picture = projection.positions
    if len(rows) < len(picture):
        space, picture = space[rows], picture[rows]
    # The share of a point says nothing of which others are judged, so parts are as good as the whole.
    trust, whole = np.full((2, len(projection.positions)), np.nan)
    step = -(-len(chosen) // PARTS)
    for start in range(0, len(chosen), step):
        reached(start, len(chosen))
        part = chosen[start : start + step]
        found = quality(space, picture, k, of=part)
        trust[rows[part]], whole[rows[part]] = found.trust_of_points[part], found.continuity_of_points[part]
    numbers = rows[chosen]
    return Quality(float(trust[numbers].mean()), float(whole[numbers].mean()), trust, whole, numbers)


def quality_message(projection: Projection, found: Quality | None) -> ScatterQuality | None:
    """Return what a page is told of it, and of how many points it is; `found` is None as long as nobody knows."""
    count = len(projection.rows)
    k = neighbours_judged(count)
    if found is not None:
        return ScatterQuality(found.trustworthiness, found.continuity, k, len(found.judged), count)
    if not judged_unasked(projection):
        return None
    return ScatterQuality(None, None, k, count_judged(count), count)
