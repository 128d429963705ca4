"""Products and convolutions of bfloat16 by the processor's own instructions; `test_bfloat16` judges their layouts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.implementations import is_of_bfloat16
from tests.kernels.judge import threads
from tests.kernels.test_convolution import GEOMETRIES, forward, input_gradient, weight_gradient
from workbench import kernels
from workbench.core.op import ops
from workbench.kernels import convolution, processor
from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(
    not processor.multiplies_bfloat16(), reason="this processor has no instructions for bfloat16"
)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
Make = Callable[..., Any]


def close(found: Any, expected: Any) -> None:
    """Off by a rounding to bfloat16, and by what sums in float32 are off."""
    assert found.dtype == BFLOAT16
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=1.01 * 2.0**-8, atol=2e-5 * scale)


def halves(*arrays: Any) -> list[Any]:
    return [one.astype(BFLOAT16) for one in arrays]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((64, 313), (313, 128)), ((1, 128), (128, 10)), ((5, 1), (1, 3)), ((7, 13), (13, 1)),
        ((5, 0), (0, 3)), ((0, 4), (4, 3)),
        ((6, 5, 40), (6, 40, 9)), ((2, 3, 5, 40), (2, 3, 40, 9)), ((2, 1, 5, 40), (3, 40, 9)), ((5, 40), (4, 40, 9)),
        ((1, 7, 8, 40), (6, 1, 40, 9)), ((3, 0, 4), (3, 4, 5)), ((3, 2, 0), (3, 0, 5)), ((4, 6, 8), (8, 5)),
        ((1, 1, 40), (1, 40, 1)), ((4, 1, 40), (4, 40, 6)),
    ],
)  # fmt: skip
def test_products(left: tuple[int, ...], right: tuple[int, ...], floats: Make) -> None:
    a, b = halves(floats(*left), floats(*right))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    run = kernels.lookup_half("matmul").run
    close(run(a, b), expected)
    turned_a, turned_b = (np.ascontiguousarray(one.swapaxes(-1, -2)).swapaxes(-1, -2) for one in (a, b))
    close(run(turned_a, turned_b), expected)
    close(run(turned_a, b), expected)


def test_operands_that_are_both_stretched_over_a_batch(floats: Make) -> None:
    a, b = halves(floats(1, 6, 40), floats(1, 40, 9))
    expected = np.broadcast_to(a.astype(np.float64) @ b.astype(np.float64), (4, 6, 9))
    run = kernels.lookup_half("matmul").run
    close(run(np.broadcast_to(a, (4, 6, 40)), np.broadcast_to(b, (4, 40, 9))), expected)
    close(run(np.broadcast_to(a[:, :1], (4, 6, 40)), b), np.broadcast_to(expected[:, :1], (4, 6, 9)))


@pytest.mark.parametrize("shape", [(64, 48), (2, 3, 5, 48), (48,), (3, 0), (0, 48)])
def test_linear(shape: tuple[int, ...], floats: Make) -> None:
    x, weight, bias = halves(floats(*shape), floats(20, shape[-1]), floats(20))
    wide = [one.astype(np.float64) for one in (x, weight, bias)]
    expected = wide[0] @ wide[1].T
    run = kernels.lookup_half("linear").run
    close(run(x, weight), expected)
    close(run(x, weight, bias), expected + wide[2])
    close(run(x, weight, bias[::-1], relu=True), np.maximum(expected + wide[2][::-1], 0))
    close(run(np.repeat(x, 2, axis=-1)[..., ::2], weight[::-1], bias), expected[..., ::-1] + wide[2])


def test_refusals(floats: Make) -> None:
    run = kernels.lookup_half("matmul").run
    with pytest.raises(ValueError, match=r"matmul of \[2, 3\] and \[4, 5\]: the inner sizes differ"):
        run(*halves(floats(2, 3), floats(4, 5)))
    with pytest.raises(ValueError, match="the batch sizes differ"):
        run(*halves(floats(2, 3, 4), floats(3, 4, 5)))
    with pytest.raises(ValueError, match=r"linear bias has shape \[3\]; expected \[4\]"):
        kernels.lookup_half("linear").run(*halves(floats(2, 5), floats(4, 5), floats(3)))


def test_infinities_and_nan_pass_through(floats: Make) -> None:
    a, b = floats(40, 50), floats(50, 60)
    a[3, 4], a[5, 6], b[7, 8] = np.inf, np.nan, -np.inf
    (x, y) = halves(a, b)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float64) @ y.astype(np.float64)
    found = kernels.lookup_half("matmul").run(x, y).astype(np.float64)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


@pytest.mark.parametrize(("input_shape", "weight_shape", "p"), GEOMETRIES)
def test_convolutions_and_their_gradients(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], p: dict[str, Any], floats: Make
) -> None:
    x, weight, bias = halves(floats(*input_shape), floats(*weight_shape), floats(weight_shape[0]))
    wide = [one.astype(np.float32) for one in (x, weight, bias)]
    kernel = kernels.lookup_half("conv2d")
    assert kernel is not None and kernel.accepts(x, weight, bias, **p)
    y = kernel.run(x, weight, bias, **p)
    close(y, forward(*wide, p))
    close(kernel.run(x, weight, None, **p), forward(*wide[:2], None, p))
    close(kernel.run(x, weight, bias, **p, relu=True), np.maximum(forward(*wide, p), 0))
    (g,) = halves(floats(*y.shape))
    gx = kernels.lookup_half("conv2d_input_gradient").run(g, weight, input_shape=x.shape, **p)
    close(gx, input_gradient(g.astype(np.float32), wide[1], x.shape, p))
    gw = kernels.lookup_half("conv2d_weight_gradient").run(g, x, weight_shape=weight.shape, **p)
    assert gw.flags.c_contiguous
    close(gw, weight_gradient(g.astype(np.float32), wide[0], weight.shape, p))


def test_weight_gradients_of_few_and_of_many_places(floats: Make) -> None:
    """Two ways to compute the same: which one is taken goes by the number of places of the output."""
    for images in (1, 28, 29, 60):
        p = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 1}
        x, g = halves(floats(images, 20, 5, 3), floats(images, 24, 3, 3))
        found = kernels.lookup_half("conv2d_weight_gradient").run(g, x, weight_shape=(24, 20, 3, 3), **p)
        close(found, weight_gradient(g.astype(np.float32), x.astype(np.float32), (24, 20, 3, 3), p))


_FEW = [
    ((1, 20, 2, 2), (24, 20, 3, 3), {"padding": (1, 1)}),
    ((2, 9, 5, 3), (48, 9, 3, 2), {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}),
    ((3, 17, 3, 2), (64, 17, 1, 1), {"stride": (2, 2)}),
    ((2, 5, 4, 4), (36, 5, 2, 2), {"stride": (3, 3)}),  # places that no window sees
    ((2, 20, 2, 2), (40, 20, 3, 3), {"stride": (2, 2), "padding": (1, 1)}),  # taps that see only padding
    ((32, 96, 1, 1), (128, 96, 3, 3), {"padding": (1, 1)}),  # all of them but one
    ((1, 30, 1, 3), (27, 30, 3, 3), {"padding": (1, 1)}),
    ((2, 6, 2, 3, 2), (70, 6, 2, 3, 1), {"padding": (1, 1, 0)}),
]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("input_shape", "weight_shape", "given"), _FEW)
def test_convolutions_where_there_are_fewer_places_than_channels(
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    given: dict[str, Any],
    count: int,
    floats: Make,
) -> None:
    n = len(input_shape) - 2
    p = {"stride": (1,) * n, "padding": (0,) * n, "dilation": (1,) * n, "groups": 1, **given}
    x, weight, bias = halves(floats(*input_shape), floats(*weight_shape), floats(weight_shape[0]))
    wide = [one.astype(np.float64) for one in (x, weight, bias)]
    for biases in (0, 1):
        y = getattr(ops, f"conv{n}d").forward(*wide[: 2 + biases], **p)
        added = bias if biases else None
        with threads(count):
            run = kernels.lookup_half(f"conv{n}d").run
            close(run(x, weight, added, **p), y)
            close(run(x, weight, added, **p, relu=True), np.maximum(y, 0))
    (g,) = halves(floats(*y.shape))
    for part, other, shape in (("input", weight, "input_shape"), ("weight", x, "weight_shape")):
        name, params = (
            f"conv{n}d_{part}_gradient",
            {**p, shape: input_shape if part == "input" else weight_shape},
        )
        expected = getattr(ops, name).forward(g.astype(np.float64), other.astype(np.float64), **params)
        with threads(count):
            close(kernels.lookup_half(name).run(g, other, **params), expected)


def test_taps_that_see_only_padding_are_not_multiplied(floats: Make) -> None:
    """Windows over one pixel have one tap that counts: what stands in the others is not met."""
    p = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    x, weight = halves(floats(4, 24, 1, 1), floats(40, 24, 3, 3))
    damaged = np.full_like(weight, np.inf)
    damaged[:, :, 1, 1] = weight[:, :, 1, 1]
    y = kernels.lookup_half("conv2d").run(x, damaged, None, **p)
    close(y[..., 0, 0], x[..., 0, 0].astype(np.float64) @ weight[:, :, 1, 1].astype(np.float64).T)
    gx = kernels.lookup_half("conv2d_input_gradient").run(y, damaged, input_shape=x.shape, **p)
    close(gx[..., 0, 0], y[..., 0, 0].astype(np.float64) @ weight[:, :, 1, 1].astype(np.float64))


def test_an_infinite_gradient_stays_at_the_places_that_it_reaches(floats: Make) -> None:
    p = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    weight, g = halves(floats(32, 8, 3, 3), floats(2, 32, 2, 2))
    g[0, 3, 0, 0] = np.inf
    found = kernels.lookup_half("conv2d_input_gradient").run(g, weight, input_shape=(2, 8, 4, 4), **p)
    reached = np.zeros((2, 8, 4, 4), bool)
    reached[0, :, :2, :2] = True
    np.testing.assert_array_equal(~np.isfinite(found.astype(np.float32)), reached)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 4])
def test_weight_gradients_by_several_threads_are_sums_over_their_images(
    count: int, groups: int, floats: Make
) -> None:
    p = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": groups}
    x, g = halves(floats(7, 32, 20, 20), floats(7, 36, 20, 20))
    shape = (36, 32 // groups, 3, 3)
    with threads(count):
        found = kernels.lookup_half("conv2d_weight_gradient").run(g, x, weight_shape=shape, **p)
    close(found, weight_gradient(g.astype(np.float32), x.astype(np.float32), shape, p))


@pytest.mark.parametrize("part", ["forward", "input_gradient", "weight_gradient"])
@pytest.mark.parametrize(
    ("channels", "filters", "size", "kernel", "stride"),
    [(3, 64, 32, 7, 2), (64, 64, 8, 3, 1), (64, 128, 8, 1, 2), (128, 256, 4, 3, 2), (512, 512, 1, 3, 1),
     (1, 32, 28, 3, 1)],
)  # fmt: skip
def test_convolutions_never_fall_to_reference_code(
    part: str, channels: int, filters: int, size: int, kernel: int, stride: int
) -> None:
    name = convolution.implementation(
        part,
        input_shape=(32, channels, size, size),
        weight_shape=(filters, channels, kernel, kernel),
        stride=(stride, stride),
        padding=(kernel // 2, kernel // 2),
        half=True,
    )
    assert is_of_bfloat16(name), name


@pytest.mark.parametrize(
    ("images", "channels", "size", "by_windows"),
    [(32, 512, 1, True), (32, 256, 2, True), (32, 128, 4, False), (33, 256, 2, False)],
)
def test_where_places_are_few_windows_are_written_out(
    images: int, channels: int, size: int, by_windows: bool
) -> None:
    shapes = {"input_shape": (images, channels, size, size), "weight_shape": (channels, channels, 3, 3)}
    for part in ("forward", "input_gradient"):
        name = convolution.implementation(part, **shapes, padding=(1, 1), half=True)  # type: ignore[arg-type]
        assert (name == "windows:bf16") is by_windows, (part, name)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("left", "right"),
    [((64, 784), (784, 512)), ((2048, 256), (256, 1)), ((8, 12, 128, 32), (8, 12, 32, 128)), ((3, 5), (5, 7))],
)  # fmt: skip
def test_products_never_fall_to_reference_code(
    left: tuple[int, ...], right: tuple[int, ...], turned: tuple[bool, bool]
) -> None:
    operands = [np.ones(shape, BFLOAT16) for shape in (left, right)]
    a, b = (
        np.ascontiguousarray(one.swapaxes(-1, -2)).swapaxes(-1, -2) if turn else one
        for one, turn in zip(operands, turned, strict=True)
    )
    name = native.bfloat16.matmul_implementation(a, b)
    assert is_of_bfloat16(name), name


def test_where_the_processor_has_no_such_instructions_floats_are_multiplied(floats: Make) -> None:
    x, weight = halves(floats(512, 512), floats(512, 512))
    image, kernel = halves(floats(2, 8, 9, 9), floats(4, 8, 3, 3))
    p = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    calls = {"matmul": ((x, weight), {}), "linear": ((x, weight), {}), "conv2d": ((image, kernel), p)}
    for name, (arrays, params) in calls.items():
        half = kernels.lookup_half(name)
        assert half is not None and half.accepts(*arrays, **params)
        with mock.patch.object(processor, "BFLOAT16_PRODUCTS", "float32"):
            assert not half.accepts(*arrays, **params)


def test_small_products_need_nothing_made_for_their_sizes(floats: Make) -> None:
    half = kernels.lookup_half("matmul")
    assert half is not None and half.accepts(*halves(floats(64, 128), floats(128, 64)))
    assert not half.accepts(*halves(floats(63, 128), floats(128, 64)))
    assert half.accepts(*halves(floats(16, 1, 64, 16), floats(8, 16, 64)))


@pytest.mark.parametrize(
    ("variable", "value"), [("WORKBENCH_KERNELS_ISA", "avx2"), ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")]
)
def test_the_environment_may_forbid_them(variable: str, value: str) -> None:
    """The same numbers come out, by way of float32."""
    script = (
        "import workbench as wb; from workbench import kernels\n"
        "x = wb.arange(256 * 300).reshape(256, 300).remainder(7).bfloat16()\n"
        "print(kernels.info()['bfloat16_products'], float((x @ x.t()).float().sum()))"
    )
    told = {**os.environ, variable: value}
    lines = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=one)
        for one in (told, dict(os.environ))
    ]
    (forbidden, other), (allowed, same) = (one.stdout.split() for one in lines)
    assert forbidden == "float32" and allowed == processor.BFLOAT16_PRODUCTS and other == same
