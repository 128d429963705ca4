"""The negative log-likelihood of classes and its gradient, beside NumPy's code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench.ops  # noqa: F401  declares the ops
from workbench import kernels
from workbench.base.errors import DimensionIndexError
from workbench.core.op import ops


def _channels_last(x: Any) -> Any:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(9, 5), (3, 5, 7), (2, 5, 4, 6)])
def test_beside_numpy(shape: tuple[int, ...], reduction: str, ignore_index: int, dtype: Any) -> None:
    draw = np.random.default_rng(shape)
    x, weight = draw.standard_normal(shape).astype(dtype), draw.random(5).astype(dtype)
    weight[1] = 0
    target = draw.integers(0, 5, (shape[0], *shape[2:]))
    params = {"reduction": reduction, "ignore_index": ignore_index}
    loss, back = kernels.lookup("nll_loss"), kernels.lookup("nll_loss_gradient")
    assert loss is not None
    assert back is not None
    for lay in (np.asarray, _channels_last, lambda one: np.flip(np.ascontiguousarray(np.flip(one, -1)), -1)):
        for weights in ((), (weight,), (weight[::-1],)):
            assert loss.accepts(lay(x), target, *weights, **params)
            expected = ops.nll_loss.forward(x, target, *weights, **params)
            np.testing.assert_allclose(
                loss.run(lay(x), target, *weights, **params), expected, rtol=1e-5, atol=1e-6
            )
            g = draw.standard_normal(expected.shape).astype(dtype)
            np.testing.assert_allclose(
                back.run(g, target, *weights, sizes=shape, **params),
                ops.nll_loss_gradient.forward(g, target, *weights, sizes=shape, **params),
                rtol=1e-5,
                atol=1e-6,
            )


def test_what_does_not_count_may_be_infinite() -> None:
    x, target = np.array([[-np.inf, -1.0], [-2.0, -np.inf]], np.float32), np.array([0, 0])
    weight, run = np.array([1.0, 0.0], np.float32), kernels.lookup("nll_loss").run
    assert run(x, np.array([1, 1]), weight, reduction="sum", ignore_index=0) == 0
    assert np.isnan(run(x, np.array([1, 1]), weight, reduction="sum", ignore_index=-100))
    assert run(x, target, reduction="sum", ignore_index=-100) == np.inf
    assert np.isnan(run(x, target, reduction="mean", ignore_index=0))


@pytest.mark.parametrize("wrong", [-1, 2])
def test_classes_that_there_are_not(wrong: int) -> None:
    x, target, params = (
        np.zeros((2, 2), np.float32),
        np.array([0, wrong]),
        {"reduction": "sum", "ignore_index": -100},
    )
    message = f"Target {wrong} is out of bounds: the input has 2 classes."
    with pytest.raises(DimensionIndexError, match=message):
        kernels.lookup("nll_loss").run(x, target, **params)
    with pytest.raises(DimensionIndexError, match=message):
        kernels.lookup("nll_loss_gradient").run(np.ones((), np.float32), target, sizes=(2, 2), **params)
    with pytest.raises(ValueError, match=r"nll_loss of 2 classes and weights \[3\]"):
        kernels.lookup("nll_loss").run(x, np.array([0, 1]), np.zeros(3, np.float32), **params)
