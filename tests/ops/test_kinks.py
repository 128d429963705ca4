"""Gradients where functions have none, or several: the choices that PyTorch makes, as recorded numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F

inf, nan = math.inf, math.nan
Kink = tuple[str, Callable[[Any], Any], Any, Any]

KINKS: list[Kink] = [
    ("relu at 0", F.relu, [0.0], [0.0]),
    ("abs at 0", wb.abs, [0.0], [0.0]),
    ("sign", wb.sign, [0.0, 1.0], [0.0, 0.0]),
    ("clamp at its edges", lambda x: x.clamp(-1.0, 1.0), [-1.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
    (
        "clamp by tensors",
        lambda x: x.clamp(wb.tensor([0.0]), wb.tensor([1.0])),
        [0.0, 1.0, 2.0],
        [1.0, 1.0, 0.0],
    ),
    ("hardtanh at its bounds", F.hardtanh, [-1.0, 1.0, 0.5], [0.0, 0.0, 1.0]),
    ("relu6 at its bounds", F.relu6, [0.0, 6.0, 3.0], [0.0, 0.0, 1.0]),
    ("hardsigmoid at its bounds", F.hardsigmoid, [-3.0, 3.0, 0.0], [0.0, 0.0, 1 / 6]),
    ("hardswish at its bounds", F.hardswish, [-3.0, 3.0, 0.0], [0.0, 1.0, 0.5]),
    ("softshrink at its bounds", F.softshrink, [-0.5, 0.5, 1.0], [0.0, 0.0, 1.0]),
    ("hardshrink at its bounds", F.hardshrink, [-0.5, 0.5, 1.0], [0.0, 0.0, 1.0]),
    ("leaky relu at 0", lambda x: F.leaky_relu(x, 0.1), [0.0], [0.1]),
    ("elu at 0", F.elu, [0.0], [1.0]),
    ("softplus at 0", F.softplus, [0.0], [0.5]),
    ("threshold", lambda x: F.threshold(x, 1.0, 0.0), [1.0, 1.5], [0.0, 1.0]),
    (
        "smooth l1 at beta",
        lambda x: F.smooth_l1_loss(x, wb.zeros(2), reduction="sum"),
        [1.0, -1.0],
        [1.0, -1.0],
    ),
    ("l1 at 0", lambda x: F.l1_loss(x, wb.zeros(1), reduction="sum"), [0.0], [0.0]),
    ("max of a tie", wb.max, [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    ("min of a tie", wb.min, [1.0, 1.0, 2.0], [0.5, 0.5, 0.0]),
    ("median of a tie", wb.median, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    ("amax of a tie", lambda x: x.amax(0), [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    ("amin of a tie", lambda x: x.amin(0), [1.0, 1.0, 2.0], [0.5, 0.5, 0.0]),
    ("maximum of a tie", lambda x: wb.maximum(x, wb.tensor([1.0])), [1.0], [0.5]),
    ("minimum of a tie", lambda x: wb.minimum(x, wb.tensor([1.0])), [1.0], [0.5]),
    ("max along a dim: the first", lambda x: x.max(0).values, [2.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
    ("min along a dim: the first", lambda x: x.min(0).values, [1.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
    (
        "sort: stable",
        lambda x: x.sort().values * wb.tensor([1.0, 2.0, 4.0]),
        [2.0, 2.0, 1.0],
        [2.0, 4.0, 1.0],
    ),
    ("max pooling: the first", lambda x: F.max_pool1d(x.reshape(1, 1, 2), 2), [3.0, 3.0], [1.0, 0.0]),
    ("norm at 0", wb.norm, [0.0, 0.0], [0.0, 0.0]),
    ("norm of order 1 at 0", lambda x: wb.linalg.vector_norm(x, 1), [0.0, 2.0], [0.0, 1.0]),
    ("largest of a tie", lambda x: wb.linalg.vector_norm(x, inf), [2.0, -2.0], [0.5, -0.5]),
    ("sqrt at 0", wb.sqrt, [0.0], [inf]),
    ("x^0.5 at 0", lambda x: x**0.5, [0.0], [inf]),
    ("x^0", lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
    ("prod with one 0", wb.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    ("prod with two 0", wb.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    ("cumprod with a 0", lambda x: x.cumprod(0), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    ("std of one value", wb.std, [1.0], [nan]),
    ("std of constants", wb.std, [1.0, 1.0], [0.0, 0.0]),
    ("the branch not taken", lambda x: wb.where(x > 0, x.log(), x), [0.0], [nan]),
    ("fmod", lambda x: x.fmod(2.0), [2.0, 3.0], [1.0, 1.0]),
    ("frac", wb.frac, [1.0, 1.5], [1.0, 1.0]),
    ("remainder", lambda x: wb.remainder(x, 2.0), [2.0, -1.0], [1.0, 1.0]),
    ("floor and round", lambda x: x.floor() + x.round(), [1.0, 0.5], [0.0, 0.0]),
    ("atan2 at 0, 0", lambda x: wb.atan2(x, wb.zeros(1)), [0.0], [0.0]),
    ("sinc at 0", wb.sinc, [0.0], [0.0]),
    ("logsumexp of nothing", lambda x: x.logsumexp(0), [-inf, -inf], [nan, nan]),
    ("xlogy at 0, 0, of x", lambda x: wb.xlogy(x, wb.zeros(1)), [0.0], [0.0]),
    ("xlogy at 0, 0, of y", lambda y: wb.xlogy(wb.zeros(1), y), [0.0], [nan]),
    ("angle at 0", wb.angle, [0.0, -1.0], [0.0, 0.0]),
    ("heaviside of a mask", lambda x: x * (x > 0), [0.0, 1.0], [0.0, 1.0]),
    ("nan_to_num", lambda x: x.nan_to_num(), [nan, inf, 1.0], [0.0, 0.0, 1.0]),
    ("nansum", wb.nansum, [nan, 1.0], [0.0, 1.0]),
    ("copysign at 0", lambda x: wb.copysign(x, wb.tensor([1.0])), [0.0, -2.0], [0.0, -1.0]),
    ("logaddexp far below", lambda x: wb.logaddexp(x, wb.tensor([-inf])), [1.0], [1.0]),
    ("cummax: the last of equals", lambda x: x.cummax(0).values, [1.0, 1.0, 0.0], [1.0, 2.0, 0.0]),
]


@pytest.mark.parametrize(("what", "function", "at", "slope"), KINKS, ids=[kink[0] for kink in KINKS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kink(what: str, function: Any, at: Any, slope: Any, dtype: str) -> None:
    x = wb.tensor(at, dtype=getattr(wb, dtype), requires_grad=True)
    function(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-6)
    assert x.grad.dtype.name == dtype


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda z: z.real, 1),
        (lambda z: z.imag, 1j),
        (lambda z: z.abs(), 0.6 + 0.8j),
        (lambda z: z.abs() ** 2, 6 + 8j),
        (lambda z: z.angle(), -0.16 + 0.12j),
        (lambda z: (z**2).real, 6 - 8j),
        (lambda z: (z**3).real, -21 - 72j),
        (lambda z: (1 / z).real, 0.0112 - 0.0384j),
        (lambda z: z.sqrt().real, 0.2 + 0.1j),
        (lambda z: z.sgn().real, 0.128 - 0.096j),
        (lambda z: z.exp().real, np.conj(np.exp(3 + 4j))),
    ],
)
def test_complex_gradients_at_3_4j(function: Any, slope: complex) -> None:
    z = wb.tensor(3 + 4j, dtype=wb.complex128, requires_grad=True)
    function(z).backward()
    np.testing.assert_allclose(z.grad.numpy(), slope, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("function", [wb.abs, wb.angle, lambda z: z.sgn().real])
def test_complex_gradients_at_0(function: Any) -> None:
    z = wb.tensor(0j, dtype=wb.complex64, requires_grad=True)
    function(z).backward()
    assert z.grad.item() == 0


def test_real_leaves_of_complex_values_get_real_gradients() -> None:
    x = wb.tensor([1.0, 2.0], requires_grad=True)
    ((x * (1 + 2j)) ** 2).real.sum().backward()
    assert x.grad.dtype.name == "float32"
    np.testing.assert_allclose(x.grad.numpy(), [-6.0, -12.0], rtol=1e-6)


def test_order_with_nan() -> None:
    x = wb.tensor([1.0, nan, 2.0])
    assert math.isnan(x.max().item()) and math.isnan(x.min().item()) and math.isnan(x.median().item())
    assert (x.argmax().item(), x.argmin().item(), x.nanmedian().item()) == (1, 1, 1.0)
    np.testing.assert_equal(x.sort().values.numpy(), np.float32([1, 2, nan]))
    np.testing.assert_equal(x.sort(descending=True).values.numpy(), np.float32([nan, 2, 1]))
    np.testing.assert_equal(x.topk(2).values.numpy(), np.float32([nan, 2]))
    np.testing.assert_equal(x.cummax(0).values.numpy(), np.float32([1, nan, nan]))
    np.testing.assert_equal(wb.sign(x).numpy(), np.float32([1, 0, 1]))
    np.testing.assert_equal(wb.maximum(x, wb.ones(3)).numpy(), np.float32([1, nan, 2]))
    np.testing.assert_equal(wb.fmax(x, wb.ones(3)).numpy(), np.float32([1, 1, 2]))


def test_whole_numbers() -> None:
    a, b = wb.tensor([7, -7, 7, -7]), wb.tensor([2, 2, -2, -2])
    assert (a // b).tolist() == [3, -4, -4, 3]
    assert (a % b).tolist() == [1, 1, -1, -1]
    assert wb.fmod(a, b).tolist() == [1, -1, 1, -1]
    assert wb.div(a, b, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    byte = wb.tensor([200], dtype=wb.uint8)
    assert (byte + 100).tolist() == [44] and (-byte).tolist() == [56] and (byte * 2).tolist() == [144]
    assert wb.tensor([-128], dtype=wb.int8).abs().tolist() == [-128]
    assert (wb.tensor([1]) + 1.5).dtype.name == "float32"
    assert (wb.tensor([1.0]) + wb.tensor(1.5, dtype=wb.float64)).dtype.name == "float32"
    assert (wb.tensor([1], dtype=wb.int8) + wb.tensor(1000)).tolist() == [-23]
    assert wb.add(wb.tensor([True]), wb.tensor([True]), alpha=2).tolist() == [True]
