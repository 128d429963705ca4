"""Columns of the projector that are computed when a person asks for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.embedding import Embedding, Projection, Quality
from workbench.embedding.clusters import find_clusters
from workbench.embedding.columns import Column
from workbench.embedding.hdbscan import Reached
from workbench.embedding.judged import neighbours_judged
from workbench.embedding.neighbours import Metric, neighbours
from workbench.live.model import Refused

__all__ = ["CLUSTER", "DISTANCE", "OFFERED", "TRUST", "Computed", "clusters", "distance", "trust"]

Array = np.ndarray[Any, Any]

TRUST = "trustworthiness"
DISTANCE = "distance to the selection"
CLUSTER = "cluster"

OFFERED: dict[str, str] = {
    TRUST: "of each point: how far its neighbours in the picture are those of the space; 1 is the best",
    CLUSTER: "groups by density (HDBSCAN), called by the words that set them apart",
    DISTANCE: "from the first selected point, before projection",
}
"""What can be computed, and what it says."""


class Computed(NamedTuple):
    """A column, and what it says."""

    column: Column
    note: str


def trust(found: Quality, projection: Projection) -> Computed:
    """Return how far each point's neighbourhood is kept in a picture, of which that was found."""
    judged, count = len(found.judged), len(projection.rows)
    some = f"; {judged:,} of {count:,} points judged" if judged < count else ""
    column = Column(TRUST, "number", found.trust_of_points)
    return Computed(column, f"{OFFERED[TRUST]} (k = {neighbours_judged(count)}{some})")


def clusters(embedding: Embedding, reached: Reached) -> Computed:
    """Return the groups that density finds in the space before projection, called by the words that set them apart.

    ``reached(what, done, of)`` is told how far it is, and may end it by raising.
    """
    found = find_clusters(embedding, "vectors", None, {}, reached)
    labels = tuple(f"{place + 1}: {label}" for place, label in enumerate(found.labels))
    codes = np.where(found.codes < 0, len(labels), found.codes)
    names = (*labels, "none") if found.noise else labels
    column = Column(CLUSTER, "category", tuple(names[code] for code in codes), names, codes)
    return Computed(column, f"{len(found)} groups by {found.method}; {found.noise:,} points in none")


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
    column = Column(DISTANCE, "number", values)
    return Computed(column, f"{metric} distance from point {selected[0]}, before projection")
