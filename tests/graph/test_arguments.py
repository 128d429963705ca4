"""Arguments that are tuples, lists and dicts: their tensors are inputs, and a run is given the same structure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.graph import Graph, GraphError, check, parse, passes, python_text, run_apart, text, trace


class Pair(NamedTuple):
    first: Any
    second: Any


def values(*sizes: int) -> Any:
    return wb.from_numpy(np.random.default_rng(sum(sizes)).random(sizes).astype(np.float32))


def same(one: Any, other: Any) -> None:
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (one, other)), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert a.names == b.names


def recurrent(n: int, t: int) -> tuple[Any, ...]:
    return values(n, t, 4), (values(1, n, 3), values(1, n, 3) * 2)


def nested(n: int, t: int) -> tuple[Any, ...]:
    return {"image": values(n, t), "more": [values(n), (values(t), None, 2.5)]}, values(n, 1)


LSTM = nn.LSTM(4, 3, batch_first=True)

# What is traced, and its arguments for two sizes.
CASES: dict[str, tuple[Any, Any]] = {
    "a tuple": (lambda pair: pair[0] @ pair[1] / pair[0].shape[1], lambda n, t: ((values(n, t), values(t, 2)),)),
    "a list of any length": (lambda parts: wb.cat(parts, 1), lambda n, t: ([values(n, t), values(n, 1)],)),
    "a dict": (
        lambda batch: (batch["x"] - batch["mean of x"]) * batch[3],
        lambda n, t: ({"x": values(n, t), "mean of x": values(t), 3: values(n, 1)},),
    ),
    "a named tuple": (lambda pair: pair.first + pair.second.sum(), lambda n, t: (Pair(values(n, t), values(t)),)),
    "a state": (lambda x, state: LSTM(x, state)[0], recurrent),
    "structures in structures": (
        lambda batch, y: batch["image"] * batch["more"][0][:, None] + batch["more"][1][0] * batch["more"][1][2] + y,
        nested,
    ),
    "several": (lambda x, pair, *rest: x + pair[0] + rest[0]["a"] + rest[1], lambda n, t: (
        values(n, t), (values(n, t),), {"a": values(t)}, values(n, 1)
    )),
    "the same twice": (lambda pair: pair[0] * 2 - pair[1], lambda n, t: ((x := values(n, t), x),)),
    "nothing in one": (lambda x, more: x["a"] * 2, lambda n, t: ({"a": values(n, t), "b": ()}, (values(1), []))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_run_is_given_what_is_put_together_as_in_the_trace(name: str) -> None:
    function, make = CASES[name]
    graph = check(trace(function, *make(4, 5)))
    held = {value.name: tensor for value, tensor in graph.held().items()}
    graphs = [graph, graph.copy(), passes.dead_code(graph)]
    for write in (text, python_text):
        graphs.append(parse(write(graph), held))
        assert write(graphs[-1]) == write(graph)
    for one in graphs:
        for sizes in ((4, 5), (3, 7)):
            same(one(*make(*sizes)), function(*make(*sizes)))
            same(run_apart(one, *make(*sizes))[0], function(*make(*sizes)))


def test_inputs_are_called_after_their_places() -> None:
    graph = trace(*(CASES["structures in structures"][0], *nested(4, 5)))
    assert [one.name for one in graph.inputs] == ["batch_image", "batch_more_0", "batch_more_1_0", "y"]
    assert (
        "takes ({'image': %batch_image, 'more': [%batch_more_0, (%batch_more_1_0, None, 2.5)]}, %y)"
        in text(graph)
    )


def test_a_function_of_single_tensors_takes_them_as_before() -> None:
    assert trace(lambda x, y: x + y, wb.ones(2), wb.ones(2)).takes == ()


def test_gradients_reach_every_tensor_of_a_structure() -> None:
    def slopes(weights: Any, x: Any) -> Any:
        y = ((x @ weights["w"] + weights["b"]) ** 2).mean()
        return wb.autograd.grad(y, list(weights.values()))

    def arguments(n: int) -> tuple[Any, ...]:
        return {"w": values(3, 2).requires_grad_(), "b": values(2).requires_grad_()}, values(n, 3)

    graph = check(trace(slopes, *arguments(4)))
    for n in (4, 9):
        same(graph(*arguments(n)), slopes(*arguments(n)))


def pairs() -> Graph:
    return trace(lambda batch, y: batch["x"][0] + y, {"x": (wb.ones(2), None)}, wb.ones(2))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            ({"x": (wb.ones(2),)}, wb.ones(2)),
            GraphError,
            r"\[0\]\['x'\] was a tuple of 2 .* a tuple of 1 now",
        ),
        (({"x": [wb.ones(2), None]}, wb.ones(2)), GraphError, "was a tuple of 2 .* a list of 2 now"),
        (({"x": (wb.ones(2), 1)}, wb.ones(2)), GraphError, "was None in the trace, and is 1 now"),
        (
            ({"x": (wb.ones(2), wb.ones(2))}, wb.ones(2)),
            GraphError,
            "was None in the trace, and is Tensor now",
        ),
        (({"z": (wb.ones(2), None)}, wb.ones(2)), GraphError, r"was a dict of \['x'\] .* a dict of \['z'\]"),
        ((wb.ones(2), wb.ones(2)), GraphError, r"was a dict of \['x'\] .*, and is Tensor now"),
        (({"x": (wb.ones(2), None)},), GraphError, "was a tuple of 2 in the trace, and is a tuple of 1"),
        (({"x": (3, None)}, wb.ones(2)), wb.DTypeError, "batch_x_0 of graph is a tensor"),
        (({"x": (wb.ones(2, 2), None)}, wb.ones(2)), wb.DimensionError, "batch_x_0 has 1 dims"),
    ],
)
def test_what_is_put_together_otherwise_is_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pairs()(*given)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ((wb.ones(2), object()), "batch_1: .* numbers, text and None, not object"),
        ({(1, 2): wb.ones(2)}, "tuple cannot be a key"),
        ([1.0], "number 0 is list"),
        ({"N": 1.5}, "sizes are whole numbers"),
    ],
)
def test_examples_that_no_graph_takes_are_refused(example: Any, message: str) -> None:
    with pytest.raises(wb.DTypeError, match=message):
        trace(lambda batch: batch[0], example)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("takes (%x,)\n  takes (%x,)", "says a second time"),
        ("takes ()", "of no arguments"),
        ("takes %x", "of no arguments"),
        ("takes (%x, %x)", "each once and in order"),
        ("takes (3,)", "each once and in order"),
    ],
)
def test_what_a_graph_cannot_take_is_not_read(line: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse(f"g(%x : f32[·:2]):\n  {line}\n  return %x")


def test_a_module_among_the_examples_is_refused_with_what_works() -> None:
    def called(module, x):
        return module(x) * 2

    layer, x = wb.nn.Linear(2, 3), wb.ones(4, 2)
    with pytest.raises(
        wb.DTypeError, match=r"number 0 is Linear. Close over it: trace\(lambda x: function\(module, x\)"
    ):
        wb.graph.trace(called, layer, x)
    with pytest.raises(
        wb.DTypeError, match=r"number 1 is int. Close over it: trace\(lambda x: function\(value, x\), x\)"
    ):
        wb.graph.trace(called, x, 3)
    assert wb.equal(wb.graph.trace(lambda x: called(layer, x), x)(x), called(layer, x))
