"""DeepLift agrees with Captum's Rescale rule wherever that is complete."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import DeepLift, DeepLiftShap

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Input Tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Setting forward, backward hooks:UserWarning"),
]

RANDOM = np.random.default_rng(3)


def cnn(nn: Any, activation: str) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), getattr(nn, activation)(), nn.Conv2d(4, 4, 1),
        nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(6, 8),
        nn.Tanh(), nn.Linear(8, 3),
    )  # fmt: skip


def alike(make: Any) -> tuple[Any, Any]:
    """Return the same model here and there."""
    torch.manual_seed(1)
    theirs = make(torch.nn).eval()
    ours = make(nn).eval()
    states = {key: wb.from_numpy(value.detach().numpy().copy()) for key, value in theirs.state_dict().items()}
    ours.load_state_dict(states)
    return ours, theirs


def images(*shape: int) -> tuple[Any, Any]:
    values = RANDOM.normal(size=shape).astype(np.float32)
    return wb.from_numpy(values), torch.tensor(values)


@pytest.mark.parametrize("activation", ["ReLU", "ELU", "LeakyReLU", "Sigmoid", "Tanh", "Softplus"])
@pytest.mark.parametrize("multiply", [True, False])
def test_convolutions(activation: str, multiply: bool) -> None:
    ours, theirs = alike(lambda nn: cnn(nn, activation))
    (x, x_there), (b, b_there) = images(3, 2, 8, 8), images(3, 2, 8, 8)
    target = [0, 2, 1]
    found, delta = DeepLift(ours, multiply).attribute(x, b, target, return_convergence_delta=True)
    expected, other = captum.DeepLift(theirs, multiply).attribute(
        x_there, b_there, torch.tensor(target), return_convergence_delta=True
    )
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(delta.numpy(), other.detach().numpy(), atol=1e-4)


def test_many_baselines() -> None:
    ours, theirs = alike(lambda nn: cnn(nn, "ReLU"))
    (x, x_there), (b, b_there) = images(3, 2, 8, 8), images(4, 2, 8, 8)
    found, delta = DeepLiftShap(ours).attribute(x, b, 1, return_convergence_delta=True)
    expected, other = captum.DeepLiftShap(theirs).attribute(
        x_there, b_there, 1, return_convergence_delta=True
    )
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-3, atol=1e-5)
    assert delta.shape == tuple(other.shape)
    np.testing.assert_allclose(delta.numpy(), other.detach().numpy(), atol=1e-4)


def test_two_inputs() -> None:
    def make(nn: Any) -> Any:
        return nn.Sequential(nn.Linear(7, 9), nn.ReLU(), nn.Linear(9, 4), nn.Sigmoid(), nn.Linear(4, 2))

    ours, theirs = alike(make)

    class Joined(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = theirs

        def forward(self, a: Any, b: Any) -> Any:
            return self.inner(torch.cat([a, b], 1))

    (a, a_there), (b, b_there) = images(3, 4), images(3, 3)
    found = DeepLift(lambda a, b: ours(wb.cat([a, b], 1))).attribute((a, b), (0.5, 0), target=1)
    expected = captum.DeepLift(Joined().eval()).attribute((a_there, b_there), (0.5, 0), target=1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_softmax_is_complete_here_and_not_there() -> None:
    # Captum takes the mean of a softmax's multipliers over the whole tensor, all samples of the batch among them.
    ours, theirs = alike(lambda nn: nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3), nn.Softmax(1)))
    x, x_there = images(4, 5)
    _, delta = DeepLift(ours).attribute(x, target=1, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() < 1e-6
    alone = captum.DeepLift(theirs).attribute(x_there[:1], target=1)
    beside = captum.DeepLift(theirs).attribute(x_there, target=1)[:1]
    assert not np.allclose(alone.detach(), beside.detach(), rtol=1e-3)
    ours_alone = DeepLift(ours).attribute(x[:1], target=1)
    np.testing.assert_allclose(
        ours_alone.numpy(), DeepLift(ours).attribute(x, target=1)[:1].numpy(), rtol=1e-5
    )


def test_an_activation_before_a_pooling_is_complete_here_and_not_there() -> None:
    # Captum's hooks on the pooling take the activation's rule away: its own delta says so.
    ours, theirs = alike(
        lambda nn: nn.Sequential(
            nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
        )
    )
    (x, x_there), (b, b_there) = images(2, 2, 8, 8), images(2, 2, 8, 8)
    _, delta = DeepLift(ours).attribute(x, b, 1, return_convergence_delta=True)
    _, other = captum.DeepLift(theirs).attribute(x_there, b_there, 1, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() < 1e-6 < 1e-3 < other.abs().max().item()
