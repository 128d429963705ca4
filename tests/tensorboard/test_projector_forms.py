"""What the projector's files may look like: names, raw values, any tag, large sheets, files of TensorBoard's demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import workbench as wb
from workbench.embedding import Embedding
from workbench.tensorboard import SummaryWriter, projector_vectors
from workbench.tensorboard.projector import DamagedProjectorError, read, write
from workbench.tensorboard.projector_config import folder_of

VECTORS = np.random.default_rng(5).standard_normal((4, 3)).astype(np.float32)
TWICE = ["bank", "river", "bank", "tab\there"]


# --------------------------------------------------------------------------------------------------- names


def test_words_keep_their_names(tmp_path: Path) -> None:
    words = wb.embedding.word_vectors({"king": [1.0, 0.0], "queen": [0.9, 0.1], "": [0.0, 1.0]})
    config = write(words, tmp_path, "w")
    # One column has no line of names: TensorBoard shows it at the points.
    assert (tmp_path / "w/metadata.tsv").read_text() == "king\nqueen\n\\e\n"
    assert 'metadata_path: "w/metadata.tsv"' in config.read_text()
    found = read(tmp_path)["w"]
    assert (found.names, found.labels) == (("king", "queen", ""), None)
    assert found.index("queen") == 1


@pytest.mark.parametrize(
    ("more", "header"),
    [
        ({}, None),
        ({"labels": ["a", "b", "a", "7"]}, "name\tlabel"),
        ({"labels": list("abab"), "label_name": "name"}, "name_\tname"),
        ({"metadata": {"name": [1, 2, 3, 4], "share": [0.5, 1.0, 2.0, 3.0]}}, "name_\tname\tshare"),
        ({"labels": list("abab"), "metadata": {"size": [3, 1, 2, 2]}, "label_name": "kind"}, "name\tkind\tsize"),
    ],
)  # fmt: skip
def test_names_stand_first_and_come_back_beside_labels_and_columns(
    tmp_path: Path, more: dict[str, Any], header: str | None
) -> None:
    made = Embedding(VECTORS, names=TWICE, **more)
    write(made, tmp_path, "e")
    lines = (tmp_path / "e/metadata.tsv").read_text().splitlines()
    assert lines[0] == ("bank" if header is None else header) and len(lines) == 4 + (header is not None)
    found = read(tmp_path)["e"]
    assert (found.names, found.labels, found.metadata) == (made.names, made.labels, made.metadata)
    assert found.label_name == (made.label_name if made.labels else "label")
    assert [one.kind for one in found.columns.values()] == [one.kind for one in made.columns.values()]
    write(Embedding(VECTORS), tmp_path, "other")
    assert read(tmp_path)["e"].names == made.names, "another embedding leaves them as they are"
    write(Embedding(VECTORS, labels=TWICE), tmp_path, "e")
    assert read(tmp_path)["e"].labels == tuple(TWICE) and "# workbench" not in _config(tmp_path).read_text()


def test_columns_without_labels_and_names_stay_columns(tmp_path: Path) -> None:
    write(Embedding(VECTORS, metadata={"size": [3, 1, 2, 4], "n": [0.5] * 4}), tmp_path, "e")
    found = read(tmp_path)["e"]
    assert (found.labels, found.names, found.columns["size"].kind) == (None, ("0", "1", "2", "3"), "number")


def test_columns_without_a_name_are_called_by_their_place(tmp_path: Path) -> None:
    # As pandas writes a table with the numbers of its rows.
    write(Embedding(VECTORS, labels=TWICE, metadata={"size": [3, 1, 2, 4], "n": [0.5] * 4}), tmp_path, "e")
    table = tmp_path / "e/metadata.tsv"
    rows = table.read_text().partition("\n")[2]
    table.write_text(f"\tcolumn 3\t\n{rows}")
    found = read(tmp_path)["e"]
    assert (found.label_name, list(found.columns)) == ("column 1", ["column 3", "column 3_"])


def test_what_is_damaged_is_told_with_how_the_others_are_read(tmp_path: Path) -> None:
    for name in "abc":
        write(Embedding(VECTORS), tmp_path, name)
    (tmp_path / "b/tensors.tsv").write_text("x\n")
    log = wb.tensorboard.open(tmp_path)
    for look in (lambda: read(tmp_path), log.embeddings):
        with pytest.raises(wb.tensorboard.projector.DamagedProjectorError) as caught:
            look()
        (note,) = caught.value.__notes__
        assert note.startswith("'b' cannot be read;") and note.endswith("reads others alone: 'a', 'c'")
    assert len(log.projector("c")) == len(VECTORS)
    with pytest.raises(wb.tensorboard.projector.DamagedProjectorError) as caught:
        log.projector("b")
    assert not getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('{"embedding": "e", "first": ["labels", "names"]}', "a comment says nothing of an embedding's columns"),
        ('{"first": ["names"]}', "a comment says nothing of an embedding's columns"),
        ("[" * 100_000, "without it the first column has labels"),
        ('{"embedding": "e", "first": ["names", "labels"]}', "has 1 columns, and .* the first have names and labels"),
    ],
)  # fmt: skip
def test_a_comment_that_says_something_else_is_told(tmp_path: Path, said: str, words: str) -> None:
    config = write(Embedding(VECTORS, labels=TWICE), tmp_path, "e")
    config.write_text(f"# a note of somebody\n# workbench: {said}\n{config.read_text()}")
    with pytest.raises(DamagedProjectorError, match=words):
        read(tmp_path)


def _config(folder: Path) -> Path:
    return folder / "projector_config.pbtxt"


# --------------------------------------------------------------------------------------------- names of tags


@pytest.mark.parametrize(
    "tag", ["layer/1", "my words", "..", "../../up", "/etc/x", "C:\\x", "ünï\n", "é" * 300, ".a."]
)
def test_any_tag_is_written_below_the_log_and_read_as_it_is(tmp_path: Path, tag: str) -> None:
    log = tmp_path / "deep" / "log"
    with SummaryWriter(log) as writer:
        writer.add_embedding(VECTORS, TWICE, tag=tag)
        writer.add_embedding(VECTORS * 2, tag=tag, global_step=7)
    found = wb.tensorboard.open(log).embeddings()
    assert list(found) == [tag, f"{tag}-00007"] and found[tag].labels == tuple(TWICE)
    assert found[tag].title == tag
    np.testing.assert_array_equal(found[f"{tag}-00007"].vectors, VECTORS * 2)
    folders = [path for path in tmp_path.rglob("*") if path.is_dir() and path not in (log, log.parent)]
    assert len(folders) == 2 and {path.parent for path in folders} == {log}


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_folders_are_plain_and_another_for_each_name(one: str, two: str) -> None:
    names = {name.encode("utf-8", "ignore").decode() or "x" for name in (one, two)}
    folders = {folder_of(name) for name in names}
    assert len(folders) == len(names)
    assert all(0 < len(name) <= 100 and name.isascii() and name[0] not in ".-" for name in folders)
    assert not any(set(name) & set("/\\:*? \n\0") for name in folders)


def test_labels_beside_an_embedding_are_its_own(tmp_path: Path) -> None:
    plain = Embedding(VECTORS, names=TWICE, metadata={"size": [3, 1, 2, 4]})
    plain.bookmarks = [{"label": "a"}]
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(plain, list("abab"), np.zeros((4, 2, 3), np.uint8), tag="k")
        writer.add_embedding(plain, [["x", 1]] * 4, metadata_header=["kind", "n"], tag="h")
        writer.add_embedding(VECTORS, [["x", 1]] * 4, metadata_header=["", ""], tag="unnamed")
        both = Embedding(VECTORS, labels=TWICE, images=np.zeros((4, 2, 2)))
        writer.add_embedding(both, tag="as it is")
        for wrong, words in (
            ({"metadata": list("abab")}, "the embedding has labels, and others are given beside it"),
            ({"label_img": np.zeros((4, 2, 2))}, "the embedding has pictures"),
        ):
            with pytest.raises(ValueError, match=words):
                writer.add_embedding(both, tag="no", **wrong)
        with pytest.raises(ValueError, match="the embedding has a column 'size'"):
            writer.add_embedding(plain, [["x", 1]] * 4, metadata_header=["kind", "size"], tag="no")
        with pytest.raises(ValueError, match="metadata_header names a column twice: a, a"):
            writer.add_embedding(VECTORS, [["x", 1]] * 4, metadata_header=["a", "a"], tag="no")
    found = read(tmp_path)
    assert list(found) == ["k", "h", "unnamed", "as it is"]
    assert (found["unnamed"].label_name, list(found["unnamed"].columns)) == ("column 1", ["column 2"])
    assert (found["k"].labels, found["k"].names) == (tuple("abab"), tuple(TWICE))
    assert found["k"].thumbnails is not None and found["k"].thumbnails.shape == (4, 2, 3)
    assert found["k"].bookmarks == plain.bookmarks and found["k"].columns["size"].texts == tuple("3124")
    assert (found["h"].labels, found["h"].label_name, list(found["h"].columns)) == (
        ("x",) * 4,
        "kind",
        ["size", "n"],
    )
    assert found["as it is"].labels == tuple(TWICE)


# ----------------------------------------------------------------------------------------------- raw values


def test_raw_values_come_back_bit_by_bit_and_replace_text(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 1 << 31, (50, 7), np.int64).astype("<u4").view(np.float32)
    values = np.where(np.isfinite(values), values, np.float32(-0.0))
    write(Embedding(values), tmp_path, "e")
    config = write(Embedding(values, names=list(map(str, range(50, 100)))), tmp_path, "e", raw=True)
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == ["metadata.tsv", "tensors.bytes"]
    assert (tmp_path / "e/tensors.bytes").read_bytes() == values.astype("<f4").tobytes()
    assert "tensor_shape: 50" in config.read_text() and "tensor_shape: 7" in config.read_text()
    found = read(tmp_path)["e"]
    assert found.vectors.tobytes() == values.tobytes() and found.names[0] == "50"
    write(Embedding(values), tmp_path, "e")
    assert [path.name for path in (tmp_path / "e").glob("tensors.*")] == ["tensors.tsv"]


@pytest.mark.parametrize("name", ["tensors.bin", "values", "tensors.tsv", "x.f32"])
def test_any_file_of_the_size_that_the_shape_says_is_raw(tmp_path: Path, name: str) -> None:
    write(Embedding(VECTORS), tmp_path, "e", raw=True)
    config = _config(tmp_path)
    config.write_text(config.read_text().replace("tensors.bytes", name))
    (tmp_path / "e/tensors.bytes").rename(tmp_path / "e" / name)
    np.testing.assert_array_equal(read(tmp_path)["e"].vectors, VECTORS)
    whole = config.read_text()
    config.write_text(whole.replace("tensor_shape: 4", "tensor_shape: 5"))
    with pytest.raises(
        DamagedProjectorError, match=r"is no text, and has 48 bytes, which is not float32 \[5, 3\]"
    ):
        read(tmp_path)
    config.write_text(whole.replace("tensor_shape: 4", "").replace("tensor_shape: 3", ""))
    with pytest.raises(
        DamagedProjectorError, match="which is not float32 of a tensor_shape, since there is none"
    ):
        read(tmp_path)


def test_text_that_has_the_size_of_raw_values_is_text(tmp_path: Path) -> None:
    write(Embedding(np.eye(3)), tmp_path, "e")
    tensors = tmp_path / "e/tensors.tsv"
    assert tensors.stat().st_size == 4 * 3 * 3
    np.testing.assert_array_equal(read(tmp_path)["e"].vectors, np.eye(3))
    tensors.write_bytes(tensors.read_bytes().replace(b"1.0", b"1x0", 1))
    with pytest.raises(DamagedProjectorError, match="vector 0: a value is no number"):
        read(tmp_path)


def test_raw_values_that_tensorboard_takes_for_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"are UTF-8 byte for byte .*; write them without raw"):
        write(Embedding(np.full((4, 3), 2.0)), tmp_path, "e", raw=True)
    assert not _config(tmp_path).exists()
    monkeypatch.setattr(projector_vectors, "READ", 12)
    points = np.full((4, 3), 2.0)
    points[3] = 1.0  # 00 00 80 3f is no UTF-8, but behind what TensorBoard reads first
    with pytest.raises(ValueError, match="byte for byte"):
        write(Embedding(points), tmp_path, "e", raw=True)
    write(Embedding(points[::-1]), tmp_path, "e", raw=True)
    monkeypatch.setattr(projector_vectors, "READ", 10)
    with pytest.raises(ValueError, match="byte for byte"):
        write(Embedding([[2.0, 2.0, 1.0]]), tmp_path, "e", raw=True)


# -------------------------------------------------------------------------------------------------- sheets


def test_thumbnails_keep_their_size_as_long_as_tensorboard_takes_them(tmp_path: Path) -> None:
    images = np.zeros((2_100, 128, 128), np.uint8)  # more bytes than travel to a page, 5,888 pixels on a side
    images[:, 3, 5] = np.arange(2_100) % 251
    write(Embedding(np.zeros((2_100, 1)), images=images), tmp_path, "e")
    np.testing.assert_array_equal(read(tmp_path)["e"].thumbnails, images)


def test_thumbnails_that_become_smaller_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.embedding.thumbnails.MOST_SIDE", 64)
    made = Embedding(np.zeros((30, 1)), images=np.zeros((30, 16, 20), np.uint8))
    words = r"30 thumbnails of 20 by 16 pixels were written as 10 by 8: TensorBoard takes .* of 8,192 pixels on a side"
    with pytest.warns(UserWarning, match=words) as caught:
        write(made, tmp_path, "e")
    assert caught[0].filename == __file__


# --------------------------------------------------------------------------------- as TensorBoard's demo has


DEMO = """
# The files of the standalone projector, by relative paths.
model_checkpoint_path: ""
embeddings {
  tensor_name: "Word2Vec 10K"
  tensor_shape: 4
  tensor_shape: 3
  tensor_path: "oss_data/word2vec_10000_200d_tensors.bytes"
  metadata_path: "oss_data/word2vec_10000_200d_labels.tsv"
}
embeddings {
  tensor_name: 'Mnist with images'
  tensor_shape: [6, 2]
  tensor_path: "./oss_data/mnist_10k_784d_tensors.bytes"
  metadata_path: "oss_data/mnist_10k_784d_labels.tsv"
  sprite: { image_path: "oss_data/mnist_10k_sprite.png" single_image_dim: 28 single_image_dim: 20 }
}
embeddings {
  tensor_path: "oss_data/iris_tensors.tsv"
  metadata_path: "oss_data/iris_labels.tsv"
  bookmarks_path: "oss_data/iris_bookmarks.txt"
}
"""


def test_files_as_tensorboards_demo_has_them_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "oss_data"
    folder.mkdir()
    _config(tmp_path).write_text(DEMO)
    (folder / "word2vec_10000_200d_tensors.bytes").write_bytes(VECTORS.astype("<f4").tobytes())
    (folder / "word2vec_10000_200d_labels.tsv").write_text(
        "word\tcount\nthe\t1061396\nof\t593677\nand\t\na\t5\n"
    )
    digits = np.random.default_rng(1).integers(0, 256, (6, 20, 28), np.uint8)
    sheet = np.zeros((60, 84), np.uint8)
    for i, one in enumerate(digits):
        sheet[i // 3 * 20 : i // 3 * 20 + 20, i % 3 * 28 : i % 3 * 28 + 28] = one
    Image.fromarray(sheet).convert("RGBA").save(folder / "mnist_10k_sprite.png")
    (folder / "mnist_10k_784d_tensors.bytes").write_bytes(np.arange(12, dtype="<f4").tobytes())
    (folder / "mnist_10k_784d_labels.tsv").write_text("7\r\n2\r\n1\r\n0\r\n4\r\n1\r\n")
    (folder / "iris_tensors.tsv").write_text("5.1\t3.5\t1.4\n4.9\t3\t1e-1\n\n")
    (folder / "iris_labels.tsv").write_text("Species\tPetal length\nsetosa\t1.4\nvirginica\t.1\n")
    (folder / "iris_bookmarks.txt").write_text('[{"label": "Iris", "selectedProjection": "pca"}]')
    words, mnist, iris = (log := wb.tensorboard.open(tmp_path).embeddings()).values()
    assert list(log) == ["Word2Vec 10K", "Mnist with images", "oss_data/iris_tensors.tsv"]
    np.testing.assert_array_equal(words.vectors, VECTORS)
    assert (words.label_name, words.names) == ("word", ("the", "of", "and", "a"))
    np.testing.assert_array_equal(words.columns["count"].values, [1061396, 593677, np.nan, 5])
    assert mnist.labels == tuple("721041") and mnist.vectors.shape == (6, 2)
    np.testing.assert_array_equal(mnist.thumbnails, digits)
    np.testing.assert_allclose(iris.vectors, [[5.1, 3.5, 1.4], [4.9, 3, 0.1]], rtol=1e-6)
    assert (iris.labels, iris.label_name) == (("setosa", "virginica"), "Species")
    assert iris.bookmarks[0]["label"] == "Iris"
