"""The projector's view model: what it draws of an embedding, and the selection it shares."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.live.models import gesture
from workbench.embedding import Embedding
from workbench.live.answer import answer
from workbench.live.encode import encode_snapshot
from workbench.live.ledger import Ledger
from workbench.live.messages import (
    SampleEvent,
    ScatterState,
    SelectPointsEvent,
    SetNeighboursEvent,
)
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets.scatter import ScatterModel
from workbench.widgets.scatter_columns import Travelling
from workbench.widgets.scatter_computed import OFFERED
from workbench.widgets.scatter_drawn import Drawn
from workbench.widgets.scatter_places import decode_places, encode_places

drawn_room = sys.modules[Drawn.__module__]
columns_room = sys.modules[Travelling.__module__]
places_room = sys.modules[encode_places.__module__]


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    renderers.stop()
    for model in registry.models():
        registry.withdraw(model)
    selection.clear()


def embedding(count: int = 7, **more: Any) -> Embedding:
    return Embedding(np.random.default_rng(4).standard_normal((count, 5)), title="features", **more)


def state(model: ScatterModel) -> tuple[ScatterState, list[bytes]]:
    plain, buffers = encode_snapshot(model.view, model.snapshot())
    json.dumps(plain)
    drawn = model.snapshot().state
    assert isinstance(drawn, ScatterState)
    return drawn, buffers


def test_everything_that_is_known_travels() -> None:
    images = np.random.default_rng(0).integers(0, 256, (7, 3, 2), np.uint8)
    made = embedding(
        labels=[3, 1, 3, 10, 1, 1, 3],
        label_name="digit",
        images=images,
        metadata={"name": [f"<{i}>" for i in range(7)]},
    )
    made.selected = [5, 2]
    model = ScatterModel(made)
    drawn, buffers = state(model)
    assert made.projection is not None
    positions = np.frombuffer(buffers[drawn.positions_buffer], "<f4").reshape(drawn.count, drawn.dims)
    np.testing.assert_array_equal(positions, made.projection.positions)
    assert (drawn.head.title, drawn.method, drawn.count, drawn.total, drawn.dims) == (
        "features",
        "PCA",
        7,
        7,
        3,
    )
    assert drawn.explained == list(made.projection.explained)
    digit, name = drawn.columns[:2]
    assert (digit.name, digit.kind, digit.values) == ("digit", "category", ["1", "3", "10"])
    assert digit.buffer is not None
    assert np.frombuffer(buffers[digit.buffer], "<u2").tolist() == [1, 0, 1, 2, 0, 0, 1]
    assert drawn.label_name == "digit"
    assert (name.name, name.kind, drawn.selected) == ("name", "text", [5, 2])
    assert name.buffer is not None and buffers[name.buffer] == b"".join(b"<%d>" % i for i in range(7))
    sprite = drawn.sprite
    assert sprite is not None
    sheet = np.frombuffer(buffers[sprite.image_buffer], np.uint8).reshape(sprite.rows * 3, sprite.columns * 2)
    np.testing.assert_array_equal(sheet[:3, 2:4], images[1])


def test_a_bare_embedding_is_projected_and_drawn() -> None:
    drawn, buffers = state(ScatterModel(embedding()))
    assert (drawn.label_name, drawn.sprite, len(buffers)) == ("", None, 1)
    assert [one.kind for one in drawn.columns] == ["offered"] * len(OFFERED)


def test_neighbours_of_the_first_selected_point_by_either_metric() -> None:
    made = embedding(40)
    model = ScatterModel(made)
    assert state(model)[0].neighbours == []
    made.selected = [3, 9]
    for metric in ("cosine", "euclidean"):
        model.handle(SetNeighboursEvent("set_neighbours", metric, 12))  # type: ignore[arg-type]
        drawn, _ = state(model)
        near = made.neighbours(3, 12, metric)  # type: ignore[arg-type]
        assert (drawn.metric, [one.index for one in drawn.neighbours]) == (metric, near.indices.tolist())
        assert [one.distance for one in drawn.neighbours] == near.distances.tolist()


def test_a_point_without_direction_says_why_it_has_no_neighbours() -> None:
    made = Embedding(np.vstack([np.zeros(3), np.eye(3)]))
    made.selected = [0]
    model = ScatterModel(made)
    drawn, _ = state(model)
    assert drawn.neighbours == []
    assert drawn.refusal is not None and "point 0 is zero and has no direction" in drawn.refusal.reason
    model.handle(SetNeighboursEvent("set_neighbours", "euclidean", 12))
    drawn, _ = state(model)
    assert (len(drawn.neighbours), drawn.refusal) == (3, None)


def test_a_pick_in_the_view_changes_python_and_the_other_views() -> None:
    made = embedding()
    panel, widget, other = ScatterModel(made), ScatterModel(made), ScatterModel(embedding(3))
    for model in (panel, widget, other):
        registry.know(model)
    told: list[tuple[int, ...]] = []
    made.listen(lambda one: told.append(one.selected))
    event = {"type": "select_points", "indices": [6, 2, 6]}
    reply = answer(gesture(panel.id, event), registry, selection, Ledger())
    assert reply is not None
    assert reply.accepted
    assert made.selected == (6, 2)
    assert told == [(6, 2)]
    assert state(widget)[0].selected == [6, 2]
    assert other.embedding.selected == ()  # it has no point 6
    selection.points = [1]
    assert (made.selected, other.embedding.selected) == ((1,), (1,))


def test_a_selection_in_python_is_that_of_all_views() -> None:
    made = embedding()
    model = ScatterModel(made)
    changed: list[Any] = []
    model.listen(changed.append)
    made.selected = [4]
    assert selection.points == (4,)
    assert len(changed) == 1
    assert state(model)[0].selected == [4]


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    made = embedding()
    made.selected = [1]
    model = ScatterModel(made)
    for indices in ([7], [0, -1]):
        with pytest.raises(Refused, match=r"there is no point (7|-1); the points are 0 to 6"):
            model.handle(SelectPointsEvent("select_points", indices))
    with pytest.raises(Refused, match="there is no metric 'manhattan'"):
        model.handle(SetNeighboursEvent("set_neighbours", "manhattan", 12))  # type: ignore[arg-type]
    with pytest.raises(Refused, match="1 to 999 neighbours are listed, not 1000"):
        model.handle(SetNeighboursEvent("set_neighbours", "cosine", 1000))
    with pytest.raises(Refused, match="one selects, projects"):
        model.handle(SampleEvent("sample", 0))
    assert (made.selected, model.metric) == ((1,), "cosine")


def test_more_labels_than_can_be_coloured_are_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_room, "MOST_LABELS", 3)
    made = embedding(labels=list("abcdefg"), metadata={"n": range(7)}, label_name="letter")
    drawn, _ = state(ScatterModel(made))
    assert [(one.name, one.kind) for one in drawn.columns[:2]] == [("letter", "text"), ("n", "number")]


def test_another_projection_is_drawn_by_the_same_model() -> None:
    made = embedding().project(dims=3)
    model = ScatterModel(made)
    made.project(dims=2)
    assert state(model)[0].dims == 2


def test_what_is_projected_reaches_the_panel_once() -> None:
    renderers.start()
    made = embedding().project(dims=2)
    made.project(dims=3)
    (model,) = registry.models("scatter")
    assert isinstance(model, ScatterModel)
    assert model.embedding is made


def test_an_embedding_does_not_keep_its_pictures_alive() -> None:
    made = embedding()
    model = ScatterModel(made)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    made.selected = [1]
    assert not made._listeners


def test_many_points_in_space_take_eight_bytes_each_and_keep_their_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places_room, "MOST_EXACT", 50)
    made = embedding(60, labels=["a", "b"] * 30)
    model = ScatterModel(made)
    drawn, buffers = state(model)
    assert made.projection is not None
    exact = made.projection.positions
    data = buffers[drawn.positions_buffer]
    assert (drawn.positions_coding, len(data), sum(map(len, buffers))) == ("packed", 60 * 8, 60 * 10)
    assert (drawn.low, drawn.high) == (exact.min(axis=0).tolist(), exact.max(axis=0).tolist())
    read = decode_places(data, drawn.positions_coding, drawn.low, drawn.high)
    # Half a step, and what float32 rounds off of the result.
    assert (abs(read - exact) <= (exact.max(axis=0) - exact.min(axis=0)) * 2.5e-7).all()
    made.project(dims=2)
    drawn, buffers = state(model)
    assert (drawn.positions_coding, len(buffers[0])) == ("float32", 60 * 8)


def test_a_packed_point_is_nowhere_where_a_coordinate_is_not_finite() -> None:
    positions = np.arange(9, dtype=np.float32).reshape(3, 3)
    positions[1, 2] = np.inf
    places = encode_places(np.repeat(positions, 40_000, axis=0))
    words = np.frombuffer(places.data, "<u8")[::40_000].tolist()
    most = 2**21 - 1
    assert (places.low, places.high) == ([0, 1, 2], [6, 7, 8])
    assert words == [0, 2**63, most | most << 21 | most << 42]
    read = decode_places(*places)[::40_000]
    assert np.isnan(read[1]).all()
    np.testing.assert_array_equal(read[[0, 2]], positions[[0, 2]])


@pytest.mark.parametrize("value", [3.5, np.nan])
def test_points_that_are_all_equal_or_nowhere_are_packed_too(value: float) -> None:
    positions = np.full((100_001, 3), value, np.float32)
    np.testing.assert_array_equal(decode_places(*encode_places(positions)), positions)
