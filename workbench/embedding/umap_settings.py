"""What UMAP and densMAP are told: settings, checked before umap-learn is imported, and points as it takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from workbench.base.errors import UnavailableError
from workbench.embedding.methods import Problem, check_settings
from workbench.embedding.neighbours import METRICS
from workbench.embedding.scales import MOST, balanced, exponent_of
from workbench.embedding.setting_checks import Number, beginning, check_numbers, check_seed

__all__ = [
    "BEGINNINGS",
    "KNOWN",
    "NUMBERS",
    "OWN",
    "approximates",
    "check",
    "epochs_of",
    "floats",
    "plain",
    "target_of",
]

Array = np.ndarray[Any, Any]

OWN = ("n_components", "verbose", "tqdm_kwds", "densmap", "transform_mode", "unique")
"""Settings of umap-learn that are not to be set: they are what this file is for."""
MANY = 10_000
"""Above so many points fewer epochs are enough."""
SEARCHED = 4096
"""From so many points on umap-learn finds most neighbours, by NN-descent, and not all."""
KNOWN = (
    "supervised", "n_neighbors", "metric", "metric_kwds", "output_metric", "output_metric_kwds", "n_epochs",
    "learning_rate", "init", "min_dist", "spread", "low_memory", "n_jobs", "set_op_mix_ratio", "local_connectivity",
    "repulsion_strength", "negative_sample_rate", "transform_queue_size", "a", "b", "random_state",
    "angular_rp_forest", "target_n_neighbors", "target_metric", "target_metric_kwds", "target_weight",
    "transform_seed", "force_approximation_algorithm", "dens_lambda", "dens_frac", "dens_var_shift", "output_dens",
    "disconnection_distance", "precomputed_knn",
)  # fmt: skip
"""Settings as umap-learn has them, known before it is imported: the first picture waits for no seconds of that."""
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


def check(problem: Problem, title: str, library_settings: Callable[[], Sequence[str]]) -> None:
    """Raise where settings do not fit the points; the library's own are asked for where one is not known here."""
    settings = problem.settings
    if find_spec("umap") is None:
        raise UnavailableError(
            "UMAP is computed by umap-learn, which is not installed: pip install 'tensor-workbench[embedding]'"
        )
    if any(name not in KNOWN for name in settings):
        check_settings(title, settings, library_settings())
    check_numbers(title, settings, NUMBERS)
    check_seed(title, settings)
    _check_layout(problem, title)
    floats(problem, title)
    count, near = len(problem.points), problem.settings.get("n_neighbors", 15)
    # First: no number of neighbours helps them.
    if count < problem.dims + 3:
        points = "1 point is" if count == 1 else f"{count:,} points are"
        raise ValueError(f"{title}: {points} too few; {problem.dims + 3} or more, or method 'pca'")
    if near >= count:
        raise ValueError(
            f"{title}: n_neighbors={near} asks for more neighbours than {count:,} points have; at most {count - 1:,}"
        )
    if problem.settings.get("supervised"):
        target_of(problem, title)


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


def floats(problem: Problem, title: str) -> Array:
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


def approximates(problem: Problem) -> str:
    """Say what is not found exactly; empty where everything is."""
    settings = problem.settings
    given = settings.get("metric") == "precomputed" or settings.get("precomputed_knn", (None,))[0] is not None
    searched = len(problem.points) >= SEARCHED or bool(settings.get("force_approximation_algorithm"))
    return "neighbours found approximately" if searched and not given else ""


def epochs_of(epochs: int | None, count: int, densmap: bool) -> tuple[int, int]:
    """Return how many epochs there are to be, where `epochs` were asked for, and how many are usual.

    >>> epochs_of(None, 20_000, densmap=False), epochs_of(30, 300, densmap=True)
    ((200, 200), (30, 700))
    """
    usual = (500 if count <= MANY else 200) + (200 if densmap else 0)
    return usual if epochs is None else int(epochs), usual


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are umap-learn's; the same seed gives the same picture."""
    found: dict[str, Any] = {"random_state": 0, **settings}
    found.pop("supervised", None)
    # It takes Python's own numbers for whole, not NumPy's.
    found = {name: int(one) if isinstance(one, np.integer) else one for name, one in found.items()}
    # With a seed umap-learn takes one thread, and warns where it was not told so.
    return found if found["random_state"] is None else {"n_jobs": 1, **found}


def target_of(problem: Problem, title: str) -> tuple[Array | None, str]:
    """Return what the points are told apart by, and how that is measured."""
    by = problem.settings.get("supervised", False)
    if by is False or by is None:
        return None, ""
    column = problem.column(by)
    if column.kind == "number":
        unknown = int((~np.isfinite(np.asarray(column.values, np.float32))).sum())
        if unknown:
            raise ValueError(
                f"{title}: column {column.name!r} is NaN or infinite at {unknown:,} of {len(column):,} points; "
                "supervised takes a number of each, or embedding.take(...) those that have one"
            )
        return np.asarray(column.values, np.float32), "l2"
    if column.codes is None:
        raise ValueError(
            f"{title}: column {column.name!r} is text; supervised takes labels, categories or numbers"
        )
    return column.codes, "categorical"
