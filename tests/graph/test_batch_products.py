"""Products side by side become one: the same sums, and only where nothing else has a use for what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graph.test_outlining import numbers
from tests.graph.test_random_graphs import graphs, plain, same
from workbench import models
from workbench.core.op import ops
from workbench.graph import Graph, check, parse, python_text, text, trace
from workbench.graph.passes import (
    batch_products,
    common_subexpressions,
    differentiate,
    freeze,
    fuse_convolutions,
    peephole,
    run_passes,
)

linear = wb.nn.functional.linear
wb.manual_seed(0)
A, B, C, D = wb.rand(4, 3), wb.rand(2, 3), wb.rand(4), wb.rand(2)
LARGE = wb.zeros(2000, 3000)


def products(graph: Graph) -> int:
    return sum(node.op in (ops.linear, ops.matmul) for node in graph.nodes)


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: (linear(x, A), linear(x, B)), 1),
        (lambda x: (linear(x, A, C), linear(x, B, D), linear(x, A * 2, C + 1)), 1),
        (lambda x: (x @ A.t(), x.exp(), x @ B.t()), 1),
        (lambda x: linear(x, A).sum() + linear(x.exp(), B).sum() + linear(x, B * 2).sum(), 2),
        # With a bias and without, of another type, another input, a vector, the same weight twice, something to be
        # fused with, no weight that is known, the input as the weight.
        (lambda x: (linear(x, A, C), linear(x, B)), 2),
        (lambda x: (linear(x, A), linear(x.double(), B.double())), 2),
        (lambda x: (linear(x, A), linear(x.exp(), B)), 2),
        (lambda x: (linear(x[0], A), linear(x[0], B)), 2),
        (lambda x: (linear(x, A), linear(x, A, C)), 2),
        (lambda x: (linear(x, A).relu(), linear(x, B)), 2),
        (lambda x: (linear(x, A), linear(x, x)), 2),
        (lambda x: (linear(x, A), linear(x, B), B), 2),
    ],
)  # fmt: skip
def test_what_is_put_together(function: Any, left: int) -> None:
    graph = freeze(trace(function, wb.ones(5, 3)))
    before = text(graph)
    made = check(batch_products(graph))
    assert text(graph) == before and products(made) == left
    for rows in (5, 7):
        x = wb.rand(rows, 3)
        for a, b in zip(
            *(each if isinstance(each := one(x), tuple) else (each,) for one in (graph, made)), strict=True
        ):
            np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-6, atol=1e-6)
            assert a.dtype == b.dtype and a.names == b.names and a.shape == b.shape
    held = {value.name: tensor for value, tensor in made.held().items()}
    assert text(parse(text(made), held)) == text(made) == text(parse(python_text(made), held))
    assert text(batch_products(made)) == text(made)


def test_large_products_stay() -> None:
    graph = trace(lambda x: (linear(x, LARGE), linear(x, LARGE * 1)), wb.ones(1, 3000))
    assert products(batch_products(freeze(graph))) == 2


def test_what_is_trained_stays_and_what_is_frozen_keeps_its_names() -> None:
    class Two(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = wb.nn.Linear(3, 4), wb.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.a(x), self.b(x)

    graph = trace(Two(), {"N": 5, "C": 3})
    assert products(batch_products(graph)) == 2
    made = check(batch_products(freeze(graph)))
    assert products(made) == 1
    x = wb.rand(7, 3).rename("N", "C")
    for one, other in zip(made(x), graph(x), strict=True):
        assert one.names == other.names == ("N", "out_features")
        np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-6, atol=1e-6)
    # Where each comes from is still known.
    assert [node.scope for node in made.nodes if node.op is ops.index] == [("a",), ("b",)]


def test_memory_and_blocks_are_respected() -> None:
    source = """g(%x : f32[·:2, ·=3], %k : bool):
  %a : f32[·:4, ·:3] = constant()
  %b : f32[·:2, ·:3] = constant()
  %c : f32[·:4, ·:3] = constant()
  %p : f32[·:2, ·:4] = linear(%x, %a)
  %y : f32[·:2, ·:4] = if(%k):
    then():
      %q : f32[·:2, ·:2] = linear(%x, %b)
      %s : f32[·:2, ·:4] = linear(%x, %c)
      %t : f32[·:2, ·:1] = sum(%q, dim=(1,), keepdim=True)
      %r : f32[·:2, ·:4] = mul(%s, %t)
      return %r
    else():
      return %p
  return (%p, %y)"""
    graph = parse(source, {"a": A, "b": B, "c": A * 2})
    made = check(batch_products(graph))
    x = wb.rand(2, 3)
    for k in (True, False):
        for one, other in zip(made(x, k), graph(x, k), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
    # In the block two are one; that before it is computed whether or not the block runs.
    assert products(made) == 1
    assert sum(node.op is ops.linear for node, _ in made.walk()) == 2
    written = parse(
        """g(%x : f32[·:2, ·=3]):
  %a : f32[·:4, ·:3] = constant()
  %b : f32[·:2, ·:3] = constant()
  %p : f32[·:2, ·:4] = linear(%x, %a)
  %z : f32[·:2, ·:3] = Tensor.zero_(%x) writes %x
  %q : f32[·:2, ·:2] = linear(%x, %b)
  return (%p, %q)""",
        {"a": A, "b": B},
    )
    assert products(batch_products(written)) == 2


def test_queries_keys_and_values_of_an_encoder_are_one_product() -> None:
    words, mask = wb.zeros(2, 6).long(), wb.ones(2, 6).long()
    model = models.minilm().eval()
    graph = freeze(trace(model, words, mask))
    made = run_passes(graph, [peephole, common_subexpressions, batch_products, fuse_convolutions])[-1].after
    # Six layers: three that were apart each.
    assert products(graph) - products(batch_products(graph)) == 12
    for count in (2, 3):
        words = wb.randint(0, 30000, (count, 5))
        mask = wb.ones(count, 5).long()
        np.testing.assert_allclose(
            numbers(made(words, mask)), numbers(graph(words, mask)), rtol=1e-4, atol=1e-5
        )


def test_gradients_go_through() -> None:
    graph = trace(lambda x: linear(x, A).sin().sum() + linear(x, B).cos().sum(), wb.ones(5, 3))
    made = batch_products(freeze(graph))
    assert products(made) == 1
    x = wb.rand(5, 3)
    _, expected = differentiate(graph, ["x"])(x)
    _, found = differentiate(made, ["x"])(x)
    np.testing.assert_allclose(numbers(found["x"]), numbers(expected["x"]), rtol=1e-5, atol=1e-6)


@given(graphs(), st.integers(-2, 2), st.booleans())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_without_products_stay_what_they_are(graph: Graph, n: int, b: bool) -> None:
    x = wb.tensor([0.5, -1.0, 2.0], names=("N",))
    (expected,) = plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))
    same(check(batch_products(graph))(x, n, b), expected)
