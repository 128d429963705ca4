"""Neighbourhoods of the same points in two embeddings."""

from __future__ import annotations

from workbench.embedding import Embedding, compare
from workbench.live.messages import ScatterComparison
from workbench.live.model import Refused
from workbench.widgets.scatter_computed import MOST_PAIRS

__all__ = ["KEPT", "Compared"]

KEPT = "neighbours kept"
"""The column that says of each point how much it keeps."""

NEIGHBOURS = 10


class Compared:
    """Which of the nearest of each point two embeddings share.

    Raises:
        Refused: there are too many points.
    """

    def __init__(self, one: Embedding, other: Embedding) -> None:
        count = len(one)
        if count > MOST_PAIRS:
            raise Refused(
                f"a comparison looks at every pair of {count:,} points; at most {MOST_PAIRS:,} are taken here"
            )
        self.k = max(1, min(NEIGHBOURS, (count - 1) // 2))
        self.change = compare(one.vectors, other.vectors, self.k)

    def message(self, name: str, selected: tuple[int, ...]) -> ScatterComparison:
        """Return what a page is told, of the first selected point in particular."""
        lost = self.change.lost[selected[0]].tolist() if selected else []
        gained = self.change.gained[selected[0]].tolist() if selected else []
        return ScatterComparison(name, self.k, float(self.change.kept.mean()), lost, gained)
