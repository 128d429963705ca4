"""Embeddings: what they are made of, projection, selection both ways, and what is refused without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base import events
from workbench.embedding import Embedding


def embedding(**more: Any) -> Embedding:
    return Embedding(np.random.default_rng(1).standard_normal((6, 4)), **more)


def test_labels_are_text_and_sorted_as_numbers_where_they_are() -> None:
    made = embedding(labels=wb.tensor([10, 9, 2, 9, 10, 2]))
    assert made.labels == ("10", "9", "2", "9", "10", "2")
    assert made.categories == ("2", "9", "10")
    assert made.codes is not None and made.codes.tolist() == [2, 1, 0, 1, 2, 0]
    assert embedding(labels=["b", "nan", "1", "a", "<b>", "b"]).categories == ("1", "<b>", "a", "b", "nan")


def test_projection_is_published_and_told() -> None:
    made = embedding()
    published: list[object] = []
    told: list[Embedding] = []
    stop = events.subscribe(Embedding, lambda source: published.append(source))
    try:
        made.listen(told.append)
        assert made.project(dims=2) is made
    finally:
        stop()
    assert published == told == [made]
    assert made.projection is not None
    assert made.projection.positions.dtype == np.float32
    assert made.projection.positions.shape == (6, 2)
    assert len(made.projection.explained) == 2
    assert repr(made) == "Embedding(6 points, 4 features, PCA 2-D)"


def test_a_projection_that_fails_leaves_the_earlier_one() -> None:
    made = embedding().project()
    before = made.projection
    with pytest.raises(ValueError, match="there is no projection 'umpa'; did you mean 'umap'"):
        made.project("umpa")
    with pytest.raises(TypeError, match="PCA has no setting 'solvr'; did you mean 'solver'"):
        made.project(solvr="exact")
    with pytest.raises(ValueError, match="2 or 3 dims, not 4"):
        made.project(dims=4)
    made.vectors[0, 0] = np.nan
    with pytest.raises(ValueError, match="1 of 6 points cannot be placed"):
        made.project()
    assert made.projection is before


def test_selection_is_checked_told_once_and_keeps_its_order() -> None:
    made = embedding()
    told: list[tuple[int, ...]] = []
    stop = made.listen(lambda one: told.append(one.selected))
    made.selected = [4, 1, 4]
    made.selected = np.array([4, 1])
    made.selected = ()
    assert told == [(4, 1), ()]
    made.selected = [2]
    for wrong, error, words in (
        ([1, 6], IndexError, "there is no point 6; the points are 0 to 5"),
        ([-1], IndexError, "there is no point -1"),
        ([1.5], TypeError, "whole numbers, got float"),
        ([True], TypeError, "whole numbers, got bool"),
        ("12", TypeError, "a sequence of points' numbers"),
    ):
        with pytest.raises(error, match=words):
            made.selected = wrong
    assert made.selected == (2,)
    stop()
    made.selected = [0]
    assert told == [(4, 1), (), (2,)]


def test_neighbours_are_those_of_the_original_space() -> None:
    made = Embedding([[0.0, 0, 9], [0, 0, 8.5], [0, 1, 0], [5, 5, 0]])
    assert made.neighbours(0, 1, "euclidean").indices.tolist() == [1]


def test_some_of_the_points_are_an_embedding_too() -> None:
    made = embedding(
        labels=list("abcdef"),
        metadata={"size": range(6)},
        images=np.arange(24, dtype=np.uint8).reshape(6, 2, 2),
        title="t",
    )
    for part in (made.take([3, 1]), made.take(np.array([3, 1]))):
        assert part.labels == ("d", "b")
        assert part.metadata == {"size": ("3", "1")}
        assert part.columns["size"].values.tolist() == [3, 1]
        assert part.thumbnails is not None and part.thumbnails[0, 0, 0] == 12
        np.testing.assert_array_equal(part.vectors, made.vectors[[3, 1]])
    assert len(made.take(np.array([True, False, False, False, False, True]))) == 2


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"labels": [1, 2]}, wb.DimensionError, "2 values of 'labels' for 6 points"),
        ({"metadata": {"name": ["x"] * 7}}, wb.DimensionError, "7 values of 'name' for 6 points"),
        ({"metadata": {"name": "abcdef"}}, TypeError, "column 'name' is one text"),
        ({"images": np.zeros((5, 2, 2))}, wb.DimensionError, "5 images for 6 points"),
    ],
)
def test_what_does_not_go_with_the_points(more: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        embedding(**more)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"labels": [str(one % 10) for one in range(60)]},
        {"labels": [f"w{one}" for one in range(60)]},
        {"labels": list(range(60, 0, -1))},
        {"labels": ["a"] * 60, "names": [f"w{one}" for one in range(60)]},
    ],
)
def test_a_point_is_found_by_what_it_is_called(more: dict[str, Any]) -> None:
    # Asked for in both orders: what is found first is kept.
    points = np.random.default_rng(0).standard_normal((60, 8))
    for first in (lambda made: made.names, lambda made: made.index(7)):
        made = Embedding(points, **more)
        first(made)
        assert [made.index(name) for name in made.names] == list(range(60))
        made.selected = [17, 3]
        assert made.select(made.selected_names).selected == (17, 3)


def test_of_names_that_repeat_the_first_is_meant_and_labels_are_none() -> None:
    points = np.random.default_rng(0).standard_normal((4, 8))
    assert Embedding(points, names=["a", "b", "a", "b"]).index("b") == 1
    made = Embedding(points, labels=["cat", "dog", "cat", "dog"])
    assert made.names == ("0", "1", "2", "3") and made.index("1") == 1
    with pytest.raises(KeyError, match=r"no point 'dog': it is a label, .* the first of it is 1"):
        made.index("dog")


def test_floats_that_numpy_does_not_have_are_points_pictures_positions_and_directions() -> None:
    values = wb.tensor(np.random.default_rng(2).integers(-8, 8, (6, 4)).astype(np.float32))
    short = values.to(wb.bfloat16)
    made = Embedding(short, images=wb.ones(6, 2, 2).to(wb.bfloat16))
    assert made.vectors.dtype == np.float32 and np.array_equal(made.vectors, values.numpy())
    assert made.thumbnails is not None
    shown = made.project("given", positions=short[:, :2]).projection
    assert shown is not None and np.array_equal(shown.positions, values.numpy()[:, :2])
    end = wb.ones(4).to(wb.bfloat16)
    assert made.project("axes", axes=[(-end, end), (0, 1)]).projection is not None
    assert np.array_equal(wb.embedding.neighbours(short, 0, 2).indices, made.neighbours(0, 2).indices)


def test_a_part_has_a_point_and_a_selection_is_of_points() -> None:
    made = embedding()
    for none in ([], (), np.zeros(0, np.int64), made.selected):
        with pytest.raises(
            ValueError, match="take: an embedding has one point at least, and no point was named"
        ):
            made.take(none)
    with pytest.raises(TypeError, match=r"selected is a sequence of points' numbers, .* got NoneType"):
        made.select(None)  # type: ignore[arg-type]
