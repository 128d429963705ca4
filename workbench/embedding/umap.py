"""UMAP, densMAP and UMAP with labels, by umap-learn: they move while they run, and go on exactly where they were
stopped.

Source: McInnes, Healy, Melville: UMAP: Uniform Manifold Approximation and Projection (2018); Narayan, Berger, Cho:
Assessing single-cell transcriptomic variability through density-preserving data visualization (2021).
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy
from workbench.embedding.methods import Method, Outcome, Problem, check_settings, register
from workbench.embedding.pca import MOST_FEATURES, PCA
from workbench.embedding.runs import Report
from workbench.embedding.setting_checks import beginning, check_numbers, check_seed
from workbench.embedding.umap_settings import (
    BEGINNINGS,
    NUMBERS,
    OWN,
    approximates,
    check,
    epochs_of,
    floats,
    plain,
    target_of,
)

__all__ = ["aligned_umap"]

Array = np.ndarray[Any, Any]

_UMAP = Lazy("umap")
_PARTS = Lazy("umap.umap_")
_LAYOUTS = Lazy("umap.layouts")
_SPECTRAL = Lazy("umap.spectral")

COMPONENTS = "principal components"
"""What is drawn until the graph is there, for it says where points begin."""
DISTANCES = "principal components of the distances"
"""What is drawn of points of which only the distances are known: near ones are far from the same others."""

_building = threading.Lock()
"""Numba's own threads serve one caller at a time."""


def _library(name: str) -> Any:
    try:
        return getattr(_UMAP, name)
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "UMAP is computed by umap-learn, which is not installed: pip install 'tensor-workbench[embedding]'"
        ) from error


def _known() -> list[str]:
    names = inspect.signature(_library("UMAP").__init__).parameters
    return ["supervised", *(name for name in names if name not in ("self", *OWN))]


class _Watch:
    """What umap-learn writes its progress to: it tells of each epoch, and holds where that is held."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def write(self, text: str) -> None:
        self._tell()

    def flush(self) -> None:
        """Nothing is kept."""


@functools.cache
def _kind() -> Any:
    """Return UMAP with a layout that is watched; umap-learn lets subclasses say how a graph is laid out."""

    class Watched(_library("UMAP")):  # type: ignore[misc]
        report: Report
        built: Callable[[], None]
        """To be called when the graph is there."""
        epochs: int

        def _fit_embed_data(
            self, X: Any, n_epochs: Any, init: Any, random_state: Any, **more: Any
        ) -> tuple[Array, dict[str, Any]]:
            self.built()
            positions, self.epochs = _lay_out(self, X, n_epochs, init, random_state, self.report)
            return positions, {}

    return Watched


def _run(problem: Problem, report: Report, densmap: bool) -> Outcome:
    title = "densMAP" if densmap else "UMAP"
    settings = problem.settings
    begin = beginning(title, "init", settings.get("init", "spectral"), BEGINNINGS, problem)
    epochs, _ = epochs_of(settings.get("n_epochs"), len(problem.points), densmap)
    first, stand_in = _first_picture(problem, begin)

    def tell(phase: str) -> None:
        report(first, 0, epochs, phase, stand_in)

    # Before the library is there, which takes seconds, and its compiled parts are.
    tell("loading umap-learn")
    kind = _kind()
    target, metric = target_of(problem, title)
    given = plain(settings)
    if metric and "target_metric" not in given:
        given["target_metric"] = metric
    given["init"] = begin if isinstance(begin, str) else begin.astype(np.float32)
    made = kind(n_components=problem.dims, densmap=densmap, **given)
    made.report = report
    # Work that is held here must not keep others from their turn.
    tell("finding neighbours and their graph (a stop waits for its end)")
    turn = ExitStack()
    turn.enter_context(_building)

    def built() -> None:
        # From here on nothing of Numba's runs on several threads, and work that is held holds up nobody.
        turn.close()
        tell("finding where points begin")

    made.built = built
    with turn:
        positions = made.fit_transform(floats(problem, title), target)
    axes = tuple(f"{title} {place + 1}" for place in range(problem.dims))
    return Outcome(positions, axes=axes, iterations=made.epochs)


def _first_picture(problem: Problem, begin: str | Array) -> tuple[Array, str]:
    """Return what is drawn until the graph is there, and what that is where it is not of UMAP.

    That is where points are told to begin, else their principal components: the graph says where they begin.
    """
    if not isinstance(begin, str):
        return _in_box(begin), ""
    large = min(problem.points.shape) > MOST_FEATURES
    pca = PCA(problem.dims, solver="randomized" if large else "exact")
    distances = problem.settings.get("metric") == "precomputed"
    return _in_box(pca.fit_transform(problem.points)), DISTANCES if distances else COMPONENTS


def _in_box(positions: Array) -> Array:
    """Return positions from 0 to 10 along each axis, as UMAP has them before its first epoch."""
    low = positions.min(axis=0)
    width = positions.max(axis=0) - low
    inside: Array = 10.0 * (positions - low) / np.where(width > 0, width, 1)
    return inside.astype(np.float32, order="C")


def _lay_out(
    made: Any, points: Array, epochs: Any, init: Any, random_state: Any, report: Report
) -> tuple[Array, int]:
    """Lay out the graph of `made` as umap-learn does; return positions and how many epochs it took."""
    graph = made.graph_.tocoo()
    graph.sum_duplicates()
    count = graph.shape[0]
    epochs, usual = epochs_of(epochs, count, made.densmap)
    # Edges too weak to be drawn even once are left out.
    graph.data[graph.data < graph.data.max() / float(epochs if epochs > 10 else usual)] = 0.0
    graph.eliminate_zeros()
    positions = _begin(made, points, graph, init, random_state)
    low = positions.min(axis=0)
    positions = (10.0 * (positions - low) / (positions.max(axis=0) - low)).astype(np.float32, order="C")
    report(positions, 0, epochs)
    limits = np.iinfo(np.int32)
    seeds = random_state.randint(limits.min + 1, limits.max - 1, 3).astype(np.int64)
    density = dict(made._densmap_kwds)
    if made.densmap:
        density |= _densities(graph, density["graph_dists"])
    done = -1

    def tell() -> None:
        nonlocal done
        # The bar writes before the first epoch, after each, and at its end.
        done = min(done + 1, epochs)
        report(positions, done, epochs)

    _LAYOUTS.optimize_layout_euclidean(
        positions,
        positions,
        graph.row,
        graph.col,
        epochs,
        count,
        _PARTS.make_epochs_per_sample(graph.data, epochs),
        made._a,
        made._b,
        seeds,
        made.repulsion_strength,
        made._initial_alpha,
        made.negative_sample_rate,
        densmap=made.densmap,
        densmap_kwds=density,
        tqdm_kwds={"file": _Watch(tell), "disable": False, "mininterval": 0, "miniters": 1},
        move_other=True,
    )
    return positions, epochs


def _begin(made: Any, points: Array, graph: Any, init: Any, random_state: Any) -> Array:
    """Return where the points are before the first epoch."""
    if isinstance(init, np.ndarray):
        return init
    if init == "random":
        drawn: Array = random_state.uniform(-10.0, 10.0, (len(points), made.n_components))
        return drawn.astype(np.float32)
    if init == "pca":
        pca = _PARTS.PCA(n_components=made.n_components, random_state=random_state)
        found = pca.fit_transform(points).astype(np.float32)
    else:
        layout = _SPECTRAL.tswspectral_layout if init == "tswspectral" else _SPECTRAL.spectral_layout
        found = layout(
            points,
            graph,
            made.n_components,
            random_state,
            metric=made._input_distance_func,
            metric_kwds=made._metric_kwds,
        )
    scaled: Array = _PARTS.noisy_scale_coords(found, random_state, max_coord=10, noise=0.0001)
    return scaled


def _densities(graph: Any, distances: Any) -> dict[str, Array]:
    """Return what densMAP keeps: the local radius of each point, as a score, with the weights that it is a mean of."""
    count = graph.shape[0]
    apart = np.asarray(distances.tocsr()[graph.row, graph.col], np.float64).ravel() ** 2
    ends = np.concatenate([graph.row, graph.col])
    weights = np.tile(graph.data.astype(np.float64), 2)
    whole = np.bincount(ends, weights, count)
    radius = np.log(1e-8 + np.bincount(ends, weights * np.tile(apart, 2), count) / whole)
    score = (radius - radius.mean()) / radius.std()
    return {"mu": graph.data, "mu_sum": whole.astype(np.float32), "R": score.astype(np.float32)}


def aligned_umap(spaces: Sequence[Array], dims: int, settings: Mapping[str, Any]) -> list[Array]:
    """Return positions of the same points in several spaces, each near where it was in the one before."""
    kind = _library("AlignedUMAP")
    known = [
        name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "init", *OWN)
    ]
    check_settings("AlignedUMAP", settings, known)
    check_numbers("AlignedUMAP", settings, NUMBERS, lists=True)
    check_seed("AlignedUMAP", settings)
    count, near = len(spaces[0]), np.max(settings.get("n_neighbors", 15))
    if near >= count:
        raise ValueError(
            f"AlignedUMAP: n_neighbors={near} asks for more neighbours than {count:,} points have; at most "
            f"{count - 1:,}"
        )
    # It has no setting for threads: with a seed it takes one.
    made = kind(n_components=dims, **{"random_state": 0, **settings})
    same = {point: point for point in range(count)}
    with _building, warnings.catch_warnings():
        # What it makes inside would say that a seed takes one thread.
        warnings.filterwarnings("ignore", "n_jobs value", UserWarning)
        made.fit(
            [np.ascontiguousarray(one, np.float32) for one in spaces], relations=[same] * (len(spaces) - 1)
        )
    return [np.asarray(one) for one in made.embeddings_]


def _offer(name: str, title: str, densmap: bool) -> None:
    register(
        name,
        Method(
            title,
            lambda problem, report: _run(problem, report, densmap),
            lambda problem: check(problem, title, _known),
            lambda settings: 2,
            iterative=True,
            approximates=approximates,
        ),
    )


_offer("umap", "UMAP", densmap=False)
_offer("densmap", "densMAP", densmap=True)
