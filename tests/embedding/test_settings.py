"""What does not fit the points is told before a library is imported, in words that help."""

from __future__ import annotations

import re

import numpy as np
import pytest

from workbench.embedding import Embedding, tsne, umap_settings

POINTS = np.random.default_rng(2).standard_normal((40, 6))


@pytest.mark.parametrize(
    ("method", "count", "words"),
    [
        ("umap", 1, "UMAP: 1 point is too few; 5 or more, or method 'pca'"),
        ("densmap", 4, "densMAP: 4 points are too few; 5 or more, or method 'pca'"),
        ("umap", 5, "UMAP: n_neighbors=15 asks for more neighbours than 5 points have; at most 4"),
        ("tsne", 1, "t-SNE: 1 point is too few, for each must have neighbours; 7 or more, or method 'pca'"),
    ],
)
def test_what_is_told_of_few_points_helps(
    method: str, count: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (tsne, umap_settings):
        monkeypatch.setattr(one, "find_spec", lambda name: object())
    with pytest.raises(ValueError, match=re.escape(words)):
        Embedding(np.arange(2.0 * count).reshape(count, 2)).project(method)


def test_what_labels_points_apart_is_a_number_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(umap_settings, "find_spec", lambda name: object())
    made = Embedding(POINTS, metadata={"size": [None, *range(39)]}).project()
    before = made.projection
    with pytest.raises(
        ValueError, match=r"UMAP: column 'size' is NaN or infinite at 1 of 40 points; supervised"
    ):
        made.project("umap", supervised="size")
    with pytest.raises(TypeError, match="name is what the projection is called, a text, got int"):
        made.project(name=5)  # type: ignore[arg-type]
    assert made.projection is before


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "one", True])
@pytest.mark.parametrize(("method", "title"), [("umap", "UMAP"), ("densmap", "densMAP"), ("tsne", "t-SNE")])
def test_what_is_no_seed_is_told_before_anything_is_imported(
    method: str, title: str, seed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (tsne, umap_settings):
        monkeypatch.setattr(one, "find_spec", lambda name: object())
    words = f"{title}: random_state is a whole number from 0 to 4294967295, or None, got {seed!r}"
    with pytest.raises(ValueError, match=re.escape(words)):
        Embedding(POINTS).project(method, random_state=seed)


@pytest.mark.parametrize("seed", [-1, 1.5, "one"])
def test_principal_components_take_any_seed_from_0(seed: object) -> None:
    words = f"PCA: random_state is a whole number from 0, or None, got {seed!r}"
    with pytest.raises(ValueError, match=re.escape(words)):
        Embedding(POINTS).project("pca", solver="randomized", random_state=seed)
    assert Embedding(POINTS).project("pca", solver="randomized", random_state=2**40).projection is not None
