"""What is written out in small ops is found as it is usually written, and nothing that is not the same."""

from __future__ import annotations

import math
from collections.abc import Callable
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
    normal_forms,
    peephole,
    run_passes,
)

wb.manual_seed(0)
HALF, ROOT, ONE = wb.tensor(0.5), wb.tensor(math.sqrt(2)), wb.tensor([1.0])
W, B, SCALE, SHIFT = wb.rand(6, 4), wb.rand(4), wb.rand(6), wb.rand(6)
BOOLS = wb.tensor([True, True, False, True, True])


def mean(x: Any) -> Any:
    return x.mean(-1, keepdim=True)


def centred(x: Any) -> Any:
    return x - mean(x)


def root(d: Any, eps: float = 1e-5) -> Any:
    return (mean(d**2) + eps).sqrt()


def cubic(x: Any) -> Any:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def heads(x: Any) -> Any:
    """Queries, keys and values of two heads, out of one input."""
    return x.reshape(x.shape[0], x.shape[1], 2, 3).permute(0, 2, 1, 3)


def attend(x: Any, change: Callable[[Any], Any] = lambda s: s, safe: bool = False) -> Any:
    q, k, v = heads(x), heads(x * 2), heads(x + 1)
    p = change(q @ k.transpose(2, 3) / math.sqrt(3)).softmax(-1)
    return (wb.where(p.isnan(), 0.0, p) if safe else p) @ v


def masked(scores: Any, low: float = -10000.0) -> Any:
    return scores + wb.where(BOOLS, 0.0, low)


def far(x: Any) -> Any:
    """Turned with the first two dims put together, as exporters write it."""
    k = heads(x)
    return k.reshape(-1, x.shape[1], 3).permute(0, 2, 1).reshape(x.shape[0], 2, 3, x.shape[1])


FORMS: list[tuple[str, Any]] = [
    ("gelu", lambda x: x * 0.5 * (1 + (x / math.sqrt(2)).erf())),
    ("gelu", lambda x: 0.5 * x * (1 + (x * 0.7071067811865475).erf())),
    ("gelu", lambda x: x * (((x / ROOT).erf() + ONE) * HALF)),
    ("gelu", lambda x: (x * ((x / ROOT).erf() + 1)) / 2),
    ("gelu_tanh", lambda x: 0.5 * x * (1 + cubic(x).tanh())),
    ("gelu_tanh", lambda x: x * (0.5 * (1 + (math.sqrt(2 / math.pi) * (0.044715 * (x * x * x) + x)).tanh()))),
    ("silu", lambda x: x * x.sigmoid()),
    ("silu", lambda x: x.sigmoid() * x),
    ("hardswish", lambda x: x * wb.nn.functional.hardsigmoid(x)),
    ("hardswish", lambda x: x * (x + 3).clamp(0, 6) / 6),
    ("hardswish", lambda x: x * (x * 0.1666666716337204 + 0.5).clamp(0.0, 1.0)),
    ("hardswish", lambda x: x * (wb.nn.functional.relu6(x + 3) * (1 / 6))),
    ("layer_norm", lambda x: centred(x) / root(centred(x)) * SCALE + SHIFT),
    ("layer_norm", lambda x: SHIFT + SCALE * (centred(x) / root(centred(x), 1e-12))),
    ("layer_norm", lambda x: centred(x) / root(centred(x))),
    ("layer_norm", lambda x: centred(x) / root(centred(x)) * SCALE),
    ("layer_norm", lambda x: centred(x) * (mean(centred(x) * centred(x)) + 1e-5).rsqrt() * SCALE + SHIFT),
    ("layer_norm", lambda x: centred(x) * root(centred(x)).reciprocal() * SCALE),
    ("layer_norm", lambda x: (lambda d: d / ((d**2).mean((1, 2), keepdim=True) + 1e-5).sqrt())(
        x - x.mean((1, 2), keepdim=True))),
    ("linear", lambda x: x @ W),
    ("linear", lambda x: x @ W + B),
    ("linear", lambda x: B + x @ W),
    ("attention", attend),
    ("attention", lambda x: attend(x, masked)),
    ("attention", lambda x: attend(x, lambda s: masked(s, -math.inf), safe=True)),
    ("attention", lambda x: (heads(x) * 0.5 @ (far(x) * 0.25)).softmax(3) @ heads(x)),
    ("attention", lambda x: (heads(x) @ far(x) * 2).softmax(3) @ heads(x)),
    ("permute", far),
]  # fmt: skip


def simple(graph: Graph) -> Graph:
    return peephole(common_subexpressions(freeze(graph)))


def names(graph: Graph) -> list[str]:
    return [str(node.op.name if node.op else node.callee) for node, _ in graph.walk()]


@pytest.mark.parametrize("place", range(len(FORMS)))
def test_what_is_found(place: int) -> None:
    name, function = FORMS[place]
    graph = simple(trace(function, wb.ones(2, 5, 6)))
    before = text(graph)
    made = check(normal_forms(graph))
    assert text(graph) == before
    found = names(made)
    assert found.count(name) == 1 or name == "permute", found
    # What it is made of is gone.
    assert not {
        "erf",
        "tanh",
        "sigmoid",
        "hardsigmoid",
        "mean",
        "softmax",
        "sqrt",
        "rsqrt",
        "hardtanh",
        "isnan",
    } & set(found)
    assert "matmul" not in found
    if name not in ("attention", "permute"):
        assert found == [name]
    for sizes in ((2, 5, 6), (3, 5, 6), (1, 5, 6)):
        x = wb.rand(*sizes) * 4 - 2
        np.testing.assert_allclose(numbers(made(x)), numbers(graph(x)), rtol=1e-5, atol=1e-5)
    held = {value.name: tensor for value, tensor in made.held().items()}
    assert text(parse(text(made), held)) == text(made) == text(parse(python_text(made), held))
    assert text(normal_forms(made)) == text(made)
    # Whatever sizes the graph was made for, it is made for still.
    assert {str(one) for one in made.guards} <= {str(one) for one in graph.guards}


@pytest.mark.parametrize(("place", "size"), [(i, size) for i in (0, 4, 6, 12, 19, 22, 23) for size in (2, 4)])
def test_gradients_of_what_is_found(place: int, size: int) -> None:
    function = FORMS[place][1]
    graph = simple(trace(lambda x: (function(x) * function(x)).sum(), wb.ones(2, 5, 6)))
    made = normal_forms(graph)
    assert names(made) != names(graph)
    x = wb.rand(size, 5, 6) * 2 - 1
    _, expected = differentiate(graph, ["x"])(x)
    _, found = differentiate(made, ["x"])(x)
    np.testing.assert_allclose(numbers(found["x"]), numbers(expected["x"]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0.51 * (1 + (x / math.sqrt(2)).erf()),
        lambda x: x * 0.5 * (1 + (x / 2).erf()),
        lambda x: x * 0.5 * (2 + (x / math.sqrt(2)).erf()),
        lambda x: (x + 1) * 0.5 * (1 + (x / math.sqrt(2)).erf()),
        lambda x: x * 0.5 * (1 + (x.exp() / math.sqrt(2)).erf()),
        lambda x: x * 0.5 * (1 + (math.sqrt(2 / math.pi) * (x + 0.05 * x**3)).tanh()),
        lambda x: x * 0.5 * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**2)).tanh()),
        lambda x: x * (x + 1).sigmoid(),
        lambda x: 2 * x * x.sigmoid(),
        lambda x: x * (x + 3).clamp(0, 5) / 6,
        lambda x: x * (x + 2).clamp(0, 6) / 6,
        lambda x: x * (x / 5 + 0.5).clamp(0, 1),
        lambda x: x * (x / 6 + 0.5).clamp(0, 6),
        lambda x: centred(x) / (mean(centred(x) ** 3) + 1e-5).sqrt(),
        lambda x: centred(x) / (mean(x**2) + 1e-5).sqrt(),
        lambda x: x / root(centred(x)),
        lambda x: (x - x.mean(1, keepdim=True)) / root(x - x.mean(1, keepdim=True)),
        lambda x: (lambda d: d / ((d**2).mean(1, keepdim=True) + 1e-5).sqrt())(x - x.mean(1, keepdim=True)),
        lambda x: (mean(centred(x) ** 2) + 1e-5).sqrt() / centred(x),
        lambda x: x @ x.transpose(1, 2),
        lambda x: x[0, 0] @ W,
        # A query that sees nothing is NaN here, and 0 in the op.
        lambda x: attend(x, lambda s: masked(s, -math.inf)),
        lambda x: attend(x, lambda s: s + x.log().sum()),
        lambda x: (heads(x) @ heads(x).transpose(2, 3)).softmax(2) @ heads(x),
        lambda x: heads(x).reshape(-1, x.shape[1], 3).permute(2, 1, 0).reshape(3, x.shape[1], 2, x.shape[0]),
    ],
)  # fmt: skip
def test_what_is_another_thing_is_left(function: Any) -> None:
    graph = simple(trace(function, wb.ones(2, 5, 6)))
    assert sorted(names(normal_forms(graph))) == sorted(names(graph))


def test_a_bias_that_is_no_vector_of_the_columns_is_added_behind() -> None:
    for bias in (wb.rand(1), wb.rand(5, 4), wb.rand(2, 1, 4)):
        graph = freeze(trace(lambda x, bias=bias: x @ W + bias, wb.ones(2, 5, 6)))
        made = check(normal_forms(graph))
        assert names(made) == ["linear", "add"]
        x = wb.rand(2, 5, 6)
        np.testing.assert_allclose(numbers(made(x)), numbers(graph(x)), rtol=1e-5)


def test_a_weight_that_is_shared_is_turned_once() -> None:
    graph = freeze(trace(lambda x: x @ W + x.exp() @ W, wb.ones(5, 6)))
    made = check(normal_forms(graph))
    assert names(made).count("linear") == 2 and len(made.constants) == 1


def test_what_is_trained_is_left() -> None:
    graph = trace(lambda x: x @ W, wb.ones(5, 6))
    for tensor in graph.constants.values():
        tensor.requires_grad_()
    assert names(normal_forms(graph)) == ["matmul"]
    layer = wb.nn.Linear(6, 4)
    layer.forward = lambda x: x @ layer.weight.t()
    assert "matmul" in names(normal_forms(trace(layer, wb.ones(5, 6))))


def test_names_stay() -> None:
    graph = trace(lambda x: centred(x) / root(centred(x)) * (x * x.sigmoid()), {"N": 2, "T": 5, "C": 6})
    made = check(normal_forms(common_subexpressions(graph)))
    assert sorted(names(made)) == ["layer_norm", "mul", "silu"]
    x = wb.rand(3, 4, 6).rename("N", "T", "C")
    assert made(x).names == graph(x).names == ("N", "T", "C")


def test_memory_and_blocks_are_respected() -> None:
    source = """g(%x : f32[N:3], %k : bool):
  %y : f32[N:3] = if(%k):
    then():
      %s : f32[N:3] = sigmoid(%x)
      %a : f32[N:3] = mul(%x, %s)
      return %a
    else():
      return %x
  return %y"""
    graph = parse(source)
    made = check(normal_forms(graph))
    assert "silu" in names(made) and "sigmoid" not in names(made)
    x = wb.rand(3).rename("N")
    for k in (True, False):
        np.testing.assert_allclose(made(x, k).numpy(), graph(x, k).numpy(), rtol=1e-6)
    # Between the two the memory changes: it is no silu.
    written = parse(
        """g(%x : f32[N:3]):
  %s : f32[N:3] = sigmoid(%x)
  %z : f32[N:3] = Tensor.mul_(%x, 2) writes %x
  %a : f32[N:3] = mul(%x, %s)
  return %a"""
    )
    assert "silu" not in names(normal_forms(written))


def test_an_encoder_written_out_is_the_encoder() -> None:
    """All forms in one network, found by the passes that a file goes through."""

    def layer(x: Any) -> Any:
        normal = centred(x) / root(centred(x)) * SCALE + SHIFT
        x = x + attend(normal, masked).permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[1], 6)
        h = x @ W + B
        return (h * 0.5 * (1 + (h / math.sqrt(2)).erf())) @ W.t()

    graph = trace(lambda x: layer(layer(x)), wb.ones(2, 5, 6))
    passes = [
        freeze,
        peephole,
        common_subexpressions,
        normal_forms,
        peephole,
        common_subexpressions,
        batch_products,
    ]
    made = run_passes(graph, passes)[-1].after
    assert {name: names(made).count(name) for name in ("layer_norm", "attention", "gelu", "linear")} == {
        "layer_norm": 2, "attention": 2, "gelu": 2, "linear": 4,
    }  # fmt: skip
    for count in (2, 3):
        x = wb.rand(count, 5, 6)
        np.testing.assert_allclose(numbers(made(x)), numbers(graph(x)), rtol=1e-4, atol=1e-5)


@given(graphs(), st.integers(-2, 2), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_stay_what_they_are(graph: Graph, n: int, b: bool) -> None:
    x = wb.tensor([0.5, -1.0, 2.0], names=("N",))
    (expected,) = plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))
    same(check(normal_forms(graph))(x, n, b), expected)


@pytest.mark.parametrize("name", ["vit_small", "mobilenet_v2", "efficientnet_lite0"])
def test_models_of_the_house_have_nothing_to_be_found(name: str) -> None:
    graph = simple(trace(getattr(models, name)().eval(), {"N": 1, "C": 3, "H": 32, "W": 32}))
    assert names(normal_forms(graph)) == names(graph)
    assert all(node.op is not ops.erf for node in graph.nodes)
