"""Groups by density as scikit-learn's HDBSCAN finds them, in parts: its own `fit` can be neither watched nor left.

Source: Campello, Moulavi, Sander: Density-Based Clustering Based on Hierarchical Density Estimates (2013).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy
from workbench.embedding.methods import check_settings
from workbench.embedding.scales import balanced
from workbench.embedding.vectors import is_whole

__all__ = ["Reached", "cluster"]

Array = np.ndarray[Any, Any]

Reached = Callable[[str, int, int], None]
"""Told what is computed, how many points of it are done and of how many; whatever it raises ends the work."""

_SKLEARN = Lazy("sklearn")
_CLUSTER = Lazy("sklearn.cluster")
_NEIGHBORS = Lazy("sklearn.neighbors")
_METRICS = Lazy("sklearn.metrics")
_LINKAGE = Lazy("sklearn.cluster._hdbscan._linkage")
_TREE = Lazy("sklearn.cluster._hdbscan._tree")

METRICS = ("euclidean", "manhattan", "chebyshev")
"""Those for which scikit-learn looks for neighbours in a tree and grows the spanning tree point by point."""
PAIRS = 1 << 27
"""Features of pairs that are looked at between two reports, for a tree of many features leaves none out: a second."""
ROWS = 1024
"""Points whose neighbours are found between two reports, at most."""
LEFT = 0.75
"""Where fewer of the points than this share are still outside of the tree, they are put together anew."""


def cluster(
    points: Array, settings: Mapping[str, Any], reached: Reached = lambda what, done, of: None
) -> tuple[Array, Array]:
    """Return each point's cluster, the largest being 0 and noise -1, and how surely it belongs there.

    Groups and sureness are those of scikit-learn, number for number. ``reached(what, done, of)`` is called in between.

    Raises:
        UnavailableError: scikit-learn is not installed.
        TypeError: there is no such setting, or a number of points is none.
        ValueError: there are fewer points than `min_cluster_size`, or scikit-learn does not take a setting.
    """
    least = settings.get("min_cluster_size", 5)
    if not is_whole(least):
        raise TypeError(f"hdbscan: min_cluster_size is a whole number of points, got {least!r}")
    samples = settings.get("min_samples")
    if samples is not None and not is_whole(samples):
        raise TypeError(f"hdbscan: min_samples is a whole number of points, or None, got {samples!r}")
    try:
        kind = _CLUSTER.HDBSCAN
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "clusters are found by scikit-learn, which is not installed: pip install 'tensor-workbench[embedding]'"
        ) from error
    check_settings(
        "hdbscan", settings, [one for one in inspect.signature(kind.__init__).parameters if one != "self"]
    )
    if len(points) < 2:
        raise ValueError("hdbscan: 1 point has no neighbours to be grouped with; two or more have")
    if not 2 <= least <= len(points):
        raise ValueError(
            f"hdbscan: min_cluster_size is from 2 to the {len(points):,} points there are, got {least!r}"
        )
    # scikit-learn says that it will copy by itself from 1.10 on, and asks to be told.
    made = kind(**{"copy": True, **settings})
    if made.metric in METRICS:
        # Of numbers whose squares are none it finds nothing, and never ends. Groups are the same in every unit.
        points, exponent = balanced(points)
        if exponent and isinstance(made.cluster_selection_epsilon, int | float):
            made.cluster_selection_epsilon = float(np.ldexp(made.cluster_selection_epsilon, -exponent))
    found = _fit_in_parts(made, points, reached) if _has_parts(made, len(points)) else None
    if found is None:
        reached("by scikit-learn alone, which goes on to its end", 0, len(points))
        made.fit(points)
        found = made.labels_, made.probabilities_
    codes = np.asarray(found[0], np.int64)
    # Points at no or infinite distance have numbers below -1; none is left here, and none belongs anywhere.
    codes = np.where(codes < 0, -1, codes)
    sizes = np.bincount(codes[codes >= 0]) if (codes >= 0).any() else np.zeros(0, np.int64)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    return place[codes], np.asarray(found[1], np.float64)


def _has_parts(made: Any, count: int) -> bool:
    """Say whether `made` would be fitted in the way that is gone here; what it would refuse, it refuses itself."""
    return (
        made.metric in METRICS
        and made.algorithm in ("auto", "kd_tree")
        and not made.metric_params
        and made.store_centers is None
        and (made.min_samples is None or made.min_samples <= count)
    )


def _fit_in_parts(made: Any, points: Array, reached: Reached) -> tuple[Array, Array] | None:
    """Return labels and sureness as ``made.fit`` finds them; None where this scikit-learn has other parts."""
    try:
        edge, linkage, labels = _LINKAGE.MST_edge_dtype, _LINKAGE.make_single_linkage, _TREE.tree_to_labels
        validate = made._validate_params
    # They are nobody's promise: another release may call them otherwise, and has `fit` all the same.
    except (ImportError, AttributeError):
        return None
    validate()
    points = np.ascontiguousarray(points, np.float64)
    count = len(points)
    near = made.min_cluster_size if made.min_samples is None else made.min_samples
    reached("neighbours", 0, count)
    search = _NEIGHBORS.NearestNeighbors(
        n_neighbors=near,
        algorithm="kd_tree",
        leaf_size=made.leaf_size,
        metric=made.metric,
        n_jobs=made.n_jobs,
    ).fit(points)
    core = np.empty(count)
    rows = max(1, min(ROWS, PAIRS // points.size))
    for start in range(0, count, rows):
        reached("neighbours", start, count)
        part = slice(start, start + rows)
        core[part] = search.kneighbors(points[part], near)[0][:, -1]
    tree = _spanning_tree(points, core, made.metric, made.alpha, edge, reached)
    reached("groups", count, count)
    found, sure = labels(
        linkage(tree[np.argsort(tree["distance"])]),
        made.min_cluster_size,
        made.cluster_selection_method,
        made.allow_single_cluster,
        made.cluster_selection_epsilon,
        made.max_cluster_size,
    )
    return found, sure


def _spanning_tree(
    points: Array, core: Array, metric: str, alpha: float, edge: Any, reached: Reached
) -> Array:
    """Return the edges of the least tree over all points, in the order in which it grows from the first (Prim).

    Two points are as far apart as they are, or as the sparser of them is from its neighbours. Which of several edges of
    one length is taken decides about groups; it is the one that scikit-learn takes.
    """
    count = len(points)
    distance = _METRICS.DistanceMetric.get_metric(metric)
    tree = np.empty(count - 1, edge)
    # Those outside of the tree, their points, how far each is from its neighbours, and from the tree, and from where.
    left = np.arange(count)
    rest, sparse = points, core.copy()
    apart, source = np.full(count, np.inf), np.zeros(count, np.int64)
    at, newest = 0, 0
    # All are finite, which scikit-learn would look for at every step.
    with _SKLEARN.config_context(assume_finite=True):
        for step in range(count - 1):
            reached("tree", step, count)
            # It is not found again: from here on nothing is as far from anything as this one.
            sparse[at] = apart[at] = np.inf
            if count - step - 1 < LEFT * len(left):
                still = np.flatnonzero(np.isfinite(sparse))
                left, rest, sparse = left[still], rest[still], sparse[still]
                apart, source = apart[still], source[still]
            lengths = distance.pairwise(points[newest : newest + 1], rest)[0]
            lengths /= alpha
            np.maximum(lengths, sparse, out=lengths)
            np.maximum(lengths, core[newest], out=lengths)
            nearer = lengths < apart
            apart[nearer], source[nearer] = lengths[nearer], newest
            at = int(apart.argmin())
            tree[step] = source[at], left[at], apart[at]
            newest = int(left[at])
    return tree
