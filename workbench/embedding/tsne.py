"""t-SNE, by openTSNE from exact neighbours: it moves while it runs, and goes on exactly where it was stopped.

Source: Poličar, Stražar, Zupan: openTSNE: A Modular Python Library for t-SNE Dimensionality Reduction (2024).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy
from workbench.embedding.all_neighbours import all_neighbours
from workbench.embedding.methods import Method, Outcome, Problem, check_settings, register
from workbench.embedding.neighbours import METRICS
from workbench.embedding.pca import PCA
from workbench.embedding.runs import Report
from workbench.embedding.scales import balanced
from workbench.embedding.setting_checks import Number, beginning, check_numbers, check_seed
from workbench.kernels import get_num_threads

__all__: list[str] = []

Array = np.ndarray[Any, Any]

_OPEN_TSNE = Lazy("openTSNE")

EVERY = 10
"""Iterations between two looks at what is asked for; each of them costs the divergence."""
EXACT = 1e13
"""Up to so many features of N² pairs neighbours are found exactly, in minutes. Above, openTSNE finds most of them."""
SELECTING = 100
"""Features in whose time a pair is looked at, whatever it holds."""
SEARCH = "finding neighbours"
"""What comes before the first iteration, as the view calls it."""
ROWS = 4096
"""Points whose neighbours are found between two reports."""
DEFAULTS: Mapping[str, Any] = {
    "perplexity": 30,
    "learning_rate": "auto",
    "early_exaggeration": "auto",
    "early_exaggeration_iter": 250,
    "n_iter": 500,
    "initialization": "pca",
    "metric": "euclidean",
    "neighbors": "auto",
}
"""Settings as openTSNE has them, known before it is imported: the first picture waits for no seconds of that."""
KNOWN = (*DEFAULTS, "random_state", "n_jobs")
OWN = ("n_components", "callbacks", "callbacks_every_iters", "verbose")
"""Settings of openTSNE that are not to be set: they are what this file is for."""

BEGINNINGS = ("pca", "random", "spectral")
NUMBERS: Mapping[str, Number] = {
    "learning_rate": Number(0, above=True, other=("auto",)),
    "early_exaggeration_iter": Number(0, whole=True),
    "n_iter": Number(0, whole=True),
    "early_exaggeration": Number(0, above=True, other=("auto",)),
    "exaggeration": Number(0, above=True, other=(None,)),
    "dof": Number(0, above=True),
    "theta": Number(0),
    "n_interpolation_points": Number(1, whole=True),
    "min_num_intervals": Number(1, whole=True),
    "ints_in_interval": Number(0, above=True),
    "initial_momentum": Number(0),
    "final_momentum": Number(0),
    "max_grad_norm": Number(0, above=True, other=(None,)),
    "max_step_norm": Number(0, above=True, other=(None,)),
    "n_jobs": Number(whole=True),
}
"""What openTSNE computes with: it checks little of that, or when time has passed."""
NEAR = 30
"""Powers of two from 1 up to which openTSNE's search finds how far a point's neighbours reach."""


def _made(dims: int, settings: Mapping[str, Any], **more: Any) -> Any:
    complete = {"random_state": 0, "n_jobs": get_num_threads(), **settings}
    # Its interpolation is for one and two dims.
    if dims > 2:
        complete.setdefault("negative_gradient_method", "bh")
    return _OPEN_TSNE.TSNE(n_components=dims, **complete, **more)


def _check(problem: Problem) -> None:
    settings, count = problem.settings, len(problem.points)
    if find_spec("openTSNE") is None:
        raise UnavailableError(
            "t-SNE is computed by openTSNE, which is not installed: pip install 'tensor-workbench[embedding]'"
        )
    if any(name not in KNOWN for name in settings):
        known = inspect.signature(_OPEN_TSNE.TSNE.__init__).parameters
        check_settings("t-SNE", settings, [name for name in known if name not in ("self", *OWN)])
    check_numbers("t-SNE", settings, NUMBERS)
    check_seed("t-SNE", settings)
    beginning("t-SNE", "initialization", settings.get("initialization", "pca"), BEGINNINGS, problem)
    perplexity = settings.get("perplexity", DEFAULTS["perplexity"])
    several = perplexity if isinstance(perplexity, list | tuple | np.ndarray) else [perplexity]
    if not len(several) or not all(Number(1, above=True).takes(one) for one in several):
        raise ValueError(f"t-SNE: perplexity is above 1, got {perplexity!r}")
    perplexities = np.asarray(several, np.float64)
    # Neighbours count to three times the perplexity.
    most = (count - 1) / 3
    if (perplexities > most).any():
        if most < 2:
            points = "1 point is" if count == 1 else f"{count:,} points are"
            raise ValueError(
                f"t-SNE: {points} too few, for each must have neighbours; 7 or more, or method 'pca'"
            )
        raise ValueError(
            f"t-SNE: a perplexity of {perplexities.max():g} asks for {3 * perplexities.max():,.0f} neighbours, and "
            f"{count:,} points have {count - 1:,}; at most perplexity={int(most)}"
        )
    gradient = str(settings.get("negative_gradient_method", "")).lower()
    if problem.dims > 2 and gradient in ("fft", "interpolation"):
        raise ValueError("t-SNE: the method 'fft' is for 2 dims; use negative_gradient_method='bh' for 3")


def _run(problem: Problem, report: Report) -> Outcome:
    points = problem.points
    settings = {**DEFAULTS, **problem.settings}
    of = settings["early_exaggeration_iter"] + settings["n_iter"]
    begin = beginning("t-SNE", "initialization", settings["initialization"], BEGINNINGS, problem)
    settings["initialization"] = begin
    if isinstance(begin, str) and begin == "pca":
        # At once, before the library is there and neighbours are searched: where everything begins.
        settings["initialization"] = _initial(points, problem.dims)
    if isinstance(settings["initialization"], np.ndarray):
        report(settings["initialization"], 0, of, SEARCH)
    made = _made(problem.dims, settings, callbacks_every_iters=EVERY, callbacks=[lambda *now: None])
    near = _affinities(problem, made, report, of) if _is_exact(problem) else None
    embedding = made.prepare_initial(points, near)

    done = 0

    def look(iteration: int, divergence: float, positions: Array) -> None:
        # The step of this iteration is still to come.
        report(positions, done + iteration - 1, of)

    phases = (
        (made.early_exaggeration_iter, made.early_exaggeration, made.initial_momentum),
        (made.n_iter, made.exaggeration, made.final_momentum),
    )
    for count, exaggeration, momentum in phases:
        embedding.optimize(
            n_iter=count,
            exaggeration=exaggeration,
            momentum=momentum,
            inplace=True,
            callbacks=[look],
            callbacks_every_iters=EVERY,
        )
        done += count
    axes = tuple(f"t-SNE {place + 1}" for place in range(problem.dims))
    return Outcome(np.asarray(embedding), axes=axes, iterations=of)


def _is_exact(problem: Problem) -> bool:
    """Whether neighbours are ours, all of them exact; what is asked for by another name is openTSNE's to find."""
    settings = {**DEFAULTS, **problem.settings}
    count, features = problem.points.shape
    few = count * count * (features + SELECTING) <= EXACT
    ours = settings["metric"] in METRICS and not {"metric_params", "knn_kwargs"} & settings.keys()
    return ours and (settings["neighbors"] == "exact" or (settings["neighbors"] == "auto" and few))


def _approximates(problem: Problem) -> str:
    settings = {**DEFAULTS, **problem.settings}
    searched = settings["neighbors"]
    # Of fewer points openTSNE itself compares every pair.
    all_pairs = searched == "exact" or (searched == "auto" and len(problem.points) < 1000)
    exact = all_pairs or settings["metric"] == "precomputed" or _is_exact(problem)
    return "" if exact else "neighbours found approximately"


def _affinities(problem: Problem, made: Any, report: Report, of: int) -> Any:
    """Return how near points are to their neighbours, which are searched for in pieces, to be held between two."""
    points = problem.points
    count = len(points)
    k = min(count - 1, int(3 * np.max(made.perplexity)))
    parts = []
    for start in range(0, count, ROWS):
        if isinstance(made.initialization, np.ndarray):
            report(made.initialization, 0, of, SEARCH)
        parts.append(all_neighbours(points, k, made.metric, of=np.arange(start, min(start + ROWS, count))))
    indices, distances = (np.concatenate(one) for one in zip(*parts, strict=True))
    # How near they are is said beside one another: the unit is for us to choose.
    distances, _ = balanced(distances, NEAR)
    return _OPEN_TSNE.affinity.MultiscaleMixture(
        perplexities=made.perplexity,
        knn_index=_OPEN_TSNE.nearest_neighbors.PrecomputedNeighbors(indices, distances),
        n_jobs=made.n_jobs,
    )


def _initial(points: Array, dims: int) -> Array:
    """Return the principal components, small enough to begin with."""
    positions, _ = balanced(PCA(dims).fit_transform(points))
    spread = float(positions[:, 0].std())
    if not spread > 0:
        raise ValueError("t-SNE: all points are the same place")
    scaled: Array = positions / (spread * 1e4)
    # Points in one place would never part.
    return scaled + np.random.default_rng(0).normal(0, 1e-6, scaled.shape)


register(
    "tsne", Method("t-SNE", _run, _check, lambda settings: 2, iterative=True, approximates=_approximates)
)
