"""Relevance, guided backpropagation and their layer and neuron forms agree with Captum's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution as ours_kinds
from workbench import nn

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")
rules = pytest.importorskip("captum.attr._utils.lrp_rules")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Input Tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Setting (forward, )?backward hooks:UserWarning"),
]

RANDOM = np.random.default_rng(4)
IMAGES = RANDOM.normal(size=(3, 2, 8, 8)).astype(np.float32)
TARGET = [0, 2, 1]


class Flat(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Captum's LRP knows no Flatten; functions it does not see."""

    def __init__(self, first: Any, last: Any) -> None:
        super().__init__()
        self.first, self.last = first, last

    def forward(self, x: Any) -> Any:
        """Flatten between two parts."""
        return self.last(self.first(x).flatten(1))


def parts(nn: Any) -> tuple[Any, Any]:
    first = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU()
    )
    return first, nn.Sequential(nn.Linear(24, 8), nn.Tanh(), nn.Linear(8, 3))


def alike() -> tuple[Any, Any]:
    """Return the same model here and there."""
    torch.manual_seed(1)
    theirs = Flat(*parts(torch.nn)).eval()
    first, last = parts(nn)
    for own, other in ((first, theirs.first), (last, theirs.last)):
        own.load_state_dict(
            {key: wb.from_numpy(one.numpy().copy()) for key, one in other.state_dict().items()}
        )
    ours = nn.Sequential(first, nn.Flatten(), last).eval()
    return ours, theirs


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("EpsilonRule", (1e-2,)), ("GammaRule", (0.5,)), ("Alpha1_Beta0_Rule", ()), ("GammaRule", (0.25, True))],
)
def test_rules_of_relevance(name: str, settings: tuple[Any, ...]) -> None:
    ours, theirs = alike()
    for place in (0, 3):
        ours[0][place].rule = getattr(ours_kinds, name)(*settings)
        theirs.first[place].rule = getattr(rules, name)(*settings)
    found, delta = ours_kinds.LRP(ours).attribute(
        wb.from_numpy(IMAGES), TARGET, return_convergence_delta=True
    )
    expected, other = captum.LRP(theirs).attribute(
        torch.tensor(IMAGES), torch.tensor(TARGET), return_convergence_delta=True
    )
    close(found, expected)
    np.testing.assert_allclose(delta.numpy(), other.detach().numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["GuidedBackprop", "Deconvolution"])
def test_rectified_units(name: str) -> None:
    ours, theirs = alike()
    found = getattr(ours_kinds, name)(ours).attribute(wb.from_numpy(IMAGES), TARGET)
    close(found, getattr(captum, name)(theirs).attribute(torch.tensor(IMAGES), torch.tensor(TARGET)))
    found = getattr(ours_kinds, f"Neuron{name}")(ours, ours[0][3]).attribute(wb.from_numpy(IMAGES), (2, 1, 0))
    close(
        found,
        getattr(captum, f"Neuron{name}")(theirs, theirs.first[3]).attribute(torch.tensor(IMAGES), (2, 1, 0)),
    )


def test_guided_grad_cam() -> None:
    ours, theirs = alike()
    found = ours_kinds.GuidedGradCam(ours, ours[0][3]).attribute(wb.from_numpy(IMAGES), TARGET)
    close(
        found,
        captum.GuidedGradCam(theirs, theirs.first[3]).attribute(torch.tensor(IMAGES), torch.tensor(TARGET)),
    )


def test_layers_and_neurons() -> None:
    ours, theirs = alike()
    x, there = wb.from_numpy(IMAGES), torch.tensor(IMAGES)
    base = RANDOM.normal(size=IMAGES.shape).astype(np.float32)
    found = ours_kinds.LayerDeepLift(ours, ours[0][3]).attribute(x, wb.from_numpy(base), TARGET)
    close(
        found,
        captum.LayerDeepLift(theirs, theirs.first[3]).attribute(
            there, torch.tensor(base), torch.tensor(TARGET)
        ),
    )
    relevance = ours_kinds.LayerLRP(ours, ours[0][3]).attribute(x, TARGET)
    close(relevance, captum.LayerLRP(theirs, theirs.first[3]).attribute(there, torch.tensor(TARGET)))
