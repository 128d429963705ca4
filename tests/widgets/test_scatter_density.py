"""Clouds too large to travel: cells that count every point, and the points of a part that is looked at closer."""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import Any

import numpy as np
import pytest

from workbench.embedding import Embedding
from workbench.live.encode import encode_snapshot
from workbench.live.messages import LookCloserEvent, ScatterState
from workbench.live.model import Refused
from workbench.widgets.scatter import ScatterModel
from workbench.widgets.scatter_density import bounds_of, cells_of, part_of, points_within
from workbench.widgets.scatter_drawn import Drawn

room = sys.modules[Drawn.__module__]


def cloud(count: int, dims: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal((count, dims)).astype(np.float32)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("labels", [0, 3, 40])
def test_every_point_is_counted_in_the_cell_where_it_lies(dims: int, labels: int) -> None:
    points = cloud(5_000, dims)
    points[7] = np.nan
    codes = np.arange(5_000) % labels if labels else None
    low, high = bounds_of(points)
    assert (low, high) == (np.nanmin(points, axis=0).tolist(), np.nanmax(points, axis=0).tolist())
    cells = cells_of(points, codes, labels, low, high)
    assert cells.weights.sum() == 4_999
    finite = np.delete(points, 7, axis=0)
    sides = (np.array(high) - low) / cells.side
    step = np.minimum((finite.astype(np.float64) - low) / sides, cells.side - 1).astype(int)
    own = np.delete(codes, 7) if codes is not None and labels <= 16 else np.zeros(4_999, int)
    expected, counts = np.unique(np.column_stack([step, own]), axis=0, return_counts=True)
    places = np.rint((cells.positions - low) / sides - 0.5).astype(int)
    found = np.column_stack([places, np.zeros(len(places), int) if cells.codes is None else cells.codes])
    order = np.lexsort(found.T[::-1])
    # A point on the rim of two cells may be counted in either, by float32's last digit.
    assert len(found) == pytest.approx(len(expected), abs=3)
    if len(found) == len(expected):
        assert (np.abs(found[order] - expected).max(axis=1) == 0).mean() > 0.99
        assert (cells.weights[order] == counts).mean() > 0.99


def test_cells_become_coarser_where_there_would_be_too_many() -> None:
    points = cloud(20_000, 2)
    low, high = bounds_of(points)
    fine, coarse = cells_of(points, None, 0, low, high), cells_of(points, None, 0, low, high, most=9_000)
    assert (fine.side, len(coarse.weights) <= 9_000, coarse.weights.sum()) == (1024, True, 20_000)
    assert coarse.side < fine.side


def test_a_part_is_its_points_where_there_is_room_for_them_and_cells_where_there_is_not() -> None:
    points = cloud(3_000, 3)
    points[11, 1] = np.inf
    low, high = [-0.5, -0.5, -9.0], [0.5, 0.5, 9.0]
    inside = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
    np.testing.assert_array_equal(points_within(points, low, high), inside)
    codes = np.arange(3_000) % 5
    near = part_of(points, codes, 5, low, high, len(inside))
    assert near.numbers is not None and near.codes is not None and near.weights is None
    np.testing.assert_array_equal(near.positions, points[inside])
    np.testing.assert_array_equal(near.codes, codes[inside])
    far = part_of(points, codes, 5, low, high, len(inside) - 1)
    assert far.weights is not None and far.numbers is None
    assert (int(far.weights.sum()), far.inside) == (len(inside), len(inside))


def test_points_that_are_all_equal_or_nowhere_have_their_cells() -> None:
    same = np.full((9, 2), 4, np.float32)
    assert cells_of(same, None, 0, *bounds_of(same)).weights.tolist() == [9]
    nowhere = np.full((9, 2), np.nan, np.float32)
    assert bounds_of(nowhere) == ([0, 0], [0, 0])
    assert len(cells_of(nowhere, None, 0, *bounds_of(nowhere)).weights) == 0


def test_a_page_gets_density_then_the_points_it_looks_at_then_the_whole_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "MOST_POINTS", 400)
    points = cloud(2_000, 2)
    made = Embedding(
        points, labels=np.arange(2_000) % 4, metadata={"n": np.arange(2_000)}, images=np.zeros((2_000, 2, 2))
    )
    made.project("given", positions=points)
    model = ScatterModel(made)
    heard: list[object] = []
    model.listen(heard.append)

    def state() -> tuple[ScatterState, list[bytes]]:
        snapshot = model.snapshot()
        assert isinstance(snapshot.state, ScatterState)
        return snapshot.state, encode_snapshot("scatter", snapshot)[1]

    drawn, buffers = state()
    window = drawn.window
    assert window is not None and window.weights_buffer is not None
    weights = np.frombuffer(buffers[window.weights_buffer], "<u4")
    assert (len(weights), weights.sum(), window.inside, drawn.total) == (drawn.count, 2_000, 2_000, 2_000)
    assert (drawn.sprite, window.numbers_buffer, len(window.cell)) == (None, None, 2)
    label, other = drawn.columns[:2]
    assert label.buffer is not None and set(np.frombuffer(buffers[label.buffer], "<u2").tolist()) == {
        0,
        1,
        2,
        3,
    }
    assert (other.kind, other.note[:24]) == ("away", "many points are drawn as")

    made.selected = [3]
    low, high = (points[3] - 0.2).tolist(), (points[3] + 0.2).tolist()
    model.handle(LookCloserEvent("look_closer", low, high))
    drawn, buffers = state()
    window = drawn.window
    assert window is not None and window.numbers_buffer is not None and drawn.sprite is not None
    numbers = np.frombuffer(buffers[window.numbers_buffer], "<u4")
    places = np.frombuffer(buffers[drawn.positions_buffer], "<f4").reshape(drawn.count, 2)
    np.testing.assert_array_equal(places, points[numbers])
    assert 3 in numbers
    assert (window.inside, drawn.total, drawn.selected) == (len(numbers), 2_000, [3])
    (label, other) = drawn.columns[:2]
    assert label.buffer is not None and other.buffer is not None
    assert np.frombuffer(buffers[label.buffer], "<u2").tolist() == (numbers % 4).tolist()
    assert np.frombuffer(buffers[other.buffer], "<f4").tolist() == numbers.tolist()
    # Neighbours are those among all points, drawn or not.
    assert [one.index for one in drawn.neighbours] == made.neighbours(3, 12).indices.tolist()

    count = len(heard)
    for low, high, words in (
        ([0.0], [1.0], "each of 2 dims"),
        ([99.0, 99.0], [100.0, 100.0], "outside of the cloud"),
    ):
        with pytest.raises(Refused, match=words):
            model.handle(LookCloserEvent("look_closer", low, high))
    assert (len(heard), state()[0].count) == (count, drawn.count)
    model.handle(LookCloserEvent("look_closer", [], []))
    assert state()[0].window == ScatterModel(made).snapshot().state.window  # type: ignore[attr-defined]


def test_a_cloud_that_is_drawn_whole_has_no_closer_look() -> None:
    model = ScatterModel(Embedding(np.eye(3)))
    model.snapshot()
    with pytest.raises(Refused, match="all points of this cloud are drawn already"):
        model.handle(LookCloserEvent("look_closer", [0.0] * 3, [1.0] * 3))


def written(model: ScatterModel) -> tuple[dict[str, Any], list[bytes], np.ndarray[Any, Any]]:
    """The state, the buffers and the vectors that stand in a page."""
    text = model.page()
    found = re.search(r'data-part="state">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    page = json.loads(found.group(1))
    parts = re.findall(r'data-part="(buffer|vectors)">(.*?)</script>', text)
    vectors = [base64.b64decode(data) for name, data in parts if name == "vectors"]
    assert len(vectors) == (page["size"] > 0)
    array = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, page["size"] or 1)
    return page["state"], [base64.b64decode(data) for name, data in parts if name == "buffer"], array


def test_a_page_of_a_part_has_the_vectors_of_its_points_and_of_cells_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "MOST_POINTS", 400)
    points = cloud(2_000, 2)
    made = Embedding(np.hstack([points, cloud(2_000, 3)])).project("given", positions=points)
    made.selected = [3]
    model = ScatterModel(made)
    cells, _, vectors = written(model)
    assert (cells["window"]["numbers_buffer"], len(vectors), cells["neighbours"]) == (None, 0, [])
    assert cells["facts"] == "no neighbours: where many points are drawn as one there are none to find"

    model.handle(LookCloserEvent("look_closer", (points[3] - 0.2).tolist(), (points[3] + 0.2).tolist()))
    part, buffers, vectors = written(model)
    numbers = np.frombuffer(buffers[part["window"]["numbers_buffer"]], "<u4")
    assert 3 in numbers and 5 < part["count"] == len(numbers) < 400
    np.testing.assert_array_equal(vectors, made.vectors[numbers].astype("f"))
    # Those that Python found are among all points, of which the page has a part.
    assert (part["facts"], part["neighbours"], part["selected"]) == ("", [], [3])

    monkeypatch.setattr("workbench.widgets.scatter_page.MOST_VECTORS", 4)
    assert written(model)[0]["facts"] == "no neighbours: vectors too large"


def test_a_page_of_all_points_has_all_vectors_and_the_neighbours_that_python_found() -> None:
    made = Embedding(cloud(50, 4)).project()
    made.selected = [3]
    whole, _, vectors = written(ScatterModel(made))
    np.testing.assert_array_equal(vectors, made.vectors)
    assert [one["index"] for one in whole["neighbours"]] == made.neighbours(3, 12).indices.tolist()
    assert (whole["judges"], whole["resumes"], whole["facts"]) == (False, False, "")
    assert whole["quality"] is None  # nobody has judged it, and nobody will
