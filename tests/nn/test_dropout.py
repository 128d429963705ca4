"""Dropout as modules: what is dropped together, what stays the same, which names are taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close

SIZES = {"N": 20, "C": 30, "D": 2, "H": 3, "W": 4}


def slope_of(y: wb.Tensor, x: wb.Tensor, create_graph: bool = False) -> Any:
    return wb.autograd.grad(y.sum(), [x], create_graph=create_graph)[0]


def like(*names: str) -> wb.Tensor:
    return wb.ones(*[SIZES.get(name, 5) for name in names], names=names)


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (nn.Dropout1d(0.3), ("N", "C", "L")),
        (nn.Dropout2d(0.3), ("N", "C", "H", "W")),
        (nn.Dropout3d(0.3), ("N", "C", "D", "H", "W")),
    ],
)
def test_whole_channels_are_dropped_together(layer: nn.Module, names: tuple[str, ...]) -> None:
    wb.manual_seed(0)
    x = like(*names)
    y = layer(x)
    assert y.names == names
    rows = y.numpy().reshape(600, -1)
    assert (rows == rows[:, :1]).all()
    dropped = (rows[:, 0] == 0).mean()
    assert 0.2 < dropped < 0.4
    assert_close(np.unique(rows), np.array([0.0, 1 / 0.7], np.float32))
    assert layer.eval()(x) is x


@pytest.mark.parametrize(
    ("layer", "wrong", "fix"),
    [
        (nn.Dropout1d(), ("N", "L", "C"), "x.align_to('N', 'C', 'L')"),
        (nn.Dropout2d(), ("N", "H", "W", "C"), "x.align_to('N', 'C', 'H', 'W')"),
        (nn.Dropout3d(), ("N", "D", "H", "W", "C"), "x.align_to('N', 'C', 'D', 'H', 'W')"),
        (nn.FeatureAlphaDropout(), ("N", "T", "C"), "x.align_to('N', 'C', 'T')"),
    ],
)
def test_channels_that_stand_elsewhere_are_refused(
    layer: nn.Module, wrong: tuple[str, ...], fix: str
) -> None:
    with pytest.raises(wb.DimensionError) as caught:
        layer(like(*wrong))
    assert caught.value.fix == fix
    layer(like(*wrong).rename(None))


def test_a_channel_of_one_image_is_not_taken_for_an_image() -> None:
    """Three dims are [N, C, L] to PyTorch's dropout of images, whatever was meant: names say what was meant."""
    with pytest.raises(wb.DimensionError, match=r"takes dims \['N', 'C', 'L'\]"):
        nn.Dropout2d()(like("C", "H", "W"))


def test_dropout_to_selus_floor_keeps_mean_and_variance() -> None:
    wb.manual_seed(1)
    x = wb.randn(N=200, C=200)
    y = nn.AlphaDropout(0.3)(x).numpy()
    assert abs(y.mean()) < 0.03
    assert abs(y.std() - 1) < 0.03
    z = nn.FeatureAlphaDropout(0.3)(wb.zeros(N=50, C=50, L=3)).numpy()
    assert (z == z[..., :1]).all()
    assert len(np.unique(z)) == 2


@pytest.mark.parametrize(
    "kind", [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout]
)
def test_probabilities_are_probabilities(kind: type[nn.Module]) -> None:
    with pytest.raises(ValueError, match=r"has to be between 0 and 1, but got -0\.1"):
        kind(-0.1)
    assert repr(kind(0.25, inplace=True)) == f"{kind.__name__}(p=0.25, inplace=True)"


@pytest.mark.parametrize("layer", [nn.Dropout(0.3), nn.Dropout2d(0.3), nn.AlphaDropout(0.3), nn.RReLU()])
def test_a_seed_decides_whatever_computes(layer: nn.Module) -> None:
    """Threads, the order of values in memory, and compiled code or NumPy's: the same numbers come out."""
    values = np.random.default_rng(0).standard_normal((6, 64, 30, 20)).astype(np.float32)
    x = wb.tensor(values, requires_grad=True)
    before = wb.get_num_threads()
    found = []
    try:
        for threads, given in ((1, x), (3, x), (1, x.transpose(1, 3).clone().transpose(1, 3))):
            wb.set_num_threads(threads)
            wb.manual_seed(5)
            y = layer(given)
            slope = slope_of(y, x)
            found.append((y.detach().numpy(), slope.numpy()))
    finally:
        wb.set_num_threads(before)
    wb.manual_seed(5)
    doubles = layer(wb.tensor(values.astype(np.float64))).numpy()  # which no kernel takes
    for y, slope in found:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(slope, found[0][1])
        np.testing.assert_allclose(y, doubles, rtol=1e-5, atol=1e-6)


def test_the_gradient_draws_the_same_again() -> None:
    wb.manual_seed(0)
    x = wb.ones(40, 50, requires_grad=True)
    y = nn.Dropout(0.4)(x)
    slope = slope_of(y, x, create_graph=True)
    np.testing.assert_array_equal(slope.detach().numpy(), y.detach().numpy())
    again = slope_of(nn.Dropout(0.4)(x), x)
    assert (again.numpy() != slope.detach().numpy()).any()


def test_entries_of_a_batch_draw_the_same_or_each_for_itself() -> None:
    layer, x = nn.Dropout(0.5), wb.ones(4, 100)
    with pytest.raises(RuntimeError, match="randomness"):
        wb.func.vmap(layer)(x)
    same = wb.func.vmap(layer, randomness="same")(x).numpy()
    assert (same == same[:1]).all()
    different = wb.func.vmap(layer, randomness="different")(x).numpy()
    assert (different != different[:1]).any()
    slopes = wb.func.vmap(wb.func.grad(lambda row: layer(row).sum()), randomness="same")(x).numpy()
    assert (slopes == slopes[:1]).all()
    assert 0 < (slopes == 0).mean() < 1


def test_a_second_run_of_a_part_draws_the_same() -> None:
    layer, x = nn.Dropout(0.5), wb.ones(100, requires_grad=True)
    wb.manual_seed(3)
    y = wb.utils.checkpoint.checkpoint(lambda value: layer(value) * value, x, use_reentrant=False)
    slope = slope_of(y, x)
    np.testing.assert_array_equal(slope.numpy(), 2 * y.detach().numpy())


def test_shares_of_what_is_dropped() -> None:
    wb.manual_seed(0)
    x = wb.ones(1000, 100)
    for p in (0.01, 0.25, 0.9):
        dropped = (nn.Dropout(p)(x).numpy() == 0).mean()
        assert abs(dropped - p) < 4 * (p * (1 - p) / 1e5) ** 0.5
    assert not nn.Dropout(1.0)(x).numpy().any()
    assert nn.Dropout(0.0)(x) is x
    slopes = nn.RReLU(0.2, 0.6)(-x).numpy()
    assert -0.6 <= slopes.min() < -0.599
    assert -0.201 < slopes.max() <= -0.2
    assert abs(slopes.mean() + 0.4) < 0.002
