from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import quantization as q

GROUPS = [["conv1", "bn1", "relu1"], ["conv2", "bn2", "relu2"], ["fc1", "relu3"]]


class Small(wb.nn.Module):
    """The layers of the network for digits at a fifteenth of its size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu1 = (
            wb.nn.Conv2d(1, 4, 3, padding=1),
            wb.nn.BatchNorm2d(4),
            wb.nn.ReLU(),
        )
        self.pool1 = wb.nn.MaxPool2d(2)
        self.conv2, self.bn2, self.relu2 = (
            wb.nn.Conv2d(4, 8, 3, padding=1),
            wb.nn.BatchNorm2d(8),
            wb.nn.ReLU(),
        )
        self.pool2 = wb.nn.MaxPool2d(2)
        self.flatten = wb.nn.Flatten()
        self.fc1, self.relu3, self.fc2 = wb.nn.Linear(72, 16), wb.nn.ReLU(), wb.nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        x = self.pool1(self.relu1(self.bn1(self.conv1(x))))
        x = self.pool2(self.relu2(self.bn2(self.conv2(x))))
        return self.fc2(self.relu3(self.fc1(self.flatten(x))))


@pytest.fixture
def images() -> Any:
    """A batch of 32 random images [N, C, H, W]."""
    wb.manual_seed(1)
    return wb.rand(N=32, C=1, H=12, W=12)


@pytest.fixture
def model(images: Any) -> Any:
    """A small network in evaluation mode, with running statistics that have moved."""
    wb.manual_seed(0)
    made = Small()
    with wb.no_grad():
        for _ in range(5):
            made(images)
    return made.eval()


@pytest.fixture
def fused(model: Any) -> Any:
    return q.fuse_modules(model, GROUPS)


@pytest.fixture
def prepared(fused: Any, images: Any) -> Any:
    """The same with observers that have seen the images."""
    made = q.prepare(fused)
    with wb.no_grad():
        made(images)
    return made


@pytest.fixture(scope="session")
def digits() -> Any:
    """Digits of 12 by 12 pixels: pairs (images, labels) to train with, to calibrate with, and to test with."""
    train, test = wb.data.digits()
    images, labels = train[:640]
    seen, known = test[:256]
    small = (images[:, :, 2:26:2, 2:26:2], labels), (seen[:, :, 2:26:2, 2:26:2], known)
    return small[0], (small[0][0][:128], small[0][1][:128]), small[1]


@pytest.fixture(scope="session")
def trained(digits: Any) -> Any:
    """The small network after some steps on digits, in use; nobody changes it."""
    wb.manual_seed(0)
    made = Small()
    optimizer = wb.optim.Adam(made.parameters(), lr=0.01)
    images, labels = digits[0]
    for at in [*range(0, 640, 64)] * 6:
        optimizer.zero_grad()
        wb.nn.functional.cross_entropy(made(images[at : at + 64]), labels[at : at + 64]).backward()
        optimizer.step()
    return made.eval()
