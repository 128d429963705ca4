"""What a person asks of the projector: projections, columns, comparisons, bookmarks, pages; and what is refused."""

from __future__ import annotations

import io
import json
import re
import threading
import time
import wave
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.widgets.test_scatter import clean, embedding, state  # noqa: F401  a fixture
from workbench.embedding import Embedding
from workbench.embedding.methods import METHODS, Method, Outcome, Problem
from workbench.live.messages import (
    CompareWithEvent,
    ComputeColumnEvent,
    PlayEvent,
    ProjectEvent,
    PublishEvent,
    RemoveBookmarkEvent,
    ResumeEvent,
    SaveBookmarkEvent,
    ScatterAxis,
    ScatterEnd,
    ScatterRange,
    ScatterValue,
    SelectPointsEvent,
    ShowProjectionEvent,
    StopEvent,
)
from workbench.live.model import Refused
from workbench.live.validate import parse_event
from workbench.widgets import scatter_columns, scatter_methods
from workbench.widgets.scatter import ScatterModel
from workbench.widgets.scatter_bookmark_states import bookmarks_of, state_of
from workbench.widgets.scatter_methods import Setting
from workbench.widgets.scatter_sounds import Sounds

PLAIN: dict[str, Any] = {
    "projection": "PCA 3-D",
    "camera": [0.6, 0.3, 1, 0, 0, 0],
    "label": "label",
    "colour": "",
    "hidden": [{"column": "label", "values": ["a"]}],
    "ranges": [{"column": "size", "low": 1, "high": 2}],
    "isolated": None,
    "selected": [2],
    "metric": "cosine",
    "k": 12,
}


def soon(done: Callable[[], object]) -> None:
    """Wait until something holds that another thread sees to."""
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


def ask(method: str, dims: int = 2, *axes: ScatterAxis, **settings: str) -> ProjectEvent:
    values = [ScatterValue(name, value) for name, value in settings.items()]
    return ProjectEvent("project", method, dims, values, list(axes))


def toward(start: str | list[int], end: str | list[int]) -> ScatterAxis:
    ends = [ScatterEnd(one, []) if isinstance(one, str) else ScatterEnd("", one) for one in (start, end)]
    return ScatterAxis(*ends)


def test_columns_travel_as_what_they_are() -> None:
    made = embedding(
        labels=list("abababa"),
        names=[f"n{at}" for at in range(7)],
        metadata={"size": [1.5, 2, np.nan, 4, 5, 6, 7], "id": [16777217 + at for at in range(7)]},
    )
    drawn, buffers = state(ScatterModel(made))
    told = {one.name: one for one in drawn.columns}
    assert [told[name].kind for name in ("label", "name", "size", "id")] == [
        "category",
        "text",
        "number",
        "number",
    ]
    size, wide, name = (told[one].buffer for one in ("size", "id", "name"))
    assert size is not None and wide is not None and name is not None
    np.testing.assert_array_equal(np.frombuffer(buffers[size], "<f4"), [1.5, 2, np.nan, 4, 5, 6, 7])
    np.testing.assert_array_equal(np.frombuffer(buffers[wide], "<f8"), 16777217 + np.arange(7))
    ends = told["name"].ends_buffer
    assert ends is not None
    assert (buffers[name], np.frombuffer(buffers[ends], "<u4").tolist()) == (
        b"n0n1n2n3n4n5n6",
        list(range(2, 16, 2)),
    )


def test_columns_that_are_too_large_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scatter_columns, "MOST_BYTES", 60)
    made = embedding(metadata={"one": np.arange(7.0), "long": ["x" * (20 + at) for at in range(7)]})
    kinds = {one.name: one for one in state(ScatterModel(made))[0].columns}
    assert (kinds["one"].kind, kinds["long"].kind, kinds["long"].buffer) == ("number", "away", None)
    assert "more than the columns of one picture have room for" in kinds["long"].note


def test_a_method_is_asked_with_settings_and_gives_its_code() -> None:
    made = embedding(40, names=[f"n{at}" for at in range(40)])
    model = ScatterModel(made)
    model.handle(ask("pca", 2, sphereize="True", solver="exact", sample=""))
    drawn, _ = state(model)
    assert (drawn.dims, drawn.asked, drawn.head.code) == (
        2,
        "pca",
        "embedding.project('pca', dims=2, sphereize=True)",
    )
    settings = {one.name: one.value for one in drawn.methods[0].settings}
    assert (settings["sphereize"], settings["solver"]) == ("True", "exact")
    model.handle(ask("axes", 2, toward("n1", "n2, n3"), toward([4, 5], [6])))
    drawn, _ = state(model)
    assert (
        drawn.head.code == "embedding.project('axes', dims=2, axes=[(['n1'], ['n2', 'n3']), ([4, 5], [6])])"
    )
    assert drawn.projections == ["PCA 3-D", "PCA 2-D", "axes 2-D"]
    model.handle(ShowProjectionEvent("show_projection", "PCA 3-D"))
    assert state(model)[0].projection == "PCA 3-D"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ask("isomap"), "there is no method 'isomap' here; there are pca, tsne"),
        (ask("pca", 5), "a projection has 2 or 3 dims, not 5"),
        (ask("pca", 2, n_jobs="2"), "PCA has no setting 'n_jobs' here; it has solver, sphereize"),
        (ask("tsne", 2, perplexity="many"), r"perplexity \(perplexity\) is a number, not 'many'"),
        (ask("pca", 2, solver="fast"), r"solver \(solver\) is one of exact, randomized, not 'fast'"),
        (ask("pca", 2, sample="1e99"), r"sample \(sample\) is a whole number"),
        (ask("axes"), "an axis runs from one set of points to another"),
        (ask("axes", 2, toward("n1", "")), "an end of an axis is empty"),
        (ask("axes", 2, *[toward("n1", "queen")] * 2), "queen"),
        (ShowProjectionEvent("show_projection", "UMAP"), "there is no projection 'UMAP'; there are PCA 3-D"),
        (StopEvent("stop"), "nothing is being computed"),
        (ResumeEvent("resume"), "no projection was stopped"),
        (ComputeColumnEvent("compute_column", "price"), "there is no column 'price' to compute"),
        (ComputeColumnEvent("compute_column", "distance to the selection"), "select a point first"),
        (CompareWithEvent("compare_with", "int8"), "'int8' is nothing to compare with; there are none"),
        (RemoveBookmarkEvent("remove_bookmark", "mine"), "there is no bookmark 'mine'"),
    ],
)
def test_what_cannot_be_done_is_refused_with_words(event: object, words: str) -> None:
    made = embedding(12, names=[f"n{at}" for at in range(12)])
    model = ScatterModel(made)
    before, _ = state(model)
    with pytest.raises(Refused, match=words):
        model.handle(event)
    after, _ = state(model)
    assert (after.projection, after.columns, after.bookmarks) == (before.projection, before.columns, [])


def test_a_projection_runs_in_the_background_is_stopped_and_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Semaphore(0)

    def run(problem: Problem, report: Any) -> Outcome:
        places = np.zeros((len(problem.points), 2), np.float32)
        for step in range(1, 5):
            go.acquire(timeout=30)
            places[:, 0] = step
            report(places, step, 4)
        return Outcome(places, iterations=4)

    slow = Method("slow", run, lambda problem: None, lambda settings: 2, iterative=True)
    monkeypatch.setitem(METHODS, "slow", slow)
    monkeypatch.setitem(
        scatter_methods.SETTINGS, "slow", ("steps", (Setting("a", "a", "whole", "1", "steps"),))
    )
    monkeypatch.setattr("workbench.embedding.runs.PERIOD", 0.0)
    made = embedding(12)
    model = ScatterModel(made)
    model.handle(ask("slow"))
    assert (state(model)[0].work, state(model)[0].method) != (None, "slow")
    with pytest.raises(Refused, match="a projection is running"):
        model.handle(ask("pca"))
    go.release()
    soon(lambda: state(model)[0].method == "slow")
    drawn, _ = state(model)
    assert drawn.work is not None
    assert (drawn.work.done, drawn.work.total, drawn.facts, drawn.head.live) == (1, 4, "step 1 of 4", True)
    model.handle(StopEvent("stop"))
    go.release()
    soon(lambda: not made.running and state(model)[0].work is None)
    assert state(model)[0].resumes
    model.handle(ResumeEvent("resume"))
    go.release(2)
    assert made.wait(30)
    drawn, _ = state(model)
    assert (drawn.facts, drawn.work, drawn.resumes, drawn.asked) == ("4 steps", None, False, "slow")


def test_columns_are_computed_when_they_are_asked_for() -> None:
    made = embedding(60)
    model = ScatterModel(made)
    model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    soon(lambda: state(model)[0].work is None)
    drawn, buffers = state(model)
    told = next(one for one in drawn.columns if one.name == "trustworthiness")
    assert made.projection is not None and made.projection.quality is not None and told.buffer is not None
    np.testing.assert_allclose(
        np.frombuffer(buffers[told.buffer], "<f4" if len(buffers[told.buffer]) == 240 else "<f8"),
        made.projection.quality.trust_of_points,
        rtol=1e-6,
    )
    made.selected = [4]
    model.handle(ComputeColumnEvent("compute_column", "distance to the selection"))
    made.selected = [7]
    told = next(one for one in state(model)[0].columns if one.name == "distance to the selection")
    assert told.note == "cosine distance from point 7, before projection"
    made.project(dims=2)
    drawn, _ = state(model)
    kinds = {one.name: one.kind for one in drawn.columns}
    # What was said of another picture is not said of this one.
    assert drawn.quality is not None
    assert (drawn.quality.trustworthiness, kinds["trustworthiness"]) == (None, "offered")
    assert kinds["distance to the selection"] == "number"


def test_neighbourhoods_are_compared_with_those_of_another_embedding() -> None:
    made = embedding(50)
    other = Embedding(made.vectors[:, ::-1][:, :3])
    model = ScatterModel(made, beside={"half": other})
    made.project(dims=2)
    assert state(model)[0].others == ["half", "PCA 3-D"]
    model.handle(CompareWithEvent("compare_with", "half"))
    soon(lambda: state(model)[0].comparison is not None and state(model)[0].work is None)
    model.handle(SelectPointsEvent("select_points", [3]))
    compared = state(model)[0].comparison
    assert compared is not None
    near = set(made.neighbours(3, compared.k, "cosine").indices.tolist())
    then = set(other.neighbours(3, compared.k, "cosine").indices.tolist())
    assert (set(compared.lost), set(compared.gained)) == (near - then, then - near)
    assert "neighbours kept" in {one.name for one in state(model)[0].columns}
    model.handle(CompareWithEvent("compare_with", ""))
    assert state(model)[0].comparison is None
    with pytest.raises(ValueError, match="'half' has 49 points and this embedding 50"):
        ScatterModel(made, beside={"half": other.take(range(49))})


def test_bookmarks_are_kept_replaced_and_removed() -> None:
    model = ScatterModel(embedding())
    event = parse_event("scatter", {"type": "save_bookmark", "name": " mine ", "arrangement": PLAIN})
    assert isinstance(event, SaveBookmarkEvent)
    assert event.arrangement.ranges == [ScatterRange("size", 1.0, 2.0)]
    model.handle(event)
    model.handle(event)
    assert [one.name for one in state(model)[0].bookmarks] == ["mine"]
    model.handle(RemoveBookmarkEvent("remove_bookmark", "mine"))
    assert state(model)[0].bookmarks == []


def test_bookmarks_lie_with_the_embedding_and_are_what_tensorboard_reads(root: Path) -> None:
    made = embedding()
    one, other = ScatterModel(made), ScatterModel(made)
    event = parse_event("scatter", {"type": "save_bookmark", "name": "mine", "arrangement": PLAIN})
    one.handle(event)
    assert state(other)[0].bookmarks == state(one)[0].bookmarks != []
    assert made.bookmarks[0]["label"] == "mine"
    # What a log of TensorBoard's has of them; what is of no picture is left out.
    made.bookmarks = [
        {
            "label": "far",
            "selectedPoints": [1, 99, "x"],
            "selectedProjection": "tsne",
            "cameraDef": {"position": 3},
        },
        {
            "label": 7,
            "workbench": {"camera": ["a"], "k": 1e9, "ranges": [{"column": "size", "low": 2, "high": 1}]},
        },
    ]
    far, second = state(one)[0].bookmarks
    assert (far.name, far.arrangement.selected, far.arrangement.projection) == ("far", [1], "t-sne")
    assert (second.name, second.arrangement.camera, second.arrangement.k) == ("State 1", [], 12)
    assert (second.arrangement.ranges, far.arrangement.camera) == ([], [])

    # Numbers beyond all floats, and a camera that is infinitely far away.
    made.bookmarks = [
        {
            "workbench": {
                "camera": [0, 0, 0, 0, 0, 0],
                "ranges": [{"column": "size", "low": 0, "high": 10**400}],
            }
        },
        {"cameraDef": {"position": {"x": 10**400, "y": 0, "z": 1}}},
    ]
    assert [(one.arrangement.camera, one.arrangement.ranges) for one in state(one)[0].bookmarks] == [
        ([], [])
    ] * 2

    # The page writes and reads the same.
    examples = json.loads((root / "extensions/views/tests/bookmarks.json").read_text(encoding="utf-8"))
    kept = bookmarks_of(examples["states"], 4)
    assert [asdict(one) for one in kept] == examples["bookmarks"]
    again = [state_of(one, (4, 3), place == 0) for place, one in enumerate(kept)]
    for found, wanted in zip(again, examples["states"], strict=True):
        seen, camera = found.pop("cameraDef"), wanted.pop("cameraDef")
        assert found == wanted
        assert seen["position"] == pytest.approx(camera["position"])
    (seen,) = bookmarks_of([{**again[0], "cameraDef": {**seen, "orthographic": True}, "workbench": None}], 4)
    assert seen.arrangement.camera[5] == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"camera": [0, 0, 0, 0, 0, 0]}, "its zoom is above 0"),
        ({"camera": [1, 2]}, "a camera is six numbers, or none for the first look, not 2"),
        ({"k": 0}, "k is 1 to 999, not 0"),
        ({"selected": [7]}, "there is no point 7; the points are 0 to 6"),
        ({"isolated": [-1]}, "there is no point -1"),
        ({"ranges": [{"column": "a", "low": 2, "high": 1}]}, "ends before it begins"),
        (
            {"ranges": [{"column": "a", "low": 2}]},
            r"'save_bookmark'.arrangement.ranges\[0\] lacks the field 'high'",
        ),
        ({"hidden": [3]}, r"arrangement.hidden\[0\] is an object with fields, not 3"),
        ({"metric": "l1"}, "arrangement.metric is 'cosine' or 'euclidean', not 'l1'"),
        ({"more": 1}, "'save_bookmark'.arrangement has no field 'more'"),
    ],
)
def test_arrangements_that_cannot_be_are_refused(change: dict[str, Any], words: str) -> None:
    model = ScatterModel(embedding())
    data = {"type": "save_bookmark", "name": "mine", "arrangement": {**PLAIN, **change}}
    with pytest.raises(Refused, match=words):
        model.handle(parse_event("scatter", data))
    assert model.bookmarks == []


def test_a_page_is_written_beside_the_notebook_and_nothing_in_it_is_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = "</script><img src=x onerror=alert(1)>"
    made = Embedding(
        np.eye(5), labels=[hostile, "b", "b", "b", "b"], title="<b>", metadata={"w": [hostile * 3] * 5}
    )
    model = ScatterModel(made)
    event = parse_event("scatter", {"type": "publish", "arrangement": {**PLAIN, "selected": [1]}})
    assert isinstance(event, PublishEvent)
    model.handle(event)
    model.handle(event)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b-2.html", "b.html"]
    assert state(model)[0].published.endswith("b-2.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert made.publish(tmp_path / "mine.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "<img" not in text.split('<script type="module">')[0]
    assert "<title>&lt;b&gt;</title>" in text
    found = re.search(r'data-part="state">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    kept = json.loads(found.group(1))
    assert (kept["size"], kept["state"]["arrangement"]["selected"]) == (5, [1])
    assert kept["state"]["columns"][0]["values"] == [hostile, "b"]
    assert not re.search(r"https?://(?!www\.w3\.org)", text.split('<script type="module">')[0])


def test_a_point_is_heard() -> None:
    clips = [np.array([0.0, 1.0, -2.0, np.nan]), np.zeros((2, 2)), np.arange(4, dtype=np.int16)]
    made = Embedding(np.eye(3))
    model = ScatterModel(made, sounds=Sounds(clips, 8000, 3))
    assert state(model)[0].sounds
    model.handle(PlayEvent("play", 0))
    drawn, buffers = state(model)
    assert drawn.clip is not None
    with wave.open(io.BytesIO(buffers[drawn.clip.buffer])) as heard:
        assert (heard.getframerate(), heard.getnchannels(), heard.getsampwidth()) == (8000, 1, 2)
        assert np.frombuffer(heard.readframes(9), "<i2").tolist() == [0, 32767, -32767, 0]
    for point, words in ((1, r"a clip is \[samples\] of numbers, not \[2, 2\]"), (9, "there is no point 9")):
        with pytest.raises(Refused, match=words):
            model.handle(PlayEvent("play", point))
    with pytest.raises(Refused, match="these points have no sounds"):
        ScatterModel(made).handle(PlayEvent("play", 0))
    with pytest.raises(ValueError, match="3 sounds for 4 points"):
        Sounds(clips, 8000, 4)


def test_projections_whose_names_differ_in_numbers_are_frames() -> None:
    made = embedding(9)
    for epoch in (10, 2, 1):
        made.project("given", positions=np.full((9, 2), epoch), name=f"epoch {epoch}")
    model = ScatterModel(made)
    assert state(model)[0].frames == ["epoch 1", "epoch 2", "epoch 10"]
    made.project("pca", dims=3)
    assert state(model)[0].frames == []
