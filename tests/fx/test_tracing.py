"""Tracing programs: which calls are recorded, whoever holds the function, what is called whole, what is an input."""

from __future__ import annotations

import math
import operator
import threading
from math import sqrt
from typing import Any

import pytest

import workbench as wb
from workbench import fx, nn
from workbench.nn import functional as F
from workbench.nn.functional import gelu


def calls(root: Any, **keywords: Any) -> list[Any]:
    return [
        node.target for node in fx.symbolic_trace(root, **keywords).graph.nodes if node.op.startswith("call")
    ]


def kept(x: Any, times: int = 2) -> Any:
    if x.sum() > 0:
        return x * times
    return -x


fx.wrap("kept")
fx.wrap("len")


def looked_into(x: Any) -> Any:
    return x + 1


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.weight = nn.Parameter(wb.ones(4, 4))
        self.register_buffer("shift", wb.ones(4))
        self.scale = wb.full((4,), 2.0)
        self.activation = F.gelu

    def forward(self, x: Any, bias: float = 1.0) -> Any:
        x = self.activation(self.layers(x) @ self.weight.T)
        return (x + self.shift) * self.scale + bias


def test_a_module_runs_as_before() -> None:
    net = Net()
    module = fx.symbolic_trace(net)
    x = wb.randn(3, 4)
    assert wb.equal(module(x), net(x)) and wb.equal(module(x, bias=3.0), net(x, 3.0))
    assert [
        (one.op, str(one.target)) for one in module.graph.nodes if one.op in ("call_module", "get_attr")
    ] == [
        ("call_module", "layers.0"),
        ("call_module", "layers.1"),
        ("get_attr", "weight"),
        ("get_attr", "shift"),
        ("get_attr", "scale"),
    ]
    assert sorted(module.state_dict()) == sorted([*net.state_dict(), "scale"])


def test_gradients_reach_the_parameters_of_the_module() -> None:
    net = Net()
    fx.symbolic_trace(net)(wb.ones(2, 4)).sum().backward()
    assert all(one.grad is not None for one in net.parameters())


def test_a_function_is_seen_whoever_holds_it() -> None:
    table = {"act": F.relu}
    (inside,) = (lambda function: [lambda x: function(x)])(wb.tanh)

    def program(x: Any) -> Any:
        return inside(
            table["act"](gelu(wb.linalg.norm(wb.special.expit(wb.fft.fft(x)), dim=-1, keepdim=True)))
        )

    expected = [wb.fft.fft, wb.special.expit, wb.linalg.norm, gelu, F.relu, wb.tanh]
    assert calls(program) == expected


def test_tensors_that_meet_a_proxy_are_held() -> None:
    constant = wb.tensor([1.0, 2.0])

    def program(x: Any) -> Any:
        return constant @ x + (constant - x) + constant.mul(x) + constant[1]

    module = fx.symbolic_trace(program)
    held = {one.target for one in module.graph.nodes if one.op == "get_attr"}
    assert held == {"_tensor_constant0", "_tensor_constant1"}
    assert wb.equal(module(wb.ones(2)), program(wb.ones(2)))


def test_operators_of_python() -> None:
    def program(x: Any, y: Any) -> Any:
        z = -x + ~(x > y) * (y // 2) % 3 - (2 / y) ** x
        return abs(z[..., :1]) << 1 if x is None else (z @ y, x == y, x != y, 1 - x, x & y, 3 >= x, x.T)

    assert calls(program) == [
        operator.neg, operator.gt, operator.invert, operator.floordiv, operator.mul, operator.mod, operator.add,
        operator.truediv, operator.pow, operator.sub, operator.matmul, operator.eq, operator.ne, operator.sub,
        operator.and_, operator.le, getattr,
    ]  # fmt: skip


def test_unpacking_takes_as_many_as_there_are_names() -> None:
    def program(x: Any) -> Any:
        a, (b, c) = x.shape
        return a, b, c

    graph = fx.symbolic_trace(program).graph
    assert [one.args[1] for one in graph.nodes if one.target is operator.getitem] == [0, 1, 0, 1]


def test_what_is_wrapped_stays_whole() -> None:
    def program(x: Any) -> Any:
        return looked_into(kept(x, times=3)) * len(x) + sqrt(x) + math.floor(2.5)

    assert calls(program) == [kept, operator.add, len, operator.mul, sqrt, operator.add, operator.add]
    assert fx.symbolic_trace(program)(wb.tensor([4.0])).tolist() == [17.0]
    assert kept(wb.ones(1)).tolist() == [2.0] and sqrt(4.0) == 2.0 and math.sqrt(4.0) == 2.0


def test_functions_given_to_the_tracer_stay_whole() -> None:
    tracer = fx.Tracer(autowrap_functions=(looked_into,))
    graph = tracer.trace(lambda x: looked_into(x))
    assert [one.target for one in graph.nodes if one.op == "call_function"] == [looked_into]
    assert calls(lambda x: looked_into(x)) == [operator.add]


@pytest.mark.parametrize("wrong", [3, None, ["two", "words"]])
def test_only_functions_are_wrapped(wrong: Any) -> None:
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(wrong)


def test_wrapping_is_said_where_a_module_begins() -> None:
    with pytest.raises(
        RuntimeError, match=r"wrap must be called at the top level of a module: write wb.fx.wrap\('kept'\)"
    ):
        fx.wrap("kept")


def test_leaves_are_the_tracers_to_choose() -> None:
    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Leaf(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, Own) or super().is_leaf_module(m, module_qualified_name)

    net = nn.Sequential(Own(), nn.ReLU())
    assert [str(one.target) for one in Leaf().trace(net).nodes] == ["input", "0", "1", "output"]
    assert [one.op for one in fx.Tracer().trace(net).nodes] == [
        "placeholder",
        "call_function",
        "call_module",
        "output",
    ]


def test_layers_that_only_compute_can_be_run_through() -> None:
    class Through(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return False

    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.GELU(), nn.Softmax(1))
    tracer = Through()
    graph = tracer.trace(net)
    assert not graph.find_nodes(op="call_module") and len(graph.find_nodes(op="get_attr")) == 2
    x = wb.randn(2, 3)
    assert wb.equal(fx.GraphModule(tracer.root, graph)(x), net(x))
    with pytest.raises(
        fx.TraceError, match=r"(?s)0, a Conv2d, looks at sizes or types .* let is_leaf_module say True for it"
    ):
        Through().trace(nn.Sequential(nn.Conv2d(1, 1, 3)))


def test_a_module_that_is_not_in_the_root_is_refused() -> None:
    outside = nn.ReLU()
    with pytest.raises(NameError, match="module ReLU is not installed as a submodule: make it in __init__"):
        fx.symbolic_trace(lambda x: outside(x))
    parameter = nn.Parameter(wb.ones(2))
    with pytest.raises(NameError, match="parameter is not a member of this module"):
        fx.symbolic_trace(lambda x: x + parameter)


def test_all_kinds_of_arguments() -> None:
    def program(a: Any, /, b: Any, c: int = 2, *rest: Any, d: Any, e: Any = None, **more: Any) -> Any:
        return a + b * c + rest[0] + d + more["f"]

    module = fx.symbolic_trace(program)
    assert [str(one.target) for one in module.graph.find_nodes(op="placeholder")] == [
        "a", "b", "c", "d", "e", "*rest", "**more",
    ]  # fmt: skip


def test_concrete_arguments_decide_branches_and_are_checked() -> None:
    def program(x: Any, twice: bool = False, scale: Any = None) -> Any:
        x = x * 2 if twice else x
        return x if scale is None else x * scale

    module = fx.symbolic_trace(program, concrete_args={"twice": True, "scale": None})
    assert module(wb.ones(1), True).tolist() == [2.0]
    with pytest.raises(
        AssertionError, match="twice has been specialized to have value True but got another value"
    ):
        module(wb.ones(1), False)
    with pytest.raises(AssertionError, match="scale has been specialized to have value None"):
        module(wb.ones(1), True, 3)
    # What checks is recorded when it is traced again.
    again = fx.symbolic_trace(module)
    assert again.code == module.code
    with pytest.raises(TypeError, match=r"concrete_args names \['twize'\], and the function takes"):
        fx.symbolic_trace(program, concrete_args={"twize": True})
    with pytest.raises(fx.TraceError, match=r"concrete_args\['scale'\] is list: numbers, text and None"):
        fx.symbolic_trace(program, concrete_args={"scale": [1]})


def test_a_trace_of_a_trace_is_the_same() -> None:
    module = fx.symbolic_trace(Net())
    again = fx.symbolic_trace(module)
    assert again.code == module.code and str(again.graph) == str(module.graph)


def test_buffers_are_proxies_on_demand() -> None:
    class Buffers(fx.Tracer):
        proxy_buffer_attributes = True

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", wb.ones(2))

        def forward(self, x: Any) -> Any:
            return x + self.shift * 2

    assert [one.op for one in Buffers().trace(Twice()).nodes][1:3] == ["get_attr", "call_function"]
    assert str(fx.Tracer().trace(Twice()).find_nodes(op="get_attr")[0].target) == "_tensor_constant0"


def test_shapes_of_parameters_may_be_numbers() -> None:
    class Sized(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(wb.ones(2, 3))

        def forward(self, x: Any) -> Any:
            return x.reshape(self.weight.shape[0], self.weight.size(1)) if self.weight.ndim == 2 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Sized())
    assert graph.find_nodes(op="call_method")[0].args[1:] == (2, 3)


def test_nothing_is_left_behind_and_eager_code_is_itself() -> None:
    before = wb.relu.__code__, wb.Tensor.__add__.__code__, nn.Module.__call__.__code__
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: 1 / 0)
    fx.symbolic_trace(Net())
    assert (wb.relu.__code__, wb.Tensor.__add__.__code__, nn.Module.__call__.__code__) == before
    assert (
        nn.Module.__getattribute__ is object.__getattribute__
        and Net.__getattribute__ is object.__getattribute__
    )
    assert not fx.is_fx_tracing()


def test_a_trace_within_a_trace() -> None:
    def program(x: Any) -> Any:
        inner = fx.symbolic_trace(lambda y: wb.relu(y))
        assert fx.is_fx_tracing()
        return wb.exp(inner.code and x)

    assert calls(program) == [wb.exp]


def test_other_threads_compute_as_always() -> None:
    started, done = threading.Event(), threading.Event()
    found: list[Any] = []
    net = Net()

    def other() -> None:
        started.wait(10)
        with wb.no_grad():
            found.append((wb.relu(wb.tensor([-1.0])).tolist(), net(wb.ones(1, 4)).shape, net.weight))
        done.set()

    def program(x: Any) -> Any:
        started.set()
        assert done.wait(10)
        return wb.relu(x)

    thread = threading.Thread(target=other)
    thread.start()
    assert calls(program) == [wb.relu]
    thread.join()
    assert found[0][:2] == ([0.0], (1, 4)) and found[0][2] is net.weight


def test_nodes_know_their_line_and_their_module() -> None:
    module = fx.symbolic_trace(Net())
    relu = module.graph.find_nodes(op="call_module")[1]
    assert relu.place is not None and relu.place[0].endswith("test_tracing.py")
    call = module.graph.ir.nodes[1]
    assert call.scope == ("layers", "1") and call.source.startswith("test_tracing.py:")

    class Stacks(fx.Tracer):
        record_stack_traces = True

    graph = Stacks().trace(lambda x: x + 1)
    assert "x + 1" in str(graph.find_nodes(op="call_function")[0].stack_trace)
