"""`replace_pattern`: where a program stands in a graph, and what stands there afterwards."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import fx, nn
from workbench.fx.subgraph_rewriter import replace_pattern_with_filters
from workbench.nn import functional as F


def names(module: fx.GraphModule) -> list[str]:
    return [node.name for node in module.graph.nodes if node.op.startswith("call")]


def test_every_place_is_taken() -> None:
    module = fx.symbolic_trace(lambda x, w: wb.sum(wb.cat([x, w])) + wb.sum(wb.cat([w, x])).max())
    found = fx.replace_pattern(
        module, lambda a, b: wb.sum(wb.cat([a, b])), lambda a, b: wb.stack([a, b]).sum()
    )
    assert names(module) == ["stack_1", "sum_4", "max_1", "stack", "sum_3", "add"]
    assert [match.anchor.name for match in found] == ["sum_1", "sum_2"]
    assert [str(one) for one in found[0].nodes_map.values()].count("x") == 1
    x, w = wb.tensor([1.0]), wb.tensor([2.0])
    assert module(x, w).item() == 6.0
    module.graph.lint()


def test_a_value_that_others_read_is_left() -> None:
    def program(x: Any) -> Any:
        y = F.relu(x)
        return wb.exp(y) + y

    module = fx.symbolic_trace(program)
    before = module.code
    assert fx.replace_pattern(module, lambda x: wb.exp(F.relu(x)), lambda x: x) == []
    assert module.code == before


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (lambda x: wb.clamp(x, 0, 6), 1),
        (lambda x: wb.clamp(x, 0, 7), 0),
        (lambda x: wb.clamp(x, min=0), 0),
        (lambda x, low: wb.clamp(x, low, 6), 1),
        (lambda x: x.flatten(1), 1),
        (lambda x: x.flatten(1.0), 0),
        (lambda x: x[:, 1:], 1),
        (lambda x: x[:, 2:], 0),
        (lambda x: {"a": x}, None),
    ],
    ids=["same", "number", "keyword", "any_number", "method", "type", "slice", "other_slice", "nothing"],
)
def test_operands_decide(pattern: Any, found: int | None) -> None:
    module = fx.symbolic_trace(lambda x: wb.clamp(x, 0, 6).flatten(1)[:, 1:])
    inputs = pattern.__code__.co_argcount
    replacement: Any = (lambda x: x * 1) if inputs == 1 else (lambda x, low: x * low)
    if found is None:
        with pytest.raises(RuntimeError, match="computes nothing that could be found"):
            fx.replace_pattern(module, pattern, replacement)
        return
    assert len(fx.replace_pattern(module, pattern, replacement)) == found


def test_numbers_may_be_ignored_and_places_filtered() -> None:
    module = fx.symbolic_trace(lambda x: wb.clamp(x, 0, 6) + wb.clamp(x, 0, 7))
    found = replace_pattern_with_filters(
        module,
        lambda x: wb.clamp(x, 1, 2),
        lambda x: F.relu6(x),
        match_filters=[lambda match, graph, pattern: match.anchors[0].args[2] == 6],
        ignore_literals=True,
    )
    assert len(found) == 1 and [one.name for one in found[0].replacements] == ["relu6"]
    assert names(module) == ["clamp_1", "relu6", "add"]


def test_several_results_and_results_that_are_inputs() -> None:
    module = fx.symbolic_trace(lambda x: wb.exp(x) - wb.neg(x))
    fx.replace_pattern(module, lambda x: (wb.exp(x), wb.neg(x)), lambda x: (wb.neg(x), wb.exp(x)))
    assert module(wb.tensor([1.0])).item() == pytest.approx(-1.0 - 2.718281828, abs=1e-5)
    module = fx.symbolic_trace(lambda x: F.dropout(wb.exp(x), 0.5))
    fx.replace_pattern(module, lambda x: F.dropout(x, 0.5), lambda x: x)
    assert names(module) == ["exp"]


def test_places_in_a_chain_do_not_overlap() -> None:
    module = fx.symbolic_trace(lambda x: x.relu().relu().relu().relu())
    assert len(fx.replace_pattern(module, lambda x: x.relu().relu(), lambda x: x.sigmoid())) == 2
    assert names(module) == ["sigmoid", "sigmoid_1"]


def test_modules_and_parameters_come_with_the_replacement() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.scale = nn.Parameter(wb.full((3,), 2.0))

        def forward(self, x: Any) -> Any:
            return self.layer(x) * self.scale

    scaled = Scaled()
    module = fx.symbolic_trace(lambda x: F.relu(x) + 1)
    fx.replace_pattern(module, lambda x: F.relu(x), fx.symbolic_trace(scaled))
    x = wb.randn(2, 3)
    assert wb.equal(module(x), scaled(x) + 1) and sorted(module.state_dict()) == [
        "layer.bias",
        "layer.weight",
        "scale",
    ]


def test_a_callback_makes_the_replacement() -> None:
    module = fx.symbolic_trace(lambda x: wb.clamp(x, 0, 6) + wb.clamp(x, 1, 7))

    def instead(match: Any, graph: fx.Graph, pattern: fx.Graph) -> fx.Graph:
        low = match.anchors[0].args[1]
        return fx.symbolic_trace(lambda x: x * low).graph

    replace_pattern_with_filters(
        module, lambda x: wb.clamp(x, 0, 0), ignore_literals=True, replacement_callback=instead
    )
    assert module(wb.tensor([3.0])).item() == 3.0


def test_programs_that_do_not_fit_are_refused_and_nothing_is_changed() -> None:
    module = fx.symbolic_trace(lambda x: F.relu(x))
    before = module.code
    for pattern, replacement, words in (
        (lambda x: F.relu(x), lambda x, y: x, r"the pattern takes 1 inputs \(\[x\]\) and the replacement 2"),
        (lambda x: F.relu(x), lambda x: (x, x), "gives 1 results and the replacement 2"),
        (lambda x: F.relu(x), None, "neither a replacement nor a replacement_callback"),
    ):
        with pytest.raises(RuntimeError, match=words):
            replace_pattern_with_filters(module, pattern, replacement)
    assert module.code == before
