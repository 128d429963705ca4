"""Modules of PyTorch's made ours are explained as the same module written here, and as Captum explains theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import LRP, Deconvolution, DeepLift, DeepLiftShap, GuidedBackprop

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Input Tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Setting (forward, )?backward hooks:UserWarning"),
]

TARGET = [0, 2, 1]


def perceptron(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 5), nn.Tanh(), nn.Linear(5, 3))


def cnn(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.MaxPool2d(2),
        nn.Conv2d(4, 5, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3),
    )  # fmt: skip


def residual(nn: Any) -> Any:
    class Residual(nn.Module):  # type: ignore[misc, name-defined]
        """No layer that is known: what it calls is traced."""

        def __init__(self) -> None:
            super().__init__()
            self.wide, self.narrow, self.last = nn.Linear(6, 9), nn.Linear(9, 6), nn.Linear(6, 3)

        def forward(self, x: Any) -> Any:
            return self.last((x + self.narrow(nn.functional.relu(self.wide(x)))).tanh())

    return Residual()


MODELS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "perceptron": (perceptron, (3, 6)),
    "convolutions": (cnn, (3, 2, 8, 8)),
    "residual": (residual, (3, 6)),
}
METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "DeepLift": lambda model, x, base: DeepLift(model).attribute(x, base, TARGET),
    "DeepLiftShap": lambda model, x, base: DeepLiftShap(model).attribute(x, base, TARGET),
    "GuidedBackprop": lambda model, x, base: GuidedBackprop(model).attribute(x, TARGET),
    "Deconvolution": lambda model, x, base: Deconvolution(model).attribute(x, TARGET),
    "LRP": lambda model, x, base: LRP(model).attribute(x, TARGET),
    "LRP, epsilon plus": lambda model, x, base: LRP(model, composite="epsilon_plus").attribute(x, TARGET),
    "LRP, flat": lambda model, x, base: LRP(model, composite="epsilon_alpha2_beta1_flat").attribute(x, TARGET),
    "LRP, box": lambda model, x, base: LRP(model, composite="epsilon_gamma_box").attribute(x, TARGET),
}  # fmt: skip


def three(name: str) -> tuple[Any, Any, Any, list[np.ndarray[Any, Any]]]:
    """Return a module of PyTorch's, what is made of it, the same written here, and inputs and baselines."""
    make, shape = MODELS[name]
    torch.manual_seed(2)
    theirs, random = make(torch.nn).double(), np.random.default_rng(9)
    x, base = (random.normal(size=shape) for _ in range(2))
    theirs(torch.tensor(x))  # moves the statistics of batch norm off 0 and 1
    written = make(wb.nn).double().eval()
    states = theirs.eval().state_dict()
    written.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in states.items()})
    return theirs, wb.interop.torch.from_module(theirs).eval(), written, [x, base]


def close(found: Any, expected: Any) -> None:
    scale = np.abs(expected).max()
    assert scale > 1e-5
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * scale)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_as_the_model_written_here(name: str, method: str) -> None:
    _, taken, written, given = three(name)
    x, base = (wb.from_numpy(one) for one in given)
    close(METHODS[method](taken, x, base).numpy(), METHODS[method](written, x, base).numpy())


@pytest.mark.parametrize("name", ["perceptron", "convolutions"])
@pytest.mark.parametrize("method", ["DeepLift", "DeepLiftShap"])
def test_as_captum_explains_it(name: str, method: str) -> None:
    theirs, taken, _, given = three(name)
    x, base = (torch.tensor(one) for one in given)
    expected = getattr(captum, method)(theirs).attribute(x, base, torch.tensor(TARGET))
    close(METHODS[method](taken, *map(wb.from_numpy, given)).numpy(), expected.detach().numpy())


def test_relevance_as_captum_finds_it() -> None:
    theirs, taken, _, given = three("perceptron")
    expected = captum.LRP(theirs).attribute(torch.tensor(given[0]), torch.tensor(TARGET))
    close(METHODS["LRP"](taken, *map(wb.from_numpy, given)).numpy(), expected.detach().numpy())
