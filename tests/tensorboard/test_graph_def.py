"""Graphs in TensorBoard's logs: read back with tensorboardX's own messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.proto.graph_pb2 import GraphDef
from tensorboardX.proto.types_pb2 import DataType

import workbench as wb
from workbench import tensorboard
from workbench.graph import passes, trace
from workbench.models import DigitsNet, LeNet, resnet18, vit_small
from workbench.tensorboard.graph_def import graph_def

BLOCKS = """net(%x : f32[N:4], %c : bool, %n : int):
  %h : f32[N:4] = relu(%x)
  %y : f32[N:4] = if(%c):
    then():
      %a : f32[N:4] = loop(%n, True, %h):
        body(%i : int, %p : f32[N:4]):
          %q : f32[N:4] = mul(%p, 2.0)
          return True, %q
      return %a
    else():
      %d : f32[N:4] = exp(%h)
      return %d
  return %y"""


def read(written: Any) -> dict[str, Any]:
    """The nodes of a graph by their names, after it was bytes; what each reads is there, and so is that output."""
    parsed = GraphDef()
    parsed.ParseFromString(written.SerializeToString())
    nodes = {node.name: node for node in parsed.node}
    assert len(nodes) == len(parsed.node), "two nodes of one name"
    assert parsed.versions.producer == 22
    for node in nodes.values():
        assert re.fullmatch(r"[\w.\[\]-]+(/[\w.\[\]-]+)*", node.name), node.name
        for one in node.input:
            name, _, output = one.partition(":")
            assert name in nodes, f"{node.name} reads {one}"
            assert int(output or 0) < len(nodes[name].attr["_output_shapes"].list.shape), one
    return nodes


def shape(node: Any, output: int = 0) -> list[tuple[str, int]]:
    return [(dim.name, dim.size) for dim in node.attr["_output_shapes"].list.shape[output].dim]


def test_names_are_paths_of_modules_and_nodes_have_inputs_shapes_types_and_settings() -> None:
    nodes = read(graph_def(DigitsNet().eval(), wb.zeros(N=2, C=1, H=28, W=28)))
    conv = nodes["DigitsNet/conv1/conv2d"]
    assert conv.op == "conv2d"
    assert [*conv.input] == ["input/x", "DigitsNet/conv1/weight", "DigitsNet/conv1/bias"]
    assert shape(conv) == [("N", 2), ("C", 32), ("H", 28), ("W", 28)]
    assert conv.attr["dtype"].type == DataType.Value("DT_FLOAT")
    assert "padding=(1, 1)" in conv.attr["attr"].s.decode()
    assert re.search(r"\.py:\d+$", conv.attr["source"].s.decode())
    weight = nodes["DigitsNet/conv1/weight"]
    assert weight.op == "Parameter" and [size for _, size in shape(weight)] == [32, 1, 3, 3]
    output = nodes["output/output"]
    assert output.op == "IO Node" and shape(output) == [("N", 2), ("out_features", 10)]


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (LeNet, {"N": 2, "C": 1, "H": 28, "W": 28}),
        (resnet18, {"N": 2, "C": 3, "H": 64, "W": 64}),
        (vit_small, {"N": 1, "C": 3, "H": 32, "W": 32}),
    ],
    ids=["lenet", "resnet18", "vit"],
)
def test_models_trained_or_not_and_after_passes_can_be_read(
    make: Callable[[], Any], sizes: dict[str, int]
) -> None:
    for model in (make(), make().eval()):
        graph = trace(model, sizes)
        plain = read(graph_def(graph))
        assert len(plain) >= len(graph.nodes)
        # What stands in a function is drawn where it is called: nothing that computes is lost.
        fused = read(graph_def(passes.fuse_elementwise(passes.fuse_convolutions(graph))))
        kinds = ("Parameter", "Const")
        assert sum(1 for one in fused.values() if one.op not in kinds) == sum(
            1 for one in plain.values() if one.op not in kinds
        )


def test_branches_loops_and_functions_are_scopes() -> None:
    nodes = read(graph_def(wb.graph.parse(BLOCKS)))
    inside = "net/if[y]/then/loop[a]"
    assert [*nodes[f"{inside}/body/q"].input] == [f"{inside}/body/p"]
    assert [*nodes[f"{inside}/body/p"].input] == ["net/h"], "what a loop begins with"
    assert [*nodes[f"{inside}/a"].input] == ["input/n", f"{inside}/body/q"]
    assert [*nodes["net/if[y]/y"].input] == ["input/c", f"{inside}/a", "net/if[y]/else/d"]
    assert nodes["input/c"].attr["_output_shapes"].list.shape[0].unknown_rank
    assert nodes["input/c"].attr["type"].s == b"bool"


def test_of_several_results_each_reader_says_which() -> None:
    def halves(x: Any) -> Any:
        values, places = x.max(dim=1)
        return {"high": values.relu()}, places + 1

    nodes = read(graph_def(halves, wb.ones(N=2, C=4)))
    [add] = [one for one in nodes.values() if one.op == "add"]
    assert [one for one in add.input if one.endswith(":1")], [*add.input]
    assert {"output/output.0", "output/output.1"} <= set(nodes)


def test_codes_of_eight_bits_have_their_type() -> None:
    model, images = LeNet().eval(), wb.rand(N=4, C=1, H=28, W=28)
    prepared = wb.quantization.prepare(wb.quantization.fuse_automatically(model, images))
    prepared(images)
    nodes = read(graph_def(wb.quantization.convert(prepared), images))
    assert DataType.Value("DT_QUINT8") in {one.attr["dtype"].type for one in nodes.values()}


def test_no_name_begins_a_scope_or_counts_an_output() -> None:
    graph = trace(lambda x: (x + 1).relu(), wb.ones(2))
    graph.name = "a/b:0"
    graph.nodes[0].scope = ("^up/down", "<b>", "")
    nodes = read(graph_def(graph))
    assert "a_b_0/up_down/_b_/_/add" in nodes or "a_b_0/up_down/b/_/add" in nodes


def test_what_has_its_graph_is_written_as_it_is(tmp_path: Path) -> None:
    def grown(x, n: int):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x * 2
        return x

    scripted = wb.jit.script(grown)
    assert any(one.op == "loop" for one in read(graph_def(scripted)).values())
    traced = wb.jit.trace(LeNet().eval(), wb.ones(N=2, C=1, H=28, W=28))
    assert read(graph_def(traced)).keys() == read(graph_def(traced.graph)).keys()


def test_a_log_has_the_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.Dropout(), wb.nn.ReLU())
    model[1].eval()
    with tensorboard.SummaryWriter(tmp_path) as log:
        log.add_graph(model, wb.ones(4, 3), verbose=True)
        log.add_graph(model, (wb.ones(4, 3),), False, False)
    assert "linear" in capsys.readouterr().out
    assert [one.training for one in model.modules()] == [True, True, False, True], "as it was"
    log_read = tensorboard.open(tmp_path)
    assert log_read.problems == []
    parsed = GraphDef()
    parsed.ParseFromString(log_read.runs["."].graph)
    assert "Sequential/2/relu" in read(parsed)
    assert not any(one.op == "dropout" for one in parsed.node), "as in evaluation"


def test_the_graph_of_an_onnx_file(tmp_path: Path) -> None:
    model = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.ReLU()).eval()
    wb.onnx.export(model, (wb.ones(4, 3),), tmp_path / "model.onnx")
    with tensorboard.SummaryWriter(tmp_path) as log:
        with pytest.raises(wb.onnx.OnnxError):
            log.add_onnx_graph(b"no model")
        log.add_onnx_graph(tmp_path / "model.onnx")
    parsed = GraphDef()
    parsed.ParseFromString(tensorboard.open(tmp_path).runs["."].graph)
    assert {"onnx.Gemm", "onnx.Relu"} <= {one.op for one in parsed.node}


def test_what_cannot_be_traced_says_what_to_give(tmp_path: Path) -> None:
    with tensorboard.SummaryWriter(tmp_path) as log:
        with pytest.raises(
            TypeError, match=r"a Linear is traced with an example .*add_graph\(model, images\)"
        ):
            log.add_graph(wb.nn.Linear(1, 1))
        with pytest.raises(TypeError, match="a int is neither a graph nor something to trace"):
            log.add_graph(3)  # type: ignore[arg-type]
        model = wb.nn.Linear(3, 2)
        with pytest.raises(wb.DimensionError):
            log.add_graph(model, wb.ones(4, 5))
    assert model.training
