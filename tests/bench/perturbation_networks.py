"""Networks of one code in both libraries, whose inputs are perturbed in rows of the table."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WINDOWS", "lite", "photo", "small"]

STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)
"""Expansion, channels, blocks, the stride of the first block, and the kernel size."""

WINDOWS: dict[str, Any] = {"sliding_window_shapes": (3, 32, 32), "strides": (3, 32, 32)}
"""49 windows of a photo of 224 by 224."""


def small(library: Any) -> Any:
    """Return a small network for pictures of 28 by 28."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10),
    ).eval()  # fmt: skip


def lite(library: Any) -> Any:
    """Return EfficientNet-Lite0, with padding as PyTorch has it."""
    nn = library.nn

    def conv(before: int, after: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[Any]:
        filters = nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)
        return [filters, nn.BatchNorm2d(after), nn.ReLU6()]

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int) -> None:
            super().__init__()
            hidden = before * expansion
            wide = conv(before, hidden) if expansion > 1 else []
            narrow = conv(hidden, after)[:2]
            self.inner = nn.Sequential(*wide, *conv(hidden, hidden, kernel, stride, hidden), *narrow)
            self.adds = stride == 1 and before == after

        def forward(self, x: Any) -> Any:
            return x + self.inner(x) if self.adds else self.inner(x)

    layers, width = conv(3, 32, 3, 2), 32
    for expansion, after, count, stride, kernel in STAGES:
        for place in range(count):
            layers.append(Block(width, after, kernel, 1 if place else stride, expansion))
            width = after
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers, *conv(width, 1280), *head).eval()


def photo() -> np.ndarray[Any, Any]:
    """Return one photo of noise."""
    return np.random.default_rng(0).random((1, 3, 224, 224), np.float32)
