"""Projections, neighbours and clusters against openTSNE, umap-learn and scikit-learn, on digits and words of GloVe."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.embedding import Embedding, runs, tsne, umap_settings
from workbench.widgets.scatter_words import facts_of

datasets = pytest.importorskip("sklearn.datasets")
decomposition = pytest.importorskip("sklearn.decomposition")
DIGITS, CLASSES = datasets.load_digits(return_X_y=True)
POINTS = DIGITS[:400].astype(np.float32)
FEW = np.random.default_rng(2).standard_normal((40, 6))
WORDS = wb.data.common_words().vectors[:1500]
"""Words of GloVe, which come with the workbench."""
SHORT = {"early_exaggeration_iter": 30, "n_iter": 30, "n_jobs": 1}


def positions(made: Embedding) -> Any:
    assert made.projection is not None
    return made.projection.positions


def test_t_sne_of_words_is_that_of_open_tsne() -> None:
    library = pytest.importorskip("openTSNE")
    for metric in ("euclidean", "cosine"):
        made = Embedding(WORDS).project("tsne", metric=metric, **SHORT)
        # Real words lie at distances of their own: openTSNE finds the same neighbours by itself.
        theirs = library.TSNE(
            random_state=0, initialization=tsne._initial(WORDS, 2), neighbors="exact", metric=metric, **SHORT
        ).fit(WORDS)
        np.testing.assert_allclose(positions(made), np.asarray(theirs), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("dims", [2, 3])
def test_t_sne_is_that_of_open_tsne_also_when_it_was_stopped(dims: int) -> None:
    library = pytest.importorskip("openTSNE")
    way = {"negative_gradient_method": "bh"} if dims == 3 else {}
    begin = tsne._initial(POINTS, dims)
    near = wb.embedding.all_neighbours(POINTS, 90)
    # Digits of whole numbers lie equally far, and which of them is the last neighbour is for each library to say.
    given = importlib.import_module("openTSNE.nearest_neighbors").PrecomputedNeighbors(*near)
    theirs = library.TSNE(
        n_components=dims, random_state=0, initialization=begin, neighbors=given, **SHORT, **way
    ).fit(POINTS)
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


def test_t_sne_of_many_points_is_that_of_open_tsne_s_exact_neighbours() -> None:
    library = pytest.importorskip("openTSNE")
    # More than a piece of the search, and more than openTSNE compares by itself.
    points = np.random.default_rng(0).standard_normal((4100, 6))
    short = {"early_exaggeration_iter": 4, "n_iter": 2, "n_jobs": 1, "perplexity": [5, 9]}
    begin = tsne._initial(points, 2)
    for metric in ("euclidean", "cosine"):
        made = Embedding(points).project("tsne", metric=metric, **short)
        assert made.projection is not None and not made.projection.approximate
        theirs = library.TSNE(
            random_state=0, initialization=begin, neighbors="exact", metric=metric, **short
        ).fit(points)
        np.testing.assert_allclose(positions(made), np.asarray(theirs), rtol=1e-5, atol=1e-7)


def test_neighbours_that_are_approximate_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openTSNE")
    told = []
    for settings in ({}, {"neighbors": "annoy"}, {"neighbors": "exact"}, {"metric": "manhattan"}):
        made = Embedding(POINTS).project("tsne", **SHORT, **settings)
        assert made.projection is not None
        told.append(made.projection.approximate)
    # Of so few points openTSNE itself compares every pair, by whatever distance.
    assert told == ["", "neighbours found approximately", "", ""]
    monkeypatch.setattr(tsne, "EXACT", 1000**2 * (8 + tsne.SELECTING))
    for count in (1000, 1001):
        points = np.random.default_rng(0).standard_normal((count, 8))
        made = Embedding(points).project("tsne", early_exaggeration_iter=1, n_iter=1)
        assert made.projection is not None
        assert made.projection.approximate == ("" if count == 1000 else "neighbours found approximately")
        assert ("approximately" in facts_of(made.projection)) == (count > 1000)


def test_umap_tells_where_it_compares_not_every_pair() -> None:
    pytest.importorskip("umap")
    few, many = (np.random.default_rng(0).standard_normal((count, 3)) for count in (300, 4096))
    for points, settings, told in (
        (few, {}, False),
        (few, {"force_approximation_algorithm": True}, True),
        (many, {}, True),
    ):
        made = Embedding(points).project("umap", n_epochs=1, init="random", **settings)
        assert made.projection is not None
        assert made.projection.approximate == ("neighbours found approximately" if told else "")


def test_settings_known_before_open_tsne_is_imported_are_its_own() -> None:
    library = pytest.importorskip("openTSNE")
    known = inspect.signature(library.TSNE.__init__).parameters
    assert {name: known[name].default for name in tsne.DEFAULTS} == tsne.DEFAULTS
    assert set(tsne.KNOWN) <= known.keys()


def test_the_first_picture_of_t_sne_waits_for_no_import() -> None:
    pytest.importorskip("openTSNE")
    program = """
import sys, numpy, workbench as wb
made = wb.embedding.Embedding(numpy.random.default_rng(0).standard_normal((200, 8)))
seen = []
def look(embedding):
    seen.append("openTSNE" in sys.modules)
made.listen(look)
made.project("tsne", n_iter=1, early_exaggeration_iter=1, random_state=3)
print(seen[0], seen[-1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_umap_is_checked_and_drawn_before_its_library_is_there() -> None:
    pytest.importorskip("umap")
    program = """
import sys, numpy, workbench as wb
made = wb.embedding.Embedding(numpy.random.default_rng(0).standard_normal((40, 8)))
seen = []
def look(embedding):
    seen.append(("umap" in sys.modules, embedding.projection.phase))
made.listen(look)
made.project("umap", n_epochs=1, background=True)
made.wait()
print(seen[0], seen[-1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(False, 'loading umap-learn') (True, '')"


def test_settings_known_before_umap_is_imported_are_its_own() -> None:
    library = pytest.importorskip("umap")
    theirs = set(inspect.signature(library.UMAP.__init__).parameters) - {"self", *umap_settings.OWN}
    assert set(umap_settings.KNOWN) == theirs | {"supervised"}
    with pytest.raises(TypeError, match="UMAP has no setting 'n_neighbour'; did you mean 'n_neighbors'"):
        Embedding(FEW).project("umap", n_neighbour=3)


@pytest.mark.parametrize(
    ("method", "settings", "phases", "stand_in"),
    [
        ("umap", {}, 3, "principal components"),
        ("densmap", {"init": "pca"}, 3, "principal components"),
        ("umap", {"init": FEW[:, 2:4]}, 3, ""),
        ("umap", {"metric": "precomputed"}, 3, "principal components of the distances"),
        ("tsne", {"perplexity": 5, "early_exaggeration_iter": 1}, 1, ""),
    ],
)
@pytest.mark.filterwarnings("ignore:using precomputed metric")
def test_a_picture_is_there_before_the_first_step_and_says_what_it_is(
    method: str, settings: dict[str, Any], phases: int, stand_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openTSNE" if method == "tsne" else "umap")
    monkeypatch.setattr(runs, "PERIOD", 0.0)
    steps = {"n_iter": 2} if method == "tsne" else {"n_epochs": 3}
    points = FEW
    if settings.get("metric") == "precomputed":
        points = np.linalg.norm(FEW[:, None] - FEW[None], axis=2)
    made = Embedding(points)
    frames: list[wb.embedding.Projection] = []
    made.listen(lambda one: frames.append(one.projection) if one.projection is not None else None)
    made.project(method, background=True, **settings, **steps)
    assert made.wait(120) and made.failure == ""
    early = [one for one in frames if one.phase]
    assert len({one.phase for one in early}) == phases
    for one in early:
        assert one.running and one.iteration == 0 and one.of > 0 and one.stand_in == stand_in
        assert np.isfinite(one.positions).all() and np.ptp(one.positions, axis=0).min() > 0
        assert facts_of(one).startswith(one.phase) and "step" not in facts_of(one)
        assert ("drawn until then: principal components" in facts_of(one)) == bool(stand_in)
    # Positions of its own are told as such.
    assert all(not one.phase for one in frames[len(early) :]) and frames[-1].stand_in == ""
    assert np.array_equal(early[0].positions, early[-1].positions) if early else frames
    if phases and not isinstance(settings.get("init", ""), str):
        given = settings["init"] - settings["init"].min(axis=0)
        np.testing.assert_allclose(early[0].positions, 10 * given / given.max(axis=0), rtol=1e-5)


# With labels the graph falls into pieces, which scikit-learn warns of while umap-learn lays them out.
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("supervised", [False, True])
def test_umap_is_that_of_umap_learn(supervised: bool) -> None:
    library = pytest.importorskip("umap")
    labels = CLASSES[:400] if supervised else None
    theirs = library.UMAP(random_state=0, n_jobs=1, n_epochs=40).fit_transform(POINTS, labels)
    made = Embedding(POINTS, labels).project("umap", n_epochs=40, supervised=supervised)
    np.testing.assert_array_equal(positions(made), theirs)
    assert made.projection is not None and made.projection.iteration == made.projection.of == 40


def test_umap_of_words_is_that_of_umap_learn_from_where_it_is_told_to_begin() -> None:
    library = pytest.importorskip("umap")
    for begin in ("spectral", WORDS[:, :2]):
        theirs = library.UMAP(random_state=0, n_jobs=1, n_epochs=40, init=begin).fit_transform(WORDS)
        made = Embedding(WORDS).project("umap", n_epochs=40, init=begin)
        np.testing.assert_array_equal(positions(made), theirs)
    near, far = (Embedding(WORDS * np.float64(factor)) for factor in (1, 2.0**700))
    for one in (near, far):
        one.project("umap", n_epochs=10)
    assert wb.embedding.quality(WORDS, positions(far), 10).trustworthiness == pytest.approx(
        wb.embedding.quality(WORDS, positions(near), 10).trustworthiness, abs=0.02
    )


def test_points_of_any_size_have_one_t_sne() -> None:
    pytest.importorskip("openTSNE")
    points = POINTS.astype(np.float64)
    expected = positions(Embedding(points).project("tsne", **SHORT))
    for factor in (2.0**600, 2.0**-600, 2.0**60):
        found = positions(Embedding(points * factor).project("tsne", **SHORT))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


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


@pytest.mark.parametrize("points", [POINTS, WORDS], ids=["digits", "words"])
def test_components_are_those_of_scikit_learn(points: Any) -> None:
    theirs = decomposition.PCA(3).fit(points)
    mine = wb.embedding.PCA(3).fit(points)
    np.testing.assert_allclose(np.abs(mine.components), np.abs(theirs.components_), atol=1e-4)
    np.testing.assert_allclose(mine.explained_variance_ratio, theirs.explained_variance_ratio_, rtol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_of_words_are_those_of_brute_force(metric: Any) -> None:
    from sklearn.neighbors import NearestNeighbors

    words = wb.data.common_words()
    points = words.vectors.astype(np.float64)
    asked = np.arange(0, len(points), 8)
    found = wb.embedding.all_neighbours(words.vectors, 10, metric, of=asked)
    search = NearestNeighbors(n_neighbors=11, algorithm="brute", metric=metric).fit(points)
    distances, indices = search.kneighbors(points[asked])
    np.testing.assert_array_equal(indices[:, 0], asked)
    np.testing.assert_array_equal(found.indices, indices[:, 1:])
    np.testing.assert_allclose(found.distances, distances[:, 1:], rtol=1e-6)
    one = wb.embedding.word_vectors(words.words, words.vectors).neighbours("king", 10, metric)
    expected = search.kneighbors(points[[words.words.index("king")]])[1][0, 1:]
    np.testing.assert_array_equal(one.indices, expected)


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
        ("tsne", {"n_iter": -3}, ValueError, "t-SNE: n_iter is a whole number from 0, got -3"),
        ("tsne", {"n_iter": 2.5}, ValueError, "n_iter is a whole number from 0, got 2.5"),
        ("tsne", {"learning_rate": -1}, ValueError, "learning_rate is a number above 0, or 'auto', got -1"),
        ("tsne", {"perplexity": "9"}, ValueError, "perplexity is above 1, got '9'"),
        ("tsne", {"initialization": "pcaa"}, ValueError, "not 'pcaa'; did you mean 'pca'?"),
        (
            "tsne",
            {"initialization": POINTS[:5, :2]},
            ValueError,
            r"initialization is .400, 2., .* got .5, 2.",
        ),
        ("umap", {"init": POINTS[:5, :2]}, ValueError, r"UMAP: init is .400, 2., a place for .* got .5, 2."),
        ("umap", {"init": np.ones((400, 2))}, ValueError, "init has all points at one place along axis 0"),
        ("umap", {"init": "spectrl"}, ValueError, "did you mean 'spectral'?"),
        ("umap", {"n_epochs": [2, 5]}, ValueError, "n_epochs is a whole number from 0, or None, got .2, 5."),
        ("umap", {"n_neighbors": "8"}, ValueError, "n_neighbors is a whole number from 2, got '8'"),
        ("umap", {"output_metric": "haversine"}, ValueError, "output_metric is 'euclidean', got 'haversine'"),
        ("umap", {"min_dist": 2}, ValueError, "min_dist is at most spread, got min_dist=2 and spread=1.0"),
        ("densmap", {"output_dens": True}, ValueError, "output_dens is False: a projection is positions"),
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
    with pytest.raises(
        ValueError, match="hdbscan: 1 point has no neighbours to be grouped with; two or more"
    ):
        Embedding([[1.0, 2.0]]).clusters()
    with pytest.raises(ValueError, match="min_cluster_size is from 2 to the 400 points"):
        made.clusters(min_cluster_size=401)
