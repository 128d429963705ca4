"""Neighbourhoods of the same points in two embeddings, or in two pictures of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.embedding import Projection
from workbench.embedding.columns import Column
from workbench.embedding.neighbours import Metric
from workbench.embedding.quality import compare_in_parts
from workbench.live.messages import ScatterComparison
from workbench.live.model import Refused
from workbench.widgets.scatter_computed import Computed

__all__ = ["KEPT", "Compared"]

Array = np.ndarray[Any, Any]

KEPT = "neighbours kept"
"""The column that says of each point how much it keeps."""

NEIGHBOURS = 10

MOST_PAIRS = 40_000
"""Of more points than this not every pair is compared: it takes time with their square."""


class Compared:
    """Which of the nearest of each point another embedding, or another picture, called `name` shares.

    `pictures` are the two that were compared, none where it was the spaces before projection. Pictures are compared
    as they are seen, by Euclid: where in them the origin lies says nothing. Spaces are compared by direction.
    ``reached(done, of)`` is told how many points are compared, and may end it by raising.

    Raises:
        Refused: there are too many points.
    """

    def __init__(
        self,
        name: str,
        one: Array,
        other: Array,
        pictures: tuple[Projection, Projection] | None = None,
        reached: Callable[[int, int], None] = lambda done, of: None,
    ) -> None:
        count = len(one)
        if count > MOST_PAIRS:
            raise Refused(
                f"a comparison looks at every pair of {count:,} points; at most {MOST_PAIRS:,} are taken here"
            )
        self.name = name
        self.pictures = pictures
        self.k = max(1, min(NEIGHBOURS, (count - 1) // 2))
        self.metric: Metric = "cosine" if pictures is None else "euclidean"
        self.change = compare_in_parts(one, other, self.k, self.metric, reached)

    @property
    def column(self) -> Computed:
        """How much each point keeps."""
        seen = "as the two pictures show them" if self.pictures else f"by {self.metric} distance"
        note = f"the share of each point's {self.k} nearest that {self.name} has, too, {seen}"
        return Computed(Column(KEPT, "number", self.change.kept), note)

    def holds(self, drawn: Projection, other: Projection | None) -> bool:
        """Say whether it is of the picture that is drawn and the one that is called `name` now."""
        return self.pictures is None or (self.pictures[0] is drawn and self.pictures[1] is other)

    def message(self, selected: tuple[int, ...]) -> ScatterComparison:
        """Return what a page is told, of the first selected point in particular."""
        lost = self.change.lost[selected[0]].tolist() if selected else []
        gained = self.change.gained[selected[0]].tolist() if selected else []
        return ScatterComparison(self.name, self.k, float(self.change.kept.mean()), lost, gained)
