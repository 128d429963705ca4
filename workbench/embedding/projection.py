"""Where points lie in a picture, by which method, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from workbench.embedding.judged import judged, neighbours_judged
from workbench.embedding.quality import Quality, quality

__all__ = ["Projection", "code_of"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Projection:
    """Where the points lie in a picture. It never changes: while a method runs, each frame is another."""

    method: str
    """``PCA``, ``t-SNE``, ``UMAP``, ``densMAP``, ``axes`` or ``given``."""
    positions: Array
    """float32 [N, dims]; NaN for the points of `missing`."""
    explained: tuple[float, ...] = ()
    """The share of the variance that each axis explains, where axes are directions of the space."""
    name: str = ""
    """Under which it is in ``embedding.projections``."""
    settings: str = ""
    """Code that makes it again."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The settings that were given, by name."""
    axes: tuple[str, ...] = ()
    """What each axis is called."""
    rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64: the points that are in it."""
    missing: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64: the points that are not, because they hold NaN or infinite values, or were not drawn into the sample."""
    sampled: tuple[int, int] | None = None
    """Of how many of how many points it was made, where a sample was asked for."""
    approximate: str = ""
    """What was not found exactly, in words; empty where everything was."""
    iteration: int = 0
    of: int = 0
    """How many iterations there are to be; 0 where the method has none."""
    rate: float = 0.0
    """Iterations a second."""
    running: bool = False
    """Whether further frames follow."""
    phase: str = ""
    """What is computed before the first iteration, in words; empty from there on."""
    stand_in: str = ""
    """What is drawn until the method has positions of its own, ``principal components``; empty where it has."""
    film: tuple[str, ...] = ()
    """The names of all steps, in order, where it is one of those that `aligned` made to be played."""
    vectors: Array | None = field(default=None, repr=False)
    """The points that it is a picture of, [N, features]."""

    @property
    def left(self) -> float:
        """Seconds until it is finished, as far as its rate tells; NaN where nobody knows."""
        return (self.of - self.iteration) / self.rate if self.rate > 0 else math.nan

    @cached_property
    def quality(self) -> Quality | None:
        """Trustworthiness and continuity of 10 neighbours, of the whole and of each point (NaN for those missing).

        Of more than 10,000 points 2,000 are judged, drawn evenly, against all; `judged` of it says which. None where
        there are too few points to tell.
        """
        rows = self.rows
        k = neighbours_judged(len(rows))
        if self.vectors is None or k < 1:
            return None
        whole = len(rows) == len(self.positions)
        space = self.vectors if whole else self.vectors[rows]
        picture = self.positions if whole else self.positions[rows]
        found = quality(space, picture, k, of=judged(len(rows)))
        if whole:
            return found
        spread = [np.full(len(self.positions), np.nan) for _ in range(2)]
        spread[0][rows], spread[1][rows] = found.trust_of_points, found.continuity_of_points
        return Quality(found.trustworthiness, found.continuity, spread[0], spread[1], rows[found.judged])


def code_of(method: str, dims: int, options: Mapping[str, Any]) -> str:
    """Return the code that projects so again.

    >>> code_of("tsne", 2, {"perplexity": 30, "positions": np.zeros((2, 2))})
    "embedding.project('tsne', dims=2, perplexity=30, positions=positions)"
    """
    parts = [repr(method), f"dims={dims}"]
    parts += [f"{name}={_code(name, value)}" for name, value in options.items()]
    return f"embedding.project({', '.join(parts)})"


def _code(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    plain = isinstance(value, bool | int | float | str | type(None))
    if isinstance(value, tuple | list):
        entries = ", ".join(_code(name, one) for one in value)
        return f"[{entries}]" if isinstance(value, list) else f"({entries}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_code(name, one)}" for key, one in value.items()) + "}"
    # What is too large to write down has the name of the setting.
    return repr(value) if plain else name
