"""What the bar under the projector says of a picture beside its method."""

from __future__ import annotations

from workbench.embedding import Embedding, Projection

__all__ = ["facts_of", "frames_of"]


def facts_of(projection: Projection) -> str:
    """Return steps, what was sampled and what was left out, in words; empty where there is nothing to say.

    >>> import numpy as np
    >>> facts_of(Projection("t-SNE", np.zeros((4, 2)), iteration=20, of=750, sampled=(4, 9)))
    'step 20 of 750 · sampled: 4 of 9 points'
    """
    parts = []
    if projection.of:
        steps = f"step {projection.iteration:,} of {projection.of:,}"
        parts.append(steps if projection.iteration < projection.of else f"{projection.of:,} steps")
    if projection.sampled is not None:
        some, all_ = projection.sampled
        parts.append(f"sampled: {some:,} of {all_:,} points")
    elif len(projection.missing):
        parts.append(f"{len(projection.missing):,} rows with NaN or infinite values left out")
    return " · ".join(parts)


def frames_of(embedding: Embedding) -> list[str]:
    """Return the names of the projections that belong together with the drawn one, in order; else none."""
    return []
