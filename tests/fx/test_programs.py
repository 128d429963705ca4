"""Programs of the kind that people write with FX: fusion, profiling, replacing, decomposing, annotating."""

from __future__ import annotations

import copy
import operator
import time
from collections import defaultdict
from typing import Any

import pytest

import workbench as wb
from workbench import fx, nn
from workbench.nn import functional as F
from workbench.nn.utils import fuse_conv_bn_eval


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
        )
        self.conv = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        return F.relu(self.norm(self.conv(self.body(x))) + x)


@pytest.fixture
def net() -> nn.Module:
    wb.manual_seed(0)
    made = nn.Sequential(
        nn.Conv2d(3, 4, 3), Block(4), Block(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    )
    made(wb.randn(8, 3, 6, 6))
    return made.eval()


def fused(model: nn.Module) -> fx.GraphModule:
    """Fold every batch normalisation into the convolution before it that nobody else reads."""
    module = fx.symbolic_trace(copy.deepcopy(model))
    parts = dict(module.named_modules())
    for node in module.graph.nodes:
        if node.op != "call_module" or not isinstance(parts[node.target], nn.BatchNorm2d):
            continue
        before = node.args[0]
        if (
            before.op == "call_module"
            and isinstance(parts[before.target], nn.Conv2d)
            and len(before.users) == 1
        ):
            place, _, name = before.target.rpartition(".")
            setattr(
                module.get_submodule(place), name, fuse_conv_bn_eval(parts[before.target], parts[node.target])
            )
            node.replace_all_uses_with(before)
            module.graph.erase_node(node)
    module.graph.lint()
    module.delete_all_unused_submodules()
    module.recompile()
    return module


def test_convolutions_take_in_their_normalisation(net: nn.Module) -> None:
    x = wb.randn(2, 3, 6, 6)
    module = fused(net)
    assert not any(isinstance(one, nn.BatchNorm2d) for one in module.modules())
    assert wb.allclose(module(x), net(x), atol=1e-5)
    # The model itself is as it was.
    assert sum(isinstance(one, nn.BatchNorm2d) for one in net.modules()) == 4


class Profiler(fx.Interpreter):
    """Notes how long each node takes."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(fx.symbolic_trace(module))
        self.times: dict[fx.Node, list[float]] = defaultdict(list)

    def run_node(self, n: fx.Node) -> Any:
        start = time.perf_counter()
        result = super().run_node(n)
        self.times[n].append(time.perf_counter() - start)
        return result

    def summary(self) -> list[tuple[str, str, int]]:
        return [(node.op, node.name, len(times)) for node, times in self.times.items()]


def test_an_interpreter_profiles(net: nn.Module) -> None:
    profiler = Profiler(net)
    x = wb.randn(2, 3, 6, 6)
    for _ in range(2):
        assert wb.equal(profiler.run(x), net(x))
    assert profiler.summary()[:3] == [
        ("placeholder", "input_1", 2),
        ("call_module", "_0", 2),
        ("call_module", "_1_body_0", 2),
    ]
    assert len(profiler.summary()) == len(profiler.graph.nodes)


def test_one_function_takes_the_place_of_another(net: nn.Module) -> None:
    module = fx.symbolic_trace(net)
    for node in module.graph.find_nodes(op="call_function", target=F.relu):
        node.target = F.gelu
    for node in module.graph.find_nodes(op="call_function", target=operator.add):
        with module.graph.inserting_after(node):
            other = module.graph.call_function(wb.mul, node.args, node.kwargs)
        node.replace_all_uses_with(other)
        module.graph.erase_node(node)
    module.recompile()
    assert "gelu" in module.code and " + " not in module.code and "workbench.mul" in module.code
    assert module(wb.randn(1, 3, 6, 6)).shape == (1, 2)


DECOMPOSITIONS: dict[Any, Any] = {
    F.relu: lambda x: (x > 0) * x,
    F.silu: lambda x: x * wb.sigmoid(x),
    operator.pow: lambda x, n: wb.exp(wb.log(x) * n),
}


def decomposed(module: fx.GraphModule) -> fx.GraphModule:
    """Write functions as others, by calling what decomposes them on proxies of a new graph."""
    graph = fx.Graph()
    known: dict[fx.Node, fx.Node] = {}
    tracer = fx.GraphAppendingTracer(graph)
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target in DECOMPOSITIONS:
            operands = fx.map_arg(node.args, lambda one: fx.Proxy(known[one], tracer))
            known[node] = DECOMPOSITIONS[node.target](*operands).node
        else:
            known[node] = graph.node_copy(node, known.__getitem__)
    return fx.GraphModule(module, graph)


def test_functions_are_written_as_others() -> None:
    def program(x: Any) -> Any:
        return F.silu(F.relu(x) + 1) ** 2.0

    module = decomposed(fx.symbolic_trace(program))
    assert [str(one.name) for one in module.graph.nodes if one.op == "call_function"] == [
        "gt", "mul", "add", "sigmoid", "mul_1", "log", "mul_2", "exp",
    ]  # fmt: skip
    x = wb.randn(5)
    assert wb.allclose(module(x), program(x), atol=1e-5)


class Quantized(nn.Module):
    """A layer whose weight and input are rounded to 8 bits."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.seen = 0.0

    def forward(self, x: Any) -> Any:
        self.seen = max(self.seen, float(x.abs().max()))
        step = self.seen / 127
        return self.layer((x / step).round() * step)


def test_layers_are_annotated_and_wrapped(net: nn.Module) -> None:
    module = fx.symbolic_trace(copy.deepcopy(net))
    parts = dict(module.named_modules())
    for node in module.graph.nodes:
        if node.op == "call_module" and isinstance(parts[node.target], nn.Linear | nn.Conv2d):
            node.meta["bits"] = 8
    for node in list(module.graph.nodes):
        if node.meta.get("bits"):
            module.add_submodule(f"quantized.{node.name}", Quantized(parts[node.target]))
            with module.graph.inserting_after(node):
                other = module.graph.call_module(f"quantized.{node.name}", node.args, node.kwargs)
            other.meta = dict(node.meta)
            node.replace_all_uses_with(other)
            module.graph.erase_node(node)
    module.recompile()
    module.graph.lint()
    x = wb.randn(2, 3, 6, 6)
    assert sum(node.meta.get("bits", 0) for node in module.graph.nodes) == 6 * 8
    assert wb.allclose(module(x), net(x), atol=0.1) and not wb.equal(module(x), net(x))


IMAGE = (1, 3, 32, 32)
MODELS: dict[str, Any] = {
    "resnet18": (wb.models.resnet18, IMAGE),
    "mobilenet_v2": (wb.models.mobilenet_v2, IMAGE),
    "vit_small": (wb.models.vit_small, IMAGE),
    "LeNet": (wb.models.LeNet, (1, 1, 28, 28)),
    "DigitsNet": (wb.models.DigitsNet, (1, 1, 28, 28)),
}


@pytest.mark.parametrize("name", MODELS)
def test_networks_of_the_house_are_traced_and_run(name: str) -> None:
    make, shape = MODELS[name]
    net = make().eval()
    module = fx.symbolic_trace(net)
    module.graph.lint()
    x = wb.randn(*shape)
    with wb.no_grad():
        wanted = net(x)
        for found in (module(x), wb.graph.check(module.graph.ir)(x)):
            assert wb.equal(found, wanted)


def test_a_part_that_looks_at_sizes_is_a_leaf() -> None:
    net = wb.models.BertEncoder(wb.models.BertSettings(layers=1)).eval()

    class Whole(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return module_qualified_name in ("embeddings", "encoder")

    with pytest.raises(fx.TraceError, match=r"^bert.py:[0-9]+: if count > most"):
        fx.symbolic_trace(net)
    tracer = Whole()
    graph = tracer.trace(net, {"mask": None, "types": None})
    module = fx.GraphModule(tracer.root, graph)
    words = wb.randint(0, 100, (2, 5))
    with wb.no_grad():
        assert wb.equal(module(words), net(words))
        with pytest.raises(AssertionError, match="mask has been specialized to have value None"):
            module(words, wb.ones(2, 5))
