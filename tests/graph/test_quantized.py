"""A converted model is a graph as any other: codes have types, and run to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.graph import Graph, check, parse, passes, python_text, text, trace
from workbench.models import DigitsNet
from workbench.widgets.graph import GraphModel


@pytest.fixture(scope="module")
def converted() -> wb.nn.Module:
    x = wb.randn(N=8, C=1, H=28, W=28)
    model = DigitsNet()
    model(x)
    prepared = wb.quantization.prepare(wb.quantization.fuse_automatically(model.eval(), x))
    prepared(x)
    result: wb.nn.Module = wb.quantization.convert(prepared)
    return result


@pytest.fixture(scope="module")
def graph(converted: wb.nn.Module) -> Graph:
    return trace(converted, {"N": 4, "C": 1, "H": 28, "W": 28})


def test_codes_have_types_and_run_to_the_bit(graph: Graph, converted: wb.nn.Module) -> None:
    check(graph)
    types = [str(node.outputs[0].type) for node in graph.nodes]
    assert types[0] == "qu8[N:4, C:1, H:28, W:28]"
    assert types[-1] == "f32[N:4, out_features:10]"
    x = wb.randn(N=3, C=1, H=28, W=28)
    np.testing.assert_array_equal(graph(x).detach().numpy(), converted(x).detach().numpy())


def test_scales_are_written_and_read_exactly(graph: Graph) -> None:
    held = {value.name: tensor for value, tensor in graph.held().items()}
    x = wb.randn(N=2, C=1, H=28, W=28)
    for written in (text(graph), python_text(graph)):
        again = parse(written, held)
        assert text(again) == text(graph)
        np.testing.assert_array_equal(again(x).numpy(), graph(x).numpy())


def test_passes_keep_codes(graph: Graph) -> None:
    x = wb.randn(N=2, C=1, H=28, W=28)
    for step in passes.run_passes(
        graph, [passes.constant_fold, passes.common_subexpressions, passes.dead_code]
    ):
        np.testing.assert_array_equal(step.after(x).numpy(), graph(x).numpy())


def test_the_view_says_how_many_bits(graph: Graph) -> None:
    nodes = GraphModel(graph).snapshot().state.nodes  # type: ignore[attr-defined]
    bits = {node.op: (node.bits, node.dtype) for node in nodes if node.kind == "op"}
    assert bits["quantized_conv2d"] == (8, "qu8")
    assert bits["dequantize"] == (32, "f32")
