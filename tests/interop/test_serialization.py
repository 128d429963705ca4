"""`save` and `load`: whole checkpoints of plain values and tensors, and what is no plain value."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import enum
import io
import random
import types
import zipfile
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.interop.test_pytorch_files import number, text, zipped
from workbench import serialization

Point = namedtuple("Point", "x y")


@dataclass
class Settings:
    rate: float
    layers: list[int]


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = 2


def there_and_back(value: Any, **words: Any) -> Any:
    file = io.BytesIO()
    wb.save(value, file)
    file.seek(0)
    return wb.load(file, **words)


PLAIN = [
    None, True, 0, -1, 2**31, -(2**31) - 1, 2**70, -(2**1000), 2.5, float("inf"), -0.0, 1 - 2j, "", "ü" * 20, "\ud800",
    b"", b"a\xff", bytearray(b"xy"), bytearray(), (), (1,), (1, (2, [])), [], [[1], {}], {},
    {"a": 1, 2: "b", (1, "x"): 3},
    {None: 1, 2.5: 2, True: 3}, set(), {1, 2.5}, frozenset([1]), slice(1, None, 2), range(1, 9, 2),
    OrderedDict(a=1, b=2),
    Counter("aab"), defaultdict(list, a=[1]), defaultdict(None, a=1), defaultdict(OrderedDict), wb.float32,
    wb.quint8,
    wb.device("cpu"), wb.device("cuda:1"), wb.per_channel_affine, datetime.datetime(2026, 11, 22, 20, 5, 1, 70001),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.date(1, 1, 1), datetime.time(23, 59, 59, 999999),
    datetime.timedelta(-3, 5, 7), Path("/tmp/a b"), Path(), argparse.Namespace(lr=0.1, names=["a"], data=Path("x")),
    types.SimpleNamespace(a=argparse.Namespace(b=1)), np.float64(2.5), np.int64(-3), np.bool_(True), np.str_("ab"),
    random.Random(1).getstate(), np.random.default_rng(1).bit_generator.state,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back(value: Any) -> None:
    for there in (value, [value], {"a": (value, value)}):
        back = there_and_back(there)
        assert back == there
        assert type(back) is type(there)
    assert repr(there_and_back(value)) == repr(value)
    assert type(there_and_back(value)) is type(value)


@pytest.mark.parametrize("kind", ["?", "u1", ">i4", "<f2", "f8", "c16", "S3", "U5"])
def test_arrays_come_back(kind: str) -> None:
    for array in (np.arange(6).astype(kind).reshape(2, 3), np.zeros((0, 2), kind), np.array(1).astype(kind)):
        (back, same), turned = there_and_back([[array, array], array.T])
        assert back.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(back, array)
        np.testing.assert_array_equal(turned, array.T)
        assert back is same
        assert back.flags.writeable


def test_the_state_of_numpys_generator_comes_back() -> None:
    before = np.random.RandomState(3)
    after = np.random.RandomState(4)
    after.set_state(there_and_back(before.get_state()))
    assert before.rand() == after.rand()


def test_a_training_goes_on(tmp_path: Path) -> None:
    def made() -> tuple[Any, Any, Any]:
        wb.manual_seed(0)
        model = wb.nn.Sequential(wb.nn.Linear(3, 4), wb.nn.BatchNorm1d(4), wb.nn.ReLU(), wb.nn.Linear(4, 1))
        optimizer = wb.optim.Adam(model.parameters(), lr=0.1)
        return model, optimizer, wb.optim.lr_scheduler.StepLR(optimizer, 2)

    def step(model: Any, optimizer: Any, schedule: Any) -> float:
        optimizer.zero_grad()
        loss = (model(wb.randn(5, 3)) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        return float(loss)

    first = made()
    for _ in range(3):
        step(*first)
    path = tmp_path / "checkpoint.pt"
    names = ("model", "optimizer", "schedule")
    state = {name: one.state_dict() for name, one in zip(names, first, strict=True)}
    wb.save({**state, "rng": wb.get_rng_state(), "epoch": 3}, path)
    expected = [step(*first) for _ in range(4)]
    second = made()
    for words in ({}, {"weights_only": True}, {"weights_only": False, "map_location": "cpu"}, {"mmap": True}):
        checkpoint = wb.load(path, **words)
        for name, one in zip(names, second, strict=True):
            one.load_state_dict(checkpoint[name])
        wb.set_rng_state(checkpoint["rng"])
        assert [step(*second) for _ in range(4)] == expected


def test_tensors_share_memory_as_before() -> None:
    base = wb.arange(12.0).reshape(3, 4)
    again, turned, row, far, other = there_and_back([base, base.T, base[1], base[2, 3:], base.clone()])
    again.fill_(7.0)
    assert turned.tolist() == [[7.0] * 3] * 4
    assert row.tolist() == [7.0] * 4
    assert far.tolist() == [7.0]
    assert other.tolist() == wb.arange(12.0).reshape(3, 4).tolist()
    assert turned.stride() == (1, 4)
    one, same = there_and_back([base, base])
    assert one is same
    expanded = there_and_back(wb.ones(1).expand(1000))
    assert expanded.stride() == (0,)
    file = io.BytesIO()
    wb.save(base[:, 1], file)
    column = wb.load(io.BytesIO(file.getvalue()))
    assert (column.tolist(), column.stride()) == ([1, 5, 9], (4,))


def test_what_a_tensor_is_comes_back() -> None:
    leaf = wb.ones(N=2, C=3).requires_grad_()
    back = there_and_back({"leaf": leaf, "result": leaf * 2, "weight": wb.nn.Linear(2, 3).weight,
                           "p": wb.nn.Parameter(wb.ones(2), False), "empty": wb.zeros(0, 3),
                           "0": wb.tensor(2)})  # fmt: skip
    assert (back["leaf"].names, back["leaf"].requires_grad) == (("N", "C"), True)
    assert back["result"].requires_grad
    assert back["result"].is_leaf
    assert isinstance(back["p"], wb.nn.Parameter)
    assert not back["p"].requires_grad
    assert back["weight"].dim_labels == ("out_features", "in_features")
    assert back["weight"].names == (None, None)
    assert back["empty"].shape == (0, 3)
    assert back["0"].item() == 2
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float64",
        "complex64",
    ):
        value = wb.tensor([0, 1, 3]).to(name)
        back = there_and_back(value)
        assert (back.dtype, back.tolist()) == (value.dtype, value.tolist())


def test_quantized_tensors_come_back() -> None:
    x = wb.randn(3, 4)
    channels = wb.quantize_per_channel(x, wb.tensor([0.1, 0.2, 0.3]), wb.tensor([0, 1, 2]), 0, wb.qint8)
    for value in (
        wb.quantize_per_tensor(x, 0.1, 3, wb.quint8),
        channels,
        wb.quantize_per_tensor(x, 0.1, 0, wb.qint32),
    ):
        back, named = there_and_back([value, wb.ones(N=2)])
        assert (back.dtype, back.qscheme()) == (value.dtype, value.qscheme())
        assert back.int_repr().tolist() == value.int_repr().tolist()
        assert back.dequantize().tolist() == value.dequantize().tolist()
        assert named.names == ("N",)


def test_sparse_tensors_come_back() -> None:
    x = wb.sparse_coo_tensor([[0, 2, 0], [1, 0, 1]], [1.0, 2.0, 3.0], (3, 2), names=("N", "C"))
    blocks = wb.eye(3).to_sparse(1)
    for value in (x, x.coalesce(), x.to_sparse_csr(), blocks, wb.zeros(2, 2).to_sparse()):
        back, named = there_and_back([value, wb.ones(K=2)])
        assert (back.layout, back.names, back.shape) == (value.layout, value.names, value.shape)
        assert back.to_dense().tolist() == value.to_dense().tolist()
        assert back.values().tolist() == value.values().tolist()
        assert named.names == ("K",)
        if back.is_sparse:
            assert back.is_coalesced() == value.is_coalesced()


def test_sparse_tensors_that_are_made_up_are_refused() -> None:
    file = io.BytesIO()
    wb.save(wb.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,)), file)
    with zipfile.ZipFile(file) as archive:
        entries = {one.filename: archive.read(one) for one in archive.infolist()}
    place = next(name for name in entries if entries[name] == np.array([0, 1]).tobytes())
    for index in ([0, 5], [-1, 0]):
        changed = io.BytesIO()
        with zipfile.ZipFile(changed, "w") as made:
            for name, content in entries.items():
                made.writestr(zipfile.ZipInfo(name), np.array(index).tobytes() if name == place else content)
        changed.seek(0)
        with pytest.raises(wb.WeightsError, match=r"a sparse tensor: .*found"):
            wb.load(changed)
    layout = b"ctorch.serialization\n_get_layout\n" + text("torch.sparse_bsr") + b"\x85R"
    assert "laid out in a way" in said_of(layout)
    assert "no values and places" in said_of(b"ctorch._utils\n_rebuild_sparse_tensor\n(K\1K\1tR")


def test_where_tensors_lie_is_asked() -> None:
    value = [wb.ones(2), wb.ones(3)]
    asked = []

    def same(memory: Any, location: str) -> Any:
        asked.append((memory.numel(), location))
        return memory

    for where in ("cpu", wb.device("cpu"), {"cuda:0": "cpu"}, same, lambda memory, location: None):
        assert [one.device for one in there_and_back(value, map_location=where)] == ["cpu", "cpu"]
    assert asked == [(8, "cpu"), (12, "cpu")]
    with pytest.raises(RuntimeError):
        there_and_back(value, map_location="nowhere")


def test_files_and_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wb.save([wb.ones(2)], str(path))
    with path.open("rb") as file:
        assert wb.load(file)[0].tolist() == [1, 1]
    with path.open("wb") as file:
        file.write(b"before")
        wb.save(3, file)
    with path.open("rb") as file:
        file.seek(6)
        assert wb.load(file) == 3
    with pytest.raises(TypeError, match="expected a path or a file open for writing"):
        wb.save(1, 3)
    with pytest.raises(TypeError, match="expected a path or a file"):
        wb.load(3)
    with pytest.raises(TypeError, match="open it for bytes"):
        wb.load(io.StringIO("a"))
    with pytest.raises(ValueError, match="in order to use mmap"):
        wb.load(io.BytesIO(), mmap=True)
    with pytest.raises(FileNotFoundError):
        wb.load(tmp_path / "none.pt")
    for words in ({"pickle_module": np}, {"pickle_protocol": 1}, {"_use_new_zipfile_serialization": False}):
        with pytest.raises(ValueError, match="save: "):
            wb.save(1, path, **words)
    wb.save_weights({"a": wb.ones(1)}, tmp_path / "a.safetensors")
    with pytest.raises(wb.WeightsError, match="load_weights"):
        wb.load(tmp_path / "a.safetensors")


def test_a_mapped_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wb.save({"a": wb.ones(1000), "b": wb.arange(3), "q": wb.ones(2, dtype="complex128")}, path)
    before = path.read_bytes()
    mapped = wb.load(path, mmap=True)
    mapped["a"].mul_(2)
    assert float(mapped["a"].sum()) == 2000
    assert mapped["b"].tolist() == [0, 1, 2]
    assert path.read_bytes() == before
    with zipfile.ZipFile(path) as archive:
        entries = [one for one in archive.infolist() if one.filename.startswith("archive/data/")]
    for entry in entries:
        header = before[entry.header_offset : entry.header_offset + 30]
        begin = entry.header_offset + 30 + sum(int.from_bytes(header[i : i + 2], "little") for i in (26, 28))
        assert begin % 64 == 0
    with pytest.raises(wb.WeightsError, match="this file is older"):
        wb.load(Path(__file__).with_name("files") / "row.pth", mmap=True)


def test_what_is_no_plain_value_is_refused_in_words_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wb.save(1, path)
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    ordered = OrderedDict()
    ordered.extra = 1  # type: ignore[attr-defined]
    x = wb.ones(4, dtype="complex64")
    for value, words in (
        ({"model": wb.nn.Linear(1, 1)}, r"at \['model'\]: a workbench.nn.\S*Linear is not saved whole.*state_dict"),
        ([lambda: 1], r"at \[0\]: a builtins.function is code"),
        (Settings(0.1, [1]), "at the top: a .*Settings is no plain value: save vars.*add_safe_globals"),
        (argparse.Namespace(a=[print]), r"at \.a\[0\]"),
        (Mode.FAST, "no plain value"),
        (defaultdict(lambda: 1), "which is code: save dict"),
        (loop, r"at \[0\]: it holds itself"),
        (deep, "200 deep"),
        (2**2000, "a whole number of 2001 bits"),
        (ordered, "attribute 'extra'"),
        (np.array([object()]), "array of type object"),
        (np.zeros(3, "f4,i4"), "numbers and text"),
        (np.zeros(17 << 20, "u1"), "save it as a tensor"),
        ([x, wb.view_as_real(x)], "share memory, which the format cannot say"),
        (datetime.datetime(2020, 1, 1, tzinfo=_Zone()), "time zone"),
        (wb.nn.LazyLinear(2).weight, "."),
        (zip([1], strict=True), "no plain value"),
    ):  # fmt: skip
        file = io.BytesIO()
        with pytest.raises(wb.WeightsError, match=words):
            wb.save(value, file)
        assert not file.getvalue()
        with pytest.raises(wb.WeightsError):
            wb.save(value, path)
        assert wb.load(path) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["a.pt"]


class _Zone(datetime.tzinfo):
    pass


def test_classes_that_the_program_allows_are_read_without_running_them() -> None:
    value = {"s": Settings(0.1, [1, 2]), "p": Point(1, [2]), "m": [Mode.FAST, Mode.SLOW], "x": wb.ones(1)}
    file = io.BytesIO()
    with serialization.safe_globals([Settings, Point, Mode]):
        wb.save(value, file)
        file.seek(0)
        back = wb.load(file)
        assert back["s"] == value["s"]
        assert type(back["p"]) is Point
        assert back["p"] == value["p"]
        assert back["m"] == [Mode.FAST, Mode.SLOW]
        assert set(serialization.get_safe_globals()) == {Settings, Point, Mode}
    file.seek(0)
    with pytest.raises(wb.WeightsError, match=r"names .*Settings, which is not read.*add_safe_globals"):
        wb.load(file)
    assert serialization.get_safe_globals() == []

    class Own:
        def __setstate__(self, state: Any) -> None:
            raise AssertionError

    for kind, words in (
        (wb.nn.Linear, "a module or a tensor"),
        (Own, "__setstate__ of its own"),
        (test_files_and_paths, "is no class"),
    ):
        with pytest.raises(TypeError, match=words):
            serialization.add_safe_globals([kind])
    serialization.add_safe_globals([(Settings, "old.name.Settings")])
    hand = zipped(b"\x80\x02cold.name\nSettings\n)\x81}" + text("rate") + b"K\1sb.")
    assert wb.load(io.BytesIO(hand)).rate == 1
    serialization.clear_safe_globals()
    with pytest.raises(wb.WeightsError):
        wb.load(io.BytesIO(hand))


def said_of(body: bytes) -> str:
    with pytest.raises(wb.WeightsError) as caught:
        wb.load(io.BytesIO(zipped(b"\x80\x02" + body + b".")))
    return str(caught.value)


ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85C\1btR"
FLOAT = b"cnumpy\ndtype\n" + text("f8") + b"\x85R"


def test_what_is_made_up_is_refused() -> None:
    for body, words in (
        (ARRAY + b"(K\1" + number(2**40) + b"\x85" + FLOAT + b"\x89C\x08" + bytes(8) + b"tb", "bytes that it needs"),
        (ARRAY + b"(K\1K\1\x85" + FLOAT + b"\x89C\x04" + bytes(4) + b"tb", "the bytes that it needs"),
        (ARRAY + b"(K\1J\xff\xff\xff\xff\x85" + FLOAT + b"\x89C\x08" + bytes(8) + b"tb", "bytes that it needs"),
        (ARRAY + b"K\1b", "the state of an array is not known"),
        (b"cnumpy.core.multiarray\n_reconstruct\n(cbuiltins\nlist\nK\0\x85C\1btR", "begun in a way"),
        (b"cnumpy\ndtype\n" + text("O") + b"\x85R", "numbers and text"),
        (b"cnumpy\ndtype\n" + text("f8,O") + b"\x85R", "type"),
        (b"cnumpy\ndtype\n" + text("U99999999") + b"\x85R", "numbers and text"),
        (FLOAT + b"(K\3" + text("x") + b"tb", "state of a type"),
        (FLOAT, "which is no value"),
        (b"cnumpy.core.multiarray\nscalar\n" + FLOAT + b"C\1a\x86R", "its bytes"),
        (b"cargparse\nNamespace\n)\x81}K\1K\1sb", "no dict of attributes"),
        (b"cargparse\nNamespace\n)\x81}" + text("a") + b"cos\nsystem\nsb", "at .a: it names os.system"),
        (b"cargparse\nNamespace\n)\x81q\0}" + text("a") + b"h\0sb", "holds itself"),
        (b"cargparse\nNamespace\n)\x81}" + text("a") + b"ctorch\nFloatStorage\nsb", "at .a: it holds torch.Float"),
        (b"cdatetime\ndatetime\nC\x0aaaaaaaaaaa\x85R", "a datetime: "),
        (b"cdatetime\ndatetime\nC\3abc\x85R", "made of no 10 bytes"),
        (b"cdatetime\ntimedelta\n" + number(2**39) + b"\x85R", "a timedelta: "),
        (b"cdatetime\ntimezone\nK\1\x85R", "a time zone is no offset"),
        (b"cpathlib\nPosixPath\nK\1\x85R", "made of no words"),
        (b"c__builtin__\nxrange\n(K\1K\1K\0tR", "a range is made of"),
        (b"c__builtin__\nslice\n(]K\1K\1tR", "a slice is made of"),
        (b"ccollections\ndefaultdict\ncos\nsystem\n\x85R", "it names os.system"),
        (b"ccollections\ndefaultdict\nctorch\ndevice\n\x85R", "no plain class"),
        (b"ccollections\nCounter\n]\x85R", "no dict"),
        (b"cbuiltins\nint\n" + text("1") + b"\x85R", "no number"),
        (b"ctorch._utils\n_rebuild_qtensor\n(K\1K\1K\1K\1K\1\x89NtR", "no storage of codes"),
    ):  # fmt: skip
        assert words in said_of(body), (body, said_of(body))


def test_names_that_are_made_up_are_refused() -> None:
    file = io.BytesIO()
    wb.save(wb.ones(N=2), file)
    plain = file.getvalue()
    with zipfile.ZipFile(file) as archive:
        content = archive.read("archive/workbench.names")
    for other, words in (
        (b"{" * len(content), "no JSON"),
        (b"[]", "no object"),
        (b'{"0": {"dims": ["N", "C"]}}', "dims"),
        (b'{"0": {"dims": [1]}}', "dims"),
        (b'{"0": []}', "no list"),
    ):
        changed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(plain)) as archive, zipfile.ZipFile(changed, "w") as made:
            for entry in archive.infolist():
                own = other if entry.filename.endswith("names") else archive.read(entry)
                made.writestr(zipfile.ZipInfo(entry.filename), own)
        changed.seek(0)
        with pytest.raises(wb.WeightsError, match=words):
            wb.load(changed)


WHOLE = io.BytesIO()
wb.save([*PLAIN, wb.ones(N=3), np.ones(3), wb.quantize_per_tensor(wb.ones(2), 0.1, 0, wb.quint8)], WHOLE)


@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    mended=st.booleans(),
)
def test_no_change_of_bytes_brings_another_error(changes: list[tuple[int, int]], mended: bool) -> None:
    content = bytearray(WHOLE.getvalue())
    with zipfile.ZipFile(WHOLE) as archive:
        pickle = bytearray(archive.read("archive/data.pkl"))
    target = pickle if mended else content
    for place, byte in changes:
        target[place % len(target)] = byte
    if mended:  # with checksums that hold, so that the pickle itself is read
        file = io.BytesIO()
        with zipfile.ZipFile(WHOLE) as archive, zipfile.ZipFile(file, "w") as made:
            for entry in archive.infolist():
                own = bytes(pickle) if entry.filename.endswith("data.pkl") else archive.read(entry)
                made.writestr(zipfile.ZipInfo(entry.filename), own)
        content = bytearray(file.getvalue())
    with contextlib.suppress(wb.WeightsError):
        wb.load(io.BytesIO(bytes(content)))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=30,
)


@given(values)
def test_any_plain_value_comes_back(value: Any) -> None:
    assert there_and_back(value) == value
