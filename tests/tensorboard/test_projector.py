"""TensorBoard's projector format: written, read back, and refused by the name of the file that is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from workbench import tensorboard
from workbench.embedding import Embedding
from workbench.tensorboard import projector, projector_vectors
from workbench.tensorboard.projector import DamagedProjectorError, read, write

TEXTS = [
    "<script>alert(1)</script>",
    "tab\there",
    "two\nlines",
    "back\\slash \\t",
    "",
    "  ",
    "ünï\u2028\x85",
    "\r",
]


def embedding(**more: Any) -> Embedding:
    return Embedding(np.random.default_rng(5).standard_normal((8, 3)).astype(np.float32), **more)


def test_everything_comes_back(tmp_path: Path) -> None:
    made = embedding(
        labels=TEXTS,
        metadata={"split\tname": ["train", "test"] * 4, "empty": [""] * 8},
        images=np.random.default_rng(2).integers(0, 256, (8, 5, 4), np.uint8),
        label_name="digit",
    )
    assert write(made, tmp_path, "features") == tmp_path / "projector_config.pbtxt"
    (found,) = read(tmp_path).values()
    np.testing.assert_array_equal(found.vectors, made.vectors)
    assert found.vectors.dtype == np.float32
    assert (found.labels, found.label_name, found.title) == (made.labels, "digit", "features")
    assert found.metadata == made.metadata
    np.testing.assert_array_equal(found.thumbnails, made.thumbnails)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=6), st.booleans())
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str], two: bool) -> None:
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]  # lone surrogates are no text
    folder = tmp_path_factory.mktemp("log")
    columns = {"more": texts[::-1]} if two else {}
    write(Embedding(np.eye(len(texts), 2), labels=texts, metadata=columns), folder)
    assert read(folder)["embedding"].labels == tuple(texts)


def test_what_tensorboard_finds(tmp_path: Path) -> None:
    """The layout that TensorBoard's own reader expects, spelt out."""
    made = Embedding([[1.0, 0.1], [-2.5, 3e-9]], labels=["a\tb", ""], images=np.zeros((2, 3, 2)))
    write(made, tmp_path, "e")
    assert (tmp_path / "e/tensors.tsv").read_bytes() == b"1.0\t0.1\n-2.5\t3e-09\n"
    assert (tmp_path / "e/metadata.tsv").read_bytes() == b"a\\tb\n\\e\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert " ".join(config.split()) == (
        'embeddings { tensor_name: "e" metadata_path: "e/metadata.tsv" tensor_shape: 2 tensor_shape: 2 '
        'sprite { image_path: "e/sprite.png" single_image_dim: 2 single_image_dim: 3 } '
        'tensor_path: "e/tensors.tsv" }'
    )
    with Image.open(tmp_path / "e/sprite.png") as sprite:
        assert (sprite.size, sprite.mode) == ((4, 3), "L")


def test_several_columns_have_a_line_of_names(tmp_path: Path) -> None:
    write(embedding(labels=range(8), metadata={"label": list("abcdefgh")}), tmp_path)
    lines = (tmp_path / "embedding/metadata.tsv").read_text().splitlines()
    assert lines[:2] == ["label_\tlabel", "0\ta"]


def test_embeddings_of_other_names_stay(tmp_path: Path) -> None:
    write(embedding(), tmp_path, "one")
    write(embedding(labels=TEXTS), tmp_path, "two")
    write(embedding().take([0, 1]), tmp_path, "one")
    found = read(tmp_path)
    assert {name: len(one) for name, one in found.items()} == {"one": 2, "two": 8}
    assert found["one"].labels is None


def test_pictures_in_colours_come_back(tmp_path: Path) -> None:
    made = embedding(images=np.random.default_rng(2).integers(0, 256, (8, 3, 5, 4), np.uint8))
    write(made, tmp_path, "features")
    (found,) = read(tmp_path).values()
    assert found.thumbnails is not None and found.thumbnails.shape == (8, 5, 4, 3)
    np.testing.assert_array_equal(found.thumbnails, made.thumbnails)
    np.testing.assert_array_equal(made.take([6, 1]).thumbnails, found.thumbnails[[6, 1]])


def test_a_log_of_tensorboardx_can_be_read(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    with tensorboardX.SummaryWriter(str(tmp_path)) as log:
        log.add_embedding(
            vectors, metadata=["w", "x", "y", "z"], label_img=np.ones((4, 3, 5, 5)), global_step=2
        )
    (found,) = read(tmp_path).values()
    np.testing.assert_array_equal(found.vectors, vectors)
    assert found.labels == ("w", "x", "y", "z")
    assert found.thumbnails is not None and found.thumbnails.shape == (4, 5, 5)


def test_raw_float32_is_read(tmp_path: Path) -> None:
    write(embedding(), tmp_path)
    config = tmp_path / "projector_config.pbtxt"
    config.write_text(config.read_text().replace("tensors.tsv", "tensors.bytes"))
    values = embedding().vectors
    (tmp_path / "embedding/tensors.bytes").write_bytes(values.tobytes())
    np.testing.assert_array_equal(read(tmp_path)["embedding"].vectors, values)
    (tmp_path / "embedding/tensors.bytes").write_bytes(values.tobytes()[:-1])
    with pytest.raises(
        DamagedProjectorError, match=r"tensors\.bytes has 95 bytes, which is not float32 \[8, 3\]"
    ):
        read(tmp_path)


def damage(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("projector_config.pbtxt", b"embeddings {", b"embeddings [", r"projector_config\.pbtxt is damaged at line \d"),
        ("projector_config.pbtxt", b"e/tensors", b"../tensors", "which lies outside the log's folder"),
        ("projector_config.pbtxt", b"e/tensors.tsv", b"/etc/passwd", "which lies outside the log's folder"),
        ("projector_config.pbtxt", b"e/tensors", b"e/gone", "names 'e/gone.tsv', and there is no such file"),
        ("projector_config.pbtxt", b"tensor_shape: 3", b"tensor_shape: 4", r"holds \[8, 3\] values, not \[8, 4\]"),
        ("projector_config.pbtxt", b"single_image_dim: 4", b"single_image_dim: 0", r"single_image_dim is \[0, 5\]"),
        (
            "projector_config.pbtxt",
            b"single_image_dim: 4",
            b"single_image_dim: 9",
            r"sprite\.png: an image of 16 by 10",
        ),
        ("e/tensors.tsv", b"\n", b"x\n", r"tensors\.tsv is damaged in vector 0: a value is no number"),
        ("e/tensors.tsv", b"\n", b"\t1\n", r"tensors\.tsv is damaged in vector 1: 3 values instead of 4"),
        ("e/metadata.tsv", b"test", b"te\tst", r"metadata\.tsv is damaged in row 1: 3 cells for 2 columns"),
        ("e/metadata.tsv", b"label\tsplit", b"split\tsplit", "names two columns alike: split, split"),
        ("e/metadata.tsv", b"test\n", b"test\n\xff\n", r"metadata\.tsv is no text: byte \d+ is not UTF-8"),
        ("e/metadata.tsv", b"test\n", b"test\nmore\tmore\n", r"metadata\.tsv holds 9 rows for 8 vectors"),
        ("e/sprite.png", b"PNG", b"GIF", r"sprite\.png is no picture that can be read"),
        ("e/sprite.png", b"IDAT", b"IDxT", r"sprite\.png is no picture that can be read"),
    ],
)  # fmt: skip
def test_damage_is_told_by_the_name_of_the_file(
    tmp_path: Path, file: str, old: bytes, new: bytes, words: str
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (8, 5, 4), np.uint8)
    write(
        embedding(labels=list("abcdefgh"), metadata={"split": ["train", "test"] * 4}, images=images),
        tmp_path,
        "e",
    )
    damage(tmp_path / file, old, new)
    with pytest.raises(DamagedProjectorError, match=words):
        read(tmp_path)


def test_files_cut_short(tmp_path: Path) -> None:
    write(embedding(images=np.zeros((8, 5, 4), np.uint8)), tmp_path, "e")
    sprite = tmp_path / "e/sprite.png"
    sprite.write_bytes(sprite.read_bytes()[:40])
    with pytest.raises(DamagedProjectorError, match=r"sprite\.png is no picture"):
        read(tmp_path)
    (tmp_path / "e/tensors.tsv").write_bytes(b"")
    with pytest.raises(DamagedProjectorError, match=r"tensors\.tsv holds no vectors"):
        read(tmp_path)


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(embedding(images=np.zeros((8, 5, 4), np.uint8)), tmp_path)
    monkeypatch.setattr(projector, "MOST_SIDE", 14)
    with pytest.raises(
        DamagedProjectorError, match=r"has 16 by 10 pixels, more than 14 on a side, .* write fewer"
    ):
        read(tmp_path)
    monkeypatch.setattr(projector_vectors, "MOST_BYTES", 10)
    with pytest.raises(
        DamagedProjectorError, match=r"tensors\.tsv has \d+ bytes, more than the 10 that are read"
    ):
        read(tmp_path)


def test_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no projector_config\.pbtxt in it"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no embeddings for the projector"):
        read(tmp_path / "nowhere")


def test_what_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    write(embedding(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("", "half \ud800"):
        with pytest.raises(ValueError, match="cannot name an embedding"):
            write(embedding(), tmp_path, name)
    with pytest.raises(TypeError, match=r"name is a text, got int; str\(\.\.\.\) makes one of it"):
        write(embedding(), tmp_path, 3)  # type: ignore[arg-type]
    for value in (np.nan, 1e300):
        with pytest.raises(ValueError, match=r"1 of 1 points hold NaN or infinite values \(as float32\)"):
            write(Embedding([[value, 1.0]]), tmp_path)
    with pytest.raises(NotADirectoryError, match=r"a log is written to a folder, and .*pbtxt is a file"):
        write(embedding(), tmp_path / "projector_config.pbtxt")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (tmp_path / "projector_config.pbtxt").write_text("} nonsense")
    with pytest.raises(DamagedProjectorError, match=r"projector_config\.pbtxt is damaged"):
        write(embedding(), tmp_path, "other")
    assert not (tmp_path / "other").exists()


def test_columns_of_numbers_are_numbers_again(tmp_path: Path) -> None:
    columns = {"size": [3, -1, 2], "share": [0.1, float("nan"), 1e-30], "code": ["007", "1", "2"]}
    made = Embedding(np.eye(3), ["1", "2", "3"], metadata=columns)
    write(made, tmp_path, "a")
    found = read(tmp_path)["a"].columns
    assert [found[name].kind for name in columns] == ["number", "number", "text"]
    np.testing.assert_array_equal(found["size"].values, columns["size"])
    np.testing.assert_array_equal(found["share"].values, columns["share"])
    damage(tmp_path / "a/metadata.tsv", b"\t0.1\t", b"\t\t")
    assert np.isnan(read(tmp_path)["a"].columns["share"].values[0])


def test_vectors_are_read_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    write(Embedding(points), tmp_path, "a")
    monkeypatch.setattr(projector_vectors, "READ", 100)
    np.testing.assert_array_equal(read(tmp_path)["a"].vectors, points)
    lines = (tmp_path / "a/tensors.tsv").read_bytes().splitlines(keepends=True)
    for wrong, words in (
        (b"1\t2\n", "vector 33: 2 values instead of 5"),
        (b"1\t2\tx\t4\t5\n", "vector 33: a value is no"),
    ):
        (tmp_path / "a/tensors.tsv").write_bytes(b"".join([*lines[:33], wrong, *lines[34:]]))
        with pytest.raises(DamagedProjectorError, match=words):
            read(tmp_path)


def test_a_log_gives_its_points_by_name(tmp_path: Path) -> None:
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 0)
    log = tensorboard.open(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no points for the projector"):
        log.projector()
    write(Embedding(np.eye(3)), tmp_path, "digits")
    assert log.projector().title == "digits"
    write(Embedding(np.eye(4)), tmp_path, "words")
    assert len(log.projector("words")) == 4
    with pytest.raises(ValueError, match="there are 'digits', 'words'; say which"):
        log.projector()
    with pytest.raises(KeyError, match="did you mean 'digits'"):
        log.projector("digts")


IN_CHECKPOINT = (
    'model_checkpoint_path: "model.ckpt-9"\nembeddings { tensor_name: "layer/w" metadata_path: "gone.tsv" }\n'
)


def test_points_of_a_checkpoint_are_left_out_with_a_word_and_the_others_read(tmp_path: Path) -> None:
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 0)
    write(Embedding(np.eye(3)), tmp_path / "run", "digits")
    config = tmp_path / "run/projector_config.pbtxt"
    log = tensorboard.open(tmp_path)
    assert (log.notes, log.refresh()) == ([], False)
    config.write_text(config.read_text() + IN_CHECKPOINT)
    # Whoever looks at the log is told without having read it anew.
    assert log.refresh() is True
    why = (
        "left out: 1 embedding of the projector, {!r} (a checkpoint has its vectors, and none is read; projector.write "
        "puts them into a log)"
    )
    assert log.notes == [why.format("run/layer/w")] and log.notes[0] in repr(log)
    assert list(log.embeddings()) == ["run/digits"] and len(log.projector()) == 3
    assert log.runs["."].scalars["loss"].values.tolist() == [1.0] and log.problems == []
    with pytest.raises(
        KeyError, match=r"no points 'run/layer/w' to be read; there are 'run/digits'; left out: 1"
    ):
        log.projector("run/layer/w")
    with pytest.warns(UserWarning, match=r"projector_config\.pbtxt: left out: 1 embedding .*'layer/w'"):
        assert list(read(tmp_path / "run")) == ["digits"]
    # It is written over by one of its name.
    write(Embedding(np.eye(4)), tmp_path / "run", "layer/w")
    assert log.refresh() is True and log.notes == [] and len(log.projector("run/layer/w")) == 4


def test_a_log_of_nothing_but_a_checkpoints_points_says_so(tmp_path: Path) -> None:
    (tmp_path / "projector_config.pbtxt").write_text(IN_CHECKPOINT + 'embeddings { tensor_name: "<b>" }')
    log = tensorboard.open(tmp_path)
    assert log.embeddings() == {} and len(log.notes) == 1
    assert log.notes[0].startswith(
        "left out: 2 embeddings of the projector, 'layer/w', '<b>' (a checkpoint has their"
    )
    with pytest.raises(FileNotFoundError, match=r"no points for the projector: left out: 2 embeddings"):
        log.projector()


def test_a_damaged_configuration_is_told_where_points_are_asked_for(tmp_path: Path) -> None:
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 0)
    (tmp_path / "projector_config.pbtxt").write_text("embeddings [")
    log = tensorboard.open(tmp_path)
    assert log.notes == [] and list(log.runs) == ["."]
    with pytest.raises(DamagedProjectorError, match=r"projector_config\.pbtxt is damaged at line"):
        log.embeddings()


def test_bookmarks_travel_with_a_log(tmp_path: Path) -> None:
    made = embedding()
    made.bookmarks = [{"label": "<b>near</b>", "selectedPoints": [2, 5]}, {"label": "far"}]
    config = write(made, tmp_path, "e")
    assert 'bookmarks_path: "e/bookmarks.json"' in config.read_text()
    assert read(tmp_path)["e"].bookmarks == made.bookmarks
    assert "bookmarks_path" not in write(embedding(), tmp_path, "e").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "bookmarks.json holds no bookmarks: this is no JSON"),
        ("[" * 100_000, "this is no JSON"),
        ('{"label": "a"}', "bookmarks are a list of states"),
        ("[1]", "bookmarks are a list of states"),
        ('[{"zoom": NaN}]', "holds what a JSON file cannot"),
        ("[" + "{}," * 200 + "{}]", "at most 200 bookmarks, and 201 were given"),
    ],
)
def test_bookmarks_that_are_none_are_told_by_their_file(tmp_path: Path, text: str, words: str) -> None:
    made = embedding()
    made.bookmarks = [{"label": "a"}]
    write(made, tmp_path, "e")
    (tmp_path / "e/bookmarks.json").write_text(text)
    with pytest.raises(DamagedProjectorError, match=words):
        read(tmp_path)
    with pytest.raises(TypeError, match=r"a bookmark is a state of TensorBoard's projector, .*; got int"):
        made.bookmarks = [1]  # type: ignore[list-item]
    assert made.bookmarks == ({"label": "a"},)
