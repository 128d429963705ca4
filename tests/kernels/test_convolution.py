from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels
from workbench.kernels import convolution
from workbench.ops.nn.conv.convolution_ops import CONV3D, CONV3D_INPUT_GRADIENT, CONV3D_WEIGHT_GRADIENT

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]

PLAIN = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
GEOMETRIES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 1, 9, 8), (32, 1, 3, 3), PLAIN),
    ((2, 3, 9, 8), (5, 3, 3, 3), PLAIN),
    ((3, 5, 7, 7), (17, 5, 1, 1), {**PLAIN, "padding": (0, 0)}),
    ((1, 17, 10, 11), (8, 17, 3, 2), {**PLAIN, "stride": (2, 3), "padding": (2, 1)}),
    ((2, 8, 12, 12), (16, 8, 3, 3), {**PLAIN, "dilation": (2, 1), "padding": (2, 0)}),
    ((2, 8, 6, 6), (8, 2, 3, 3), {**PLAIN, "groups": 4}),
    ((2, 6, 6, 6), (12, 1, 3, 3), {**PLAIN, "groups": 6}),
    ((2, 32, 14, 14), (64, 32, 3, 3), PLAIN),
    # Groups that fit a register, our own code: of one, two, four and eight channels, in steps and with gaps,
    # with rows of less than eight places and with more rows and columns than are worked on together.
    ((2, 17, 9, 21), (17, 1, 3, 3), {**PLAIN, "groups": 17}),
    ((2, 40, 7, 7), (40, 1, 7, 7), {**PLAIN, "padding": (3, 3), "groups": 40}),
    ((1, 12, 9, 10), (12, 2, 3, 5), {**PLAIN, "stride": (2, 3), "padding": (0, 2), "groups": 6}),
    ((2, 20, 5, 12), (20, 4, 3, 3), {**PLAIN, "stride": (2, 2), "groups": 5}),
    (
        (2, 32, 12, 11),
        (32, 8, 2, 3),
        {**PLAIN, "stride": (3, 1), "dilation": (1, 2), "padding": (2, 3), "groups": 4},
    ),
    ((1, 8, 70, 300), (8, 1, 5, 3), {**PLAIN, "padding": (2, 1), "groups": 8}),
    ((2, 2056, 1, 75), (2056, 1, 1, 4), {**PLAIN, "stride": (1, 2), "padding": (0, 3), "groups": 2056}),
    # Groups of more channels, each in a plane of its own: of whole registers and not, as many outputs as inputs and
    # not, rows by one place, by some, by two or four at once and by stretches, in steps, with gaps, and cut into bands.
    ((2, 64, 14, 14), (64, 16, 3, 3), {**PLAIN, "groups": 4}),
    ((1, 96, 7, 29), (96, 32, 3, 3), {**PLAIN, "groups": 3}),
    ((2, 128, 5, 5), (128, 64, 3, 3), {**PLAIN, "stride": (2, 2), "groups": 2}),
    ((3, 48, 9, 8), (20, 24, 3, 5), {**PLAIN, "stride": (2, 3), "padding": (0, 2), "groups": 2}),
    ((2, 24, 6, 3), (96, 8, 3, 2), {**PLAIN, "dilation": (2, 1), "groups": 3}),
    ((2, 80, 3, 1), (40, 40, 2, 1), {**PLAIN, "stride": (1, 4), "padding": (1, 0), "groups": 2}),
    ((1, 32, 70, 300), (32, 16, 3, 3), {**PLAIN, "groups": 2}),
    ((2, 1024, 1, 75), (2048, 32, 1, 4), {**PLAIN, "stride": (1, 2), "padding": (0, 3), "groups": 32}),
    ((3, 32, 1, 1), (48, 16, 3, 3), {**PLAIN, "groups": 2}),
    # Taps in runs: as far apart as places or not, of other numbers, and in rows of other lengths.
    ((2, 32, 9, 28), (32, 16, 3, 3), {**PLAIN, "stride": (1, 2), "groups": 2}),
    ((2, 32, 7, 17), (64, 16, 5, 5), {**PLAIN, "padding": (2, 2), "groups": 2}),
    ((1, 64, 6, 9), (64, 32, 5, 3), {**PLAIN, "padding": (2, 1), "groups": 2}),
    ((1, 64, 5, 14), (64, 32, 3, 3), {**PLAIN, "dilation": (1, 2), "groups": 2}),
    ((2, 64, 4, 8), (40, 32, 3, 3), {**PLAIN, "groups": 2}),
    ((2, 16, 5, 11), (24, 8, 3, 3), {**PLAIN, "groups": 2}),
    ((2, 32, 6, 7), (32, 16, 3, 7), {**PLAIN, "padding": (1, 3), "groups": 2}),
    # Inputs of few channels, our own code for their gradient: outputs that fill registers or not, rows of less and more
    # places than are worked on together, in steps and with gaps, and places that no window or not every tap reaches.
    ((2, 1, 28, 28), (16, 1, 3, 3), PLAIN),
    ((2, 2, 9, 31), (17, 2, 3, 5), {**PLAIN, "padding": (0, 4)}),
    ((1, 3, 23, 26), (64, 3, 7, 7), {**PLAIN, "stride": (2, 2), "padding": (3, 3)}),
    ((2, 4, 5, 3), (8, 4, 2, 2), {**PLAIN, "padding": (0, 0)}),
    ((1, 3, 14, 19), (21, 3, 3, 3), {**PLAIN, "stride": (3, 5), "padding": (2, 1), "dilation": (2, 3)}),
    ((3, 1, 1, 40), (12, 1, 1, 5), {**PLAIN, "stride": (1, 3), "padding": (0, 2)}),
    ((1, 4, 7, 12), (40, 4, 3, 3), {**PLAIN, "stride": (4, 4), "padding": (0, 0)}),
    ((2, 3, 2, 2), (9, 3, 5, 5), {**PLAIN, "stride": (3, 3), "padding": (4, 4)}),
    # Taps that meet nothing but padding: all but one; in front, behind and between; more than oneDNN leaves out; all.
    ((3, 16, 1, 1), (32, 16, 3, 3), PLAIN),
    ((2, 4, 1, 6), (6, 2, 4, 5), {**PLAIN, "stride": (2, 1), "padding": (2, 4), "groups": 2}),
    ((2, 3, 2, 2), (5, 3, 5, 5), {**PLAIN, "stride": (3, 3), "padding": (4, 4)}),
    ((2, 2, 3, 3), (1, 2, 3, 1), {**PLAIN, "stride": (1, 3), "padding": (2, 3), "dilation": (3, 1)}),
    ((1, 2, 1, 1), (3, 2, 2, 2), {**PLAIN, "dilation": (2, 2)}),
]


def windows(x: npt.NDArray[Any], weight_shape: tuple[int, ...], p: dict[str, Any]) -> npt.NDArray[Any]:
    """Every patch that the kernel sees, [N, C, OH, OW, KH, KW], as a copy in float64."""
    (sh, sw), (ph, pw), (dh, dw) = p["stride"], p["padding"], p["dilation"]
    kh, kw = weight_shape[2:]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    out_h = (padded.shape[2] - dh * (kh - 1) - 1) // sh + 1
    out_w = (padded.shape[3] - dw * (kw - 1) - 1) // sw + 1
    rows = np.arange(out_h)[:, None] * sh + np.arange(kh) * dh
    columns = np.arange(out_w)[:, None] * sw + np.arange(kw) * dw
    return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]


def by_group(array: npt.NDArray[Any], groups: int, axis: int) -> npt.NDArray[Any]:
    shape = array.shape
    return array.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])


def forward(x: Floats, weight: Floats, bias: Floats | None, p: dict[str, Any]) -> npt.NDArray[Any]:
    patches = by_group(windows(x, weight.shape, p), p["groups"], 1)
    filters = by_group(weight.astype(np.float64), p["groups"], 0)
    out = np.einsum("ngchwyx,gocyx->ngohw", patches, filters)
    out = out.reshape(x.shape[0], weight.shape[0], *out.shape[3:])
    return out if bias is None else out + bias[:, None, None]


def weight_gradient(g: Floats, x: Floats, shape: tuple[int, ...], p: dict[str, Any]) -> npt.NDArray[Any]:
    patches = by_group(windows(x, shape, p), p["groups"], 1)
    return np.einsum("ngchwyx,ngohw->gocyx", patches, by_group(g.astype(np.float64), p["groups"], 1)).reshape(
        shape
    )


def input_gradient(g: Floats, weight: Floats, shape: tuple[int, ...], p: dict[str, Any]) -> npt.NDArray[Any]:
    """Number every input element, let patches carry the numbers, and add each share where it belongs."""
    marks = windows(np.arange(1, np.prod(shape) + 1).reshape(shape), weight.shape, p).astype(np.int64)
    filters = by_group(weight.astype(np.float64), p["groups"], 0)
    shares = np.einsum("ngohw,gocyx->ngchwyx", by_group(g.astype(np.float64), p["groups"], 1), filters)
    total = np.bincount(marks.ravel(), shares.ravel(), minlength=int(np.prod(shape)) + 1)
    return total[1:].reshape(shape)


def assert_close(ours: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert ours.dtype == np.float32
    np.testing.assert_allclose(
        ours, expected, rtol=2e-5, atol=2e-5 * max(1.0, float(np.abs(expected).max(initial=0)))
    )


def is_channels_last(array: npt.NDArray[Any]) -> bool:
    return bool(np.moveaxis(array, 1, -1).flags.c_contiguous)


@pytest.mark.parametrize(("input_shape", "weight_shape", "p"), GEOMETRIES)
def test_forward_and_both_gradients(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], p: dict[str, Any], floats: Make
) -> None:
    x, weight, bias = floats(*input_shape), floats(*weight_shape), floats(weight_shape[0])
    kernel = kernels.lookup("conv2d")
    assert kernel is not None
    assert kernel.accepts(x, weight, bias, **p)
    y = kernel.run(x, weight, bias, **p)
    assert is_channels_last(y)
    assert_close(y, forward(x, weight, bias, p))
    assert_close(kernel.run(x, weight, None, **p), forward(x, weight, None, p))
    assert_close(kernel.run(x, weight, bias, **p, relu=True), np.maximum(forward(x, weight, bias, p), 0))
    g = floats(*y.shape)
    gx = kernels.lookup("conv2d_input_gradient").run(g, weight, input_shape=x.shape, **p)
    assert is_channels_last(gx)
    assert_close(gx, input_gradient(g, weight, x.shape, p))
    gw = kernels.lookup("conv2d_weight_gradient").run(g, x, weight_shape=weight.shape, **p)
    assert gw.flags.c_contiguous
    assert_close(gw, weight_gradient(g, x, weight.shape, p))


def test_any_layout(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x, weight, bias = floats(2, 5, 6, 7), floats(4, 5, 3, 3), floats(4)
    y = kernels.lookup("conv2d").run(lay(x), lay(weight), bias[::-1], **PLAIN)
    assert_close(y, forward(x, weight, bias[::-1], PLAIN))
    g = floats(*y.shape)
    gx = kernels.lookup("conv2d_input_gradient").run(lay(g), lay(weight), input_shape=x.shape, **PLAIN)
    assert_close(gx, input_gradient(g, weight, x.shape, PLAIN))
    gw = kernels.lookup("conv2d_weight_gradient").run(lay(g), lay(x), weight_shape=weight.shape, **PLAIN)
    assert_close(gw, weight_gradient(g, x, weight.shape, PLAIN))


def test_changed_weights_are_seen(floats: Make) -> None:
    x, weight = floats(2, 8, 6, 6), floats(8, 8, 3, 3)
    run = kernels.lookup("conv2d").run
    first = run(x, weight, None, **PLAIN)
    weight *= 2
    np.testing.assert_allclose(run(x, weight, None, **PLAIN), 2 * first, rtol=1e-6)


def test_packed_keeps_its_weights_and_serves_other_sizes(floats: Make) -> None:
    weight, bias = floats(8, 4, 3, 3), floats(8)
    packed = kernels.pack_conv2d(weight, bias, padding=(1, 1))
    before = weight.copy()
    weight[:] = 0
    for shape in [(1, 4, 6, 6), (3, 4, 9, 7), (0, 4, 6, 6), (1, 4, 6, 6)]:
        x = floats(*shape)
        expected = forward(x, before, bias, PLAIN)
        assert_close(packed.run(x), expected)
        assert_close(packed.run(x, relu=True), np.maximum(expected, 0))
        high, wide = expected.shape[2] // 2, expected.shape[3] // 2
        tiles = expected[:, :, : 2 * high, : 2 * wide].reshape(*expected.shape[:2], high, 2, wide, 2)
        assert_close(packed.run(x, pool=(2, 2)), tiles.max(axis=(3, 5)))


def test_packed_leaves_out_other_taps_for_other_sizes(floats: Make) -> None:
    weight = floats(8, 4, 3, 2)
    way = {**PLAIN, "stride": (1, 3), "padding": (1, 2)}
    packed = kernels.pack_conv2d(weight, None, stride=(1, 3), padding=(1, 2))
    for high, wide in [
        (1, 1),
        (1, 2),
        (4, 2),
        (2, 1),
        (1, 1),
    ]:  # widths 1 and 2 have one tap each, not the same
        x = floats(2, 4, high, wide)
        assert_close(packed.run(x), forward(x, weight, None, way))


def test_nothing_is_kept_between_calls(floats: Make) -> None:
    def resident() -> int:
        kernels.release_memory()
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE

    x, weight = floats(1, 1000, 2, 2), floats(1000, 1000, 3, 3)
    before = resident()
    g = kernels.lookup("conv2d").run(x, weight, None, **PLAIN)
    kernels.lookup("conv2d_input_gradient").run(g, weight, input_shape=x.shape, **PLAIN)
    kernels.lookup("conv2d_weight_gradient").run(g, x, weight_shape=weight.shape, **PLAIN)
    assert resident() - before < weight.nbytes // 2, (
        "a weight in oneDNN's own order, or its gradient, is still there"
    )


def test_of_few_channels_what_is_infinite_reaches_its_places_alone(floats: Make) -> None:
    weight, g = floats(12, 3, 3, 3), floats(1, 12, 6, 9)
    weight[weight == 0] = 1
    g[0, 5, 2, 4] = np.inf
    back = kernels.lookup("conv2d_input_gradient").run
    gx = back(g, weight, input_shape=(1, 3, 6, 9), **PLAIN)
    reached = np.zeros((1, 3, 6, 9), bool)
    reached[:, :, 1:4, 3:6] = True
    np.testing.assert_array_equal(np.isinf(gx), reached)
    assert not np.isnan(gx).any()


def test_no_samples(floats: Make) -> None:
    weight = floats(4, 3, 3, 3)
    y = kernels.lookup("conv2d").run(floats(0, 3, 8, 8), weight, None, **PLAIN)
    assert y.shape == (0, 4, 8, 8)
    gw = kernels.lookup("conv2d_weight_gradient").run(
        y, floats(0, 3, 8, 8), weight_shape=weight.shape, **PLAIN
    )
    assert gw.shape == weight.shape
    assert not gw.any()


@pytest.mark.parametrize("part", ["forward", "input_gradient", "weight_gradient"])
@pytest.mark.parametrize(
    ("input_shape", "weight_shape"), [((64, 1, 28, 28), (32, 1, 3, 3)), ((64, 32, 14, 14), (64, 32, 3, 3))]
)
def test_main_shapes_do_not_fall_to_reference_code(
    part: str, input_shape: tuple[int, ...], weight_shape: tuple[int, ...]
) -> None:
    name = convolution.implementation(
        part, input_shape=input_shape, weight_shape=weight_shape, padding=(1, 1)
    )
    assert not name.startswith("ref")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": (2, 3, 8)}, r"conv2d input has shape \[2, 3, 8\]; expected \[N, C, H, W\]"),
        ({"x": (2, 4, 8, 8)}, "has 4 channels, but weight"),
        ({"weight": (4, 3, 3)}, r"conv2d weight has shape \[4, 3, 3\]"),
        ({"bias": (5,)}, r"conv2d bias has shape \[5\]; expected \[4\]"),
        ({"groups": 2}, "groups is 2; it must divide 3 input"),
        ({"groups": 0}, "groups is 0"),
        ({"stride": (0, 1)}, "height: stride 0"),
        ({"padding": (1, -1)}, "width: stride 1, padding -1"),
        ({"dilation": (9, 1)}, "the kernel covers 19, more than the padded input's 10"),
    ],
)
def test_refusals(change: dict[str, Any], message: str, floats: Make) -> None:
    shapes = {"x": (2, 3, 8, 8), "weight": (4, 3, 3, 3), "bias": (4,)}
    arrays = {name: floats(*change.get(name, shape)) for name, shape in shapes.items()}
    params = {**PLAIN, **{key: value for key, value in change.items() if key not in shapes}}
    with pytest.raises(ValueError, match=message):
        kernels.lookup("conv2d").run(arrays["x"], arrays["weight"], arrays["bias"], **params)


def test_gradients_refuse_a_wrong_output_gradient(floats: Make) -> None:
    message = r"conv2d output gradient has shape \[2, 4, 7, 8\]; expected \[2, 4, 8, 8\]"
    with pytest.raises(ValueError, match=message):
        kernels.lookup("conv2d_input_gradient").run(
            floats(2, 4, 7, 8), floats(4, 3, 3, 3), input_shape=(2, 3, 8, 8), **PLAIN
        )
    with pytest.raises(ValueError, match=message):
        kernels.lookup("conv2d_weight_gradient").run(
            floats(2, 4, 7, 8), floats(2, 3, 8, 8), weight_shape=(4, 3, 3, 3), **PLAIN
        )


def test_accepts_only_four_dimensional_float32(floats: Make) -> None:
    accepts = kernels.lookup("conv2d").accepts
    x, weight = floats(2, 3, 8, 8), floats(4, 3, 3, 3)
    assert accepts(x, weight, None)
    assert not accepts(x.astype(np.float64), weight, None)
    assert not accepts(x[0], weight, None)
    assert not accepts(x, weight.astype(np.float64), None)
    assert not accepts(2.0, weight, None)


CUBE = {"stride": (1, 1, 1), "padding": (1, 1, 1), "dilation": (1, 1, 1), "groups": 1}
VOLUMES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5, 6, 7), (8, 3, 3, 3, 3), CUBE),
    ((1, 16, 4, 9, 8), (32, 16, 3, 3, 3), CUBE),
    ((2, 5, 6, 7, 9), (7, 5, 1, 2, 3), {**CUBE, "stride": (2, 1, 3), "padding": (0, 1, 2)}),
    ((3, 8, 4, 4, 4), (16, 8, 1, 1, 1), {**CUBE, "padding": (0, 0, 0)}),
    ((2, 4, 1, 2, 1), (8, 4, 3, 3, 3), CUBE),  # taps that meet nothing but padding
]


@pytest.mark.parametrize(("input_shape", "weight_shape", "p"), VOLUMES)
def test_volumes(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], p: dict[str, Any], floats: Make
) -> None:
    x, weight, bias = floats(*input_shape), floats(*weight_shape), floats(weight_shape[0])
    exact_x, exact_weight, exact_bias = (one.astype(np.float64) for one in (x, weight, bias))
    kernel = kernels.lookup("conv3d")
    assert kernel.accepts(x, weight, bias, **p)
    y = kernel.run(x, weight, bias, **p)
    assert is_channels_last(y)
    assert_close(y, CONV3D.forward(exact_x, exact_weight, exact_bias, **p))
    g = floats(*y.shape)
    exact_g = g.astype(np.float64)
    gx = kernels.lookup("conv3d_input_gradient").run(g, weight, input_shape=x.shape, **p)
    assert_close(gx, CONV3D_INPUT_GRADIENT.forward(exact_g, exact_weight, input_shape=x.shape, **p))
    gw = kernels.lookup("conv3d_weight_gradient").run(g, x, weight_shape=weight.shape, **p)
    assert_close(gw, CONV3D_WEIGHT_GRADIENT.forward(exact_g, exact_x, weight_shape=weight.shape, **p))
    for part in ("forward", "input_gradient", "weight_gradient"):
        name = convolution.implementation(part, input_shape=input_shape, weight_shape=weight_shape, **p)
        assert not name.startswith("ref"), part


def test_volumes_that_onednn_has_no_code_for_are_left_to_numpy(floats: Make) -> None:
    x, weight = floats(1, 4, 5, 5, 5), floats(4, 2, 3, 3, 3)
    assert not kernels.lookup("conv3d").accepts(x, weight, None, **{**CUBE, "groups": 2})
    assert not kernels.lookup("conv3d").accepts(x, weight, None, **{**CUBE, "dilation": (1, 2, 1)})
    with pytest.raises(
        ValueError, match=r"conv3d depth: the kernel covers 9, more than the padded input's 7"
    ):
        kernels.lookup("conv3d").run(x, floats(4, 4, 9, 3, 3), None, **CUBE)


@pytest.mark.parametrize("wide", [1, 4, 8, 16, 32])
def test_padding_is_passed_over_also_by_what_is_infinite(wide: int, floats: Make) -> None:
    """Zeros written out around an image would make NaN of an infinite weight or gradient."""
    channels = 32 * max(1, wide // 16)
    p = {**PLAIN, "groups": channels // wide}
    x, weight = floats(2, channels, 6, 9), floats(channels, wide, 3, 3)
    x[x == 0] = 1
    one = weight.copy()
    one[0, 0, 0, 0] = np.inf
    rest = np.where(np.isinf(one), 0, one).astype(np.float32)
    run = kernels.lookup("conv2d").run
    y, without = run(x, one, None, **p), run(x, rest, None, **p)
    assert_close(y[:, 1:], without[:, 1:])
    assert_close(y[:, 0, 0], without[:, 0, 0])
    assert_close(y[:, 0, :, 0], without[:, 0, :, 0])
    np.testing.assert_array_equal(y[:, 0, 1:, 1:], np.copysign(np.inf, x[:, 0, :-1, :-1]))
    g = floats(*y.shape)
    g[g == 0] = 1
    back = kernels.lookup("conv2d_input_gradient").run
    gx, without = back(g, one, input_shape=x.shape, **p), back(g, rest, input_shape=x.shape, **p)
    np.testing.assert_array_equal(gx[:, 0, :-1, :-1], np.copysign(np.inf, g[:, 0, 1:, 1:]))
    assert_close(gx[:, 0, -1], without[:, 0, -1])
    assert_close(gx[:, 0, :, -1], without[:, 0, :, -1])
    assert_close(gx[:, 1:], without[:, 1:])
    g[0, 0, 0, 0] = np.inf
    gw = kernels.lookup("conv2d_weight_gradient").run(g, x, weight_shape=weight.shape, **p)
    assert np.isfinite(gw[0, :, 0]).all()
    assert np.isfinite(gw[0, :, :, 0]).all()
    assert np.isfinite(gw[1:]).all()
    np.testing.assert_array_equal(gw[0, :, 1:, 1:], np.copysign(np.inf, x[0, :wide, :2, :2]))
