"""LeNet-5: LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition, 1998."""

from __future__ import annotations

from typing import Any

from workbench import nn

__all__ = ["LeNet"]


class LeNet(nn.Module):
    """Two convolutions and three linear layers: images [N, C:1, H:28, W:28] to scores [N, out_features:10].

    The paper's sizes, with ReLU, largest values and a plain last layer where it has scaled tanh, trained means and
    radial basis functions.

    >>> import workbench as wb
    >>> LeNet()(wb.zeros(N=2, C=1, H=28, W=28)).shape
    (2, 10)
    """

    def __init__(self, classes: int = 10, channels: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def features(self, x: Any) -> Any:
        """Return the activations of the last hidden layer, [N, out_features:84]."""
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.relu(self.fc2(self.relu(self.fc1(self.flatten(x)))))

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes."""
        return self.fc3(self.features(x))
