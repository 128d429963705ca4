"""Functions of codes by tables, which are made once for each function and each pair of scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.dtypes import qint8, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core import ops
from workbench.core.code_tables import by_table

CODES = np.random.default_rng(5).integers(0, 256, 2000).astype(np.uint8)


def plainly(op: Any, q: Any, params: Any, scale: float, zero_point: int) -> Any:
    with np.errstate(all="ignore"):
        return QuantizedArray.quantized(op.forward(q.dequantize(), **params), scale, zero_point, q.dtype)


@pytest.mark.parametrize("turn", range(2))
def test_each_function_scale_and_type_has_a_table_of_its_own(turn: int) -> None:
    for dtype in (quint8, qint8):
        for scale, zero in ((0.05, 7), (0.05, 9), (0.11, 7)):
            q = QuantizedArray(CODES.view(dtype.numpy), scale, zero, dtype)
            for op, params in (
                (ops.sigmoid, {}),
                (ops.hardtanh, {"low": 0.0, "high": 6.0}),
                (ops.hardtanh, {"low": 0.0, "high": 1.0}),
                (ops.log, {}),
            ):
                for told in ((0.02, 3), (0.02, 4), (0.3, 3)):
                    found = by_table(op, q, params, *told)
                    np.testing.assert_array_equal(found.codes, plainly(op, q, params, *told).codes)
    # Nobody else's table is written into by who writes into a result.
    found = by_table(ops.sigmoid, q, {}, 0.02, 3)
    before = found.codes.copy()
    found.write(np.zeros_like(before))
    np.testing.assert_array_equal(by_table(ops.sigmoid, q, {}, 0.02, 3).codes, before)


def test_parameters_that_nobody_can_tell_apart_are_computed_with_each_time() -> None:
    q = QuantizedArray(CODES, 0.05, 7, quint8)
    bounds = np.array(1.0)
    params = {"low": 0.0, "high": bounds}
    first = by_table(ops.hardtanh, q, params, 0.02, 0).codes
    bounds[...] = 0.5
    assert first.max() == 50 and by_table(ops.hardtanh, q, params, 0.02, 0).codes.max() == 25


def test_numbers_alone_come_under_another_scale() -> None:
    q = QuantizedArray(CODES, 0.05, 7, quint8)
    expected = QuantizedArray.quantized(q.dequantize(), 0.02, 40, quint8)
    np.testing.assert_array_equal(by_table(None, q, {}, 0.02, 40).codes, expected.codes)


def test_limits_of_codes_are_kept() -> None:
    x = wb.quantize_per_tensor(wb.linspace(-3, 3, 2000), 0.05, 100, wb.quint8)
    made = by_table(ops.sigmoid, x.payload, {}, 1 / 256, 0, (10, 100))
    assert (made.codes.min(), made.codes.max()) == (12, 100)
