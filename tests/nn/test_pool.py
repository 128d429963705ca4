"""Poolings of every kind: values by NumPy, places, one example, and what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.testing import assert_close

SIZES = {1: (8,), 2: (8, 6), 3: (4, 6, 8)}


def values(n: int, batch: int = 2) -> wb.Tensor:
    array = np.random.default_rng(n).standard_normal((batch, 3, *SIZES[n])).astype(np.float32)
    return wb.from_numpy(array, names=LAYOUT[n])


def tiles(x: wb.Tensor, n: int, reduce: Callable[..., np.ndarray]) -> np.ndarray:
    """Reduce each 2 by … by 2 block."""
    a = x.numpy()
    shape = [*a.shape[:2]]
    for size in a.shape[2:]:
        shape += [size // 2, 2]
    return reduce(a.reshape(shape), axis=tuple(range(3, 3 + 2 * n, 2)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_windows_give_what_numpy_gives(n: int) -> None:
    x = values(n)
    assert_close(getattr(nn, f"MaxPool{n}d")(2)(x), tiles(x, n, np.max))
    assert_close(getattr(nn, f"AvgPool{n}d")(2)(x), tiles(x, n, np.mean), rtol=1e-5, atol=1e-6)
    positive = x.abs()
    expected = tiles(positive, n, lambda a, axis: np.sqrt((a * a).sum(axis)))
    assert_close(getattr(nn, f"LPPool{n}d")(2, 2)(positive), expected, rtol=1e-5)
    half = tuple(size // 2 for size in SIZES[n])
    assert_close(getattr(nn, f"AdaptiveMaxPool{n}d")(half)(x), tiles(x, n, np.max))
    assert_close(getattr(nn, f"AdaptiveAvgPool{n}d")(half)(x), tiles(x, n, np.mean), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_names_pass_and_one_example_is_a_batch_of_one(n: int) -> None:
    x = values(n)
    for make in ("MaxPool{}d", "AvgPool{}d", "AdaptiveMaxPool{}d", "AdaptiveAvgPool{}d"):
        layer = getattr(nn, make.format(n))(2)
        y, one = layer(x), layer(x[0])
        assert (y.names, one.names) == (LAYOUT[n], LAYOUT[n][1:])
        assert_close(one, y[0])
        with pytest.raises(wb.DimensionError, match="The names are the same in another order") as caught:
            layer(x.align_to("N", *LAYOUT[n][2:], "C"))
        assert caught.value.op == type(layer).__name__
        assert "x.align_to(" in caught.value.fix
    layer = getattr(nn, f"LPPool{n}d")(2, 2)
    assert layer(x).names == LAYOUT[n]
    with pytest.raises(wb.DimensionError):
        layer(x.rename(C="K"))


def test_the_mean_of_windows_of_two_sizes() -> None:
    x = values(2)
    a = x.numpy()
    y = nn.AdaptiveAvgPool2d((3, 4))(x)
    for p, q in itertools.product(range(3), range(4)):
        rows, columns = slice(p * 8 // 3, -(-(p + 1) * 8 // 3)), slice(q * 6 // 4, -(-(q + 1) * 6 // 4))
        assert_close(y[:, :, p, q], a[:, :, rows, columns].mean((2, 3)), rtol=1e-5, atol=1e-6)


def test_the_mean_is_the_same_by_either_way() -> None:
    x = values(2).double()
    layer = nn.AdaptiveAvgPool2d(2)
    assert_close(layer(x), x.numpy().reshape(2, 3, 2, 4, 2, 3).mean((3, 5)))
    layer.output_size = (1, None)
    assert_close(layer(x), x.numpy().mean(2, keepdims=True))
    assert_close(nn.AdaptiveAvgPool2d((8, 6))(x), x)
    assert nn.AdaptiveAvgPool2d(1)(x[:, :, :4]).shape == (2, 3, 1, 1)
    assert nn.AdaptiveAvgPool2d(0)(x).shape == (2, 3, 0, 0)
    with pytest.raises(wb.DimensionError, match="greater than or equal to 0"):
        nn.AdaptiveAvgPool2d((-1, 2))(x)


def test_settings_of_windows() -> None:
    x = wb.arange(1.0, 6.0).reshape(1, 1, 5)
    assert nn.MaxPool1d(2, ceil_mode=True)(x).tolist() == [[[2, 4, 5]]]
    assert nn.MaxPool1d(2, 1, dilation=2)(x).tolist() == [[[3, 4, 5]]]
    assert nn.MaxPool1d(3, 2, padding=1)(x).tolist() == [[[2, 4, 5]]]
    assert nn.AvgPool1d(2, padding=1)(x).tolist() == [[[0.5, 2.5, 4.5]]]
    assert nn.AvgPool1d(2, padding=1, count_include_pad=False)(x).tolist() == [[[1, 2.5, 4.5]]]
    square = wb.ones(1, 1, 2, 2)
    assert nn.AvgPool2d(2, divisor_override=1)(square).item() == 4
    assert nn.AvgPool3d(2, divisor_override=2)(wb.ones(1, 1, 2, 2, 2)).item() == 4
    layer = nn.MaxPool1d(2)
    assert layer.kernel_size == layer.stride == 2
    layer.stride = 1
    assert layer(x).tolist() == [[[2, 3, 4, 5]]]
    assert repr(layer) == "MaxPool1d(kernel_size=2, stride=1, padding=0, dilation=1, ceil_mode=False)"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_what_was_found_goes_back_to_where_it_lay(n: int) -> None:
    x = values(n)
    found, places = getattr(nn, f"MaxPool{n}d")(2, return_indices=True)(x)
    back = getattr(nn, f"MaxUnpool{n}d")(2)
    y = back(found, places)
    assert y.names == LAYOUT[n]
    a = y.numpy()
    assert (a[a != 0] == x.numpy()[a != 0]).all()
    assert (a != 0).sum() == found.numel()
    assert back(found, places, output_size=x.shape).shape == x.shape
    assert_close(back(found[0], places[0]), y[0])
    with pytest.raises(wb.DimensionError, match="position 1 is 'K' where 'C' is expected"):
        back(found.rename(C="K"), places)
    with pytest.raises(wb.DimensionError, match="invalid output_size"):
        back(found, places, output_size=(99,) * n)


@pytest.mark.parametrize("n", [2, 3])
def test_chance_places_windows_within_the_input(n: int) -> None:
    x = values(n)
    sizes = {2: (5, 4), 3: (2, 3, 5)}[n]
    layer = getattr(nn, f"FractionalMaxPool{n}d")(2, output_size=sizes, return_indices=True)
    wb.manual_seed(1)
    found, places = layer(x)
    wb.manual_seed(1)
    again, _ = layer(x)
    assert_close(again, found)
    assert found.names == places.names == LAYOUT[n]
    flat = x.numpy().reshape(2, 3, -1)
    assert (
        np.take_along_axis(flat, places.numpy().reshape(2, 3, -1), 2) == found.numpy().reshape(2, 3, -1)
    ).all()
    ratio = getattr(nn, f"FractionalMaxPool{n}d")(2, output_ratio=0.5)
    assert ratio(x[0]).shape == (3, *(size // 2 for size in SIZES[n]))
    with pytest.raises(wb.DimensionError, match="where 'C' is expected"):
        layer(x.rename(C="K"))


def test_the_same_numbers_place_the_same_windows() -> None:
    """Recorded from PyTorch 2.13."""
    x = wb.arange(42.0).reshape(1, 1, 6, 7)
    chance = wb.tensor([[[0.3, 0.8]]])
    y, places = nn.functional.fractional_max_pool2d(
        x, (2, 3), output_size=(3, 4), return_indices=True, _random_samples=chance
    )
    assert y[0, 0].tolist() == [[9, 10, 12, 13], [23, 24, 26, 27], [37, 38, 40, 41]]
    assert (places.double() == y.double()).all()


def test_a_mean_of_whole_numbers_stays_as_it_was() -> None:
    x = wb.tensor([[[1, 2, 4, 8]]])
    assert nn.functional.adaptive_avg_pool1d(x, 2).tolist() == [[[2, 6]]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.MaxPool2d((2, 2, 2)), ValueError, "kernel_size is a whole number or a pair"),
        (lambda: nn.LPPool1d(2, (2, 2)), ValueError, "kernel_size is a whole number"),
        (
            lambda: nn.MaxPool2d(2, padding=2)(values(2)),
            wb.DimensionError,
            "at most half of effective kernel",
        ),
        (lambda: nn.MaxPool2d(2)(wb.zeros(2, 2)), wb.DimensionError, "Expected 3D (unbatched) or 4D"),
        (
            lambda: nn.AvgPool2d(2, divisor_override=0)(values(2)),
            wb.DimensionError,
            "divisor must be not zero",
        ),
        (lambda: nn.FractionalMaxPool2d(2), ValueError, "either an output size, or a pooling ratio"),
        (lambda: nn.FractionalMaxPool2d(2, 3, 0.5), ValueError, "only one of output_size and output_ratio"),
        (lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), ValueError, "must be between 0 and 1"),
        (lambda: nn.FractionalMaxPool3d(0, 2), ValueError, "kernel_size must be greater than 0, but got 0"),
        (
            lambda: nn.FractionalMaxPool2d(4, 7)(values(2)),
            wb.DimensionError,
            "too large relative to input size 8",
        ),
        (
            lambda: nn.FractionalMaxPool2d(2, 3, _random_samples=wb.zeros(2, 3, 3))(values(2)),
            wb.DimensionError,
            "Expect _random_samples to have shape [2, 3, 2]",
        ),
        (
            lambda: nn.functional.fractional_max_pool2d(values(2), 2),
            ValueError,
            "requires specifying either an output_size or an output_ratio",
        ),
        (
            lambda: nn.functional.fractional_max_pool2d(values(2), 2, output_ratio=(0.5, 0.5, 0.5)),
            ValueError,
            "a single number or 2 of them",
        ),
        (
            lambda: nn.functional.fractional_max_pool2d(values(2).long(), 2, 3),
            wb.DTypeError,
            "values must be real floating point",
        ),
        (
            lambda: nn.functional.fractional_max_pool2d(
                values(2), 2, 3, _random_samples=wb.zeros(2, 3, 2).double()
            ),
            wb.DTypeError,
            "the same dtype as input",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(
    make: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)
