"""Windows that reach beyond the edge of an image, compiled."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import kernels, nn

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


@pytest.mark.parametrize("layer", [nn.MaxPool2d, nn.AvgPool2d], ids=lambda layer: layer.__name__)
@pytest.mark.parametrize("size", [7, 8, 9, 10])
@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 0), (3, 2, 1), (2, 3, 1)], ids=str)
def test_windows_that_reach_beyond_the_edge(layer: Any, size: int, window: tuple[int, int, int]) -> None:
    pool = layer(*window, ceil_mode=True)
    x = wb.randn(2, 3, size, size)
    with wb.no_grad():
        assert (wb.compile(pool)(x) - pool(x)).abs().max() < 1e-6
