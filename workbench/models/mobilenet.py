"""MobileNetV2: Sandler, Howard, Zhu, Zhmoginov and Chen, Inverted residuals and linear bottlenecks, 2018."""

from __future__ import annotations

from typing import Any

from workbench import nn

__all__ = ["InvertedResidual", "MobileNetV2", "mobilenet_v2"]

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, blocks and the stride of the first block: table 2 of the paper."""


def divisible(channels: float, divisor: int = 8) -> int:
    """Return the multiple of `divisor` nearest to `channels`, at most a tenth less.

    >>> divisible(32 * 0.35)
    16
    """
    found = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * channels else found


class _ConvNormActivation(nn.Sequential):
    """A convolution that keeps the size at stride 1, batch normalisation, and ReLU6."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False
            ),
            nn.BatchNorm2d(out_channels),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    """Widen by 1×1, filter each channel by 3×3, narrow by 1×1 without activation; a shortcut where shapes allow."""

    def __init__(self, in_channels: int, out_channels: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = in_channels * expansion
        layers: list[Any] = [_ConvNormActivation(in_channels, hidden, 1)] if expansion != 1 else []
        self.conv = nn.Sequential(
            *layers,
            _ConvNormActivation(hidden, hidden, 3, stride, groups=hidden),
            nn.Conv2d(hidden, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
        )
        self.shortcut = stride == 1 and in_channels == out_channels

    def forward(self, x: Any) -> Any:
        """Return x + f(x), or f(x) where the shapes differ."""
        return x + self.conv(x) if self.shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals over images [N, C:3, H, W], to scores [N, out_features].

    `width` scales the channels. Names of the state are those of published weights.

    >>> import workbench as wb
    >>> model = mobilenet_v2(classes=10, width=0.35).eval()
    >>> with wb.no_grad():
    ...     model(wb.zeros(N=1, C=3, H=64, W=64)).shape
    (1, 10)
    """

    def __init__(self, classes: int = 1000, width: float = 1.0, dropout: float = 0.2) -> None:
        super().__init__()
        channels = divisible(32 * width)
        # Never narrower: the paper leaves the last layer as it is at widths below 1.
        last = divisible(1280 * max(1.0, width))
        layers: list[Any] = [_ConvNormActivation(3, channels, 3, 2)]
        for expansion, wanted, count, stride in STAGES:
            out_channels = divisible(wanted * width)
            for i in range(count):
                layers.append(InvertedResidual(channels, out_channels, 1 if i else stride, expansion))
                channels = out_channels
        layers.append(_ConvNormActivation(channels, last, 1))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, classes))
        self._reset()

    def _reset(self) -> None:
        # As torchvision draws them; the paper does not say.
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes."""
        return self.classifier(self.flatten(self.pool(self.features(x))))


def mobilenet_v2(classes: int = 1000, width: float = 1.0) -> MobileNetV2:
    """Return the network of the paper: 3.5 million parameters for 1000 classes at width 1."""
    return MobileNetV2(classes, width)
