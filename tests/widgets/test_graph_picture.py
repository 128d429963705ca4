"""What is drawn of a graph: parameters in their readers, blocks and functions as boxes, sizes, what is alike."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.live.encode import encode_snapshot
from workbench.live.messages import GraphNode, GraphState, SelectEvent
from workbench.models import resnet18
from workbench.widgets.graph import GraphModel, graph
from workbench.widgets.graph_picture import GraphPicture

BLOCKS = """net(%x : f32[N:4, C:3], %c : bool, %n : int):
  %w : f32[C:3, D:3] = parameter()
  %y : f32[N:4, C:3] = if(%c):
    then():
      %a : f32[N:4, C:3] = loop(%n, True, %x):
        body(%i : int, %p : f32[N:4, C:3]):
          %j : int = operator.add(%i, 1)
          %q : f32[N:4, C:3] = mul(%p, %j)
          return True, %q
      return %a
    else():
      %d : f32[N:4, C:3] = exp(%x)
      return %d
  %z : f32[N:4, D:3] = matmul(%y, %w)
  return %z"""

FUNCTIONS = """twice(%v : f32[N:3], %k : f32[N:3]):
  %a : f32[N:3] = mul(%v, %k)
  %b : f32[N:3] = relu(%a)
  return %b
main(%x : f32[N:3]):
  %w : f32[N:3] = parameter()
  %y : f32[N:3] = @twice(%x, %w)
  %z : f32[N:3] = @twice(%y, %w)
  return %z"""


def by_id(picture: GraphPicture) -> dict[str, GraphNode]:
    return {node.id: node for node in picture.nodes}


def joined(picture: GraphPicture) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in picture.edges}


def same(picture: GraphPicture) -> dict[str, int]:
    return {scope.id: scope.same for scope in picture.scopes}


def test_parameters_and_constants_stand_in_the_nodes_that_use_them() -> None:
    layer = wb.nn.Linear(3, 2)
    shift = wb.ones(2)
    picture = GraphPicture(wb.graph.trace(lambda x: layer(x) + shift, wb.ones(N=4, C=3)))
    nodes = by_id(picture)
    assert {node.kind for node in picture.nodes} == {"input", "op", "output"}
    (constant,) = nodes["add"].held
    assert (constant.kind, constant.dtype, constant.elements) == ("constant", "f32", 2)
    traced = GraphPicture(wb.graph.trace(layer, wb.ones(N=4, C=3)))
    held = by_id(traced)["linear"].held
    assert [(one.name, one.kind, one.elements) for one in held] == [
        ("weight", "parameter", 6), ("bias", "parameter", 2),
    ]  # fmt: skip
    assert [(dim.name, dim.size) for dim in held[0].dims] == [("out_features", 2), ("in_features", 3)]
    assert by_id(traced)["linear"].parameters == 8


def test_control_flow_is_drawn_as_boxes_in_boxes() -> None:
    picture = GraphPicture(wb.graph.parse(BLOCKS, {"w": wb.ones(C=3, D=3)}))
    nodes = by_id(picture)
    assert {scope.id: scope.kind for scope in picture.scopes} == {
        "if y": "if", "if y.then": "block", "if y.else": "block", "if y.then.loop a": "loop",
        "if y.then.loop a.body": "block",
    }  # fmt: skip
    assert nodes["q"].scope == ["if y", "then", "loop a", "body"]
    assert nodes["d"].scope == ["if y", "else"]
    # The node where the results of its blocks meet stands in the box.
    assert nodes["y"].scope == ["if y"]
    assert nodes["a"].scope == ["if y", "then", "loop a"]
    assert nodes["z"].scope == []
    assert joined(picture) == {
        ("x", "p"), ("i", "j"), ("p", "q"), ("j", "q"), ("q", "a"), ("n", "a"), ("x", "d"), ("c", "y"),
        ("a", "y"), ("d", "y"), ("y", "z"), ("z", "output 0"),
    }  # fmt: skip


def test_a_function_is_drawn_at_each_call_with_what_it_is_given() -> None:
    drawn = wb.graph.parse(FUNCTIONS, {"w": wb.ones(N=3)})
    picture = GraphPicture(drawn)
    nodes = by_id(picture)
    assert len(nodes) == len(picture.nodes)
    assert nodes["y › a"].scope == ["@twice y"] == nodes["y"].scope
    assert [one.name for one in nodes["y › a"].held] == ["w"]
    assert ("x", "y › v") in joined(picture)
    assert ("y › b", "y") in joined(picture)
    assert ("y", "z › v") in joined(picture)
    assert same(picture)["@twice y"] == same(picture)["@twice z"]
    # Nothing counts twice: the box has the costs of what is in it.
    assert sum(node.flops for node in picture.nodes) == wb.graph.total(drawn).flops


def test_a_function_without_room_is_drawn_as_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.widgets.graph_picture.MOST_NODES", 3)
    picture = GraphPicture(wb.graph.parse(FUNCTIONS, {"w": wb.ones(N=3)}))
    assert [node.id for node in picture.nodes] == ["x", "y", "z", "output 0"]
    assert picture.missing == 0
    assert ("x", "y") in joined(picture)


def test_sizes_of_any_run_go_by_names() -> None:
    flow = wb.graph.trace(lambda x: x[:, ::2].reshape(-1), wb.ones(N=4, C=6))
    picture = GraphPicture(flow)
    nodes = by_id(picture)
    assert nodes["x"].sizes == ["n", "c"]
    assert nodes["reshape"].sizes == ["n*((c + 1)//2)"]
    layer = GraphPicture(wb.graph.trace(wb.nn.Linear(6, 2), wb.ones(N=4, C=6)))
    assert by_id(layer)["input"].sizes == ["n", "6"], "no other will do"
    blocks = by_id(GraphPicture(wb.graph.parse(BLOCKS, {"w": wb.ones(C=3, D=3)})))
    # A loop may change sizes with each turn, which nobody knows before.
    assert blocks["p"].sizes == ["?", "?"]


def test_blocks_that_compute_the_same_are_found_by_structure() -> None:
    blocks = same(GraphPicture(wb.graph.trace(resnet18().eval(), wb.zeros(N=1, C=3, H=64, W=64))))
    assert blocks["layer1.0"] == blocks["layer1.1"]
    assert blocks["layer2.0"] != blocks["layer2.1"]
    assert blocks["layer1.1"] != blocks["layer2.1"]

    class Two(wb.nn.Module):
        def __init__(self, slope: float, last: bool) -> None:
            super().__init__()
            self.slope, self.last = slope, last

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            y = wb.nn.functional.leaky_relu(x, self.slope)
            return y.exp() + (x if self.last else y)

    def stacked(*layers: wb.nn.Module) -> dict[str, int]:
        return same(GraphPicture(wb.graph.trace(wb.nn.Sequential(*layers), wb.ones(N=2))))

    assert len(set(stacked(Two(0.1, True), Two(0.1, True)).values())) == 1
    assert len(set(stacked(Two(0.1, True), Two(0.2, True)).values())) == 2, "another parameter"
    assert len(set(stacked(Two(0.1, True), Two(0.1, False)).values())) == 2, "joined otherwise"


def test_codes_say_what_they_stand_for() -> None:
    def function(x: wb.Tensor) -> wb.Tensor:
        return wb.quantize_per_tensor(x, 0.5, 3, wb.quint8).dequantize()

    picture = by_id(GraphPicture(wb.graph.trace(function, wb.ones(2))))
    assert picture["quantize_per_tensor"].quantization.startswith("scale 0.500 · zero point 3")
    assert picture["quantize_per_tensor"].bits == 8
    assert picture["dequantize"].quantization == ""


def test_a_measured_graph_says_times_and_how_values_are_spread() -> None:
    wb.manual_seed(0)  # some of what the rectifier is given is positive
    model = wb.nn.Sequential(wb.nn.Linear(3, 4), wb.nn.ReLU()).eval()
    widget = graph(model, wb.rand(N=5, C=3), profile=True, title="measured")
    assert isinstance(widget.model, GraphModel)
    state = widget.model.snapshot().state
    assert isinstance(state, GraphState)
    ops = [node for node in state.nodes if node.kind == "op"]
    assert [node.seconds is not None and node.seconds > 0 for node in ops] == [True, True]
    assert state.values is None
    widget.model.handle(SelectEvent("select", "relu"))
    snapshot = widget.model.snapshot()
    values = snapshot.state.values  # type: ignore[attr-defined]
    assert values is not None
    assert (values.node, values.count, sum(values.bins)) == ("relu", 20, 20)
    assert values.low == 0.0
    encode_snapshot("graph", snapshot)
    widget.close()


def test_sizes_without_numbers_are_not_measured() -> None:
    layer = wb.nn.Linear(3, 4)
    for examples in ((), ({"N": 5, "C": 3},)):
        with pytest.raises(TypeError, match="measured by running it, which takes tensors with numbers"):
            graph(layer, *examples, profile=True)


def test_a_model_that_fails_is_shown_as_far_as_it_came() -> None:
    model = wb.nn.Sequential(wb.nn.Linear(3, 4), wb.nn.ReLU(), wb.nn.Linear(5, 2))
    widget = graph(model, wb.rand(N=6, C=3))
    state = widget.model.snapshot().state
    assert isinstance(state, GraphState)
    assert state.wrong.startswith("DimensionError: linear: ")
    ops = [node for node in state.nodes if node.kind == "op"]
    assert [(node.op, node.wrong != "") for node in ops] == [
        ("linear", False),
        ("relu", False),
        ("linear", True),
    ]
    assert [one.name for one in ops[-1].held] == ["2.weight", "2.bias"]
    assert ("relu", ops[-1].id) in {(edge.source, edge.target) for edge in state.edges}
    assert state.selected == ops[-1].id
    encode_snapshot("graph", widget.model.snapshot())
    widget.model.show(wb.graph.trace(lambda x: x + 1, wb.ones(2)))
    whole = widget.model.snapshot().state
    assert isinstance(whole, GraphState)
    assert (whole.wrong, whole.selected) == ("", None)
    widget.close()
