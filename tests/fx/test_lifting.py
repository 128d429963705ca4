"""The way back: graphs of the house as graph modules, edited in PyTorch's words, and saved as folders."""

from __future__ import annotations

import importlib
import io
import operator
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench import fx, nn
from workbench.graph import GraphError, check, parse, trace

F = nn.functional
BRANCH = """g(%x : f32[N:3], %w : f32[]):
  %s : f32[] = sum(%x, dim=(0,), keepdim=False)
  %c : bool = builtins.bool(%s)
  %y : f32[N:3] = if(%c):
    then():
      %a : f32[N:3] = mul(%x, %w)
      return %a
    else():
      %b : f32[N:3] = neg(%x)
      return %b
  return %y
"""


def _named(d: Any, y: Any) -> Any:
    return d["a"] + d["b"][0] * y


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "layers": (nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.LayerNorm(2)), [(4, 3), (1, 3)]),
    "sizes": (lambda x: x.reshape(x.shape[0] * 2, -1) / x.shape[1] ** 0.5 + (3 - x.shape[0]) // 2, [(2, 4), (5, 6)]),
    "two results": (lambda x: x.max(0), [(2, 3)]),
    "a list": (lambda x: list(x.split(1)), [(2, 3)]),
    "a slice": (lambda x: x[1 : x.shape[0] - 1, None, ::2], [(4, 3), (6, 5)]),
    "resnet18": (wb.models.resnet18().eval(), [(1, 3, 64, 64), (2, 3, 96, 64)]),
}  # fmt: skip


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return wb.equal(one, other)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_traced_graph_comes_back_and_computes_the_same(name: str) -> None:
    wb.manual_seed(0)
    function, sizes = FUNCTIONS[name]
    module = fx.from_graph(trace(function, wb.randn(*sizes[0])))
    module.graph.lint()
    ir = module.graph.ir
    check(ir)
    for one in sizes:
        x = wb.randn(*one)
        assert (
            same(module(x), function(x))
            and same(ir(x), function(x))
            and same(fx.Interpreter(module).run(x), function(x))
        )


def test_arguments_are_put_together_as_they_were() -> None:
    given = {"a": wb.ones(2), "b": [wb.ones(2) * 3]}
    module = fx.from_graph(trace(_named, given, wb.ones(2)))
    assert module(given, wb.tensor([1.0, 2.0])).tolist() == [4.0, 7.0]


def test_parameters_are_those_of_the_graph_and_learn() -> None:
    layer = nn.Linear(3, 2)
    module = fx.from_graph(trace(layer, wb.ones(4, 3)))
    assert module.weight is layer.weight and dict(module.named_parameters()).keys() == {"weight", "bias"}
    module(wb.ones(4, 3)).sum().backward()
    assert layer.weight.grad is not None


def test_buffers_and_inputs_become_what_they_became() -> None:
    layer, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    module = fx.from_graph(trace(layer, wb.randn(4, 3)))
    x = wb.randn(4, 3)
    assert wb.allclose(module(x), other(x)) and wb.allclose(layer.running_mean, other.running_mean)
    module = fx.from_graph(trace(lambda x: (x.add_(1), x * 2)[1], wb.ones(3)))
    given = wb.ones(3)
    assert module(given).tolist() == [4.0] * 3 and given.tolist() == [2.0] * 3


def test_guards_are_assertions() -> None:
    module = fx.from_graph(trace(lambda x: x * 2 if x.shape[0] > 2 else x, wb.ones(4)))
    with pytest.raises(
        AssertionError, match=r"test_lifting\.py:\d+: the graph is for sizes with .*shape\[0\] > 2"
    ):
        module(wb.ones(2))


def test_control_flow_stays_whole() -> None:
    graph = parse(BRANCH)
    module = fx.from_graph(graph)
    assert [node.op for node in module.graph.nodes].count("call_module") == 1
    for values in ([1.0, 2.0, 3.0], [-1.0, -2.0, 0.0]):
        x, w = wb.tensor(values, names=("N",)), wb.tensor(5.0, requires_grad=True)
        assert module(x, w).tolist() == graph(x, w).tolist()


def test_numbers_that_are_drawn_have_no_node() -> None:
    with pytest.raises(GraphError, match=r"draws random numbers \(rand\), which no node of fx does"):
        fx.from_graph(trace(lambda x: x + wb.rand(3), wb.ones(3)))
    wb.manual_seed(3)
    expected = F.dropout(wb.ones(50))
    wb.manual_seed(3)
    assert wb.equal(fx.from_graph(trace(nn.Dropout(), wb.ones(50)))(wb.ones(50)), expected)


def test_an_opened_file_is_edited_by_words_of_fx_and_written_again() -> None:
    file = io.BytesIO()
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 4)).eval()
    wb.onnx.save(model, file, wb.ones(2, 1, 6, 6))
    module = fx.from_graph(wb.onnx.load(file.getvalue()).graph)
    (relu,) = (node for node in module.graph.nodes if "Relu" in str(node.format_node()))
    with module.graph.inserting_after(relu):
        relu.replace_all_uses_with(module.graph.call_function(wb.sigmoid, relu.args))
    module.graph.erase_node(relu)
    module.recompile()
    model[1] = nn.Sigmoid()
    x = wb.randn(2, 1, 6, 6)
    assert wb.allclose(module(x), model(x), atol=1e-6)
    again = io.BytesIO()
    wb.onnx.save(module, again, x)
    assert wb.allclose(wb.onnx.load(again.getvalue())(x), model(x), atol=1e-6)
    assert "onnx.Conv" in str(module.graph.ir)


def test_a_pass_then_a_pattern() -> None:
    graph = wb.graph.passes.common_subexpressions(trace(lambda x: F.relu(x * 2) + F.relu(x * 2), wb.ones(3)))
    module = fx.from_graph(graph)
    assert len(fx.replace_pattern(module, lambda x: wb.core.ops.relu(x), lambda x: F.gelu(x))) == 1
    x = wb.randn(3)
    assert wb.allclose(module(x), F.gelu(x * 2) * 2)


# ------------------------------------------------------------------------------------------- code and folders


class Listed(fx.CodeGen):
    """The code generator of PyTorch's own test: all arguments in a list."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Take a list apart."""
        head = f"\ndef forward(self, args_list: List[wb.Tensor]){maybe_return_annotation}:"
        return f"{head}\n    {', '.join(free_vars)} = args_list"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Name what the annotation needs."""
        return [("List", list), ("wb", wb)]

    def process_inputs(self, *inputs: Any) -> Any:
        """Return what the list has."""
        assert len(inputs) == 1
        return inputs[0]

    def generate_output(self, output_args: Any) -> str:
        """Return a dict."""
        return f"return {{'result': {output_args!r}}}"

    def process_outputs(self, outputs: Any) -> Any:
        """Return a dict."""
        return {"result": outputs}


def test_a_code_generator_of_ones_own() -> None:
    module = fx.symbolic_trace(lambda a, b: a + 2 * b)
    module.graph.set_codegen(Listed())
    module.recompile()
    given = [wb.ones(2), wb.ones(2)]
    assert (
        module(given)["result"].tolist() == fx.Interpreter(module).run(given)["result"].tolist() == [3.0, 3.0]
    )
    assert "a, b = args_list" in module.code
    with pytest.raises(TypeError, match=r"set_codegen takes an fx\.CodeGen, got str"):
        module.graph.set_codegen("code")  # type: ignore[arg-type]


def test_lines_of_the_code_are_changed_and_no_longer() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    first = module.graph.on_generate_code(lambda _: lambda body: ["called = 1\n", *body])
    with (
        first,
        module.graph.on_generate_code(
            lambda now: lambda body: ["again = 2\n", *(now(body) if now else body)]
        ),
    ):
        module.recompile()
        assert "    again = 2\n    called = 1\n" in module.code and module(wb.ones(1)).item() == 2.0
    module.recompile()
    assert "called" not in module.code


def test_a_place_in_an_argument_is_open() -> None:
    def function(d: Any, flag: bool) -> Any:
        return d["a"] * d["b"][0] + d["c"] if flag else d["a"]

    fixed = {"d": {"a": fx.PH, "b": [fx.PH], "c": 3}, "flag": True}
    module = fx.symbolic_trace(function, concrete_args=fixed)
    given = {"a": wb.ones(2), "b": [wb.ones(2) * 2], "c": 3}
    assert module(given, True).tolist() == [5.0, 5.0]
    with pytest.raises(AssertionError, match="d_c has been specialized to have value 3"):
        module({**given, "c": 4}, True)
    with pytest.raises(fx.TraceError, match="concrete_args has object in d_b_1"):
        fx.symbolic_trace(function, concrete_args={"d": {"a": fx.PH, "b": [fx.PH, object()]}})


class Mixed(nn.Module):
    """Layers, a tensor of its own, and what the code names from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
        self.scale = nn.Parameter(wb.ones(1))
        self.register_buffer("mean", wb.tensor([0.5]), persistent=False)

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        return operator.sub(self.body(x) * self.scale, self.mean).to(wb.float32).clamp(max=float("inf"))


def _imported(folder: Path, name: str) -> Any:
    sys.path.insert(0, str(folder.parent))
    try:
        return getattr(importlib.import_module(folder.name), name)
    finally:
        sys.path.remove(str(folder.parent))
        for one in [one for one in sys.modules if one.partition(".")[0] == folder.name]:
            del sys.modules[one]


@pytest.mark.parametrize("lifted", [False, True])
def test_a_module_is_a_folder_with_its_code(lifted: bool, tmp_path: Path) -> None:
    wb.manual_seed(0)
    model = Mixed()
    model(wb.randn(4, 1, 5, 5))
    x = wb.randn(2, 1, 6, 6)
    model.eval()
    module = fx.from_graph(trace(model, x)) if lifted else fx.symbolic_trace(model)
    folder = tmp_path / f"mixed_{lifted}"
    module.to_folder(folder, "Mixed")
    made = _imported(folder, "Mixed")()
    assert wb.equal(made(x), model(x))
    assert dict(made.named_parameters()).keys() == dict(module.named_parameters()).keys()
    assert made.training == module.training


class Own(nn.Module):
    """A layer of a program's own."""

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        return x * 2


def test_what_no_code_makes_again_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    class Whole(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    model = nn.Sequential(Own())
    module = fx.GraphModule(model, Whole().trace(model))
    with pytest.raises(
        TypeError, match="is a Own, which its representation does not make again: trace into it"
    ):
        module.to_folder(tmp_path / "own")
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(lambda value: value, (x,)))
    with pytest.raises(TypeError, match="that no module has under its name"):
        fx.GraphModule({}, graph).to_folder(tmp_path / "own")
    with pytest.raises(ValueError, match="cannot be what a class is called"):
        module.to_folder(tmp_path / "own", "no class")
    assert not list(tmp_path.iterdir())
