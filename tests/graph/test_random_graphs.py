"""Random legal graphs, with blocks in blocks, functions and numbers: checked, printed, read back and run alike.

And text that somebody damaged: it is read, or refused with a `GraphError`, and nothing else happens.
"""

from __future__ import annotations

import contextlib
import operator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import models
from workbench.core.op import ops
from workbench.graph import (
    Block,
    Control,
    Graph,
    GraphError,
    Node,
    SubGraph,
    Value,
    check,
    named,
    parse,
    passes,
    python_text,
    text,
    trace,
)
from workbench.graph.types import BOOL, INT, symbolic, type_of

ROW = type_of(wb.ones(N=3))
UNARY = ("relu", "exp", "neg", "tanh", "abs")
BINARY = ("add", "mul", "sub", "maximum")
STEPS = ("unary", "binary", "number", "compare", "size")
ENDS = (slice(None, 1), slice(-2, None))
SIZED: WeakKeyDictionary[Node, Value] = WeakKeyDictionary()
"""Nodes that multiply by the size of a value, and that value."""


def bound(name: str, kind: Any, later: bool = False) -> Value:
    """A value whose sizes a run binds."""
    return Value(name, symbolic(name, kind, later))


class Builder:
    """Draws a graph, and the function of Python that it must be equal to."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.graph = Graph(name="g")
        self.graph.inputs = [
            bound(self.graph.fresh(name), kind) for name, kind in (("x", ROW), ("n", INT), ("b", BOOL))
        ]

    def one_of(self, values: list[Value], kind: Any) -> Value:
        return self.draw(st.sampled_from([one for one in values if kind.accepts(one.type)]))  # type: ignore[no-any-return]

    def fill(self, block: Block, around: list[Value], depth: int) -> list[Value]:
        """Put a few nodes into a block; return what is known at its end."""
        known = [*around, *block.inputs]
        for _ in range(self.draw(st.integers(1, 4))):
            step = self.draw(st.sampled_from([*STEPS, *(["if", "loop"] if depth else [])]))
            if step == "unary":
                node = self.graph.insert(
                    getattr(ops, self.draw(st.sampled_from(UNARY))), self.one_of(known, ROW), block=block
                )
                node = self.graph.insert(ops.tanh, node.outputs[0], block=block)
            elif step == "binary":
                other = self.one_of(known, self.draw(st.sampled_from([ROW, INT])))
                name = (
                    self.draw(st.sampled_from(BINARY[:3]))
                    if other.type == INT
                    else self.draw(st.sampled_from(BINARY))
                )
                node = self.graph.insert(getattr(ops, name), self.one_of(known, ROW), other, block=block)
                node = self.graph.insert(ops.tanh, node.outputs[0], block=block)
            elif step == "number":
                more = self.draw(st.one_of(st.just(self.one_of(known, INT)), st.integers(-3, 3)))
                node = self.graph.insert(named("operator.add"), self.one_of(known, INT), more, block=block)
            elif step == "size":
                # Three of it, whatever its size is in a run; and the size of some value as a number.
                value, other = self.one_of(known, ROW), self.one_of(known, ROW)
                parts = [
                    self.graph.insert(ops.index, value, key=(one,), block=block).outputs[0] for one in ENDS
                ]
                node = self.graph.insert(ops.cat, *parts, dim=0, block=block)
                known += node.outputs
                node = self.graph.insert(ops.mul, node.outputs[0], other.tensor.sizes[0], block=block)
                SIZED[node] = other
            elif step == "compare":
                node = self.graph.insert(
                    named("operator.lt"), self.one_of(known, INT), self.draw(st.integers(-3, 3)), block=block
                )
            elif step == "if":
                node = self.branch(block, known, depth)
            else:
                node = self.loop(block, known, depth)
            known += node.outputs
        return known

    def branch(self, block: Block, known: list[Value], depth: int) -> Any:
        parts = (Block(), Block())
        for part in parts:
            inside = self.fill(part, known, depth - 1)
            part.outputs = (self.one_of(inside, ROW), self.one_of(inside, INT))
        return self.graph.insert(Control.IF, self.one_of(known, BOOL), blocks=parts, block=block)

    def loop(self, block: Block, known: list[Value], depth: int) -> Any:
        body = Block(
            [
                bound(self.graph.fresh(name), kind, later=True)
                for name, kind in (("i", INT), ("y", ROW), ("c", INT))
            ]
        )
        inside = self.fill(body, known, depth - 1)
        body.outputs = (self.one_of(inside, BOOL), self.one_of(inside, ROW), self.one_of(inside, INT))
        most = self.draw(st.integers(0, 3))
        return self.graph.insert(
            Control.LOOP, most, self.one_of(known, BOOL), self.one_of(known, ROW), self.one_of(known, INT),
            blocks=(body,), block=block,
        )  # fmt: skip

    def whole(self) -> Graph:
        known = self.fill(self.graph, [], 2)
        function = SubGraph([bound("p", ROW), bound("q", INT)], name="helper", single=False)
        inside = self.graph.insert(ops.mul, *function.inputs, block=function).outputs[0]
        function.outputs = (inside, [inside, (1, None)])
        self.graph.functions["helper"] = function
        called = self.graph.insert(function, self.one_of(known, ROW), self.one_of(known, INT))
        self.graph.outputs = (
            {"a": [*called.outputs, self.one_of(known, BOOL)], "b": ("%x", {"c": self.one_of(known, INT)})},
        )
        return self.graph


def plain(block: Block, known: dict[Value, Any]) -> tuple[Any, ...]:
    """Run a block in the plainest way there is: what the interpreter is compared with."""

    def at(one: Any) -> Any:
        if isinstance(one, Value):
            return known[one]
        if isinstance(one, list | tuple):
            return type(one)(at(part) for part in one)
        return {key: at(part) for key, part in one.items()} if isinstance(one, dict) else one

    for node in block.nodes:
        arguments = [at(one) for one in node.inputs]
        if node.callee is Control.IF:
            found: Any = plain(node.blocks[0 if arguments[0] else 1], known)
        elif node.callee is Control.LOOP:
            most, goes, *carried = arguments
            for turn in range(most):
                if not goes:
                    break
                known.update(zip(node.blocks[0].inputs, [turn, *carried], strict=True))
                goes, *carried = plain(node.blocks[0], known)
            found = tuple(carried)
        elif isinstance(node.callee, SubGraph):
            found = plain(node.callee, dict(zip(node.callee.inputs, arguments, strict=True)))
        elif node in SIZED:
            found = arguments[0] * known[SIZED[node]].shape[0]
        elif node.op is not None:
            found = node.op(*arguments, **node.params)
        else:
            found = {"operator.add": operator.add, "operator.lt": operator.lt}[node.callee.name](*arguments)
        known.update(zip(node.outputs, found if len(node.outputs) > 1 else (found,), strict=True))
    return at(block.outputs)  # type: ignore[no-any-return]


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, wb.Tensor):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    elif isinstance(one, list | tuple):
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        same(list(one.items()), list(other.items()))
    else:
        assert one == other


@st.composite
def graphs(draw: Any) -> Graph:
    return Builder(draw).whole()


@given(graphs(), st.integers(-2, 2), st.booleans())
@settings(max_examples=60, deadline=None)
def test_random_graphs_run_print_and_are_read_back(graph: Graph, n: int, b: bool) -> None:
    check(graph)
    x = wb.tensor([0.5, -1.0, 2.0], names=("N",))
    (expected,) = plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))
    same(graph(x, n, b), expected)
    for write in (text, python_text):
        again = parse(write(graph))
        assert text(again) == text(graph)
        assert python_text(again) == python_text(graph)
        same(again(x, n, b), expected)
    made: dict[str, Any] = {}
    exec(compile(python_text(graph), "graph", "exec"), made)
    same(made["g"]({}, {}, x, n, b), expected)
    before = text(graph)
    for step in passes.run_passes(
        graph, [passes.common_subexpressions, passes.constant_fold, passes.dead_code]
    ):
        same(step.after(x, n, b), expected)
    assert text(graph) == before


@given(graphs(), st.integers(-2, 2), st.booleans(), st.sampled_from([1, 2, 4, 7]))
@settings(max_examples=150, deadline=None)
def test_random_graphs_are_right_or_refuse_at_other_sizes(graph: Graph, n: int, b: bool, size: int) -> None:
    x = wb.arange(size).float().rename("N") * 0.5 - 1
    outcomes = []
    for one in (graph, parse(text(graph)), passes.dead_code(passes.common_subexpressions(graph))):
        try:
            found = one(x, n, b)
        except wb.DimensionError as error:
            event(
                "refused"
                if " decided something by it: the graph holds for " in str(error)
                else "refused by an op"
            )
            outcomes.append(None)
            continue
        event("right")
        outcomes.append(found)
        same(found, plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))[0])
    # Reading and passes take no sizes away; a pass may have taken out what a guard was for.
    assert (outcomes[0] is None) == (outcomes[1] is None)
    assert outcomes[0] is None or outcomes[2] is not None


@given(graphs(), st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_text_is_read_or_refused(graph: Graph, data: Any) -> None:
    for write in (text, python_text):
        written = write(graph)
        for _ in range(10):
            at = data.draw(st.integers(0, len(written)))
            kind = data.draw(st.sampled_from(["cut", "insert", "double", "drop line", "swap lines"]))
            lines = written.split("\n")
            row = at % len(lines)
            damaged = {
                "cut": written[:at] + written[at + data.draw(st.integers(1, 5)) :],
                "insert": written[:at]
                + data.draw(st.text("()[]{}%:=,'\"\\#@. x0\nif", min_size=1, max_size=5))
                + written[at:],
                "double": written[:at] + written[at // 2 :],
                "drop line": "\n".join(lines[:row] + lines[row + 1 :]),
                "swap lines": "\n".join([*lines[row:], *lines[:row]]),
            }[kind]
            with contextlib.suppress(GraphError):
                check(parse(damaged))


@pytest.mark.parametrize("deep", [100, 10_000])
@pytest.mark.parametrize(
    "hostile",
    [
        lambda n: f"g(%x : {'list[' * n}int{']' * n}):\n  return %x",
        lambda n: f"g(%x : int):\n  return {'[' * n}%x{']' * n}",
        lambda n: f"g(%x : int):\n  return {'-' * n}1",
        lambda n: f"g(%x : int):\n  return {'slice(1, 2, ' * n}1{')' * n}",
        lambda n: "g(%x : bool):\n" + "  %y : int = if(%x):\n    then():\n" * n,
        lambda n: (
            'def g(parameters, constants, x: "bool"):\n'
            + "".join(f"{'  ' * (i + 1)}if x:\n" for i in range(min(n, 90)))
        ),
        lambda n: f'def g(parameters, constants, x: "{"tuple[" * n}"):\n    return x',
        lambda n: f"g(%x : int):\n  %y : any = builtins.getattr{'(' * n}",
        lambda n: "\n\n".join(["g(%x : int):\n  return %x"] * n),
    ],
)
def test_hostile_text_is_refused_in_words(hostile: Any, deep: int) -> None:
    with pytest.raises(GraphError):
        parse(hostile(deep))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("os.system('x')", "calls 'os.system' is no function that is offered"),
        ("builtins.eval('1')", "calls 'builtins.eval' is no function"),
        ("builtins.__import__('os')", "calls 'builtins.__import__' is no function"),
        ("operator.attrgetter('a')", "calls 'operator.attrgetter' is no function"),
        ("operator.call(%x)", "calls 'operator.call' is no function"),
        ("Tensor.__class__(%x)", "calls 'Tensor.__class__' is no function"),
        ("Tensor.(%x)", "is no function that is offered"),
        ("..(%x)", "is no function that is offered"),
        ("@g(%x)", "calls 'g', and no function above is called so"),
        ("modules['a'](%x)", "no module called 'a' was given"),
    ],
)
def test_nothing_can_be_called_that_is_not_offered(call: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse(f"g(%x : any):\n  %y : any = {call}\n  return %y")


def test_no_private_attribute_is_looked_at() -> None:
    graph = parse("g(%x : any):\n  %y : any = builtins.getattr(%x, '__class__')\n  return %y")
    with pytest.raises(GraphError, match="looks at no private attribute, as '__class__' is"):
        graph(1)


INPUTS: dict[str, Any] = {
    "DigitsNet": {"N": 2, "C": 1, "H": 28, "W": 28},
    "LeNet": {"N": 2, "C": 1, "H": 28, "W": 28},
    "resnet18": {"N": 1, "C": 3, "H": 32, "W": 32},
    "mobilenet_v2": {"N": 1, "C": 3, "H": 32, "W": 32},
    "efficientnet_lite0": {"N": 1, "C": 3, "H": 32, "W": 32},
    "vit_small": {"N": 1, "C": 3, "H": 32, "W": 32},
}


def test_a_model_that_returns_its_state_is_a_graph_and_is_read_back() -> None:
    model = models.WordLanguageModel(20, 8, 8, dropout=0.0).eval()
    words = wb.tensor([[1, 2, 3], [4, 5, 6]])
    graph = check(trace(model, words))
    held = {value.name: tensor for value, tensor in graph.held().items()}
    for write in (text, python_text):
        again = parse(write(graph), held)
        assert text(again) == text(graph)
        scores, (hidden, cell) = again(words)
        expected, state = model(words)
        for one, other in zip((scores, hidden, cell), (expected, *state), strict=True):
            np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())


def test_what_a_function_returns_keeps_its_structure() -> None:
    graph = check(trace(lambda x: {"a": [x, (x * 2, None)], "b": "word"}, wb.ones(2)))
    same(graph(wb.ones(2)), {"a": [wb.ones(2), (wb.ones(2) * 2, None)], "b": "word"})
    same(trace(lambda x: [x], wb.ones(2))(wb.ones(2)), [wb.ones(2)])
    with pytest.raises(GraphError, match="tuples, lists and dicts of them; this one returned float"):
        trace(lambda x: [x, 2.0], wb.ones(2))


@pytest.mark.parametrize("name", INPUTS)
def test_every_model_is_printed_and_read_back(name: str) -> None:
    model = getattr(models, name)().eval()
    graph = check(trace(model, INPUTS[name]))
    held = {value.name: tensor for value, tensor in graph.held().items()}
    for write in (text, python_text):
        again = parse(write(graph), held)
        assert text(again) == text(graph)
        assert python_text(again) == python_text(graph)
    assert text(graph.copy()) == text(graph)
