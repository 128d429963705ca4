"""The ways of projecting, by name: what each takes, what it checks before it begins, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.dims import near_miss
from workbench.embedding.columns import Column
from workbench.embedding.pca import PCA
from workbench.embedding.runs import Report
from workbench.embedding.scales import fits_floats, lengths_of
from workbench.embedding.vectors import as_array

__all__ = ["METHODS", "Method", "Outcome", "Problem", "check_settings", "method_of", "register"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """Points that are to be projected, and what was asked for."""

    points: Array
    """[N, features], finite."""
    dims: int
    settings: Mapping[str, Any]
    rows: Array
    """int64 [N]: which points of the embedding they are."""
    of: int
    """How many points the embedding has."""
    column: Callable[[Any], Column]
    """A column by name, or the labels for True; of the same points."""
    direction: Callable[[Any], Array]
    """What an end of an axis says, as a vector [features]."""


@dataclass(frozen=True)
class Outcome:
    """Where points lie in the end."""

    positions: Array
    explained: tuple[float, ...] = ()
    axes: tuple[str, ...] = ()
    iterations: int = 0
    """How many there were, of a method that has any."""


@dataclass(frozen=True)
class Method:
    """One way of projecting."""

    title: str
    run: Callable[[Problem, Report], Outcome]
    check: Callable[[Problem], None]
    """Raises, before anything is computed, where the settings do not fit the points."""
    dims: Callable[[Mapping[str, Any]], int]
    """How many dims a picture has where nobody says."""
    iterative: bool = False
    """Whether it takes long and shows where it is."""
    stands_still: bool = field(default=False)
    """Whether it needs no finite points, as positions that are given do."""
    approximates: Callable[[Problem], str] = lambda problem: ""
    """What of the points it does not find exactly, in words that stand beside the picture."""


METHODS: dict[str, Method] = {}
"""The ways of projecting, by the names that `Embedding.project` takes."""


def register(name: str, method: Method) -> None:
    """Offer a way of projecting under `name`."""
    METHODS[name] = method


def method_of(name: str) -> tuple[str, Method]:
    """Return a way of projecting by its name or its title, ``"t-SNE"`` as ``"tsne"``, with the name it has here.

    Raises ValueError where there is none, with the nearest.
    """
    key = str(name).lower().replace("-", "").replace("_", "")
    if key not in METHODS:
        near = near_miss(key, METHODS)
        raise ValueError(
            f"there is no projection {name!r}"
            + (f"; did you mean {near!r}?" if near else "")
            + f"; there are {', '.join(METHODS)}"
        )
    return key, METHODS[key]


def check_settings(method: str, given: Mapping[str, Any], known: Any) -> None:
    """Raise TypeError where a setting is none of those that are `known`, with the nearest."""
    known = list(known)
    for name in given:
        if name not in known:
            near = near_miss(name, known)
            raise TypeError(
                f"{method} has no setting {name!r}"
                + (f"; did you mean {near!r}?" if near else f"; there are {', '.join(known)}")
            )


# --------------------------------------------------------------------------------------------- principal components


PCA_SETTINGS = ("solver", "random_state", "n_oversamples", "n_iter")


def _check_pca(problem: Problem) -> None:
    check_settings("PCA", problem.settings, PCA_SETTINGS)
    PCA(problem.dims, **problem.settings)


def _pca(problem: Problem, report: Report) -> Outcome:
    pca = PCA(problem.dims, **problem.settings)
    positions = pca.fit_transform(problem.points)
    axes = tuple(f"component {place + 1}" for place in range(problem.dims))
    return Outcome(positions, tuple(pca.explained_variance_ratio.tolist()), axes)


register("pca", Method("PCA", _pca, _check_pca, lambda settings: 3))


# --------------------------------------------------------------------------------------------- positions that are given


def _given_dims(settings: Mapping[str, Any]) -> int:
    shape = np.shape(settings.get("positions", ()))
    return int(shape[1]) if len(shape) == 2 else 2


def _check_given(problem: Problem) -> None:
    check_settings("given", problem.settings, ("positions", "axes"))
    if "positions" not in problem.settings:
        raise TypeError("given: say where the points are: embedding.project('given', positions=array)")
    positions = _positions(problem)
    axes = problem.settings.get("axes", ())
    if axes and len(axes) != positions.shape[1]:
        raise ValueError(f"given: {len(axes)} names of axes for positions of {positions.shape[1]} dims")


def _positions(problem: Problem) -> Array:
    given = problem.settings["positions"]
    array = as_array(given)
    if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"given: positions are numbers [N, 2] or [N, 3], got {array.dtype.name} {list(array.shape)}"
        )
    if problem.dims != array.shape[1]:
        raise ValueError(
            f"given: positions have {array.shape[1]} dims, and dims={problem.dims} was asked for"
        )
    return array


def _given(problem: Problem, report: Report) -> Outcome:
    names = problem.settings.get("axes") or ("x", "y", "z")[: problem.dims]
    return Outcome(_positions(problem)[problem.rows], axes=tuple(str(one) for one in names))


register("given", Method("given", _given, _check_given, _given_dims, stands_still=True))


# --------------------------------------------------------------------------------------------------------- axes


def _ends(settings: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the axes that are asked for: a name, where it comes from, and where it goes to."""
    given = settings.get("axes")
    if given is None:
        raise TypeError(
            "axes: say between what each axis leads: embedding.project('axes', axes=[('man', 'woman'), ('poor', "
            "'rich')])"
        )
    pairs = list(given.items()) if isinstance(given, Mapping) else [("", one) for one in given]
    found = []
    for name, pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"axes: an axis is a pair (from, to), each a point, several points or a vector; got {pair!r}"
            )
        found.append((name or f"{_told(pair[0])} → {_told(pair[1])}", pair[0], pair[1]))
    return found


def _told(end: Any) -> str:
    if isinstance(end, str | int | np.integer):
        return str(end)
    if isinstance(end, list | tuple) and end and all(isinstance(one, str | int | np.integer) for one in end):
        return ", ".join(str(one) for one in end[:3]) + (", …" if len(end) > 3 else "")
    return "vector"


def _directions(problem: Problem) -> list[tuple[str, Array, Array]]:
    """Return each axis as its name, its middle and its direction of length 1."""
    found = []
    for name, start, end in _ends(problem.settings):
        one, other = problem.direction(start), problem.direction(end)
        apart = other - one
        length = float(lengths_of(apart[None])[0])
        if not length > 0:
            raise ValueError(f"axes: {name!r} leads nowhere: both of its ends are the same place")
        found.append((name, (one + other) / 2, apart / length))
    return found


def _check_axes(problem: Problem) -> None:
    check_settings("axes", problem.settings, ("axes",))
    count = len(_directions(problem))
    if count != problem.dims:
        raise ValueError(f"axes: {problem.dims} dims take {problem.dims} axes, got {count}")


def _axes(problem: Problem, report: Report) -> Outcome:
    axes = _directions(problem)
    directions = np.stack([direction for _, _, direction in axes], axis=1)
    middles = np.array([middle @ direction for _, middle, direction in axes])
    # Of positions that a picture can hold, the squares are numbers too.
    positions = fits_floats(problem.points @ directions.astype(problem.points.dtype) - middles, "axes")
    spread = float(problem.points.var(axis=0, dtype=np.float64).sum())
    explained = positions.var(axis=0, dtype=np.float64) / spread if spread > 0 else np.zeros(len(axes))
    return Outcome(positions, tuple(explained.tolist()), tuple(name for name, _, _ in axes))


register("axes", Method("axes", _axes, _check_axes, lambda settings: len(_ends(settings))))
