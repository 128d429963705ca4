"""Functions of the program's own that a graph keeps whole: held, called, printed by name, read back with them."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench.graph import (
    Graph,
    GraphError,
    HeldFunction,
    LeafModule,
    Value,
    check,
    parse,
    python_text,
    text,
)
from workbench.graph.effects import pure
from workbench.graph.types import ANY, INT


def halved(x: Any, by: int = 2) -> Any:
    return x / by


@pytest.fixture
def graph() -> Graph:
    graph = Graph(name="g")
    graph.inputs = [Value(graph.fresh("x"), ANY)]
    graph.held_functions["halved"] = halved
    graph.modules["layer"] = wb.nn.ReLU()
    once = graph.insert(LeafModule("layer"), graph.inputs[0], types=(ANY,)).outputs[0]
    graph.outputs = graph.insert(HeldFunction("halved"), once, types=(ANY,), by=4).outputs
    return check(graph)


def test_runs_and_is_copied(graph: Graph) -> None:
    for one in (graph, graph.copy()):
        assert one(wb.tensor([8.0, -8.0])).tolist() == [2.0, 0.0]
    assert graph.copy().held_functions == {"halved": halved}


@pytest.mark.parametrize("form", [text, python_text])
def test_both_texts_name_it_and_are_read_back_with_the_function(graph: Graph, form: Any) -> None:
    written = form(graph)
    assert "functions['halved'](" in written
    again = parse(written, modules=graph.modules, functions={"halved": halved})
    assert form(again) == written
    assert again(wb.tensor([8.0])).tolist() == [2.0]


@pytest.mark.parametrize("form", [text, python_text])
def test_reading_asks_for_the_function(graph: Graph, form: Any) -> None:
    with pytest.raises(GraphError, match="needs a function: no function called 'halved' was given"):
        parse(form(graph), modules=graph.modules)


def test_the_spec_knows_only_what_is_held(graph: Graph) -> None:
    graph.held_functions.clear()
    with pytest.raises(
        GraphError, match=r"calls \"functions\['halved'\]\", which is not a function that the graph holds"
    ):
        check(graph)


def test_it_may_do_anything_and_so_no_pass_drops_it(graph: Graph) -> None:
    assert not pure(graph.nodes[-1])
    graph.outputs = (graph.inputs[0],)
    assert len(wb.graph.passes.dead_code(graph).nodes) == 2


def test_what_it_gives_is_held_against_what_is_written(graph: Graph) -> None:
    graph.nodes[-1].outputs[0].type = INT
    with pytest.raises(GraphError, match=r"halved is written as int, and functions\['halved'\] gave"):
        graph(wb.ones(2))


@pytest.mark.parametrize("name", ["peephole", "inline", "freeze", "constant_fold", "common_subexpressions"])
def test_passes_keep_it(graph: Graph, name: str) -> None:
    after = check(getattr(wb.graph.passes, name)(graph))
    assert after.held_functions == {"halved": halved} and after(wb.tensor([8.0])).tolist() == [2.0]
