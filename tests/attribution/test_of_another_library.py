"""Models and tensors of another library: refused where they are given, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    FeatureAblation,
    NoiseTunnel,
    Saliency,
    SegmentationScores,
    Study,
    attention_weights,
    compare,
    explain,
)
from workbench.attribution.concept import TCAV
from workbench.attribution.influence import TracInCP
from workbench.attribution.metrics import (
    deletion_curve,
    infidelity,
    parameter_randomization,
    pointing_game,
    road_curve,
    sensitivity_n,
)
from workbench.attribution.robust import FGSM, PGD, AttackComparator, MinParamPerturbation

# As PyTorch's own are told from ours: by their names, and it need not be installed.
Foreign: Any = type("Module", (), {"__module__": "torch.nn.modules.module", "__call__": lambda self, x: x})
Linear: Any = type("Linear", (Foreign,), {})
Numbers: Any = type("Tensor", (), {"__module__": "torch"})

x = wb.rand(2, 4)
model = nn.Linear(4, 3).eval()

MODELS: dict[str, Callable[[Any], Any]] = {
    "method": Saliency,
    "explain": lambda model: explain(model, x),
    "compare": lambda model: compare(model, x, 0, ["saliency"]),
    "Study": lambda model: Study({"float": nn.Linear(4, 3), "other": model}, x),
    "infidelity": lambda model: infidelity(model, lambda x: (x, x), x, x, target=0),
    "deletion_curve": lambda model: deletion_curve(model, x, x, 0),
    "road_curve": lambda model: road_curve(model, x, x, 0),
    "sensitivity_n": lambda model: sensitivity_n(model, x, x, 2, target=0),
    "FGSM": FGSM,
    "PGD": PGD,
    "AttackComparator": lambda model: AttackComparator(model, len),
    "MinParamPerturbation": lambda model: MinParamPerturbation(model, len, "size", 0, 1, 0.1),
    "attention_weights": lambda model: attention_weights(model, x),
    "SegmentationScores": SegmentationScores,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_another_library_is_refused_where_it_is_given(name: str) -> None:
    words = (
        r"the model, a Linear, does not run here; it is a module of PyTorch's own: .*from_module\(module\)"
    )
    with pytest.raises(TypeError, match=words):
        MODELS[name](Linear())


@pytest.mark.parametrize(
    "make",
    [
        lambda model: NoiseTunnel(model),
        lambda model: TCAV(model, ["0"]),
        lambda model: TracInCP(model, [(x, x)], ["a"], len),
        lambda model: parameter_randomization(model, len, x),
    ],
)
def test_where_a_module_is_wanted_it_is_told_too(make: Callable[[Any], Any]) -> None:
    with pytest.raises(
        TypeError, match=r"got Linear; it is a module of PyTorch's own: .*from_module\(module\)"
    ):
        make(Linear())


@pytest.mark.parametrize(
    "call",
    [
        lambda one: FeatureAblation(model).attribute(x, target=0, feature_mask=one),
        lambda one: wb.attribution.feature_mask(one, dims="C"),
        lambda one: pointing_game(x, one),
        lambda one: infidelity(model, lambda x: (x, x), x, one, target=0),
        lambda one: infidelity(model, lambda x: (one, one), x, x, target=0),
        lambda one: FGSM(model).perturb(x, 0.1, 0, mask=one),
    ],
)
def test_so_are_tensors_of_another_library(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"torch\.Tensor; it is PyTorch's own, .*wb\.tensor\(x\) copies it"):
        call(Numbers())
