"""t-SNE, by openTSNE: it moves while it runs, and goes on exactly where it was stopped.

Source: Poličar, Stražar, Zupan: openTSNE: A Modular Python Library for t-SNE Dimensionality Reduction (2024).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy
from workbench.embedding.methods import Method, Outcome, Problem, check_settings, register
from workbench.embedding.pca import PCA
from workbench.embedding.runs import Report
from workbench.kernels import get_num_threads

__all__: list[str] = []

Array = np.ndarray[Any, Any]

_OPEN_TSNE = Lazy("openTSNE")

EVERY = 10
"""Iterations between two looks at what is asked for; each of them costs the divergence."""
PERPLEXITY = 30.0
OWN = ("n_components", "callbacks", "callbacks_every_iters", "verbose")
"""Settings of openTSNE that are not to be set: they are what this file is for."""


def _made(dims: int, settings: Mapping[str, Any], **more: Any) -> Any:
    try:
        kind = _OPEN_TSNE.TSNE
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "t-SNE is computed by openTSNE, which is not installed: pip install 'tensor-workbench[embedding]'"
        ) from error
    known = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", *OWN)]
    check_settings("t-SNE", settings, known)
    complete = {"random_state": 0, "n_jobs": get_num_threads(), **settings}
    # Its interpolation is for one and two dims.
    if dims > 2:
        complete.setdefault("negative_gradient_method", "bh")
    return kind(n_components=dims, **complete, **more)


def _check(problem: Problem) -> None:
    count = len(problem.points)
    made = _made(problem.dims, problem.settings)
    perplexities = np.atleast_1d(np.asarray(made.perplexity, np.float64))
    if not (perplexities > 1).all():
        raise ValueError(f"t-SNE: perplexity is above 1, got {made.perplexity!r}")
    # Neighbours count to three times the perplexity.
    most = (count - 1) / 3
    if (perplexities > most).any():
        if most < 2:
            raise ValueError(
                f"t-SNE: {count:,} points are too few, for each must have neighbours; 7 or more, or method 'pca'"
            )
        raise ValueError(
            f"t-SNE: a perplexity of {perplexities.max():g} asks for {3 * perplexities.max():,.0f} neighbours, and "
            f"{count:,} points have {count - 1:,}; at most perplexity={int(most)}"
        )
    if problem.dims > 2 and str(made.negative_gradient_method).lower() in ("fft", "interpolation"):
        raise ValueError("t-SNE: the method 'fft' is for 2 dims; use negative_gradient_method='bh' for 3")


def _run(problem: Problem, report: Report) -> Outcome:
    points = problem.points
    settings = dict(problem.settings)
    if (
        isinstance(settings.get("initialization", "pca"), str)
        and settings.get("initialization", "pca") == "pca"
    ):
        # At once, before neighbours are searched: where everything begins.
        settings["initialization"] = _initial(points, problem.dims)
    made = _made(problem.dims, settings, callbacks_every_iters=EVERY, callbacks=[lambda *now: None])
    of = made.early_exaggeration_iter + made.n_iter
    if isinstance(made.initialization, np.ndarray):
        report(made.initialization, 0, of)
    embedding = made.prepare_initial(points)

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


def _initial(points: Array, dims: int) -> Array:
    """Return the principal components, small enough to begin with."""
    positions = PCA(dims).fit_transform(points)
    spread = float(positions[:, 0].std())
    if not spread > 0:
        raise ValueError("t-SNE: all points are the same place")
    scaled: Array = positions / (spread * 1e4)
    # Points in one place would never part.
    return scaled + np.random.default_rng(0).normal(0, 1e-6, scaled.shape)


register("tsne", Method("t-SNE", _run, _check, lambda settings: 2, iterative=True))
