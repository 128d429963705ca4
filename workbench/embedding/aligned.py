"""Embeddings of the same points at several steps, epochs or layers: pictures that can be played one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.embedding.embedding import Embedding
from workbench.embedding.projection import Projection, code_of
from workbench.embedding.umap import aligned_umap
from workbench.embedding.vectors import as_points, check_finite

__all__ = ["aligned", "procrustes"]

Array = np.ndarray[Any, Any]


def aligned(
    embeddings: Sequence[Any] | Mapping[str, Any],
    method: str = "pca",
    dims: int = 2,
    *,
    steps: Sequence[str] | None = None,
    **settings: Any,
) -> Embedding:
    """Return the last of some embeddings of the same points with a projection a step, each turned to the one before.

    `embeddings`, or arrays or tensors [N, features], are in the order in which they are played: a dict of them by name
    (layers, or epochs after one that is ``"untrained"``), or a list, and `steps` says what they are called. Each is
    projected by itself (a method of `Embedding.project` with its `settings`), then moved, turned, mirrored and scaled
    so that points lie as near as can be to where they were (Procrustes). ``method="aligned_umap"`` lays all out
    together instead. Points that were given `names` are the same by these, others by number. The projections are in
    ``projections`` under the steps' names; `show` plays them.

    Raises:
        ValueError: there are fewer than two, names are of other points, steps have other numbers or one name twice, or
            are given beside a dict, or as `Embedding.project` does.
        TypeError: `embeddings` are one, or no list or dict.
        DimensionError: they are of other numbers of points, or arrays are not [N, features].

    >>> points = np.random.default_rng(0).standard_normal((9, 4))
    >>> film = aligned({"epoch 1": Embedding(points), "epoch 2": Embedding(-points)})
    >>> list(film.projections)
    ['epoch 1', 'epoch 2']
    >>> bool(np.allclose(*(one.positions for one in film.projections.values()), atol=1e-5))
    True
    """
    names, made = _steps(embeddings, steps)
    count = len(made[-1])
    for name, one in zip(names, made, strict=True):
        if len(one) != count:
            raise DimensionError(
                f"aligned is of the same points at each step, got {len(one):,} at {name!r} and {count:,} in the end",
                op="aligned",
            )
    last = made[-1]
    made = [one.in_order_of(last, f"aligned, at {name!r},") for name, one in zip(names, made, strict=True)]
    film = last.take(slice(None))
    if method == "aligned_umap":
        for one in made:
            check_finite(one.vectors, "aligned_umap", one.names)
        positions = aligned_umap([one.vectors for one in made], dims, settings)
        found = [Projection("AlignedUMAP", _float(one), rows=np.arange(count)) for one in positions]
    else:
        found = []
        for one in made:
            alone = Embedding(one.vectors, one.labels, names=one.names)
            projection = alone.project(method, dims, **settings).projection
            assert projection is not None  # as it has just been made
            if found:
                moved = procrustes(found[-1].positions, projection.positions)
                projection = dataclasses.replace(projection, positions=_float(moved))
            found.append(projection)
    code = code_of(method, dims, settings).replace(
        "embedding.project(", "wb.embedding.aligned(embeddings, ", 1
    )
    for name, one, projection in zip(names, made, found, strict=True):
        film.projections[name] = dataclasses.replace(
            projection,
            name=name,
            settings=code,
            vectors=one.vectors,
            options=dict(settings),
            film=tuple(names),
        )
    film.title = f"{last.title}: {names[0]} to {names[-1]}"
    return film.show(names[-1])


def _steps(embeddings: Any, steps: Sequence[str] | None) -> tuple[list[str], list[Embedding]]:
    """Return what the steps are called, and an embedding of each."""
    if isinstance(embeddings, Embedding | str) or not isinstance(embeddings, Iterable):
        raise TypeError(
            "aligned: give a list of embeddings (or arrays [N, features]), or a dict of them by name, got "
            f"{type(embeddings).__name__}"
        )
    if isinstance(embeddings, Mapping):
        if steps is not None:
            raise ValueError(
                f"aligned: a dict has the names of its steps, {', '.join(map(str, embeddings))}; give no steps="
            )
        names, given = [str(one) for one in embeddings], list(embeddings.values())
    else:
        given = list(embeddings)
        names = [] if steps is None else [str(one) for one in steps]
    if len(given) < 2:
        raise ValueError(f"aligned: give two embeddings or more of the same points, got {len(given)}")
    made = [one if isinstance(one, Embedding) else Embedding(as_points(one, "aligned")) for one in given]
    if steps is None and not isinstance(embeddings, Mapping):
        names = [one.title for one in made]
        if len(set(names)) < len(names):
            names = [f"step {number + 1}" for number in range(len(made))]
    if len(names) != len(made) or len(set(names)) < len(names):
        raise ValueError(
            f"aligned: {len(made)} embeddings take as many names of steps, each another; got {names}"
        )
    return names, made


def _float(positions: Array) -> Array:
    return np.ascontiguousarray(positions, np.float32)


def procrustes(goal: Array, positions: Array) -> Array:
    r"""Return `positions` [N, dims] moved, turned, mirrored and scaled to lie as near to `goal` as can be.

    The rotation is :math:`U V^T` of the singular vectors of :math:`X^T Y`, both less their means. Points that are NaN
    in either stay out of it.

    Raises ValueError where the two are not of one shape.

    Source: Schönemann: A generalized solution of the orthogonal Procrustes problem (1966).

    >>> goal = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> turned = goal @ np.array([[0.0, 1.0], [-1.0, 0.0]]) * 3 + 5
    >>> np.abs(procrustes(goal, turned) - goal).max() < 1e-12
    np.True_
    """
    if goal.ndim != 2 or goal.shape != positions.shape:
        raise ValueError(
            f"procrustes: both are positions [N, dims] of the same points, got {list(goal.shape)} and "
            f"{list(positions.shape)}"
        )
    both = np.isfinite(goal).all(axis=1) & np.isfinite(positions).all(axis=1)
    one, other = goal[both].astype(np.float64), positions[both].astype(np.float64)
    if not len(one):
        return positions
    middle, own = one.mean(axis=0), other.mean(axis=0)
    left, sizes, right = np.linalg.svd((other - own).T @ (one - middle))
    spread = float(((other - own) ** 2).sum())
    scale = float(sizes.sum()) / spread if spread > 0 else 1.0
    found: Array = (positions.astype(np.float64) - own) @ (left @ right) * scale + middle
    return found
