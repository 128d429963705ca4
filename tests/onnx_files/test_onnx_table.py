"""What needs no file: the table, the functions that graphs call, numbers that are sizes."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import workbench as wb
from workbench.graph.blocks import NAME
from workbench.onnx.families.quantized import exact_product
from workbench.onnx.messages import Message
from workbench.onnx.table import DOMAINS, NEWEST
from workbench.onnx.values import Integers
from workbench.onnx.wire import chunks

RECORDS = [
    pytest.param(version, id=f"{one.domain}.{one.name}.{since}".lstrip("."))
    for one in wb.onnx.operators()
    for since, version in sorted(one.versions.items())
]


def test_no_package_takes_a_file_apart():
    # A process of its own: others of this one may have imported it.
    code = (
        "import sys, workbench as wb; wb.onnx.load(bytes.fromhex(sys.argv[1])); "
        "print({'onnx', 'google'} & {*sys.modules})"
    )
    made = Message(
        "Model",
        ir_version=8,
        opset_import=[Message("OperatorSet", version=17)],
        graph=Message(
            "Graph",
            node=[Message("Node", op_type="Relu", input=["x"], output=["y"])],
            input=[Message("ValueInfo", name="x")],
            output=[Message("ValueInfo", name="y")],
        ),
    )
    data = b"".join(chunks(made)).hex()
    done = subprocess.run([sys.executable, "-c", code, data], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("version", RECORDS)
def test_a_record_is_a_function_that_graphs_can_call(version):
    found = wb.graph.named(version.name)
    assert found.call == version.run
    assert 1 <= version.since <= NEWEST
    parameters = list(version.parameters.values())
    places = [one for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    endless = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in places)
    # What it says of inputs is said of inputs that it has.
    assert endless or all(place < len(places) for place in version.still)
    assert version.numbers <= version.still


def test_domains_are_known_by_a_word():
    assert all(name.isidentifier() for name in DOMAINS.values() if name)


def test_a_graph_that_calls_operators_is_read_from_text():
    graph = wb.graph.parse(
        "g(%x : f32[N:2, C:3]):\n  %y : any = onnx.Softmax_13(%x, axis=1)\n"
        "  %z : any = onnx.Reshape(%y, [-1])\n  return %z"
    )
    assert wb.allclose(graph(wb.ones(2, 3)), wb.full((6,), 1 / 3))
    assert str(wb.graph.parse(str(graph))) == str(graph)


def test_a_function_that_is_not_there_is_refused():
    with pytest.raises(wb.graph.GraphError, match=r"'onnx\.Nothing' is no function"):
        wb.graph.named("onnx.Nothing")


def _shape_of(x):
    shape = wb.graph.named("onnx.Shape").call(x)
    first = wb.graph.named("onnx.Gather").call(shape, 0)
    return shape, first


def test_sizes_stay_numbers_as_long_as_nobody_needs_a_tensor():
    call = {
        name: wb.graph.named(f"onnx.{name}").call
        for name in ("Add", "Concat", "Cast", "Mul", "Slice_10", "Unsqueeze")
    }
    shape, first = _shape_of(wb.ones(4, 5, 6))
    assert (shape.plain(), first.plain()) == ([4, 5, 6], 4)
    assert call["Slice_10"](shape, [1], [3]).plain() == [5, 6]
    twice = call["Mul"](first, 2)
    row = call["Unsqueeze"](twice, axes=[0])
    assert call["Concat"](row, [-1], axis=0).plain() == [8, -1]
    narrow = call["Cast"](shape, to=6)
    assert narrow.tensor().dtype == wb.int32
    assert call["Add"](narrow, wb.tensor([1, 1, 1], dtype=wb.int32)).tensor().dtype == wb.int32
    assert isinstance(call["Cast"](shape, to=1), wb.Tensor)


def test_a_trace_keeps_what_is_computed_of_sizes():
    def rows(x):
        _, first = _shape_of(x)
        half = wb.graph.named("onnx.Div").call(first, 2)
        shape = wb.graph.named("onnx.Concat").call(Integers([half.number]), [-1], axis=0)
        return wb.graph.named("onnx.Reshape").call(x, shape)

    graph = wb.graph.trace(rows, wb.ones(4, 3))
    assert graph(wb.ones(10, 3)).shape == (5, 6)


@pytest.mark.parametrize("size", [1, 257, 258, 259, 1000])
def test_products_of_whole_numbers_are_exact(size):
    draw = np.random.default_rng(size)
    a, b = (draw.integers(-255, 256, sizes) for sizes in ((3, size), (size, 4)))
    # The largest that there can be, too: every sum is then as large as it gets.
    a[0], b[:, 0] = 255, 255
    found = exact_product(wb.from_numpy(a), wb.from_numpy(b))
    assert found.tolist() == (a @ b).tolist()


def test_names_are_those_that_a_graph_can_have():
    assert all(re.fullmatch(NAME, one.values[0].name) for one in RECORDS)


def test_a_size_is_not_divided_by_nothing():
    with pytest.raises(wb.onnx.OnnxError, match=r"onnx\.Div cannot be computed"):
        wb.graph.named("onnx.Div").call(4, 0)
