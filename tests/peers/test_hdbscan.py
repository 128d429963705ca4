"""Clusters found in parts are those of scikit-learn, number for number, of any size, and can be left in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.embedding import Embedding, hdbscan

sklearn = pytest.importorskip("sklearn.cluster")

_RNG = np.random.default_rng(0)
SPACES = {
    "normal": _RNG.standard_normal((500, 5)),
    # Most edges are of one length: which of them is taken decides.
    "grid": _RNG.integers(0, 6, (600, 3)).astype(np.float64),
    "copies": np.repeat(_RNG.standard_normal((120, 4)), 4, axis=0),
    "one place": np.zeros((50, 3)),
    "float32": (_RNG.standard_normal((700, 20)) + 4 * _RNG.integers(0, 5, (700, 1))).astype(np.float32),
    "two": np.array([[0.0], [1.0]]),
}


def the_same(space: np.ndarray, settings: dict[str, Any]) -> list[str]:
    """Compare with the library; return the phases."""
    phases: dict[str, None] = {}
    codes, sure = hdbscan.cluster(space, settings, lambda phase, done, of: phases.update({phase: None}))
    theirs = sklearn.HDBSCAN(copy=True, **settings).fit(space)
    np.testing.assert_array_equal(sure, theirs.probabilities_)
    pairs = set(zip(codes.tolist(), theirs.labels_.tolist(), strict=True))
    assert len(pairs) == len(set(codes.tolist())) == len(set(theirs.labels_.tolist()))
    assert ((codes == -1) == (theirs.labels_ == -1)).all()
    return list(phases)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_samples": 1},
        {"metric": "manhattan", "alpha": 1.3, "min_cluster_size": 9},
        {"cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.4},
        {"metric": "chebyshev", "min_samples": 3, "allow_single_cluster": True, "algorithm": "kd_tree"},
    ],
)
def test_clusters_are_those_of_scikit_learn(space: str, settings: dict[str, Any]) -> None:
    least = {"min_cluster_size": min(settings.get("min_cluster_size", 5), len(SPACES[space]))}
    few = {"min_samples": 2} if space == "two" else {}
    assert the_same(SPACES[space], {**settings, **least, **few}) == ["neighbours", "tree", "groups"]


@pytest.mark.parametrize(
    "settings", [{"metric": "cosine"}, {"algorithm": "brute"}, {"algorithm": "ball_tree"}]
)
def test_what_the_library_does_another_way_is_left_to_it_and_says_so(settings: dict[str, Any]) -> None:
    assert the_same(SPACES["normal"], settings) == ["by scikit-learn alone, which goes on to its end"]


def test_a_library_with_other_parts_is_asked_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdbscan, "_TREE", type("Other", (), {}))
    assert the_same(SPACES["normal"], {}) == ["by scikit-learn alone, which goes on to its end"]


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_clusters_are_the_same_in_every_unit(factor: float) -> None:
    space = SPACES["float32"].astype(np.float64)
    settings = {"cluster_selection_epsilon": 4.0, "min_cluster_size": 12}
    codes, sure = hdbscan.cluster(space, settings)
    scaled = {**settings, "cluster_selection_epsilon": 4.0 * factor}
    found, as_sure = hdbscan.cluster(space * factor, scaled)
    assert codes.max() > 1
    np.testing.assert_array_equal(found, codes)
    np.testing.assert_allclose(as_sure, sure, rtol=1e-9)


def test_what_the_library_does_not_take_it_refuses() -> None:
    made = Embedding(SPACES["normal"])
    with pytest.raises(ValueError, match="'alpha' parameter of HDBSCAN must be a float"):
        made.clusters(alpha=-1.0)
    with pytest.raises(ValueError, match=r"min_samples \(501\) must be at most the number of samples in X"):
        made.clusters(min_samples=501)


@pytest.mark.parametrize("at", ["neighbours", "tree", "groups"])
def test_it_ends_wherever_it_is_told_to(at: str) -> None:
    class LeftError(Exception):
        pass

    def reached(phase: str, done: int, of: int) -> None:
        assert 0 <= done <= of == 500
        if phase == at:
            raise LeftError

    with pytest.raises(LeftError):
        hdbscan.cluster(SPACES["normal"], {}, reached)
