"""The text that comes with the workbench, and MNIST's file format: read whole, refused where damaged."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.data import DataError, read_idx


def idx(array: np.ndarray) -> bytes:
    codes = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}
    head = struct.pack(">HBB", 0, codes[array.dtype.name], array.ndim) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_arrays_come_back(tmp_path: Path, dtype: str) -> None:
    array = (np.arange(24) * 3 - 20).astype(dtype).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed.gz"):
        found = read_idx(tmp_path / name)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, array)


def test_files_that_claim_too_much_or_too_little(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data, words in (
        (b"", "is no IDX file"),
        (b"\x89PNG", "is no IDX file"),
        (struct.pack(">HBBII", 0, 8, 2, 1 << 31, 1 << 31), "are not read"),
        (struct.pack(">HBBI", 0, 8, 3, 5), "are not read"),
        (idx(np.zeros(4, np.uint8))[:-1], "3 bytes of values, where sizes \\[4\\] take 4"),
        (idx(np.zeros(4, np.uint8)) + b"x", "5 bytes of values"),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=words):
            read_idx(path)
    (tmp_path / "x.gz").write_bytes(gzip.compress(idx(np.zeros(400, np.uint8)))[:-12])
    with pytest.raises(DataError, match="is damaged"):
        read_idx(tmp_path / "x.gz")


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(data)
    try:
        read_idx(path)
    except DataError:
        return


def test_fashion_mnist_is_read_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="install the Debian package dataset-fashion-mnist"):
        wb.data.fashion_mnist(tmp_path / "nowhere")
    images, labels = np.full((5, 28, 28), 255, np.uint8), np.arange(5, dtype=np.uint8)
    for part in ("train", "t10k"):
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    train, test = wb.data.fashion_mnist(tmp_path, names=("N", "C", "H", "W"))
    image, label = train[3]
    assert image.names == ("C", "H", "W") and float(image.max()) == 1.0 and label.item() == 3
    assert len(test) == 5
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels[:4]))
    with pytest.raises(DataError, match="are not Fashion-MNIST's"):
        wb.data.fashion_mnist(tmp_path)


def test_the_book(tmp_path: Path) -> None:
    book = wb.data.moby_dick()
    assert book.train.startswith("Loomings.\nCall me Ishmael.")
    assert len(book.train.split("\n\n")) == 120 and len(book.test.split("\n\n")) == 15
    damaged = tmp_path / "text.txt.gz"
    whole = wb.data.asset("moby-dick/text.txt.gz").read_bytes()
    for data in (
        whole[:1000],
        b"plain",
        gzip.compress(b"one chapter"),
        whole[:5000] + b"\0" * 40 + whole[5040:],
    ):
        damaged.write_bytes(data)
        with pytest.raises(DataError, match="Get a fresh copy of it"):
            wb.data.moby_dick(damaged)
