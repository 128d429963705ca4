"""A model read back from an ONNX file is explained as the model it was written from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import LRP, DeepLift, DeepLiftShap

F = nn.functional


class Residual(nn.Module):
    """A branch that is added, written as functions."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow, self.last = nn.Linear(6, 9), nn.Linear(9, 6), nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        return self.last(wb.tanh(x + self.narrow(F.relu(self.wide(x)))))


def cnn(**pool: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 5, 3), nn.Sigmoid(),
        nn.AvgPool2d(**{"kernel_size": 2, **pool}), nn.Flatten(), nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3),
    )  # fmt: skip


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3)), (3, 6)),
    "residual": (Residual, (3, 6)),
    "convolutions": (cnn, (3, 2, 8, 8)),
    "averages beside padding": (
        lambda: cnn(kernel_size=3, stride=2, padding=1, count_include_pad=False),
        (3, 2, 8, 8),
    ),
}
METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "DeepLift": lambda model, x, base: DeepLift(model).attribute(x, base, [0, 2, 1]),
    "DeepLiftShap": lambda model, x, base: DeepLiftShap(model).attribute(x, base, [0, 2, 1]),
    "LRP": lambda model, x, base: LRP(model).attribute(x, [0, 2, 1]),
    "LRP, epsilon plus": lambda model, x, base: LRP(model, composite="epsilon_plus").attribute(x, [0, 2, 1]),
    "LRP, flat": lambda model, x, base: LRP(model, composite="epsilon_alpha2_beta1_flat").attribute(x, [0, 2, 1]),
    "LRP, box": lambda model, x, base: LRP(model, composite="epsilon_gamma_box").attribute(x, [0, 2, 1]),
}  # fmt: skip


@pytest.fixture(scope="module", params=MODELS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model, the one read back, and inputs and baselines."""
    make, shape = MODELS[request.param]
    wb.manual_seed(4)
    model, random = make(), np.random.default_rng(6)
    x, base = (wb.from_numpy(random.normal(size=shape).astype(np.float32)) for _ in range(2))
    model(x)  # moves the statistics of batch norm off 0 and 1
    model.eval()
    path: Path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    wb.onnx.save(model, path, x)
    return model, wb.onnx.load(path).eval(), x, base


@pytest.mark.parametrize("method", METHODS)
def test_a_file_of_onnx(written: Any, method: str) -> None:
    model, opened, x, base = written
    expected = METHODS[method](model, x, base).numpy()
    scale = np.abs(expected).max()
    assert scale > 1e-5
    np.testing.assert_allclose(
        METHODS[method](opened, x, base).numpy(), expected, rtol=1e-3, atol=1e-5 * scale
    )
