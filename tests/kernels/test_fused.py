"""Cross entropy, gated units and learned slopes, each in one compiled pass: against plain in doubles, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.errors import DimensionIndexError
from workbench.kernels.loader import native
from workbench.ops import ops
from workbench.ops.nn.loss.cross_entropy import smoothed_nll_loss

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not there")

DRAW = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return DRAW.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", [-100, 0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    "shape", [(1, 2), (5, 3), (64, 10), (33, 17), (20, 1000), (3, 17, 40), (2, 3, 9, 130), (2, 300, 1)]
)
def test_cross_entropy(shape: tuple[int, ...], smoothing: float, ignored: int, reduction: str) -> None:
    """Scores far from 0, where a sum of exponentials would overflow and their logarithm lose digits."""
    places = (shape[0], *shape[2:])
    x, target = floats(*shape) * 5 + 1000, DRAW.integers(0, shape[1], places)
    target[-1] = 1
    params: dict[str, Any] = {"reduction": reduction, "ignore_index": ignored, "smoothing": smoothing}
    found = native.cross_entropy(x, target, **params)
    np.testing.assert_allclose(
        found, ops.cross_entropy.forward(x.astype(float), target, **params), rtol=1e-5, atol=1e-5
    )
    g = floats(*places) if reduction == "none" else np.asarray(floats(1)[0])
    slopes = native.cross_entropy_gradient(g, np.asfortranarray(x), target, **params)
    expected = ops.cross_entropy_gradient.forward(g.astype(float), x.astype(float), target, **params)
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=2e-6)
    assert not np.moveaxis(slopes, 1, -1)[target == ignored].any()


def test_cross_entropy_is_what_its_parts_are() -> None:
    x, target = wb.tensor(floats(9, 5), requires_grad=True), wb.tensor(DRAW.integers(0, 5, 9))
    whole: Any = wb.nn.functional.cross_entropy(x, target)
    parts: Any = wb.nn.functional.nll_loss(wb.log_softmax(x, 1), target)
    np.testing.assert_allclose(whole.item(), parts.item(), rtol=1e-6)
    found: list[Any] = [wb.autograd.grad(one, [x], create_graph=True)[0] for one in (whole, parts)]
    first, second = (one.detach().numpy() for one in found)
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-7)
    again: list[Any] = [wb.autograd.grad((one * one).sum(), [x])[0] for one in found]
    np.testing.assert_allclose(again[0].numpy(), again[1].numpy(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_smoothed_cross_entropy_is_what_its_parts_are(reduction: str) -> None:
    x, target = wb.tensor(floats(3, 5, 4), requires_grad=True), wb.tensor(DRAW.integers(0, 5, (3, 4)))
    params: dict[str, Any] = {"reduction": reduction, "ignore_index": 2}
    whole: Any = wb.nn.functional.cross_entropy(x, target, label_smoothing=0.3, **params)
    parts: Any = smoothed_nll_loss(wb.log_softmax(x, 1), target, None, smoothing=0.3, **params)
    np.testing.assert_allclose(whole.item(), parts.item(), rtol=1e-6)
    found: list[Any] = [wb.autograd.grad(one, [x], create_graph=True)[0] for one in (whole, parts)]
    first, second = (one.detach().numpy() for one in found)
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)
    again: list[Any] = [wb.autograd.grad((one * one).sum(), [x])[0] for one in found]
    np.testing.assert_allclose(again[0].numpy(), again[1].numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(4, 9), (4, 9, 3)])
def test_infinite_scores_that_do_not_count(shape: tuple[int, ...]) -> None:
    """A score of minus infinity is a class that there is not, and what is ignored has no loss, whatever it scores."""
    x, target = floats(*shape), np.zeros((shape[0], *shape[2:]), np.int64)
    x[:, 3], x[1], target[1] = -np.inf, np.inf, 7
    params: dict[str, Any] = {"reduction": "mean", "ignore_index": 7}
    assert np.isfinite(native.cross_entropy(x, target, **params))
    slopes = native.cross_entropy_gradient(np.float32(1).reshape(()), x, target, **params)
    assert np.isfinite(slopes).all()
    assert not slopes[1].any()
    assert native.cross_entropy(x, target, smoothing=0.1, **params) == np.inf


def test_classes_that_there_are_not() -> None:
    x = wb.tensor(floats(2, 3))
    for wrong in (3, -1):
        with pytest.raises(DimensionIndexError, match=f"Target {wrong} is out of bounds: the input has 3"):
            wb.nn.functional.cross_entropy(x, wb.tensor([0, wrong]))
    assert wb.nn.functional.cross_entropy(x, wb.tensor([-7, -7]), ignore_index=-7).isnan().item()
    with pytest.raises(ValueError, match="cross_entropy of scores"):
        native.cross_entropy(floats(2, 3), np.zeros(3, np.int64), reduction="sum", ignore_index=-1)


@pytest.mark.parametrize(("shape", "dim"), [((8, 16), 1), ((5, 6, 7), 1), ((2, 66, 3), 1), ((4, 3), 0)])
def test_gates(shape: tuple[int, ...], dim: int) -> None:
    x = np.asfortranarray(floats(*shape) * 4)
    expected = ops.glu.forward(x.astype(float), dim=dim)
    np.testing.assert_allclose(native.glu(x, dim=dim), expected, rtol=2e-5, atol=1e-6)
    g = floats(*expected.shape)
    slopes = ops.glu_gradient.forward(g.astype(float), x.astype(float), dim=dim)
    np.testing.assert_allclose(native.glu_gradient(g, x, dim=dim), slopes, rtol=2e-5, atol=1e-6)
    with pytest.raises(ValueError, match="glu halves dim"):
        native.glu(floats(2, 3), dim=1)


def test_learned_slopes() -> None:
    x, slope = floats(3, 5, 7, 7), floats(5, 1, 1)
    for lying in (x, np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)):
        np.testing.assert_array_equal(native.prelu(lying, slope), np.where(x > 0, x, x * slope))


def test_rows_added_up() -> None:
    places, rows = DRAW.integers(0, 7, (30, 4)), floats(30, 4, 5)
    table = np.zeros((9, 5))
    np.add.at(table, places, rows)
    weight = wb.zeros(9, 5, requires_grad=True)
    picked = wb.nn.functional.embedding(wb.tensor(places), weight)
    found: Any = wb.autograd.grad(picked, [weight], [wb.tensor(rows)])[0]
    np.testing.assert_allclose(found.numpy(), table, rtol=1e-5, atol=1e-6)
    for wrong in (-1, 9):
        with pytest.raises(IndexError, match=f"{wrong} is not in"):
            wb.nn.functional.embedding(wb.tensor([0, wrong]), weight)
