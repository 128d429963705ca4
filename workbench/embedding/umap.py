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
from workbench.embedding.neighbours import METRICS
from workbench.embedding.runs import Report
from workbench.embedding.scales import MOST, balanced, exponent_of
from workbench.embedding.setting_checks import Number, beginning, check_numbers

__all__ = ["aligned_umap"]

Array = np.ndarray[Any, Any]

_UMAP = Lazy("umap")
_PARTS = Lazy("umap.umap_")
_LAYOUTS = Lazy("umap.layouts")
_SPECTRAL = Lazy("umap.spectral")

OWN = ("n_components", "verbose", "tqdm_kwds", "densmap", "transform_mode", "unique")
"""Settings of umap-learn that are not to be set: they are what this file is for."""
MANY = 10_000
"""Above so many points fewer epochs are enough."""
SEARCHED = 4096
"""From so many points on umap-learn finds most neighbours, by NN-descent, and not all."""
BEGINNINGS = ("spectral", "pca", "tswspectral", "random")
NUMBERS: Mapping[str, Number] = {
    "n_neighbors": Number(2, whole=True),
    "n_epochs": Number(0, whole=True, other=(None,)),
    "learning_rate": Number(0, above=True),
    "min_dist": Number(0),
    "spread": Number(0, above=True),
    "set_op_mix_ratio": Number(0, 1),
    "local_connectivity": Number(0, above=True),
    "repulsion_strength": Number(0),
    "negative_sample_rate": Number(0, whole=True),
    "a": Number(other=(None,)),
    "b": Number(other=(None,)),
    "target_n_neighbors": Number(-1, whole=True),
    "target_weight": Number(0, 1),
    "dens_lambda": Number(0),
    "dens_frac": Number(0, 1),
    "dens_var_shift": Number(0),
    "n_jobs": Number(-1, whole=True),
}
"""What umap-learn computes with, much of it compiled, which looks at no type."""
NEAR = 30
"""Powers of two from 1 up to which float32 holds squares of points with all their digits."""

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


def _check(problem: Problem, title: str) -> None:
    settings = problem.settings
    check_settings(title, settings, _known())
    check_numbers(title, settings, NUMBERS)
    _check_layout(problem, title)
    _floats(problem, title)
    count, near = len(problem.points), problem.settings.get("n_neighbors", 15)
    if near >= count:
        raise ValueError(
            f"{title}: n_neighbors={near} asks for more neighbours than {count:,} points have; at most {count - 1:,}"
        )
    if count < problem.dims + 3:
        raise ValueError(
            f"{title}: {count:,} points are too few; {problem.dims + 3} or more, or method 'pca'"
        )
    if problem.settings.get("supervised"):
        _target(problem, title)


def _check_layout(problem: Problem, title: str) -> None:
    """Raise ValueError where points cannot be laid out as settings say: compiled code would write where no point is."""
    settings = problem.settings
    begin = beginning(title, "init", settings.get("init", "spectral"), BEGINNINGS, problem)
    if isinstance(begin, np.ndarray):
        flat = np.flatnonzero(np.ptp(begin.astype(np.float32), axis=0) == 0)
        if len(flat):
            raise ValueError(
                f"{title}: init has all points at one place along axis {flat[0]}, which they would never leave"
            )
    if settings.get("output_metric", "euclidean") not in ("euclidean", "l2"):
        raise ValueError(
            f"{title}: output_metric is 'euclidean', got {settings['output_metric']!r}: the picture is a plane or a "
            "space of Euclid's; metric= is how the points themselves are compared"
        )
    if settings.get("output_dens"):
        raise ValueError(
            f"{title}: output_dens is False: a projection is positions, without densities beside them"
        )
    spread, near = settings.get("spread", 1.0), settings.get("min_dist", 0.1)
    if near > spread:
        raise ValueError(f"{title}: min_dist is at most spread, got min_dist={near} and spread={spread}")


def _floats(problem: Problem, title: str) -> Array:
    """Return the points as umap-learn takes them, float32; ValueError where that does not hold them."""
    points = problem.points
    if problem.settings.get("metric", "euclidean") in METRICS:
        # Which are near, and how much nearer than others, is the same in every unit.
        points, _ = balanced(points, NEAR)
    elif exponent_of(points) > np.frexp(MOST)[1]:
        raise ValueError(
            f"{title}: points are computed as float32, of numbers up to {MOST:.2g}, and these reach "
            f"{np.abs(points).max():.2g}; divide them"
        )
    with np.errstate(under="ignore"):
        return np.ascontiguousarray(points, np.float32)


def _approximates(problem: Problem) -> str:
    settings = problem.settings
    given = settings.get("metric") == "precomputed" or settings.get("precomputed_knn", (None,))[0] is not None
    searched = len(problem.points) >= SEARCHED or bool(settings.get("force_approximation_algorithm"))
    return "neighbours found approximately" if searched and not given else ""


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are umap-learn's; the same seed gives the same picture."""
    found: dict[str, Any] = {"random_state": 0, **settings}
    found.pop("supervised", None)
    # It takes Python's own numbers for whole, not NumPy's.
    found = {name: int(one) if isinstance(one, np.integer) else one for name, one in found.items()}
    # With a seed umap-learn takes one thread, and warns where it was not told so.
    return found if found["random_state"] is None else {"n_jobs": 1, **found}


def _target(problem: Problem, title: str) -> tuple[Array | None, str]:
    """Return what the points are told apart by, and how that is measured."""
    by = problem.settings.get("supervised", False)
    if by is False or by is None:
        return None, ""
    column = problem.column(by)
    if column.kind == "number":
        return np.asarray(column.values, np.float32), "l2"
    if column.codes is None:
        raise ValueError(
            f"{title}: column {column.name!r} is text; supervised takes labels, categories or numbers"
        )
    return column.codes, "categorical"


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
            # From here on nothing of Numba's runs on several threads, and work that is held holds up nobody.
            self.built()
            positions, self.epochs = _lay_out(self, X, n_epochs, init, random_state, self.report)
            return positions, {}

    return Watched


def _run(problem: Problem, report: Report, densmap: bool) -> Outcome:
    title = "densMAP" if densmap else "UMAP"
    target, metric = _target(problem, title)
    settings = _plain(problem.settings)
    if metric and "target_metric" not in settings:
        settings["target_metric"] = metric
    begin = beginning(title, "init", settings.get("init", "spectral"), BEGINNINGS, problem)
    settings["init"] = begin if isinstance(begin, str) else begin.astype(np.float32)
    points = _floats(problem, title)
    made = _kind()(n_components=problem.dims, densmap=densmap, **settings)
    made.report = report
    turn = ExitStack()
    turn.enter_context(_building)
    made.built = turn.close
    with turn:
        positions = made.fit_transform(points, target)
    axes = tuple(f"{title} {place + 1}" for place in range(problem.dims))
    return Outcome(positions, axes=axes, iterations=made.epochs)


def _lay_out(
    made: Any, points: Array, epochs: Any, init: Any, random_state: Any, report: Report
) -> tuple[Array, int]:
    """Lay out the graph of `made` as umap-learn does; return positions and how many epochs it took."""
    graph = made.graph_.tocoo()
    graph.sum_duplicates()
    count = graph.shape[0]
    usual = (500 if count <= MANY else 200) + (200 if made.densmap else 0)
    epochs = usual if epochs is None else int(epochs)
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
            lambda problem: _check(problem, title),
            lambda settings: 2,
            iterative=True,
            approximates=_approximates,
        ),
    )


_offer("umap", "UMAP", densmap=False)
_offer("densmap", "densMAP", densmap=True)
