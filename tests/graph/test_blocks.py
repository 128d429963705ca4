"""Graphs with blocks, functions, modules and values that are no tensors: built by hand, run, printed and read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.op import ops
from workbench.graph import (
    Block,
    Control,
    Graph,
    GraphError,
    LeafModule,
    SubGraph,
    Value,
    check,
    last_uses,
    named,
    parse,
    passes,
    python_text,
    run,
    text,
)
from workbench.graph.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    symbolic,
    type_of,
)
from workbench.widgets.flow import FlowModel
from workbench.widgets.graph import GraphModel
from workbench.widgets.graph_html import graph_html

PAIR: TensorType = type_of(wb.ones(N=2))


def new(*inputs: tuple[str, Any], name: str = "g") -> Graph:
    """A graph of these inputs, and nothing else yet."""
    graph = Graph(name=name)
    graph.inputs = [given(graph.fresh(one), kind) for one, kind in inputs]
    return graph


def given(name: str, kind: Any, later: bool = False) -> Value:
    """A value of this type whose sizes a run binds."""
    return Value(name, symbolic(name, kind, later))


def held(graph: Graph) -> dict[str, Any]:
    return {value.name: tensor for value, tensor in graph.held().items()}


def block(graph: Graph, *inputs: tuple[str, Any]) -> Block:
    return Block([given(graph.fresh(one), kind, later=True) for one, kind in inputs])


def same(one: Any, other: Any) -> None:
    """Equal in structure, types and numbers."""
    assert type(one) is type(other)
    if isinstance(one, wb.Tensor):
        np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())
        assert one.names == other.names
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        same(list(one.values()), list(other.values()))
    else:
        assert one == other


def again(graph: Graph) -> list[Graph]:
    """The graph, its copy, and what is read back from both forms, which print as it does."""
    check(graph)
    found = [graph, graph.copy()]
    for write in (text, python_text):
        found.append(parse(write(graph), held(graph), graph.modules))
        assert text(found[-1]) == text(graph)
        assert python_text(found[-1]) == python_text(graph)
    return [check(one) for one in found]


def executed(graph: Graph, *inputs: Any) -> Any:
    """What Python itself makes of the Python form."""
    made: dict[str, Any] = {}
    exec(compile(python_text(graph), "graph", "exec"), made)
    places = [held(graph), held(graph), *([graph.modules] if graph.modules else [])]
    return made[graph.name](*places, *inputs)


def branching() -> Graph:
    """If the sum is positive, the doubled value and 1, else the negative and 2."""
    graph = new(("x", PAIR), ("flag", BOOL))
    x, flag = graph.inputs
    then, other = block(graph), block(graph)
    then.outputs = (graph.insert(ops.mul, x, 2, block=then).outputs[0], 1)
    other.outputs = (graph.insert(ops.neg, x, block=other).outputs[0], 2)
    node = graph.insert(Control.IF, flag, blocks=(then, other))
    graph.outputs, graph.single = node.outputs, False
    return graph


def looping() -> Graph:
    """Double and count until the sum is 100, at most `most` times."""
    graph = new(("x", PAIR), ("most", INT))
    x, most = graph.inputs
    body = block(graph, ("turn", INT), ("y", PAIR), ("count", INT))
    turn, y, count = body.inputs
    doubled = graph.insert(ops.mul, y, 2, block=body).outputs[0]
    more = graph.insert(named("operator.add"), count, turn, block=body).outputs[0]
    total = graph.insert(ops.sum, doubled, dim=(0,), keepdim=False, block=body).outputs[0]
    body.outputs = (graph.insert(ops.lt, total, 100.0, block=body).outputs[0], doubled, more)
    node = graph.insert(Control.LOOP, most, True, x, 0, blocks=(body,))
    graph.outputs, graph.single = node.outputs, False
    return graph


@pytest.mark.parametrize("flag", [True, False])
def test_an_if_runs_prints_and_is_read_back(flag: bool) -> None:
    graph, x = branching(), wb.tensor([1.0, -2.0], names=("N",))
    expected = (x * 2, 1) if flag else (-x, 2)
    for one in again(graph):
        same(one(x, flag), expected)
    same(executed(graph, x, flag), expected)


@pytest.mark.parametrize("most", [0, 1, 3, 50])
def test_a_loop_runs_prints_and_is_read_back(most: int) -> None:
    graph, x = looping(), wb.tensor([1.0, 2.0], names=("N",))
    y, count, goes, turn = x, 0, True, 0
    while goes and turn < most:
        y, count = y * 2, count + turn
        goes, turn = bool(y.sum() < 100.0), turn + 1
    for one in again(graph):
        same(one(x, most), (y, count))
    same(executed(graph, x, most), (y, count))


def test_text_shows_blocks_indented() -> None:
    assert text(branching()) == "\n".join(
        [
            "g(%x : f32[N:2], %flag : bool):",
            "  %if_ : f32[N:2], %if__1 : int = if(%flag):",
            "    then():",
            "      %mul : f32[N:2] = mul(%x, 2)",
            "      return %mul, 1",
            "    else():",
            "      %neg : f32[N:2] = neg(%x)",
            "      return %neg, 2",
            "  return (%if_, %if__1)",
        ]
    )


def test_a_branch_never_uses_what_another_branch_made() -> None:
    graph = branching()
    then, other = graph.nodes[0].blocks
    other.outputs = (then.nodes[0].outputs[0], 2)
    with pytest.raises(
        GraphError, match="a block of if_ reads mul before it is made: another block makes it"
    ):
        check(graph)
    graph = branching()
    graph.outputs = (graph.nodes[0].blocks[0].nodes[0].outputs[0],)
    with pytest.raises(GraphError, match="returns mul, which nothing makes: another block makes it"):
        check(graph)


# ------------------------------------------------------------------------- functions, modules, other values


def calling() -> Graph:
    """A function of the graph that returns two values, called twice; and one that calls it."""
    graph = new(("x", PAIR))
    double = SubGraph([given("y", PAIR)], name="double", single=False)
    made = graph.insert(ops.mul, double.inputs[0], 2, block=double).outputs[0]
    double.outputs = (made, [made, 1])
    twice = SubGraph([given("z", PAIR)], name="twice")
    first, _ = graph.insert(double, twice.inputs[0], block=twice).outputs
    twice.outputs = (graph.insert(double, first, block=twice).outputs[0],)
    graph.functions = {"double": double, "twice": twice}
    pair = graph.insert(double, graph.inputs[0], types=(TupleType((PAIR, ListType(ANY))),)).outputs[0]
    item = graph.insert(named("operator.getitem"), pair, 0).outputs[0]
    graph.outputs = (graph.insert(twice, item).outputs[0],)
    return graph


def test_functions_of_a_graph_are_called() -> None:
    graph, x = calling(), wb.tensor([1.0, -2.0], names=("N",))
    for one in again(graph):
        same(one(x), x * 8)
    same(executed(graph, x), x * 8)
    assert text(graph).startswith(
        "double(%y : f32[N:2]):\n  %mul : f32[N:2] = mul(%y, 2)\n  return (%mul, [%mul, 1])\n\n"
    )
    assert "%result_4 : tuple[f32[N:2], list[any]] = @double(%x)" in text(graph)


def test_a_module_kept_whole_runs_and_prints() -> None:
    class Twice(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = wb.nn.Linear(2, 2)

    model = Twice()
    graph = new(("x", PAIR))
    graph.modules["layer"] = model.layer
    once = graph.insert(LeafModule("layer"), graph.inputs[0], types=(TENSOR,)).outputs[0]
    graph.outputs = graph.insert(LeafModule("layer"), once, types=(type_of(wb.ones(2)),)).outputs
    x = wb.randn(2)
    for one in again(graph):
        same(one(x), model.layer(model.layer(x)))
    same(executed(graph, x), model.layer(model.layer(x)))
    assert "%layer : tensor = modules['layer'](%x)" in text(graph)
    with pytest.raises(GraphError, match="no module called 'layer' was given"):
        parse(text(graph))
    other = Twice()
    same(run(graph, x, owner=other), other.layer(other.layer(x)))
    graph.nodes[1].outputs[0].type = type_of(wb.ones(2, 2))
    with pytest.raises(
        GraphError, match=r"layer_1 is written as f32\[·:2, ·:2\], and modules\['layer'\] gave f32"
    ):
        graph(x)


def test_values_of_every_type_go_through() -> None:
    kinds = [
        INT,
        FLOAT,
        BOOL,
        COMPLEX,
        TEXT,
        ListType(INT),
        DictType(TEXT, PAIR),
        OptionalType(FLOAT),
        TupleType((INT, TEXT)),
    ]
    given = [3, 2.5, True, 1 - 2j, "ä\n'%x", [1, 2], {"a": wb.ones(N=2)}, None, (4, "b")]
    graph = new(*((f"v{i}", kind) for i, kind in enumerate(kinds)))
    item = graph.insert(named("operator.getitem"), graph.inputs[6], "a").outputs[0]
    more = graph.insert(named("operator.mul"), graph.inputs[0], graph.inputs[1]).outputs[0]
    assert (item.type, more.type) == (PAIR, FLOAT)
    graph.outputs = ({"all": [tuple(graph.inputs), item], "more": (more, -1.5, None, "%no value")},)
    expected = {"all": [tuple(given), given[6]["a"]], "more": (7.5, -1.5, None, "%no value")}  # type: ignore[index]
    for one in again(graph):
        same(one(*given), expected)
    same(executed(graph, *given), expected)
    for i, wrong in enumerate([True, 1, 1, 1.0, 3, (1,), {"a": 1}, 1, (4, 4)]):
        with pytest.raises(wb.DTypeError, match=f"v{i} of g is "):
            graph(*given[:i], wrong, *given[i + 1 :])


def test_what_is_not_known_is_checked_when_it_runs() -> None:
    graph = new(("x", ANY))
    graph.outputs = graph.insert(named("wb.graph.narrow"), graph.inputs[0], types=(INT,)).outputs
    check(graph)
    assert graph(3) == 3
    with pytest.raises(GraphError, match=r"narrow is written as int, and wb.graph.narrow gave str"):
        graph("three")


def test_values_in_slices_and_lists_are_operands() -> None:
    graph = new(("x", type_of(wb.ones(4))), ("i", INT))
    x, i = graph.inputs
    part = graph.insert(named("operator.getitem"), x, (slice(i, None, None),), types=(TENSOR,)).outputs[0]
    graph.outputs = graph.insert(named("wb.cat"), [part, x], dim=0, types=(TENSOR,)).outputs
    given = wb.tensor([1.0, 2.0, 3.0, 4.0])
    for one in again(graph):
        same(one(given, 2), wb.cat([given[2:], given]))
    assert [one.name for one in graph.users()[i]] == ["getitem"]


def test_a_write_is_stated_kept_and_printed() -> None:
    graph = new(("x", PAIR))
    (x,) = graph.inputs
    copy = graph.insert(named("wb.clone"), x, types=(PAIR,)).outputs[0]
    graph.insert(named("Tensor.add_"), copy, 1, types=(PAIR,), writes=(copy,))
    graph.outputs = (copy,)
    for one in [*again(graph), passes.dead_code(graph), passes.common_subexpressions(graph)]:
        same(one(wb.ones(N=2)), wb.ones(N=2) + 1)
    assert "%add : f32[N:2] = Tensor.add_(%clone, 1) writes %clone" in text(graph)
    graph.nodes[1].writes = ()
    with pytest.raises(GraphError, match=r"add: Tensor.add_ writes into clone, and the node says otherwise"):
        check(graph)


def test_nodes_of_blocks_are_found_replaced_and_removed() -> None:
    graph = branching()
    x = graph.inputs[0]
    (node,) = graph.nodes
    then, other = node.blocks
    assert [one.name for one, _ in graph.walk()] == ["if_", "mul", "neg"]
    assert graph.block_of(then.nodes[0]) is then
    assert [one.name for one in graph.users()[x]] == ["mul", "neg"]
    assert [one.name for one in graph.users()[then.nodes[0].outputs[0]]] == ["if_"]
    with pytest.raises(GraphError, match="cannot remove mul: mul is still read by if_"):
        graph.remove(then.nodes[0])
    added = graph.insert(ops.exp, x, before=other.nodes[0])
    assert graph.block_of(added) is other
    graph.replace(other.nodes[1].outputs[0], added.outputs[0])
    graph.remove(other.nodes[1])
    check(graph)
    same(graph(wb.ones(N=2), False)[0], wb.ones(N=2).exp())
    with pytest.raises(GraphError, match="neg is no node of the graph"):
        graph.block_of(branching().nodes[0].blocks[1].nodes[0])


def test_values_are_let_go_in_blocks_too() -> None:
    graph = looping()
    body = graph.nodes[0].blocks[0]
    ends = last_uses(graph)
    assert [one.name for one in ends[body.nodes[3]]] == ["sum"]
    assert sorted(one.name for one in ends[body]) == ["add", "lt", "mul"]
    assert [one.name for one in ends[graph.nodes[0]]] == ["x", "most"]


def test_passes_work_in_blocks_and_keep_to_them() -> None:
    graph = branching()
    then, other = graph.nodes[0].blocks
    x = graph.inputs[0]
    for block in (then, other):
        twice = graph.insert(ops.exp, x, block=block).outputs[0]
        again_ = graph.insert(ops.exp, x, block=block).outputs[0]
        total = graph.insert(ops.add, twice, again_, block=block).outputs[0]
        graph.insert(ops.sin, total, block=block)
        block.outputs = (
            graph.insert(ops.add, block.outputs[0], total, block=block).outputs[0],
            block.outputs[1],
        )
    once = check(passes.common_subexpressions(check(graph)))
    assert [len(one.nodes) for one in once.nodes[0].blocks] == [4, 4]
    for flag in (True, False):
        same(once(wb.ones(N=2), flag), graph(wb.ones(N=2), flag))


def test_a_view_shows_blocks_in_scopes_of_their_own() -> None:
    for graph in (branching(), looping(), calling()):
        drawn = GraphModel(graph).snapshot().state
        known = {node.id for node in drawn.nodes}  # type: ignore[attr-defined]
        assert len(known) == len(drawn.nodes)  # type: ignore[attr-defined]
        assert all({edge.source, edge.target} <= known for edge in drawn.edges)  # type: ignore[attr-defined]
        assert FlowModel(graph).snapshot().state.rows  # type: ignore[attr-defined]
        assert graph_html(graph)
    scopes = {node.id: node.scope for node in GraphModel(branching()).snapshot().state.nodes}  # type: ignore[attr-defined]
    assert scopes["mul"] == ["if if_", "then"]
    assert scopes["neg"] == ["if if_", "else"]


# ----------------------------------------------------------------------------------------------- refusals


def broken(change: Any, make: Any = branching) -> Any:
    graph = make()
    change(graph)
    return graph


def _rename(graph: Graph) -> None:
    graph.nodes[0].blocks[1].nodes[0].outputs[0].name = "mul"


def _twice(graph: Graph) -> None:
    graph.nodes[0].blocks[0].nodes.append(graph.nodes[0].blocks[0].nodes[0])


def _deep(graph: Graph) -> None:
    inner = graph.nodes[0].blocks
    for _ in range(40):
        node = graph.insert(Control.IF, True, blocks=inner)
        graph.nodes.remove(node)
        inner = (Block(nodes=[node], outputs=node.outputs), Block(outputs=(graph.inputs[0], 1)))
    graph.nodes[0].blocks = inner


def _nest(graph: Graph) -> None:
    operand: Any = 1
    for _ in range(40):
        operand = (operand,)
    graph.outputs = (operand,)


def _circle(graph: Graph) -> None:
    graph.functions["double"].nodes[0].callee = graph.functions["twice"]
    graph.functions["double"].nodes[0].inputs = graph.functions["double"].nodes[0].inputs[:1]


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (branching, _rename, "the name mul is taken twice"),
        (branching, lambda g: setattr(g.inputs[0], "name", "a b"), "'a b' cannot be a name"),
        (branching, lambda g: setattr(g.inputs[0], "type", "f32"), "x has no type: 'f32' is none"),
        (branching, _twice, "the node mul stands in the graph twice"),
        (branching, lambda g: setattr(g.nodes[0], "outputs", ()), "a call of if makes no value"),
        (branching, lambda g: setattr(g.nodes[0].outputs[0], "node", None), "if_ does not know the node"),
        (branching, lambda g: setattr(g.nodes[0], "callee", print), "which is nothing that a node can call"),
        (branching, lambda g: setattr(g.nodes[0], "blocks", g.nodes[0].blocks[:1]), "if has 2 blocks .*, not 1"),
        (branching, lambda g: setattr(g.nodes[0], "inputs", (3,)), "a condition is a bool or .*, not int"),
        (branching, lambda g: setattr(g.nodes[0], "inputs", ()), "it takes one condition and nothing else"),
        (branching, lambda g: setattr(g.nodes[0].blocks[0], "outputs", (1,)), "blocks give 1 and 2 values"),
        (branching, lambda g: setattr(g.nodes[0].blocks[0], "outputs", (1, 1)), "output 0 of a block is .*, not int"),
        (branching, lambda g: g.nodes[0].blocks[0].inputs.append(Value("b", INT)), r"and this one says \(int\)"),
        (branching, lambda g: setattr(g, "single", True), "returns one value, and has 2"),
        (branching, lambda g: setattr(g, "outputs", (wb.ones(2), 1)), "a tensor stands among the operands"),
        (branching, lambda g: setattr(g, "outputs", (object(), 1)), "object cannot be an operand of a graph"),
        (branching, lambda g: setattr(g, "outputs", ({(1,): 1}, 1)), "tuple cannot be a key of a dict"),
        (branching, _deep, "blocks in blocks go deeper than 32"),
        (branching, _nest, "operands in operands go deeper than 32"),
        (branching, lambda g: g.seeds.append(Value("s", FLOAT)), "the seed s is float, and seeds are int"),
        (branching, lambda g: g.updates.update({g.nodes[0].outputs[0]: g.inputs[0]}), "no parameter and no tensor"),
        (looping, lambda g: g.updates.update({g.inputs[1]: g.inputs[1]}), "most is no parameter and no tensor that"),
        (branching, lambda g: setattr(g.nodes[0], "writes", (g.inputs[0],)), "if does not write into x"),
        (branching, lambda g: setattr(g.nodes[0].blocks[0].nodes[0], "writes", (g.inputs[0],)), "into x, and ops"),
        (branching, lambda g: setattr(g.nodes[0].blocks[0].nodes[0], "writes", (g.inputs[1],)), "does not read"),
        (looping, lambda g: setattr(g.nodes[0], "inputs", (3,)), "how often it runs at most"),
        (looping, lambda g: setattr(g.nodes[0], "inputs", ("3", True, g.inputs[0], 0)), "is an int or None, not str"),
        (looping, lambda g: setattr(g.nodes[0], "inputs", (3, True, g.inputs[0])), "1 values are carried in"),
        (looping, lambda g: setattr(g.nodes[0], "inputs", (3, True, 1, 0)), "y before the first turn is f32"),
        (looping, lambda g: setattr(g.nodes[0].blocks[0], "outputs", (True, 1, 2)), "y after a turn is f32"),
        (calling, lambda g: g.functions.pop("twice"), "calls '@twice', which is not a function of the graph"),
        (calling, lambda g: setattr(g.functions["twice"], "name", "x"), "the function 'twice' is called 'x'"),
        (calling, lambda g: g.functions.update(h=Graph(name="h")), "the function h holds tensors"),
        (calling, _circle, "functions call one another in a circle"),
        (calling, lambda g: setattr(g.nodes[2], "inputs", ()), "it takes 1 inputs, not 0"),
        (calling, lambda g: setattr(g.nodes[2], "inputs", (1,)), "its input z is f32.*, not int"),
        (calling, lambda g: setattr(g.nodes[1], "inputs", (g.nodes[0].outputs[0], 2)), "2 items, and none at 2"),
        (calling, lambda g: setattr(g.nodes[1], "callee", LeafModule("a")), "not a module that the graph"),
    ],
)  # fmt: skip
def test_what_is_not_legal_is_refused(make: Any, change: Any, message: str) -> None:
    check(make())
    with pytest.raises(GraphError, match=message):
        check(broken(change, make))
