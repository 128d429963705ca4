"""What is asked of a projection, checked and brought into form before anything is computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.embedding import tsne, umap  # noqa: F401  they offer their methods
from workbench.embedding.columns import Column
from workbench.embedding.methods import Method, Outcome, Problem, method_of
from workbench.embedding.projection import Projection, code_of
from workbench.embedding.runs import Frame
from workbench.embedding.scales import fits_floats, lengths_of
from workbench.embedding.vectors import as_array, check_finite, finite_rows, is_whole
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.embedding.embedding import Embedding

__all__ = ["Plan", "direction", "plan", "sphereized"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Plan:
    """A projection that can be made."""

    name: str
    method: Method
    problem: Problem
    projection: Projection
    """What of it is known beforehand, with no positions yet."""

    def shown(self, frame: Frame) -> Projection:
        """Return the projection as it is at a frame."""
        return dataclasses.replace(
            self.projection,
            positions=self._spread(frame.positions),
            iteration=frame.iteration,
            of=frame.of,
            rate=frame.rate,
            running=frame.running,
            phase=frame.phase,
            stand_in=frame.stand_in,
        )

    def finished(self, outcome: Outcome) -> Projection:
        """Return the projection as it is in the end."""
        return dataclasses.replace(
            self.projection,
            positions=self._spread(outcome.positions),
            explained=outcome.explained,
            axes=outcome.axes,
            iteration=outcome.iterations,
            of=outcome.iterations,
        )

    def _spread(self, positions: Array) -> Array:
        """Return positions of all points, NaN for those that are not in the picture."""
        count, rows = self.problem.of, self.problem.rows
        positions = fits_floats(positions, self.method.title)
        if len(rows) == count:
            # In one piece: a page gets it as bytes.
            return positions
        found = np.full((count, positions.shape[1]), np.nan, np.float32)
        found[rows] = positions
        return found


def plan(
    embedding: Embedding,
    method: str,
    dims: int | None,
    name: str,
    missing: str,
    sample: int | None,
    sphereize: bool,
    settings: Mapping[str, Any],
) -> Plan:
    """Return the projection that is asked for, ready to be made; raise as `Embedding.project` does."""
    key, found = method_of(method)
    dims = found.dims(settings) if dims is None else dims
    if dims not in (2, 3):
        raise ValueError(f"a projection has 2 or 3 dims, not {dims!r}")
    if not isinstance(name, str):
        raise TypeError(f"name is what the projection is called, a text, got {type(name).__name__}")
    if missing not in ("refuse", "drop"):
        raise ValueError(f"missing is 'refuse' or 'drop', not {missing!r}")
    space = embedding.vectors
    rows = _rows(embedding, found, dims, settings, missing)
    sampled = None
    if sample is not None:
        if not is_whole(sample) or sample < 1:
            raise ValueError(f"sample is a whole number of points from 1, got {sample!r}")
        if sample < len(rows):
            sampled = (int(sample), len(rows))
            rows = np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))
    whole = len(rows) == len(space)
    if whole or not found.stands_still:
        points = space if whole else space[rows]
    else:
        points = space
    middle: Any = 0.0
    lengths = False
    if sphereize and not found.stands_still:
        points, middle, lengths = (*sphereized(points), True)
    problem = Problem(
        points,
        dims,
        dict(settings),
        rows,
        len(space),
        lambda by: _column(embedding, by, rows),
        lambda end: direction(embedding, end, middle, lengths),
    )
    found.check(problem)
    kept: dict[str, Any] = {"missing": missing} if missing != "refuse" else {}
    kept |= {"sample": sample} if sample is not None else {}
    kept |= {"sphereize": True} if sphereize else {}
    options = {**settings, **kept}
    title = name or _free(embedding, found.title, dims, options)
    projection = Projection(
        found.title,
        np.zeros((0, dims), np.float32),
        name=title,
        settings=code_of(key, dims, {**options, **({"name": name} if name else {})}),
        options=options,
        rows=rows,
        missing=np.setdiff1d(np.arange(len(space)), rows, assume_unique=True) if not whole else rows[:0],
        sampled=sampled,
        approximate=found.approximates(problem),
        vectors=space,
    )
    return Plan(title, found, problem, projection)


def _rows(
    embedding: Embedding, method: Method, dims: int, settings: Mapping[str, Any], missing: str
) -> Array:
    """Return the points that can be placed; raise where some cannot and are not to be left out."""
    space = embedding.vectors
    if method.stands_still:
        given = settings.get("positions")
        array = as_array(given)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            return np.arange(len(space))
        if len(array) != len(space):
            raise ValueError(f"{method.title}: {len(array):,} positions for {len(space):,} points")
        space = array
    rows = finite_rows(space)
    if len(rows) < len(space):
        if missing == "refuse":
            check_finite(space, method.title, embedding.names, fix="or project(…, missing='drop')")
        if not len(rows):
            raise ValueError(f"{method.title}: all {len(space):,} points hold NaN or infinite values")
    return rows


def sphereized(points: Array) -> tuple[Array, Array]:
    """Return points moved so that their mean is 0, each then of length 1, and that mean.

    A point at the mean has no direction and stays there.

    >>> sphereized(np.array([[0.0, 0.0], [2.0, 0.0]]))[0].tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    mean = points.mean(axis=0, dtype=np.float64)
    moved = points - mean.astype(points.dtype)
    lengths = lengths_of(moved)
    lengths[lengths == 0] = 1
    moved /= lengths[:, None]
    return moved, mean


def _column(embedding: Embedding, by: Any, rows: Array) -> Column:
    column = embedding.column(by)
    return column if len(rows) == len(column) else column.take(rows)


def direction(embedding: Embedding, end: Any, middle: Any = 0.0, lengths: bool = False) -> Array:
    """Return the vector of one end of an axis: of a point, the mean of several, or of vectors that are given.

    `middle` and `lengths` say how the points were sphereized.

    Raises:
        KeyError: no point is called so; the nearest name is told.
        ValueError: it is none of these, or not of the points' features.
    """
    if isinstance(end, str | int | np.integer):
        vectors = embedding.vectors[embedding.index(end)][None]
    elif isinstance(end, list | tuple | set | frozenset) and all(
        isinstance(one, str | int | np.integer) and not isinstance(one, bool) for one in end
    ):
        if not end:
            raise ValueError("axes: an end of an axis has at least one point")
        vectors = embedding.vectors[[embedding.index(one) for one in end]]
    else:
        vectors = as_array(end)
        if vectors.dtype.kind not in "fiub" or vectors.ndim not in (1, 2) or not vectors.size:
            raise ValueError(
                "axes: an end of an axis is a point's name or number, several of them, or a vector, got "
                f"{type(end).__name__}"
            )
        vectors = np.atleast_2d(vectors)
        if vectors.shape[1] != embedding.vectors.shape[1]:
            raise ValueError(
                f"axes: a vector of {vectors.shape[1]:,} numbers in a space of {embedding.vectors.shape[1]:,} features"
            )
    vectors = vectors.astype(np.float64) - middle
    if not np.isfinite(vectors).all():
        raise ValueError(f"axes: an end of an axis holds NaN or infinite values: {end!r:.60}")
    if lengths:
        own = lengths_of(vectors)[:, None]
        vectors = vectors / np.where(own > 0, own, 1)
    mean: Array = vectors.mean(axis=0)
    return mean


def _free(embedding: Embedding, title: str, dims: int, options: Mapping[str, Any]) -> str:
    """Return a name for a projection: the same settings have the same, others of the method get a number."""
    plain = f"{title} {dims}-D"
    name, number = plain, 1
    while name in embedding.projections and not _same(embedding.projections[name].options, options):
        number += 1
        name = f"{plain} ({number})"
    return name


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray | Tensor) or isinstance(other, np.ndarray | Tensor):
        return one is other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)
