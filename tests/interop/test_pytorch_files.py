"""Files of PyTorch's without PyTorch: what is recorded, and what is damaged, hostile, or more than weights."""

from __future__ import annotations

import io
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.interop import pickled
from workbench.interop.pytorch_files import load_pytorch, save_pytorch

FILES = Path(__file__).with_name("files")
RECORDED = ("zipped.pt", "row.pth")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w.pt"


@pytest.mark.parametrize("name", RECORDED)
def test_what_pytorch_wrote_is_read(name: str) -> None:
    found = load_pytorch(FILES / name)
    assert list(found) == [
        "state",
        "shared",
        "types",
        "shapes",
        "turned",
        "parameter",
        "leaf",
        "plain",
        "torch",
        3,
    ]
    state = found["state"]
    assert isinstance(state, OrderedDict)
    assert state._metadata["1"] == {"version": 2}  # type: ignore[attr-defined]
    assert {key: one.shape for key, one in state.items()} == {
        "0.weight": (2, 3), "0.bias": (2,), "1.weight": (2,), "1.bias": (2,), "1.running_mean": (2,),
        "1.running_var": (2,), "1.num_batches_tracked": (),
    }  # fmt: skip
    np.testing.assert_allclose(state["0.weight"].numpy()[0], [-0.0043, 0.3097, -0.4752], atol=1e-4)
    base, turned, part, expanded = found["shared"]
    assert turned.tolist() == base.T.tolist()
    assert part.tolist() == [[4, 6], [8, 10]]
    assert expanded.tolist() == [1, 1, 1, 1]
    base.fill_(7.0)
    assert turned[0, 0].item() == part[0, 0].item() == 7.0
    for one in found["types"]:
        assert one.tolist() == ([0, 1, 1] if one.dtype is wb.bool else [0, 1, 3])
    assert [one.tolist() for one in found["turned"]] == [[1 - 2j], [-2]]
    assert isinstance(found["parameter"], wb.nn.Parameter)
    assert (found["parameter"].requires_grad, found["leaf"].requires_grad, base.requires_grad) == (
        True,
        True,
        False,
    )
    assert found["plain"] == (1, -2.5, None, True, "ü", 2**70, b"ab\xff", 1 + 2j, bytearray(b"x"), {1, 2})
    assert found["torch"] == (wb.float32, (2,), "cuda:0")


def test_what_is_written_is_read(path: Path) -> None:
    weight = wb.ones(out=2)
    save_pytorch({"a": weight, "same": weight, "half": wb.ones(2, dtype="bfloat16"), "0": wb.tensor(1)}, path)
    back = load_pytorch(path)
    assert {key: (one.dtype.name, one.tolist()) for key, one in back.items()} == {
        "a": ("float32", [1, 1]), "same": ("float32", [1, 1]), "half": ("bfloat16", [1, 1]), "0": ("int64", 1),
    }  # fmt: skip
    assert back["a"].shares_storage(back["same"])
    with pytest.raises(wb.QuantizationError):
        save_pytorch({"a": wb.ones(2).quantize_per_tensor(0.1, 0, wb.quint8)}, path)
    assert list(load_pytorch(path)) == list(back)


# --------------------------------------------------------------------------------- made by hand, to be refused


def zipped(pickle: bytes, compression: int = zipfile.ZIP_STORED, **entries: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("a/data.pkl", pickle)
        for name, content in entries.items():
            archive.writestr(f"a/{name}".replace("__", "/"), content)
    return buffer.getvalue()


def text(words: str) -> bytes:
    return b"X" + len(words.encode()).to_bytes(4, "little") + words.encode()


def number(value: int) -> bytes:
    return b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def listed(*values: int) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(kind: str = "Float", key: str = "0", count: int = 4) -> bytes:
    return (
        b"("
        + text("storage")
        + f"ctorch\n{kind}Storage\n".encode()
        + text(key)
        + text("cpu")
        + number(count)
        + b"tQ"
    )


def rebuilt(
    memory: bytes, offset: int, size: tuple[int, ...], stride: tuple[int, ...], hooks: bytes = b"}"
) -> bytes:
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + memory + number(offset) + listed(*size) + listed(*stride) + b"\x89"
        + hooks + b"tR"
    )  # fmt: skip


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(wb.WeightsError) as caught:
        load_pytorch(path)
    words = str(caught.value)
    assert words.startswith(f"{path}: ")
    assert len(words) < 700
    return words.removeprefix(f"{path}: ")


def said_of(path: Path, body: bytes) -> str:
    return refusal(path, zipped(b"\x80\x02" + body + b".", data__0=bytes(16))).removeprefix("data.pkl: ")


def test_nothing_that_is_named_is_run(path: Path) -> None:
    marker = path.with_name("ran")
    shell = text(f"touch {marker}")
    assert (
        said_of(path, b"cposix\nsystem\n(" + shell + b"tR")
        == "at the top: it names posix.system, which is not read"
    )
    nested = b"}" + text("a") + b"]cbuiltins\neval\n(" + shell + b"tRas"
    assert said_of(path, nested) == "at ['a'][0]: it names builtins.eval, which is not read"
    dropped = b"cposix\nsystem\n(" + shell + b"tR0K\1"
    assert said_of(path, dropped) == "it names posix.system, which is not read"
    by_stack = text("os") + text("system") + b"\x93" + b"(" + shell + b"tR"
    assert "it names os.system" in said_of(path, by_stack)
    made = b"cmy.code\nThing\n)\x81}" + text("x") + b"K\1sb"
    assert "it names my.code.Thing, which is not read: save a module's state_dict()" in said_of(path, made)
    assert "'i' before 60 is no opcode that is read" in said_of(
        path, b"(" + text("a" * 51) + b"iposix\nsystem\n"
    )
    assert "is no opcode that is read" in said_of(path, b"\x82\x01")
    assert "builtins.getattr" in said_of(path, b"cbuiltins\ngetattr\n(K\1K\1tR")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("memory", "offset", "size", "stride", "words"),
    [
        (storage(), 0, (5,), (1,), "does not lie within its storage of 4 values"),
        (storage(), 1, (4,), (1,), "does not lie within"),
        (storage(), 5, (0,), (1,), "does not lie within"),
        (storage(), 0, (2, 2), (4, 1), "does not lie within"),
        (storage(), 0, (2**58,), (1,), "does not lie within"),
        (storage(), 0, (2**58, 2**58), (0, 0), "does not lie within"),
        (storage(), -1, (2,), (1,), "begins at -1"),
        (storage(), 0, (-2,), (1,), "sizes (-2,)"),
        (storage(), 0, (2,), (-1,), "strides (-1,)"),
        (storage(), 0, (2,), (1, 1), "sizes (2,), strides (1, 1)"),
        (storage(), 0, (1,) * 65, (1,) * 65, "a tensor has sizes"),
        (storage(), 2**62, (2,), (1,), "begins at 4611686018427387904"),
        (storage(count=5), 0, (2,), (1,), "entry 'data/0' has 16 bytes where 20 are declared"),
        (storage(count=2**58), 0, (2,), (1,), "16 bytes where 1152921504606846976 are declared"),
        (storage(count=-4), 0, (2,), (1,), "has -4 values"),
        (storage(key="1"), 0, (2,), (1,), "the zip has no entry 'a/data/1'"),
        (storage(key="../x"), 0, (2,), (1,), "the zip has no entry 'a/data/../x'"),
        (storage("QUInt8", count=16), 0, (2,), (1,), "codes are a quantized tensor's"),
        (storage("Float8_e5m2"), 0, (2,), (1,), "it names torch.Float8_e5m2Storage"),
        (b"K\1", 0, (2,), (1,), "a tensor lies in no storage"),
    ],
)  # fmt: skip
def test_tensors_must_lie_within_their_memory(
    path: Path, memory: bytes, offset: int, size: tuple[int, ...], stride: tuple[int, ...], words: str
) -> None:
    assert words in said_of(path, b"}" + text("w") + rebuilt(memory, offset, size, stride) + b"s")
    assert said_of(path, b"}" + text("w") + rebuilt(memory, offset, size, stride) + b"s").startswith(
        "at ['w']: "
    )


def test_a_storage_is_declared_once(path: Path) -> None:
    pair = b"]" + rebuilt(storage(), 0, (4,), (1,)) + b"a" + rebuilt(storage("Int"), 0, (4,), (1,)) + b"a"
    assert "at [1]: storage '0' is declared twice, and differently" in said_of(path, pair)


def test_a_tensor_of_more_values_than_memory_is_never_computed_with(path: Path) -> None:
    tensor = rebuilt(storage(), 0, (2**28,), (0,))
    negated = tensor.removesuffix(b"tR") + b"}" + text("neg") + b"\x88stR"
    assert "has values more than once" in said_of(path, b"}" + text("w") + negated + b"s")
    larger = rebuilt(storage(), 0, (2**28 + 1,), (0,))
    assert "repeats 16 bytes until they are 1073741828" in said_of(path, b"}" + text("w") + larger + b"s")


def test_a_tensor_may_repeat_its_values(path: Path) -> None:
    body = b"}" + text("w") + rebuilt(storage(), 0, (3, 4), (0, 1)) + b"s"
    path.write_bytes(zipped(b"\x80\x02" + body + b".", data__0=bytes(16)))
    found = load_pytorch(path)["w"]
    assert found.shape == (3, 4)
    assert found.stride() == (0, 1)


def test_other_things_that_are_no_weights(path: Path) -> None:
    for body, words in (
        (rebuilt(storage(), 0, (2,), (1,), b"}K\1K\1s"), "a tensor has hooks"),
        (storage(), "it holds storage '0', which is no value"),
        (b"ctorch\nFloatStorage\n", "it holds torch.FloatStorage, which is no value"),
        (b"ctorch\nFloatStorage\n)R", "it calls torch.FloatStorage"),
        (b"ctorch.storage\n_load_from_bytes\n(C\1atR", "torch.storage._load_from_bytes"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n(K\1tR", "with 1 arguments"),
        (rebuilt(storage(), 0, (2,), (1,), rebuilt(storage(), 0, (2,), (1,))), "a tensor has hooks"),
        (b"(" + rebuilt(storage(), 0, (2,), (1,)) + b"K\1K\1K\1K\1tQ", "refers to something outside"),
        (b"ctorch._utils\n_rebuild_parameter\n(K\1\x88}tR", "a parameter is made of no tensor"),
        (b"ccollections\nOrderedDict\n)R}" + text("x") + b"K\1sb", "sets the state of an object"),
        (b"ccollections\nOrderedDict\n(]K\1atR", "made of no pairs"),
        (b"cbuiltins\nset\n(]]atR", "a list stands as a key"),
        (b"c_codecs\nencode\n(" + text("€") + text("latin1") + b"tR", "bytes are no latin1"),
        (b"c_codecs\nencode\n(" + text("a") + text("utf-7") + b"tR", "not latin1"),
        (b"ctorch\ndevice\n(" + text("a b") + b"tR", "Invalid device string"),
        (b"ctorch\nSize\n(](K\1K\2tatR", "a Size is made of"),
        (b"(K\1K\2tQ", "refers to something outside"),
    ):  # fmt: skip
        assert words in said_of(path, body), body


def test_pickles_that_are_broken_or_beyond_the_bounds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for body, words in (
        (b"", "takes what is not there|more or less than one value"),
        (b"0", "takes what is not there"),
        (b"h\5", "takes what is not there"),
        (b"K\1K\1", "more or less than one value"),
        (b"t", "takes what is not there"),
        (b"K\1(R", "takes what is not there"),
        (b"](q\0t", "takes what is not there"),
        (b"(]\x91", "a list stands as a key"),
        (b"ccollections\nOrderedDict\n)R}" + text("_metadata") + b"cos\nsystem\nsb", "at ._metadata: it names os"),
        (b"](e(", "more or less"),
        (b"K\1K\1a", "values are appended to a int"),
        (b"K\1K\1K\1s", "items are put into a int"),
        (b"}(K\1u", "a key without a value"),
        (b"}]K\1s", "a list stands as a key"),
        (b"}q\0h\0" + text("a") + b"h\0s0", "holds itself"),
        (b"X\xff\xff\xff\xff", "cannot be read"),
        (b"\x8e" + b"\xff" * 8, "cannot be read"),
        (b"\x8b\xff\xff\xff\x7f", "cannot be read"),
        (b"\x8b" + (200).to_bytes(4, "little") + b"\x7f" * 200, "a whole number of 1599 bits"),
        (b"]" * 300 + b"a" * 299, "more than 200 deep"),
        (b"c" + b"a" * 10_000, "a name has no end"),
        (b"c\\R\nx\n", "it names \\\\R.x, which is not read"),
        (b"c\xff\nx\n", "cannot be read"),
        (b"\xff", "no opcode that is read"),
        (b"\x80\x09K\1", "protocol 9"),
    ):  # fmt: skip
        found = said_of(path, body)
        assert any(one in found for one in words.split("|")), (body, found)
    laughs = b"]" + b"q\0" + b"".join(b"]q%c(h%ch%ceq%c" % (i, i - 1, i - 1, i) for i in range(1, 100))
    assert "more or less" in said_of(path, laughs)  # and quickly so
    assert "they come to more than 10000000" in said_of(path, b"(" + laughs + b"l")
    shared = b"]q\0" + b"".join(b"]q%c(h%ch%ceq%c" % (i, i - 1, i - 1, i) for i in range(1, 20))
    path.write_bytes(zipped(b"\x80\x02(" + shared + b"l."))
    found = load_pytorch(path)
    assert len(found) == 20
    assert found[19][0] is found[19][1]
    for again in (
        b"X\x10\0\0\0" + b"a" * 16 + b"q\0(" + b"c_codecs\nencode\nh\0" + text("latin1") + b"\x86R" * 1,
        b"(" + b"K\1" * 9 + b"tq\0" + b"ctorch\nSize\nh\0\x85R",
    ):
        with monkeypatch.context() as changed:
            changed.setattr(pickled, "MAXIMUM_MADE", 15)
            assert "makes objects of more than 15 bytes" in said_of(path, again)
    for limit, body in (("STEPS", b"K\1" * 20), ("CALLS", b"ccollections\nOrderedDict\n)R" * 20),
                        ("ODD_KEYS", b"}(" + b"".join(b"K%cN" % i for i in range(20)) + b"u"),
                        ("ODD_KEYS", b"}" + b"".join(b"K%cNs" % i for i in range(20)))):  # fmt: skip
        with monkeypatch.context() as changed:
            changed.setattr(pickled, f"MAXIMUM_{limit}", 10)
            assert "more than 10" in said_of(path, body)


def test_zips_that_are_no_files_of_pytorch(path: Path) -> None:
    plain = b"\x80\x02K\1."
    assert "is compressed, which no writer of these files does" in refusal(
        path, zipped(plain * 9, zipfile.ZIP_DEFLATED)
    )
    assert "has no entry" in refusal(path, zipped(b"").replace(b"data.pkl", b"date.pkl"))
    assert "TorchScript archive, which holds code" in refusal(path, zipped(plain, **{"constants.pkl": plain}))
    # Its code is compressed, and may be longer than the file.
    buffer = io.BytesIO(zipped(plain, **{"constants.pkl": plain}))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/code/model.py", "x = 1" * 9999)
    assert "TorchScript archive, which holds code" in refusal(path, buffer.getvalue())
    assert "its byte order is b'middle'" in refusal(path, zipped(plain, byteorder=b"middle"))
    assert "has 20 bytes, more than the 16" in refusal(path, zipped(plain, byteorder=b"l" * 20))
    whole = zipped(plain)
    assert "cut off" in refusal(path, whole[:-30])
    damaged = bytearray(whole)
    damaged[whole.index(plain) + 3] ^= 1
    assert "its checksum differs" in refusal(path, bytes(damaged))
    central = whole.index(b"PK\1\2")
    bomb = bytearray(whole)
    bomb[central + 20 : central + 28] = b"\xf0\xff\xff\x7f" * 2
    assert "claim more than the file has" in refusal(path, bytes(bomb))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", plain)
        archive.writestr("b/data.pkl", plain)
    assert "same name" in refusal(path, buffer.getvalue().replace(b"b/data", b"a/data"))
    assert "the zip is empty" in refusal(path, b"PK\3\4" + b"PK\5\6" + bytes(18))


def test_files_that_are_of_another_kind(path: Path) -> None:
    assert "as no file of torch.save does" in refusal(path, b"<html>")
    assert "as no file of torch.save does" in refusal(path, b"")
    assert "tar format" in refusal(path, b"sys_info".ljust(257, b"\0") + b"ustar\0")
    assert "head" in refusal(path, b"\x80\x02cposix\nsystem\n(" + text("true") + b"tR.")
    assert "magic number or protocol differs" in refusal(path, b"\x80\x02K\1.\x80\x02K\1.\x80\x02}.")
    assert "whole module" not in refusal(path, (FILES / "module.pt").read_bytes())
    assert "names torch.nn.modules.linear.Linear" in refusal(path, (FILES / "module.pt").read_bytes())
    (quantized,) = load_pytorch(FILES / "quantized.pt")["a"]
    assert (quantized.dtype, quantized.q_scale(), quantized.int_repr().tolist()) == (wb.quint8, 0.1, [10, 10])


def row(*parts: bytes, little: bytes = b"\x88") -> bytes:
    head = (
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}"
        + text("little_endian")
        + little
        + b"s."
    )
    return head + b"".join(parts)


def test_rows_of_pickles_that_are_broken(path: Path) -> None:
    held = storage()[:-2] + b"NtQ"
    value = b"\x80\x02" + rebuilt(held, 0, (4,), (1,)) + b"."
    huge = b"\x80\x02" + rebuilt(storage(count=2**40)[:-2] + b"NtQ", 0, (4,), (1,)) + b"."
    keys = b"\x80\x02]" + text("0") + b"a."
    memory = (4).to_bytes(8, "little") + np.arange(4, dtype="<f4").tobytes()
    path.write_bytes(row(value, keys, memory))
    assert load_pytorch(path).tolist() == [0, 1, 2, 3]
    for content, words in (
        (row(value, keys, memory[:-1]), "storage '0' was cut off"),
        (row(value, keys, memory[:4]), "storage '0' was cut off"),
        (row(value, keys, memory + b"!"), "more follows behind the storages, from byte"),
        (row(value, keys, (5).to_bytes(8, "little") + memory), "has 5 values where 4 are declared"),
        (row(value, b"\x80\x02].", memory), "the keys of the storages are not those"),
        (row(value, b"\x80\x02K\1.", memory), "the keys of the storages are not those"),
        (row(value), "keys of storages: '' before"),
        (row(value, keys, memory, little=b"\x89"), "little end first"),
        (row(huge), "claim more bytes than the file"),
    ):  # fmt: skip
        assert words in refusal(path, content)
    part = (
        b"\x80\x02"
        + rebuilt(storage()[:-2] + b"(" + text("v") + number(1) + number(2) + b"ttQ", 0, (2,), (1,))
        + b"."
    )
    path.write_bytes(row(part, keys, memory))
    assert load_pytorch(path).tolist() == [1, 2]
    beyond = (
        b"\x80\x02"
        + rebuilt(storage()[:-2] + b"(" + text("v") + number(3) + number(2) + b"ttQ", 0, (2,), (1,))
        + b"."
    )
    assert "ends at 5 and it has 4 values" in refusal(path, row(beyond, keys, memory))


def test_the_big_end_first(path: Path) -> None:
    for kind, array in (
        ("Float", np.arange(4, dtype=">f4")),
        ("ComplexFloat", np.array([1 + 2j, 3 - 1j], ">c8")),
    ):
        body = b"\x80\x02" + rebuilt(storage(kind, count=len(array)), 0, (len(array),), (1,)) + b"."
        path.write_bytes(zipped(body, data__0=array.tobytes(), byteorder=b"big"))
        assert load_pytorch(path).tolist() == array.tolist()


def test_bools_are_bools(path: Path) -> None:
    body = b"\x80\x02" + rebuilt(storage("Bool"), 0, (4,), (1,)) + b"."
    assert "neither 0 nor 1" in refusal(path, zipped(body, data__0=b"\0\1\2\0"))


# ------------------------------------------------------------------------------------------------- fuzzed


def check_read_or_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        found: Any = load_pytorch(path)
    except wb.WeightsError:
        return
    for one in found.get("shared", []) if isinstance(found, dict) else []:
        if isinstance(one, wb.Tensor):
            assert one.numel() < 10**6


@pytest.mark.parametrize("name", RECORDED)
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.integers(-40, 20),
)
def test_no_change_of_bytes_brings_another_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, changes: list[tuple[int, int]], cut: int
) -> None:
    content = bytearray((FILES / name).read_bytes())
    for place, byte in changes:
        content[place % len(content)] = byte
    check_read_or_refused(tmp_path_factory.getbasetemp() / name, bytes(content[: len(content) - max(0, cut)]))


@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6))
def test_no_change_within_the_pickle_brings_another_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    with zipfile.ZipFile(FILES / "state.pt") as archive:
        entries = {one.filename: archive.read(one) for one in archive.infolist()}
    pickle = bytearray(entries["state/data.pkl"])
    for place, byte in changes:
        pickle[place % len(pickle)] = byte
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, content in entries.items():
            archive.writestr(key, bytes(pickle) if key == "state/data.pkl" else content)
    check_read_or_refused(tmp_path_factory.getbasetemp() / "pickle.pt", buffer.getvalue())


@given(body=st.binary(max_size=200))
def test_no_bytes_bring_another_error(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.pt"
    check_read_or_refused(path, zipped(b"\x80\x02" + body))
    check_read_or_refused(path, row(body))
    check_read_or_refused(path, b"PK\3\4" + body)
