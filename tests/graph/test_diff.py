"""What is different between two graphs: found by structure, told in words, and the same from either side."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graph.test_random_graphs import graphs
from workbench import models
from workbench.graph import Block, Graph, GraphDiff, Rewriter, Value, diff, parse, passes, trace
from workbench.graph.diffing import alignment
from workbench.graph.walk import blocks, reads

ops = wb.core.ops
MIRROR = {"added": "removed", "removed": "added"}


def names(found: list[Any]) -> list[str]:
    return [one.node.name for one in found]


def read(body: str) -> Graph:
    """A graph of one tensor, written as text."""
    return parse(f"graph(%x : f32[N:2, C:3], %y : f32[N:2, C:3], %c : bool):\n{body}")


def renamed(graph: Graph) -> Graph:
    """The same graph with other names for all values, and independent nodes in another order."""
    other = graph.copy()
    shuffle = random.Random(0)
    for function in (*other.functions.values(), other):
        for block in blocks(function):
            _shuffled(block, shuffle)
    inner = [value for function in other.functions.values() for value in _made(function)]
    for i, value in enumerate([*other.values(), *inner]):
        value.name = f"other_{i}"
    return other


def _made(block: Block) -> list[Value]:
    return [v for one in blocks(block) for v in (*one.inputs, *(o for n in one.nodes for o in n.outputs))]


def _shuffled(block: Block, shuffle: random.Random) -> None:
    rest, known = list(block.nodes), set(block.nodes)
    block.nodes = []
    while rest:
        from_here = {value for node in rest for value in node.outputs}
        ready = [node for node in rest if not from_here & set(reads(node))]
        node = shuffle.choice(ready)
        block.nodes.append(node)
        rest.remove(node)
    assert set(block.nodes) == known


def statuses(found: GraphDiff) -> Counter[Any]:
    return Counter((one.status, one.before, one.after) for one in found.nodes)


# ------------------------------------------------------------------------------------------------ by any graphs


@given(graphs())
@settings(max_examples=40, deadline=None)
def test_a_graph_is_not_different_from_itself(graph: Graph) -> None:
    for other in (graph, graph.copy(), renamed(graph)):
        found = diff(graph, other)
        assert found.empty, str(found)
        assert not found and found.summary().startswith("no difference")


@given(graphs(), graphs())
@settings(max_examples=60, deadline=None)
def test_any_two_graphs_are_told_whole_and_the_same_from_both_sides(one: Graph, other: Graph) -> None:
    found, back = diff(one, other), diff(other, one)
    for graph, part in ((one, "before"), (other, "after")):
        every = [node for f in (*graph.functions.values(), graph) for node, _ in wb.graph.walk(f)]
        told = [getattr(entry, part) for entry in found.nodes if getattr(entry, part) is not None]
        assert Counter(told) == Counter(every)  # each once
    # What is kept calls the same: taking away what was removed and adding what was added gives the other graph.
    before, after = (
        Counter(entry.op for entry in found.nodes if getattr(entry, p)) for p in ("before", "after")
    )
    assert before - Counter(e.op for e in found.removed) + Counter(e.op for e in found.added) == after
    mirrored = Counter((MIRROR.get(s, s), b, a) for s, a, b in statuses(back).elements())
    assert statuses(found) == mirrored
    assert statuses(diff(one, other)) == statuses(found)
    assert str(diff(one, other)) == str(found)
    json.dumps(found.records())


@st.composite
def programs(draw: Any) -> Graph:
    """A graph of elementwise calls, each with one before it and at times another."""
    graph = trace(lambda x: x, wb.ones(N=3))
    values = [graph.outputs[0]]
    for _ in range(draw(st.integers(4, 25))):
        op = draw(st.sampled_from([ops.relu, ops.exp, ops.tanh, ops.add, ops.mul]))
        back = draw(st.integers(1, min(4, len(values))))
        inputs = (values[-1],) if op not in (ops.add, ops.mul) else (values[-1], values[-back])
        values += graph.insert(op, *inputs).outputs
    graph.outputs = (values[-1],)
    return graph


@given(programs(), st.data())
@settings(max_examples=80, deadline=None)
def test_k_nodes_that_were_taken_out_are_k_that_were_removed(graph: Graph, data: Any) -> None:
    other = graph.copy()
    gone = data.draw(st.sets(st.integers(0, len(graph.nodes) - 1), max_size=4))
    for node in [other.nodes[i] for i in sorted(gone)]:
        other.replace(node.outputs[0], node.inputs[0])
        other.outputs = tuple(node.inputs[0] if v is node.outputs[0] else v for v in other.outputs)
        other.remove(node)
    found = diff(graph, other)
    assert (len(found.removed), len(found.added)) == (len(gone), 0), str(found)
    assert (len(diff(other, graph).added), len(diff(other, graph).removed)) == (len(gone), 0)


@given(st.text("abc", max_size=12), st.text("abcd", max_size=12), st.booleans())
def test_a_longest_common_subsequence_is_found(one: str, other: str, divided: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "MOST_CELLS", 6 if divided else 1000)
        found = alignment.common(one, other)
    assert all(one[i] == other[j] for i, j in found)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(found))
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    # What is too long for a table is divided, and may miss a few.
    assert len(found) <= table[-1][-1] if divided else len(found) == table[-1][-1]


# ---------------------------------------------------------------------------------------------- what it says


def test_folding_is_the_convolutions_and_the_normalisations() -> None:
    before = trace(models.resnet18().eval(), {"N": 1, "C": 3, "H": 32, "W": 32})
    found = diff(before, passes.fuse_conv_batch_norm(before))
    assert {one.op for one in found.changed} == {"conv2d"}
    assert {one.op for one in found.removed} == {"batch_norm_inference"}
    assert (len(found.changed), len(found.removed), len(found.same)) == (20, 20, 29)
    assert not found.added and not found.moved and not found.notes
    assert len(found.changed[0].what) == 2
    assert found.changed[0].what[0].startswith("bias: nothing → constant conv1.weight_bias_folded f32[")


def test_a_pass_of_ones_own_is_told_in_pairs() -> None:
    class Tanh(Rewriter):
        def call(self, node: Any, inputs: Any, params: Any) -> Any:
            if node.op is ops.relu:
                return self.insert(ops.tanh, inputs, like=node)
            return self.again(node, inputs, params)

    graph = trace(models.LeNet(), {"N": 2, "C": 1, "H": 28, "W": 28})
    found = diff(graph, Tanh(graph).rewritten())
    assert [one.op for one in found.removed] == ["relu"] * len(found.removed)
    assert [one.op for one in found.added] == ["tanh"] * len(found.removed)
    assert [one.instead for one in found.removed] == [one.after for one in found.added]
    assert len(found.same) == len(graph.nodes) - len(found.removed)


def test_the_text_is_a_list_with_signs() -> None:
    one = read(
        "  %a : f32[N:2, C:3] = exp(%x)\n  %b : f32[N:2] = sum(%a, dim=(1,), keepdim=False)\n  return %b"
    )
    other = read(
        "  %e : f32[N:2, C:3] = tanh(%x)\n  %f : f32[C:3] = sum(%e, dim=(0,), keepdim=False)\n  return %f"
    )
    assert str(diff(one, other)).splitlines() == [
        "graph → graph: 1 changed · 1 added · 1 removed",
        "- exp  %a",
        "+ tanh  %e",
        "~ sum  %b → %f",
        "    dim: (1,) → (0,)",
        "    gives f32[N:2] → f32[C:3]",
    ]
    assert str(diff(one, other).text(2)).endswith("… 4 more lines: print(diff.text(None))")


def test_what_reads_something_else_is_changed() -> None:
    one = read("  %a : f32[N:2, C:3] = sub(%x, %y)\n  return %a")
    other = read("  %a : f32[N:2, C:3] = sub(%y, %x)\n  return %a")
    assert [entry.what for entry in diff(one, other).changed] == [("x: reads %x → %y", "y: reads %y → %x")]
    # That something was put in between is said by what was put in.
    other = read("  %b : f32[N:2, C:3] = exp(%y)\n  %a : f32[N:2, C:3] = sub(%x, %b)\n  return %a")
    found = diff(one, other)
    assert not found.changed and names(found.added) == ["b"]
    # But not where it comes from elsewhere.
    other = read("  %b : f32[N:2, C:3] = exp(%x)\n  %a : f32[N:2, C:3] = sub(%x, %b)\n  return %a")
    assert [entry.what for entry in diff(one, other).changed] == [("y: reads %y → %b",)]


def test_another_type_is_told_where_it_begins() -> None:
    def model(x: Any) -> Any:
        return x.exp().relu().sum("C")

    one, other = trace(model, wb.ones(N=2, C=3)), trace(model, wb.ones(N=2, C=3).double())
    found = diff(one, other)
    assert found.notes == ("input x: f32[N:2, C:3] → f64[N:2, C:3]",)
    assert found.counts == {"follows": 3}
    assert not found.changed and len(found.same) == 3 and not found.empty
    # Other sizes of the example are no difference: the graph runs for both.
    assert diff(one, trace(model, wb.ones(N=4, C=5))).empty


def test_a_weight_of_another_type_is_a_change_and_other_numbers_are_listed() -> None:
    example = wb.ones(N=2, C=3)
    one, other = wb.nn.Linear(3, 4), wb.nn.Linear(3, 5)
    (changed,) = diff(trace(one, example), trace(other, example)).changed
    assert (
        changed.what[0] == "weight: f32[out_features:4, in_features:3] → f32[out_features:5, in_features:3]"
    )
    found = diff(trace(one, example), trace(wb.nn.Linear(3, 4), example))
    assert found.empty
    assert found.numbers == (("weight", "weight"), ("bias", "bias"))
    assert diff(trace(one, example), trace(one, example)).numbers == ()


def test_freezing_is_one_line() -> None:
    graph = trace(models.LeNet().eval(), {"N": 2, "C": 1, "H": 28, "W": 28})
    found = diff(graph, passes.freeze(graph))
    assert found.counts == {"same": len(graph.nodes)}
    assert found.notes == ("10 parameters → constants",)


def test_two_that_changed_places_are_one_that_moved() -> None:
    body = "  %a : f32[N:2, C:3] = exp(%x)\n{}  %d : f32[N:2, C:3] = neg(%v)\n  return %d"
    one = read(body.format("  %b : f32[N:2, C:3] = relu(%a)\n  %v : f32[N:2, C:3] = tanh(%b)\n"))
    other = read(body.format("  %b : f32[N:2, C:3] = tanh(%a)\n  %v : f32[N:2, C:3] = relu(%b)\n"))
    assert diff(one, other).counts == {"moved": 1, "same": 3}
    assert diff(other, one).counts == {"moved": 1, "same": 3}


BRANCH = """  %r : f32[N:2, C:3] = if(%c):
    then():
      %a : f32[N:2, C:3] = {}(%x)
      return %a
    else():
      %b : f32[N:2, C:3] = exp(%x)
      return %b
  return %r"""


def test_what_differs_in_a_block_is_told_there() -> None:
    found = diff(read(BRANCH.format("relu")), read(BRANCH.format("tanh")))
    assert found.counts == {"added": 1, "removed": 1, "same": 2}
    assert found.added[0].place == ("if", "then")
    one, other = (wb.ones(N=2, C=3) for _ in range(2))
    assert diff(trace(lambda x, y: x, one, other), read(BRANCH.format("relu"))).counts == {"added": 3}


def test_what_differs_in_a_function_is_told_once() -> None:
    text = (
        "{0}(%p : f32[N:2]):\n  %q : f32[N:2] = {1}(%p)\n  return %q\n\n"
        "graph(%x : f32[N:2]):\n  %a : f32[N:2] = @{0}(%x)\n  %b : f32[N:2] = @{0}(%a)\n  return %b"
    )
    one = parse(text.format("helper", "relu"))
    assert diff(one, parse(text.format("other", "relu"))).empty
    found = diff(one, parse(text.format("helper", "tanh")))
    assert found.counts == {"added": 1, "removed": 1, "same": 2}
    assert found.added[0].place == ("@helper",)
    found = diff(one, passes.inline(one))
    assert [entry.op for entry in found.added] == ["relu", "relu"]
    assert sorted(entry.op for entry in found.removed) == ["@helper", "@helper", "relu"]


def test_a_module_of_another_path_is_one_line() -> None:
    class Outer(wb.nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    model, example = models.LeNet().eval(), {"N": 2, "C": 1, "H": 28, "W": 28}
    graph = trace(model, example)
    found = diff(graph, trace(Outer(model), example))
    assert found.counts == {"same": len(graph.nodes)}
    assert found.notes == (f"module (none) → inner: {len(graph.nodes)} nodes",)


def test_a_graph_without_modules_has_moved_nothing() -> None:
    graph = trace(models.LeNet().eval(), {"N": 2, "C": 1, "H": 28, "W": 28})
    bare = graph.copy()
    for node in bare.nodes:
        node.scope = ()
    assert diff(graph, bare).empty
    assert diff(bare, graph).empty


def test_what_goes_in_and_comes_out_is_noted() -> None:
    one = trace(lambda x: x.exp(), wb.ones(N=2))
    other = trace(lambda x, y: (x.exp(), y), wb.ones(N=2), wb.ones(C=3))
    found = diff(one, other)
    assert found.counts == {"same": 1}
    assert found.notes == ("input y f32[C:3] was added", "outputs: 1 alone → 2")
    guarded = trace(lambda x: x.exp() if x.shape[0] > 1 else x, wb.ones(N=2))
    assert diff(one, guarded).notes == ("must hold: x.shape[0] > 1",)


def test_eight_bits_are_told_by_layer() -> None:
    example = wb.randn(N=4, C=1, H=28, W=28)
    model = models.DigitsNet().eval()
    prepared = wb.quantization.prepare(wb.quantization.fuse_automatically(model, example))
    prepared(example)
    sizes = {"N": 4, "C": 1, "H": 28, "W": 28}
    found = diff(trace(model, sizes), trace(wb.quantization.convert(prepared), sizes))
    pairs = {one.place: (one.op, wb.graph.called(one.instead.callee)) for one in found.removed if one.instead}
    assert pairs[("conv1",)] == ("conv2d", "quantized_conv2d")
    assert pairs[("fc2",)] == ("linear", "quantized_linear")
    assert found.numbers == ()  # no node of both reads a tensor


def test_a_large_graph_is_compared() -> None:
    def chain(without: set[int]) -> Graph:
        draw = random.Random(0)
        graph = trace(lambda x: x, wb.ones(N=2))
        value = graph.outputs[0]
        for i in range(3000):
            op = draw.choice([ops.relu, ops.exp, ops.tanh])
            if i not in without:
                node = wb.graph.Node(op, (value,), {}, ())
                node.outputs = (Value(f"v{i}", value.type, node),)
                graph.nodes.append(node)
                value = node.outputs[0]
        graph.outputs = (value,)
        return graph

    found = diff(chain(set()), chain(set(range(50, 2950, 50))))
    assert found.counts == {"removed": 58, "same": 2942}


def test_only_graphs_are_compared() -> None:
    with pytest.raises(TypeError, match="a LeNet is no graph: wb"):
        diff(trace(lambda x: x, wb.ones(2)), models.LeNet())  # type: ignore[arg-type]
