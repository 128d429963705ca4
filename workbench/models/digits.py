"""A small convolutional network for digits of 28 by 28 pixels."""

from __future__ import annotations

from typing import Any

from workbench import nn

__all__ = ["DigitsNet"]


class DigitsNet(nn.Module):
    """Two convolutions and two linear layers: images [N, C:1, H:28, W:28] to scores [N, out_features:10].

    `features` gives the activations before the last layer, which an embedding is made of.

    >>> import workbench as wb
    >>> model = DigitsNet().eval()
    >>> with wb.no_grad():
    ...     scores = model(wb.zeros(N=2, C=1, H=28, W=28))
    >>> scores.names, scores.shape
    (('N', 'out_features'), (2, 10))
    """

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(64)
        self.relu2 = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(3136, 128)
        self.relu3 = nn.ReLU()
        self.fc2 = nn.Linear(128, classes)

    def features(self, x: Any) -> Any:
        """Return the activations of the last hidden layer, [N, out_features:128]."""
        x = self.pool1(self.relu1(self.bn1(self.conv1(x))))
        x = self.pool2(self.relu2(self.bn2(self.conv2(x))))
        return self.relu3(self.fc1(self.flatten(x)))

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes."""
        return self.fc2(self.features(x))
