"""What of a log is left out is told with the reason: damaged messages of plugins, and what no view draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tensorboardX import summary
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.layout_pb2 import Layout
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

import workbench as wb
from tests.tensorboard.event_files import records
from workbench.tensorboard import SummaryWriter
from workbench.tensorboard.tensors import array_of

GARBAGE = b"\xff\xfe no message \x01"


def told(plugin: str, tag: str = "t", content: bytes = b"", **tensor: Any) -> Any:
    """An event whose one value says that it is for a plugin."""
    event = Event(step=3, wall_time=1.0)
    value = event.summary.value.add(tag=tag)
    value.metadata.plugin_data.plugin_name = plugin
    value.metadata.plugin_data.content = content
    for size in tensor.pop("shape", ()):
        value.tensor.tensor_shape.dim.add(size=size)
    for name, content_of in tensor.items():
        if isinstance(content_of, list):
            getattr(value.tensor, name).extend(content_of)
        else:
            setattr(value.tensor, name, content_of)
    return event


def hparams(**of: Any) -> Any:
    _, start, _ = summary.hparams(of, {})
    return Event(summary=start)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (told("hparams", "_h", GARBAGE), "'_h' at step 3: what it says for 'hparams' is damaged, it is left out"),
        (told("mesh", "m_1", GARBAGE, dtype=1, float_val=[1.0]), "what it says for 'mesh' is damaged"),
        (told("custom_scalars", dtype=7, string_val=[GARBAGE]), "what it says for 'custom_scalars' is damaged"),
        (told("custom_scalars", dtype=7), "a layout of custom charts has no bytes"),
        (told("scalars", dtype=7, string_val=[b"0.5"]), "tensors of TensorFlow's type number 7 are in no summary"),
        (told("scalars", dtype=1, tensor_content=b"\0\0\0"), "3 bytes are no whole number of float32"),
        (told("scalars", dtype=1, float_val=[1.0, 2.0], shape=[2]), "cannot reshape array of size 2"),
        (told("scalars", dtype=4, int_val=[300]), "a tensor of uint8 holds 300"),
        (told("scalars", dtype=99, float_val=[1.0]), "type number 99 are in no summary"),
        (told("histograms", dtype=7, string_val=[b"x"]), "type number 7 are in no summary"),
        (told("histograms", dtype=1, float_val=[1.0, 2.0], shape=[2]), "rows of left, right and count, not shape [2]"),
        (told("pr_curves", dtype=7, string_val=[b"x"]), "type number 7 are in no summary"),
        (told("pr_curves", dtype=1, float_val=[1.0, 2.0], shape=[2]), "precision and recall has 6 rows"),
        (told("images", dtype=7, string_val=[b"1", b"1"]), "the picture has no bytes"),
        (told("text", dtype=1, float_val=[1.0]), "a text is a tensor of strings, not of TensorFlow's type number 1"),
    ],
)  # fmt: skip
def test_a_plugins_damaged_message_is_told_and_the_rest_is_read(
    tmp_path: Path, event: Any, words: str
) -> None:
    step = lambda n: Event(step=n, wall_time=1.0, summary=summary.scalar("loss", n))
    # In the same event, too, what is right is read.
    event.summary.value.extend(summary.scalar("beside", 2.0).value)
    records(tmp_path / "events.out.tfevents.1.x", [step(0), event, hparams(rate=0.5), step(1)])
    log = wb.tensorboard.open(tmp_path)
    run = log.runs["."]
    assert len(log.problems) == 1 and words in log.problems[0] and "tfevents.1.x" in log.problems[0]
    assert run.scalars["loss"].steps.tolist() == [0, 1] and run.scalars["beside"].values.tolist() == [2.0]
    assert run.hyperparameters == {"rate": 0.5}
    assert "1 problems" in repr(log) and log._repr_mimebundle_()["text/html"]


def test_hyperparameters_that_are_no_values_are_told_and_the_others_are_there(tmp_path: Path) -> None:
    event = hparams(rate=0.5, name="a")
    data = event.summary.value[0].metadata.plugin_data
    message = HParamsPluginData()
    message.ParseFromString(data.content)
    message.session_start_info.hparams["several"].list_value.values.add(number_value=1.0)
    message.session_start_info.hparams["nothing"].null_value = 0
    data.content = message.SerializeToString()
    records(tmp_path / "events.out.tfevents.1.x", [event])
    log = wb.tensorboard.open(tmp_path)
    assert log.hyperparameters() == [{"run": ".", "name": "a", "nothing": "", "rate": 0.5}]
    assert "hyperparameter 'several' is no text, number or truth value" in log.problems[0]


KINDS = [
    "hparams",
    "mesh",
    "custom_scalars",
    "scalars",
    "histograms",
    "pr_curves",
    "images",
    "text",
    "audio",
    "else",
]


@given(
    st.sampled_from(KINDS), st.binary(max_size=12), st.integers(0, 25), st.binary(max_size=24),
    st.lists(st.integers(-2, 4), max_size=3), st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4),
    st.lists(st.binary(max_size=6), max_size=4),
)  # fmt: skip
@settings(deadline=None, max_examples=150)
def test_no_message_ends_reading(
    tmp_path_factory: pytest.TempPathFactory, plugin: str, content: bytes, dtype: int, raw: bytes,
    shape: list[int], numbers: list[int], texts: list[bytes],
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("log")
    event = told(
        plugin, "t", content, dtype=dtype, tensor_content=raw, shape=shape, int_val=numbers, string_val=texts
    )
    records(folder / "events.out.tfevents.1.x", [event, Event(step=1, summary=summary.scalar("loss", 1.0))])
    log = wb.tensorboard.open(folder)
    assert log.runs["."].scalars["loss"].values.tolist() == [1.0]
    assert "loss" in log._repr_mimebundle_()["text/html"]


def test_small_numbers_are_read_as_they_are() -> None:
    event = told("scalars", dtype=6, int_val=[-128, 127], shape=[2])
    assert array_of(event.summary.value[0].tensor).tolist() == [-128, 127]


def test_a_picture_whose_file_changed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("p", wb.zeros(C=3, H=20, W=20), 4)
    pictures = wb.tensorboard.open(tmp_path).runs["."].images["p"]
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(
        ValueError, match=r"the picture at step 4 is too large to be unpacked .*encoded\(\) has"
    ):
        pictures[0]
    path = next(tmp_path.glob("*tfevents*"))
    size = path.stat().st_size
    for other in (b"\xff" * size, b"\0" * size, b""):
        path.write_bytes(other)
        with pytest.raises(OSError, match=r"is not what it was: no picture of step 4 .*; open the log anew"):
            pictures[0]


# --------------------------------------------------------------------------------------- what no view draws


def test_meshes_are_written_counted_and_told(tmp_path: Path) -> None:
    corners = wb.zeros(1, 4, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("one", corners, wb.zeros(1, 4, 3), wb.zeros(1, 2, 3), global_step=1)
        writer.add_mesh("two", corners, config_dict={"camera": 1}, global_step=1)
        writer.add_mesh("two", corners, global_step=2)
        for wrong, words in (
            ((wb.zeros(4, 3),), r"mesh 'w': vertices are \[N, vertices, 3\], one N for all, got \[4, 3\]"),
            ((corners, None, wb.zeros(2, 4, 3)), r"mesh 'w': faces are \[N, faces, 3\], .* got \[2, 4, 3\]"),
            ((wb.tensor(1.0),), r"vertices are .* got \[\]"),
        ):
            with pytest.raises(wb.DimensionError, match=words):
                writer.add_mesh("w", *wrong)
        writer.add_tensor("t", wb.ones(2))
    log = wb.tensorboard.open(tmp_path)
    assert log.problems == [] and log.runs["."].left_out == {"mesh": 3, "tensor": 1}
    expected = [
        "left out: 3 meshes (no view draws them, TensorBoard does)",
        "left out: 1 tensor (nothing says what they are for)",
    ]
    assert log.notes == log.runs["."].notes == expected
    assert expected[0] in repr(log) and expected[0] in log._repr_mimebundle_()["text/html"]


def test_what_runs_leave_out_is_counted_together(tmp_path: Path) -> None:
    for name, kind in (("a", "beholder"), ("b", "beholder"), ("b", "audio")):
        (tmp_path / name).mkdir(exist_ok=True)
        path = tmp_path / name / f"events.out.tfevents.1.{kind}"
        records(path, [told(kind, dtype=7, string_val=[b"x"])])
    assert wb.tensorboard.open(tmp_path).notes == [
        "left out: 2 of kind 'beholder' (no view knows of it)",
        "left out: 1 sound (no view plays them, TensorBoard does)",
    ]


def test_many_kinds_are_told_in_few_words(tmp_path: Path) -> None:
    events = [told(f"plugin {n} " + "x" * 500, f"t{n}", dtype=7, string_val=[b"x"]) for n in range(300)]
    records(tmp_path / "events.out.tfevents.1.x", events)
    log = wb.tensorboard.open(tmp_path)
    assert log.notes[-1] == "left out: summaries of 292 more kinds (no view knows of them)"
    assert len(log.notes) == 9 and len(repr(log)) < 2_000


def test_layouts_of_custom_charts_come_back(tmp_path: Path) -> None:
    layout = {
        "errors": {"both": ["Multiline", ["a", "b"]], "band": ["Margin", ["v", "l", "u"]]},
        "<b>": {"x": ["Multiline", []]},
    }
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_custom_scalars_multilinechart(["old"])
        writer.add_custom_scalars(layout)
        with pytest.raises(
            ValueError, match="'Margin' of 6 tags; 'Multiline' takes any number, 'Margin' three"
        ):
            writer.add_custom_scalars({"c": {"t": ["Margin", list("abcdef")]}})
    with SummaryWriter(tmp_path / "b") as writer:
        writer.add_custom_scalars({"errors": {"both": ["Multiline", ["c"]], "more": ["Multiline", ["d"]]}})
    log = wb.tensorboard.open(tmp_path)
    assert log.runs["a"].custom_scalars == layout
    merged = log.custom_scalars
    assert merged.pop("errors") == {**layout["errors"], "more": ["Multiline", ["d"]]}
    assert merged == {"<b>": {"x": ["Multiline", []]}}
    assert log.notes == ["left out: 4 custom charts (no view draws them, log.custom_scalars has them)"]
    with SummaryWriter(tmp_path / "again") as writer:
        writer.add_custom_scalars(log.custom_scalars)
    assert wb.tensorboard.open(tmp_path / "again").custom_scalars == log.custom_scalars


def test_a_band_of_several_series_gives_all_its_tags(tmp_path: Path) -> None:
    layout = Layout()
    chart = layout.category.add(title="c").chart.add(title="t")
    for letters in ("vlu", "wmx"):
        value, lower, upper = letters
        chart.margin.series.add(value=value, lower=lower, upper=upper)
    event = told("custom_scalars", dtype=7, string_val=[layout.SerializeToString()])
    records(tmp_path / "events.out.tfevents.1.x", [event])
    assert wb.tensorboard.open(tmp_path).custom_scalars == {"c": {"t": ["Margin", list("vluwmx")]}}


@pytest.mark.parametrize("value", [5, b"bytes", None, wb.tensor(1.0), ["a"]])
def test_a_text_is_a_text(tmp_path: Path, value: Any) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match=r"text 'note' is a str, got \w+; str\(\.\.\.\) makes one of it"):
            writer.add_text("note", value)
        writer.add_text("note", np.str_("right"))
    assert wb.tensorboard.open(tmp_path).runs["."].texts["note"].values == ["right"]


def test_a_folder_of_points_alone_is_a_log_without_runs(tmp_path: Path) -> None:
    wb.tensorboard.projector.write(
        wb.embedding.word_vectors({"a": [1.0, 2.0], "b": [3.0, 4.0]}), tmp_path / "x", "w"
    )
    log = wb.tensorboard.open(tmp_path)
    assert (log.runs, log.problems, log.scalars()) == ({}, [], {})
    assert log.projector().names == ("a", "b") and list(log.embeddings()) == ["x/w"]
    assert "0 runs" in repr(log) and "points for the projector in 1 folder" in repr(log)
    words = "there are no runs, only points for the projector: log.projector() draws them"
    assert log.notes == [words] and words in log._repr_mimebundle_()["text/html"]
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0)
    assert log.refresh() is True and log.notes == []
    (tmp_path / "none").mkdir()
    with pytest.raises(
        FileNotFoundError, match=r"no file in it is called \*tfevents\* or projector_config\.pbtxt"
    ):
        wb.tensorboard.open(tmp_path / "none")
