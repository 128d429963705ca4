"""Residual networks: He, Zhang, Ren and Sun, Deep residual learning for image recognition, 2016."""

from __future__ import annotations

from typing import Any

from workbench import nn

__all__ = ["BasicBlock", "Bottleneck", "ResNet", "resnet18", "resnet50"]


def _shortcut(in_channels: int, out_channels: int, stride: int) -> nn.Sequential | None:
    """Return what brings the input of a block to the shape of its output; None where it has it."""
    if stride == 1 and in_channels == out_channels:
        return None
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 1, stride=stride, bias=False), nn.BatchNorm2d(out_channels)
    )


class BasicBlock(nn.Module):
    """Two 3×3 convolutions around a shortcut: y = relu(x + f(x)), [N, C, H, W] to [N, C, H / stride, W / stride]."""

    expansion = 1
    """Channels that come out, for each of `channels`."""
    downsample: nn.Module | None

    def __init__(self, in_channels: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.add_module("downsample", _shortcut(in_channels, channels, stride))

    def forward(self, x: Any) -> Any:
        """Return relu(x + f(x))."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + shortcut)


class Bottleneck(nn.Module):
    """A 3×3 convolution between two of 1×1, around a shortcut; the stride is the 3×3 convolution's."""

    expansion = 4
    downsample: nn.Module | None

    def __init__(self, in_channels: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        out_channels = channels * self.expansion
        self.conv1 = nn.Conv2d(in_channels, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, out_channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.add_module("downsample", _shortcut(in_channels, out_channels, stride))

    def forward(self, x: Any) -> Any:
        """Return relu(x + f(x))."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet(nn.Module):
    """Four stages of residual blocks over images [N, C:3, H, W], to scores [N, out_features].

    The first stage works at a quarter of the resolution, each further one at half of that before, with twice its
    channels. Names of the state are those of published weights.

    >>> import workbench as wb
    >>> model = resnet18(classes=10).eval()
    >>> with wb.no_grad():
    ...     scores = model(wb.zeros(N=2, C=3, H=32, W=32))
    >>> scores.names, scores.shape
    (('N', 'out_features'), (2, 10))
    """

    layer1: nn.Sequential
    layer2: nn.Sequential
    layer3: nn.Sequential
    layer4: nn.Sequential

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: tuple[int, int, int, int],
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        in_channels = 64
        for stage, count in enumerate(layers):
            channels = 64 << stage
            blocks = []
            for i in range(count):
                # The first block of each stage but the first halves the picture.
                blocks.append(block(in_channels, channels, stride=2 if stage and not i else 1))
                in_channels = channels * block.expansion
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(in_channels, classes)
        self._reset(block)

    def _reset(self, block: Any) -> None:
        """He et al. 2015 for convolutions; each block starts as its shortcut (Goyal et al. 2017)."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, BasicBlock | Bottleneck):
                last = module.bn2 if isinstance(module, BasicBlock) else module.bn3
                if last.weight is not None:
                    nn.init.zeros_(last.weight)

    def features(self, x: Any) -> Any:
        """Return the means over the last stage's maps, [N, features]."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.flatten(self.avgpool(x))

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes."""
        return self.fc(self.features(x))


def resnet18(classes: int = 1000) -> ResNet:
    """Return the network of 18 layers: 11.7 million parameters for 1000 classes."""
    return ResNet(BasicBlock, (2, 2, 2, 2), classes)


def resnet50(classes: int = 1000) -> ResNet:
    """Return the network of 50 layers: 25.6 million parameters for 1000 classes."""
    return ResNet(Bottleneck, (3, 4, 6, 3), classes)
