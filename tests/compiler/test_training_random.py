"""Networks, sizes and layouts drawn at random: compiled training goes where eager training goes, twice the same way."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compiler.test_training import close, numbers
from workbench import kernels, nn

F = nn.functional
pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")

SEEDS = range(20)
STEPS = 3


class Residual(nn.Module):
    """Two ways, added and rectified."""

    def __init__(self, way: Any, shortcut: Any) -> None:
        super().__init__()
        self.way, self.shortcut = way, shortcut

    def forward(self, x: Any) -> Any:
        return (self.way(x) + self.shortcut(x)).relu()


def pooling(draw: np.random.Generator) -> Any:
    kernel, stride = int(draw.integers(1, 4)), int(draw.integers(1, 3))
    if draw.random() < 0.5:
        return nn.MaxPool2d(kernel, stride, kernel // 2)
    return nn.AvgPool2d(kernel, stride, kernel // 2, count_include_pad=bool(draw.integers(2)))


def layers(draw: np.random.Generator, channels: int) -> Iterator[Any]:
    """A few layers that leave at least one place of a plane."""
    for _ in range(draw.integers(1, 4)):
        wide = int(draw.choice([1, 3, 8, 16, 17, 32]))
        kernel = int(draw.choice([1, 3]))
        bias, stride = bool(draw.integers(2)), int(draw.integers(1, 3))
        yield nn.Conv2d(channels, wide, kernel, stride, kernel // 2, bias=bias)
        channels = wide
        if draw.random() < 0.6:
            yield nn.BatchNorm2d(channels)
        if draw.random() < 0.7:
            yield nn.ReLU(inplace=bool(draw.integers(2)))
        if draw.random() < 0.4:
            yield pooling(draw)
        if draw.random() < 0.4:
            way = [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)]
            shortcut = nn.Identity() if draw.random() < 0.5 else nn.Conv2d(channels, channels, 1)
            yield Residual(nn.Sequential(*way), shortcut)
    if draw.random() < 0.5:
        yield nn.AdaptiveAvgPool2d(1)
    yield nn.Flatten()
    yield nn.LazyLinear(int(draw.integers(1, 7)))


def laid(x: Any, how: int) -> Any:
    """The same numbers: row by row, channels last, each second of more, turned."""
    if how == 1:
        return x.contiguous(memory_format=wb.channels_last)
    if how == 2:
        return wb.stack([x, -x], -1).flatten(3)[..., ::2] if x.shape[3] else x
    return x.transpose(2, 3).contiguous().transpose(2, 3) if how == 3 else x


def alike(ours: Any, theirs: Any) -> None:
    """Within 1e-5 of the largest number, or of the rounding of numbers around 1, where all that is left is rounding."""
    if ours is not None and theirs is not None:
        a, b = numbers(ours), numbers(theirs)
        if a.shape == b.shape and np.allclose(a, b, rtol=0, atol=2e-7):
            return
    close(ours, theirs)


def trained(model: Any, x: Any, target: Any, asks: bool) -> list[Any]:
    """What a few steps of training give, make of the state, and of the input's gradient."""
    optimizer = wb.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    found: list[Any] = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        given = laid(x, 0).detach().requires_grad_(asks) if asks else x
        y = model(given)
        (y * target).sum().tanh().backward()
        optimizer.step()
        found += [y, given.grad]
    return [*found, *model.state_dict().values()]


@pytest.fixture
def threads() -> Iterator[None]:
    before = wb.get_num_threads()
    yield
    wb.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_network_is_trained_as_by_eager(seed: int) -> None:
    draw = np.random.default_rng(seed)
    wb.set_num_threads(1 + seed % 2)
    wb.manual_seed(seed)
    channels, count = int(draw.integers(1, 5)), int(draw.choice([1, 2, 5]))
    # At least some places a channel are left for the deviations of a batch of one image.
    sizes = (count, channels, int(draw.integers(17, 26)), int(draw.integers(17, 26)))
    model = nn.Sequential(*layers(draw, channels))
    x = wb.tensor(draw.standard_normal(sizes, dtype=np.float32))
    x = laid(x, int(draw.integers(4)))
    # The last layer takes its size from what comes.
    target = wb.randn(*model.eval()(x).shape)
    model.train()
    asks = bool(draw.integers(2))
    if draw.random() < 0.15:
        x = x.clone()
        x[0, 0, 2, 3] = float(draw.choice([np.nan, np.inf, -np.inf]))
    others = [copy.deepcopy(model) for _ in range(2)]
    expected = trained(model, x, target, asks)
    once, twice = (trained(wb.compile(one), x, target, asks) for one in others)
    for ours, again, theirs in zip(once, twice, expected, strict=True):
        alike(ours, theirs)
        if ours is not None:
            np.testing.assert_array_equal(numbers(ours), numbers(again))
