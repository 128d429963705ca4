"""Logs read back: whoever wrote them, all that is in them, and while they are written."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from tensorboardX import summary
from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c

import workbench as wb
from tests.tensorboard.event_files import only_what_follows_is_written, records
from workbench.tensorboard import SummaryWriter, checksum, layouts
from workbench.tensorboard.run import Run


@given(st.lists(st.integers(0, 3000), max_size=12), st.integers(0, 7))
@settings(deadline=None, max_examples=50)
def test_checksums_are_those_of_one_piece_after_the_other(sizes: list[int], start: int) -> None:
    data = np.random.default_rng(len(sizes)).integers(0, 256, 4000).astype(np.uint8)
    found = checksum.masked(data, np.full(len(sizes), start), np.asarray(sizes, np.int64))
    assert found.tolist() == [masked_crc32c(data[start : start + size].tobytes()) for size in sizes]


def offsets(data: bytes) -> list[int]:
    """Where the records of an event file begin."""
    found, at = [], 0
    while at < len(data):
        found.append(at)
        at += 16 + struct.unpack_from("<Q", data, at)[0]
    return found


SCALARS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "loss/train", "loss/tests", "é", "x" * 100]),
        st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300),
        st.floats(width=32),
        st.floats(0, 2e9),
    ),
    max_size=60,
)


@given(SCALARS, st.sampled_from(["simple", "float", "double"]))
@settings(deadline=None, max_examples=60)
def test_scalars_read_together_are_those_read_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, several: list[tuple[str, int, float, float]], kind: str
) -> None:
    folder = tmp_path_factory.mktemp("log")
    with SummaryWriter(folder) as writer:
        for tag, step, value, when in several:
            writer.add_scalar(tag, value, step, when, kind != "simple", kind == "double")
    together = wb.tensorboard.open(folder).runs["."].scalars
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layouts, "LONGEST", 0)
        alone = wb.tensorboard.open(folder).runs["."].scalars
    assert together.keys() == alone.keys() == {tag for tag, *_ in several}
    for tag, series in together.items():
        written = [(step, value, when) for name, step, value, when in several if name == tag]
        expected = [np.asarray(column) for column in zip(*written, strict=True)]
        for found, other, right in zip(
            (series.steps, series.values, series.times),
            (alone[tag].steps, alone[tag].values, alone[tag].times),
            expected,
            strict=True,
        ):
            np.testing.assert_array_equal(found, other)
            np.testing.assert_array_equal(found, right)


def test_everything_that_is_written_is_read_back(tmp_path: Path) -> None:
    wb.manual_seed(0)
    picture = wb.rand(C=3, H=5, W=7)
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_histogram("weights", wb.randn(1000), 3)
        writer.add_histogram_raw("own", -1, 2, 10, 5, 9, [0.0, 1.0, 2.0], [3, 0, 7], 4)
        writer.add_image("picture", picture, 2)
        writer.add_image("picture", 1 - picture, 4)
        writer.add_image_with_boxes("boxed", picture, wb.tensor([[1.0, 1.0, 4.0, 3.0]]), labels=["it"])
        figure = pyplot.figure(figsize=(2, 1), dpi=50)
        writer.add_figure("figure", figure, 1)
        writer.add_text("note", "**<b>bold</b>**", 5)
        writer.add_pr_curve("curve", wb.tensor([0, 1, 1, 0]), wb.tensor([0.1, 0.9, 0.6, 0.7]), 6)
        writer.add_hparams(
            {"rate": 0.1, "name": "a", "big": True, "n": wb.tensor(3)}, {"best": 0.9}, run_name="first"
        )
        writer.add_custom_scalars_multilinechart(["a", "b"], "mine", "both")
        writer.add_embedding(wb.eye(3), ["x", "y\t<b>", "z"], tag="points")
    log = wb.tensorboard.open(tmp_path)
    assert log.problems == [] and sorted(log.runs) == ["run", "run/first"]
    run = log.runs["run"]
    histogram = run.histograms["weights"].values[0]
    assert histogram.counts.sum() == 1000 and len(histogram.edges) == len(histogram.counts) + 1
    assert (np.diff(histogram.edges) >= 0).all()
    own = run.histograms["own"].values[0]
    assert own.edges.tolist() == [-1, 0, 1, 2] and own.counts.tolist() == [3, 0, 7]
    first, second = run.images["picture"]
    assert first.shape == (5, 7, 3) and run.images["picture"].steps == [2, 4]
    expected = (picture.align_to("H", "W", "C").numpy() * 255).astype(np.uint8)
    np.testing.assert_array_equal(first, expected)
    assert np.abs(second.astype(int) + first - 255).max() <= 1
    assert run.images["figure"][0].shape == (50, 100, 3) and run.images["boxed"].encoded(0)[1:4] == b"PNG"
    assert run.texts["note"].values == ["**<b>bold</b>**"]
    curve = run.pr_curves["curve"].values[0]
    assert curve.shape == (6, 127) and curve[4].max() <= 1
    assert log.hyperparameters() == [
        {"run": "run/first", "rate": 0.1, "name": "a", "big": True, "n": 3.0, "best": pytest.approx(0.9)}
    ]
    assert log.embeddings()["run/points"].labels == ("x", "y\t<b>", "z")
    assert run.left_out == {} and log.custom_scalars == {"mine": {"both": ["Multiline", ["a", "b"]]}}
    shown = log._repr_mimebundle_()["text/html"]
    assert "<b>bold" not in shown and ">run<" in shown


def test_a_log_of_another_program_is_read_while_it_is_written(tmp_path: Path) -> None:
    with tensorboardX.SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_scalar("loss", 0.5, 1)
    path = next((tmp_path / "a").glob("*tfevents*"))
    whole = path.read_bytes()
    last = offsets(whole)[-1]
    path.write_bytes(whole[:last])
    log = wb.tensorboard.open(tmp_path)
    assert log.scalars("lo", "^a$")["a", "loss"].values.tolist() == [1.0]
    assert log.scalars("^o") == {} and log.refresh() is False
    for there in (last + 5, last + 12, len(whole) - 3):
        path.write_bytes(whole[:there])
        assert log.refresh() is True
        assert len(log.scalars()["a", "loss"]) == 1
        assert re.search("bytes more and the file has|ends within the head of a record", log.problems[0])
    path.write_bytes(whole)
    assert log.refresh() is True
    assert log.problems == [] and log.scalars()["a", "loss"].values.tolist() == [1.0, 0.5]
    with SummaryWriter(tmp_path / "b") as other:
        other.add_scalar("loss", 3.0, 0)
    assert log.refresh() is True and list(log.runs) == ["a", "b"]


def test_what_a_killed_program_wrote_behind_its_restart_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.x"
    step = lambda n, value: Event(step=n, wall_time=float(n), summary=summary.scalar("loss", value))
    start = Event(step=3, session_log=SessionLog(status=SessionLog.START))
    records(path, [*(step(n, n) for n in range(6)), start, *(step(n, -n) for n in range(3, 8))])
    expected = [0, 1, 2, -3, -4, -5, -6, -7]
    assert wb.tensorboard.scalars(tmp_path)["loss"].values.tolist() == expected
    folder = tmp_path / "two"
    with SummaryWriter(folder) as first:
        for n in range(6):
            first.add_scalar("loss", n, n)
        first.add_histogram("h", wb.ones(3), 2)
        first.add_histogram("h", wb.ones(3), 4)
    with SummaryWriter(folder, purge_step=3) as second:
        for n in range(3, 8):
            second.add_scalar("loss", -n, n)
    run = wb.tensorboard.open(folder).runs["."]
    assert run.scalars["loss"].values.tolist() == expected and run.histograms["h"].steps == [2]


def test_tensors_that_say_what_they_are_for_once_are_read(tmp_path: Path) -> None:
    """As TensorFlow 2 writes: each value a tensor, of which only the first says what it is."""
    writer = EventsWriter(str(tmp_path / "events"))
    with SummaryWriter(tmp_path / "x") as own:
        own.add_scalar("loss", 0.25, 1, new_style=True)
        own.add_scalar("loss", 0.5, 2, double_precision=True)
    writer.close()
    series = wb.tensorboard.open(tmp_path / "x").runs["."].scalars["loss"]
    assert series.values.tolist() == [0.25, 0.5]
    event = Event(step=3)
    value = event.summary.value.add(tag="loss")
    value.metadata.plugin_data.plugin_name = "scalars"
    value.tensor.dtype = 1
    value.tensor.float_val.append(0.75)
    second = Event(step=4)
    second.summary.value.add(tag="loss").tensor.CopyFrom(value.tensor)
    histogram = Event(step=1)
    one = histogram.summary.value.add(tag="h")
    one.metadata.plugin_data.plugin_name = "histograms"
    one.tensor.dtype = 2
    one.tensor.tensor_content = np.array([[0, 1, 5], [1, 2, 7.0]]).tobytes()
    for size in (2, 3):
        one.tensor.tensor_shape.dim.add(size=size)
    records(tmp_path / "x" / "events.out.tfevents.2.y", [event, second, second, second, second, histogram])
    run = wb.tensorboard.open(tmp_path / "x").runs["."]
    assert run.scalars["loss"].values.tolist() == [0.25, 0.5, *[0.75] * 5]
    assert run.histograms["h"].values[0].edges.tolist() == [0, 1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=150)
def test_damage_anywhere_is_told_and_nothing_wrong_is_read(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    path = folder / "events.out.tfevents.1.x"
    events = [Event(step=n, wall_time=1.0, summary=summary.scalar("loss", float(n))) for n in range(20)]
    records(path, events)
    data = bytearray(path.read_bytes())
    beginnings = [place + 1 for place in offsets(data)]
    for place, byte in changes:
        data[place % len(data)] = byte
    path.write_bytes(data[: max(1, cut % (2 * len(data)))])
    run = wb.tensorboard.open(folder).runs["."]
    series = run.scalars.get("loss")
    if series is not None:
        assert set(series.steps.tolist()) <= set(range(20))
        assert series.steps.tolist() == series.values.astype(int).tolist()
    begun = sum(record <= path.stat().st_size for record in beginnings)
    if (0 if series is None else len(series)) < begun:
        assert run.problems


def test_a_file_that_became_shorter_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.x"
    step = lambda n: Event(step=n, wall_time=1.0, summary=summary.scalar("loss", n))
    records(path, [step(n) for n in range(9)])
    log = wb.tensorboard.open(tmp_path)
    records(path, [step(n) for n in range(100, 103)])
    assert log.refresh() is True
    assert log.scalars()[".", "loss"].steps.tolist() == [100, 101, 102]


def test_smoothing_goes_on_over_what_is_not_finite() -> None:
    series = wb.tensorboard.Series(np.arange(4), np.array([1.0, np.nan, 3.0, np.inf]), np.zeros(4))
    np.testing.assert_allclose(series.smoothed(0.5), [1.0, np.nan, (0.25 * 1 + 0.5 * 3) / 0.75, np.inf])
    np.testing.assert_array_equal(series.smoothed(0), series.values)
    with pytest.raises(ValueError, match=r"weight is 0 .* and less than 1, got 1"):
        series.smoothed(1)


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda w: w.add_pr_curve("c", [0, 1], [0.1]), ValueError, "2 labels for 1 predictions"),
        (
            lambda w: w.add_pr_curve("c", [0], [3.0]),
            ValueError,
            "predictions are probabilities between 0 and 1",
        ),
        (lambda w: w.add_hparams({"f": [1]}, {}), TypeError, "hyperparameter 'f' is a text, a number"),
        (lambda w: w.add_histogram_raw("h", 0, 1, 1, 1, 1, [1, 2], [1]), ValueError, "2 bucket_limits for 1"),
        (
            lambda w: w.add_custom_scalars({"a": {"b": ["Margin", ["x"]]}}),
            ValueError,
            "'Margin' three: value, lower",
        ),
        (
            lambda w: w.add_image_with_boxes("b", wb.zeros(C=3, H=2, W=2), wb.zeros(2)),
            ValueError,
            "boxes are rows of left, top, right, bottom",
        ),
        (
            lambda w: w.add_embedding(wb.eye(2), [["a"], ["b", "c"]], metadata_header=["x"]),
            wb.DimensionError,
            "metadata_header has 1 columns, row 1 of metadata has 2",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is(
    tmp_path: Path, write: Any, error: type[Exception], message: str
) -> None:
    log = only_what_follows_is_written(tmp_path, write, error, message)
    assert log.runs["."].left_out == {} and not log.runs["."].histograms


def test_wrong_patterns_and_wrong_tensors_are_told(tmp_path: Path) -> None:
    event = Event(step=3)
    value = event.summary.value.add(tag="h")
    value.metadata.plugin_data.plugin_name = "pr_curves"
    value.tensor.dtype = 1
    value.tensor.tensor_shape.dim.add(size=1 << 40)
    value.tensor.float_val.append(1.0)
    records(tmp_path / "events.out.tfevents.1.x", [event])
    log = wb.tensorboard.open(tmp_path)
    assert "'h' at step 3: one number stands for a tensor of shape [1099511627776]" in log.problems[0]
    with pytest.raises(ValueError, match=r"'\(' is no regular expression"):
        log.scalars("(")
    assert isinstance(log.runs["."], Run) and "1 problems" in repr(log)


def test_an_observer_is_written_with_its_range_and_scale(tmp_path: Path) -> None:
    observer = wb.quantization.HistogramObserver()
    observer(wb.randn(1000))
    with SummaryWriter(tmp_path) as writer:
        writer.add_observer("conv1/output", observer, 7)
    run = wb.tensorboard.open(tmp_path).runs["."]
    assert run.histograms["conv1/output"].values[0].counts.sum() == pytest.approx(1000)
    scale, _ = observer.calculate_qparams()
    assert run.scalars["conv1/output/scale"].values[0] == pytest.approx(scale.item())
    assert run.scalars["conv1/output/minimum"].values[0] == pytest.approx(observer.min_val.item())
