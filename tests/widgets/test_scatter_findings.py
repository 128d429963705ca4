"""What the projector finds out: comparisons, how far a picture can be trusted; work that is stopped or gives way."""

from __future__ import annotations

import csv
import importlib
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.widgets.test_scatter import clean, state  # noqa: F401  a fixture
from tests.widgets.test_scatter_events import ask, soon
from workbench.embedding import Embedding
from workbench.embedding import judged as judged_room
from workbench.embedding.methods import METHODS, Method, Outcome, Problem
from workbench.live.messages import (
    CompareWithEvent,
    ComputeColumnEvent,
    JudgeEvent,
    ResumeEvent,
    ScatterState,
    ShowProjectionEvent,
    StopEvent,
    WriteTableEvent,
)
from workbench.live.model import Refused
from workbench.widgets import scatter_findings, scatter_judged, scatter_methods
from workbench.widgets.scatter import ScatterModel
from workbench.widgets.scatter_judged import judge
from workbench.widgets.scatter_tasks import Task

# The packages have functions of these names.
quality_room = importlib.import_module("workbench.embedding.quality")
scatter_room = importlib.import_module("workbench.widgets.scatter")

X = np.random.default_rng(0).standard_normal((60, 8))


def shown(model: ScatterModel) -> ScatterState:
    return state(model)[0]


def trusted(model: ScatterModel) -> float | None:
    """How far the picture that is drawn can be trusted, as far as that is known."""
    quality = shown(model).quality
    return None if quality is None else quality.trustworthiness


def columns(model: ScatterModel) -> dict[str, str]:
    return {one.name: one.kind for one in shown(model).columns}


def three() -> Embedding:
    """A, the same moved far away, and another picture, of which A is drawn."""
    made = Embedding(X)
    for name, positions in (("moved", X[:, :2] + 10), ("other", X[:, 4:6]), ("A", X[:, :2])):
        made.project("given", positions=positions, name=name)
    return made


def compared(model: ScatterModel, name: str) -> ScatterState:
    model.handle(CompareWithEvent("compare_with", name))
    soon(lambda: shown(model).work is None)
    return shown(model)


def test_pictures_are_compared_as_they_are_seen_wherever_they_lie() -> None:
    model = ScatterModel(three())
    drawn = compared(model, "moved")
    assert drawn.comparison is not None
    assert (drawn.comparison.name, drawn.comparison.kept) == ("moved", 1.0)
    told = next(one for one in drawn.columns if one.name == "neighbours kept")
    assert told.note.endswith("nearest that moved has, too, as the two pictures show them")
    other = compared(model, "other").comparison
    assert other is not None and 0 < other.kept < 0.9


def test_a_comparison_goes_with_either_of_its_pictures() -> None:
    made = three()
    model = ScatterModel(made)
    assert compared(model, "moved").comparison is not None
    made.show("other")
    assert (shown(model).comparison, "neighbours kept" in columns(model)) == (None, False)
    made.show("A")
    assert shown(model).comparison is None
    # Another picture under the name of that with which it was compared.
    assert compared(model, "moved").comparison is not None
    made.projections["moved"] = made.projections["other"]
    assert (shown(model).comparison, "neighbours kept" in columns(model)) == (None, False)


def test_a_comparison_of_spaces_is_of_no_picture_and_stays() -> None:
    made = Embedding(X).project(dims=2)
    model = ScatterModel(made, beside={"half": Embedding(X[:, :4])})
    before = compared(model, "half").comparison
    assert before is not None and before.kept < 1
    made.project(dims=3)
    assert (shown(model).comparison, "neighbours kept" in columns(model)) == (before, True)


def stopped_half_way(monkeypatch: pytest.MonkeyPatch) -> Embedding:
    """An embedding whose projection of a slow method was stopped."""
    go = threading.Event()

    def run(problem: Problem, report: Any) -> Outcome:
        places = np.zeros((len(problem.points), 2), np.float32)
        for step in range(1, 4):
            report(places, step, 4)
            go.wait(30)
        return Outcome(places, iterations=4)

    slow = Method("slow", run, lambda problem: None, lambda settings: 2, iterative=True)
    monkeypatch.setitem(METHODS, "slow", slow)
    monkeypatch.setattr("workbench.embedding.runs.PERIOD", 0.0)
    made = Embedding(X)
    made.project("slow", background=True)
    soon(lambda: "slow 2-D" in made.projections)
    made.stop()
    go.set()
    soon(lambda: not made.running and not made.projections["slow 2-D"].running)
    return made


def test_what_was_stopped_is_offered_to_go_on_only_as_long_as_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    made = stopped_half_way(monkeypatch)
    model = ScatterModel(made)
    assert (made.resumable, shown(model).resumes) == ("slow 2-D", True)
    made.projections["PCA"] = Embedding(X).project(dims=2).projection  # type: ignore[assignment]
    made.show("PCA")
    assert (made.resumable, shown(model).resumes) == ("slow 2-D", False)
    made.show("slow 2-D")
    assert shown(model).resumes
    made.project("pca")
    made.show("slow 2-D")
    assert (made.resumable, shown(model).resumes) == ("", False)
    with pytest.raises(Refused, match="no projection was stopped"):
        model.handle(ResumeEvent("resume"))


def test_a_picture_is_judged_where_a_page_shows_it_for_a_while() -> None:
    made = Embedding(X).project(dims=2)
    model = ScatterModel(made)
    assert (trusted(model), shown(model).judges) == (None, True)
    before = shown(model).quality
    assert before is not None
    model.handle(JudgeEvent("judge", "another"))
    model.handle(JudgeEvent("judge", "PCA 2-D"))
    assert shown(model).work is None  # nobody asked, nothing is in a person's way
    soon(lambda: trusted(model) is not None)
    drawn = shown(model)
    assert made.projection is not None and made.projection.quality is not None and drawn.quality is not None
    assert drawn.quality.trustworthiness == pytest.approx(made.projection.quality.trustworthiness)
    assert drawn.quality.continuity == pytest.approx(made.projection.quality.continuity)
    assert (drawn.quality.k, drawn.quality.judged, drawn.quality.points, drawn.judges) == (10, 60, 60, False)
    assert columns(model)["trustworthiness"] == "offered"
    # What is told later has its room from the beginning.
    assert (before.k, before.judged, before.points) == (10, 60, 60)
    made.project(dims=3)
    assert (trusted(model), shown(model).judges) == (None, True)


def test_of_many_points_some_are_judged_which_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged_room, "ALL", 50)
    monkeypatch.setattr(judged_room, "SAMPLE", 20)
    points = X.copy()
    points[[3, 11]] = np.nan
    made = Embedding(points).project(dims=2, missing="drop")
    model = ScatterModel(made)
    model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    soon(lambda: shown(model).work is None)
    drawn = shown(model)
    assert drawn.quality is not None and (drawn.quality.judged, drawn.quality.points) == (20, 58)
    told = next(one for one in drawn.columns if one.name == "trustworthiness")
    assert told.note.endswith("(k = 10; 20 of 58 points judged)")
    projection = made.projection
    assert projection is not None and projection.quality is not None
    found = judge(projection, lambda done, of: None)
    # Which of the points that are in the picture these are is said in one place, for both.
    expected = [place for place in range(60) if place not in (3, 11)]
    assert found.judged.tolist() == [expected[at] for at in judged_room.judged(58)]
    assert drawn.quality.k == judged_room.neighbours_judged(58) == 10
    for one, other in zip(found, projection.quality, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_very_large_picture_is_judged_when_it_is_asked_for_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for room in (scatter_findings, scatter_judged):
        monkeypatch.setattr(room, "MOST_UNASKED", 50)
    model = ScatterModel(Embedding(X).project(dims=2))
    assert (shown(model).judges, shown(model).facts[:36]) == (False, "not judged: of more than 50 points t")
    model.handle(JudgeEvent("judge", "PCA 2-D"))
    assert shown(model).quality is None
    model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    soon(lambda: trusted(model) is not None)
    assert shown(model).facts == ""


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, list[str]]:
    """Judging waits for the event; the list says how each of it has ended."""
    go, ended = threading.Event(), []

    def slowly(projection: Any, reached: Any) -> Any:
        reached(0, 2)
        assert go.wait(30)
        try:
            reached(1, 2)
        except Exception as end:
            ended.append(type(end).__name__)
            raise
        ended.append("done")
        return judge(projection, lambda done, of: None)

    monkeypatch.setattr(scatter_findings, "judge", slowly)
    return go, ended


@pytest.mark.parametrize("asked", [ask("slow"), CompareWithEvent("compare_with", "PCA 3-D")])
def test_what_was_not_asked_for_gives_way(
    asked: object, held: tuple[threading.Event, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    go, ended = held
    begun = threading.Event()

    def run(problem: Problem, report: Any) -> Outcome:
        begun.wait(30)
        return Outcome(np.zeros((len(problem.points), 2), np.float32))

    slow = Method("slow", run, lambda problem: None, lambda settings: 2, iterative=True)
    monkeypatch.setitem(METHODS, "slow", slow)
    monkeypatch.setitem(scatter_methods.SETTINGS, "slow", ("slow", ()))
    made = Embedding(X).project(dims=3).project(dims=2)
    model = ScatterModel(made)
    model.handle(JudgeEvent("judge", "PCA 2-D"))
    model.handle(asked)
    # Long before another picture is there to be drawn.
    go.set()
    soon(lambda: ended)
    assert (ended, trusted(model), shown(model).projection) == (["Unwanted"], None, "PCA 2-D")
    begun.set()
    assert made.wait(30)
    soon(lambda: shown(model).work is None)


def test_judging_ends_where_another_picture_is_drawn(held: tuple[threading.Event, list[str]]) -> None:
    go, ended = held
    made = Embedding(X).project(dims=2).project(dims=3)
    model = ScatterModel(made)
    model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    model.handle(ShowProjectionEvent("show_projection", "PCA 2-D"))
    go.set()
    soon(lambda: ended)
    soon(lambda: shown(model).work is None)
    assert (ended, trusted(model), columns(model)["trustworthiness"]) == (["Unwanted"], None, "offered")


def test_what_fails_without_having_been_asked_for_says_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(projection: object, reached: object) -> None:
        raise MemoryError("there is no room")

    monkeypatch.setattr(scatter_findings, "judge", fails)
    model = ScatterModel(Embedding(X).project(dims=2))
    model.handle(JudgeEvent("judge", "PCA 2-D"))
    soon(lambda: shown(model).refusal is not None)
    refusal = shown(model).refusal
    assert refusal is not None and refusal.reason == "trustworthiness: there is no room"


def test_work_says_how_far_it_is_and_is_stopped(held: tuple[threading.Event, list[str]]) -> None:
    go, ended = held
    model = ScatterModel(Embedding(X).project(dims=2))
    model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    soon(lambda: (work := shown(model).work) is not None and work.total == 2)
    work = shown(model).work
    assert work is not None and (work.what, work.done, work.stops) == ("trustworthiness", 0, True)
    with pytest.raises(
        Refused, match="trustworthiness is still being computed; wait until it is done, or stop it"
    ):
        model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    model.handle(StopEvent("stop"))
    assert shown(model).work is None
    go.set()
    soon(lambda: ended)
    assert (ended, trusted(model)) == (["Unwanted"], None)


def test_what_a_library_finds_after_it_was_stopped_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    go, threads = threading.Event(), []

    def clusters(embedding: Embedding, reached: object) -> object:
        threads.append(threading.current_thread())
        go.wait(30)
        return object()  # that no picture could be made of

    monkeypatch.setattr(scatter_findings, "clusters", clusters)
    model = ScatterModel(Embedding(X))
    model.handle(ComputeColumnEvent("compute_column", "cluster"))
    model.handle(StopEvent("stop"))
    # Nobody needs to wait for it.
    model.handle(ComputeColumnEvent("compute_column", "trustworthiness"))
    soon(lambda: shown(model).work is None)
    go.set()
    soon(lambda: threads)
    threads[0].join(30)
    assert (columns(model)["cluster"], columns(model)["trustworthiness"]) == ("offered", "number")


def ended_early(model: ScatterModel, event: object, what: str) -> None:
    """Ask for something, see how far it is, stop it, and find its thread gone before it has found anything."""
    name = f"projector {what}"
    model.handle(event)
    soon(lambda: (work := shown(model).work) is not None and work.done > 0)
    work = shown(model).work
    assert work is not None and work.what.startswith(what) and work.total == work.unit.count("points") * 60
    model.handle(StopEvent("stop"))
    assert shown(model).work is None
    soon(lambda: all(one.name != name for one in threading.enumerate()))
    assert shown(model).refusal is None


@pytest.fixture
def slow_steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every step of a task takes a while; the list says which phases there were."""
    phases: list[str] = []
    reached = Task.reached

    def slowly(self: Task, done: int, total: int | None, phase: str = "") -> None:
        phases.append(phase)
        reached(self, done, total, phase)
        time.sleep(0.02)

    monkeypatch.setattr(Task, "reached", slowly)
    return phases


def test_finding_clusters_says_how_far_it_is_and_ends_where_it_is_stopped(slow_steps: list[str]) -> None:
    pytest.importorskip("sklearn", reason="clusters are found by scikit-learn")
    model = ScatterModel(Embedding(X))
    ended_early(model, ComputeColumnEvent("compute_column", "cluster"), "clusters")
    assert columns(model)["cluster"] == "offered"
    # It was in the midst of the tree, whose last phase never came.
    assert list(dict.fromkeys(slow_steps)) == ["neighbours", "tree"] and slow_steps.count("tree") < 59


def test_comparing_says_how_far_it_is_and_ends_where_it_is_stopped(
    slow_steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality_room, "ROWS", 2)
    for name, made in (("moved", three()), ("half", Embedding(X).project(dims=2))):
        slow_steps.clear()
        model = ScatterModel(made, beside={"half": Embedding(X[:, :4])})
        ended_early(model, CompareWithEvent("compare_with", name), f"comparison with {name}")
        assert shown(model).comparison is None and len(slow_steps) < 30


def test_a_task_is_told_of_ten_times_a_second_and_in_every_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    task = Task("clusters", "points", lambda: told.append(task.message().what))
    for step in range(200):
        now[0] += 0.01
        task.reached(step, 200, "neighbours" if step < 100 else "tree")
    assert 18 <= len(told) <= 22 and told[0] == "clusters: neighbours" and told[-1] == "clusters: tree"
    # Each phase has a rate of its own.
    assert (task.message().done, task.message().seconds) == (199, pytest.approx(0.99))


def test_a_table_has_every_point_with_every_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    positions = (X[:, :3] * 1e-3).astype(np.float32)
    positions[4] = [np.float32(1) / 3, 2**-140, 16777217]
    made = Embedding(X, labels=['=a,"b"', "c\n"] * 30, metadata={"size": -np.arange(60) / 3}, title="points")
    made.project("given", positions=positions)
    model = ScatterModel(made)
    model.handle(WriteTableEvent("write_table"))
    assert shown(model).published == str(tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["index", "x", "y", "z", "label", "size"]
    np.testing.assert_array_equal(np.array([row[1:4] for row in rows], np.float32), positions)
    assert [int(row[0]) for row in rows] == list(range(60))
    # What a spreadsheet would take for a formula is a text, and a number below 0 a number.
    assert (rows[2][4], rows[3][4], rows[2][5]) == ('\'=a,"b"', "c\n", made.columns["size"].texts[2])


def test_a_table_that_cannot_be_written_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = ScatterModel(Embedding(X, title="points"))

    def full(path: Path, *rest: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scatter_room, "write_table", full)
    with pytest.raises(Refused, match=r"points\.csv cannot be written: No space left on device"):
        model.handle(WriteTableEvent("write_table"))
    assert shown(model).published == ""


def test_a_projection_says_which_phase_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def run(problem: Problem, report: Any) -> Outcome:
        places = np.zeros((len(problem.points), 2), np.float32)
        report(places, 0, 4, "finding neighbours", "principal components")
        go.wait(30)
        return Outcome(places, iterations=4)

    slow = Method("slow", run, lambda problem: None, lambda settings: 2, iterative=True)
    monkeypatch.setitem(METHODS, "slow", slow)
    model = ScatterModel(Embedding(X))
    model.embedding.project("slow", background=True)
    soon(lambda: shown(model).method == "slow")
    drawn = shown(model)
    assert drawn.work is not None
    assert (drawn.work.what, drawn.work.done, drawn.work.total) == ("slow: finding neighbours", 0, 4)
    assert drawn.facts == "finding neighbours · drawn until then: principal components"
    go.set()
    assert model.embedding.wait(30) and shown(model).facts == "4 steps"
