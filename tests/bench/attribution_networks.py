"""Networks that both libraries make, for the rows of attributions."""

from __future__ import annotations

from typing import Any

__all__ = ["of_a_class", "residual", "small"]


def small(library: Any) -> Any:
    """Return a small network for pictures of 28 by 28."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10),
    ).eval()  # fmt: skip


def of_a_class(library: Any) -> Any:
    """Return the small network as a class whose forward method names its parts, as people write theirs."""
    nn, functional, flatten = library.nn, library.nn.functional, library.flatten

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
            self.last = nn.Linear(1568, 10)

        def forward(self, x: Any) -> Any:
            x = functional.max_pool2d(functional.relu(self.first(x)), 2)
            x = functional.max_pool2d(functional.relu(self.second(x)), 2)
            return self.last(flatten(x, 1))

    return Network().eval()


def residual(library: Any) -> Any:
    """Return a ResNet-50."""
    nn = library.nn
    blocks: list[Any] = []
    width = 64
    for middle, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for number in range(count):
            blocks.append(_bottleneck(library, width, middle, stride if number == 0 else 1))
            width = 4 * middle
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000),
    ).eval()  # fmt: skip


def _bottleneck(library: Any, width: int, middle: int, stride: int) -> Any:
    nn = library.nn

    class Bottleneck(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(width, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(inplace=True),
                nn.Conv2d(middle, middle, 3, stride, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(inplace=True),
                nn.Conv2d(middle, 4 * middle, 1, bias=False), nn.BatchNorm2d(4 * middle),
            )  # fmt: skip
            self.short = (
                nn.Identity()
                if width == 4 * middle and stride == 1
                else nn.Sequential(
                    nn.Conv2d(width, 4 * middle, 1, stride, bias=False), nn.BatchNorm2d(4 * middle)
                )
            )
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            return self.relu(self.inner(x) + self.short(x))

    return Bottleneck()
