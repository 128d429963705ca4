"""What a writer is told is kept as it is, or refused in words: tags, steps, numbers, pictures, charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

import workbench as wb
from tests.tensorboard.event_files import only_what_follows_is_written, records
from workbench.tensorboard import Run, SummaryWriter

TAGS = ("accuracy (%)", "accuracy_[%]", "/loss: train", "<b>\t\n🤖/ü", "")
"""None of them is what a node of TensorFlow may be called."""


def run_of(folder: Path) -> Run:
    return wb.tensorboard.open(folder).runs["."]


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_stays_as_it_is(tmp_path: Path, tag: str) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar(tag, 1.0, 0)
        writer.add_scalar(tag, 2.0, 1, new_style=True)
        writer.add_histogram(tag, [1.0, 2.0], 0)
        writer.add_histogram_raw(tag, 0, 1, 1, 1, 1, [1.0], [1], 1)
        writer.add_image(tag, np.zeros((3, 2, 2)), 0)
        writer.add_image_with_boxes(tag, np.zeros((3, 2, 2)), [[0, 0, 1, 1]], 1)
        writer.add_text(tag, "words", 0)
        writer.add_pr_curve(tag, [0, 1], [0.2, 0.9], 0)
        writer.add_tensor(tag, [1.0], 0)
    run = run_of(tmp_path)
    for found in (run.scalars, run.histograms, run.images, run.texts, run.pr_curves):
        assert list(found) == [tag]  # type: ignore[call-overload]
    assert run.scalars[tag].values.tolist() == [1.0, 2.0] and len(run.images[tag]) == 2


def test_the_table_of_hyperparameters_finds_metrics_of_any_name(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        told = {"rate (log)": 0.1, "momentum": None}
        writer.add_hparams(told, {"accuracy (%)": 93.0}, run_name="first")
    (row,) = wb.tensorboard.open(tmp_path).hyperparameters()
    assert row == {"run": "first", "rate (log)": 0.1, "accuracy (%)": 93.0}


@pytest.mark.parametrize("step", [3, np.int32(3), 3.0, np.float64(3), wb.tensor(3), wb.tensor(3.0), True + 2])
def test_a_step_is_a_whole_number_of_any_kind(tmp_path: Path, step: Any) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("s", 1.0, step)
        writer.add_embedding(np.eye(2), global_step=step)
    assert run_of(tmp_path).scalars["s"].steps.tolist() == [3]
    assert list(wb.tensorboard.projector.read(tmp_path)) == ["default-00003"]


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda w: w.add_scalar(5, 1.0), TypeError, r"a tag is a text, got int; str\(\.\.\.\) makes one"),
        (lambda w: w.add_mesh(5, np.zeros((1, 2, 3))), TypeError, "a tag is a text, got int"),
        (
            lambda w: w.add_scalars("\ud800", {"a": 1}),
            ValueError,
            "character 0 is half of one, which no file",
        ),
        (lambda w: w.add_scalar("s", 1.0, 3.7), TypeError, "global_step is a whole number, or None, got 3.7"),
        (lambda w: w.add_scalar("s", 1.0, "x"), TypeError, "global_step is a whole number, or None, got str"),
        (lambda w: w.add_scalar("s", 1.0, 1 << 63), ValueError, "is kept in eight bytes, and 92233720368547"),
        (lambda w: w.add_scalar("s", None), TypeError, "scalar 's' is of real numbers, got NoneType"),
        (lambda w: w.add_scalar("s", "1.5"), TypeError, "scalar 's' is of real numbers, got str"),
        (lambda w: w.add_scalar("s", 1j), TypeError, "scalar 's' is of real numbers, got complex128"),
        (
            lambda w: w.add_scalars("s", [1]),
            TypeError,
            "tag_scalar_dict is a dict of values by name, got list",
        ),
        (lambda w: w.add_histogram("h", ["a"]), TypeError, "histogram 'h' is of real numbers, got str"),
        (
            lambda w: w.add_histogram("h", [[1], [1, 2]]),
            TypeError,
            "histogram 'h' is of real numbers: .*shape",
        ),
        (
            lambda w: w.add_histogram("h", [5.0], bins=[0, 1]),
            ValueError,
            "none of 1 values lies between 0 and 1, the borders that bins= gives",
        ),
        (
            lambda w: w.add_image("i", np.zeros((2, 4, 4))),
            wb.DimensionError,
            "of 1, 3 or 4 channels; CHW are",
        ),
        (lambda w: w.add_image("i", np.zeros((3, 0, 4))), wb.DimensionError, "has a pixel or more"),
        (lambda w: w.add_images("i", np.zeros((0, 3, 4, 4))), wb.DimensionError, r"NCHW are \[0, 3, 4, 4\]"),
        (
            lambda w: w.add_image("i", np.zeros((3, 4, 4)), dataformats="XYZ"),
            wb.DimensionError,
            "dataformats are H and W, with C and N where there are, in their order, e.g. 'CHW', got 'XYZ'",
        ),
        (lambda w: w.add_image("i", np.zeros((3, 4, 4)) * 1j), TypeError, "picture 'i' is of real numbers"),
        (lambda w: w.add_figure("f", 3), TypeError, "figure 'f' is Matplotlib's, or a list of such, got int"),
        (lambda w: w.add_figure("f", []), TypeError, "figure 'f' is .*, got an empty list"),
        (
            lambda w: w.add_pr_curve("c", [0, 4], [0.1, 0.2]),
            ValueError,
            "labels are 0 and 1, got 4; of several",
        ),
        (
            lambda w: w.add_pr_curve("c", [0, 1], [0.1, 0.2], weights=[1, 2, 3]),
            ValueError,
            "3 weights for 2 predictions",
        ),
        (lambda w: w.add_hparams([1], {}), TypeError, "hparam_dict is a dict of values by name, got list"),
        (lambda w: w.add_hparams({1: 2}, {}), TypeError, "hparam_dict is .*, and 1 is no text"),
        (lambda w: w.add_hparams({"a": 1}, 3), TypeError, "metric_dict is a dict of values by name, got int"),
        (
            lambda w: w.add_hparams({"a": 1}, {"b": 1}, global_step=0.5),
            TypeError,
            "whole number, or None, got 0.5",
        ),
        (lambda w: w.add_custom_scalars({"a": ["b"]}), TypeError, "category 'a' is a dict of values by name"),
        (
            lambda w: w.add_custom_scalars({"a": {"b": ["Margin"]}}),
            TypeError,
            "chart 'b' is a list of its kind",
        ),
        (
            lambda w: w.add_custom_scalars({"a": {"b": ["Multiline", "loss"]}}),
            TypeError,
            "chart 'b': its tags are a list of texts, got 'loss'",
        ),
    ],
)
def test_what_is_no_such_thing_is_refused_and_nothing_is_written(
    tmp_path: Path, write: Any, error: type[Exception], message: str
) -> None:
    only_what_follows_is_written(tmp_path, write, error, message)


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (np.array([[0, 7], [255, 128]], np.int64), [[0, 7], [255, 128]]),
        (np.array([[-3, 7], [700, 128]], np.int16), [[0, 7], [255, 128]]),
        (np.array([[False, True]]), [[0, 255]]),
        (wb.tensor([[0.0, 1.0]], dtype=wb.bfloat16), [[0, 255]]),
    ],
)
def test_whole_numbers_are_bytes_and_truth_values_black_and_white(
    tmp_path: Path, given: Any, seen: list[list[int]]
) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("i", given, dataformats="HW")
    assert run_of(tmp_path).images["i"][0][:, :, 0].tolist() == seen


def test_a_histogram_counts_what_lies_beyond_its_usual_borders(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("far", [1e30, -1e300, 0.5, 0.5])
        writer.add_histogram("farther", [1e30, 1e308])
    run = run_of(tmp_path)
    (far,), (farther,) = run.histograms["far"].values, run.histograms["farther"].values
    assert far.counts.sum() == 4 and (far.edges[0], far.edges[-1]) == (-1e300, 1e30)
    assert farther.counts.sum() == 2


def test_each_of_several_pictures_that_were_written_at_once_is_read(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "one") as writer:
        for grey in (0, 1):
            writer.add_image("p", np.full((1, 2, 2), grey, float))
    pictures = wb.tensorboard.open(tmp_path / "one").runs["."].images["p"]
    event = Event(step=4, wall_time=1.0)
    value = event.summary.value.add(tag="p")
    value.metadata.plugin_data.plugin_name = "images"
    value.tensor.dtype = 7
    value.tensor.string_val.extend([b"2", b"2", pictures.encoded(0), pictures.encoded(1)])
    (tmp_path / "several").mkdir()
    records(tmp_path / "several" / "events.out.tfevents.1.x", [event])
    found = run_of(tmp_path / "several").images
    assert list(found) == ["p", "p (sample 2)"] and found["p (sample 2)"].steps == [4]
    assert [int(one[0].max()) for one in found.values()] == [0, 255]


def test_a_file_that_may_not_be_read_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("closed", "open"):
        with SummaryWriter(tmp_path / name) as writer:
            writer.add_scalar("loss", 1.0)
    usual = Path.open

    def refuse(path: Path, *args: Any, **more: Any) -> Any:
        if path.parent.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        log = wb.tensorboard.open(tmp_path)
        assert list(log.scalars()) == [("open", "loss")] and len(log.problems) == 1
        assert "tfevents" in log.problems[0] and log.problems[0].endswith("cannot be read: Permission denied")
    # Who may read it later does.
    assert log.refresh() and log.problems == [] and len(log.scalars()) == 2


def test_points_are_read_alone_whatever_else_is_damaged(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(np.eye(2), tag="good")
        writer.add_embedding(np.eye(3), tag="damaged")
    (tmp_path / "damaged" / "tensors.tsv").write_text("no number\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "projector_config.pbtxt").write_text("embeddings {{")
    log = wb.tensorboard.open(tmp_path)
    assert len(log.projector("good")) == 2
    with pytest.raises(ValueError, match=r"tensors\.tsv is damaged in vector 0"):
        log.projector("damaged")
    for ask in (log.projector, log.embeddings, lambda: log.projector("goof")):
        with pytest.raises(ValueError, match=r"projector_config\.pbtxt is damaged at line"):
            ask()


def test_a_configuration_of_no_points_says_so(tmp_path: Path) -> None:
    (tmp_path / "projector_config.pbtxt").write_text("")
    with pytest.raises(
        FileNotFoundError, match=r"no points for the projector: its projector_config\.pbtxt names none"
    ):
        wb.tensorboard.open(tmp_path).projector()
