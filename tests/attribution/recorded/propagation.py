"""``python tests/attribution/recorded/propagation.py``: record what Captum propagates back, through drawn weights."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum")
attr = pytest.importorskip("captum.attr")
lrp_rules = pytest.importorskip("captum.attr._utils.lrp_rules")

RANDOM = np.random.default_rng(12)
VALUES: dict[str, Any] = {
    "x": RANDOM.normal(size=(3, 2, 6, 6)),
    "base": RANDOM.normal(size=(3, 2, 6, 6)),
    "bases": RANDOM.normal(size=(4, 2, 6, 6)),
    "target": np.array([0, 2, 1]),
    "first.0.weight": RANDOM.normal(size=(3, 2, 3, 3)),
    "first.0.bias": RANDOM.normal(size=3),
    "first.2.weight": RANDOM.normal(size=(4, 3, 3, 3)),
    "first.2.bias": RANDOM.normal(size=4),
    "last.0.weight": RANDOM.normal(size=(6, 16)) / 4,
    "last.0.bias": RANDOM.normal(size=6),
    "last.2.weight": RANDOM.normal(size=(5, 6)) / 3,
    "last.2.bias": RANDOM.normal(size=5),
    "last.4.weight": RANDOM.normal(size=(3, 5)),
    "last.4.bias": RANDOM.normal(size=3),
}
RULES: dict[str, Any] = {
    "epsilon": lambda: lrp_rules.EpsilonRule(0.1),
    "gamma": lambda: lrp_rules.GammaRule(0.5),
    "alpha1_beta0": lambda: lrp_rules.Alpha1_Beta0_Rule(),
}


class Network(torch.nn.Module):
    """The network that the tests make, too; Captum's LRP knows no Flatten, and does not see functions."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.first = nn.Sequential(
            nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)
        )
        self.last = nn.Sequential(nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))

    def forward(self, x: Any) -> Any:
        """Return scores [N, 3]."""
        return self.last(self.first(x).flatten(1))


def model(rule: Any = None) -> Network:
    """Return the network with the recorded weights, and a rule for its convolutions."""
    made = Network().double().eval()
    made.load_state_dict({name: torch.tensor(VALUES[name]) for name in made.state_dict()})
    if rule is not None:
        made.first[0].rule, made.first[2].rule = rule(), rule()
    return made


def main() -> None:
    """Write the file beside the tests."""
    warnings.simplefilter("ignore")
    x, base, bases, target = (torch.tensor(VALUES[name]) for name in ("x", "base", "bases", "target"))
    attr, delta = captum.attr, {"return_convergence_delta": True}
    found = {
        "deep lift": attr.DeepLift(model()).attribute(x, base, target, **delta),
        "deep lift, multipliers": attr.DeepLift(model(), False).attribute(x, base, target, **delta),
        "deep lift shap": attr.DeepLiftShap(model()).attribute(x, bases, target, **delta),
        "lrp": attr.LRP(model()).attribute(x, target, **delta),
        "guided backprop": (attr.GuidedBackprop(model()).attribute(x, target),),
        "deconvolution": (attr.Deconvolution(model()).attribute(x, target),),
        **{
            f"lrp {name}": attr.LRP(model(rule)).attribute(x, target, **delta) for name, rule in RULES.items()
        },
    }
    arrays: dict[str, Any] = {}
    for name, (values, *deltas) in found.items():
        arrays[name] = values.detach().numpy()
        arrays.update({f"{name} delta": one.detach().numpy() for one in deltas})
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **VALUES, **arrays)


if __name__ == "__main__":
    main()
