"""A log as a view: what travels, what a person may ask, and what is read while another program writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.live.encode import encode_snapshot
from workbench.live.messages import (
    FilterTagsEvent,
    RunsLine,
    RunsState,
    ShowPageEvent,
    ShowRunsEvent,
    ShowStepEvent,
    StopEvent,
    TailEvent,
)
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.validate import parse_event
from workbench.tensorboard import Histogram, SummaryWriter
from workbench.widgets import runs_cards, runs_curves
from workbench.widgets.runs import MOST_CARDS, RunsModel


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    renderers.stop()
    for model in registry.models():
        registry.withdraw(model)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs with something of every kind."""
    root = tmp_path_factory.mktemp("log")
    generator = np.random.default_rng(0)
    for number in range(3):
        with SummaryWriter(root / f"run{number}") as writer:
            for step in range(40):
                writer.add_scalar("loss/train", (number + 1) / (step + 1), step, 1.7e9 + step)
            for step in (0, 10, 20):
                writer.add_histogram("weight", generator.standard_normal(200) * (step + 1), step)
                writer.add_image("sample", np.full((3, 4, 5), step / 20, np.float32), step)
                writer.add_text("note", f"<b>{step}</b>", step)
            writer.add_pr_curve("seven", generator.integers(0, 2, 50), generator.random(50), 7)
            writer.add_hparams(
                {"rate": 0.1 / (number + 1), "kind": "sgd", "big": number == 1},
                {"score": [0.5, np.nan, 0.7][number]},
                run_name="trial",
            )
    return root


@pytest.fixture
def model(folder: Path) -> RunsModel:
    return RunsModel(wb.tensorboard.open(folder))


def drawn(model: RunsModel) -> tuple[RunsState, list[bytes]]:
    """The state as it travels."""
    plain, buffers = encode_snapshot("runs", model.snapshot())
    json.dumps(plain, allow_nan=False)
    state = model.snapshot().state
    assert isinstance(state, RunsState)
    return state, buffers


def page(model: RunsModel, name: Any, first: int = 0) -> tuple[RunsState, list[bytes]]:
    model.handle(ShowPageEvent("show_page", name, first))
    return drawn(model)


def points(line: RunsLine, buffers: list[bytes]) -> Any:
    return np.frombuffer(buffers[line.points_buffer]).reshape(3, line.points)


def test_scalars_are_a_chart_a_tag_with_steps_values_and_times(model: RunsModel) -> None:
    state, buffers = drawn(model)
    names = [run.name for run in state.runs]
    assert names == ["run0", "run0/trial", "run1", "run1/trial", "run2", "run2/trial"]
    assert [(one.page, one.cards) for one in state.pages] == [
        ("scalars", 2), ("histograms", 3), ("images", 3), ("texts", 3), ("curves", 1), ("table", 3),
    ]  # fmt: skip
    assert [chart.tag for chart in state.charts] == ["score", "loss/train"]
    line = state.charts[1].lines[2]
    assert (names[line.run], line.of, line.step, line.missing) == ("run2", 40, 39, 0)
    steps, values, times = points(line, buffers)
    assert steps.tolist() == list(range(40)) and times.tolist() == (1.7e9 + steps).tolist()
    np.testing.assert_allclose(values, 3 / (steps + 1), rtol=1e-6)
    assert state.charts[0].lines[1].missing == 1, "a figure that is no number is counted"


def test_a_long_series_keeps_its_extremes_and_looking_again_costs_what_came_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_curves, "MOST", 32)
    values = np.sin(np.arange(5000.0))
    values[[1234, 4321]] = 50, -50
    with SummaryWriter(tmp_path) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("x", value, step)
        writer.flush()
        model = RunsModel(wb.tensorboard.open(tmp_path))
        [line], buffers = drawn(model)[0].charts[0].lines, drawn(model)[1]
        found = points(line, buffers)
        assert line.points <= 66 and line.stretches <= 32 and line.of == 5000
        assert dict(zip(found[0], found[1], strict=True)).items() >= {(1234.0, 50.0), (4321.0, -50.0)}
        followed = model._curves._followed[".", "x"]
        writer.add_scalar("x", 99, 5000)
        writer.flush()
        model.handle(TailEvent("tail"))
        state, buffers = drawn(model)
        assert points(state.charts[0].lines[0], buffers)[1].max() == 99
        assert model._curves._followed[".", "x"] is followed


def test_a_program_that_begins_again_and_steps_out_of_order_are_drawn_in_order(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in (0, 1, 2, 3, 4, 5):
            writer.add_scalar("x", step, step)
    now = [0.0]
    model = RunsModel(wb.tensorboard.open(tmp_path), clock=lambda: now[0])
    assert drawn(model)[0].charts[0].lines[0].of == 6
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        for step in (3, 4, 5, 6):
            writer.add_scalar("x", -step, step)
    model.handle(TailEvent("tail"))
    state, buffers = drawn(model)
    assert points(state.charts[0].lines[0], buffers)[1].tolist() == [0, 1, 2, -3, -4, -5, -6]
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 0.5, 1)
    now[0] = 1.0
    model.handle(TailEvent("tail"))
    state, buffers = drawn(model)
    assert points(state.charts[0].lines[0], buffers)[:2].tolist() == [
        [0, 1, 1, 2, 3, 4, 5, 6], [0, 1, 0.5, 2, -3, -4, -5, -6],
    ]  # fmt: skip


def test_thousands_of_tags_travel_a_page_at_a_time_within_bounds(tmp_path: Path) -> None:
    for run in range(30):
        with SummaryWriter(tmp_path / f"r{run}") as writer:
            for tag in range(200):
                writer.add_scalar(f"layer{tag}/loss", tag, 0)
            for step in range(300):
                writer.add_scalar("layer0/loss", step, step)
    model = RunsModel(wb.tensorboard.open(tmp_path))
    state, buffers = drawn(model)
    assert (len(state.charts), state.pages[0].cards, len(state.charts[0].lines)) == (MOST_CARDS, 200, 30)
    assert sum(line.points for chart in state.charts for line in chart.lines) <= runs_curves.MOST_POINTS
    assert sum(map(len, buffers)) < 3 << 20
    state, _ = page(model, "scalars", 195)
    assert (state.first, len(state.charts)) == (192, 8)
    state, _ = page(model, "scalars", 9_000)
    assert state.first == 192, "behind the end is the last page"
    model.handle(FilterTagsEvent("filter_tags", "LAYER19[0-4]/"))
    state, _ = drawn(model)
    assert [chart.tag for chart in state.charts] == [f"layer{i}/loss" for i in range(190, 195)]
    assert state.first == 0


def test_runs_that_are_put_away_do_not_travel_and_colours_stay(model: RunsModel) -> None:
    model.handle(ShowRunsEvent("show_runs", [0, 1, 3, 5]))
    state, _ = drawn(model)
    assert [run.shown for run in state.runs] == [False, False, True, False, True, False]
    assert [[line.run for line in chart.lines] for chart in state.charts] == [[2, 4]], (
        "numbers are those of the list"
    )
    assert [one.cards for one in state.pages] == [1, 2, 2, 2, 1, 3]
    with pytest.raises(Refused, match="there is no run of number 6; there are 6"):
        model.handle(ShowRunsEvent("show_runs", [6]))
    assert drawn(model)[0].runs == state.runs


def test_histograms_are_counted_anew_in_equal_bins_without_losing_any(model: RunsModel) -> None:
    state, buffers = page(model, "histograms")
    first = state.distributions[0]
    counts = np.frombuffer(buffers[first.counts_buffer], "<f4").reshape(len(first.steps), first.bins)
    assert first.steps == [0, 10, 20] and first.of == 3
    np.testing.assert_allclose(counts.sum(1), 200, rtol=1e-5)
    assert (counts[0] > 0).sum() < (counts[2] > 0).sum(), "it grew wider"


def test_bins_without_width_and_empty_histograms() -> None:
    borders = np.array([0.0, 1.0, 2.0, 3.0])
    point = Histogram(np.array([1.0, 1.0]), np.array([5.0]))
    assert runs_cards.recounted(point, borders).tolist() == [0, 5, 0]
    mixed = Histogram(np.array([0.0, 2.0, 2.0, 3.0]), np.array([4.0, 1.0, 3.0]))
    assert runs_cards.recounted(mixed, borders).tolist() == [2, 2, 4]
    nothing = Histogram(np.zeros(1), np.zeros(0))
    assert runs_cards.recounted(nothing, borders).tolist() == [0, 0, 0]


def test_pictures_texts_and_curves_are_those_of_a_step(
    model: RunsModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, buffers = page(model, "images")
    shot = state.pictures[0]
    assert (shot.step, shot.position, shot.of, shot.height, shot.width, shot.channels) == (20, 2, 3, 4, 5, 3)
    assert set(buffers[shot.pixels_buffer]) == {255} and state.last_step == 20
    model.handle(ShowStepEvent("show_step", 15))
    state, buffers = drawn(model)
    assert (state.step, state.pictures[0].step, buffers[0][0]) == (15, 10, 127)
    note = page(model, "texts")[0].texts[0]
    assert (note.step, note.text) == (10, "<b>10</b>")
    curves, buffers = page(model, "curves")
    recall, precision, _ = points(curves.charts[0].lines[0], buffers)
    assert (np.diff(recall) >= 0).all() and precision.min() >= 0 and curves.charts[0].lines[0].step == 7
    monkeypatch.setattr(runs_cards, "MOST_SIDE", 2)
    small = page(model, "images")[0].pictures[0]
    assert (small.height, small.width, small.full_height, small.full_width) == (2, 2, 4, 5)


def test_a_picture_that_cannot_be_read_says_why_and_the_others_are_drawn(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("a", np.zeros((1, 2, 2)))
        writer.add_image("b", np.zeros((1, 2, 2)))
    log = wb.tensorboard.open(tmp_path)
    place = log.runs["."].images["a"].places[0]
    data = bytearray(place.path.read_bytes())
    at = data.index(b"IHDR")
    data[at - 4 : at] = b"\xff\xff\xff\xff"
    place.path.write_bytes(bytes(data))
    state, _ = page(RunsModel(log), "images")
    assert state.pictures[0].trouble and state.pictures[0].height == 0
    assert (state.pictures[1].trouble, state.pictures[1].height) == ("", 2)


def test_the_table_joins_the_run_of_the_hyperparameters_to_that_of_the_curves(model: RunsModel) -> None:
    table = page(model, "table")[0].table
    assert table is not None
    assert [(one.name, one.kind, one.numbers) for one in table.columns] == [
        ("big", "setting", False), ("kind", "setting", False), ("rate", "setting", True),
        ("score", "metric", True), ("loss/train", "metric", True),
    ]  # fmt: skip
    assert [row.runs for row in table.rows] == [[1, 0], [3, 2], [5, 4]]
    assert table.rows[1].cells[:4] == ["true", "sgd", 0.05, "NaN"], "what is no number is not nothing"
    assert table.rows[2].cells[4] == pytest.approx(3 / 40)


def test_a_page_that_looks_hears_of_news_at_a_bounded_rate_and_nobody_else_reads(tmp_path: Path) -> None:
    now = [0.0]
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 1, 1)
        writer.flush()
        log = wb.tensorboard.open(tmp_path)
        model = RunsModel(log, clock=lambda: now[0])
        heard: list[object] = []
        model.listen(heard.append)
        reads: list[float] = []
        refresh = log.refresh

        def counted() -> bool:
            reads.append(now[0])
            now[0] += 0.1  # so long does it take
            return refresh()

        log.refresh = counted  # type: ignore[method-assign]
        drawn(model)
        assert reads == [], "a picture reads nothing"
        model.handle(TailEvent("tail"))
        assert (len(reads), heard) == (1, []), "there was nothing new"
        writer.add_scalar("x", 2, 2)
        writer.flush()
        for tick in range(40):
            now[0] = 0.2 + tick * 0.1
            model.handle(TailEvent("tail"))
        assert len(reads) == 2 and reads[1] >= 2.0, "it rests for twenty times as long as it took"
        assert len(heard) == 1 and drawn(model)[0].charts[0].lines[0].of == 2


def test_what_a_page_may_not_ask(model: RunsModel) -> None:
    before, _ = drawn(model)
    for event, words in (
        ({"type": "show_page", "page": "secrets", "first": 0}, "page"),
        ({"type": "show_page", "page": "scalars", "first": 1.5}, "first"),
        ({"type": "filter_tags", "pattern": "x" * 2_000}, "pattern"),
        ({"type": "show_runs", "hidden": [True]}, "hidden"),
        ({"type": "show_step"}, "step"),
    ):
        with pytest.raises(Refused, match=words):
            parse_event("runs", event)
    for event, words in (
        (FilterTagsEvent("filter_tags", "loss("), re.escape("'loss(' is no regular expression: missing )")),
        (FilterTagsEvent("filter_tags", "x" * 201), "a pattern has at most 200 characters, this has 201"),
        (ShowPageEvent("show_page", "scalars", -1), "the first card has number 0, not -1"),
        (StopEvent("stop"), "in a log one turns pages"),
    ):
        with pytest.raises(Refused, match=words):
            model.handle(event)
    assert drawn(model)[0].charts == before.charts
    with pytest.raises(ValueError, match="is no regular expression"):
        wb.widgets.runs(model.log, "(")


def test_a_damaged_log_says_so_and_draws_the_rest(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(9):
            writer.add_scalar("x", step, step)
    path = next(tmp_path.glob("*tfevents*"))
    path.write_bytes(path.read_bytes()[:-5])
    state, _ = drawn(RunsModel(wb.tensorboard.open(tmp_path)))
    assert state.charts[0].lines[0].of == 8
    assert len(state.problems) == 1 and "this record takes" in state.problems[0]


def test_what_no_view_draws_is_told_with_the_reason(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 1.0, 0)
        writer.add_mesh("m", wb.zeros(1, 3, 3), global_step=0)
    log = wb.tensorboard.open(tmp_path)
    state, _ = drawn(RunsModel(log))
    assert state.problems == ["left out: 1 mesh (no view draws them, TensorBoard does)"]
    path = next(tmp_path.glob("*tfevents*"))
    path.write_bytes(path.read_bytes() + b"\x01")
    log.refresh()
    damaged, left_out = drawn(RunsModel(log))[0].problems
    assert "ends within the head of a record" in damaged and left_out == state.problems[0]


def test_a_log_in_a_cell_is_this_view(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.widgets.base.bundle", lambda view: "export default {}")
    log = wb.tensorboard.open(folder)
    assert wb.widgets.runs(log).model is wb.widgets.runs(log).model, "one model for one log"
    assert wb.widgets.runs(folder).state["kind"] == "runs"
    shown = log._repr_mimebundle_()["text/html"]
    assert "run0" in shown and "loss/train" in shown and "<svg" in shown
    assert "6 runs" in repr(log)
    live = wb.live.show(log)
    assert live.view == "runs"
    with pytest.raises(FileNotFoundError, match="there is no log at"):
        wb.widgets.runs(folder / "nowhere")
