"""`load_weights` and `save_weights`: which format a file is, and what of it is weights."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb

FILES = Path(__file__).with_name("files")


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pth", ".npz", ".NPZ"])
def test_a_modules_state_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"w{suffix}"
    module = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.BatchNorm2d(2))
    wb.save_weights(module, path)
    other = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.BatchNorm2d(2))
    loaded = wb.load_weights(path.rename(tmp_path / "of whatever name"))
    other.load_state_dict(loaded)
    for key, value in module.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[key].numpy(), value.numpy())
        assert loaded[key].numpy().flags.writeable
    labels = (None, None) if suffix.lower() == ".npz" else ("out_features", "in_features")
    assert loaded["0.weight"].dim_labels == labels


def test_a_state_of_pytorchs_goes_into_a_module() -> None:
    module = wb.nn.Linear(3, 2)
    state = wb.load_weights(FILES / "state.pt")
    assert module.load_state_dict(state, strict=False).missing_keys == ["weight", "bias"]
    module.load_state_dict(
        {key.removeprefix("0."): one for key, one in state.items() if key.startswith("0.")}
    )
    np.testing.assert_array_equal(module.weight.detach().numpy(), state["0.weight"].numpy())


def test_more_than_weights_is_refused_with_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(wb.WeightsError, match=r"'state' is a OrderedDict.*load_pytorch\(path\)"):
        wb.load_weights(FILES / "row.pth")
    (tmp_path / "x").write_bytes(b"<xml>not found</xml>")
    with pytest.raises(wb.WeightsError, match="x: the header claims"):
        wb.load_weights(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        wb.load_weights(tmp_path / "none")


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for suffix, value, error, words in (
        (".onnx", wb.ones(1), ValueError, "no suffix that says the format"),
        ("", wb.ones(1), ValueError, "no suffix"),
        (".npz", wb.ones(1, dtype="bfloat16"), wb.DTypeError, "bfloat16, which .npz does not have"),
        (".pt", 3, TypeError, "not a tensor"),
    ):
        with pytest.raises(error, match=words):
            wb.save_weights({"x": value}, tmp_path / f"w{suffix}")  # type: ignore[dict-item]
    assert not list(tmp_path.iterdir())


def test_arrays_of_numpy_are_read_and_hostile_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.arange(3, dtype=">i4"), self=np.float32(2.5))
    found = wb.load_weights(path)
    assert (found["a"].tolist(), found["self"].item()) == ([0, 1, 2], 2.5)
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(wb.WeightsError, match="holds Python objects"):
        wb.load_weights(path)
    np.savez(path, a=np.array(["text"]))
    with pytest.raises(wb.WeightsError, match="not a data type"):
        wb.load_weights(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.npy", b"x" * 100)
    with pytest.raises(wb.WeightsError, match="compressed as NumPy never does"):
        wb.load_weights(path)


def test_arrays_that_claim_too_much_together_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(100), b=np.zeros(100))
    monkeypatch.setattr("workbench.data.archive.MAXIMUM_BYTES", 1500)
    with pytest.raises(wb.WeightsError, match="claim 1856 bytes, more than the 1500"):
        wb.load_weights(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", a=np.zeros(100), b=np.zeros(100))  # of which every byte is there
    assert [one.shape for one in wb.load_weights(tmp_path / "a.npz").values()] == [(100,), (100,)]


@pytest.mark.parametrize(
    "header",
    [
        "(",
        "{'descr':" + "-" * 9000 + "1}",
        "{'descr': '<f4'\n  }\n x",
        "\0",
        "{[]: 1}",
        "{b'descr': 1, 'shape': 2}",
    ],
)
def test_a_header_that_no_parser_takes_is_refused(header: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        size = len(header).to_bytes(2, "little")
        archive.writestr("a.npy", b"\x93NUMPY\1\0" + size + header.encode())
    with pytest.raises(wb.WeightsError, match="array 'a' has no readable header"):
        wb.load_weights(tmp_path / "a.npz")


@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_no_change_of_bytes_brings_another_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=np.arange(3.0), b=np.zeros((2, 2), bool))
    content = bytearray(buffer.getvalue())
    for place, byte in changes:
        content[place % len(content)] = byte
    path = tmp_path_factory.getbasetemp() / "fuzzed.npz"
    path.write_bytes(content)
    try:
        wb.load_weights(path)
    except wb.WeightsError:
        return


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html><html>Not found</html>", "it is a web page"),
        (b"\n<html>", "it is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n", "git lfs pull brings it"),
        (b"\x1f\x8b\x08" + bytes(50), "packed by gzip"),
        (b"\x89HDF\r\n\x1a\n" + bytes(50), "it is HDF5"),
        (b"GGUF" + bytes(50), "it is GGUF"),
    ],
)
def test_what_is_often_taken_for_weights_is_called_by_its_name(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(wb.WeightsError, match=f"model.safetensors: .*{words}"):
        wb.load_weights(tmp_path / "model.safetensors")


def test_an_array_of_a_type_that_is_not_there_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", good=np.ones(2), when=np.array(["2020-01-01"], "datetime64[s]"))
    with pytest.raises(wb.WeightsError, match=r"a\.npz: array 'when': .* is not a data type"):
        wb.load_weights(tmp_path / "a.npz")
