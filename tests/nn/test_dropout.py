"""Dropout as modules: what is dropped together, what stays the same, which names are taken."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close

SIZES = {"N": 20, "C": 30, "D": 2, "H": 3, "W": 4}


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
