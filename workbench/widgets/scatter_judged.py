"""How far a picture can be trusted, found out a part at a time, so that it can be left when nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.embedding import Projection, Quality, quality
from workbench.embedding.projection import ALL, NEIGHBOURS, SAMPLE
from workbench.live.messages import ScatterQuality
from workbench.live.model import Refused

__all__ = ["MOST_UNASKED", "judge", "judgeable", "judged_unasked", "neighbours_judged", "quality_message"]

MOST_UNASKED = 1_000_000
"""Pictures of more points are judged when somebody asks: it takes minutes."""

PARTS = 8
"""In so many parts the points are judged, with a chance to stop before each: more would take longer in all."""


def judgeable(projection: Projection) -> bool:
    """Say whether a picture has an original, and points enough to have neighbours."""
    return projection.vectors is not None and len(projection.rows) >= 3


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
    k = neighbours_judged(projection)
    judged = np.arange(len(rows))
    if len(rows) > ALL:
        judged = np.sort(np.random.default_rng(0).choice(len(rows), SAMPLE, replace=False))
    picture = projection.positions
    if len(rows) < len(picture):
        space, picture = space[rows], picture[rows]
    # The share of a point says nothing of which others are judged, so parts are as good as the whole.
    trust, whole = np.full((2, len(projection.positions)), np.nan)
    step = -(-len(judged) // PARTS)
    for start in range(0, len(judged), step):
        reached(start, len(judged))
        part = judged[start : start + step]
        found = quality(space, picture, k, of=part)
        trust[rows[part]], whole[rows[part]] = found.trust_of_points[part], found.continuity_of_points[part]
    numbers = rows[judged]
    return Quality(float(trust[numbers].mean()), float(whole[numbers].mean()), trust, whole, numbers)


def quality_message(projection: Projection, found: Quality | None) -> ScatterQuality | None:
    """Return what a page is told of it, and of how many points it is; `found` is None as long as nobody knows."""
    if found is not None:
        trust, whole, judged = found.trustworthiness, found.continuity, len(found.judged)
        return ScatterQuality(trust, whole, neighbours_judged(projection), judged, len(projection.rows))
    if not judged_unasked(projection):
        return None
    count = len(projection.rows)
    return ScatterQuality(None, None, neighbours_judged(projection), SAMPLE if count > ALL else count, count)


def neighbours_judged(projection: Projection) -> int:
    """Return among how many nearest a picture is judged."""
    return min(NEIGHBOURS, (len(projection.rows) - 1) // 2)
