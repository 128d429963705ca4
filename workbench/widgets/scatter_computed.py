"""Columns of the projector that are computed when a person asks for them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.embedding import Embedding, Projection, quality
from workbench.embedding.neighbours import Metric, neighbours
from workbench.live.messages import ScatterQuality
from workbench.live.model import Refused

__all__ = ["DISTANCE", "MOST_PAIRS", "OFFERED", "TRUST", "Computed", "distance", "trust"]

Array = np.ndarray[Any, Any]

TRUST = "trustworthiness"
DISTANCE = "distance to the selection"

OFFERED: dict[str, str] = {
    TRUST: "of each point: how far its neighbours in the picture are those of the space; 1 is the best",
    DISTANCE: "from the first selected point, before projection",
}
"""What can be computed, and what it says."""

MOST_PAIRS = 40_000
"""Of more points than this not every pair is compared: it takes time with their square."""

NEIGHBOURS = 10
"""Among how many nearest a picture is judged."""


class Computed(NamedTuple):
    """A column, and what it says."""

    values: Array
    note: str
    kind: Literal["number", "category"] = "number"


def trust(embedding: Embedding, projection: Projection) -> tuple[Computed, ScatterQuality]:
    """Return how far each point's neighbourhood is kept, and the picture as a whole.

    Raises:
        Refused: there are too many points, or too few.
    """
    count = len(embedding)
    if count > MOST_PAIRS:
        raise Refused(
            f"trustworthiness compares every pair of {count:,} points; at most {MOST_PAIRS:,} are taken here: isolate "
            "some, or judge a part in Python with embedding.take(...)"
        )
    k = min(NEIGHBOURS, (count - 1) // 2)
    if k < 1:
        raise Refused(f"trustworthiness needs three points at least, and there are {count}")
    judged = quality(embedding.vectors, projection.positions, k)
    column = Computed(judged.trust_of_points, f"{OFFERED[TRUST]} (k = {k})")
    return column, ScatterQuality(judged.trustworthiness, judged.continuity, k)


def distance(embedding: Embedding, metric: Metric) -> Computed:
    """Return how far each point lies from the first that is selected.

    Raises:
        Refused: no point is selected, or it has no distance.
    """
    selected = embedding.selected
    if not selected:
        raise Refused("select a point first: distances are from the first selected one")
    try:
        near = neighbours(embedding.vectors, selected[0], len(embedding), metric)
    except ValueError as error:
        raise Refused(str(error)) from None
    values = np.full(len(embedding), np.nan)
    values[near.indices] = near.distances
    values[selected[0]] = 0.0
    return Computed(values, f"{metric} distance from point {selected[0]}, before projection")
