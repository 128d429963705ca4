"""States of the graph and of the diff view as Python makes them: models, training, control flow, eight bits, passes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import workbench as wb
from tests.graph.pass_cases import CASES as OF_PASSES
from workbench import nn
from workbench.graph import Graph, passes, trace
from workbench.graph.stopping import trace_so_far
from workbench.live.encode import encode_snapshot
from workbench.live.model import ViewModel
from workbench.models import DigitsNet, LeNet, resnet18
from workbench.widgets.diff import DiffModel
from workbench.widgets.graph import GraphModel

__all__ = ["CASES", "state"]

IMAGES = {"N": 8, "C": 1, "H": 28, "W": 28}


@functools.cache
def state(name: str) -> tuple[str, dict[str, Any]]:
    """Return the view that draws a case, and what travels to it."""
    wb.manual_seed(0)
    model = CASES[name]()
    return model.view, encode_snapshot(model.view, model.snapshot())[0]


def _eight_bits() -> tuple[Any, Any, Any]:
    model, images = DigitsNet().eval(), wb.rand(**IMAGES)
    prepared = wb.quantization.prepare(wb.quantization.fuse_automatically(model, images))
    prepared(images)
    return model, wb.quantization.convert(prepared), images


def _nested(x, n: int):  # type: ignore[no-untyped-def]
    if x.sum() > 0:
        for i in range(n):
            if i > 2:
                x = x * 2
            else:
                x = x.relu()
    else:
        while x.sum() < 0:
            x = x + 1
    return x


class _Loss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = LeNet()

    def forward(self, x: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(self.net(x), y)


class _Long(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a_projection_with_a_name_that_nobody_should_write_but_that_somebody_does_write = nn.Linear(8, 8)
        self.shown_in_parts_where_it_is_longer_than_a_line_of_the_picture = nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        y = self.a_projection_with_a_name_that_nobody_should_write_but_that_somebody_does_write(x)
        return self.shown_in_parts_where_it_is_longer_than_a_line_of_the_picture(y).relu() + x


def _hostile() -> Graph:
    graph = trace(lambda x: (x + 1).relu() * 2, wb.ones(a=2))
    graph.name = "<script>alert(1)</script>"
    graph.inputs[0].name = "<img/src=x/onerror=alert(1)>"
    for node in graph.nodes[:2]:
        node.scope = ("<b>bold</b>", "&amp;")
    graph.nodes[1].source = '"><script>.py:3'
    return graph


def _failed() -> GraphModel:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(100, 10))
    graph, stop = trace_so_far(model, wb.ones(N=2, C=1, H=8, W=8))
    assert stop is not None
    drawn = GraphModel(graph, graph.name)
    drawn.show_stopped(graph, stop)
    return drawn


def _compiled() -> Graph:
    fast, images = wb.compile(resnet18().eval()), wb.rand(N=1, C=3, H=32, W=32)
    with wb.no_grad():
        fast(images)
    made: Graph = wb.compiler.explain(fast).graphs[0]
    return made


def _profiled() -> GraphModel:
    model, images = DigitsNet().eval(), wb.rand(**IMAGES)
    graph = trace(model, images)
    return GraphModel(graph, "measured", "cell 3", wb.graph.profile(graph, images))


def _gradients() -> Graph:
    return passes.differentiate(trace(_Loss(), wb.rand(**IMAGES), wb.zeros(8, dtype=wb.int64)))


def _of_eight_bits() -> DiffModel:
    model, converted, images = _eight_bits()
    return DiffModel(wb.graph.diff(trace(model, images), trace(converted, images)), "float and 8 bits")


def _of_pass(name: str) -> DiffModel:
    graph, arguments = OF_PASSES[name]()
    made = passes.step(graph, getattr(passes, name), *arguments)
    return DiffModel(made.diff, f"{graph.name}: {name}")


def _of(make: Callable[[], Graph], title: str) -> Callable[[], GraphModel]:
    return lambda: GraphModel(make(), title, "cell 3")


CASES: dict[str, Callable[[], ViewModel]] = {
    "digits": _of(lambda: trace(DigitsNet().eval(), IMAGES), "digits"),
    "trained": _of(lambda: trace(DigitsNet(), IMAGES), "in training"),
    "gradients": _of(_gradients, "gradients"),
    "nested": _of(lambda: wb.jit.script(_nested).graph, "scripted"),
    "int8": _of(lambda: trace(*_eight_bits()[1:]), "8 bits"),
    "profiled": _profiled,
    "compiled": _of(_compiled, "compiled"),
    "empty": _of(lambda: Graph(name="nothing"), ""),
    "one": _of(lambda: trace(lambda x: x.relu(), wb.ones(N=2, C=3)), "one node"),
    "long": _of(lambda: trace(_Long(), wb.ones(2, 8)), "long names"),
    "hostile": _of(_hostile, ""),
    "failed": _failed,
    "float and int8": _of_eight_bits,
    **{name: functools.partial(_of_pass, name) for name in OF_PASSES},
}
"""By name: what makes the view model."""
