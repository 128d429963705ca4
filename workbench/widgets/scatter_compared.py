"""Neighbourhoods of the same points in two embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.embedding import compare
from workbench.live.messages import ScatterComparison
from workbench.live.model import Refused

Array = np.ndarray[Any, Any]

__all__ = ["KEPT", "Compared"]

KEPT = "neighbours kept"
"""The column that says of each point how much it keeps."""

NEIGHBOURS = 10

MOST_PAIRS = 40_000
"""Of more points than this not every pair is compared: it takes time with their square."""


class Compared:
    """Which of the nearest of each point two embeddings share.

    Raises:
        Refused: there are too many points.
    """

    def __init__(self, one: Array, other: Array) -> None:
        count = len(one)
        if count > MOST_PAIRS:
            raise Refused(
                f"a comparison looks at every pair of {count:,} points; at most {MOST_PAIRS:,} are taken here"
            )
        self.k = max(1, min(NEIGHBOURS, (count - 1) // 2))
        self.change = compare(one, other, self.k)

    def message(self, name: str, selected: tuple[int, ...]) -> ScatterComparison:
        """Return what a page is told, of the first selected point in particular."""
        lost = self.change.lost[selected[0]].tolist() if selected else []
        gained = self.change.gained[selected[0]].tolist() if selected else []
        return ScatterComparison(name, self.k, float(self.change.kept.mean()), lost, gained)
