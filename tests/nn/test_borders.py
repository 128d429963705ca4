"""Borders, resampling, shuffles and patches as layers: values by NumPy, names, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.testing import assert_close

SIZES = {1: (5,), 2: (4, 5), 3: (3, 4, 5)}
MODES = {"Reflection": "reflect", "Replication": "edge", "Circular": "wrap", "Zero": "constant"}


def values(n: int) -> wb.Tensor:
    array = np.random.default_rng(n).standard_normal((2, 3, *SIZES[n])).astype(np.float32)
    return wb.from_numpy(array, names=LAYOUT[n])


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", list(MODES))
def test_a_border_is_that_of_numpy(n: int, kind: str) -> None:
    x = values(n)
    widths = tuple(range(2 * n))[::-1] if n < 3 else (2, 1, 0, 2, 1, 1)
    layer = getattr(nn, f"{kind}Pad{n}d")(widths)
    pairs = [(widths[2 * i], widths[2 * i + 1]) for i in range(n)][::-1]
    if any(max(pair) >= size for pair, size in zip(pairs, SIZES[n], strict=True)):
        pairs, layer = [(1, 1)] * n, getattr(nn, f"{kind}Pad{n}d")(1)
    expected = np.pad(x.numpy(), [(0, 0), (0, 0), *pairs], mode=MODES[kind])
    y = layer(x)
    assert y.names == LAYOUT[n]
    assert_close(y, expected)
    assert_close(layer(x[0]), expected[0])
    with pytest.raises(wb.DimensionError) as caught:
        layer(x.align_to("N", *LAYOUT[n][2:], "C"))
    assert caught.value.op == f"{kind}Pad{n}d"
    assert caught.value.fix


def test_a_constant_border_goes_around_anything() -> None:
    layer = nn.ConstantPad2d((1, 0, 0, 1), 2.5)
    assert layer(wb.zeros(H=1, W=1)).tolist() == [[2.5, 0], [2.5, 2.5]]
    assert layer(wb.zeros(sample=1, view=1, time=1, H=1, W=1)).names == ("sample", "view", "time", "H", "W")
    assert repr(layer) == "ConstantPad2d(padding=(1, 0, 0, 1), value=2.5)"
    assert repr(nn.ZeroPad1d(1)) == "ZeroPad1d((1, 1))"
    assert isinstance(nn.ZeroPad3d(1), nn.ConstantPad3d)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: nn.CircularPad1d(1)(wb.zeros(2, 2, 2, 2)),
            ValueError,
            "expected 2D or 3D input (got 4D input)",
        ),
        (lambda: nn.ReflectionPad2d(1)(wb.zeros(2, 2)), wb.DimensionError, "expected 3D or 4D input (got 2D"),
        (lambda: nn.ReflectionPad1d((1, 2, 3)), ValueError, "padding is a whole number or a pair"),
        (
            lambda: nn.ReflectionPad1d(5)(values(1)),
            wb.DimensionError,
            "less than the corresponding input dimension",
        ),
        (lambda: nn.CircularPad1d(6)(values(1)), wb.DimensionError, "wrapping around more than once"),
        (lambda: nn.Upsample()(values(2)), ValueError, "either size or scale_factor should be defined"),
        (lambda: nn.Upsample(3, mode="linear")(values(2)), wb.DimensionError, "takes 3D inputs, got 4D"),
        (
            lambda: nn.PixelShuffle(2)(values(2)),
            wb.DimensionError,
            "divisible by the square of upscale_factor",
        ),
        (lambda: nn.Unfold(9)(values(2)), wb.DimensionError, "must be at least one"),
        (
            lambda: nn.Fold(4, 3)(wb.zeros(1, 4, 1)),
            wb.DimensionError,
            "divisible by the product of kernel_size",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_words(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("layer", "sizes"),
    [
        (nn.Upsample(scale_factor=(2, 3)), (8, 15)),
        (nn.Upsample(size=(7, 3), mode="bicubic"), (7, 3)),
        (nn.UpsamplingNearest2d(size=9), (9, 9)),
        (nn.UpsamplingBilinear2d(scale_factor=2), (8, 10)),
    ],
)
def test_resampling_keeps_names(layer: nn.Module, sizes: tuple[int, ...]) -> None:
    x = values(2)
    y = layer(x)
    assert (y.names, y.shape[2:]) == (LAYOUT[2], sizes)
    with pytest.raises(wb.DimensionError, match="rename"):
        layer(x.rename(H="rows"))
    assert "mode=" in repr(layer)


def test_interpolation_between_corners() -> None:
    x = wb.arange(4.0).reshape(1, 1, 2, 2)
    assert nn.UpsamplingBilinear2d(size=3)(x)[0, 0].tolist() == [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]]
    assert nn.Upsample(scale_factor=2)(x)[0, 0, 0].tolist() == [0, 0, 1, 1]


def test_shuffles_and_their_inverses() -> None:
    x = wb.randn(N=2, C=12, H=4, W=6)
    large = nn.PixelShuffle(2)(x)
    assert (large.names, large.shape) == (LAYOUT[2], (2, 3, 8, 12))
    assert_close(nn.PixelUnshuffle(2)(large), x)
    mixed = nn.ChannelShuffle(3)(x)
    assert mixed.names == LAYOUT[2]
    assert_close(mixed, x.numpy().reshape(2, 3, 4, 4, 6).swapaxes(1, 2).reshape(2, 12, 4, 6))
    for layer in (nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2)):
        with pytest.raises(wb.DimensionError):
            layer(x.align_to("N", "H", "W", "C"))


def test_patches_and_the_image_they_make() -> None:
    x = values(2)
    columns = nn.Unfold((2, 3), padding=1)(x)
    assert columns.names == ("N", None, None)
    weight = wb.randn(2, 18)
    product = wb.from_numpy(weight.numpy() @ columns.numpy()).reshape(2, 2, 5, 5)
    assert_close(
        product, nn.functional.conv2d(x, weight.reshape(2, 3, 2, 3), padding=1), rtol=1e-4, atol=1e-5
    )
    apart = nn.Unfold(2, stride=2)(x[:, :, :, :4])
    back = nn.Fold((4, 4), 2, stride=2)(apart)
    assert back.names == LAYOUT[2]
    assert_close(back, x[:, :, :, :4])
    one = nn.Fold((4, 4), 2, stride=2)(apart[0].rename(None, "L"))
    assert one.names == LAYOUT[2][1:]
    assert nn.Fold((4, 4), 2, stride=2)(apart.rename(None)).names == (None,) * 4
    with pytest.raises(wb.DimensionError, match="position 0 is 'T' where 'N' is expected"):
        nn.Fold((4, 4), 2, stride=2)(apart.rename(N="T"))
