"""Planes with their channels last: one turn for a network, the numbers of before, a legal graph wherever it is put."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import models, nn
from workbench.core.op import ops
from workbench.graph import Graph, check, parse, text, trace
from workbench.graph.passes import channels_last, differentiate, fuse_convolutions, run_passes

CONV = nn.Conv2d(3, 3, 3, padding=1)


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: CONV(CONV(x).relu()) + 1, ["lay_out", "conv2d", "relu", "conv2d", "add"]),
        # What is added is an image too, and is read as it lies.
        (lambda x: CONV(CONV(x) + x), ["lay_out", "conv2d", "add", "lay_out", "conv2d"]),
        (lambda x: CONV(x) + CONV(x), ["lay_out", "conv2d", "conv2d", "add"]),
        (lambda x: CONV(wb.cat([CONV(x), CONV(x)], 2)), ["lay_out", "conv2d", "conv2d", "cat", "conv2d"]),
        (lambda x: CONV(CONV(x).reshape(4, 3, 5, 2)), ["lay_out", "conv2d", "reshape", "lay_out", "conv2d"]),
        (lambda x: CONV(nn.functional.max_pool2d(x, 2)), ["lay_out", "max_pool2d", "conv2d"]),
        # Without a convolution nothing is gained.
        (lambda x: nn.functional.max_pool2d(x, 2).relu(), ["max_pool2d", "relu"]),
        (lambda x: x.sum((2, 3)), ["sum"]),
    ],
)
def test_what_comes_from_elsewhere_is_turned_once(function: Any, expected: list[str]) -> None:
    graph = trace(function, wb.ones(2, 3, 4, 5))
    before = text(graph)
    (step,) = run_passes(graph, [channels_last])
    assert names(step.after) == expected and step.name == "channels_last"
    assert text(graph) == text(step.before) == before
    x = wb.rand(2, 3, 4, 5)
    np.testing.assert_allclose(
        step.after(x).detach().numpy(), graph(x).detach().numpy(), rtol=1e-5, atol=1e-6
    )
    assert names(channels_last(step.after)) == expected


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_a_network_turns_its_image_and_nothing_else(name: str) -> None:
    graph = trace(getattr(models, name)().eval(), {"N": 2, "C": 3, "H": 32, "W": 32})
    made = check(channels_last(graph))
    assert [node.inputs[0] for node in made.nodes if node.op is ops.lay_out] == made.inputs
    assert names(made).count("lay_out") == 1 and len(made.nodes) == len(graph.nodes) + 1
    x = wb.rand(N=1, C=3, H=40, W=32)
    np.testing.assert_allclose(made(x).detach().numpy(), graph(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert made(x).names == graph(x).names


def test_values_lie_so() -> None:
    strides: dict[str, Any] = {}
    made = channels_last(trace(lambda x: CONV(x).relu(), wb.ones(2, 3, 4, 5)))
    wb.graph.run(
        made, wb.rand(2, 3, 4, 5), observe=lambda node, found, _: strides.update({node.name: found.stride()})
    )
    assert strides["lay_out"] == (60, 1, 15, 3)


def test_a_block_sees_nothing_that_another_has_turned() -> None:
    source = """g(%x : f32[N=1, C=3, H=4, W=4], %w : f32[·=3, ·=3, ·=1, ·=1], %k : bool):
  %y : f32[N:1, C:3, H:4, W:4] = if(%k):
    then():
      %p : f32[N:1, C:3, H:4, W:4] = conv2d(%x, %w, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1)
      return %p
    else():
      %q : f32[N:1, C:3, H:4, W:4] = conv2d(%x, %w, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1)
      return %q
  return %y
"""
    graph = check(parse(source))
    made = check(channels_last(graph))
    assert text(made).count("lay_out(") == 2
    x, w = wb.rand(N=1, C=3, H=4, W=4), wb.rand(3, 3, 1, 1)
    for k in (True, False):
        np.testing.assert_allclose(made(x, w, k).numpy(), graph(x, w, k).numpy(), rtol=1e-5)


def test_what_was_put_together_stays_and_gradients_go_through() -> None:
    graph = trace(lambda x: (CONV(x).relu() * 2).sum(), wb.ones(2, 3, 4, 5))
    fused = fuse_convolutions(graph)
    assert text(channels_last(fused)) == text(fused)
    x = wb.rand(2, 3, 4, 5)
    _, expected = differentiate(graph, ["x"])(x)
    _, found = differentiate(check(channels_last(graph)), ["x"])(x)
    np.testing.assert_allclose(found["x"].numpy(), expected["x"].numpy(), rtol=1e-5, atol=1e-6)
