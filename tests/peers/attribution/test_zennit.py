"""Rules and composites of relevance agree with those of Zennit 0.5.1 (float64).

Where the two differ on purpose:

- γ: Zennit adds to a bias as to a weight, and takes negative weights for what was negative; here biases stay as they
  are, as in Captum, and the rule is that for values that are not negative.
- Flat: Zennit leaves biases out; here a bias is one more of the parts that relevance is spread over.
- The first layer of "epsilon_gamma_box": Zennit boxes convolutions only; here a linear first layer is boxed, too.
- Functions that are no modules (flatten, relu, +) Zennit does not see: the models here are made of modules.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution

torch = pytest.importorskip("torch")
if importlib.util.find_spec("zennit") is None:
    pytest.skip("Zennit is not installed", allow_module_level=True)

TARGET = [0, 2, 1]
LOW, HIGH = -3.0, 3.0
ROOMS = ("zennit", "torchvision")


@pytest.fixture(scope="module")
def zennit() -> Any:
    """Zennit imports two classes of torchvision's, for models of torchvision's: while it does, there is a stand-in."""

    def loaded() -> dict[str, ModuleType]:
        return {name: one for name, one in sys.modules.items() if name.split(".")[0] in ROOMS}

    before = loaded()
    if "torchvision" not in before and importlib.util.find_spec("torchvision") is None:
        for name in ("torchvision", "torchvision.models", "torchvision.models.resnet"):
            sys.modules[name] = ModuleType(name)
        for name in ("Bottleneck", "BasicBlock"):
            setattr(sys.modules["torchvision.models.resnet"], name, type(name, (torch.nn.Module,), {}))
    try:
        found = importlib.import_module("zennit")
        for name in ("attribution", "canonizers", "composites", "rules", "types"):
            importlib.import_module(f"zennit.{name}")
    finally:
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(before)
    return found


def perceptron(nn: Any, bias: bool = True) -> Any:
    return nn.Sequential(
        nn.Linear(7, 9, bias=bias),
        nn.ReLU(),
        nn.Linear(9, 8, bias=bias),
        nn.ReLU(),
        nn.Linear(8, 3, bias=bias),
    )


def convolutions(nn: Any, bias: bool = True) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 5, 3, padding=1, bias=bias), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(5, 6, 3, bias=bias), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(6, 8, bias=bias), nn.ReLU(),
        nn.Linear(8, 3, bias=bias),
    )  # fmt: skip


def normalised(nn: Any, bias: bool = True) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 5, 3, padding=1, bias=bias), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(5, 6, 3, stride=2, bias=bias), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6, 3, bias=bias),
    )  # fmt: skip


MODELS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "perceptron": (perceptron, (3, 7)),
    "convolutions": (convolutions, (3, 2, 8, 8)),
    "batch norm": (normalised, (3, 2, 8, 8)),
}


def alike(name: str, bias: bool = True) -> tuple[Any, Any, np.ndarray[Any, Any]]:
    """Return the same model here and there, and inputs for it."""
    make, shape = MODELS[name]
    theirs, ours = make(torch.nn, bias).double().eval(), make(wb.nn, bias).double().eval()
    random = np.random.default_rng(5)
    for key, one in theirs.state_dict().items():
        if "var" in key:
            one.copy_(torch.tensor(random.uniform(0.3, 1.5, one.shape)))
        elif one.is_floating_point():
            # Far from 0: what keeps quotients stable is 1e-9 here where averages are taken, and there 1e-6.
            one.copy_(torch.tensor(random.normal(size=one.shape)))
    ours.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in theirs.state_dict().items()})
    return ours, theirs, random.uniform(-2, 2, shape)


def explained(
    zennit: Any, model: Any, composite: Any, x: np.ndarray[Any, Any]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the relevance that Zennit finds, from the value of the target on."""
    chosen = torch.eye(3, dtype=torch.float64)[TARGET]
    with zennit.attribution.Gradient(model, composite) as attributor:
        _, found = attributor(torch.tensor(x), lambda output: output * chosen)
    return np.asarray(found.detach().numpy())


def everywhere(zennit: Any, rule: Any, **more: Any) -> Any:
    """Return Zennit's composite of one rule for all layers with weights."""
    kinds, composites = zennit.types, zennit.composites
    layers = [*composites.layer_map_base(), (kinds.Linear, rule)]
    return composites.LayerMapComposite([*more.pop("first", ()), *layers], **more)


def ours_of(model: Any, composite: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return attribution.LRP(model, composite=composite).attribute(wb.from_numpy(x), TARGET).numpy()


def close(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6 * np.abs(expected).max())


RULES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "epsilon": (attribution.EpsilonRule(1e-6), lambda rules: rules.Epsilon(1e-6)),
    "large epsilon": (attribution.EpsilonRule(0.25), lambda rules: rules.Epsilon(0.25)),
    "alpha 2, beta 1": (attribution.AlphaBetaRule(2, 1), lambda rules: rules.AlphaBeta(2, 1)),
    "alpha 1.5, beta 0.5": (attribution.AlphaBetaRule(1.5, 0.5), lambda rules: rules.AlphaBeta(1.5, 0.5)),
    "z+": (attribution.ZPlusRule(), lambda rules: rules.ZPlus()),
    "w²": (attribution.WSquareRule(), lambda rules: rules.WSquare()),
    "z^B": (attribution.ZBoxRule(LOW, HIGH), lambda rules: rules.ZBox(LOW, HIGH)),
}


def by_layer(rule: Any) -> Any:
    """Return the composite of Zennit's basic map: one rule for what has weights, averages by ε, batch norm passes."""

    def composite(op: Any, first: bool) -> Any:
        if op.name == "batch_norm_inference":
            return attribution.IdentityRule()
        return rule if op.name.startswith(("conv", "linear")) else attribution.EpsilonRule(1e-6)

    return composite


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rule", RULES)
def test_rules(zennit: Any, name: str, rule: str) -> None:
    ours, theirs, x = alike(name)
    own, other = RULES[rule]
    expected = explained(zennit, theirs, everywhere(zennit, other(zennit.rules)), x)
    close(ours_of(ours, by_layer(own), x), expected)


@pytest.mark.parametrize("name", ["perceptron", "convolutions"])
@pytest.mark.parametrize("gamma", [0.25, 1.0])
def test_gamma_of_values_that_are_not_negative(zennit: Any, name: str, gamma: float) -> None:
    ours, theirs, x = alike(name)
    for parameter in (*ours[-1].parameters(), *theirs[-1].parameters()):
        # Of a score that is negative Zennit takes the negative weights.
        parameter.data.copy_(abs(parameter.data))
    rule = zennit.rules.Gamma(gamma, stabilizer=1e-9, zero_params="bias")
    expected = explained(zennit, theirs, everywhere(zennit, rule), np.abs(x))
    close(ours_of(ours, by_layer(attribution.GammaRule(gamma, set_bias_to_zero=True)), np.abs(x)), expected)


@pytest.mark.parametrize("name", MODELS)
def test_flat(zennit: Any, name: str) -> None:
    ours, theirs, x = alike(name, bias=False)
    expected = explained(zennit, theirs, everywhere(zennit, zennit.rules.Flat()), x)
    close(ours_of(ours, by_layer(attribution.FlatRule()), x), expected)


def test_flat_counts_a_bias_here_and_not_there(zennit: Any) -> None:
    ours, theirs, x = alike("perceptron")
    x = x[:, :1] + np.arange(8)
    expected = explained(zennit, theirs[-1], everywhere(zennit, zennit.rules.Flat()), x)
    close(ours_of(ours[-1], attribution.FlatRule(), x) * 9 / 8, expected)


COMPOSITES = ["epsilon_plus", "epsilon_plus_flat", "epsilon_alpha2_beta1", "epsilon_alpha2_beta1_flat"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("composite", COMPOSITES)
def test_composites(zennit: Any, name: str, composite: str) -> None:
    ours, theirs, x = alike(name, bias="flat" not in composite)
    close(
        ours_of(ours, composite, x), explained(zennit, theirs, zennit.composites.COMPOSITES[composite](), x)
    )


@pytest.mark.parametrize("name", ["perceptron", "convolutions"])
def test_epsilon_gamma_box(zennit: Any, name: str) -> None:
    # Without biases, and rectified in between: there both γ are the same.
    ours, theirs, x = alike(name, bias=False)
    first = [(zennit.types.Linear, zennit.rules.ZBox(LOW, HIGH))]
    composite = zennit.composites.EpsilonGammaBox(
        LOW, HIGH, first_map=first if name == "perceptron" else None
    )
    close(ours_of(ours, "epsilon_gamma_box", x), explained(zennit, theirs, composite, x))


def test_epsilon_through_batch_norm_is_that_of_what_it_is_merged_into(zennit: Any) -> None:
    ours, theirs, x = alike("batch norm")
    merged = everywhere(
        zennit, zennit.rules.Epsilon(1e-9), canonizers=[zennit.canonizers.SequentialMergeBatchNorm()]
    )
    close(ours_of(ours, "epsilon", x), explained(zennit, theirs, merged, x))


def test_nothing_else_sees_zennit_or_the_stand_in(zennit: Any) -> None:
    assert sys.modules.get("zennit") is not zennit
    assert all(one.__spec__ for name, one in sys.modules.items() if name.split(".")[0] in ROOMS)
