"""Kernels on codes beside their plain array code: the very same codes, of rows, matrices, images and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import Op, ops
from workbench.kernels.loader import native
from workbench.ops.quantized.code_arithmetic import Coded, normalised, product_of_codes, softmax_of_codes

pytestmark = pytest.mark.skipif(not kernels.available(), reason="there are no compiled kernels")


def of_codes(*shape: int, scale: float = 0.031, zero: int = 90, low: int = 0) -> QuantizedArray:
    codes = np.random.default_rng(shape).integers(low, 256, shape).astype(np.uint8)
    return QuantizedArray(codes, scale, zero, wb.quint8)


def both(op: Op, *given: Any, **params: Any) -> tuple[Any, Any]:
    """What the kernel gives, and what the plain form gives."""
    rule: Any = op.quantized
    return rule.codes(op, *given, **params), op.forward(*given, **params)


@pytest.mark.parametrize("count", [1, 7, 255, 256, 257, 3000])
@pytest.mark.parametrize("scale", [1e-3, 0.031, 0.4, 30.0])
def test_softmax(count: int, scale: float) -> None:
    codes, out = of_codes(9, count).codes, Coded(1 / 256, 3, 1, 250)
    found = softmax_of_codes(codes, scale, out)
    np.testing.assert_array_equal(found, softmax_of_codes(codes, scale, out, plainly=True))
    numbers = np.exp(codes * scale - (codes * scale).max(axis=1, keepdims=True))
    steps = numbers / numbers.sum(axis=1, keepdims=True) * 256 + 3
    assert np.abs(found - np.clip(np.rint(steps), 1, 250)).max() <= 1


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(
    ("rows", "run", "factors"), [(6, 1, 40), (6, 8, 5), (6, 8, 10), (6, 1, 80), (6, 40, 3)]
)
@pytest.mark.parametrize("given", ["neither", "weight", "bias", "both"])
def test_norms(centred: bool, rows: int, run: int, factors: int, given: str) -> None:
    q, random = of_codes(6, 40), np.random.default_rng(1)
    weight, bias = random.standard_normal((2, factors)).astype(np.float32)
    told = (weight if given in ("weight", "both") else None, bias if given in ("bias", "both") else None)
    for out in (Coded(0.03, 120, 0, 255), Coded(0.5, 0, 3, 77)):
        found = normalised(q, rows, run, *told, centred, 1e-5, out)
        np.testing.assert_array_equal(
            found, normalised(q, rows, run, *told, centred, 1e-5, out, plainly=True)
        )


def test_norms_of_rows_that_do_not_differ() -> None:
    q = QuantizedArray(np.full((2, 9), 77, np.uint8), 0.1, 77, wb.quint8)
    weight = np.ones(9, np.float32)
    for eps, expected in ((1e-5, 100), (0.0, 255)):  # 0 / 0 is no number, and becomes the highest code
        for plainly in (True, False):
            found = normalised(q, 2, 1, weight, None, True, eps, Coded(0.1, 100, 0, 255), plainly=plainly)
            assert (found == expected).all()


@pytest.mark.parametrize("zeros", [(0, 0), (3, 140), (255, 255), (128, 128)])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((1, 1), (1, 1)), ((13, 37), (37, 21)), ((2, 3, 5, 64), (2, 3, 64, 33)), ((4, 7, 6), (6, 16)), ((6,), (6, 3)),
        ((5, 6), (6,)), ((6,), (6,)), ((2, 1, 9, 8), (3, 8, 5)), ((0, 3), (3, 2)), ((3, 0), (0, 2)),
        ((70, 300), (300, 17)),
    ],
)  # fmt: skip
def test_products_of_matrices(left: tuple[int, ...], right: tuple[int, ...], zeros: tuple[int, int]) -> None:
    a, b, out = (
        of_codes(*left, zero=zeros[0]),
        of_codes(*right, scale=0.02, zero=zeros[1]),
        Coded(0.7, 120, 0, 255),
    )
    found, plain = product_of_codes(a, b, out), product_of_codes(a, b, out, plainly=True)
    assert found.shape == (a.dequantize() @ b.dequantize()).shape
    np.testing.assert_array_equal(found.codes, plain.codes)
    steps = (a.codes.astype(float) - a.zero_point) @ (b.codes.astype(float) - b.zero_point)
    expected = np.clip(np.rint(steps * (a.scale * b.scale / 0.7) + 120), 0, 255)
    assert np.abs(found.codes - expected).max(initial=0) <= 1


def test_the_greatest_products_fit() -> None:
    a = QuantizedArray(np.full((9, 1 << 15), 255, np.uint8), 1e-3, 0, wb.quint8)
    b = QuantizedArray(np.full((1 << 15, 3), 255, np.uint8), 1e-3, 0, wb.quint8)
    for plainly in (True, False):
        assert (product_of_codes(a, b, Coded(10.0, 0, 0, 255), plainly=plainly).codes == 213).all()
    b = QuantizedArray(np.zeros((1 << 15, 3), np.uint8), 1e-3, 255, wb.quint8)
    for plainly in (True, False):
        assert (product_of_codes(a, b, Coded(10.0, 255, 0, 255), plainly=plainly).codes == 42).all()


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((2, 3, 4, 5), (7, 9)), ((1, 70, 8, 6), (16, 12)), ((1, 2, 9), (4,)), ((2, 3, 3, 4, 5), (5, 2, 7)),
        ((1, 1, 1, 1), (3, 4)), ((2, 5, 6, 6), (6, 6)),
    ],
)  # fmt: skip
def test_interpolation(mode: str, corners: bool, shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    params = {
        "sizes": sizes, "mode": mode, "scales": (None,) * len(sizes), "align_corners": corners, "antialias": False,
    }  # fmt: skip
    for zero in (0, 7, 255):
        q = of_codes(*shape, zero=zero)
        order = (0, *range(2, q.ndim), 1)
        last = np.ascontiguousarray(q.codes.transpose(order)).transpose(np.argsort(order))
        for codes in (q.codes, last):
            given = QuantizedArray(codes, q.scale, q.zero_point, q.dtype)
            found, plain = both(ops.quantized_resample, given, **params)
            np.testing.assert_array_equal(found.codes, plain.codes)
        numbers = np.asarray(ops.resample.forward(q.dequantize().astype(float), **params)) / q.scale + zero
        assert np.abs(found.codes - np.clip(numbers, 0, 255)).max() < 0.6


@pytest.mark.parametrize("width", [1, 6, 37])
@pytest.mark.parametrize("kind", ["quint8", "quint4x2"])
def test_tables(width: int, kind: str) -> None:
    dtype = getattr(wb, kind)
    random = np.random.default_rng(width)
    codes = random.integers(0, 2**dtype.bits, (9, width)).astype(np.uint8)
    table = QuantizedArray(
        codes, random.uniform(0.1, 1, 9), random.uniform(0, 9, 9).astype(np.float32), dtype, 0
    )
    places, out = np.array([[0, 8], [3, 3]]), {"scale": None, "zero_point": 0, "qmin": 0, "qmax": 255}
    found, plain = both(ops.quantized_embedding, places, table, **out)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(found, table.dequantize()[places])
    row, edges = np.array([8, 0, 3, 3, 3, 1]), np.array([0, 2, 2, 5, 6])
    weights = random.uniform(-1, 1, 6).astype(np.float32)
    for mode, padding, given in (("sum", -1, (weights,)), ("sum", 3, ()), ("mean", 0, ()), ("max", 3, ())):
        found, plain = both(
            ops.quantized_embedding_bag, row, table, edges, *given, mode=mode, padding=padding
        )
        np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("softmax_codes", (np.zeros((2, 3), np.uint8), np.zeros(5, np.int32), (1.0, 0, 0, 255)), r"\[256\], not \[5\]"),
        (
            "normalise_codes",
            (np.zeros((2, 6), np.uint8), None, None, 4, 6, True, 1e-5, 1.0, 0, (1.0, 0, 0, 255)),
            "rows of 6 codes are not normalised by 6 factors for 4 neighbours",
        ),
        (
            "multiply_matrices_of_codes",
            (np.zeros((1, 2, 3), np.uint8), 1.0, 0, np.zeros((1, 2, 3), np.uint8), 1.0, 0, (1.0, 0, 0, 255)),
            r"expected \[B, M, K\] and \[B, K, N\]",
        ),
        (
            "resample_codes",
            (np.zeros((1, 1, 4), np.uint8), ((np.array([[4]]), np.array([[1]], np.int32)),)),
            "place 4 does not lie within 4",
        ),
        (
            "rows_of_codes",
            (np.zeros((2, 3), np.uint8), np.ones(2, np.float32), np.ones(2, np.float32), 3, 8, np.array([2])),
            "row 2 is not one of 2",
        ),
        (
            "bags_of_codes",
            (
                np.zeros((2, 3), np.uint8), np.ones(2, np.float32), np.ones(2, np.float32), 3, 8, np.array([1]),
                np.array([0, 2]), None, 1, -1,
            ),
            "within 1 places, not at 2",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(name: str, given: Any, message: str) -> None:
    kernel = kernels.lookup(name)
    assert kernel is not None
    with pytest.raises(ValueError, match=message):
        kernel.run(*given)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 1000, 70_000])
def test_codes_are_looked_up_in_any_layout(length: int) -> None:
    generator = np.random.default_rng(length)
    table = generator.integers(0, 256, 256).astype(np.uint8)
    many = generator.integers(0, 256, 2 * length + 3).astype(np.uint8)
    for codes in (
        many[3 : 3 + length],
        many[: 2 * length : 2],
        many[length:0:-1],
        many[:length].reshape(1, -1).T,
    ):
        np.testing.assert_array_equal(native.look_up_codes(codes, table), table[codes])


@pytest.mark.parametrize("scale", [0.0317, 1e-6, 1e-12, 1e-36])
@pytest.mark.parametrize("bounds", [(0, 255), (10, 200)])
def test_sums_of_codes(scale: float, bounds: tuple[int, int]) -> None:
    a, b = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    a, b = a[:, :250].copy(), b[:, :250].copy()
    found = native.add_codes(a, 0.02, 100, b, 0.0153, 0, scale, 50, *bounds)
    real = (a.astype(np.float64) - 100) * np.float32(0.02) + b.astype(np.float64) * np.float32(0.0153)
    expected = np.clip(np.rint(real / scale) + 50, *bounds)
    # Where products cancel, what is left of their rounding is many steps of a fine scale.
    sure = np.abs(real) > 1e-5
    assert sure.mean() > 0.99
    assert np.abs(found - expected)[sure].max() <= 1
    assert (found != expected)[sure].mean() < 1e-2
