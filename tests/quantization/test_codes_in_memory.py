"""Codes that are moved, joined and averaged: the codes of the long way, whatever order their dims have in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.nn import functional as F
from workbench.quantization.quantized import QFunctional
from workbench.quantization.quantized import functional as QF

RANDOM = np.random.default_rng(31)
NUMBERS = wb.from_numpy((RANDOM.standard_normal((2, 5, 9, 7)) * 3).astype(np.float32))


def codes(layout: str, dtype: Any = wb.quint8, scale: float = 0.07) -> Any:
    made = wb.quantize_per_tensor(NUMBERS, scale, 0 if dtype is wb.qint8 else 101, dtype)
    return made.contiguous(memory_format=wb.channels_last) if layout == "channels last" else made


def rounded(q: Any, function: Any) -> Any:
    """Return what a function makes of the numbers, rounded to the codes that its input has."""
    return wb.quantize_per_tensor(function(q.dequantize()), q.q_scale(), q.q_zero_point(), q.dtype)


MOVES = {
    "a border": lambda x: F.pad(x, (1, 2, 0, 3)),
    "a border that is not zero": lambda x: F.pad(x, (1, 2, 0, 3), value=1.234),
    "a border that cuts": lambda x: F.pad(x, (-1, 2, 3, -2)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest of other sizes": lambda x: F.interpolate(x, size=(7, 13), mode="nearest-exact"),
}


@pytest.mark.parametrize("layout", ["rows", "channels last"])
@pytest.mark.parametrize("dtype", [wb.quint8, wb.qint8], ids=str)
@pytest.mark.parametrize("name", MOVES)
def test_codes_are_moved_as_numbers_are(name: str, dtype: Any, layout: str) -> None:
    q = codes(layout, dtype)
    found, expected = MOVES[name](q), rounded(q, MOVES[name])
    np.testing.assert_array_equal(found.int_repr().numpy(), expected.int_repr().numpy())
    assert (found.q_scale(), found.q_zero_point(), found.dtype) == (q.q_scale(), q.q_zero_point(), dtype)
    assert found.is_contiguous(memory_format=wb.channels_last) == (layout == "channels last")


@pytest.mark.parametrize("name", MOVES)
def test_numbers_stay_channels_last(name: str) -> None:
    x = NUMBERS.contiguous(memory_format=wb.channels_last)
    found = MOVES[name](x)
    assert found.is_contiguous(memory_format=wb.channels_last)
    np.testing.assert_array_equal(found.numpy(), MOVES[name](NUMBERS).numpy())


@pytest.mark.parametrize("layout", ["rows", "channels last"])
@pytest.mark.parametrize("dtype", [wb.quint8, wb.qint8], ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_means_of_planes_are_those_of_the_numbers(layout: str, dtype: Any, keepdim: bool) -> None:
    # An odd count of codes has no mean that lies between two.
    q = codes(layout, dtype)
    expected = rounded(q, lambda x: x.mean((2, 3), keepdim=keepdim)).int_repr().numpy()
    for dims in ((2, 3), (-1, 2)):
        np.testing.assert_array_equal(q.mean(dims, keepdim=keepdim).int_repr().numpy(), expected)
    named = q.refine_names("N", "C", "H", "W").mean(("H", "W"), keepdim=keepdim)
    assert named.names == (("N", "C", "H", "W") if keepdim else ("N", "C"))


@pytest.mark.parametrize("dims", [(1,), (3,), (0, 2), (1, 2, 3)])
def test_other_means_are_rounded_from_the_numbers(dims: Any) -> None:
    q = codes("rows")
    found, expected = q.mean(dims), rounded(q, lambda x: x.mean(dims))
    np.testing.assert_array_equal(found.int_repr().numpy(), expected.int_repr().numpy())


@pytest.mark.parametrize("layout", ["rows", "channels last"])
def test_joined_codes_are_brought_to_one_scale(layout: str) -> None:
    parts = [codes(layout), codes(layout, scale=0.11), codes(layout, scale=0.031)]
    expected = wb.cat([one.dequantize() for one in parts], 1)
    found = QF.cat(parts, 1, 0.07, 101)
    np.testing.assert_array_equal(
        found.int_repr().numpy(), wb.quantize_per_tensor(expected, 0.07, 101, wb.quint8).int_repr().numpy()
    )
    # Those that have it are taken as they are; plainly joined, all take that of the first.
    np.testing.assert_array_equal(wb.cat(parts, 1).int_repr().numpy(), found.int_repr().numpy())


@pytest.mark.parametrize("limits", [(0, 255), (20, 127)])
def test_a_function_between_layers_joins_codes_within_its_limits(limits: tuple[int, int]) -> None:
    made = QFunctional()
    made.scale.fill_(0.07)
    made.zero_point.fill_(101)
    made.quant_min, made.quant_max = limits
    # The first has the scale of the result, and codes beyond its limits.
    parts = [codes("rows", scale=float(made.scale)), codes("channels last", scale=0.2)]
    assert parts[0].int_repr().min() < 20 and parts[0].int_repr().max() > 127
    found = made.cat(parts, dim=1)
    plain = wb.quantize_per_tensor(
        wb.cat([one.dequantize() for one in parts], 1), float(made.scale), 101, wb.quint8
    )
    np.testing.assert_array_equal(found.int_repr().numpy(), plain.int_repr().numpy().clip(*limits))
    # A number in floating point beside them is rounded once.
    mixed = made.cat([parts[0], NUMBERS], dim=0)
    assert mixed.is_quantized and mixed.shape == (4, 5, 9, 7)


def join_of_functions(x: Any) -> Any:
    parts = [wb.quantize_per_tensor(x, scale, 101, wb.quint8) for scale in (0.07, 0.11)]
    return QF.cat(parts, 1, 0.07, 101).dequantize()


def join_of_a_module(x: Any) -> Any:
    made = QFunctional()
    made.scale.fill_(0.07)
    made.zero_point.fill_(101)
    made.quant_min, made.quant_max = 20, 127
    return made.cat([wb.quantize_per_tensor(x, scale, 101, wb.quint8) for scale in (0.07, 0.2)]).dequantize()


def leaky_as_its_input(x: Any) -> Any:
    return QF.leaky_relu(wb.quantize_per_tensor(x, 0.07, 101, wb.quint8), 0.2).dequantize()


@pytest.mark.parametrize("function", [join_of_functions, join_of_a_module, leaky_as_its_input])
def test_what_codes_have_is_not_asked_in_a_trace(function: Any) -> None:
    expected = function(NUMBERS).numpy()
    np.testing.assert_array_equal(wb.graph.trace(function, NUMBERS)(NUMBERS).numpy(), expected)
    np.testing.assert_array_equal(wb.compile(function)(NUMBERS).numpy(), expected)


def test_a_scale_that_is_asked_in_a_trace_is_refused() -> None:
    def asks(x: Any) -> Any:
        return wb.quantize_per_tensor(x, 0.07, 101, wb.quint8).q_scale()

    with pytest.raises(wb.QuantizationError, match=r"q_scale: which scale .* as in a trace; ask before it"):
        wb.graph.trace(asks, NUMBERS)
