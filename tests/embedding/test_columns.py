"""Columns keep their kinds, clusters are called by what sets them apart, and a library that is missing is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.errors import UnavailableError
from workbench.embedding import Column, Embedding, clusters, hdbscan, tsne, umap_settings
from workbench.embedding.columns import column_of


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        ([1, 2, 3, 4, 5, 6], "number", np.int64),
        ([1.5, float("nan"), 3, 4, 5, 6], "number", np.float64),
        (np.arange(6, dtype=np.uint8), "number", np.int64),
        ([True, False] * 3, "number", np.bool_),
        (wb.arange(6), "number", np.int64),
        (["a", "b"] * 3, "category", str),
        (["a", 1] * 3, "category", str),
        (list("abcdef"), "text", str),
        ([1, None, 3, 4, 5, 6], "number", np.float64),
        ([True, None, True, False, None, True], "category", str),
        ([None] * 6, "category", str),
        ([wb.tensor(one) for one in range(6)], "number", np.int64),
        ([np.array(one) for one in range(6)], "number", np.int64),
        (wb.arange(6).to(wb.bfloat16), "number", np.float64),
        (np.ma.array(range(6), mask=[0, 0, 1, 0, 0, 0]), "number", np.float64),
        (np.ma.array(["a", "b"] * 3, mask=[0, 0, 1, 0, 0, 0]), "category", str),
    ],
)
def test_columns_keep_what_they_are(values: Any, kind: str, kept: type) -> None:
    column = column_of("one", values, 6)
    assert column.kind == kind and len(column) == 6
    assert isinstance(column.values[1], kept) if kept is str else column.values.dtype == kept
    part = column.take(np.array([1, 3]))
    assert part.kind == kind and part.text(0) == column.texts[1] == str(column.text(1))


def test_what_is_masked_is_not_there() -> None:
    mask = [[False, True], [False, False]]
    column = column_of("one", np.ma.array([1, 2, 3], mask=[False, True, False]), 3)
    assert np.isnan(column.values).tolist() == [False, True, False]
    assert column_of("one", np.ma.array(["a", "b"], mask=[False, True]), 2).texts == ("a", "None")
    with pytest.raises(ValueError, match="1 of 2 points cannot be placed: 1 with NaN"):
        Embedding(np.ma.array(np.ones((2, 2)), mask=mask)).project("pca")
    whole = Embedding(np.ma.array(np.ones((2, 2)), mask=False))
    assert whole.vectors.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_what_is_not_known_of_a_number_is_nan_and_numbers_of_data_sets_are_numbers() -> None:
    assert np.isnan(column_of("one", [1, None, 3], 3).values).tolist() == [False, True, False]
    labels = [wb.tensor(7), np.array(7), 7]
    assert Embedding(np.eye(3), labels).labels == ("7", "7", "7")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"labels": 7}, TypeError, "column 'labels' is int; give one value for each of 3 points"),
        (
            {"labels": np.zeros((3, 1))},
            wb.DimensionError,
            r"'labels' has one value for .* got shape \[3, 1\]",
        ),
        ({"metadata": {"size": None}}, TypeError, "column 'size' is NoneType; give one value"),
        ({"metadata": {"size": wb.tensor(1)}}, wb.DimensionError, r"'size' has one value .* got shape \[\]"),
        (
            {"metadata": [1, 2, 3]},
            TypeError,
            "metadata is a dict of columns by name, got list; metadata={'col",
        ),
        (
            {"metadata": {1: [1] * 3, "1": [2] * 3}},
            ValueError,
            "metadata has two columns that are called '1'",
        ),
        (
            {"metadata": {"size": [1] * 3, "": [2] * 3}},
            ValueError,
            "a column of metadata is called ''; what is chosen by its name has one, as 'column 2'",
        ),
        ({"labels": [1] * 3, "label_name": ""}, ValueError, "label_name is '', and labels are chosen by it"),
        ({"names": 3}, TypeError, "column 'names' is int"),
    ],
)
def test_what_is_no_column_is_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Embedding(np.eye(3), **given)


def test_a_column_that_is_not_there_is_answered_with_the_nearest() -> None:
    made = Embedding(np.eye(3), [0, 1, 0], metadata={"size": [1, 2, 3]}, label_name="digit")
    assert made.column("digit").categories == ("0", "1") and made.column(True) is made.column("digit")
    with pytest.raises(KeyError, match="there is no column 'sise'; did you mean 'size'"):
        made.column("sise")


def test_clusters_are_called_by_words_that_others_lack() -> None:
    texts = Column(
        "text", "text", ("the red fox", "the red hen", "a blue sky", "the blue <b>", "the odd one")
    )
    colours = Column("colour", "category", ("warm", "warm", "cold", "cold", "none"))
    codes = np.array([0, 0, 1, 1, -1])
    labels = clusters.telling_words(codes, 2, [texts, colours, Column("n", "number", np.arange(5))])
    assert set(labels[0].split(", ")[:2]) == {"red", "warm"} and set(labels[1].split(", ")[:2]) == {
        "blue",
        "cold",
    }
    assert clusters.telling_words(codes, 2, []) == ("cluster 0", "cluster 1")


class _Missing:
    def __getattr__(self, name: str) -> Any:
        raise ModuleNotFoundError("No module named 'it'")


def test_a_library_that_is_not_installed_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tsne, "find_spec", lambda name: None)
    monkeypatch.setattr(umap_settings, "find_spec", lambda name: None)
    monkeypatch.setattr(hdbscan, "_CLUSTER", _Missing())
    made = Embedding(np.eye(9)).project()
    before = made.projection
    for ask, library in (
        (lambda: made.project("tsne"), "openTSNE"),
        (lambda: made.project("umap"), "umap-learn"),
        (lambda: made.clusters(), "scikit-learn"),
    ):
        with pytest.raises(
            UnavailableError, match=rf"{library}, which is not.*pip install 'tensor-workbench\[emb"
        ):
            ask()
    assert made.projection is before
    with pytest.raises(ValueError, match="there is no method 'kmeans' of finding clusters"):
        made.clusters("kmeans")
    with pytest.raises(ValueError, match="there is no 'umap' to find them in; there are vectors, PCA 3-D"):
        made.clusters(of="umap")
