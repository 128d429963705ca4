"""The scales and zero points of an array of codes, in whatever type they are given."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from workbench.base.dtypes import quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme, QuantizedArray

CODES = np.arange(6, dtype=np.uint8).reshape(2, 3)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ml_dtypes.bfloat16])
def test_real_zero_points_stay_such(kind: Any) -> None:
    zeros = np.array([1.5, 2.25], kind)
    found = QuantizedArray(CODES, np.array([0.5, 2.0], kind), zeros, quint8, 0)
    assert found.qscheme is QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS
    assert found.scale.dtype == found.zero_point.dtype == np.float32
    np.testing.assert_array_equal(found.dequantize(), [[-0.75, -0.25, 0.25], [1.5, 3.5, 5.5]])
    grouped = QuantizedArray(CODES, np.full((2, 2), 0.5, kind), np.full((2, 2), 1.5, kind), quint8, group=2)
    np.testing.assert_array_equal(grouped.dequantize(), (CODES - 1.5) * 0.5)


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "i8", "u4"])
def test_whole_zero_points_are_whole(kind: Any) -> None:
    found = QuantizedArray(CODES, [0.5, 2.0], np.array([1, 2], kind), quint8, 0)
    assert found.qscheme is QScheme.PER_CHANNEL_AFFINE
    assert (found.scale.dtype, found.zero_point.dtype) == (np.float64, np.int64)
    assert not found.zero_point.flags.writeable and not found.scale.flags.writeable


def test_others_than_fit_are_refused() -> None:
    with pytest.raises(QuantizationError, match="length of scales must equal to channel, expected 2 got, 3"):
        QuantizedArray(CODES, [1.0, 1.0, 1.0], [0, 0, 0], quint8, 0)
    with pytest.raises(QuantizationError, match="axis 2 is out of range for codes with 2 dims"):
        QuantizedArray(CODES, [1.0], [0], quint8, 2)
    with pytest.raises(
        QuantizationError, match=r"zero_points must have one entry a group of 2: \[2, 2\] for"
    ):
        QuantizedArray(CODES, np.ones((2, 2)), np.zeros((2, 1), int), quint8, group=2)
    with pytest.raises(QuantizationError, match="groups of 0 values along the last of 2 dims"):
        QuantizedArray(CODES, 1.0, 0, quint8, group=0)
