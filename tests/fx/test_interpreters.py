"""`Interpreter` and `Transformer`: nodes one by one, by methods to override."""

from __future__ import annotations

import operator
import weakref
from typing import Any, ClassVar

import pytest

import workbench as wb
from workbench import fx, nn


def program(x: Any, scale: float = 2.0) -> Any:
    return wb.relu(x).mul(scale) + 1


def test_it_runs_what_the_module_runs() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = wb.randn(4, 2)
    assert wb.equal(fx.Interpreter(fx.symbolic_trace(net)).run(x), net(x))
    module = fx.symbolic_trace(program)
    assert fx.Interpreter(module).run(wb.ones(1)).tolist() == [3.0]
    assert fx.Interpreter(module).run(wb.ones(1), 3.0).tolist() == [4.0]
    given = [wb.ones(1)]
    assert fx.Interpreter(module).boxed_run(given).tolist() == [3.0] and given == []
    with pytest.raises(
        RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"
    ):
        fx.Interpreter(module).run()


def test_methods_are_called_by_the_kind_of_node() -> None:
    class Noting(fx.Interpreter):
        seen: ClassVar[list[str]] = []

        def run_node(self, n: fx.Node) -> Any:
            self.seen.append(n.op)
            return super().run_node(n)

        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(operator.sub if target is operator.add else target, args, kwargs)

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("div" if target == "mul" else target, args, kwargs)

        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_module(target, args, kwargs) + self.fetch_attr("shift")

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.shift = nn.ReLU(), nn.Parameter(wb.ones(1))

        def forward(self, x: Any) -> Any:
            return program(self.layer(x)) + self.shift

    found = Noting(fx.symbolic_trace(Net())).run(wb.tensor([4.0]))
    assert found.tolist() == [(4 + 1) / 2 - 1 - 1]
    assert Noting.seen == [
        "placeholder", "call_module", "call_function", "call_method", "call_function", "get_attr", "call_function",
        "output",
    ]  # fmt: skip


def test_values_are_let_go_behind_their_last_use() -> None:
    module = fx.symbolic_trace(lambda x: wb.exp(wb.neg(wb.relu(x))))
    held: list[Any] = []
    alive: list[int] = []

    class Watching(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            result = super().run_node(n)
            held.append(weakref.ref(result))
            alive.append(sum(one() is not None for one in held))
            return result

    Watching(module).run(wb.ones(2) + 1)
    assert max(alive[:-1]) <= 3
    held.clear()
    interpreter = Watching(module, garbage_collect_values=False)
    interpreter.run(wb.ones(2))
    assert len(interpreter.env) == 5


def test_values_that_are_known_are_not_run() -> None:
    module = fx.symbolic_trace(program)
    relu = module.graph.find_nodes(op="call_function", target=wb.relu)[0]
    assert fx.Interpreter(module).run(wb.ones(1), initial_env={relu: wb.tensor([5.0])}).tolist() == [11.0]


def test_an_error_says_at_which_node() -> None:
    module = fx.symbolic_trace(lambda x: x @ wb.ones(3))
    with pytest.raises(wb.DimensionError) as caught:
        fx.Interpreter(module).run(wb.ones(2))
    (note,) = caught.value.__notes__
    assert note.startswith("While executing %matmul : ") and "test_interpreters.py:" in note
    module.graph.output_node().prepend(module.graph.find_nodes(op="placeholder")[0])
    with pytest.raises(RuntimeError, match=r"referenced nonexistent value .*! Run Graph.lint\(\)"):
        fx.Interpreter(module, garbage_collect_values=False).run(wb.ones(2))


def test_a_transformer_makes_a_new_module() -> None:
    class Sigmoids(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is wb.relu:
                (x,) = args
                return x * super().call_function(wb.sigmoid, args, kwargs)
            return super().call_function(target, args, kwargs)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.shift = nn.Parameter(wb.ones(2))

        def forward(self, x: wb.Tensor, scale: float = 2.0) -> Any:
            return {"out": program(self.layer(x), scale) + self.shift}

    net = Net()
    module = fx.symbolic_trace(net)
    before = module.code
    other = Sigmoids(module).transform()
    x = wb.randn(3, 2)
    hidden = net.layer(x)
    assert wb.allclose(other(x)["out"], hidden * wb.sigmoid(hidden) * 2 + 1 + 1)
    assert module.code == before and other.layer is net.layer
    assert [one.type for one in other.graph.nodes][:2] == [one.type for one in module.graph.nodes][:2]
    same = fx.Transformer(module).transform()
    assert [one.name for one in same.graph.nodes] == [one.name for one in module.graph.nodes]


def test_proxies_of_nodes_add_to_their_graph() -> None:
    module = fx.symbolic_trace(program)
    relu = module.graph.find_nodes(op="call_function", target=wb.relu)[0]
    with module.graph.inserting_after(relu):
        x = fx.Proxy(relu.args[0])
        instead = (x > 0) * x
        relu.replace_all_uses_with(instead.node)
    module.graph.erase_node(relu)
    module.recompile()
    assert module(wb.tensor([-1.0, 2.0])).tolist() == [1.0, 5.0]
    assert [one.name for one in module.graph.nodes] == ["x", "scale", "gt", "mul_1", "mul", "add", "output"]


def test_functions_take_proxies_for_as_long_as_somebody_has_one() -> None:
    before = wb.sigmoid.__code__
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = wb.sigmoid(x)
    assert wb.sigmoid.__code__ is not before and wb.sigmoid(wb.zeros(1)).tolist() == [0.5]
    assert [one.target for one in graph.find_nodes(op="call_function")] == [wb.sigmoid]
    del x, y
    assert wb.sigmoid.__code__ is before
