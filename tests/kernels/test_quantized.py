from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.layouts import at_the_edge
from workbench import kernels
from workbench.ops.nn.pool.means import average_codes

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]

QUANTIZED = {"x_scale": 0.02, "x_zero_point": 3, "scale": 0.5, "zero_point": 7}


def codes(shape: tuple[int, ...], highest: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, highest + 1, shape).astype(np.uint8)


def weights(shape: tuple[int, ...], seed: int = 1) -> npt.NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def requantize(
    sums: npt.NDArray[np.int64], scales: Floats, bias: Floats, p: dict[str, Any], relu: bool
) -> npt.NDArray[np.int64]:
    real = sums * (np.float64(np.float32(p["x_scale"])) * scales.astype(np.float64)) + bias
    rounded = np.rint(real / np.float64(np.float32(p["scale"]))) + p["zero_point"]
    return np.clip(rounded, p["zero_point"] if relu else 0, 255).astype(np.int64)


def convolve(
    x: npt.NDArray[Any], weight: npt.NDArray[Any], zero: int, p: dict[str, Any]
) -> npt.NDArray[np.int64]:
    """Exact integer convolution, [N, OH, OW, O]."""
    (sh, sw), (ph, pw), (dh, dw), groups = p["stride"], p["padding"], p["dilation"], p["groups"]
    padded = np.pad(x.astype(np.int64) - zero, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    o, c, kh, kw = weight.shape
    oh = (padded.shape[2] - dh * (kh - 1) - 1) // sh + 1
    ow = (padded.shape[3] - dw * (kw - 1) - 1) // sw + 1
    out = np.zeros((x.shape[0], oh, ow, o), np.int64)
    for i, j, k in np.ndindex(o, kh, kw):
        first = i // (o // groups) * c
        taps = padded[:, first : first + c, j * dh : j * dh + sh * oh : sh, k * dw : k * dw + sw * ow : sw]
        out[..., i] += np.tensordot(taps[:, :, :oh, :ow], weight[i, :, j, k].astype(np.int64), axes=(1, 0))
    return out


PLAIN = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
GEOMETRIES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 1, 28, 28), (32, 1, 3, 3), PLAIN),
    ((2, 32, 14, 14), (64, 32, 3, 3), PLAIN),
    ((1, 5, 9, 8), (17, 5, 3, 2), {**PLAIN, "stride": (2, 1), "padding": (1, 0)}),
    ((2, 6, 9, 9), (4, 6, 3, 3), {**PLAIN, "stride": (1, 2), "padding": (2, 2), "dilation": (2, 2)}),
    ((2, 8, 6, 6), (8, 2, 3, 3), {**PLAIN, "groups": 4}),
    ((2, 6, 7, 6), (6, 1, 3, 3), {**PLAIN, "groups": 6}),
    ((2, 37, 9, 8), (37, 1, 3, 2), {**PLAIN, "groups": 37, "stride": (1, 2), "dilation": (2, 1)}),
    ((1, 16, 6, 6), (16, 1, 2, 2), {**PLAIN, "groups": 16, "padding": (0, 0)}),
    ((2, 3, 7, 6), (6, 1, 3, 3), {**PLAIN, "groups": 3}),
    ((1, 3, 5, 5), (1, 3, 1, 1), {**PLAIN, "padding": (0, 0)}),
    # Read in place, more channels than a panel has; more rows than a band has.
    ((2, 8, 7, 9), (117, 8, 1, 1), {**PLAIN, "padding": (0, 0)}),
    ((1, 4, 90, 200), (3, 4, 3, 3), PLAIN),
    # By tiles where the processor has them: rows with their padding, images as one, windows that are gathered, groups,
    # few outputs.
    ((2, 64, 14, 13), (70, 64, 3, 3), PLAIN),
    ((3, 64, 7, 5), (48, 64, 1, 1), {**PLAIN, "padding": (0, 0)}),
    ((2, 128, 9, 9), (64, 128, 1, 1), {**PLAIN, "padding": (0, 0), "stride": (2, 2)}),
    ((1, 64, 20, 20), (33, 64, 3, 3), {**PLAIN, "padding": (2, 2), "dilation": (2, 2)}),
    ((1, 32, 12, 12), (16, 32, 2, 2), {**PLAIN, "stride": (1, 3), "padding": (0, 1)}),
    ((2, 128, 8, 8), (96, 64, 3, 3), {**PLAIN, "groups": 2}),
    ((1, 40, 12, 11), (6, 20, 3, 3), {**PLAIN, "groups": 2, "stride": (2, 1)}),
    ((1, 64, 4, 4), (64, 64, 3, 3), PLAIN),
    ((1, 512, 11, 11), (20, 512, 3, 3), {**PLAIN, "stride": (1, 2)}),
    ((1, 3, 23, 23), (64, 3, 7, 7), {**PLAIN, "stride": (2, 2), "padding": (3, 3)}),
]


@pytest.mark.parametrize(("input_shape", "weight_shape", "p"), GEOMETRIES)
@pytest.mark.parametrize("highest", [127, 255])
@pytest.mark.parametrize("zero", [0, 100, 200])
def test_convolution(
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    p: dict[str, Any],
    highest: int,
    zero: int,
    floats: Make,
) -> None:
    x, weight = codes(input_shape, highest), weights(weight_shape)
    scales = np.abs(floats(weight_shape[0])) * np.float32(0.01) + np.float32(0.001)
    bias = floats(weight_shape[0])
    packed = kernels.PackedQuantizedConv2d(weight, scales, bias, **p)
    q = {
        "x_scale": QUANTIZED["x_scale"], "x_zero_point": zero,
        "scale": 0.05 * float(np.sqrt(np.prod(weight_shape[1:]))), "zero_point": min(zero, 7),
    }  # fmt: skip
    for relu in (False, True):
        y = packed.run(x, **q, relu=relu)
        expected = np.moveaxis(requantize(convolve(x, weight, zero, p), scales, bias, q, relu), -1, 1)
        assert y.dtype == np.uint8
        assert np.moveaxis(y, 1, -1).flags.c_contiguous
        assert np.abs(y - expected).max() <= 1
        assert (y != expected).mean() < 1e-3
        high, wide = y.shape[2] // 2, y.shape[3] // 2
        tiles = y[:, :, : 2 * high, : 2 * wide].reshape(*y.shape[:2], high, 2, wide, 2)
        np.testing.assert_array_equal(packed.run(x, **q, relu=relu, pool=True), tiles.max(axis=(3, 5)))


@pytest.mark.parametrize("shape", [(5, 64, 14, 14), (1, 192, 1, 64)])  # many rows to share out, or one
@pytest.mark.parametrize("pool", [False, True])
def test_threads_share_a_convolution(shape: tuple[int, ...], pool: bool) -> None:
    kernel = (160, shape[1], 3, 3) if shape[2] > 1 else (160, shape[1], 2, 9)
    x, weight, scale = codes(shape, 255), weights(kernel), np.array([0.01], np.float32)
    packed = kernels.PackedQuantizedConv2d(weight, scale, None, padding=(1, 1))
    before, results = kernels.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            kernels.set_num_threads(count)
            results.append(packed.run(x, **QUANTIZED | {"scale": 0.5}, pool=pool))
    finally:
        kernels.set_num_threads(before)
    assert np.ptp(results[0]) > 100
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("weight", [-128, 127])
@pytest.mark.parametrize("code", [127, 255])
def test_extreme_products_do_not_saturate(weight: int, code: int) -> None:
    x = np.full((2, 64, 6, 6), code, np.uint8)
    filters = np.full((16, 64, 3, 3), weight, np.int8)
    packed = kernels.PackedQuantizedConv2d(filters, np.array([1.0], np.float32), None, padding=(1, 1))
    total = 9 * 64 * code * abs(weight)
    zero_point = 0 if weight > 0 else 255
    y = packed.run(x, x_scale=1.0, x_zero_point=0, scale=total / 200, zero_point=zero_point)
    assert set(y[:, :, 2:4, 2:4].ravel().tolist()) == {200 if weight > 0 else 55}
    apart = kernels.PackedQuantizedConv2d(
        filters[:, :1].repeat(4, 0), np.array([1.0], np.float32), None, groups=64
    )
    y = apart.run(x, x_scale=1.0, x_zero_point=0, scale=total / 64 / 200, zero_point=zero_point)
    assert set(y.ravel().tolist()) == {200 if weight > 0 else 55}


@pytest.mark.parametrize("requantization", ["real", "joined"])
@pytest.mark.parametrize("zero_point", [0, 100])
def test_sums_that_no_code_comes_near_are_its_last_ones(requantization: str, zero_point: int) -> None:
    weight = np.where(np.arange(40) % 2, 127, -127).astype(np.int8).reshape(40, 1, 1, 1)
    x = codes((1, 1, 5, 5), 255)
    x[0, 0, 0, :] = 0
    for scale in (1e-3, 1e-6, 1e-12, 1e-30):
        packed = kernels.PackedQuantizedConv2d(weight, np.array([1.0], np.float32), None)
        y = packed.run(
            x, x_scale=1.0, x_zero_point=0, scale=scale, zero_point=zero_point, requantization=requantization
        )
        last = np.where(np.arange(40) % 2, 255, 0)[None, :, None, None]
        np.testing.assert_array_equal(y, np.where(x == 0, zero_point, last))


@pytest.mark.parametrize(
    "shape", [(1, 3136), (64, 3136), (33, 10), (5, 7), (2, 3, 17), (0, 8), (16, 64), (31, 100), (300, 256)]
)
@pytest.mark.parametrize("highest", [127, 255])
def test_linear(shape: tuple[int, ...], highest: int, floats: Make) -> None:
    x, weight = codes(shape, highest), weights((21, shape[-1]))
    scales = np.abs(floats(21)) * np.float32(0.01) + np.float32(0.001)
    bias = floats(21)
    packed = kernels.PackedQuantizedLinear(weight, scales, bias)
    sums = (x.astype(np.int64) - 3) @ weight.T.astype(np.int64)
    q = {**QUANTIZED, "scale": 0.05 * shape[-1] ** 0.5}
    for relu in (False, True):
        expected = requantize(sums, scales, bias, q, relu)
        y = packed.run(x, **q, relu=relu)
        assert y.shape == expected.shape
        assert np.abs(y - expected).max(initial=0) <= 1
        assert (y != expected).sum() <= 1e-3 * y.size
    real = sums * (np.float64(np.float32(0.02)) * scales.astype(np.float64)) + bias
    result = packed.run(x, x_scale=0.02, x_zero_point=3, scale=None)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, real, rtol=1e-5, atol=1e-4)
    result = packed.run(x, x_scale=0.02, x_zero_point=3, scale=None, relu=True)
    np.testing.assert_allclose(result, np.maximum(real, 0), rtol=1e-5, atol=1e-4)


@pytest.mark.skipif(sys.platform != "linux", reason="pages are closed by what Linux's C library has")
@pytest.mark.parametrize("channels", [3, 4, 20, 64, 96, 128])
def test_nothing_before_or_behind_codes_is_read(channels: int) -> None:
    """Their rows begin or end where a page does that nobody may touch: what reads on is ended by the system."""
    images = [(1, 1, 1), (1, 4, 4), (1, 6, 6), (2, 7, 7), (3, 11, 13)]
    for (count, high, wide), kernel, stride, behind in itertools.product(
        images, (1, 3), (1, 2), (True, False)
    ):
        if kernel > high:
            continue
        x, _ = at_the_edge(codes((count, high, wide, channels), 255), behind)
        packed = kernels.PackedQuantizedConv2d(
            weights((40, channels, kernel, kernel)), np.ones(1, np.float32), None, stride=(stride, stride)
        )
        inner = packed.run(x.transpose(0, 3, 1, 2), **QUANTIZED)
        np.testing.assert_array_equal(inner, packed.run(np.array(x).transpose(0, 3, 1, 2), **QUANTIZED))
    layer = kernels.PackedQuantizedLinear(weights((40, channels)), np.ones(1, np.float32), None)
    for rows, behind in itertools.product((1, 4, 5, 15, 16, 17, 31, 32, 33, 300), (True, False)):
        x, _ = at_the_edge(codes((rows, channels), 255), behind)
        np.testing.assert_array_equal(layer.run(x, **QUANTIZED), layer.run(np.array(x), **QUANTIZED))


def test_linear_and_convolution_take_any_layout(floats: Make, lay: Callable[[Any], Any]) -> None:
    weight, scales = weights((4, 5, 3, 3)), np.array([0.01], np.float32)
    x = codes((2, 5, 6, 7), 255)
    packed = kernels.PackedQuantizedConv2d(lay(weight), scales, None, **PLAIN)
    again = kernels.PackedQuantizedConv2d(weight, scales, None, **PLAIN)
    np.testing.assert_array_equal(packed.run(lay(x), **QUANTIZED), again.run(x, **QUANTIZED))
    matrix, rows = weights((9, 12)), codes((8, 12), 255)
    packed_linear = kernels.PackedQuantizedLinear(lay(matrix), scales, None)
    expected = kernels.PackedQuantizedLinear(matrix, scales, None).run(rows, **QUANTIZED)
    np.testing.assert_array_equal(packed_linear.run(lay(rows), **QUANTIZED), expected)


def quantize(x: Floats, scale: Any, zero: Any, low: int, high: int) -> npt.NDArray[np.int64]:
    inverse = np.float32(1) / np.float32(scale)
    value = np.rint(x * inverse + np.float32(zero))
    return np.where(np.isnan(value), high, np.clip(value, low, high)).astype(np.int64)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(np.uint8, 0, 255), (np.uint8, 0, 127), (np.int8, -128, 127)]
)
@pytest.mark.parametrize("scale", [0.1, 1.0, 0.3711])
def test_quantize_and_back(dtype: Any, low: int, high: int, scale: float, floats: Make) -> None:
    ties = np.arange(-600, 601, dtype=np.float32) * np.float32(0.5)
    x = np.concatenate([floats(5000) * 20, ties, np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)])
    kernel = kernels.lookup("quantize_per_tensor")
    for zero in (low, (low + high) // 2, 1):
        assert kernel.accepts(x, scale, zero, low, high, dtype)
        y = kernel.run(x, scale, zero, low, high, dtype)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, quantize(x, scale, zero, low, high))
        back = kernels.lookup("dequantize_per_tensor").run(y, scale, zero)
        np.testing.assert_array_equal(back, (y.astype(np.float32) - np.float32(zero)) * np.float32(scale))


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_per_channel(axis: int, floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x = floats(5, 6, 7, 8) * 5
    scales = np.abs(floats(x.shape[axis])).astype(np.float64) + 0.02
    zeros = np.arange(x.shape[axis]) - 3
    along = tuple(-1 if i == axis else 1 for i in range(4))
    column, zero = scales.reshape(along), zeros.reshape(along)
    y = kernels.lookup("quantize_per_channel").run(lay(x), scales, zeros, axis, -128, 127, np.int8)
    np.testing.assert_array_equal(y, quantize(x, column, zero, -128, 127))
    back = kernels.lookup("dequantize_per_channel").run(lay(y), scales, zeros, axis)
    real = (y.astype(np.float32) - zero.astype(np.float32)) * column.astype(np.float32)
    np.testing.assert_array_equal(back, real)
    codes_ = np.rint(x * (np.float32(1) / column.astype(np.float32))) + zero
    faked = kernels.lookup("fake_quantize_per_channel").run(lay(x), scales, zeros, axis, -20, 20)
    expected = (np.clip(codes_, -20, 20).astype(np.float32) - zero) * column.astype(np.float32)
    np.testing.assert_array_equal(faked, expected.astype(np.float32))
    g = floats(*x.shape)
    gradient = kernels.lookup("fake_quantize_per_channel_gradient").run(
        lay(g), lay(x), scales, zeros, axis, -20, 20
    )
    np.testing.assert_array_equal(gradient, np.where((codes_ >= -20) & (codes_ <= 20), g, 0))


def test_fake_quantize_rounds_before_it_adds_the_zero_point() -> None:
    x = np.array([0.5, 1.5, -0.5, -0.6, 255.4, 255.5, np.nan, np.inf, -np.inf], np.float32)
    y = kernels.lookup("fake_quantize_per_tensor").run(x, 1.0, 1, 0, 255)
    np.testing.assert_array_equal(y, np.array([0, 2, 0, -1, 254, 254, -1, 254, -1], np.float32))
    run = kernels.lookup("fake_quantize_per_tensor_gradient").run
    gradient = run(np.ones(9, np.float32), x, 1.0, 0, 0, 255)
    np.testing.assert_array_equal(gradient, np.array([1, 1, 1, 0, 1, 0, 0, 0, 0], np.float32))


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("shape", [(2, 17, 9), (3, 130, 6, 7), (1, 5, 4, 5, 6)], ids=str)
def test_means_of_windows_of_codes(kind: Any, shape: tuple[int, ...], lay: Callable[[Any], Any]) -> None:
    random = np.random.default_rng(shape)
    x = random.integers(0, 256, shape).astype(np.uint8).view(kind)
    edges = tuple(
        np.array([range(0, size - 1, 2), [min(one + 3, size) for one in range(0, size - 1, 2)]])
        for size in shape[2:]
    )
    check_means(x, edges, kind, lay)
    check_means(x, tuple(np.array([[0], [size]]) for size in shape[2:]), kind, lay)
    # Whole rows of some planes, and nothing.
    check_means(
        x, (*(np.array([[0, 1], [1, 1]]) for _ in shape[3:]), np.array([[0], [shape[-1]]])), kind, lay
    )


def check_means(x: Any, edges: Any, kind: Any, lay: Callable[[Any], Any]) -> None:
    random = np.random.default_rng(x.shape)
    factors = np.float32(1) / random.integers(1, 9, [one.shape[1] for one in edges]).astype(np.float32)
    for zero in (0, 7, -3) if kind is np.int8 else (0, 7, 255):
        found = kernels.lookup("average_codes").run(lay(x), edges, factors, zero)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, average_codes(x, edges, factors, zero))


@pytest.mark.parametrize(
    ("edges", "factors", "message"),
    [
        (([[0], [5]],), np.ones(1), "a window of codes from 0 to 5 does not lie within 4"),
        (([[-1], [2]],), np.ones(1), "a window of codes from -1 to 2"),
        (([[2], [1]],), np.ones(1), "a window of codes from 2 to 1"),
        (([[0, 1]],), np.ones(1), "a beginning and an end each"),
        (([[0], [2]],), np.ones(2), r"factors of means have shape \[2\]; expected \[1\]"),
        ((), np.ones(()), r"of \[1, 2, 4\] with 0"),
    ],
)
def test_windows_that_are_refused(edges: Any, factors: Any, message: str) -> None:
    windows = tuple(np.array(one) for one in edges)
    with pytest.raises(ValueError, match=message):
        kernels.lookup("average_codes").run(codes((1, 2, 4), 9), windows, factors.astype(np.float32), 0)


def test_quantized_max_pool(lay: Callable[[Any], Any]) -> None:
    x = codes((2, 17, 8, 9), 255)
    p = {"kernel": (3, 2), "stride": (2, 2), "padding": (1, 0), "dilation": (1, 1)}
    expected, _ = kernels.lookup("max_pool2d").run(x.astype(np.float32), **p)
    np.testing.assert_array_equal(kernels.lookup("quantized_max_pool2d").run(lay(x), **p), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_scale": 0.0}, "input scale is 0.000000; it must be positive"),
        ({"scale": -1.0}, "output scale is -1.000000; it must be positive"),
        ({"x_zero_point": 256}, "input zero point is 256; it must be 0 to 255"),
        ({"zero_point": -1}, "output zero point is -1"),
    ],
)
def test_refused_quantization(change: dict[str, Any], message: str) -> None:
    packed = kernels.PackedQuantizedConv2d(weights((4, 3, 3, 3)), np.ones(1, np.float32), None)
    with pytest.raises(ValueError, match=message):
        packed.run(codes((1, 3, 5, 5), 255), **{**QUANTIZED, **change})


def test_refused_shapes(floats: Make) -> None:
    scale = np.ones(1, np.float32)
    packed = kernels.PackedQuantizedConv2d(weights((4, 3, 3, 3)), scale, None)
    with pytest.raises(ValueError, match=r"input has shape \[1, 2, 5, 5\]; expected \[N, 3, H, W\]"):
        packed.run(codes((1, 2, 5, 5), 255), **QUANTIZED)
    with pytest.raises(ValueError, match="does not fit an input of 2"):
        packed.run(codes((1, 3, 2, 5), 255), **QUANTIZED)
    with pytest.raises(ValueError, match=r"weight scales have shape \[3\]; expected \[1\] or \[4\]"):
        kernels.PackedQuantizedConv2d(weights((4, 3, 3, 3)), np.ones(3, np.float32), None)
    with pytest.raises(ValueError, match="weight scales must be positive and finite"):
        kernels.PackedQuantizedLinear(weights((4, 3)), np.array([np.nan], np.float32), None)
    with pytest.raises(ValueError, match=r"quantized bias has shape \[3\]; expected \[4\]"):
        kernels.PackedQuantizedLinear(weights((4, 3)), scale, floats(3))
    with pytest.raises(ValueError, match="codes from 0 to 256 do not fit"):
        kernels.lookup("quantize_per_tensor").run(floats(3), 1.0, 0, 0, 256, np.uint8)
    with pytest.raises(
        ValueError, match=r"quantization has \[2\] scales and \[2\] zero points; expected \[3\]"
    ):
        kernels.lookup("quantize_per_channel").run(floats(3, 4), [1.0, 2.0], [0, 0], 0, 0, 255, np.uint8)
