"""Pooling to the largest value of planes that lie row by row, beside NumPy's code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench.ops  # noqa: F401  declares the ops
from workbench import kernels
from workbench.core.op import ops

WINDOWS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    # sizes; kernel, stride, padding, dilation
    ((3, 4, 50), (3,), (2,), (1,), (1,)),
    ((2, 3, 17), (2,), (1,), (0,), (3,)),
    ((1, 5, 100), (5,), (4,), (2,), (1,)),
    ((2, 2, 7), (2,), (2,), (0,), (1,)),
    ((2, 3, 6, 7, 9), (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1)),
    ((1, 3, 6, 7, 19), (2, 3, 2), (1, 2, 3), (1, 1, 0), (1, 1, 2)),
    ((2, 2, 8, 8, 8), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ((1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1)),
]


def _values(kind: str, shape: tuple[int, ...]) -> Any:
    draw = np.random.default_rng(shape)
    if kind == "ties":
        return draw.integers(-2, 3, shape).astype(np.float32)
    if kind == "lowest":
        return np.full(shape, -np.inf, np.float32)
    x = draw.standard_normal(shape).astype(np.float32)
    x[draw.random(shape) < 0.2] = np.nan
    x[draw.random(shape) < 0.2] = -np.inf
    return x


@pytest.mark.parametrize("kind", ["ties", "lowest", "not numbers"])
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), WINDOWS)
def test_values_places_and_gradient(
    shape: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any, kind: str
) -> None:
    name = f"max_pool{len(shape) - 2}d"
    params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    x = _values(kind, shape)
    pool, back = kernels.lookup(name), kernels.lookup(f"{name}_gradient")
    assert pool is not None
    assert back is not None
    assert pool.accepts(x, **params)
    values, indices = pool.run(x, **params)
    expected, places = getattr(ops, name).forward(x, **params)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(indices, places)
    assert values.flags.c_contiguous
    g = _values("ties", values.shape)
    np.testing.assert_array_equal(
        back.run(g, indices, input_shape=shape), getattr(ops, f"{name}_gradient").forward(g, indices, shape)
    )


def test_windows_that_numpy_takes() -> None:
    x, params = (
        np.zeros((1, 1, 3, 3, 3), np.float32),
        {"kernel": (2,) * 3, "stride": (1,) * 3, "dilation": (1,) * 3},
    )
    accepts = kernels.lookup("max_pool3d").accepts
    assert accepts(x, padding=(0,) * 3, **params)
    assert not accepts(x, padding=(0,) * 3, ceil_mode=True, **params)
    assert not accepts(x, padding=(0, 0, 4), **params)
    assert not accepts(x.astype(np.float64), padding=(0,) * 3, **params)


def test_indices_outside_are_refused() -> None:
    g, indices = np.ones((1, 1, 2), np.float32), np.array([[[0, 5]]])
    with pytest.raises(ValueError, match=r"point outside the input's planes \[1, 1, 5\]"):
        kernels.lookup("max_pool1d_gradient").run(g, indices, input_shape=(1, 1, 5))
    with pytest.raises(ValueError, match="which no pooling of"):
        kernels.lookup("max_pool3d_gradient").run(
            np.ones((1, 1, 2, 2, 2), np.float32),
            np.zeros((1, 1, 2, 2, 2), np.int64),
            input_shape=(1, 2, 4, 4, 4),
        )
