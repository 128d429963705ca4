"""Projections and neighbours against scikit-learn, openTSNE, and against times that were set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import workbench as wb
from tests.bench.measure import Case, Work

K = 100


def same_threads() -> None:
    """Have scikit-learn's own OpenMP take as many threads as we do: it asks nobody else."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(wb.kernels.get_num_threads())


def points(count: int, features: int) -> np.ndarray[Any, Any]:
    """Points with directions of falling weight."""
    generator = np.random.default_rng(0)
    return (generator.standard_normal((count, features)) * np.linspace(3, 0.5, features)).astype(np.float32)


def _components(count: int, features: int) -> tuple[Work, Work]:
    from sklearn.decomposition import PCA

    given = points(count, features)
    same_threads()
    return (
        lambda: wb.embedding.PCA(3).fit_transform(given),
        lambda: PCA(3, svd_solver="covariance_eigh").fit_transform(given),
    )


def _all_neighbours() -> tuple[Work, Work]:
    from sklearn.neighbors import NearestNeighbors

    given = points(10_000, 200)
    same_threads()
    return (
        lambda: wb.embedding.all_neighbours(given, K),
        lambda: NearestNeighbors(n_neighbors=K, algorithm="brute").fit(given).kneighbors(),
    )


def _one_of_many(metric: str) -> tuple[Work, Work]:
    given = points(400_000, 50)
    return lambda: wb.embedding.neighbours(given, 7, K, metric), lambda: time.sleep(0.05)  # type: ignore[arg-type]


TSNE = {"early_exaggeration_iter": 25, "n_iter": 50, "random_state": 0}


def _tsne() -> tuple[Work, Work]:
    import openTSNE

    given = points(10_000, 50)
    threads = wb.kernels.get_num_threads()
    return (
        lambda: wb.embedding.Embedding(given).project("tsne", **TSNE),
        lambda: openTSNE.TSNE(n_jobs=threads, **TSNE).fit(given),
    )


def _first_frame() -> tuple[Work, Work]:
    given = points(10_000, 50)

    def until_seen() -> None:
        made = wb.embedding.Embedding(given)
        started = time.perf_counter()
        made.project("tsne", background=True)
        while made.projection is None and time.perf_counter() - started < 60:
            time.sleep(0.002)
        made.stop()

    return until_seen, lambda: time.sleep(1.0)


def embedding_cases() -> Iterator[Case]:
    """Rows of the projector."""
    for count, features in ((10_000, 200), (400_000, 50)):
        name = f"PCA of {count:,} x {features}, 3 components"
        yield Case(
            name,
            "scikit-learn",
            0.8,
            lambda c=count, f=features: _components(c, f),
            alone=True,  # SciPy's BLAS and NumPy's have threads of their own, which go on waiting
            needs="sklearn",
        )
    yield Case(
        f"{K} neighbours of each of 10,000 x 200",
        "scikit-learn, brute force",
        0.7,
        _all_neighbours,
        rounds=5,
        needs="sklearn",
    )
    for metric in ("cosine", "euclidean"):
        yield Case(
            f"{K} {metric} neighbours of one of 400,000 x 50",
            "50 ms",
            1.0,
            lambda metric=metric: _one_of_many(metric),
            rounds=7,
        )
    yield Case("75 iterations of t-SNE, 10,000 x 50", "openTSNE", 1.05, _tsne, rounds=1, needs="openTSNE")
    yield Case("first frame of t-SNE, 10,000 x 50", "1 s", 1.0, _first_frame, rounds=1, needs="openTSNE")
