"""`ShapeProp` and `split_module`."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import fx, nn
from workbench.fx.passes.shape_prop import ShapeProp, TensorMetadata
from workbench.fx.passes.split_module import split_module
from workbench.graph import check, parse, text


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        self.weight = nn.Parameter(wb.ones(6))

    def forward(self, x: Any, scale: float = 2.0) -> Any:
        y = self.layers(x) * self.weight
        a, b = y.split(3, dim=1)
        return wb.cat([a, b * scale], 1).reshape(y.shape[0], -1)


def test_what_comes_out_is_noted() -> None:
    module = fx.symbolic_trace(Net())
    x = wb.randn(5, 4)
    assert wb.equal(ShapeProp(module).propagate(x), module(x))
    noted = {node.name: node.meta.get("tensor_meta") for node in module.graph.nodes}
    first = noted["layers_0"]
    assert isinstance(first, TensorMetadata)
    assert first == (wb.Size((5, 6)), wb.float32, True, (6, 1), wb.contiguous_format, False, {})
    assert [one.shape for one in noted["split"]] == [(5, 3), (5, 3)] and noted["scale"] is None
    assert next(iter(module.graph.nodes)).meta["type"] is wb.Tensor
    image = fx.symbolic_trace(lambda x: x.contiguous(memory_format=wb.channels_last))
    ShapeProp(image).propagate(wb.ones(2, 3, 4, 4))
    assert image.graph.find_nodes(op="call_method")[0].meta["tensor_meta"].memory_format is wb.channels_last


def test_the_house_knows_the_types_from_then_on() -> None:
    module = fx.symbolic_trace(Net())
    ShapeProp(module).propagate(wb.randn(5, 4))
    house = check(module.graph.ir)
    written = text(house)
    assert "%x : f32[·:5, ·:4]" in written and "%layers_1 : f32[·:5, ·:6] = modules['layers.1']" in written
    assert "%getattr_1 : tuple[int, int]" in written and "%getitem_2 : int" in written
    # Sizes are those of that run, and the graph is one for any.
    assert wb.equal(house(wb.ones(2, 4), 2.0), module(wb.ones(2, 4)))
    again = parse(written, dict(module.named_parameters()), house.modules)
    assert text(again) == written


def test_a_change_forgets_the_type() -> None:
    module = fx.symbolic_trace(lambda x: x.sum(1))
    ShapeProp(module).propagate(wb.ones(2, 3))
    (node,) = module.graph.find_nodes(op="call_method")
    node.args = (node.args[0],)
    assert "%sum_1 : any" in text(check(module.graph.ir))


def test_parts_of_a_module() -> None:
    net = Net()
    module = fx.symbolic_trace(net)
    paths: dict[str, str] = {}

    def part(node: fx.Node) -> int:
        return 0 if node.name in ("layers_0", "layers_1", "mul") else 1 if node.name != "cat" else 2

    split = split_module(module, net, lambda node: "late" if node.name in ("reshape",) else part(node), paths)
    assert [name for name, _ in split.named_children()] == ["submod_0", "submod_1", "submod_2", "submod_late"]
    assert paths == {"submod_0.layers_0": "layers.0", "submod_0.layers_1": "layers.1"}
    assert split.code.split("\n")[5:9] == [
        "    submod_0 = self.submod_0(x, weight);  x = weight = None",
        "    submod_1 = self.submod_1(submod_0, scale);  submod_0 = scale = None",
        "    getitem = submod_1[0]",
        "    getitem_1 = submod_1[1]",
    ]
    x = wb.randn(5, 4)
    assert wb.equal(split(x), net(x)) and wb.equal(split(x, 3.0), net(x, 3.0))
    split(x).sum().backward()
    assert all(one.grad is not None for one in net.parameters())


def test_parts_run_behind_those_that_they_read() -> None:
    module = fx.symbolic_trace(lambda x: ((x + 1) * 2).relu().exp())
    names = {"add": "b", "mul": "a", "relu": "a", "exp": "c"}
    split = split_module(module, module, lambda node: names[node.name], keep_original_node_name=True)
    assert [name for name, _ in split.named_children()] == ["submod_b", "submod_a", "submod_c"]
    assert wb.equal(split(wb.ones(2)), module(wb.ones(2)))
    names["relu"] = "b"
    with pytest.raises(
        RuntimeError, match="cycle exists between partitions! b, a, c read one another in a circle"
    ):
        split_module(module, module, lambda node: names[node.name])
