"""The digits that come with the workbench, and files of arrays that are damaged or hostile."""

from __future__ import annotations

import importlib.util
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import data


def test_the_digits_are_what_the_readme_says() -> None:
    train, test = data.digits(names=("N", "C", "H", "W"))
    assert not any(one.has_names() for part in data.digits() for one in part.tensors)
    assert (len(train), len(test)) == (8000, 2000)
    for part in (train, test):
        images, labels = part.tensors
        assert images.names == ("N", "C", "H", "W")
        assert images.shape[1:] == (1, 28, 28)
        assert images.dtype is wb.float32
        assert (labels.names, labels.dtype) == (("N",), wb.int64)
        assert (images.numpy().min(), images.numpy().max()) == (0.0, 1.0)
    counts = [np.bincount(part.tensors[1].numpy()) for part in (train, test)]
    assert (counts[0] + counts[1]).tolist() == [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978]
    assert abs(counts[1] - (counts[0] + counts[1]) / 5).max() < 1


def test_no_image_is_in_both_parts_and_classes_alternate() -> None:
    train, test = data.digits("uint8")
    seen = {image.tobytes() for image in train.tensors[0].numpy()}
    assert len(seen) == 8000
    assert not any(image.tobytes() in seen for image in test.tensors[0].numpy())
    assert len(set(test.tensors[1].tolist()[:16])) >= 8
    as_floats = data.digits()[0].tensors[0].numpy()
    np.testing.assert_array_equal(np.rint(as_floats * 255).astype(np.uint8), train.tensors[0].numpy())


def test_a_nine_looks_like_a_nine() -> None:
    """Pixels and labels belong together: the means of the classes tell unseen images apart."""
    train, test = data.digits()
    pixels, labels = (tensor.numpy() for tensor in train.tensors)
    means = np.stack([pixels[labels == digit].mean(0).ravel() for digit in range(10)])
    unseen = test.tensors[0].numpy().reshape(2000, -1)
    nearest = ((unseen[:, None] - means) ** 2).sum(2).argmin(1)
    assert (nearest == test.tensors[1].numpy()).mean() > 0.78


def test_other_types() -> None:
    assert data.digits("float64").train.tensors[0].dtype is wb.float64
    with pytest.raises(TypeError, match="not as int64"):
        data.digits("int64")


def test_assets_are_found_and_only_below_their_folder(root: Path) -> None:
    assert data.asset("digits/digits.npz").samefile(root / "assets/digits/digits.npz")
    assert "Permission is hereby granted" in data.asset("digits/LICENSE.txt").read_text()
    with pytest.raises(FileNotFoundError, match=r"there is no asset 'digits/none\.npz': looked in"):
        data.asset("digits/none.npz")
    with pytest.raises(ValueError, match="not below the folder of assets"):
        data.asset("../pyproject.toml")


@pytest.fixture
def digits_bytes() -> bytearray:
    return bytearray(data.asset("digits/digits.npz").read_bytes())


def refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "digits.npz"
    path.write_bytes(content)
    with pytest.raises(data.DataError) as caught:
        data.digits(path=path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_damaged_file_says_so(tmp_path: Path, digits_bytes: bytearray) -> None:
    assert "damaged" in refusal(tmp_path, bytes(digits_bytes[: len(digits_bytes) // 2]))
    assert "damaged" in refusal(tmp_path, b"<html>not found</html>")
    assert "damaged" in refusal(tmp_path, b"")
    digits_bytes[len(digits_bytes) // 2] ^= 0xFF
    assert "damaged" in refusal(tmp_path, bytes(digits_bytes))


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def test_files_that_are_something_else_say_what(tmp_path: Path) -> None:
    images, labels = npy(np.zeros((10_000, 28, 28), np.uint8)), npy(np.zeros(10_000, np.uint8))
    assert "there is no array 'images' in it, only: pictures" in refusal(tmp_path, archive(pictures=images))
    assert "holds Python objects" in refusal(
        tmp_path, archive(images=npy(np.array([{}, {}], object)), labels=labels)
    )
    assert "images are uint8 [3, 28, 28], not" in refusal(
        tmp_path, archive(images=npy(np.zeros((3, 28, 28), np.uint8)), labels=labels)
    )
    assert "labels are not 10000 classes below 10" in refusal(
        tmp_path, archive(images=images, labels=npy(np.full(10_000, 200, np.uint8)))
    )
    assert "no readable header" in refusal(tmp_path, archive(images=b"text", labels=labels))
    assert "takes 7840000 bytes and the file has 7839990" in refusal(
        tmp_path, archive(images=images[:-10], labels=labels)
    )


def test_what_claims_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.data.archive.MAXIMUM_BYTES", 1000)
    assert "more than the 1000 that are allowed" in refusal(
        tmp_path, data.asset("digits/digits.npz").read_bytes()
    )
    huge = b"\x93NUMPY\x01\x00\x46\x00{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999,), }"
    assert "takes 99999999999999 bytes" in refusal(tmp_path, archive(images=huge.ljust(80), labels=b""))


def test_arrays_in_fortran_order_and_of_any_kind_are_read(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    path = tmp_path / "a.npz"
    path.write_bytes(archive(a=npy(array)))
    np.testing.assert_array_equal(data.read_arrays(path, "a")[0], array)


def test_the_packing_script_writes_the_same_bytes_each_time(tmp_path: Path, root: Path) -> None:
    spec = importlib.util.spec_from_file_location("pack", root / "assets/digits/pack.py")
    assert spec is not None
    assert spec.loader is not None
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    images, labels = data.read_arrays(data.asset("digits/digits.npz"), "images", "labels")
    pack.write(tmp_path / "again.npz", images=images, labels=labels)
    again = data.read_arrays(tmp_path / "again.npz", "images", "labels")
    np.testing.assert_array_equal(again[0], images)
    np.testing.assert_array_equal(again[1], labels)
    first = (tmp_path / "again.npz").read_bytes()
    pack.write(tmp_path / "again.npz", images=images, labels=labels)
    assert (tmp_path / "again.npz").read_bytes() == first
