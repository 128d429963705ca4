"""Graphs as text: both forms are read back, nothing is executed, and damaged text is refused in words."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.graph import Graph, GraphError, parse, python_text, text, trace
from workbench.models import DigitsNet


@pytest.fixture(scope="module")
def graph() -> Graph:
    return trace(DigitsNet().eval(), wb.zeros(N=4, C=1, H=28, W=28))


def held(graph: Graph) -> dict[str, Any]:
    return {value.name: tensor for value, tensor in graph.held().items()}


def many_parameters(x: Any) -> Any:
    """Ops whose parameters are slices, arrays, types, infinities, names and sizes."""
    y = x[:, [0, 2]] + x[..., -1:] + x[None, 0, ::2][0]
    y = y.clamp(-float("inf"), 3.5).to(wb.float64).rename("N", "C")
    values, indices = wb.max_pool2d(y.rename(None).reshape(1, 1, *y.shape), 1), y.argmax("C")
    return y, values, indices, (y * float("nan")).to("bool"), x[:, np.zeros((0, 3), "int64")]


@pytest.mark.parametrize("write", [text, python_text])
@pytest.mark.parametrize(
    "function", [many_parameters, lambda x: x, lambda x: x.sum(), lambda x: (x,), lambda x: ()]
)
def test_what_is_written_is_read_back(write: Any, function: Any) -> None:
    traced = trace(function, wb.randn(2, 3))
    again = parse(write(traced), held(traced))
    assert text(again) == text(traced)
    assert python_text(again) == python_text(traced)
    x = wb.randn(2, 3)
    expected, given = traced(x), again(x)
    assert type(expected) is type(given)
    if isinstance(expected, wb.Tensor):
        expected, given = (expected,), (given,)
    for one, other in zip(expected, given, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
        assert one.names == other.names


@pytest.mark.parametrize("write", [text, python_text])
def test_a_model_is_read_back_with_scopes_and_sources(graph: Graph, write: Any) -> None:
    again = parse(write(graph), held(graph))
    assert text(again) == text(graph)
    assert [(node.scope, node.source) for node in again.nodes] == [
        (node.scope, node.source) for node in graph.nodes
    ]
    x = wb.randn(N=2, C=1, H=28, W=28)
    np.testing.assert_array_equal(again(x).detach().numpy(), graph(x).detach().numpy())


def test_the_python_form_is_python(graph: Graph) -> None:
    written = python_text(graph)
    assert "conv2d(x, parameters['conv1.weight'], parameters['conv1.bias'], stride=(1, 1)" in written
    made: dict[str, Any] = {}
    exec(compile(written, "graph", "exec"), made)
    x = wb.randn(N=2, C=1, H=28, W=28)
    result = made["DigitsNet"](held(graph), {}, x)
    np.testing.assert_array_equal(result.detach().numpy(), graph(x).detach().numpy())


def test_names_that_python_cannot_have_are_refused() -> None:
    traced = trace(lambda x: x.relu(), wb.ones(2))
    traced.inputs[0].name = "ops"
    with pytest.raises(GraphError, match="'ops' cannot be a name in Python"):
        python_text(traced)


HEAD = "g(%x : f32[N:2]):\n"
PYTHON = 'def g(parameters, constants, x: "f32[N:2]"):\n'


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "starts with a line"),
        ("nonsense", "starts with a line"),
        ("g(x):", "line 1 has 'x' where a value is expected"),
        ("g(%x : f99[N:2]):\n  return %x", "line 1 has 'f99', which is not a data type"),
        ("g(%x : f32[N:two]):\n  return %x", "line 1 has 'N:two' where dims"),
        ("g(%x : f32[N:2, N:2]):\n  return %x", "'N' stands twice"),
        (f"g(%x : f32[N:{'9' * 30}]):\n  return %x", "where dims with their sizes"),
        (f"g(%x : f32[{', '.join(['·:1'] * 65)}]):\n  return %x", "where dims with their sizes"),
        ("g(%x : f32[N:2], %x : f32[N:2]):\n  return %x", "line 1 makes x a second time"),
        (HEAD + "  %y : f32[N:2] = boom(%x)\n  return %y", "line 2 calls 'boom', which is not an op"),
        (HEAD + "  %y : f32[N:2] = relu(%z)\n  return %y", "line 2 reads %z"),
        (
            HEAD + "  %y : f32[N:2] = mul(%x, open('f'))\n  return %y",
            r"line 2 has \"open\('f'\)\", which is not a literal",
        ),
        (HEAD + "  %y : f32[N:2] = mul(%x, x.y)\n  return %y", "is not a literal"),
        (HEAD + "  %y : f32[N:2] = mul(%x, **{})\n  return %y", "line 2 has .* among its arguments"),
        (HEAD + "  %y : f32[N:2] = mul(%x, array([[1], [1, 2]], 'int64'))\n  return %y", "is not a literal"),
        (
            HEAD + "  %y : f32[N:2] = mul(%x, empty((99999, 99999, 9999), 'int64'))\n  return %y",
            "is not a literal",
        ),
        (
            HEAD + "  %y : f32[N:2] = mul(%x, dtype('float99'))\n  return %y",
            "'float99', which is not a data type",
        ),
        (
            HEAD + "  %y : f32[N:3] = relu(%x)\n  return %y",
            r"y is written as f32\[N:3\], the rules of relu give",
        ),
        (HEAD + "  %y : f32[N:2] = relu(%x, %x)\n  return %y", "y: relu does not take these inputs"),
        (
            HEAD + "  %y : f32[N:2] = reshape(%x, sizes=(3,))\n  return %y",
            "y: reshape does not take these.*invalid for input of size 2",
        ),
        (
            HEAD + "  %w : f32[N:2] = parameter()\n  return %w",
            "line 2 needs a tensor: no tensor called 'w' was given",
        ),
        (HEAD + "  return %y", "line 2 reads %y"),
        (HEAD + "  return x", "line 2 has 'x', which is not a literal"),
        (HEAD + "  return %x\n  return %x", "line 3 comes after the return"),
        (HEAD + "  %y : f32[N:2] = relu(%x)", "line 2 is the last, and nothing was returned"),
        (HEAD + f"  %y : f32[N:2] = mul(%x, {'(' * 5000}1{')' * 5000})\n  return %y", "line 2 "),
        ("import os\n" + PYTHON + "    return x", "line 1 is not what a graph's Python begins with"),
        (
            "from os import system\n" + PYTHON + "    return x",
            "line 1 is not what a graph's Python begins with",
        ),
        ("def g(x):\n    return x", "line 1 takes something else than parameters"),
        ("def g(parameters, constants, x):\n    return x", "line 1 has no type"),
        (PYTHON + "    return x\ng()", "line 3 is not a plain function"),
        (PYTHON + "    import os\n    return x", "line 2 is not understood: import os"),
        (PYTHON + '    y: "f32[N:2]" = os.system(x)\n    return y', "line 2 calls 'os.system'"),
        (PYTHON + '    y: "f32[N:2]" = ops.boom(x)\n    return y', "line 2 calls 'boom'"),
        (PYTHON + '    y: "f32[N:2]" = ops.relu(z)\n    return y', "line 2 reads %z"),
        (PYTHON + "    y, z = ops.max_pool2d(x)\n    return y", "line 2 makes values that have no type"),
        (PYTHON + "    y = ops.relu(x)\n    return y", "line 2 is not understood"),
        (PYTHON + "    return x +", "line 2 is not Python"),
        (PYTHON + "    return ops", "line 2 reads %ops"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(written: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse(written)


def test_a_text_beyond_all_bounds_is_refused_at_once() -> None:
    with pytest.raises(GraphError, match="at most 16,777,216 characters"):
        parse("x" * ((1 << 24) + 1))


def test_a_tensor_of_another_type_is_refused() -> None:
    traced = trace(lambda x: x + wb.ones(2), wb.ones(2))
    for wrong in (wb.ones(3), wb.ones(2, dtype="float64"), wb.ones(N=2)):
        with pytest.raises(GraphError, match=r"constant is written as f32\[·:2\] and its tensor is"):
            parse(text(traced), {"constant": wrong})


@given(st.data())
def test_damaged_text_is_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    traced = trace(lambda x: (x[:, [0, 1]].sum("N"), x * 2.5), wb.ones(N=2, C=3))
    written = data.draw(st.sampled_from([text(traced), python_text(traced)]))
    at = data.draw(st.integers(0, len(written)))
    until = data.draw(st.integers(at, min(len(written), at + 8)))
    put = data.draw(st.text(string.printable, max_size=6))
    try:
        again = parse(written[:at] + put + written[until:])
    except GraphError:
        return
    assert isinstance(text(again), str)
