"""What the bar under the projector says of a picture beside its method."""

from __future__ import annotations

import re

from workbench.embedding import Embedding, Projection

__all__ = ["CHOSEN", "facts_of", "frames_of"]

CHOSEN = "axes"
"""The method whose axes a person chose: they are called by their names, not by numbers."""

PRINCIPAL = "PCA"
"""The method whose axes are as many as points have directions, and 0 beyond."""

LONGEST = 40
"""Letters of the name of an axis."""

WAYS = ("across", "up", "towards you")
"""Where the axes of a picture lead, seen as it is drawn at first."""

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def facts_of(projection: Projection) -> str:
    """Return chosen axes, steps, what was sampled, left out or not exact, in words; empty where none is to be told.

    Of principal components it says where points have fewer directions than the picture has axes.

    >>> import numpy as np
    >>> facts_of(Projection("t-SNE", np.zeros((4, 2)), iteration=20, of=750, sampled=(4, 9)))
    'step 20 of 750 · sampled: 4 of 9 points'
    >>> facts_of(Projection("UMAP", np.zeros((4, 2)), of=500, phase="finding neighbours", stand_in="components"))
    'finding neighbours · drawn until then: components'
    >>> facts_of(Projection("axes", np.zeros((4, 2)), explained=(0.25, 0.125), axes=("he → she", "poor → rich")))
    'across he → she, 25 % of the variance · up poor → rich, 12.5 %'
    >>> facts_of(Projection("PCA", np.zeros((2, 3)), explained=(1.0, 0.0, 0.0)))
    '2 points have 1 direction'
    """
    parts: list[str] = []
    count = len(projection.rows) or len(projection.positions)
    directions = sum(share > 0 for share in projection.explained)
    if projection.method == PRINCIPAL and directions < len(projection.explained):
        points = f"{count:,} point{'' if count == 1 else 's'} ha{'s' if count == 1 else 've'}"
        parts.append(f"{points} {directions or 'no'} direction{'s' if directions > 1 else ''}")
    if projection.method == CHOSEN:
        for way, name, share in zip(WAYS, projection.axes, projection.explained, strict=False):
            of = "" if parts else " of the variance"
            parts.append(f"{way} {name[:LONGEST]}, {100 * share:.3g} %{of}")
    if projection.phase:
        parts.append(projection.phase)
    elif projection.of:
        steps = f"step {projection.iteration:,} of {projection.of:,}"
        parts.append(steps if projection.iteration < projection.of else f"{projection.of:,} steps")
    if projection.stand_in:
        parts.append(f"drawn until then: {projection.stand_in}")
    if projection.sampled is not None:
        some, all_ = projection.sampled
        parts.append(f"sampled: {some:,} of {all_:,} points")
    elif len(projection.missing):
        parts.append(f"{len(projection.missing):,} rows with NaN or infinite values left out")
    if projection.approximate:
        parts.append(projection.approximate)
    return " · ".join(parts)


def frames_of(embedding: Embedding) -> list[str]:
    """Return the names of the projections that follow one another with the drawn one, in order; none where it is alone.

    Those that `aligned` made follow one another as they were given. Others are of one method, and their names differ in
    numbers alone: ``epoch 1``, ``epoch 2``, ``epoch 10``.
    """
    drawn = embedding.projection
    if drawn is None:
        return []
    if drawn.film:
        steps = [name for name in drawn.film if _film(embedding, name) == drawn.film]
        return steps if len(steps) > 1 else []
    kind = _kind(drawn)
    frames = [name for name, one in embedding.projections.items() if not one.film and _kind(one) == kind]
    return (
        sorted(frames, key=lambda name: [float(number) for number in NUMBER.findall(name)])
        if len(frames) > 1
        else []
    )


def _film(embedding: Embedding, name: str) -> tuple[str, ...]:
    """Return the film that a projection is of; none where another took the name, or none is called so."""
    found = embedding.projections.get(name)
    return () if found is None else found.film


def _kind(projection: Projection) -> tuple[str, int, str]:
    return projection.method, projection.positions.shape[1], NUMBER.sub("#", projection.name)
