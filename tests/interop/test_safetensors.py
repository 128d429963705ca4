"""Safetensors: values, types and names there and back, other readers, and files that are damaged or hostile."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.base.errors import WeightsError
from workbench.interop.safetensors import load_file, read_metadata, save_file

TYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w.safetensors"


def some(dtype: str) -> wb.Tensor:
    return wb.tensor(np.array([[0, 1, 2], [3, 0, 100]]), names=("out", "in_")).to(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_each_type_comes_back_and_others_read_it(dtype: str, path: Path) -> None:
    x = some(dtype)
    save_file({"x": x, "scalar": x[1, 2], "empty": x[:0], "turned": x.T}, path)
    back = load_file(path)
    assert {key: one.names for key, one in back.items()} == {
        "x": ("out", "in_"), "scalar": (), "empty": ("out", "in_"), "turned": ("in_", "out"),
    }  # fmt: skip
    for key, one in {"x": x, "scalar": x[1, 2], "empty": x[:0], "turned": x.T}.items():
        assert (back[key].dtype, back[key].shape) == (x.dtype, one.shape)
        np.testing.assert_array_equal(back[key].numpy(), one.numpy())
    assert back["x"].numpy().flags.writeable
    theirs = safetensors.numpy.load_file(path)
    np.testing.assert_array_equal(theirs["turned"], x.numpy().T)
    safetensors.numpy.save_file({"x": x.numpy()}, path)
    np.testing.assert_array_equal(load_file(path)["x"].numpy(), x.numpy())


def test_arrays_shared_memory_and_nothing_at_all(path: Path) -> None:
    x = np.arange(4, dtype=">i4")
    y = wb.ones(2)
    save_file({"x": x, "y": y, "again": y, "strided": y[::2]}, path)
    back = load_file(path)
    assert (back["x"].tolist(), back["again"].tolist(), back["strided"].tolist()) == (
        [0, 1, 2, 3],
        [1, 1],
        [1],
    )
    assert not back["y"].shares_storage(back["again"])
    save_file({}, path)
    assert load_file(path) == {}


def test_the_state_of_a_module_goes_through_a_file(path: Path) -> None:
    module = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.BatchNorm2d(2))
    save_file(module.state_dict(), path)
    other = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.BatchNorm2d(2))
    other.load_state_dict(load_file(path))
    for key, value in module.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[key].numpy(), value.numpy())
    assert load_file(path)["0.weight"].dim_labels == ("out_features", "in_features")


def test_metadata_comes_back_as_it_was_given(path: Path) -> None:
    save_file({"x": wb.ones(N=1)}, path, {"step": "3", "größe": "µ"})
    assert read_metadata(path) == {"step": "3", "größe": "µ"}
    with safetensors.safe_open(path, "np") as file:
        assert json.loads(file.metadata()["workbench.names"]) == {"x": ["N"]}
    save_file({"x": wb.ones(1)}, path)
    assert read_metadata(path) == {}


def test_what_cannot_be_written_is_refused_and_the_file_stays(path: Path) -> None:
    save_file({"x": wb.ones(1)}, path)
    before = path.read_bytes()
    for tensors, metadata, error, words in (
        ({"c": wb.ones(1, dtype="complex128")}, None, wb.DTypeError, r"view_as_real\(c\)"),
        ({"q": wb.ones(2).quantize_per_tensor(0.1, 0, wb.quint8)}, None, wb.QuantizationError, "int_repr"),
        ({"x": [1.0]}, None, TypeError, "'x' is a list, not a tensor"),
        ([wb.ones(1)], None, TypeError, "expected a mapping"),
        ({1: wb.ones(1)}, None, ValueError, "1 cannot be a key"),
        ({"__metadata__": wb.ones(1)}, None, ValueError, "cannot be a key"),
        ({"\ud800": wb.ones(1)}, None, ValueError, "cannot be a key"),
        ({"x": np.array(["a"])}, None, wb.DTypeError, "no data type|not a data type"),
        ({}, {"step": 3}, TypeError, r"json\.dumps"),
        ({}, {"workbench.names": "{}"}, ValueError, "holds the names of dims"),
    ):
        with pytest.raises(error, match=words):
            save_file(tensors, path, metadata)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_file_is_replaced_whole_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({"x": wb.ones(1)}, path)
    before = path.read_bytes()
    path.with_name("link").symlink_to(path)
    monkeypatch.setattr("workbench.base.files._sync", _fail)
    with pytest.raises(OSError, match="disk is full"):
        save_file({"x": wb.zeros(1)}, path)
    assert path.read_bytes() == before
    monkeypatch.undo()
    save_file({"x": wb.zeros(2)}, path.with_name("link"))
    assert path.with_name("link").is_symlink()
    assert load_file(path)["x"].shape == (2,)
    assert sorted(os.listdir(path.parent)) == ["link", path.name]
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_who_may_read_a_file_stays_as_it_was(path: Path) -> None:
    save_file({"x": wb.ones(1)}, path)
    path.chmod(0o600)
    save_file({"x": wb.zeros(1)}, path)
    assert path.stat().st_mode & 0o777 == 0o600
    long = path.with_name("é" * 120)
    save_file({"x": wb.ones(1)}, long)
    assert load_file(long)["x"].item() == 1


def test_what_is_no_file_is_not_replaced(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(OSError, match="is no regular file: it is not replaced"):
        save_file({"x": wb.ones(1)}, path)
    with pytest.raises(IsADirectoryError):
        save_file({"x": wb.ones(1)}, path.parent)
    assert os.listdir(path.parent) == [path.name]
    with pytest.raises(TypeError):
        load_file(0)  # type: ignore[arg-type]


def test_a_folder_that_is_missing_is_named_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a.safetensors"
    with pytest.raises(
        FileNotFoundError, match=r"a\.safetensors cannot be written: there is no folder .*missing; make it"
    ):
        save_file({"a": wb.zeros(2)}, path)
    assert list(tmp_path.iterdir()) == []


def test_what_would_not_be_read_again_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.interop.safetensors.MAXIMUM_HEADER", 1000)
    with pytest.raises(ValueError, match=r"metadata take .* bytes, and at most 1000 are read again"):
        save_file({"x": wb.ones(1)}, path, {"a": "b" * 1000})
    assert not path.exists()


def _fail(path: Path) -> None:
    raise OSError("the disk is full")


def file_of(header: Any, values: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + values


def one(**changes: Any) -> dict[str, Any]:
    return {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], **changes}}


NAMED = {"__metadata__": {"workbench.names": "?"}, **one()}

HOSTILE = {
    "nothing": (b"", "has 0 bytes and no header"),
    "no header": (b"1234567", "no header"),
    "other file": (b"PK\3\4 and more of it", "claims .* bytes and the file has"),
    "header cut off": (file_of(one(), b"0000")[:30], "cut off"),
    "values cut off": (file_of(one(), b"000"), "lies from 0 to 4, of 3 bytes"),
    "values too many": (file_of(one(), b"00000"), "end at 4 and the file has 5"),
    "not an object": (file_of(b"[1]"), "does not begin"),
    "not json": (file_of(b'{"x":'), "no JSON"),
    "not text": (file_of(b'{"\xff": 1}'), "no JSON"),
    "nested": (file_of(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "no JSON"),
    "twice": (file_of(b'{"x": {}, "x": {}}'), "key 'x' twice"),
    "twice within": (file_of(b'{"x": {"dtype": "F32", "dtype": "F32"}}'), "key 'dtype' twice"),
    "fields": (file_of({"x": {"dtype": "F32"}}), "expected its dtype, shape and data_offsets"),
    "number": (file_of({"x": 3}), "expected its dtype"),
    "key": (file_of({"a\ud800": one()["x"]}, b"0000"), "its key is no text"),
    "type": (file_of(one(dtype="U16"), b"0000"), "type 'U16': there are BOOL"),
    "type of type": (file_of(one(dtype=["F32"]), b"0000"), "of type"),
    "shape": (file_of(one(shape=[2]), b"0000"), "takes 8 bytes, and its place has 4"),
    "shape below 0": (file_of(one(shape=[-1, -1]), b"0000"), "no list of at most 64 sizes"),
    "shape of floats": (file_of(one(shape=[1.0]), b"0000"), "no list of"),
    "shape of bools": (file_of(one(shape=[True]), b"0000"), "no list of"),
    "dims": (file_of(one(shape=[1] * 65), b"0000"), "no list of"),
    "absurd": (file_of(one(shape=[2**62, 2**62]), b"0000"), "takes"),
    "absurd and empty": (file_of(one(shape=[2**62, 0, 2**62], data_offsets=[0, 0])), "takes 0 bytes"),
    "large and empty": (file_of(one(shape=[2**62, 0], data_offsets=[0, 0])), "takes 0 bytes"),
    "digits": (file_of(b'{"x": ' + b"9" * 5000 + b"}"), "no JSON"),
    "places": (file_of(one(data_offsets=[4, 0]), b"0000"), "lies from 4 to 0"),
    "places beyond": (file_of(one(data_offsets=[2**62, 2**62 + 4]), b"0000"), "lies from"),
    "places below 0": (file_of(one(data_offsets=[-4, 0]), b"0000"), "not two places"),
    "gap": (file_of(one(data_offsets=[1, 5]), b"00000"), "leaves a gap"),
    "overlap": (file_of({**one(), "y": one(data_offsets=[2, 6])["x"]}, b"0" * 6), "overlaps"),
    "same place": (file_of({**one(), "y": one()["x"]}, b"0" * 4), "overlaps"),
    "metadata": (file_of({"__metadata__": {"a": 1}}), "not text by text"),
    "metadata of a list": (file_of({"__metadata__": []}), "not text by text"),
    "names no json": (file_of(NAMED, b"0000"), "no JSON"),
    "bools": (file_of(one(dtype="BOOL", shape=[4]), b"\0\1\2\1"), "neither 0 nor 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_damaged_or_hostile_file_says_what_is_wrong(case: str, path: Path) -> None:
    content, words = HOSTILE[case]
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=words) as caught:
        load_file(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "names", ['{"y": ["N"]}', '{"x": "N"}', '{"x": ["N", "C"]}', '{"x": ["a b"]}', '{"x": [1]}', "[]",
              json.dumps({"x": ["N" * 257]}), json.dumps({"x": ["N"] * 100_000})]
)  # fmt: skip
def test_names_that_are_none_are_refused(names: str, path: Path) -> None:
    path.write_bytes(file_of({**NAMED, "__metadata__": {"workbench.names": names}}, b"0000"))
    with pytest.raises(WeightsError, match="names") as caught:
        load_file(path)
    assert len(str(caught.value)) < 1000
    assert read_metadata(path) == {}


def test_a_long_header_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.interop.safetensors.MAXIMUM_HEADER", 10)
    path.write_bytes(file_of(one(), b"0000"))
    with pytest.raises(WeightsError, match="more than the 10 that are read"):
        read_metadata(path)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        load_file(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "none")


@settings(deadline=None, max_examples=300)
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.integers(0, 40),
)
def test_no_change_of_bytes_brings_another_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.safetensors"
    save_file({"a": some("bfloat16"), "b": some("bool"), "c": wb.ones(())}, path, {"k": "v"})
    content = bytearray(path.read_bytes())
    for place, byte in changes:
        content[place % len(content)] = byte
    path.write_bytes(content[: len(content) - max(0, cut - 20)])
    try:
        found = load_file(path)
    except WeightsError:
        return
    assert sum(one.nbytes for one in found.values()) <= len(content)


def test_bfloat16_keeps_its_bits(path: Path) -> None:
    bits = np.array([0x7FC1, 0xFF80, 0x0001, 0x8000], np.uint16)
    save_file({"x": bits.view(ml_dtypes.bfloat16)}, path)
    np.testing.assert_array_equal(load_file(path)["x"].numpy().view(np.uint16), bits)
