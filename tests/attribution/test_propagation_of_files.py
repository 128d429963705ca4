"""A model read back from an ONNX file is explained as the model it was written from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import LRP, DeepLift, DeepLiftShap, Study, explain

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


POOLS = {
    "more behind than before": "onnx.AveragePool(%x, kernel_shape=[2, 3], pads=[0, 0, 1, 1], strides=[1, 2])",
    "with gaps": "onnx.AveragePool(%x, kernel_shape=[2, 2], dilations=[2, 3], pads=[1, 0, 1, 1], strides=[2, 1])",
    "rounded up": "onnx.AveragePool(%x, kernel_shape=[3, 2], strides=[3, 4], ceil_mode=1, count_include_pad=1)",
}  # fmt: skip


@pytest.mark.parametrize("composite", ["epsilon", "epsilon_plus_flat", "epsilon_gamma_box"])
@pytest.mark.parametrize("pool", POOLS)
def test_averages_with_windows_of_any_kind_are_no_layer_with_weights(pool: str, composite: str) -> None:
    graph = one_call(POOLS[pool])
    random = np.random.default_rng(3)
    x, base = (wb.from_numpy(random.normal(size=(2, 2, 5, 6)).astype(np.float32)) for _ in range(2))
    (slopes,) = wb.autograd.grad(graph(x.requires_grad_())[:, 1, 1, 0].sum(), [x])
    x = x.detach()
    assert (slopes != 0).sum() > 2
    found = LRP(graph, composite=composite).attribute(x, (1, 1, 0))
    np.testing.assert_allclose(found.numpy(), (x * slopes).numpy(), rtol=1e-4, atol=1e-6)
    found, delta = DeepLift(graph).attribute(x, base, (1, 1, 0), return_convergence_delta=True)
    np.testing.assert_allclose(found.numpy(), ((x - base) * slopes).numpy(), rtol=1e-4, atol=1e-6)
    assert delta.abs().max() < 1e-5


def test_greatest_values_of_windows_with_gaps_add_up() -> None:
    call = "onnx.MaxPool(%x, kernel_shape=[2, 2], dilations=[2, 2], pads=[0, 0, 1, 1], outputs=1)"
    graph = one_call(call)
    opened = nn.Sequential(Opened(graph), nn.Flatten(), nn.Linear(40, 3), nn.Tanh()).eval()
    random = np.random.default_rng(3)
    x, base = (wb.from_numpy(random.normal(size=(2, 2, 5, 6)).astype(np.float32)) for _ in range(2))
    delta = DeepLift(opened).attribute(x, base, 1, return_convergence_delta=True)[1]
    assert delta.abs().max() < 1e-5


def one_call(call: str) -> Any:
    """Return a graph of one operator of ONNX."""
    assert wb.onnx.operators()  # enters them where graphs look names up
    return wb.graph.parse(f"g(%x : f32[N:2, C:2, H:5, W:6]):\n  %y : any = {call}\n  return %y")


class Opened(nn.Module):
    """The first of what a graph returns."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, x: Any) -> Any:
        found = self.graph(x)
        return found[0] if isinstance(found, tuple) else found


def test_a_model_that_was_read_is_studied(tmp_path: Path) -> None:
    """A study explains a copy of the model, one sample at a time."""
    model, x = MODELS["perceptron"][0]().eval(), wb.rand(3, 6)
    wb.onnx.save(model, tmp_path / "model.onnx", x)
    found = Study(wb.onnx.load(tmp_path / "model.onnx"), x, method="saliency", publish=False).wait()
    expected = explain(model, x, method="saliency", publish=False).attributions
    np.testing.assert_allclose(found.attributions.numpy(), expected.numpy()[:1], rtol=1e-5)
