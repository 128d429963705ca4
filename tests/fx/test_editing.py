"""Building and changing graphs by hand: places, users, names, and what is refused."""

from __future__ import annotations

import copy
import operator
from typing import Any

import pytest

import workbench as wb
from workbench import fx


@pytest.fixture
def graph() -> fx.Graph:
    """x, w, relu(x), relu + w."""
    graph = fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w", default_value=2.0)
    graph.output(graph.call_function(operator.add, (graph.call_method("relu", (x,)), w)))
    return graph


def names(graph: fx.Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def node(graph: fx.Graph, name: str) -> fx.Node:
    return next(one for one in graph.nodes if one.name == name)


def test_a_graph_by_hand_runs_and_prints(graph: fx.Graph) -> None:
    module = fx.GraphModule({}, graph)
    assert module(wb.tensor([1.0, -1.0])).tolist() == [3.0, 2.0]
    assert str(graph).split("\n") == [
        "graph():",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %w : [num_users=1] = placeholder[target=w](default=2.0)",
        "    %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})",
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %w), kwargs = {})",
        "    return add",
    ]


def test_every_kind_of_node_by_hand() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=wb.Tensor)
    rest = graph.placeholder("*rest")
    more = graph.placeholder("**more")
    layer = graph.call_module("layers.0", (x,))
    total = graph.call_function(wb.cat, ([layer, graph.get_attr("weight")],), {"dim": 0})
    graph.output({"total": total, "rest": rest, "more": more})
    root = {"layers.0": wb.nn.ReLU(), "weight": wb.nn.Parameter(wb.ones(1))}
    module = fx.GraphModule(root, graph)
    graph.lint()
    found = module(wb.tensor([-1.0, 3.0]), 1, 2, three=3)
    assert found["total"].tolist() == [0.0, 3.0, 1.0]
    assert found["rest"] == (1, 2) and found["more"] == {"three": 3}
    assert list(module.state_dict()) == ["weight"]


def test_places(graph: fx.Graph) -> None:
    relu, add = node(graph, "relu"), node(graph, "add")
    with graph.inserting_before(relu):
        graph.call_function(wb.neg, (node(graph, "x"),))
        with graph.inserting_after(add):
            graph.call_method("abs", (add,))
            graph.call_method("sign", (add,))
        graph.call_function(wb.exp, (node(graph, "x"),))
    graph.inserting_before(graph.output_node())
    assert names(graph) == ["x", "w", "neg", "exp", "relu", "add", "abs_1", "sign", "output"]
    assert next(one.name for one in reversed(graph.nodes)) == "output"
    add.append(node(graph, "neg"))
    node(graph, "x").prepend(node(graph, "exp"))
    assert names(graph) == ["exp", "x", "w", "relu", "add", "neg", "abs_1", "sign", "output"]
    assert (relu.next, relu.prev) == (add, node(graph, "w"))
    assert len(graph.nodes) == 9


def test_users_follow_every_change(graph: fx.Graph) -> None:
    x, w, relu, add = (node(graph, name) for name in ("x", "w", "relu", "add"))
    assert list(relu.users) == [add] and add.all_input_nodes == [relu, w]
    add.args = (x, [x, {"a": w}])
    assert not relu.users and list(x.users) == [relu, add] and add.args == (x, [x, {"a": w}])
    add.update_arg(1, slice(None, w))
    assert list(w.users) == [add] and add.args[1] == slice(None, w, None)
    add.kwargs = {"alpha": relu}
    add.update_kwarg("beta", relu)
    add.replace_input_with(relu, w)
    assert add.kwargs == {"alpha": w, "beta": w} and not relu.users
    add.insert_arg(0, relu)
    assert add.args[0] is relu and list(relu.users) == [add]


def test_replacing_all_uses(graph: fx.Graph) -> None:
    relu, add, x = node(graph, "relu"), node(graph, "add"), node(graph, "x")
    with graph.inserting_after(relu):
        twice = graph.call_function(operator.mul, (relu, 2))
    relu.meta["note"] = 1
    assert relu.replace_all_uses_with(twice, lambda user: user is not twice, propagate_meta=True) == [add]
    assert add.args[0] is twice and twice.args[0] is relu and twice.meta["note"] == 1
    with pytest.raises(ValueError, match=r"twice|mul already has \.meta keys"):
        x.replace_all_uses_with(twice, propagate_meta=True)
    assert fx.GraphModule({}, graph)(wb.ones(1)).tolist() == [4.0]


def test_the_calls_are_those_of_the_house(graph: fx.Graph) -> None:
    add = node(graph, "add")
    house = graph.ir
    assert house.nodes[1] is add.call and add.call is not None
    add.target = wb.mul
    add.args = (node(graph, "x"), 3)
    assert [str(one) for one in (add.call.callee, add.call.inputs)] == ["<function wb.mul>", "(%x : any, 3)"]
    assert node(graph, "x").call is None


def test_operands_cannot_be_changed_in_place() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    cat = graph.call_function(wb.cat, ([x, x],), {"dim": 0})
    for change in (
        lambda: cat.args[0].append(x),
        lambda: cat.kwargs.update(dim=1),
        lambda: cat.args[0].__setitem__(0, x),
    ):
        with pytest.raises(
            TypeError, match="does not support mutation: operands of a node are changed by assigning new"
        ):
            change()


def test_erasing(graph: fx.Graph) -> None:
    relu = node(graph, "relu")
    with pytest.raises(
        RuntimeError, match=r"Tried to erase Node relu but it still had 1 users in the graph: \{add: None\}!"
    ):
        graph.erase_node(relu)
    relu.replace_all_uses_with(node(graph, "x"))
    graph.erase_node(relu)
    assert names(graph) == ["x", "w", "add", "output"] and list(node(graph, "x").users) == [
        node(graph, "add")
    ]
    with pytest.raises(RuntimeError, match="relu was erased before"):
        graph.erase_node(relu)
    with pytest.raises(RuntimeError, match="from wrong graph"):
        fx.Graph().erase_node(graph.output_node())


def test_nodes_can_be_erased_while_going_over_them(graph: fx.Graph) -> None:
    for one in graph.nodes:
        if one.op == "call_method":
            one.replace_all_uses_with(one.args[0])
            graph.erase_node(one)
    assert names(graph) == ["x", "w", "add", "output"]


def test_dead_code_goes_and_what_does_something_stays() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    unused = graph.placeholder("unused")
    dead = graph.call_function(wb.exp, (graph.call_function(wb.neg, (x,)),))
    graph.call_method("add_", (x, 1))
    graph.call_function(wb.relu, (x,), {"out": x})
    graph.call_function(fx.has_side_effect(print), (x,))
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert next(str(one.target) for one in graph.nodes if one.op.startswith("call")) == "add_"
    assert unused in list(graph.nodes) and dead not in list(graph.nodes) and len(graph.nodes) == 6
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda one: one.op in ("placeholder", "output"))
    assert names(graph) == ["x", "unused", "output"]


def test_finding_nodes(graph: fx.Graph) -> None:
    assert graph.find_nodes(op="call_function", target=operator.add) == [node(graph, "add")]
    assert graph.find_nodes(op="placeholder") == [node(graph, "x"), node(graph, "w")]
    assert graph.output_node().args == (node(graph, "add"),)
    with pytest.raises(RuntimeError, match="no output yet"):
        fx.Graph().output_node()


def test_copies_have_nodes_of_their_own(graph: fx.Graph) -> None:
    node(graph, "relu").meta["note"] = [1]
    other = copy.deepcopy(graph)
    assert str(other) == str(graph) and node(other, "relu").meta["note"] == [1]
    other.erase_node(other.output_node())
    assert names(graph)[-1] == "output"
    joined = fx.Graph()
    x = joined.placeholder("y")
    result = joined.graph_copy(graph, {node(graph, "x"): x, node(graph, "w"): x})
    joined.output(joined.node_copy(node(graph, "relu"), lambda one: result))
    assert fx.GraphModule({}, joined)(wb.ones(1)).tolist() == [2.0] and names(joined)[-2] == "relu_1"


def test_names_are_given_once_and_are_words() -> None:
    graph = fx.Graph()
    made = [
        graph.placeholder("input"),
        graph.call_method("float"),
        graph.call_module("a.0.b"),
        graph.call_module("a.0.b"),
    ]
    made += [graph.create_node("call_function", operator.and_, (1, 2), name="x_2") for _ in range(2)]
    made += [graph.call_function(operator.and_), graph.get_attr("0"), graph.call_method("__call__")]
    found = ["input_1", "float_1", "a_0_b", "a_0_b_1", "x_2", "x_3", "and_", "_0", "call"]
    assert [one.name for one in made] == found


BROKEN: list[tuple[str, Any, str]] = [
    (
        "read_above",
        lambda g: node(g, "x").prepend(node(g, "add")),
        "Argument 'relu' of Node 'add' was used before it has been defined",
    ),
    (
        "another_graph",
        lambda g: setattr(node(g, "add"), "args", (fx.Graph().placeholder("z"), 1)),
        "Argument 'z' of Node 'add' does not belong to this Graph",
    ),
    ("two_outputs", lambda g: g.output(None), "Node 'output_1' is a second output beside 'output'"),
    ("behind_the_output", lambda g: g.call_function(wb.neg, (1,)), "Node 'neg' stands behind the output"),
    ("one_name", lambda g: setattr(node(g, "relu"), "name", "x"), "Node redefined name x!"),
    ("target", lambda g: setattr(node(g, "add"), "target", "add"), "Node 'add': .* a Callable is expected"),
    (
        "method",
        lambda g: setattr(node(g, "relu"), "target", wb.relu),
        "Node 'relu': a target of call_method is a name",
    ),
]


@pytest.mark.parametrize(("change", "words"), [one[1:] for one in BROKEN], ids=[one[0] for one in BROKEN])
def test_lint_names_the_node(graph: fx.Graph, change: Any, words: str) -> None:
    graph.lint()
    change(graph)
    with pytest.raises(RuntimeError, match=words):
        graph.lint()


def test_lint_looks_for_what_is_held(graph: fx.Graph) -> None:
    module = fx.GraphModule({}, graph)
    module.lost = 3
    with graph.inserting_before(node(graph, "add")):
        lost = graph.call_module("lost", (node(graph, "x"),))
    with pytest.raises(RuntimeError, match="Node 'lost' target lost calls a module, and there is int"):
        graph.lint()
    lost.target = "layers.nowhere"
    with pytest.raises(
        RuntimeError, match=r"Node 'lost' target layers\.nowhere references nonexistent attribute"
    ):
        graph.lint()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda g: g.create_node("call", "x"),
            ValueError,
            "'call' is no kind of node: there are call_function, ",
        ),
        (lambda g: g.call_function("add"), ValueError, "a Callable is expected"),
        (lambda g: g.call_method(wb.relu), ValueError, "call_function takes a function"),
        (lambda g: g.call_module(3), ValueError, "the path of a module, a str, and not int"),
        (
            lambda g: g.call_method("relu", [1]),
            TypeError,
            r"args must be a tuple, not list: write \(\[1\],\)",
        ),
        (lambda g: g.call_method("relu", (), [1]), TypeError, "kwargs must be a dict, not list"),
        (lambda g: g.inserting_before(fx.Graph().placeholder("y")), AssertionError, "is a node of another"),
        (
            lambda g: node(g, "x").append(fx.Graph().placeholder("y")),
            AssertionError,
            "into a different Graph",
        ),
        (lambda g: setattr(node(g, "x"), "op", "input"), ValueError, "'input' is no kind of node"),
        (lambda g: node(g, "add").insert_arg(5, 1), ValueError, "must be between 0 and 2, got 5"),
    ],
    ids=["op", "function", "method", "module", "args", "kwargs", "place", "moved", "kind", "position"],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    graph: fx.Graph, make: Any, error: type[Exception], words: str
) -> None:
    before = str(graph)
    with pytest.raises(error, match=words):
        make(graph)
    assert str(graph) == before


def test_a_table(graph: fx.Graph, capsys: pytest.CaptureFixture[str]) -> None:
    graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[4].split() == ["call_method", "relu", "relu", "(x,)", "{}"]
