"""Neighbours of the picked point, looked for once."""

from __future__ import annotations

from workbench.embedding import Embedding
from workbench.embedding.neighbours import METRICS, Metric, neighbours
from workbench.live.messages import Neighbour, Refusal
from workbench.live.model import Refused

__all__ = ["MOST_NEIGHBOURS", "Nearest"]

MOST_NEIGHBOURS = 999


class Nearest:
    """The `k` nearest to the first selected point, exactly, in the space before projection."""

    def __init__(self) -> None:
        self.metric: Metric = "cosine"
        self.k = 12
        self._key: object = None
        self._found: tuple[list[Neighbour], Refusal | None] = ([], None)

    def ask(self, metric: str, k: int) -> None:
        """Measure otherwise, or list more or fewer.

        Raises:
            Refused: there is no such metric, or `k` is out of bounds.
        """
        known: dict[str, Metric] = {one: one for one in METRICS}
        if metric not in known:
            raise Refused(f"there is no metric {metric!r}; there are {', '.join(METRICS)}")
        if not 1 <= k <= MOST_NEIGHBOURS:
            raise Refused(f"1 to {MOST_NEIGHBOURS} neighbours are listed, not {k}")
        self.metric, self.k = known[metric], k

    def of(
        self, embedding: Embedding, selected: tuple[int, ...], count: int
    ) -> tuple[list[Neighbour], Refusal | None]:
        """Return the neighbours of the first selected point among the `count` that are drawn, or why there are none."""
        key = (selected[:1], self.metric, self.k, count)
        if self._key != key:
            found: list[Neighbour] = []
            refusal = None
            # The others are not drawn, and have no neighbours that are.
            if selected and selected[0] < count:
                try:
                    near = neighbours(embedding.vectors[:count], selected[0], self.k, self.metric)
                # A point that is zero, or not finite, is near nothing.
                except ValueError as error:
                    refusal = Refusal("select_points", str(error))
                else:
                    pairs = zip(near.indices.tolist(), near.distances.tolist(), strict=True)
                    found = [Neighbour(index, distance) for index, distance in pairs]
            self._key, self._found = key, (found, refusal)
        return self._found
