"""Pictures in folders, tables in text files, arrays in NumPy's files: what they give, and what they refuse."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from workbench import data


def picture(
    path: Path, mode: str = "RGB", size: tuple[int, int] = (5, 4), seed: int = 0
) -> np.ndarray[Any, Any]:
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    path.parent.mkdir(exist_ok=True, parents=True)
    Image.fromarray(pixels).save(path)
    return pixels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i, name in enumerate(["b/2.png", "b/1.PNG", "a/x/deep.png", "a/y.bmp"]):
        picture(tmp_path / name, seed=i)
    (tmp_path / "a" / "notes.txt").write_text("no picture")
    (tmp_path / "README").write_text("no class")
    return tmp_path


def test_pictures_and_their_classes(folder: Path) -> None:
    pictures = data.ImageFolder(folder, dtype="uint8", names=("C", "H", "W"))
    assert (pictures.classes, pictures.class_to_idx) == (["a", "b"], {"a": 0, "b": 1})
    assert [Path(path).name for path, _ in pictures.samples] == ["deep.png", "y.bmp", "1.PNG", "2.png"]
    assert pictures.targets == [0, 0, 1, 1] and pictures.imgs is pictures.samples
    image, target = pictures[0]
    assert (image.names, image.dtype, target) == (("C", "H", "W"), wb.uint8, 0)
    np.testing.assert_array_equal(
        image.numpy().transpose(1, 2, 0), np.asarray(Image.open(folder / "a/x/deep.png"))
    )
    changed = data.ImageFolder(folder, lambda x: x.mean(), lambda target: target + 10, mode="L")
    assert changed[3][1] == 11 and 0 < changed[3][0].item() < 1
    assert not data.ImageFolder(folder)[0][0].has_names()
    named = data.ImageFolder(folder, names=("C", "H", "W"))
    for workers in (0, 2):
        (x, y), *_ = data.DataLoader(named, 4, num_workers=workers, batch_dim="N")
        assert (x.names, x.shape, x.dtype) == (("N", "C", "H", "W"), (4, 3, 4, 5), wb.float32)
        assert (y.names, y.tolist()) == (("N",), [0, 0, 1, 1])
    own = data.ImageFolder(
        folder, loader=lambda path: Path(path).name, is_valid_file=lambda path: Path(path).name[0] in "1y"
    )
    assert list(own) == [("y.bmp", 0), ("1.PNG", 1)]


def test_channels(tmp_path: Path) -> None:
    grey = picture(tmp_path / "grey.png", "L")
    image = data.read_image(tmp_path / "grey.png", "L", "float64")
    np.testing.assert_allclose(image.numpy()[0], grey / 255, rtol=1e-7)
    assert data.read_image(tmp_path / "grey.png").shape == (3, 4, 5)
    assert data.read_image(tmp_path / "grey.png", "RGBA", "uint8").numpy()[3].min() == 255


def test_pictures_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    picture(tmp_path / "good.png", size=(64, 64))
    whole = (tmp_path / "good.png").read_bytes()
    for name, content in [
        ("cut.png", whole[: len(whole) // 2]),
        ("text.png", b"<svg/>"),
        ("empty.png", b""),
        ("swapped.png", whole[:60] + bytes(200) + whole[260:]),
        ("script.png", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(data.DataError, match=rf"{name} cannot be read as a picture"):
            data.read_image(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        data.read_image(tmp_path / "none.png")
    with pytest.raises(ValueError, match="mode is one of RGB, L, RGBA, got 'P'"):
        data.read_image(tmp_path / "good.png", "P")
    with pytest.raises(TypeError, match="not as int64"):
        data.read_image(tmp_path / "good.png", dtype="int64")
    (tmp_path / "one").mkdir()
    (tmp_path / "good.png").rename(tmp_path / "one/good.png")
    (tmp_path / "cut.png").rename(tmp_path / "one/cut.png")
    with pytest.raises(data.DataError, match=r"cut\.png cannot be read") as caught:
        list(data.DataLoader(data.ImageFolder(tmp_path), 2, num_workers=1))
    assert "while the data set made its sample 0" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("action", ["error", "ignore"])
def test_pictures_that_claim_too_much_are_not_unpacked(tmp_path: Path, action: Any) -> None:
    picture(tmp_path / "a.png", size=(30, 20))
    with pytest.raises(data.DataError, match=r"a\.png has 30 x 20 pixels, more than the 599"):
        data.read_image(tmp_path / "a.png", maximum_pixels=599)
    Image.new("1", (20_000, 10_000)).save(tmp_path / "bomb.png")
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        with pytest.raises(data.DataError, match=r"bomb\.png (is not read|has 20000 x 10000 pixels)"):
            data.read_image(tmp_path / "bomb.png")


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        data.ImageFolder(tmp_path)
    (tmp_path / "cats").mkdir()
    with pytest.raises(FileNotFoundError, match="Found no valid file for the class 'cats'"):
        data.ImageFolder(tmp_path)
    assert len(data.ImageFolder(tmp_path, allow_empty=True)) == 0


# ------------------------------------------------------------------------------------------------ tables

TABLE = (
    'name,age,height,member\r\n"Ann, Lee", 31 ,1.5,yes\r\nBö,-4,2.5e-1,0\r\n\r\n"two\nlines",7,nan,TRUE\r\n'
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_bytes(b"\xef\xbb\xbf" + TABLE.encode())
    return path


def test_a_table(table: Path) -> None:
    people = data.CSVDataset(table, {"height": "float32", "age": "int8", "name": str, "member": "bool"})
    assert len(people) == 3
    assert people[0] == {"height": 1.5, "age": 31, "name": "Ann, Lee", "member": True}
    assert people[1]["name"] == "Bö" and people[2]["name"] == "two\nlines"
    assert (people.column("age").dtype, people.column("age").names) == (wb.int8, (None,))
    assert people.column("age", names=("N",)).names == ("N",)
    assert people.tensor("age", "age", names=("N", "C")).names == ("N", "C")
    assert people.column("name") == ["Ann, Lee", "Bö", "two\nlines"]
    assert people.tensor("age", "age").tolist() == [[31, 31], [-4, -4], [7, 7]]
    for workers in (0, 1):
        order = [2, 0]
        (batch,) = data.DataLoader(people, 2, sampler=order, num_workers=workers, batch_dim="N")
        assert (batch["age"].tolist(), batch["age"].names, batch["age"].dtype) == ([7, 31], ("N",), wb.int8)
        assert batch["name"] == ["two\nlines", "Ann, Lee"]
    assert [one["age"].tolist() for one in data.DataLoader(people, 2)] == [[31, -4], [7]]


@pytest.mark.parametrize(
    ("old", "new", "columns", "words"),
    [
        ("31", "3x", {"age": "int64"}, r"line 2, column 'age': ' 3x ' is no int64"),
        ("31", "1_0", {"age": "int64"}, r"' 1_0 ' is no int64"),
        ("-4", "-129", {"age": "int8"}, r"line 3, column 'age': '-129' is no int8"),
        ("-4", "-1", {"age": "uint8"}, r"'-1' is no uint8"),
        ("-4", "1.0", {"age": "int64"}, r"'1.0' is no int64"),
        ("2.5e-1", "1e40", {"height": "float32"}, r"line 3, column 'height': '1e40' is no float32"),
        (
            "2.5e-1",
            "",
            {"height": "float32"},
            r"line 3, column 'height': an empty cell, for which missing= says",
        ),
        ("yes", "maybe", {"member": "bool"}, r"'maybe' is no bool"),
        (",TRUE", "", {"member": "bool"}, r"line 6: the row has 3 cells, and there are 4 columns"),
        ("", "", {"size": "int64"}, r"has 0 columns 'size'; its columns are: name, age, height, member"),
        ("member", "age", {"age": "int64"}, r"has 2 columns 'age'"),
        ('"two', '"two""', {"age": "int64"}, ""),
        ("Bö", "B\udcff", {"age": "int64"}, r"it is not UTF-8 text"),
        ('"Ann, Lee"', '"Ann"x', {"age": "int64"}, r"line 2: ',' expected after '\"'"),
    ],
)
def test_a_bad_cell_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, columns: dict[str, Any], words: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(TABLE.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    if not words:
        data.CSVDataset(path, columns)
        return
    with pytest.raises(data.DataError, match=words) as caught:
        data.CSVDataset(path, columns)
    assert str(path) in str(caught.value)


def test_tables_that_are_none(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="say which columns are read"):
        data.CSVDataset(table, {})
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(data.DataError, match="is empty: its first line names the columns"):
        data.CSVDataset(tmp_path / "empty.csv", {"a": "int64"})
    (tmp_path / "gaps.csv").write_text("a;b\n1;\n;2\n")
    gaps = data.CSVDataset(tmp_path / "gaps.csv", {"a": "float32"}, delimiter=";", missing=float("nan"))
    assert np.isnan(gaps.column("a").numpy()).tolist() == [False, True]
    with pytest.raises(KeyError, match="no column 'b' was read, only: a"):
        gaps.column("b")
    people = data.CSVDataset(table, {"name": "str"})
    with pytest.raises(TypeError, match="column 'name' is text"):
        people.tensor("name")
    monkeypatch.setattr("workbench.data.table.MAXIMUM_BYTES", 10)
    with pytest.raises(data.DataError, match="a table has at most 10"):
        data.CSVDataset(table, {"age": "int64"})


# ------------------------------------------------------------------------------------------------ arrays


def test_arrays_in_files(tmp_path: Path) -> None:
    x, y = np.arange(24, dtype=np.float32).reshape(6, 4), np.arange(6)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "both.npz", x=x, y=y)
    names = [("N", "C"), ("N",)]
    for dataset in (
        data.NumpyDataset(tmp_path / "x.npy", tmp_path / "y.npy", names=names),
        data.NumpyDataset(tmp_path / "both.npz", keys=["x", "y"], names=names),
    ):
        sample, label = dataset[4]
        assert (sample.names, sample.tolist(), label.item()) == (("C",), [16, 17, 18, 19], 4)
        sample += 1
        for workers in (0, 1):
            batches = list(data.DataLoader(dataset, 4, num_workers=workers))
            assert [labels.tolist() for _, labels in batches] == [[0, 1, 2, 3], [4, 5]]
            assert batches[1][0].tolist() == x[4:].tolist()
            batches[0][0].zero_()
        copy = pickle.loads(pickle.dumps(dataset))
        assert copy[5][0].tolist() == [20, 21, 22, 23]
    mapped = data.NumpyDataset(tmp_path / "x.npy")
    assert len(pickle.dumps(mapped)) < 1000
    base = mapped.tensors[0].numpy()
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap) and not mapped.tensors[0].numpy().flags.writeable


def test_arrays_that_are_none(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save(tmp_path / "text.npy", np.array(["a", "b"]))
    np.save(tmp_path / "x.npy", np.zeros(100))
    np.savez(tmp_path / "z.npz", x=np.zeros(3))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(whole[:300])
    (tmp_path / "html.npy").write_bytes(b"<html>")
    (tmp_path / "empty.npy").write_bytes(b"")
    for name, words in [
        ("objects", "cannot be read as an array"),
        ("text", "has no values that a tensor can have"),
        ("cut", "cannot be read as an array"),
        ("html", "cannot be read as an array"),
        ("empty", "cannot be read as an array"),
        ("z", "has several arrays"),
    ]:
        with pytest.raises(data.DataError, match=rf"{name}\.npy {words}"):
            data.NumpyDataset(tmp_path / f"{name}.npy")
    with pytest.raises(FileNotFoundError):
        data.NumpyDataset(tmp_path / "none.npy")
    with pytest.raises(ValueError, match=r"say which, in order, with keys"):
        data.NumpyDataset(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="names are given for 2 arrays, and there are 1"):
        data.NumpyDataset(tmp_path / "x.npy", names=[("N",), ("N",)])
    with pytest.raises(ValueError, match="at least one file"):
        data.NumpyDataset()
