"""A pooling joined to an integer convolution: the same codes in one pass."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q


def converted(group: list[str], pool: wb.nn.Module) -> wb.Tensor:
    wb.manual_seed(1)
    model = wb.nn.Sequential(wb.nn.Conv2d(2, 5, 3, padding=1), wb.nn.ReLU(), pool).eval()
    fused = q.fuse_modules(model, [group])
    prepared = q.prepare(fused, q.get_default_qconfig("x86"))
    x = wb.randn(N=3, C=2, H=7, W=6)
    with wb.no_grad():
        prepared(x)
        for _, entry in [(one.name, one) for one in q.Calibration(prepared).entries if one.layer is None]:
            entry.observer.set_range(-2.0, 2.0)
        result: wb.Tensor = q.convert(prepared)(x)
    return result


def test_joined_and_separate_pooling_give_the_same_values() -> None:
    joined = converted(["0", "1", "2"], wb.nn.MaxPool2d(2))
    separate = converted(["0", "1"], wb.nn.MaxPool2d(2))
    assert joined.names == separate.names == ("N", "C", "H", "W")
    assert joined.shape == (3, 5, 3, 3)
    np.testing.assert_array_equal(joined.numpy(), separate.numpy())


def test_another_pooling_is_refused() -> None:
    with pytest.raises(wb.QuantizationError, match="leave the pooling out of the group"):
        converted(["0", "1", "2"], wb.nn.MaxPool2d(3))
