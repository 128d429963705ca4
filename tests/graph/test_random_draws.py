"""What a traced function draws at random: each run draws it anew, and what eager code draws for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.graph import Graph, GraphError, check, parse, passes, python_text, run, text, trace

F = nn.functional


def values(*sizes: int) -> Any:
    return wb.from_numpy(np.random.default_rng(sum(sizes)).random(sizes).astype(np.float32))


def same(one: Any, other: Any) -> None:
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (one, other)), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert a.dtype == b.dtype
        assert a.names == b.names


def filled(x: Any, name: str, *arguments: Any) -> Any:
    return getattr(wb.empty(x.shape[0], 3), name)(*arguments) + x.sum()


class Noisy(nn.Module):
    """Draws of both kinds, in turns, with gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        y = F.dropout(self.layer(x + 0.1 * wb.randn_like(x)), 0.5)
        y = F.dropout(y * (wb.rand(x.shape[0], 1) > 0.2), 0.3) + wb.normal(y, y.abs())
        return wb.autograd.grad((y * y).sum(), list(self.layer.parameters()))


# What a function of [4, 3] draws. It is also run for [7, 3].
DRAWS: dict[str, Any] = {
    "rand": lambda x: x + wb.rand(x.shape[0], 3),
    "rand of plain sizes": lambda x: x + wb.rand(3),
    "rand by names": lambda x: wb.rand(N=x.shape[0], C=2).sum("C") + x.sum(),
    "rand in 16 bits": lambda x: x + wb.rand(3, dtype=wb.bfloat16),
    "rand of complex": lambda x: x + wb.rand(x.shape[0], 1, dtype=wb.complex64),
    "randn": lambda x: x * wb.randn(x.shape),
    "randn of complex": lambda x: x * wb.randn(3, dtype=wb.complex128),
    "rand_like": lambda x: x + wb.rand_like(x),
    "randn_like": lambda x: x + wb.randn_like(x, dtype=wb.float64),
    "randint": lambda x: x + wb.randint(2, 9, (x.shape[0], 3)),
    "randint below a size": lambda x: x[wb.randint(0, x.shape[0], (5,))],
    "randint_like": lambda x: x + wb.randint_like(x, 5),
    "randperm": lambda x: x[wb.randperm(x.shape[0])],
    "bernoulli": lambda x: x.bernoulli(),
    "bernoulli of a number": lambda x: wb.bernoulli(x, 0.3),
    "normal": lambda x: wb.normal(x, 0.5),
    "normal of tensors": lambda x: wb.normal(x, x * 2),
    "normal of a size": lambda x: x + wb.normal(0.0, 2.0, (x.shape[0], 3)),
    "multinomial": lambda x: wb.multinomial(x, 2),
    "multinomial with replacement": lambda x: x.multinomial(5, True),
    "multinomial of one row": lambda x: wb.multinomial(x[0], 2, True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, 0.5),
    "hard gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True, dim=0),
    "fractional pooling": lambda x: F.fractional_max_pool2d(
        x.expand(2, 3, x.shape[0], 3).reshape(2, 3, -1, 3) * 1, 2, output_size=(2, 2)
    ),
    "fractional pooling by ratio": lambda x: F.fractional_max_pool2d(
        x.reshape(1, 1, x.shape[0], 3), 2, output_ratio=0.5
    ),
    "uniform_": lambda x: filled(x, "uniform_", -1.0, 1.0),
    "normal_": lambda x: filled(x, "normal_", 1.0, 2.0),
    "exponential_": lambda x: filled(x, "exponential_"),
    "geometric_": lambda x: filled(x, "geometric_", 0.3),
    "cauchy_": lambda x: filled(x, "cauchy_"),
    "log_normal_": lambda x: filled(x, "log_normal_"),
    "bernoulli_": lambda x: filled(x, "bernoulli_", 0.4),
    "bernoulli_ of a tensor": lambda x: filled(x, "bernoulli_", x),
    "random_": lambda x: filled(x, "random_", 3, 9),
    "between dropouts": lambda x: F.dropout(F.dropout(x) + wb.rand(3)) + wb.randn(x.shape[0], 1),
    "twice": lambda x: wb.rand(3) - wb.rand(3) + x,
    "and thrown away": lambda x: (wb.rand(x.shape[0]), x + wb.rand(2, 1, 1))[1],
    "slopes": lambda x: F.rrelu(x - 0.5, training=True) + wb.rand(3),
}


def drawn_alike(graph: Graph, function: Any, x: Any) -> None:
    """Compare two runs in a row with two calls, and where the generator is afterwards."""
    wb.manual_seed(9)
    expected, state = (function(x), function(x)), wb.get_rng_state()
    wb.manual_seed(9)
    found = graph(x), graph(x)
    assert wb.get_rng_state() == state
    for one, other in zip(found, expected, strict=True):
        same(one, other)


@pytest.mark.parametrize("name", DRAWS)
def test_a_graph_draws_anew_what_eager_code_draws_for_the_same_seed(name: str) -> None:
    function = DRAWS[name]
    wb.manual_seed(5)
    state = wb.get_rng_state()
    graph = check(trace(function, values(4, 3)))
    assert wb.get_rng_state() == state
    assert graph.seeds
    for x in (values(4, 3), values(7, 3)):
        drawn_alike(graph, function, x)
    held = {value.name: tensor for value, tensor in graph.held().items()}
    for write in (text, python_text):
        again = parse(write(graph), held)
        assert write(again) == write(graph)
        drawn_alike(again, function, values(7, 3))


def test_gradients_and_draws_of_both_kinds_keep_their_order() -> None:
    wb.manual_seed(0)
    model = Noisy()
    graph = check(trace(model, values(4, 3)))
    for x in (values(4, 3), values(9, 3)):
        drawn_alike(graph, model, x)
    steps = passes.run_passes(graph, [passes.constant_fold, passes.common_subexpressions, passes.dead_code])
    drawn_alike(steps[-1].after, model, values(9, 3))


def test_the_python_form_draws_too() -> None:
    def function(x: Any) -> Any:
        return F.dropout(x) + wb.randn(x.shape[0], 3)

    made: dict[str, Any] = {}
    exec(compile(python_text(trace(function, values(4, 3))), "graph", "exec"), made)
    wb.manual_seed(1)
    expected = function(values(4, 3))
    wb.manual_seed(1)
    same(made["function"]({}, {}, values(4, 3)), expected)


def test_a_checkpoint_draws_the_same_again() -> None:
    def noisy(x: Any) -> Any:
        return (x * wb.randn_like(x)).sin()

    def function(x: Any) -> Any:
        y = wb.autograd.checkpoint.checkpoint(noisy, x, use_reentrant=False)
        return wb.autograd.grad(y.sum(), x)[0]

    x = values(4, 3).requires_grad_()
    graph = check(trace(function, x))
    assert len(graph.seeds) == 1
    drawn_alike(graph, function, x)


def test_a_graph_in_a_trace_draws_in_every_run_of_the_outer_one() -> None:
    inner = trace(lambda x: x + wb.rand(x.shape[0], 3), values(4, 3))
    outer = check(trace(lambda x: inner(x * 2) * wb.rand(3), values(4, 3)))
    assert [one.name for one in outer.seeds] == ["rand", "rand_1"]
    drawn_alike(outer, lambda x: (x * 2 + wb.rand(x.shape[0], 3)) * wb.rand(3), values(6, 3))


def test_what_is_drawn_can_be_given() -> None:
    graph = trace(lambda x: x + wb.rand(2, 3), wb.ones(2, 3))
    state = wb.get_rng_state()
    same(run(graph, wb.ones(2, 3), seeds={"rand": wb.full((2, 3), 4.0)}), wb.full((2, 3), 5.0))
    assert wb.get_rng_state() == state
    with pytest.raises(wb.DTypeError, match="rand of graph is a tensor"):
        run(graph, wb.ones(2, 3), seeds={"rand": 3})


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: x + wb.default_generator.numpy.random(), GraphError, "draws random numbers"),
        (lambda x: x + wb.rand(3, generator=wb.Generator(3)), GraphError, "from a generator of its own"),
        (lambda x: x if wb.rand(()) < 0.5 else -x, wb.NoNumbersError, "test_random_draws.py:"),
        (lambda x: x * wb.randn(1).item(), wb.NoNumbersError, "test_random_draws.py:"),
        (lambda x: wb.empty(3).normal_() + x, wb.NoNumbersError, "instead of changing one in place"),
    ],
)
def test_what_no_graph_can_draw_is_refused_and_not_used_up(
    function: Any, error: type[Exception], message: str
) -> None:
    state = wb.get_rng_state()
    with pytest.raises(error, match=message):
        trace(function, wb.ones(3))
    assert wb.get_rng_state() == state


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("seed('rand', (2,), 3)", "there is no draw"),
        ("seed('roll', (2,), dtype('float32'))", "there is no draw"),
        ("seed('rand', (3,), dtype('float32'))", "what is drawn is f32"),
        ("seed('rand', (2,), dtype('float64'))", "what is drawn is f64"),
        ("seed('rand', (-2,), dtype('float32'))", "there is no draw"),
        ("seed('rand', (%x,), dtype('float32'))", "there is no draw"),
        ("seed('randint', (2,), dtype('float32'), 0, %x)", "reads no value"),
    ],
)
def test_draws_that_cannot_be_are_not_read(line: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse(f"g(%x : f32[·:2]):\n  %r : f32[·:2] = {line}\n  return %r")
