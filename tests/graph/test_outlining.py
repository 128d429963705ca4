"""Nodes that are taken out into a function: legal, printed, read back, run, kept in archives, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graph.test_random_graphs import graphs, plain, same
from workbench import models
from workbench.core.op import ops
from workbench.graph import Graph, GraphError, Node, Rewriter, check, parse, python_text, text, trace, walk
from workbench.graph.interpreter import tapped
from workbench.graph.outlining import Outliner
from workbench.graph.passes import (
    common_subexpressions,
    constant_fold,
    dead_code,
    differentiate,
    freeze,
    fuse_conv_batch_norm,
    fuse_convolutions,
    inline,
    outline,
    peephole,
    run_passes,
)
from workbench.interop.archive import load_graph, save_graph

FUNCTION = """fused(%a : f32[N=3], %b : f32[N=3]):
  kind 'fused_elementwise'
  %c : f32[N:3] = mul(%a, 2)
  %d : f32[N:3] = add(%c, %b)
  return %d

g(%x : f32[N=3]):
  %y : f32[N:3] = @fused(%x, %x)
  return %y"""


def kinds(graph: Graph) -> list[str]:
    """The kinds of the functions that the graph calls, and the ops that stand in it, in order."""
    return [node.callee.kind if node.op is None else node.op.name for node in graph.nodes]


def inside(graph: Graph) -> list[list[str]]:
    return [
        [str(node.op.name if node.op else node.callee) for node in one.nodes]
        for one in graph.functions.values()
    ]


# ------------------------------------------------------------------------------------------- the mark


def test_a_kind_is_printed_read_back_and_kept(tmp_path: Any) -> None:
    graph = parse(FUNCTION)
    assert graph.functions["fused"].kind == "fused_elementwise"
    assert text(graph) == FUNCTION
    # Of a number that the type says there is no line.
    assert "assert" not in text(graph) and len(graph.functions["fused"].guards) == 2
    assert '    """fused_elementwise"""\n' in python_text(graph)
    again = [
        graph.copy(),
        Rewriter(graph).rewritten(),
        parse(python_text(graph)),
        dead_code(graph),
        peephole(graph),
    ]
    save_graph(graph, tmp_path / "a.wb")
    for one in (*again, load_graph(tmp_path / "a.wb")):
        assert text(check(one)) == FUNCTION
        assert one(wb.ones(N=3)).tolist() == [3.0] * 3
    made: dict[str, Any] = {}
    exec(compile(python_text(graph), "graph", "exec"), made)
    assert made["g"]({}, {}, wb.ones(N=3)).tolist() == [3.0] * 3


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (
            FUNCTION.replace("  kind", "  kind 'a'\n  kind"),
            "line 3 says what kind a function is a second time",
        ),
        (FUNCTION.replace("  return %d", "  kind 'a'\n  return %d"), "line 5 says what kind"),
        (FUNCTION.replace("'fused_elementwise'", "''"), None),
        (FUNCTION.replace("'fused_elementwise'", "'no word'"), "the kind 'no word', which is no identifier"),
        (FUNCTION.replace("'fused_elementwise'", "fused"), "has fused, which is no text"),
    ],
)
def test_a_kind_is_a_word_and_stands_first(damaged: str, message: str | None) -> None:
    if message is None:
        assert parse(damaged).functions["fused"].kind == ""
        return
    with pytest.raises(GraphError, match=message):
        parse(damaged)


def test_a_kind_that_is_no_word_is_refused_by_the_spec() -> None:
    graph = parse(FUNCTION)
    graph.functions["fused"].kind = 'a"""\nimport os'
    with pytest.raises(GraphError, match="which is no identifier"):
        check(graph)


def test_what_is_written_of_an_input_are_labels_where_it_is_given_a_parameter() -> None:
    graph = fuse_convolutions(trace(models.mobilenet_v2().eval(), {"N": 2, "C": 3, "H": 32, "W": 32}))
    linear = trace(wb.nn.Sequential(wb.nn.Linear(3, 4), wb.nn.ReLU()), {"N": 2, "C": 3})
    for one in (graph, fuse_convolutions(linear)):
        held = {value.name: tensor for value, tensor in one.held().items()}
        for write in (text, python_text):
            again = parse(write(one), held)
            assert text(again) == text(one)
            assert python_text(again) == python_text(one)


# ------------------------------------------------------------------------------------- taking out


def test_nodes_in_between_come_before_or_behind_the_call() -> None:
    graph = trace(lambda x, y: ((x * 2).exp() + y.sin(), (x * 2).cos()), wb.ones(N=3), wb.ones(N=3))
    graph = common_subexpressions(graph)
    by = {node.op.name: node for node in graph.nodes if node.op}
    assert [one.op.name for one in graph.nodes if one.op] == ["mul", "exp", "sin", "add", "cos"]
    made = check(outline(graph, [by["mul"], by["exp"], by["add"]], "fused_elementwise"))
    # sin is needed by the group, cos needs it: what both read is a result of the function, too.
    assert kinds(made) == ["sin", "fused_elementwise", "cos"]
    (function,) = made.functions.values()
    assert not function.single and len(function.outputs) == 2
    x, y = wb.rand(3).rename("N"), wb.rand(3).rename("N")
    same(made(x, y), graph(x, y))
    assert sorted(text(inline(made))) == sorted(text(graph))


def refused(graph: Graph, nodes: list[Node], message: str, kind: str = "group") -> None:
    before = text(graph)
    with pytest.raises(GraphError, match=message):
        outline(graph, nodes, kind)
    assert text(graph) == before


def test_what_would_not_be_the_same_graph_is_refused() -> None:
    graph = trace(lambda x: (x * 2).exp().sin() + (x * 2), wb.ones(N=3))
    refused(
        graph, [graph.nodes[0], graph.nodes[2]], "sin needs exp, which is computed from what the group makes"
    )
    refused(graph, [], "there are no nodes to take out")
    refused(graph, [trace(lambda x: x.exp(), wb.ones(2)).nodes[0]], "exp is no node of the graph")
    refused(graph, graph.nodes[:1], "'no word' cannot be what a function is called", "no word")
    refused(graph, graph.nodes[:1], "'class' cannot be what a function is called", "class")


def test_nothing_is_moved_across_what_changes_memory_and_no_effect_is_taken_out() -> None:
    graph = parse(
        """g(%x : f32[N:3]):
  %a : f32[N:3] = mul(%x, 2)
  %b : f32[N:3] = Tensor.mul_(%x, 3) writes %x
  %c : f32[N:3] = add(%a, %x)
  return %c"""
    )
    refused(graph, [graph.nodes[0], graph.nodes[2]], "b stands between the nodes and does more than compute")
    refused(graph, graph.nodes[:2], "b does more than compute, and stays where it is")
    assert check(outline(graph, graph.nodes[2:], "group"))(wb.ones(N=3)).tolist() == [5.0] * 3


def test_blocks_stay_where_they_are_and_what_stands_in_them_can_be_taken_out() -> None:
    graph = parse(
        """g(%x : f32[N:3], %k : bool):
  %w : f32[N:3] = neg(%x)
  %y : f32[N:3] = loop(3, True, %x):
    body(%i : int, %a : f32[N:3]):
      %b : f32[N:3] = mul(%a, %i)
      %c : f32[N:3] = add(%b, %w)
      return %k, %c
  return %y"""
    )
    loop = graph.nodes[1]
    refused(graph, [loop], "y has blocks, which stay where they are")
    refused(graph, [graph.nodes[0], loop.blocks[0].nodes[0]], "w and b stand in different blocks")
    made = check(outline(graph, loop.blocks[0].nodes, "fused_elementwise"))
    assert [one.name for one in made.functions["fused_elementwise"].inputs] == ["a", "i", "w"]
    for go in (True, False):
        x = wb.rand(3).rename("N")
        same(made(x, go), graph(x, go))
        same(inline(made)(x, go), graph(x, go))


def test_a_size_that_nothing_shows_is_asked_for_in_words() -> None:
    graph = trace(lambda x, y: (y * x.shape[0]).exp().reshape(y.shape[0], 1), wb.ones(4), wb.ones(3))
    refused(
        graph, graph.nodes[:2], r"mul asks for x\.shape\[0\], which nothing shows that the nodes are given"
    )
    made = check(outline(graph, graph.nodes[1:], "group"))
    # What the value shows is called by it inside.
    assert "sizes=(%mul.shape[0], 1)" in text(made)
    assert made(wb.ones(7), wb.ones(2)).shape == (2, 1)


def test_a_size_that_is_computed_outside_is_one_inside() -> None:
    graph = trace(lambda x: x[1:].exp().reshape(x.shape[0] - 1, 1), wb.ones(4))
    made = check(outline(graph, graph.nodes[1:], "group"))
    assert "sizes=(%index.shape[0], 1)" in text(made)
    assert made(wb.ones(7)).shape == (6, 1)


def test_functions_stand_in_front_of_those_that_call_them() -> None:
    graph = parse(FUNCTION)
    made = outline(graph, graph.functions["fused"].nodes[:1], "part")
    assert list(made.functions) == ["part", "fused"]
    assert text(parse(text(check(made)))) == text(made)
    whole = outline(made, made.nodes, "whole")
    assert list(whole.functions) == ["part", "fused", "whole"]
    assert text(parse(text(check(whole)))) == text(whole)
    assert text(inline(whole)) == text(inline(graph))


def test_names_in_a_function_are_python_and_the_function_is_called_as_no_value() -> None:
    graph = parse(
        "g(%0.class : f32[N:3], %part : f32[N:3]):\n  %b : f32[N:3] = add(%0.class, %part)\n  return %b"
    )
    made = outline(graph, graph.nodes, "part")
    (function,) = made.functions.values()
    assert function.name == "part_1" and [one.name for one in function.inputs] == ["class_", "part"]


def test_a_node_that_nobody_reads_can_be_taken_out() -> None:
    graph = parse("g(%x : f32[N:3]):\n  %a : f32[N:3] = exp(%x)\n  return %x")
    assert check(outline(graph, graph.nodes, "group"))(wb.ones(N=3)).tolist() == [1.0] * 3


@given(graphs(), st.integers(-2, 2), st.booleans(), st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_nodes_of_random_graphs(graph: Graph, n: int, b: bool, data: Any) -> None:
    x = wb.tensor([0.5, -1.0, 2.0], names=("N",))
    (expected,) = plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))
    before = text(graph)
    made = graph
    for turn in range(3):
        block = data.draw(st.sampled_from([block for _, block in walk(made)]))
        nodes = data.draw(st.lists(st.sampled_from(block.nodes), min_size=1, max_size=5, unique_by=id))
        why = Outliner(made).refusal(sorted(nodes, key=block.nodes.index))
        if why is not None:
            event("refused")
            assert "is not in it: take it out as well" in why or "has blocks" in why
            continue
        try:
            made = check(outline(made, nodes, f"group{turn}"))
        except GraphError as error:
            # The one thing that is found when it is done.
            event("refused for a size")
            if "which nothing shows that the nodes are given" not in str(error):
                raise
            continue
        event("taken out")
        same(made(x, n, b), expected)
        same(inline(made)(x, n, b), expected)
        assert text(parse(text(made))) == text(made)
        same(parse(python_text(made))(x, n, b), expected)
    for size in (1, 2, 4, 7):
        row = wb.arange(size).float().rename("N") * 0.5 - 1
        try:
            wanted = graph(row, n, b)
        except wb.DimensionError:
            continue
        same(made(row, n, b), wanted)
    assert text(graph) == before


# --------------------------------------------------------------------------------------- convolutions

INPUTS: dict[str, Any] = {
    "DigitsNet": {"N": 2, "C": 1, "H": 28, "W": 28},
    "LeNet": {"N": 2, "C": 1, "H": 28, "W": 28},
    "resnet18": {"N": 2, "C": 3, "H": 32, "W": 32},
    "resnet50": {"N": 2, "C": 3, "H": 32, "W": 32},
    "mobilenet_v2": {"N": 2, "C": 3, "H": 32, "W": 32},
    "efficientnet_lite0": {"N": 2, "C": 3, "H": 32, "W": 32},
    "vit_small": {"N": 2, "C": 3, "H": 32, "W": 32},
}


def numbers(one: Any) -> Any:
    return one.detach().numpy()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", INPUTS)
def test_models_give_the_same_numbers_at_all_sizes(name: str, training: bool) -> None:
    graph = trace(getattr(models, name)().train(training), INPUTS[name])
    if not training:
        graph = fuse_conv_batch_norm(freeze(graph))
    before = text(graph)
    made = check(fuse_convolutions(graph))
    assert text(graph) == before
    # The call stands where the last of its nodes stood, and nothing else has moved.
    assert text(inline(made)) == before
    for count in (2, 3):
        x = wb.rand(count, *list(INPUTS[name].values())[1:]).rename(*INPUTS[name])
        seeds = {value.name: 7 for value in graph.seeds}
        one, other = (wb.graph.run_apart(each, x, seeds=seeds) for each in (graph, made))
        np.testing.assert_array_equal(numbers(one[0]), numbers(other[0]))
        assert one[0].names == other[0].names
        for key, value in one[1].items():
            np.testing.assert_array_equal(value.numpy(), other[1][key].numpy())


def test_of_a_resnet_each_convolution_takes_what_follows() -> None:
    graph = trace(models.resnet18().eval(), INPUTS["resnet18"])
    made = fuse_convolutions(fuse_conv_batch_norm(freeze(graph)))
    found = inside(made)
    # One for the stem, two a block; where a block has a convolution as its shortcut, that gives only what is added.
    assert found.count(["conv2d", "relu"]) == 9 and found.count(["conv2d", "add", "relu"]) == 8
    alone = [".".join(node.scope) for node in made.nodes if node.op is ops.conv2d]
    assert alone == [f"layer{i}.0.downsample.0" for i in (2, 3, 4)]
    assert list(made.functions) == ["fused_convolution", *(f"fused_convolution_{i}" for i in range(1, 17))]
    assert {one.kind for one in made.functions.values()} == {"fused_convolution"}


CONV = wb.nn.Conv2d(3, 3, 3, padding=1)
LAST = wb.nn.Linear(4, 4)
BARE = wb.nn.Linear(4, 4, bias=False)
VECTOR = wb.ones(4)


@pytest.mark.parametrize(
    ("function", "groups"),
    [
        (lambda x: CONV(x).relu(), [["conv2d", "relu"]]),
        (lambda x: (x + CONV(x)).clamp(0, 6), [["conv2d", "add", "clamp"]]),
        (lambda x: CONV(x).clamp(0.0, 6.0) + x, [["conv2d", "clamp"]]),
        (lambda x: wb.nn.functional.relu6(CONV(x) + x), [["conv2d", "add", "hardtanh"]]),
        (lambda x: wb.nn.functional.silu(CONV(x)), [["conv2d", "silu"]]),
        (lambda x: wb.nn.functional.hardswish(CONV(x)), [["conv2d", "hardswish"]]),
        (lambda x: CONV(x).sigmoid(), [["conv2d", "sigmoid"]]),
        (lambda x: LAST(x).tanh(), [["linear", "tanh"]]),
        (lambda x: wb.nn.functional.gelu(LAST(x)), [["linear", "gelu"]]),
        (lambda x: wb.nn.functional.gelu(LAST(x), approximate="tanh"), [["linear", "gelu_tanh"]]),
        (lambda x: BARE(x) + VECTOR, [["linear", "add"]]),
        (lambda x: (BARE(x) + VECTOR + x).relu(), [["linear", "add", "add", "relu"]]),
        (lambda x: (x.matmul(x.transpose(2, 3)) + VECTOR).relu(), [["matmul", "add", "relu"]]),
        # Later first: the other one gives what is added.
        (lambda x: CONV(x) + CONV(x.exp()), [["conv2d", "add"]]),
        # Twice itself, more than one reader, returned, two tensors added, what is stretched or stretches.
        (lambda x: (lambda y: y + y)(CONV(x)), []),
        (lambda x: (lambda y: y.relu() + y)(CONV(x)), []),
        (lambda x: (lambda y: (y, y.relu()))(CONV(x)), []),
        (lambda x: LAST(x) + VECTOR, []),
        (lambda x: CONV(x) + 1, []),
        (lambda x: CONV(x) + x[:, :1], []),
        (lambda x: CONV(x) + wb.stack([x, x]), []),
        (lambda x: CONV(x).clamp(VECTOR, VECTOR + 1), []),
        (lambda x: CONV(x).double().relu(), []),
        (lambda x: CONV(x) + x.double(), []),
        (lambda x: wb.nn.functional.linear(x, VECTOR) + x[..., 0], [["matmul", "add"]]),
    ],
)  # fmt: skip
def test_what_a_convolution_takes(function: Any, groups: list[list[str]]) -> None:
    graph = trace(function, wb.ones(2, 3, 4, 4))
    made = check(fuse_convolutions(graph))
    assert inside(made) == groups
    x = wb.rand(2, 3, 4, 4)
    one, other = graph(x), made(x)
    for a, b in zip(*((each if isinstance(each, tuple) else (each,)) for each in (one, other)), strict=True):
        np.testing.assert_array_equal(numbers(a), numbers(b))
    assert text(fuse_convolutions(made)) == text(made)


def test_other_names_in_between_are_taken_and_names_at_the_end_stay() -> None:
    function = lambda x: (LAST(x).rename("N", "E") + x.rename("N", "E")).relu().rename("N", "F")
    graph = trace(function, {"N": 2, "C": 4})
    made = check(fuse_convolutions(graph))
    assert inside(made) == [["linear", "rename", "add", "relu"]]
    x = wb.rand(5, 4).rename("N", "C")
    assert made(x).names == graph(x).names == ("N", "F")


def test_what_is_stretched_in_another_run_is_not_taken() -> None:
    # Of today's sizes both are alike; a run may give y of one row, which is stretched.
    graph = trace(lambda x, y: CONV(x) + y, wb.ones(1, 3, 4, 4), wb.ones(1, 3, 4, 4))
    made = check(fuse_convolutions(graph))
    for rows in ((1, 1), (2, 2)):
        x, y = (wb.rand(count, 3, 4, 4) for count in rows)
        np.testing.assert_array_equal(numbers(made(x, y)), numbers(graph(x, y)))


def test_blocks_and_memory_are_respected() -> None:
    source = """g(%x : f32[N:3, C=4], %w : f32[C=4, D=4], %k : bool):
  %y : f32[N:3, C:4] = if(%k):
    then():
      %p : f32[N:3, D:4] = matmul(%x, %w)
      %q : f32[N:3, D:4] = relu(%p)
      %r : f32[N:3, C:4] = rename(%q, names=('N', 'C'))
      return %r
    else():
      return %x
  return %y"""
    graph = parse(source)
    made = check(fuse_convolutions(graph))
    assert inside(made) == [["matmul", "relu"]]
    x, w = wb.rand(3, 4).rename("N", "C"), wb.rand(4, 4).rename("C", "D")
    for k in (True, False):
        same(made(x, w, k), graph(x, w, k))
    written = parse(
        """g(%x : f32[·:3, ·=4], %w : f32[·=4, ·=4]):
  %p : f32[·:3, ·:4] = matmul(%x, %w)
  %z : f32[·:3, ·:4] = Tensor.zero_(%p) writes %p
  %q : f32[·:3, ·:4] = relu(%p)
  return %q"""
    )
    assert not fuse_convolutions(written).functions


def test_gradients_go_through_what_is_fused() -> None:
    model = wb.nn.Sequential(
        wb.nn.Conv2d(2, 3, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(12, 2), wb.nn.Tanh()
    )
    graph = trace(lambda x: model(x).sum(), wb.ones(2, 2, 4, 4))
    made = fuse_convolutions(graph)
    assert inside(made) == [["conv2d", "relu"], ["linear", "tanh"]]
    x = wb.rand(2, 2, 4, 4)
    _, expected = differentiate(graph, ["x"])(x)
    _, found = differentiate(made, ["x"])(x)
    np.testing.assert_array_equal(numbers(found["x"]), numbers(expected["x"]))


def test_other_passes_take_a_fused_graph() -> None:
    graph = trace(models.mobilenet_v2().eval(), INPUTS["mobilenet_v2"])
    passes = [
        freeze,
        fuse_conv_batch_norm,
        fuse_convolutions,
        common_subexpressions,
        constant_fold,
        peephole,
        dead_code,
    ]
    last = run_passes(graph, passes)[-1].after
    assert len(last.functions) == 45
    x = wb.rand(2, 3, 32, 32).rename("N", "C", "H", "W")
    np.testing.assert_allclose(numbers(last(x)), numbers(graph(x)), rtol=1e-3, atol=1e-5)


def test_a_frozen_graph_keeps_the_names_that_labels_give(tmp_path: Any) -> None:
    graph = freeze(trace(wb.nn.Linear(3, 4), {"N": 2, "C": 3}))
    x = wb.rand(2, 3).rename("N", "C")
    assert graph(x).names == ("N", "out_features")
    save_graph(graph, tmp_path / "frozen.wb")
    assert load_graph(tmp_path / "frozen.wb")(x).names == ("N", "out_features")


def test_a_tap_inside_a_function_is_asked_at_each_of_its_calls() -> None:
    made = parse(FUNCTION)
    inner = made.functions["fused"].nodes[0]
    before = made(wb.ones(N=3))
    with tapped(inner, lambda value: value * 0):
        changed = made(wb.ones(N=3))
    assert not bool((before == changed).all())
    assert bool((made(wb.ones(N=3)) == before).all())
