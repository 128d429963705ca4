"""Programs that are traced, changed and run with both libraries: each is given the library's own modules."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["REFUSED", "TRACED", "WORKED_ON", "Library"]


@dataclass
class Library:
    """The modules that a program imports: ``torch``, ``torch.nn``, ``torch.nn.functional``, ``torch.fx``."""

    torch: Any
    nn: Any
    F: Any
    fx: Any
    split_module: Any = None


def mlp(lib: Library) -> Any:
    return lib.nn.Sequential(
        lib.nn.Linear(4, 8), lib.nn.ReLU(), lib.nn.Dropout(0.5), lib.nn.Linear(8, 4)
    ).eval()


def net(lib: Library) -> Any:
    class Net(lib.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = mlp(lib)
            self.weight = lib.nn.Parameter(lib.torch.ones(4, 4))
            self.register_buffer("shift", lib.torch.ones(4))
            self.scale = lib.torch.full((4,), 2.0)
            self.act = lib.F.gelu

        def forward(self, x: Any, input: Any = None, k: int = 2) -> Any:
            y = self.act(self.layers(x)) @ self.weight.t()
            return (y + self.shift) * self.scale * k

    return Net()


def operators(lib: Library) -> Any:
    def f(x: Any) -> Any:
        a = -x + abs(x) * 2 - 1
        b = (1 - x) / 3 + 2 / (x + 10)
        c = (x > 0) & ~(x <= 1) | (x == 2) ^ (x != 3)
        return a, b, c, x**2, 2**x, x // 2, 5 % (x + 10), x @ x.T, x[0], x[..., 1:], x[:, None]

    return f


def containers(lib: Library) -> Any:
    def f(x: Any) -> Any:
        parts = lib.torch.split(x, 2, dim=1)
        a, b = parts
        stacked = lib.torch.stack([a, b, lib.torch.cat((a, b), 1)[:, :2]], dim=0)
        rows, _ = x.shape
        return {"stacked": stacked, "list": [a, (b, None)], "view": x.view(rows, -1, 2), "number": 1.5}

    return f


def methods(lib: Library) -> Any:
    def f(x: Any) -> Any:
        y = x.relu().sum(dim=1, keepdim=True).expand_as(x)
        return y.unsqueeze(0).permute(2, 0, 1).reshape(-1).clamp(min=0.1).to(lib.torch.float64)

    return f


def functions(lib: Library) -> Any:
    def f(x: Any) -> Any:
        y = lib.F.linear(x, lib.torch.ones(3, 4), lib.torch.zeros(3))
        y = lib.torch.softmax(y, dim=-1) + lib.torch.sigmoid(y)
        return lib.torch.where(y > 0.5, y, lib.torch.zeros_like(y)).mean(), lib.F.gelu(y)

    return f


def constants(lib: Library) -> Any:
    fixed = lib.torch.tensor([1.0, 2.0, 3.0, 4.0])

    def f(x: Any) -> Any:
        return x + fixed, fixed - x, x.t() @ fixed, x * fixed[1]

    return f


def defaults(lib: Library) -> Any:
    def f(x: Any, scale: float = 2.0, *rest: Any, bias: Any = None, **more: Any) -> Any:
        return x * scale, rest, more

    return f


def mathematics(lib: Library) -> Any:
    def f(x: Any) -> Any:
        return math.sqrt(x.numel()) * x

    return f


def dead(lib: Library) -> Any:
    def f(x: Any) -> Any:
        lib.torch.exp(x)
        y = x + 1
        y.neg()
        return y

    return f


def names(lib: Library) -> Any:
    def f(input: Any, max: Any, add: Any) -> Any:
        x = input + add + max
        return x.float().max() + x.add(1).add(2).abs()

    return f


TRACED: dict[str, tuple[Callable[[Library], Any], int]] = {
    "mlp": (mlp, 1), "net": (net, 1), "operators": (operators, 1), "containers": (containers, 1),
    "methods": (methods, 1), "functions": (functions, 1), "constants": (constants, 1), "defaults": (defaults, 1),
    "mathematics": (mathematics, 1), "dead": (dead, 1), "names": (names, 3),
}  # fmt: skip
"""What makes each program, and how many inputs it takes."""


# ----------------------------------------------------------------------------------------------- refused


def branch(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def loop(x: Any) -> Any:
    return [row for row in x]  # noqa: C416


def assigned(x: Any) -> Any:
    x[0] = 1
    return x


REFUSED: dict[str, Callable[..., Any]] = {
    "branch": branch, "loop": loop, "assigned": assigned, "while": lambda x: x and x, "len": lambda x: len(x),
    "int": lambda x: int(x), "float": lambda x: float(x), "range": lambda x: range(x.shape[0]), "in": lambda x: 1 in x,
    "star": lambda x: [*x], "index": lambda x: [1, 2][x],
}  # fmt: skip
"""What no library traces: the errors are of the same classes."""


# ------------------------------------------------------------------------------------------- worked on


def replaced_by_target(lib: Library) -> Any:
    module = lib.fx.symbolic_trace(operators(lib))
    for node in module.graph.nodes:
        if node.target is operator.add:
            node.target = operator.mul
    module.recompile()
    return module


def dead_code(lib: Library) -> Any:
    module = lib.fx.symbolic_trace(dead(lib))
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def by_pattern(lib: Library) -> Any:
    def program(x: Any) -> Any:
        y = lib.torch.neg(lib.torch.exp(x)) + lib.torch.neg(lib.torch.exp(x + 1))
        return lib.torch.neg(lib.torch.exp(y)) * 2

    module = lib.fx.symbolic_trace(program)
    lib.fx.replace_pattern(
        module, lambda a: lib.torch.neg(lib.torch.exp(a)), lambda a: lib.torch.tanh(a).mul(3)
    )
    return module


def chained(lib: Library) -> Any:
    module = lib.fx.symbolic_trace(lambda x: x.relu().relu().relu().relu().relu())
    lib.fx.replace_pattern(module, lambda x: x.relu().relu(), lambda x: x.sigmoid())
    return module


def decomposed(lib: Library) -> Any:
    module = lib.fx.symbolic_trace(lambda x: lib.F.silu(x) + 1)
    graph, known = lib.fx.Graph(), {}
    tracer = lib.fx.proxy.GraphAppendingTracer(graph)
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not operator.add:
            x = lib.fx.Proxy(known[node.args[0]], tracer)
            known[node] = (x * lib.torch.sigmoid(x)).node
        else:
            known[node] = graph.node_copy(node, lambda one: known[one])
    return lib.fx.GraphModule(module, graph)


def by_hand(lib: Library) -> Any:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", default_value=3)
    with graph.inserting_before(y):
        doubled = graph.call_function(operator.mul, (x, 2))
    layer = graph.call_module("layers.0", (doubled,))
    held = graph.get_attr("bias")
    both = graph.call_function(lib.torch.cat, ([layer, held],), {"dim": 0})
    unused = graph.call_method("neg", (both,))
    result = graph.output((both, y))
    graph.erase_node(unused)
    y.append(doubled)
    assert result is list(graph.nodes)[-1]
    return lib.fx.GraphModule(
        {"layers.0": lib.nn.ReLU(), "bias": lib.nn.Parameter(lib.torch.ones(1, 4))}, graph
    )


def transformed(lib: Library) -> Any:
    class Other(lib.fx.Transformer):  # type: ignore[name-defined,misc]
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(lib.torch.mul if target is operator.add else target, args, kwargs)

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("sigmoid" if target == "t" else target, args, kwargs)

    return Other(lib.fx.symbolic_trace(net(lib))).transform()


def leaves(lib: Library) -> Any:
    class Own(lib.nn.Module):  # type: ignore[name-defined,misc]
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x

    class Tracer(lib.fx.Tracer):  # type: ignore[name-defined,misc]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, Own) or super().is_leaf_module(m, module_qualified_name)

    tracer = Tracer()
    graph = tracer.trace(lib.nn.Sequential(Own(), lib.nn.Sequential(Own(), lib.nn.ReLU())))
    return lib.fx.GraphModule(tracer.root, graph, "Leaves")


def concrete(lib: Library) -> Any:
    def program(x: Any, k: int = 3, other: Any = None) -> Any:
        return x * k if other is None and k > 2 else x

    return lib.fx.symbolic_trace(program, concrete_args={"k": 3, "other": None})


def split(lib: Library) -> Any:
    module = lib.fx.symbolic_trace(net(lib))
    count = iter(range(100))
    return lib.split_module(module, module, lambda node: next(count) // 4)


WORKED_ON: dict[str, Callable[[Library], Any]] = {
    one.__name__: one
    for one in (
        replaced_by_target, dead_code, by_pattern, chained, decomposed, by_hand, transformed, leaves, concrete, split,
    )
}  # fmt: skip
"""What makes each module by changing another."""
