"""The same training steps in both libraries, by the same code: their words are the same.

``python -m tests.bench.training_networks NAME ours|theirs THREADS`` prints by how many bytes the peak of resident
memory rises in a few steps.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.peaks import rise

__all__ = ["ADAM", "COMPILED", "HALVES", "NETWORKS", "step"]

Step = Callable[[], Any]


def _random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _tensor(lib: Any, array: np.ndarray[Any, Any], names: str = "") -> Any:
    """A tensor with memory of its own; ours has names."""
    return (
        lib.tensor(array, names=names.split()) if lib.__name__ == "workbench" and names else lib.tensor(array)
    )


def _step(
    lib: Any, model: Any, loss: Callable[[], Any], optimizer: str = "SGD", half: bool = False, **settings: Any
) -> Step:
    chosen = getattr(lib.optim, optimizer)(model.parameters(), **{"lr": 1e-3, **settings})

    def run() -> None:
        chosen.zero_grad()
        with lib.autocast("cpu", dtype=lib.bfloat16) if half else contextlib.nullcontext():
            value = loss()
        value.backward()
        chosen.step()

    return run


def _classes(lib: Any, model: Any, x: Any, count: int = 10) -> Callable[[], Any]:
    labels = lib.tensor(np.arange(x.shape[0]) % count)
    return lambda: lib.nn.functional.cross_entropy(model(x), labels)


def convolutional(lib: Any, compiled: bool = False) -> Step:
    """conv32-conv64-fc on images of 28 by 28, batch 64, Adam."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 10),
    )  # fmt: skip
    model = lib.compile(model) if compiled else model
    x = _tensor(lib, _random(64, 1, 28, 28), "N C H W")
    return _step(lib, model, _classes(lib, model, x), "Adam")


def perceptron(lib: Any) -> Step:
    """784-512-512-10, batch 64, SGD with momentum."""
    nn = lib.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    x = _tensor(lib, _random(64, 784), "N features")
    return _step(lib, model, _classes(lib, model, x), momentum=0.9)


class _Residual:
    """Makes the blocks of a residual network out of either library's modules."""

    def __init__(self, lib: Any) -> None:
        nn = lib.nn

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, before: int, after: int, stride: int) -> None:
                super().__init__()
                self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
                self.bn1 = nn.BatchNorm2d(after)
                self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
                self.bn2 = nn.BatchNorm2d(after)
                self.relu = nn.ReLU(inplace=True)
                same = stride == 1 and before == after
                self.shortcut = (
                    nn.Identity()
                    if same
                    else nn.Sequential(
                        nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after)
                    )
                )

            def forward(self, x: Any) -> Any:
                y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
                return self.relu(y + self.shortcut(x))

        self.block = Block


def residual(lib: Any, half: bool = False, compiled: bool = False) -> Step:
    """ResNet-18 on images of 32 by 32, batch 32, SGD with momentum."""
    nn, block = lib.nn, _Residual(lib).block
    layers: list[Any] = [
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
    ]
    layers.append(nn.MaxPool2d(3, stride=2, padding=1))
    before = 64
    for stage in range(4):
        after = 64 << stage
        layers += [block(before, after, 2 if stage else 1), block(after, after, 1)]
        before = after
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    model = lib.compile(model) if compiled else model
    x = _tensor(lib, _random(32, 3, 32, 32), "N C H W")
    return _step(lib, model, _classes(lib, model, x), half=half, momentum=0.9)


def depthwise(lib: Any) -> Step:
    """A block of MobileNet and one of ConvNeXt: windows of 3 by 3 in steps of two, then of 7 by 7, batch 16, SGD."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(16, 96, 1), nn.BatchNorm2d(96), nn.ReLU6(),
        nn.Conv2d(96, 96, 3, stride=2, padding=1, groups=96), nn.BatchNorm2d(96), nn.ReLU6(),
        nn.Conv2d(96, 96, 7, padding=3, groups=96), nn.Conv2d(96, 192, 1), nn.GELU(), nn.Conv2d(192, 96, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10),
    )  # fmt: skip
    x = _tensor(lib, _random(16, 16, 56, 56), "N C H W")
    return _step(lib, model, _classes(lib, model, x), momentum=0.9)


def grouped(lib: Any) -> Step:
    """A block of ResNeXt of 32 groups of four channels, and one of groups of eight in steps of two, batch 8, SGD."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(64, 128, 1), nn.BatchNorm2d(128), nn.ReLU(),
        nn.Conv2d(128, 128, 3, padding=1, groups=32), nn.BatchNorm2d(128), nn.ReLU(),
        nn.Conv2d(128, 256, 1), nn.BatchNorm2d(256), nn.ReLU(),
        nn.Conv2d(256, 256, 3, stride=2, padding=1, groups=32), nn.BatchNorm2d(256), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip
    x = _tensor(lib, _random(8, 64, 56, 56), "N C H W")
    return _step(lib, model, _classes(lib, model, x), momentum=0.9)


def recurrent(lib: Any) -> Step:
    """LSTM of two layers of 512 over 32 steps, batch 32, SGD."""
    model = lib.nn.LSTM(512, 512, num_layers=2)
    x = _tensor(lib, _random(32, 32, 512), "T N features")
    return _step(lib, model, lambda: model(x)[0].square().mean())


def transformer(lib: Any, half: bool = False, compiled: bool = False) -> Step:
    """A transformer encoder of 4 layers, d = 256, T = 128, batch 16, Adam."""
    nn = lib.nn
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.1, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    model = lib.compile(model) if compiled else model
    x = _tensor(lib, _random(16, 128, 256), "N T E")
    return _step(lib, model, lambda: model(x).square().mean(), "Adam", half)


def adam(lib: Any) -> Step:
    """One step of Adam over 10 million parameters in 40 tensors."""
    parameters = [_tensor(lib, _random(500, 500)).requires_grad_() for _ in range(40)]
    for one in parameters:
        one.grad = _tensor(lib, _random(500, 500))
    step: Step = lib.optim.Adam(parameters, lr=1e-3).step
    return step


NETWORKS: dict[str, tuple[Callable[[Any], Step], float]] = {
    "CNN conv32-conv64-fc, batch 64": (convolutional, 0.9),
    "MLP 784-512-512-10, batch 64": (perceptron, 0.7),
    "ResNet-18, 32×32, batch 32": (residual, 1.0),
    "depthwise 3×3 and 7×7, 96 channels, 56×56, batch 16": (depthwise, 1.0),
    "ResNeXt's blocks of 32 groups, 56×56, batch 8": (grouped, 1.0),
    "LSTM 512×2, T = 32, batch 32": (recurrent, 1.0),
    "transformer, 4 layers, d = 256, T = 128, batch 16": (transformer, 1.0),
}
"""What is trained: its step, and the ratio aimed at."""


HALVES: dict[str, Callable[..., Step]] = {
    "ResNet-18, 32×32, batch 32": residual,
    "transformer, 4 layers, d = 256, T = 128, batch 16": transformer,
}
"""What is trained in mixed precision as well."""

COMPILED: dict[str, Callable[..., Step]] = {
    "CNN conv32-conv64-fc, batch 64": convolutional,
    **HALVES,
}
"""What is compiled as well, to be trained."""

ADAM = "Adam, 10 M parameters"


def step(lib: Any, name: str) -> Step:
    """Return the training step of a network by its name, or that of the optimizer alone."""
    return adam(lib) if name == ADAM else NETWORKS[name][0](lib)


def main(name: str, side: str, threads: str) -> None:
    """Print the rise of the peak of resident memory in three steps, past what is there before the model is made."""
    lib = importlib.import_module("workbench" if side == "ours" else "torch")
    lib.set_num_threads(int(threads))
    small = lib.nn.Linear(4, 4)
    lib.nn.functional.cross_entropy(small(lib.ones(2, 4)), lib.tensor([0, 1])).backward()

    def work() -> Step:
        run = step(lib, name)
        for _ in range(3):
            run()
        return run

    print(rise(work))


if __name__ == "__main__":
    main(*sys.argv[1:])
