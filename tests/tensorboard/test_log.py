"""TensorBoard logs: what is written can be read back, and damage is told with what was saved from it."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

import workbench as wb
from workbench.tensorboard import DamagedLogWarning, Log, SummaryWriter, scalars
from workbench.tensorboard.records import blocks
from workbench.tensorboard.tensors import array_of


def events_of(folder: Path) -> list[Event]:
    path = next(folder.glob("*tfevents*"))
    found = []
    for block in blocks(path):
        for start, size in zip(block.starts.tolist(), block.sizes.tolist(), strict=True):
            event = Event()
            event.ParseFromString(block.data[start : start + size].tobytes())
            found.append(event)
    return found


def read(folder: Path) -> Log:
    return wb.tensorboard.open(folder)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with ten scalars."""
    with SummaryWriter(tmp_path) as writer:
        for step in range(10):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
    return tmp_path


def event_file(log: Path) -> Path:
    return next(log.glob("*tfevents*"))


def test_scalars_go_round(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", wb.tensor(0.5, requires_grad=True), 1)
        writer.add_scalar("loss", np.float32(0.25), 2)
        writer.add_scalars("part", {"a": 1, "b": 2}, 3)
    found = scalars(tmp_path)
    assert (found["loss"].steps.tolist(), found["loss"].values.tolist()) == ([1, 2], [0.5, 0.25])
    assert found["part_b/part"].values.tolist() == [2]
    assert found["loss"].times[0] <= found["loss"].times[1]


@pytest.mark.parametrize(
    "values", [np.eye(3, dtype=np.float32), np.arange(4), np.array(True), np.zeros((0, 2))]
)
def test_tensors_are_written_as_they_are(tmp_path: Path, values: np.ndarray) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", wb.tensor(values), 3)
        with pytest.raises(TypeError, match="tensor 'words' holds numbers or truth values, got str"):
            writer.add_tensor("words", np.array(["a"]))
    event = events_of(tmp_path)[1]
    found = array_of(event.summary.value[0].tensor)
    assert event.step == 3 and found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    assert read(tmp_path).runs["."].left_out == {"tensor": 1}


def test_histograms_count_what_is_finite(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", wb.tensor([[1.0, 2.0], [np.nan, 4.0]], names=("N", "C")), 7)
        with pytest.warns(UserWarning, match="histogram 'broken': none of 2 values is finite"):
            writer.add_histogram("broken", wb.tensor([np.inf, np.nan]), 7)
    assert {name: one.steps for name, one in read(tmp_path).runs["."].histograms.items()} == {"weights": [7]}
    histogram = events_of(tmp_path)[1].summary.value[0].histo
    assert (histogram.num, histogram.min, histogram.max, histogram.sum) == (3, 1, 4, 7)
    assert sum(histogram.bucket) == 3


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (("C", "H", "W"), (3, 4, 5)),
        (("H", "W", "C"), (4, 5, 3)),
        (("W", "C", "H"), (5, 3, 4)),
        (("H", "W"), (4, 5)),
        (("C", "H", "W"), (1, 4, 5)),
    ],
)
def test_named_pictures_are_written_in_any_order(
    tmp_path: Path, names: tuple[str, ...], sizes: tuple[int, ...]
) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("picture", wb.zeros(*sizes, names=names), 1)
    picture = events_of(tmp_path)[1].summary.value[0].image
    assert (picture.height, picture.width) == (4, 5)


def test_a_batch_of_pictures_is_tiled(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("pictures", wb.zeros(N=4, C=1, H=6, W=6), 1)
        writer.add_image("unnamed", wb.zeros(4, 5), 1, dataformats="HW")
    picture = events_of(tmp_path)[1].summary.value[0].image
    assert picture.height * picture.width == 4 * 36


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda w: w.add_scalar("loss", wb.ones(N=3), 1), "scalar 'loss' is one number, this has 3 values"),
        (
            lambda w: w.add_image("x", wb.zeros(N=2, T=3)),
            "a picture has dims H and W, with C and N where there are",
        ),
        (lambda w: w.add_image("x", wb.zeros(2, 3)), "dataformats 'CHW' are 3 dims, the picture has 2"),
    ],
)
def test_what_is_no_scalar_and_no_picture_is_refused(tmp_path: Path, write: object, message: str) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(wb.DimensionError) as caught:
        write(writer)  # type: ignore[operator]
    assert message in str(caught.value)


def test_pictures_out_of_range_are_cut_off(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("x", wb.tensor([[np.nan, np.inf], [-3.0, 0.5]], names=("H", "W")))
    encoded = events_of(tmp_path)[1].summary.value[0].image.encoded_image_string
    pixels = np.asarray(Image.open(io.BytesIO(encoded)).convert("L"))
    assert pixels.tolist() == [[0, 255], [0, 127]]


def test_what_is_flushed_can_be_read_at_once_and_writers_do_not_meet(tmp_path: Path) -> None:
    writers = [SummaryWriter(tmp_path) for _ in range(3)]
    for i, writer in enumerate(writers):
        for step in range(50):
            writer.add_scalar(f"run{i}", step, step)
        writer.flush()
    written = read(tmp_path)
    assert written.problems == []
    assert [len(written.runs["."].scalars[f"run{i}"].steps) for i in range(3)] == [50, 50, 50]
    for writer in writers:
        writer.close()
        writer.close()
    with pytest.raises(ValueError, match="is closed: make a new SummaryWriter"):
        writers[0].add_text("note", "late")


def test_a_file_is_no_folder_to_write_to(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(NotADirectoryError, match="a log is written to a folder"):
        SummaryWriter(path)


def test_no_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no log at"):
        scalars(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(FileNotFoundError, match="holds no TensorBoard log"):
        scalars(tmp_path)


def test_a_log_that_ends_early_gives_what_it_has(log: Path) -> None:
    path = event_file(log)
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    with pytest.warns(DamagedLogWarning) as caught:
        found = scalars(log)
    assert found["loss"].steps.tolist() == list(range(9))
    words = str(caught[0].message)
    assert str(path) in words
    assert "bytes more and the file has" in words
    assert f"of {len(content) - 5}" in words


def test_a_damaged_record_is_left_out_and_the_rest_is_read(log: Path) -> None:
    path = event_file(log)
    content = bytearray(path.read_bytes())
    offset, number = 0, 0
    while number < 4:  # the first record is the version, the fifth is step 3
        offset += 16 + struct.unpack_from("<Q", content, offset)[0]
        number += 1
    content[offset + 12 + 3] ^= 0xFF
    path.write_bytes(content)
    result = read(log)
    assert result.runs["."].scalars["loss"].steps.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert result.problems == [
        f"{path}, byte {offset} of {len(content)}: this record is damaged (checksum), it is left out"
    ]


def test_a_damaged_length_ends_the_file_and_takes_no_memory(log: Path) -> None:
    path = event_file(log)
    content = bytearray(path.read_bytes())
    end = len(content)
    path.write_bytes(content + b"\xff" * 40)
    assert read(log).problems == [
        f"{path}, byte {end} of {end + 40}: the length of this record is damaged, the rest of the file cannot be found"
    ]
    path.write_bytes(content + b"\x01\x02")
    assert "the file ends within the head of a record" in read(log).problems[0]
    header = struct.pack("<Q", 1 << 60)
    path.write_bytes(content + header + struct.pack("<I", masked_crc32c(header)) + b"\0" * 8)
    assert f"this record takes {(1 << 60) + 4} bytes more and the file has 8 left" in read(log).problems[0]
    assert len(read(log).runs["."].scalars["loss"].steps) == 10


def test_a_record_that_is_no_event_is_told(log: Path) -> None:
    path = event_file(log)
    junk = b"\xff\xff\xff\xff"
    header = struct.pack("<Q", len(junk))
    record = header + struct.pack("<I", masked_crc32c(header)) + junk
    path.write_bytes(path.read_bytes() + record + struct.pack("<I", masked_crc32c(junk)))
    assert "a record of 4 bytes is no TensorBoard event" in read(log).problems[0]


def test_one_damaged_file_does_not_hide_the_others(log: Path) -> None:
    (log / "run").mkdir()
    (log / "run" / "events.out.tfevents.1.x").write_bytes(b"<html>" * 20)
    result = read(log)
    assert len(result.runs["."].scalars["loss"].steps) == 10
    assert len(result.problems) == 1
    assert "tfevents.1.x, byte 0 of 120" in result.problems[0]
