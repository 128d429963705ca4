"""Projections, neighbours and clusters against openTSNE, umap-learn and scikit-learn, on digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.embedding import Embedding, tsne

datasets = pytest.importorskip("sklearn.datasets")
decomposition = pytest.importorskip("sklearn.decomposition")
DIGITS, CLASSES = datasets.load_digits(return_X_y=True)
POINTS = DIGITS[:400].astype(np.float32)
SHORT = {"early_exaggeration_iter": 30, "n_iter": 30, "n_jobs": 1}


def positions(made: Embedding) -> Any:
    assert made.projection is not None
    return made.projection.positions


@pytest.mark.parametrize("dims", [2, 3])
def test_t_sne_is_that_of_open_tsne_also_when_it_was_stopped(dims: int) -> None:
    library = pytest.importorskip("openTSNE")
    way = {"negative_gradient_method": "bh"} if dims == 3 else {}
    begin = tsne._initial(POINTS, dims)
    theirs = library.TSNE(n_components=dims, random_state=0, initialization=begin, **SHORT, **way).fit(POINTS)
    made = Embedding(POINTS).project("tsne", dims, **SHORT)
    np.testing.assert_array_equal(positions(made), np.asarray(theirs, np.float32))
    held = Embedding(POINTS)

    def halt(embedding: Embedding) -> None:
        if embedding.projection is not None and 20 <= embedding.projection.iteration < 50:
            embedding.stop()

    held.listen(halt)
    held.project("tsne", dims, **SHORT)
    while held.projection is not None and held.projection.iteration != 60:
        held.resume()
    np.testing.assert_array_equal(positions(held), positions(made))


@pytest.mark.parametrize("supervised", [False, True])
def test_umap_is_that_of_umap_learn(supervised: bool) -> None:
    library = pytest.importorskip("umap")
    labels = CLASSES[:400] if supervised else None
    theirs = library.UMAP(random_state=0, n_jobs=1, n_epochs=40).fit_transform(POINTS, labels)
    made = Embedding(POINTS, labels).project("umap", n_epochs=40, supervised=supervised)
    np.testing.assert_array_equal(positions(made), theirs)
    assert made.projection is not None and made.projection.iteration == made.projection.of == 40


def test_dens_map_keeps_neighbours_as_umap_learn_s() -> None:
    library = pytest.importorskip("umap")
    theirs = library.UMAP(random_state=0, n_jobs=1, n_epochs=60, densmap=True).fit_transform(POINTS)
    made = Embedding(POINTS).project("densmap", n_epochs=60)
    own, judged = (wb.embedding.quality(POINTS, one, 10).trustworthiness for one in (positions(made), theirs))
    assert own > judged - 0.03


def test_aligned_umap_lays_steps_out_together() -> None:
    pytest.importorskip("umap")
    generator = np.random.default_rng(0)
    kinds = np.repeat(np.arange(3), 20)
    points = np.eye(8)[kinds] * 6 + generator.standard_normal((60, 8))
    steps = {"1": Embedding(points, kinds), "2": Embedding(points + generator.normal(0, 0.3, points.shape))}
    film = wb.embedding.aligned(steps, "aligned_umap", n_neighbors=8, n_epochs=50)
    before, after = (one.positions for one in film.projections.values())
    # Where each was, as far as the picture is wide.
    assert np.linalg.norm(before - after, axis=1).mean() < 0.5 * before.std()
    assert min(wb.embedding.quality(points, one, 5).trustworthiness for one in (before, after)) > 0.85
    with pytest.raises(
        ValueError, match="n_neighbors=60 asks for more neighbours than 60 points have; at most 59"
    ):
        wb.embedding.aligned(steps, "aligned_umap", n_neighbors=60)


def test_components_are_those_of_scikit_learn() -> None:
    theirs = decomposition.PCA(3).fit(POINTS)
    mine = wb.embedding.PCA(3).fit(POINTS)
    np.testing.assert_allclose(np.abs(mine.components), np.abs(theirs.components_), atol=1e-4)
    np.testing.assert_allclose(mine.explained_variance_ratio, theirs.explained_variance_ratio_, rtol=1e-5)


@pytest.mark.parametrize("features", [50, 300, 768])
def test_neighbours_are_those_of_brute_force(features: int) -> None:
    from sklearn.neighbors import NearestNeighbors

    points = np.random.default_rng(features).standard_normal((900, features))
    found = wb.embedding.all_neighbours(points, 10)
    distances, indices = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(points).kneighbors()
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)


def test_clusters_are_those_of_scikit_learn_the_largest_first() -> None:
    from sklearn.cluster import HDBSCAN

    made = Embedding(DIGITS[:600], CLASSES[:600])
    found = made.clusters(min_cluster_size=15)
    theirs = HDBSCAN(min_cluster_size=15, copy=True).fit(made.vectors).labels_
    assert found.noise == (theirs == -1).sum() and list(found.sizes) == sorted(found.sizes, reverse=True)
    pairs = set(zip(found.codes.tolist(), theirs.tolist(), strict=True))
    assert len(pairs) == len(found) + 1
    # Each is called by the digit that most of it are.
    for number, label in enumerate(found.labels):
        inside = CLASSES[:600][found.codes == number]
        assert label.split(", ")[0] == str(np.bincount(inside).argmax())


@pytest.mark.parametrize(
    ("method", "settings", "error", "words"),
    [
        (
            "tsne",
            {"perplexity": 200},
            ValueError,
            "asks for 600 neighbours, and 400 points have 399; at most perpl",
        ),
        ("tsne", {"perplexty": 9}, TypeError, "t-SNE has no setting 'perplexty'; did you mean 'perplexity'"),
        ("tsne", {"perplexity": 0.5}, ValueError, "perplexity is above 1, got 0.5"),
        ("umap", {"n_neighbors": 400}, ValueError, "more neighbours than 400 points have; at most 399"),
        ("umap", {"supervised": "siez"}, KeyError, "there is no column 'siez'; did you mean 'size'"),
        ("umap", {"supervised": True}, ValueError, "these points have no labels"),
        ("densmap", {"n_epoch": 4}, TypeError, "densMAP has no setting 'n_epoch'; did you mean 'n_epochs'"),
    ],
)
def test_settings_that_do_not_fit_are_told(
    method: str, settings: dict[str, Any], error: type[Exception], words: str
) -> None:
    pytest.importorskip("openTSNE")
    pytest.importorskip("umap")
    made = Embedding(POINTS, metadata={"size": range(400)}).project()
    before = made.projection
    with pytest.raises(error, match=words):
        made.project(method, **settings)
    assert made.projection is before
    with pytest.raises(ValueError, match="min_cluster_size is from 2 to the 400 points"):
        made.clusters(min_cluster_size=401)
