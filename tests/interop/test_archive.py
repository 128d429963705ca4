"""Archives of graphs: every model there and back, tensors of every kind, and files that are damaged or hostile."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import models, nn
from workbench.base.errors import WeightsError
from workbench.graph import Graph, GraphError, parse, passes, text, trace
from workbench.interop.archive import load_graph, read_metadata, save_graph
from workbench.interop.stored_zip import ALIGNMENT
from workbench.utils._pytree import tree_leaves

PICTURE = {"N": 1, "C": 3, "H": 64, "W": 64}
WHOLE: dict[str, Any] = {
    "digits": lambda: trace(models.DigitsNet(), {"N": 2, "C": 1, "H": 28, "W": 28}),
    "lenet": lambda: trace(models.LeNet().eval(), wb.rand(2, 1, 28, 28)),
    "resnet18": lambda: trace(models.resnet18().eval(), PICTURE),
    "mobilenet_v2": lambda: trace(models.mobilenet_v2(), PICTURE),
    "efficientnet": lambda: trace(models.efficientnet_lite0().eval(), PICTURE),
}


MOST_MEMORY = 1 << 16
"""Kilobytes by which all damaged files together may let the process grow."""


def small() -> Graph:
    layer = wb.nn.Linear(3, 2)
    layer.register_buffer("shift", wb.tensor([True, False]))
    layer.forward = lambda x: wb.nn.functional.linear(x, layer.weight, layer.bias).relu() + layer.shift
    return trace(layer, wb.rand(4, 3))


def written(graph: Graph) -> bytes:
    file = io.BytesIO()
    wb.save(graph, file)
    return file.getvalue()


def same(one: Any, other: Any) -> None:
    assert one.names == other.names and one.dim_labels == other.dim_labels
    assert one.dtype == other.dtype and one.requires_grad == other.requires_grad
    if one.is_quantized:
        same(one.int_repr(), other.int_repr())
        np.testing.assert_array_equal(one.payload.scale, other.payload.scale)
        np.testing.assert_array_equal(one.payload.zero_point, other.payload.zero_point)
    else:
        assert one.detach().numpy().tobytes() == other.detach().numpy().tobytes()


# ------------------------------------------------------------------------------------------ there and back


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", WHOLE)
def test_every_model_there_and_back(name: str, mmap: bool, tmp_path: Path) -> None:
    graph = WHOLE[name]()
    path = tmp_path / "model.wb"
    wb.save(graph, path)
    again = wb.load(path, mmap=mmap)
    assert text(again) == text(graph)
    for one, other in zip(graph.held().values(), again.held().values(), strict=True):
        same(one, other)
    x = wb.rand(*(2 if i == 0 else size for i, size in enumerate(graph.inputs[0].tensor.dims.sizes)))
    # Dropout draws.
    wb.manual_seed(0)
    expected = graph(x)
    wb.manual_seed(0)
    same(again(x), expected)


def by_layers(x: Any) -> Any:
    prepared = wb.quantization.prepare(wb.quantization.fuse_automatically(models.DigitsNet().eval(), x))
    prepared(x)
    return wb.quantization.convert(prepared)


def as_a_graph(x: Any) -> Any:
    mapping = wb.quantization.get_default_qconfig_mapping()
    prepared = wb.quantization.prepare_fx(models.DigitsNet().eval(), mapping, (x,))
    prepared(x)
    return wb.quantization.convert_fx(prepared)


def weights_alone(bits: int) -> Any:
    layers = nn.Sequential(nn.Linear(60, 40), nn.ReLU(), nn.Linear(40, 10))
    return wb.quantization.quantize_weights(layers, bits=bits, group_size=16)


CONVERTED = {
    "by layers": (by_layers, (8, 1, 28, 28)),
    "as a graph": (as_a_graph, (8, 1, 28, 28)),
    "linear, in each call": (lambda x: wb.quantization.quantize_dynamic(nn.Sequential(nn.Linear(12, 5))), (3, 12)),
    "lstm, in each call": (lambda x: wb.quantization.quantize_dynamic(nn.LSTM(6, 5, 2)), (4, 2, 6)),
    "weights of 4 bits": (lambda x: weights_alone(4), (3, 60)),
    "weights of 8 bits": (lambda x: weights_alone(8), (3, 60)),
}  # fmt: skip


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", CONVERTED)
def test_converted_models_there_and_back(name: str, mmap: bool, tmp_path: Path) -> None:
    make, sizes = CONVERTED[name]
    x = wb.randn(*sizes)
    graph = trace(make(x), x)
    save_graph(graph, tmp_path / "int8.wb")
    again = load_graph(tmp_path / "int8.wb", mmap=mmap)
    assert text(again) == text(graph)
    for one, other in zip(graph.held().values(), again.held().values(), strict=True):
        same(one, other)
    found, wanted = again(x), graph(x)
    for one, other in zip(*(tree_leaves(each) for each in (found, wanted)), strict=True):
        same(one, other)


def test_codes_take_their_bits(tmp_path: Path) -> None:
    layer = nn.Linear(512, 512, bias=False)
    graphs = {
        32: trace(layer, wb.ones(1, 512)),
        8: trace(
            wb.quantization.quantize_weights(nn.Sequential(layer), bits=8, group_size=128), wb.ones(1, 512)
        ),
        4: trace(
            wb.quantization.quantize_weights(nn.Sequential(layer), bits=4, group_size=128), wb.ones(1, 512)
        ),
    }
    sizes = {bits: len(written(graph)) for bits, graph in graphs.items()}
    assert sizes[8] < 0.27 * sizes[32] and sizes[4] < 0.15 * sizes[32]


def test_packed_codes_are_held_against_their_sizes(tmp_path: Path) -> None:
    path = tmp_path / "four.wb"
    save_graph(trace(weights_alone(4), wb.ones(3, 60)), path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    told = next(name for name in entries if name.endswith("graph.json"))
    for before, after, why in (
        (b"60\n   ]", b"64\n   ]", "bytes for 2560 codes of 4 bits"),
        (b'"quint4x2"', b'"quint8"', "no codes of quint8 have the sizes"),
        (b"60\n   ]", b"-60\n   ]", "no codes of quint4x2 have the sizes"),
        (
            b'"labels": [',
            b'"labels": [1,',
            "its labels are .1, 'out_features', 'in_features'., and it has 2 dims",
        ),
    ):
        assert before in entries[told]
        damaged = io.BytesIO()
        with zipfile.ZipFile(damaged, "w") as archive:
            for name, content in entries.items():
                archive.writestr(name, content.replace(before, after) if name == told else content)
        with pytest.raises(WeightsError, match=why):
            wb.load(io.BytesIO(damaged.getvalue()))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64", "complex64"],
)
def test_constants_of_every_type(dtype: str) -> None:
    constant = wb.arange(6).reshape(2, 3).to(getattr(wb, dtype)).rename("A", "B")
    graph = trace(lambda x: x * constant, wb.rand(2, 3))
    again = wb.load(io.BytesIO(written(graph)))
    same(next(iter(again.constants.values())), constant)


@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_pairs_of_doubles_are_complex_again(shape: tuple[int, ...]) -> None:
    constant = wb.complex(wb.rand(*shape, dtype=wb.float64), wb.rand(*shape, dtype=wb.float64))
    if len(shape) == 2:
        constant = constant.rename("A", "B")
    graph = trace(lambda x: x * constant, wb.rand(shape))
    same(next(iter(wb.load(io.BytesIO(written(graph))).constants.values())), constant)


def test_what_is_trained_goes_on_being_trained() -> None:
    graph = small()
    again = wb.load(io.BytesIO(written(graph)))
    assert [one.requires_grad for one in again.parameters.values()] == [True, True, False]
    again(wb.rand(4, 3)).sum().backward()
    assert all(one.grad is not None for one in again.parameters.values() if one.requires_grad)


def test_equal_graphs_make_equal_files_that_other_readers_open() -> None:
    graph = small()
    content = written(graph)
    assert content == written(graph)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert [one.rpartition("/")[2] for one in archive.namelist()] == [
            "workbench.json", "graph.json", "weights.safetensors",
        ]  # fmt: skip
        assert json.loads(archive.read("archive/graph.json"))["graph"] == text(graph).splitlines()
        length = int.from_bytes(archive.read("archive/weights.safetensors")[:8], "little")
        assert content.index(archive.read("archive/weights.safetensors")) % ALIGNMENT == 0 and length % 8 == 0


def test_a_file_that_is_mapped_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "small.wb"
    wb.save(small(), path)
    before = path.read_bytes()
    again = wb.load(path, mmap=True)
    weight = next(iter(again.parameters.values()))
    with wb.no_grad():
        weight.zero_()
    assert not weight.any() and path.read_bytes() == before


def test_guards_hold_in_what_was_loaded() -> None:
    graph = trace(lambda x: x * 2 if x.shape[0] > 2 else x, wb.rand(4))
    with pytest.raises(wb.DimensionError, match=r"test_archive\.py:\d+ decided something by it"):
        wb.load(io.BytesIO(written(graph)))(wb.rand(2))


# --------------------------------------------------------------------------------------- what is refused


def test_metadata_are_text(tmp_path: Path) -> None:
    path = tmp_path / "small.wb"
    save_graph(small(), path, {"trained on": "digits ✓", "": "\n"})
    assert read_metadata(path) == {"trained on": "digits ✓", "": "\n"}
    with pytest.raises(TypeError, match="metadata are text by text"):
        save_graph(small(), path, {"epochs": 3})  # type: ignore[dict-item]
    assert read_metadata(path)["trained on"] == "digits ✓"


def test_what_no_archive_holds_is_refused_and_nothing_written(tmp_path: Path) -> None:
    whole = parse(
        "g(%x : f32[N:2]):\n  %y : tensor = modules['act'](%x)\n  return %y", {}, {"act": wb.nn.ReLU()}
    )
    path = tmp_path / "g.wb"
    with pytest.raises(WeightsError, match="g calls 'act' as a whole module, whose code no archive holds"):
        wb.save(whole, path)
    broken = small()
    broken.nodes.clear()
    with pytest.raises(GraphError, match="which nothing makes"):
        wb.save(broken, path)
    assert not list(tmp_path.iterdir())


def changed(content: bytes, entry: str, change: Any) -> bytes:
    """An archive with what `change` makes of an entry, written as zips are."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for one in old.namelist():
            held = old.read(one)
            if one.endswith(entry):
                held = change(held)
            if held is not None:
                new.writestr(one, held)
    return file.getvalue()


def with_keys(**keys: Any) -> Any:
    return lambda held: json.dumps({**json.loads(held), **keys}).encode()


@pytest.mark.parametrize(
    ("entry", "change", "message"),
    [
        (
            "workbench.json",
            with_keys(version=3),
            "it is of version 3, and this workbench reads versions up to 2",
        ),
        ("workbench.json", with_keys(version="1"), "it is no workbench graph"),
        ("workbench.json", with_keys(version=True), "it is no workbench graph"),
        ("workbench.json", with_keys(format="other"), "says 'other', version 1"),
        ("workbench.json", with_keys(metadata=[1]), "the metadata in workbench.json are not text by text"),
        ("workbench.json", lambda held: b"{" * 100_000, "workbench.json is no JSON that can be read"),
        ("workbench.json", lambda held: held + b" " * (1 << 20), "more than the 1048576 that are read"),
        ("graph.json", lambda held: None, "the zip has no entry"),
        ("graph.json", with_keys(graph="g():"), "graph.json has not the lines of a graph"),
        ("graph.json", with_keys(graph=["g():"]), "graph.json: line 1"),
        ("graph.json", with_keys(graph=["import os"]), "graph.json: line 1"),
        ("graph.json", with_keys(trainable=["shift"]), "trains 'shift', which is no tensor of floats"),
        ("graph.json", with_keys(trainable=["no"]), "trains 'no', which is no tensor of floats"),
        ("graph.json", with_keys(tensors={"no": {}}), "tells of the tensor 'no', which is not there"),
        (
            "graph.json",
            with_keys(tensors={"weight": {"dtype": "complex128"}}),
            "'weight': it is no pairs of doubles",
        ),
        ("graph.json", with_keys(tensors={"weight": {"dtype": "os"}}), "there is no type 'os' of codes"),
        (
            "graph.json",
            with_keys(tensors={"weight": {"dtype": "qint8", "scale": 1.0, "zero_point": 0, "axis": None}}),
            "codes of NumPy's type float32 cannot be qint8",
        ),
        (
            "graph.json",
            with_keys(tensors={"shift": {"dtype": "qint8", "scale": ["x"], "zero_point": [0], "axis": 0}}),
            "its scales or zero points are no numbers",
        ),
        ("graph.json", with_keys(tensors={"shift": {"dtype": "qint8", "axis": 7}}), "it has no axis 7"),
        ("weights.safetensors", lambda held: held[:-1], "lies from 32 to 34, of 33 bytes"),
        ("weights.safetensors", lambda held: b"\xff" * 8 + held[8:], "the header claims"),
        ("weights.safetensors", lambda held: b"", "the file has 0 bytes and no header"),
    ],
)
def test_what_is_wrong_is_said(entry: str, change: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.wb"
    path.write_bytes(changed(written(small()), entry, change))
    with pytest.raises(WeightsError, match=message) as raised:
        wb.load(path)
    assert str(raised.value).startswith(str(path))


RELU = "  %y : f32[N:2] = relu(%x)"
DOUBLING = [
    *("f0(%x : f32[N:2]):", RELU, "  return %y"),
    *(
        line
        for i in range(1, 60)
        for line in (
            f"f{i}(%x : f32[N:2]):", f"  %y : f32[N:2] = @f{i - 1}(%x)", f"  %z : f32[N:2] = @f{i - 1}(%y)",
            "  return %z",
        )
    ),
]  # fmt: skip
"""Functions that call the one before twice: a few lines, and 2⁵⁹ calls."""


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["f(%x : f32[N:2]):", "  %y : f32[N:2] = @f(%x)", "  return %y", *DOUBLING[:3]], "line 2 calls 'f', and no"),
        (["f(%x : f32[N:2]):", "  %y : f32[N:2] = @f0(%x)", "  return %y", *DOUBLING[:3]], "line 2 calls 'f0', and no"),
        (["g(%x : f32[N:2]):", "  %y : f32[N:2] = relu(%z)", "  %z : f32[N:2] = relu(%y)", "  return %y"],
         "line 2 reads %z, which nothing above it makes"),
        (["g(%x : f32[N:2]):", f"  %y : f32[N:2] = relu({'[' * 100_000}{']' * 100_000})", "  return %y"],
         "line 2 has what is not understood"),
        (["g(%x : f32[N:2]):", *["  " * i + "%c : f32[N:2] = if(True):" for i in range(1, 400)], "  return %x"],
         "line 3 has"),
        (["g(%x : f32[N:2]):", "  %y : f32[N:2] = os.system('true')", "  return %y"], "line 2"),
    ],
    ids=["calls itself", "calls what comes later", "a circle of nodes", "deep operands", "deep blocks", "a command"],
)  # fmt: skip
def test_a_hostile_graph_is_refused_by_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(WeightsError, match=f"graph.json: {message}"):
        wb.load(io.BytesIO(changed(written(small()), "graph.json", with_keys(graph=lines))))


def test_functions_that_double_are_opened_and_never_written_out() -> None:
    graph = wb.load(io.BytesIO(changed(written(small()), "graph.json", with_keys(graph=DOUBLING))))
    for write in (passes.inline, wb.fx.from_graph, lambda one: wb.onnx.save(one, io.BytesIO())):
        with pytest.raises(
            GraphError, match="would have 576460752303423488 nodes with its functions in the places"
        ):
            write(graph)


def test_names_that_lead_out_of_an_archive_lead_nowhere(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written(small()))) as old, zipfile.ZipFile(file, "w") as new:
        for one in old.namelist():
            new.writestr(f"../{one}", old.read(one))
    with pytest.raises(WeightsError, match="the zip has no entry"):
        wb.load(io.BytesIO(file.getvalue()))


def test_no_bomb_is_unpacked() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/workbench.json", b" " * (1 << 26))
    file.seek(0)
    with pytest.raises(WeightsError, match="claim more than the file has"):
        wb.load(file)


def test_no_mutated_file_brings_another_error() -> None:
    content = written(small())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    random = np.random.default_rng(0)
    # What only fills up says nothing, and most changes of it are not seen.
    for turn in range(1500):
        damaged = bytearray(content)
        for place in random.integers(0, len(content), random.integers(1, 5)):
            damaged[place] = random.integers(256)
        if turn % 5 == 0:
            del damaged[random.integers(len(damaged)) :]
        if turn % 7 == 0:
            # Lengths beyond all bounds.
            place = random.integers(len(damaged) + 1)
            damaged[place:place] = b"\xff" * int(random.integers(1, 9))
        try:
            found = wb.load(io.BytesIO(bytes(damaged)))
        except WeightsError:
            continue
        assert isinstance(found, Graph)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY


def test_no_mutated_text_brings_another_error() -> None:
    # Behind the checksums: what somebody wrote on purpose.
    content = written(small())
    random = np.random.default_rng(1)
    for _ in range(400):

        def change(held: bytes) -> bytes:
            damaged = bytearray(held)
            for place in random.integers(0, len(held), random.integers(1, 4)):
                damaged[place] = random.integers(32, 127)
            return bytes(damaged)

        entry = ("workbench.json", "graph.json", "weights.safetensors")[random.integers(3)]
        try:
            found = wb.load(io.BytesIO(changed(content, entry, change)))
        except WeightsError:
            continue
        assert isinstance(found, Graph)
