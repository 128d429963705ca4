"""Layers that bound their codes, and sums of codes in one call: the same codes, and only where nobody else looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph import check, trace
from workbench.graph.passes import fuse_codes
from workbench.quantization.quantized import functional as F


def quantized(x: Any) -> Any:
    return wb.quantize_per_tensor(x, 0.05, 60, wb.quint8)


def layer(codes: Any, scale: float = 0.1, zero_point: int = 70) -> Any:
    weight = wb.quantize_per_tensor((wb.arange(12.0) - 6).reshape(4, 3, 1, 1), 0.05, 0, wb.qint8)
    return F.conv2d(codes, weight, None, scale=scale, zero_point=zero_point)


def fused(function: Any) -> list[str]:
    """Return what is called behind the pass, which gives the same numbers."""
    x = wb.randn(2, 3, 5, 4)
    graph = trace(function, x)
    other = check(fuse_codes(graph))
    with wb.no_grad():
        np.testing.assert_array_equal(other(x).numpy(), graph(x).numpy())
    return [node.callee.kind if node.op is None else node.op.name for node in other.nodes]


LAYER = ["quantize_per_tensor", "quantized_conv2d"]


@pytest.mark.parametrize(
    "bound",
    [
        lambda y: y.relu(),
        lambda y: wb.nn.functional.relu6(y),
        lambda y: wb.nn.functional.hardtanh(y, -0.7, 0.9),
        lambda y: y.clamp(-0.7, 0.9),
        lambda y: y.relu().clamp(min=0.4),
        lambda y: wb.clamp(y, max=y.shape[1] / 10),
    ],
)
def test_bounds_are_the_layers(bound: Any) -> None:
    assert fused(lambda x: bound(layer(quantized(x))).dequantize()) == [*LAYER, "dequantize"]


@pytest.mark.parametrize("function", [lambda y: y.sigmoid(), lambda y: y.tanh()])
def test_other_functions_stay(function: Any) -> None:
    assert len(fused(lambda x: function(layer(quantized(x))).dequantize())) == 4


def test_bounds_stay_where_the_codes_are_read_before_them() -> None:
    def function(x: Any) -> Any:
        y = layer(quantized(x))
        return y.relu().dequantize() * y.dequantize()

    assert "relu" in fused(function)


def test_a_sum_with_a_layer_is_one_call_of_the_later_layer() -> None:
    def function(x: Any) -> Any:
        codes = quantized(x)
        a, b = layer(codes), layer(codes, 0.2, 3)
        return wb.quantize_per_tensor(
            (a.dequantize() + b.dequantize()).relu(), 0.3, 5, wb.quint8
        ).dequantize()

    assert fused(function) == [*LAYER, "fused_codes", "dequantize"]


def test_a_sum_of_a_value_with_itself_stays() -> None:
    def function(x: Any) -> Any:
        y = quantized(x).dequantize()
        return wb.quantize_per_tensor(y + y, 0.3, 5, wb.quint8).dequantize()

    assert "fused_codes" not in fused(function)


def test_a_sum_stays_where_its_numbers_are_read_too() -> None:
    def function(x: Any) -> Any:
        total = quantized(x).dequantize() + wb.quantize_per_tensor(x, 0.1, 0, wb.quint8).dequantize()
        return wb.quantize_per_tensor(total, 0.3, 5, wb.quint8).dequantize() + total

    assert "fused_codes" not in fused(function)


def test_what_is_stretched_stays() -> None:
    def function(x: Any) -> Any:
        row = quantized(x[:1]).dequantize()
        return wb.quantize_per_tensor(quantized(x).dequantize() + row, 0.3, 5, wb.quint8).dequantize()

    assert "fused_codes" not in fused(function)


def test_signed_codes_stay() -> None:
    def function(x: Any) -> Any:
        a, b = (wb.quantize_per_tensor(x, scale, 0, wb.qint8).dequantize() for scale in (0.1, 0.2))
        return wb.quantize_per_tensor(a + b, 0.3, 0, wb.qint8).dequantize()

    assert "fused_codes" not in fused(function)
