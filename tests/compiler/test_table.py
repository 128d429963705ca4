"""Every op of the table, compiled: with a step or without, it gives what it gives eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn
from workbench.core.op import Op, table
from workbench.core.value import Value, new

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def _typed(array: Any, dtype: Any) -> Any:
    return array.astype(dtype) if isinstance(array, np.ndarray) and array.dtype == np.float64 else array


def calls(op: Op) -> Any:
    """Yield the samples of an op that it takes, in double precision and in single."""
    for sample in op.samples():
        for dtype in (np.float64, np.float32):
            inputs = [
                new(_typed(one, dtype), sample.names and sample.names[i])
                if hasattr(one, "shape") and not isinstance(one, np.generic)
                else one
                for i, one in enumerate(sample.inputs)
            ]
            if any(isinstance(one, Value) for one in inputs):
                yield inputs, sample.params


@pytest.mark.parametrize(
    "op", [op for op in table() if "random" not in op.properties], ids=lambda op: op.name
)
def test_an_op_gives_what_it_gives_eagerly(op: Op) -> None:
    for inputs, params in calls(op):

        def call(*given: Any, params: Any = params) -> Any:
            return op(*given, **params)

        with wb.no_grad():
            try:
                wanted = call(*inputs)
            except (wb.DTypeError, ValueError):
                continue  # not every width is every op's
            found = wb.compile(call)(*inputs)
        for one, other in zip(
            *[each if isinstance(each, tuple) else (each,) for each in (found, wanted)], strict=True
        ):
            if not isinstance(other, Value):
                continue
            assert (one.dtype, one.shape, one.names) == (other.dtype, other.shape, other.names)
            if isinstance(other.payload, np.ndarray):
                np.testing.assert_allclose(one.payload, other.payload, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", [nn.MaxPool2d, nn.AvgPool2d], ids=lambda layer: layer.__name__)
@pytest.mark.parametrize("size", [7, 8, 9, 10])
@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 0), (3, 2, 1), (2, 3, 1)], ids=str)
def test_windows_that_reach_beyond_the_edge(layer: Any, size: int, window: tuple[int, int, int]) -> None:
    pool = layer(*window, ceil_mode=True)
    x = wb.randn(2, 3, size, size)
    with wb.no_grad():
        assert (wb.compile(pool)(x) - pool(x)).abs().max() < 1e-6
