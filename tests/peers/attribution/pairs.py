"""Models written once and made in both libraries, with the same weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")

Library = Any


@dataclass
class Pair:
    """A model in both libraries, inputs for it, and where it is explained."""

    ours: Any
    theirs: Any
    inputs: tuple[np.ndarray[Any, Any], ...]
    target: int
    layer: str
    neuron: tuple[int, ...]

    def given(self, library: Library) -> Any:
        """Return the inputs as tensors, a tuple if there are several."""
        tensors = tuple(tensor(library, one) for one in self.inputs)
        return tensors[0] if len(tensors) == 1 else tensors

    def baselines(self, library: Library, seed: int = 7, rows: int | None = None) -> Any:
        """Return baselines of the inputs' shapes, or a distribution of `rows` of them."""
        random = np.random.default_rng(seed)
        tensors = tuple(
            tensor(library, random.normal(size=(rows or len(one), *one.shape[1:])).astype(one.dtype) * 0.3)
            for one in self.inputs
        )
        return tensors[0] if len(tensors) == 1 else tensors

    def model(self, library: Library) -> Any:
        """Return the model in a library."""
        return self.ours if library is wb else self.theirs

    def module(self, library: Library) -> Any:
        """Return the layer in a library."""
        return self.model(library).get_submodule(self.layer)


def tensor(library: Library, array: np.ndarray[Any, Any]) -> Any:
    """Return an array as a tensor of a library."""
    return wb.from_numpy(array.copy()) if library is wb else torch.from_numpy(array.copy())


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return normally distributed numbers, float32."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def paired(
    make: Callable[[Library], Any], inputs: tuple[Any, ...], target: int, layer: str, neuron: tuple[int, ...]
) -> Pair:
    """Return a model that `make` makes of either library, with PyTorch's weights in both."""
    torch.manual_seed(0)
    theirs, ours = make(torch).eval(), make(wb).eval()
    ours.load_state_dict(
        {name: wb.from_numpy(one.numpy().copy()) for name, one in theirs.state_dict().items()}
    )
    return Pair(ours, theirs, inputs, target, layer, neuron)


def convolutions(library: Library) -> Any:
    """Return a small network for images [N, 2, 10, 10]."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(54, 16), nn.ReLU(), nn.Linear(16, 5),
    )  # fmt: skip


def perceptron(library: Library) -> Any:
    """Return a network of two inputs, [N, 3] and [N, 5]."""
    nn = library.nn

    class Two(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(3, 8), nn.Linear(5, 8)
            self.hidden, self.last = nn.Linear(8, 6), nn.Linear(6, 4)

        def forward(self, x: Any, y: Any) -> Any:
            return self.last(library.tanh(self.hidden(library.relu(self.first(x)) * self.second(y))))

    return Two()


def recurrent(library: Library) -> Any:
    """Return a classifier of sequences [N, time, 3]."""
    nn = library.nn

    class Classifier(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(3, 6)
            self.lstm = nn.LSTM(6, 7, batch_first=True)
            self.last = nn.Linear(7, 4)

        def forward(self, x: Any) -> Any:
            return self.last(self.lstm(self.embed(x))[0][:, -1])

    return Classifier()


def transformer(library: Library) -> Any:
    """Return a classifier of sequences [N, time, 3] with one layer of attention."""
    nn = library.nn

    class Classifier(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(3, 8)
            self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
            self.norm = nn.LayerNorm(8)
            self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8)
            self.last = nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            x = self.embed(x)
            weights = library.softmax(self.query(x) @ self.key(x).transpose(1, 2) / 8**0.5, -1)
            x = self.norm(x + weights @ self.value(x))
            x = x + self.narrow(nn.functional.gelu(self.wide(x)))
            return self.last(x.mean(1))

    return Classifier()


class _Block:
    """Makes a residual block of a library."""

    def __new__(cls, library: Library, width: int, out: int, stride: int) -> Any:
        nn = library.nn

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
                self.bn1 = nn.BatchNorm2d(out)
                self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
                self.bn2 = nn.BatchNorm2d(out)
                self.relu = nn.ReLU(inplace=True)
                self.short = (
                    nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))
                    if stride > 1
                    else nn.Identity()
                )

            def forward(self, x: Any) -> Any:
                y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
                return self.relu(y + self.short(x))

        return Block()


def residual(library: Library) -> Any:
    """Return a ResNet-18 for images [N, 3, 32, 32], its ReLUs in place and used twice."""
    nn = library.nn
    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
              (512, 512, 1)]  # fmt: skip
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        *(_Block(library, *one) for one in widths),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def pairs() -> dict[str, Pair]:
    """Return all pairs by name."""
    return {
        "convolutions": paired(convolutions, (normal(3, 2, 10, 10),), 2, "3", (1, 2, 0)),
        "two inputs": paired(perceptron, (normal(4, 3), normal(4, 5, seed=1)), 1, "hidden", (2,)),
        "lstm": paired(recurrent, (normal(3, 5, 3),), 3, "embed", (2, 1)),
        "transformer": paired(transformer, (normal(3, 6, 3),), 0, "wide", (1, 3)),
        "resnet18": paired(residual, (normal(2, 3, 32, 32),), 4, "9", (5, 1, 1)),
    }
