"""Projections by every method: settings and bad input, what is left out, frames, stopping and going on."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base import events
from workbench.embedding import Embedding, methods, runs, umap
from workbench.embedding.methods import Method, Outcome, Problem
from workbench.embedding.runs import Report
from workbench.embedding.setting_checks import Number, beginning, check_numbers
from workbench.widgets.scatter_words import facts_of

POINTS = np.random.default_rng(2).standard_normal((40, 6))
WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A method that iterates, by name ``steps``, and the iterations that it has done."""
    done: list[int] = []

    def run(problem: Problem, report: Report) -> Outcome:
        positions = np.zeros((len(problem.points), problem.dims))
        for iteration in range(20):
            done.append(iteration)
            report(positions, iteration, 20)
            if iteration == problem.settings.get("fails_at"):
                raise ValueError("no convergence")
            positions += 1
        return Outcome(positions, iterations=20)

    method = Method("steps", run, lambda problem: None, lambda settings: 2, iterative=True)
    monkeypatch.setitem(methods.METHODS, "steps", method)
    monkeypatch.setattr(runs, "PERIOD", 0.0)
    return done


def test_frames_are_published_where_the_cell_waits(steps: list[int]) -> None:
    made = Embedding(POINTS)
    seen: list[tuple[int, int, bool, str]] = []

    def look(source: object) -> None:
        projection = made.projection
        assert projection is not None
        seen.append(
            (projection.iteration, projection.of, projection.running, threading.current_thread().name)
        )

    stop = events.subscribe(Embedding, look)
    try:
        made.project("steps")
    finally:
        stop()
    assert seen[-1] == (20, 20, False, "MainThread")
    assert {one[3] for one in seen} == {"MainThread"} and len(seen) > 1
    assert [one[0] for one in seen] == sorted(one[0] for one in seen)
    assert made.projection is made.projections["steps 2-D"]
    assert made.projection.positions[0].tolist() == [20, 20]


def test_what_is_stopped_goes_on_where_it_was(steps: list[int]) -> None:
    made = Embedding(POINTS).project()

    def halt(embedding: Embedding) -> None:
        if embedding.projection is not None and embedding.projection.iteration == 5:
            embedding.stop()

    quit_ = made.listen(halt)
    made.project("steps", background=True)
    assert made.wait(10) and not made.running
    held = made.projection
    assert held is not None and not held.running and held.iteration in (5, 6)
    assert held.positions[0, 0] == held.iteration
    # It may be looked at while another picture is shown.
    made.show("PCA 3-D").resume()
    assert made.projection is made.projections["PCA 3-D"]
    assert made.projections["steps 2-D"].positions[0, 0] == 20
    assert steps == list(range(20))
    quit_()
    with pytest.raises(RuntimeError, match="no projection was stopped"):
        made.resume()


def test_an_interrupt_keeps_what_there_is(steps: list[int]) -> None:
    made = Embedding(POINTS)

    def interrupt(embedding: Embedding) -> None:
        if embedding.projection is not None and embedding.projection.iteration >= 3:
            raise KeyboardInterrupt

    quit_ = made.listen(interrupt)
    with pytest.raises(KeyboardInterrupt):
        made.project("steps")
    quit_()
    assert made.wait(10)
    assert made.projection is not None and made.projection.iteration >= 3
    if made.projection.iteration < 20:
        made.resume()
    assert made.projection.positions[0, 0] == 20 and steps == list(range(20))


@pytest.mark.parametrize("background", [False, True])
def test_a_method_that_fails_leaves_the_earlier_picture(steps: list[int], background: bool) -> None:
    made = Embedding(POINTS).project()
    before = made.projection
    if background:
        made.project("steps", fails_at=4, background=True)
        assert made.wait(10)
        assert made.failure == "steps: no convergence"
    else:
        with pytest.raises(ValueError, match="no convergence"):
            made.project("steps", fails_at=4)
    assert made.projection is before and list(made.projections) == ["PCA 3-D"]
    assert made.project("steps").failure == ""


def test_one_projection_runs_at_a_time_and_what_is_stopped_is_let_go(steps: list[int]) -> None:
    made = Embedding(POINTS)
    hold, gone = threading.Event(), threading.Event()

    def wait(embedding: Embedding) -> None:
        gone.set()
        hold.wait(10)

    quit_ = made.listen(wait)
    made.project("steps", background=True)
    assert gone.wait(10)
    with pytest.raises(RuntimeError, match="a projection is running"):
        made.project()
    quit_()
    made.stop()
    hold.set()
    assert made.wait(10)
    count = len(steps)
    made.project()
    assert made.projection is made.projections["PCA 3-D"] and len(steps) == count
    with pytest.raises(RuntimeError, match="no projection was stopped"):
        made.resume()


def test_points_that_cannot_be_placed_are_named_and_left_out_on_request() -> None:
    points = POINTS.copy()
    points[3, 1], points[7, 0] = np.nan, np.inf
    made = Embedding(points, names=WORDS)
    with pytest.raises(
        ValueError, match=r"PCA: 2 of 40 .* 1 with NaN, 1 with .*\(rows 3 'w3', 7 'w7'\).*missing='drop'"
    ):
        made.project()
    assert made.projection is None
    projection = made.project(missing="drop").projection
    assert projection is not None
    assert projection.missing.tolist() == [3, 7] and len(projection.rows) == 38
    assert (
        np.isnan(projection.positions[[3, 7]]).all()
        and np.isfinite(projection.positions[projection.rows]).all()
    )
    assert projection.settings == "embedding.project('pca', dims=3, missing='drop')"
    quality = projection.quality
    assert quality is not None and np.isnan(quality.trust_of_points[3]) and 0 < quality.trustworthiness <= 1
    other = Embedding(np.delete(points, [3, 7], axis=0)).project().projection
    assert other is not None
    np.testing.assert_array_equal(other.positions, projection.positions[projection.rows])


def test_a_sample_says_of_how_many() -> None:
    projection = Embedding(POINTS).project(sample=10).projection
    assert projection is not None
    assert projection.sampled == (10, 40) and len(projection.rows) == 10 and len(projection.missing) == 30
    assert Embedding(POINTS).project(sample=50).projection.sampled is None  # type: ignore[union-attr]


def test_axes_lead_from_points_to_points() -> None:
    made = Embedding(POINTS, names=WORDS)
    projection = made.project("axes", axes=[("w1", "w2"), (["w3", 4], POINTS[5])]).projection
    assert projection is not None
    positions = projection.positions
    length = np.linalg.norm(POINTS[2] - POINTS[1])
    np.testing.assert_allclose(positions[[1, 2], 0], [-length / 2, length / 2], atol=1e-6)
    start = POINTS[[3, 4]].mean(axis=0)
    direction = (POINTS[5] - start) / np.linalg.norm(POINTS[5] - start)
    np.testing.assert_allclose(positions[:, 1], (POINTS - (POINTS[5] + start) / 2) @ direction, atol=1e-6)
    assert projection.axes == ("w1 → w2", "w3, 4 → vector")
    shares = POINTS @ direction
    assert projection.explained[1] == pytest.approx(shares.var() / POINTS.var(axis=0).sum())
    named = made.project("axes", axes={"one": (0, 1), "two": (2, 3), "three": (4, 5)}).projection
    assert named is not None and named.axes == ("one", "two", "three") and named.positions.shape == (40, 3)


def test_points_are_made_a_sphere() -> None:
    projection = Embedding(POINTS + 5).project("axes", axes=[(0, 1), (2, 3)], sphereize=True).projection
    moved = POINTS - POINTS.mean(axis=0)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    expected = Embedding(moved).project("axes", axes=[(0, 1), (2, 3)]).projection
    assert projection is not None and expected is not None
    np.testing.assert_allclose(projection.positions, expected.positions, atol=1e-5)


def test_positions_that_are_given_are_shown_as_they_are() -> None:
    positions = POINTS[:, :2].astype(np.float32)
    made = Embedding(POINTS).project("given", positions=positions)
    assert made.projection is not None
    np.testing.assert_array_equal(made.projection.positions, positions)
    assert made.projection.settings == "embedding.project('given', dims=2, positions=positions)"
    assert made.projection.explained == () and made.projection.axes == ("x", "y")


def test_other_settings_make_another_projection_and_the_same_the_same() -> None:
    made = Embedding(POINTS).project().project(sphereize=True).project().project(name="mine", dims=2)
    assert list(made.projections) == ["PCA 3-D", "PCA 3-D (2)", "mine"]
    assert made.show("PCA 3-D (2)").projection is made.projections["PCA 3-D (2)"]
    with pytest.raises(KeyError, match="there is no projection 'x'; there are PCA 3-D, "):
        made.show("x")
    again: Any = eval(made.projections["PCA 3-D (2)"].settings, {"embedding": Embedding(POINTS)})
    np.testing.assert_array_equal(again.projection.positions, made.projection.positions)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("method", "settings", "error", "words"),
    [
        ("pca", {"missing": "skip"}, ValueError, "missing is 'refuse' or 'drop', not 'skip'"),
        ("pca", {"sample": 0}, ValueError, "sample is a whole number of points from 1, got 0"),
        ("pca", {"solver": "fast"}, ValueError, "solver is 'exact' or 'randomized', not 'fast'"),
        ("axes", {}, TypeError, "axes: say between what each axis leads"),
        ("axes", {"axes": [(0, 1), (2, 2)]}, ValueError, "'2 → 2' leads nowhere"),
        ("axes", {"axes": [(0, 1), ("kng", "king")]}, KeyError, "no point 'kng'; did you mean 'king'"),
        (
            "axes",
            {"axes": [(0, 1), (0, [1.0, 2.0])]},
            ValueError,
            "a vector of 2 numbers in a space of 6 features",
        ),
        ("axes", {"axes": [(0, 1), (0, 99)]}, IndexError, "there is no point 99; the points are 0 to 39"),
        ("axes", {"axes": [(0, 1)], "dims": 2}, ValueError, "2 dims take 2 axes, got 1"),
        ("given", {}, TypeError, "say where the points are"),
        ("given", {"positions": np.zeros((3, 2))}, ValueError, "given: 3 positions for 40 points"),
        ("given", {"positions": np.zeros((40, 4))}, ValueError, "2 or 3 dims, not 4"),
        (
            "given",
            {"positions": np.full((40, 2), np.nan)},
            ValueError,
            "given: 40 of 40 points cannot be placed",
        ),
    ],
)
def test_what_cannot_be_projected_is_told_and_changes_nothing(
    method: str, settings: dict[str, Any], error: type[Exception], words: str
) -> None:
    made = Embedding(POINTS, names=["king", *WORDS[1:]]).project()
    before, known = made.projection, dict(made.projections)
    with pytest.raises(error, match=words):
        made.project(method, **settings)
    assert made.projection is before and made.projections == known


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_positions_that_a_picture_cannot_hold_are_refused(factor: float) -> None:
    far = Embedding(POINTS * factor).project(sphereize=True)
    near = Embedding(POINTS).project(sphereize=True)
    assert far.projection is not None and near.projection is not None
    np.testing.assert_allclose(far.projection.positions, near.projection.positions, atol=1e-6)
    before = far.projection
    words = r"positions reach .*e.200, and a picture holds numbers up to 3.4e.38: divide by"
    if factor < 1:
        words = r"positions are at most .*e-200, and a picture holds numbers from 1.2e-38: divide by"
    for method, more in (
        ("pca", {}),
        ("axes", {"axes": [(0, 1), (2, 3)]}),
        ("given", {"positions": POINTS[:, :2] * factor}),
    ):
        with pytest.raises(ValueError, match=words):
            far.project(method, **more)
    assert far.projection is before and list(far.projections) == ["PCA 3-D"]
    assert far.show("PCA 3-D").projection is before


def test_fewer_points_than_axes_are_told() -> None:
    for points, words in (
        (POINTS[:2], "2 points have 1 direction"),
        (POINTS[:1], "1 point has no direction"),
        (POINTS[:, :2], "40 points have 2 directions"),
        (np.ones((5, 4)), "5 points have no direction"),
        (POINTS, ""),
    ):
        projection = Embedding(points).project().projection
        assert projection is not None
        assert facts_of(projection) == words


def begun(settings: dict[str, Any], points: np.ndarray = POINTS, **more: Any) -> Any:
    """Where points are to begin, of a method that does nothing else."""
    found: list[Any] = []

    def check(problem: Problem) -> None:
        found.append(beginning("M", "init", settings["init"], ("pca", "random"), problem))

    method = Method(
        "M", lambda problem, report: Outcome(np.zeros((len(problem.rows), 2))), check, lambda one: 2
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(methods.METHODS, "m", method)
        Embedding(points).project("m", **settings, **more)
    return found[0]


def test_points_begin_where_they_are_told_to() -> None:
    begin = POINTS[:, :2]
    assert begun({"init": "pca"}) == "pca"
    for given in (begin, wb.tensor(begin), begin.tolist(), begin.astype(np.float32)):
        np.testing.assert_allclose(begun({"init": given}), begin, atol=1e-7)
    holed = POINTS.copy()
    holed[3] = np.nan
    # Of all points, and of those in the picture.
    np.testing.assert_array_equal(begun({"init": begin}, holed, missing="drop"), np.delete(begin, 3, 0))
    np.testing.assert_array_equal(begun({"init": begin[1:]}, holed, missing="drop"), begin[1:])
    rows = Embedding(POINTS).project(sample=10).projection.rows  # type: ignore[union-attr]
    np.testing.assert_array_equal(begun({"init": begin}, sample=10), begin[rows])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (POINTS[:5, :2], ValueError, r"M: init is \[40, 2\], a place for each point; got \[5, 2\]"),
        (POINTS[:, :3], ValueError, r"got \[40, 3\]"),
        (POINTS[:, 0], ValueError, r"got \[40\]"),
        (np.full((40, 2), np.nan), ValueError, "init holds 40 places of NaN, infinite or too large values"),
        (np.full((40, 2), 1e60), ValueError, "too large"),
        (np.full((40, 2), "a"), TypeError, "init is of real numbers, got str"),
        (3, TypeError, "init is a word .pca, random., or numbers .N, 2. of an array, got int"),
        ("pcaa", ValueError, "not 'pcaa'; did you mean 'pca'?"),
    ],
)
def test_places_to_begin_at_are_checked(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        begun({"init": given})
    if isinstance(given, np.ndarray) and given.shape == (5, 2):
        with pytest.raises(ValueError, match=r"is .10, 2., a place for each point, or 40 of all points; got"):
            begun({"init": given}, sample=10)


@pytest.mark.parametrize(
    ("number", "right", "wrong"),
    [
        (Number(0, whole=True), [0, np.int64(3)], [-1, 2.5, "3", None, True, [2, 5], float("nan")]),
        (Number(0, 1, above=True), [0.5, 1, np.float32(1)], [0, 1.1, "auto"]),
        (Number(0, other=("auto", None)), [0, "auto", None], ["aut", -0.1, 1j]),
    ],
)
def test_numbers_of_settings(number: Number, right: list[Any], wrong: list[Any]) -> None:
    check_numbers("M", {"other": "x"}, {"n": number})
    for one in right:
        check_numbers("M", {"n": one}, {"n": number})
    for one in wrong:
        with pytest.raises(ValueError, match=r"M: n is a (whole )?number .*, got"):
            check_numbers("M", {"n": one}, {"n": number})


def test_each_phase_is_told_at_once_and_has_no_part_in_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def run(problem: Problem, report: Report) -> Outcome:
        positions = np.zeros((len(problem.points), 2))
        report(positions, 0, 9, "first", "nothing")
        report(positions, 0, 9, "first", "nothing")
        report(positions, 0, 9, "second")
        go.wait(30)
        report(positions, 3, 9)
        return Outcome(positions, iterations=9)

    monkeypatch.setitem(
        methods.METHODS, "phases", Method("phases", run, lambda _: None, lambda _: 2, iterative=True)
    )
    monkeypatch.setattr(runs, "PERIOD", 1000.0)
    made = Embedding(POINTS)
    seen: list[tuple[str, str, float]] = []
    made.listen(lambda one: seen.append((one.projection.phase, one.projection.stand_in, one.projection.rate)))
    made.project("phases", background=True)
    go.set()
    assert made.wait(30)
    assert seen == [("first", "nothing", 0.0), ("second", "", 0.0), ("", "", 0.0), ("", "", 0.0)]


def test_a_first_picture_is_made_of_any_points() -> None:
    for points in (np.zeros((9, 4)), np.arange(9.0)[:, None], POINTS * 1e200):
        problem = Problem(points, 2, {}, np.arange(len(points)), len(points), None, None)  # type: ignore[arg-type]
        first, stand_in = umap._first_picture(problem, "spectral")
        assert stand_in and first.shape == (len(points), 2) and first.min() == 0 and first.max() <= 10
