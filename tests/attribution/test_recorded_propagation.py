"""What is propagated back agrees with values recorded from Captum 0.9.0 (float64, convolutions and linear layers)."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution, nn

VALUES = np.load(Path(__file__).parent / "recorded" / "propagation.npz", allow_pickle=False)
X, BASE, BASES = (wb.from_numpy(VALUES[name]) for name in ("x", "base", "bases"))
TARGET = VALUES["target"].tolist()


def model(rule: Any = None) -> Any:
    first = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.MaxPool2d(2))
    last = nn.Sequential(nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    made = nn.Sequential(OrderedDict(first=first, flat=nn.Flatten(), last=last)).double().eval()
    made.load_state_dict({name: wb.from_numpy(VALUES[name]) for name in made.state_dict()})
    if rule is not None:
        first[0].rule = first[2].rule = rule
    return made


def check(name: str, found: Any, delta: Any = None) -> None:
    expected = VALUES[name]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    if delta is not None:
        np.testing.assert_allclose(delta.numpy(), VALUES[f"{name} delta"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("multiply", [True, False])
def test_deep_lift(multiply: bool) -> None:
    method = attribution.DeepLift(model(), multiply)
    found = method.attribute(X, BASE, TARGET, return_convergence_delta=True)
    check("deep lift" if multiply else "deep lift, multipliers", *found)


def test_deep_lift_shap() -> None:
    check(
        "deep lift shap",
        *attribution.DeepLiftShap(model()).attribute(X, BASES, TARGET, return_convergence_delta=True),
    )


RULES = {
    "lrp": None,
    "lrp epsilon": attribution.EpsilonRule(0.1),
    "lrp gamma": attribution.GammaRule(0.5),
    "lrp alpha1_beta0": attribution.Alpha1_Beta0_Rule(),
}


@pytest.mark.parametrize("name", RULES)
def test_relevance(name: str) -> None:
    method = attribution.LRP(model(RULES[name]))
    check(name, *method.attribute(X, TARGET, return_convergence_delta=True))


@pytest.mark.parametrize("name", ["GuidedBackprop", "Deconvolution"])
def test_rectified_units(name: str) -> None:
    recorded = {"GuidedBackprop": "guided backprop", "Deconvolution": "deconvolution"}[name]
    check(recorded, getattr(attribution, name)(model()).attribute(X, TARGET))
