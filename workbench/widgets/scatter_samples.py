"""What the points of a projector are elsewhere: samples of a batch, channels of a parameter, points of others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.embedding import Embedding
from workbench.live.model import Refused

__all__ = ["places_of", "points_of", "same_points", "samples_of"]


def samples_of(embedding: Embedding, points: tuple[int, ...]) -> tuple[int, ...]:
    """Return the samples that points are; () where they are none.

    >>> samples_of(Embedding(np.eye(3), samples=[7, 5, 6]), (2, 0))
    (6, 7)
    """
    samples = embedding.samples
    return () if samples is None else tuple(samples[list(points)].tolist())


def points_of(embedding: Embedding, samples: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the points that are these samples, in their order; None where points are no samples.

    >>> points_of(Embedding(np.eye(3), samples=[7, 5, 6]), (6, 7))
    (2, 0)

    Raises:
        Refused: none is one of them.
    """
    numbers = embedding.samples
    if numbers is None:
        return None
    order = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers, samples, sorter=order)
    found = order[np.minimum(at, len(order) - 1)] if len(order) else order
    if missing := [one for one, there in zip(samples, numbers[found], strict=True) if one != there]:
        raise Refused(f"none of these points is sample {missing[0]}")
    return tuple(found.tolist())


def places_of(embedding: Embedding) -> tuple[str, ...]:
    """Return the parameter whose channels the points are, and its layer; () where they are of none.

    >>> weights = Embedding(np.eye(3))
    >>> weights.place = "conv1.weight"
    >>> places_of(weights)
    ('conv1.weight', 'conv1')
    """
    place = embedding.place
    return (place, place.rpartition(".")[0]) if place else ()


def same_points(embedding: Embedding, beside: Mapping[str, Embedding]) -> dict[str, Embedding]:
    """Return embeddings that are to be compared with one, by name, their points in its order.

    Raises:
        ValueError: one is of other points.
    """
    for name, other in beside.items():
        if len(other) != len(embedding):
            raise ValueError(
                f"{name!r} has {len(other):,} points and this embedding {len(embedding):,}: only "
                "the same points can be compared"
            )
    return {
        name: other.in_order_of(embedding, f"the comparison with {name!r}") for name, other in beside.items()
    }
