"""Relevance by the op: conserved wherever a call comes from, by the rule asked for, refused by name elsewhere."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench import nn
from workbench.attribution import (
    LRP,
    Alpha1_Beta0_Rule,
    AlphaBetaRule,
    ConvergenceWarning,
    Deconvolution,
    DeepLift,
    EpsilonRule,
    FlatRule,
    GammaRule,
    GuidedBackprop,
    GuidedGradCam,
    IdentityRule,
    InputXGradient,
    LayerDeepLift,
    LayerDeepLiftShap,
    LayerGradCam,
    LayerLRP,
    NeuronDeconvolution,
    NeuronDeepLift,
    NeuronDeepLiftShap,
    NeuronGuidedBackprop,
    PropagationRule,
    Saliency,
    WSquareRule,
    ZBoxRule,
    ZPlusRule,
    compare,
    explain,
)

F = nn.functional


def draw(*shape: int, seed: int = 0) -> wb.Tensor:
    return wb.from_numpy(np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32))


def without_biases(make: Callable[[], Any]) -> Any:
    """Biases take their share of relevance: without them all of it arrives."""
    wb.manual_seed(3)
    model = make().eval()
    for name, value in model.named_parameters():
        if "bias" in name:
            value.data.zero_()
    return model


LINEAR = without_biases(lambda: nn.Linear(6, 6))
RELU = nn.ReLU().eval()
LSTM = without_biases(lambda: nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True))
GRU = without_biases(lambda: nn.GRU(4, 5, batch_first=True))
TRANSFORMER = without_biases(
    lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
)


def cnn() -> Any:
    return without_biases(
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.SiLU(),
            nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 3),
        )
    )  # fmt: skip


def in_place(x: Any) -> Any:
    hidden = LINEAR(x)
    hidden.relu_()
    hidden[:, 0] *= 2
    hidden[:, 1:3].tanh_()
    return hidden.sum(1)


MODELS: dict[str, tuple[Callable[..., Any], tuple[int, ...], Any]] = {
    "functional relu": (lambda x: F.relu(LINEAR(x)).sum(1), (3, 6), None),
    "one ReLU twice": (lambda x: RELU(LINEAR(RELU(LINEAR(x)))).sum(1), (3, 6), None),
    "one Linear twice": (lambda x: LINEAR(wb.tanh(LINEAR(x))), (3, 6), 2),
    "in place": (in_place, (3, 6), None),
    "flatten": (lambda x: LINEAR(x.flatten(1)), (3, 2, 3), 4),
    "add and concatenation": (lambda x: LINEAR(wb.cat([x + x.relu(), x], 1)[:, 3:9]), (3, 6), 1),
    "products": (lambda x: (x * LINEAR(x)).sum(1) * x.sum(1), (3, 6), None),
    "CNN": (cnn(), (2, 2, 8, 8), 1),
    "transformer": (lambda x: TRANSFORMER(x).mean(1), (2, 5, 8), 3),
    "LSTM": (lambda x: LSTM(x)[0][:, -1], (2, 6, 4), 1),
    "GRU": (lambda x: GRU(x)[1][0], (2, 6, 4), 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_relevance_is_conserved_wherever_a_call_comes_from(name: str) -> None:
    model, shape, target = MODELS[name]
    _, delta = LRP(model).attribute(draw(*shape), target=target, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() <= 1e-4


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_a_linear_model_gives_its_weights(values: list[float]) -> None:
    x = wb.tensor([values], dtype=wb.float64)
    weight = wb.from_numpy(np.random.default_rng(1).normal(size=(2, 6)))
    found = LRP(lambda x: F.linear(x, weight)).attribute(x, target=1)
    np.testing.assert_allclose(found.numpy()[0], values * weight.numpy()[1], atol=1e-6)


def test_lrp_0_of_rectified_layers_is_input_times_gradient() -> None:
    model, x = cnn(), draw(2, 2, 8, 8)
    model[4] = nn.ReLU()
    found = LRP(model.eval()).attribute(x, target=1)
    np.testing.assert_allclose(
        found.numpy(), InputXGradient(model).attribute(x, target=1).numpy(), rtol=1e-3, atol=1e-6
    )


def test_biases_take_their_share() -> None:
    x = wb.tensor([[1.0, 2.0]])
    model = lambda x: F.linear(x, wb.tensor([[1.0, 1.0]]), wb.tensor([5.0]))
    found, delta = LRP(model).attribute(x, return_convergence_delta=True)
    np.testing.assert_allclose(found.numpy(), [[1.0, 2.0]], rtol=1e-6)
    np.testing.assert_allclose(delta.numpy(), [5.0], rtol=1e-6)
    again = LRP(model).compute_convergence_delta(found, model(x))
    np.testing.assert_allclose(again.numpy(), delta.numpy(), rtol=1e-6)


def biased(make: Callable[[], Any]) -> Any:
    wb.manual_seed(3)
    model = make().eval()
    for name, value in model.state_dict().items():
        if "bias" in name or "running_mean" in name:
            value.normal_()
    return model


ATTENTIVE = biased(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
RECURRENT = biased(lambda: nn.GRU(4, 5, batch_first=True))
PICTURES = biased(
    lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.ConvTranspose2d(4, 4, 2),
        nn.GroupNorm(2, 4), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16, 3),
    )
)  # fmt: skip
SPARSE = wb.eye(6).to_sparse()
INDEX = wb.tensor([[0, 1, 1, 2, 3, 5]] * 3)


def written(x: Any) -> Any:
    changed = x * 1
    changed[:, 2] = 5.0
    return changed.sum(1)


ABSORBING: dict[str, tuple[Callable[..., Any], tuple[int, ...], set[str]]] = {
    "transformer": (lambda x: ATTENTIVE(x).mean((1, 2)), (2, 5, 8), {"biases"}),
    "recurrent": (lambda x: RECURRENT(x)[1][0, :, 1], (2, 6, 4), {"biases"}),
    "added number": (lambda x: (2.0 - x).sum(1), (3, 6), {"biases"}),
    "concatenated": (lambda x: wb.cat([x, wb.ones(3, 2)], 1).sum(1), (3, 6), {"biases"}),
    "two factors": (lambda x: F.bilinear(x, x, draw(2, 6, 6), draw(2))[:, 1], (3, 6), {"biases"}),
    "normalized": (lambda x: F.batch_norm(x, draw(6), draw(6) ** 2 + 1).sum(1), (3, 6), {"normalization"}),
    "padded": (lambda x: F.pad(x, (1, 2), value=3.0).sum(1), (3, 6), {"constants"}),
    "chosen": (lambda x: wb.maximum(x, wb.tensor(0.5)).sum(1), (3, 6), {"constants"}),
    "written to": (written, (3, 6), {"constants"}),
    "added at places": (lambda x: x.scatter_add(1, INDEX, x * 2).sum(1), (3, 6), set()),
    "ones at places": (lambda x: x.scatter_add(1, INDEX, wb.ones(3, 6)).sum(1), (3, 6), {"biases"}),
    "resized": (lambda x: F.interpolate(x, size=9, mode="linear").sum((1, 2)), (2, 3, 6), set()),
    "sampled": (
        lambda x: F.grid_sample(x, 0.3 * draw(2, 3, 3, 2), align_corners=False).sum((1, 2, 3)),
        (2, 1, 5, 5),
        set(),
    ),
    "of a sparse matrix": (lambda x: (SPARSE @ x.T).sum(0), (3, 6), set()),
    "frequencies": (lambda x: wb.fft.rfft(x.cumsum(1)).abs().sum(1), (3, 6), set()),
}


@pytest.mark.parametrize("rule", [EpsilonRule(), GammaRule(), AlphaBetaRule(2, 1), WSquareRule()])
@pytest.mark.parametrize("name", ABSORBING)
def test_what_did_not_arrive_was_taken_by_something(name: str, rule: Any) -> None:
    model, shape, takers = ABSORBING[name]
    result = explain(model, draw(*shape), method="lrp", composite=rule, publish=False)
    assert result.absorbed is not None and result.within_tolerance()
    assert abs(result.absorbed.rest) <= 1e-5 * float(result.scores.abs().sum() + 1)
    assert takers <= result.absorbed.amounts.keys() <= takers | {"stabiliser"}
    assert f"(absorbed: {result.absorbed})" in repr(result)


@pytest.mark.parametrize(
    "composite",
    [
        "epsilon_plus", "epsilon_plus_flat", "epsilon_alpha2_beta1_flat", "epsilon_gamma_box",
        Alpha1_Beta0_Rule(), GammaRule(0.5, set_bias_to_zero=True), EpsilonRule(0.5), ZBoxRule(-3, 3),
    ],
)  # fmt: skip
def test_every_rule_counts_what_it_takes(composite: Any) -> None:
    result = explain(PICTURES, draw(3, 2, 10, 10), 1, "lrp", composite=composite, publish=False)
    assert result.absorbed is not None and result.within_tolerance()
    total = sum(result.absorbed.amounts.values()) + result.absorbed.rest
    np.testing.assert_allclose(total, result.delta.numpy().sum(), rtol=1e-9)
    assert result.absorbed.amounts["biases"] and "rules" not in result.absorbed.amounts


class Block(nn.Module):
    """A convolution that is normalized, with a way past it, and weights that have biases."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.last = nn.Conv2d(4, 4, 3, padding=1), nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        x = wb.relu(self.norm(self.first(x)))
        x = wb.relu(x + self.second(x))
        return self.last(F.adaptive_avg_pool2d(x, 2).flatten(1))


BLOCK = biased(Block)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("layer", "at_input", "takers"),
    [
        ("last", False, set()),
        ("last", True, {"biases"}),
        ("second", True, {"biases"}),  # what is given to it goes past it, too, and is explained
        ("second", False, {"biases", "normalization", "bypass"}),
        ("norm", False, {"biases"}),
        ("norm", True, {"biases", "normalization"}),
        ("first", False, {"biases", "normalization"}),
        ("first", True, {"biases", "normalization"}),
    ],
)
def test_what_did_not_arrive_at_a_layer_was_taken_behind_it_or_went_past(
    layer: str, at_input: bool, takers: set[str], dtype: str
) -> None:
    model, x = copy.deepcopy(BLOCK).to(dtype), draw(3, 2, 6, 6).to(dtype)
    result = explain(model, x, 1, "layer_lrp", layer=layer, attribute_to_layer_input=at_input, publish=False)
    assert result.absorbed is not None and result.within_tolerance()
    assert takers <= result.absorbed.amounts.keys() <= takers | {"stabiliser"}
    total = sum(result.absorbed.amounts.values()) + result.absorbed.rest
    np.testing.assert_allclose(total, result.delta.numpy().sum(), rtol=1e-9)
    size = float(result.scores.float().abs().sum())
    assert abs(result.absorbed.rest) <= (1e-5 if dtype == "float32" else 2e-2) * size


def test_what_is_taken_behind_a_layer_and_before_it_is_what_is_taken_in_all() -> None:
    x = draw(3, 2, 6, 6)
    taken = {
        name: explain(BLOCK, x, 1, method, publish=False, **settings).absorbed.amounts
        for name, method, settings in (
            ("all", "lrp", {}),
            ("behind", "layer_lrp", {"layer": "norm"}),
            ("from its input", "layer_lrp", {"layer": "norm", "attribute_to_layer_input": True}),
        )
    }
    whole, behind, here = taken["all"], taken["behind"], taken["from its input"]
    np.testing.assert_allclose(here["normalization"], whole["normalization"], rtol=1e-5)
    np.testing.assert_allclose(here["biases"], behind["biases"], rtol=1e-6)
    first = draw(3, 2, 6, 6)
    given = LayerLRP(BLOCK, "first").attribute(first, 1).sum() - LRP(BLOCK).attribute(first, 1).sum()
    np.testing.assert_allclose(whole["biases"] - behind["biases"], float(given), rtol=1e-3)


NEARLY = [33333334.0, 33333334.0, 33333334.0, -99999936.0]
"""In float32 the sum is 64 or 68 where it is 66, in whichever order; in float64 it is exact."""


def test_relevance_that_rounding_loses_behind_a_layer_is_warned_of() -> None:
    x = wb.tensor([NEARLY])
    model = nn.Sequential(nn.Identity(), nn.Linear(4, 1, bias=False)).eval()
    model[1].weight.data.fill_(1.0)
    with pytest.warns(ConvergenceWarning, match="LayerLRP: relevance of .* was lost on the way"):
        LayerLRP(model, "0").attribute(x)


def test_what_else_takes_relevance_has_its_name() -> None:
    class Half(PropagationRule):
        def share(self, call: Any, relevance: Any) -> Any:
            return 0.5 * call.x * call.back(relevance / call.z, call.weight)

    x = draw(2, 5, 8)
    taylor = explain(lambda x: ATTENTIVE(x).mean(1), x, 3, "lrp", softmax="taylor", publish=False)
    assert taylor.absorbed.amounts["softmax"] and taylor.within_tolerance()
    own = explain(
        lambda x: F.linear(x, draw(1, 6)), draw(3, 6), method="lrp", composite=Half(), publish=False
    )
    np.testing.assert_allclose(own.absorbed.amounts["rules"], own.scores.numpy().sum() / 2, rtol=1e-5)


def test_relevance_that_rounding_loses_is_warned_of() -> None:
    x = wb.tensor([NEARLY])
    model = lambda x: F.linear(x, wb.ones(1, 4, dtype=x.dtype))
    words = r"LRP: relevance of .* was lost on the way, more than .*: where values that nearly cancel are added up"
    with pytest.warns(ConvergenceWarning, match=words):
        LRP(model).attribute(x)
    with pytest.warns(ConvergenceWarning, match=words):
        result = explain(model, x, method="lrp")
    assert not result.within_tolerance()
    board = compare(model, x, None, ["lrp"], ["deletion"], publish=False).wait()
    assert re.search(words[5:], board.rows[0].figures["delta"].note)
    assert explain(model, x.double(), method="lrp", publish=False).within_tolerance()


RULES: dict[str, tuple[Any, list[float]]] = {
    # z = 3·2 - 2·1 + 1·(-2) = 2 with x = (2, 1, -2), w = (3, -2, 1)
    "epsilon": (EpsilonRule(), [6.0, -2.0, -2.0]),
    "epsilon 2": (EpsilonRule(2.0), [3.0, -1.0, -1.0]),
    "gamma": (GammaRule(1.0), [4.0, -2 / 3, -4 / 3]),
    "alpha 1 beta 0": (Alpha1_Beta0_Rule(), [3.0, 0.0, -1.0]),
    "z plus": (ZPlusRule(), [2.0, 0.0, 0.0]),
    "alpha 2 beta 1": (AlphaBetaRule(2, 1), [4.0, -1.0, -1.0]),
    "w square": (WSquareRule(), [18 / 14, 8 / 14, 2 / 14]),
    "flat": (FlatRule(), [2 / 3, 2 / 3, 2 / 3]),
    # (x - low)·w⁺ + (x - high)·w⁻ = 12, 2·... with low = -2, high = 2: 12, 2, 0
    "z box": (ZBoxRule(-2.0, 2.0), [24 / 14, 4 / 14, 0.0]),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_share_as_they_say(name: str) -> None:
    rule, expected = RULES[name]
    x, weight = wb.tensor([[2.0, 1.0, -2.0]]), wb.tensor([[3.0, -2.0, 1.0]])
    found = LRP(lambda x: F.linear(x, weight), composite=rule).attribute(x)
    np.testing.assert_allclose(found.numpy()[0], expected, rtol=1e-4, atol=1e-5)


def test_a_module_may_have_a_rule_of_its_own() -> None:
    model, x = cnn(), draw(2, 2, 8, 8)
    plain = LRP(model).attribute(x, target=0)
    model[0].rule = GammaRule(0.5)
    own = LRP(model).attribute(x, target=0)
    only_first = LRP(model, composite=lambda op, first: GammaRule(0.5) if first else EpsilonRule()).attribute(
        x, target=0
    )
    assert not np.allclose(plain.numpy(), own.numpy(), rtol=1e-2)
    np.testing.assert_allclose(own.numpy(), only_first.numpy(), rtol=1e-5)


def test_composites_go_by_the_kind_of_layer() -> None:
    model, x = cnn(), draw(2, 2, 8, 8)
    found = {
        name: LRP(model, composite=name).attribute(x, target=0).numpy()
        for name in (
            "epsilon",
            "epsilon_plus",
            "epsilon_plus_flat",
            "epsilon_alpha2_beta1",
            "epsilon_gamma_box",
        )
    }
    arrays = list(found.values())
    assert all(not np.allclose(a, b, rtol=1e-2) for i, a in enumerate(arrays) for b in arrays[:i])
    with pytest.raises(ValueError, match="no composite 'epsilon_pluss'; did you mean 'epsilon_plus'"):
        LRP(model, composite="epsilon_pluss")
    with pytest.raises(TypeError, match="composite is a name"):
        LRP(model, composite=3)
    with pytest.raises(ValueError, match='softmax is "constant" or "taylor"'):
        LRP(model, softmax="none")
    with pytest.raises(ValueError, match="alpha - beta must be 1"):
        AlphaBetaRule(2, 2)


def test_the_rule_of_attention_weights() -> None:
    x = wb.tensor([[1.0, -2.0, 0.5]], dtype=wb.float64)
    found = LRP(lambda x: x.softmax(1), softmax="taylor").attribute(x, target=0)
    s = np.exp(x.numpy()) / np.exp(x.numpy()).sum()
    relevance = np.array([[s[0, 0], 0, 0]])
    np.testing.assert_allclose(found.numpy(), x.numpy() * (relevance - s * relevance.sum()), atol=1e-12)
    constant, taylor = (
        LRP(lambda x: TRANSFORMER(x).mean(1), softmax=one).attribute(draw(2, 5, 8), target=1).numpy()
        for one in ("constant", "taylor")
    )
    assert not np.allclose(constant, taylor, rtol=1e-2)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no rule": (lambda x: x.sort(1)[0][:, 0], r"no rule for sort \(test_lrp.py:\d+\)"),
    "nothing known": (
        lambda x: x.logsumexp(1),
        r"no rule for logsumexp \(test_lrp.py:\d+\): how its relevance",
    ),
    "two at a place": (lambda x: wb.hypot(x, x * 2).sum(1), r"no rule for hypot .* several of its inputs"),
    "nothing arrives": (lambda x: x.softmax(1)[:, 0], "no relevance reaches the inputs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_answer_is_refused_by_name(name: str) -> None:
    model, words = REFUSED[name]
    with pytest.raises(wb.AutogradError, match=words):
        LRP(model).attribute(wb.tensor([[1.0, 3.0, 2.0]]))


def test_identity_asks_for_equal_sizes() -> None:
    with pytest.raises(ValueError, match="cannot pass as it is"):
        LRP(lambda x: F.linear(x, wb.ones(2, 3)), composite=IdentityRule()).attribute(wb.ones(1, 3), target=0)


# ------------------------------------------------------------------------------ gradients of rectified units


def test_every_call_that_rectifies_is_meant() -> None:
    x = wb.tensor([[1.0, -2.0, 3.0]])
    sign = wb.tensor([1.0, 1.0, -1.0])
    ways: list[Callable[[Any], Any]] = [
        F.relu, nn.ReLU().eval(), lambda x: x.clone().relu_(), lambda x: x.clamp(min=0), F.relu6,
        lambda x: F.threshold(x, 0.0, 0.0), lambda x: F.hardtanh(x, 0.0, 9.0),
    ]  # fmt: skip
    for way in ways:
        model = lambda x, way=way: (way(x) * sign).sum(1)
        assert GuidedBackprop(model).attribute(x).tolist() == [[1.0, 0.0, 0.0]]
        assert Deconvolution(model).attribute(x).tolist() == [[1.0, 1.0, 0.0]]
    # What is bounded elsewhere does not rectify.
    model = lambda x: (F.hardtanh(x) * sign).sum(1)
    np.testing.assert_array_equal(
        GuidedBackprop(model).attribute(x).numpy(), Saliency(model).attribute(x, abs=False).numpy()
    )


def test_a_rectified_recurrent_layer_is_meant_too() -> None:
    wb.manual_seed(0)
    layer = nn.RNN(3, 4, nonlinearity="relu", batch_first=True).eval()
    x = draw(2, 5, 3)
    found = GuidedBackprop(lambda x: layer(x)[0][:, -1]).attribute(x, target=1).numpy()
    assert not np.allclose(found, Saliency(lambda x: layer(x)[0][:, -1]).attribute(x, 1, abs=False).numpy())


def test_guided_grad_cam_is_the_product() -> None:
    model, x = cnn(), draw(2, 2, 8, 8)
    where = LayerGradCam(model, "3").attribute(x, target=1, relu_attributions=True)
    expected = GuidedBackprop(model).attribute(x, target=1) * LayerGradCam.interpolate(where, (8, 8))
    np.testing.assert_allclose(
        GuidedGradCam(model, "3").attribute(x, target=1).numpy(), expected.numpy(), rtol=1e-5
    )
    with pytest.raises(wb.DimensionError, match="cannot be resized to an input"):
        GuidedGradCam(model, "7").attribute(x, target=1)


# -------------------------------------------------------------------------------------- layers and neurons


def test_layers_get_what_adds_up() -> None:
    model, x, baselines = cnn(), draw(3, 2, 8, 8), draw(4, 2, 8, 8, seed=5)
    shares, delta = LayerDeepLift(model, "3").attribute(x, 0.1, target=1, return_convergence_delta=True)
    assert shares.shape == (3, 4, 2, 2) and np.abs(delta.numpy()).max() < 1e-5
    given, delta = LayerDeepLift(model, "3").attribute(
        x, 0.1, target=1, return_convergence_delta=True, attribute_to_layer_input=True
    )
    assert given.shape == (3, 4, 4, 4) and np.abs(delta.numpy()).max() < 1e-5
    shares, delta = LayerDeepLiftShap(model, "3").attribute(x, baselines, 1, return_convergence_delta=True)
    assert delta.shape == (12,) and np.abs(delta.numpy()).max() < 1e-5
    relevance, delta = LayerLRP(model, "3").attribute(x, 1, return_convergence_delta=True)
    assert relevance.shape == (3, 4, 2, 2) and np.abs(delta.numpy()).max() < 1e-5


def test_neurons_are_explained_as_outputs_are() -> None:
    model, x, baselines = cnn(), draw(2, 2, 8, 8), draw(3, 2, 8, 8, seed=5)
    upto = lambda x: model[3](model[2](model[1](model[0](x))))[:, 1, 0, 1]
    for neuron, whole, more in (
        (NeuronDeepLift, DeepLift, {"baselines": 0.2}),
        (NeuronGuidedBackprop, GuidedBackprop, {}),
        (NeuronDeconvolution, Deconvolution, {}),
    ):
        found = neuron(model, "3").attribute(x, (1, 0, 1), **more)
        np.testing.assert_allclose(found.numpy(), whole(upto).attribute(x, **more).numpy(), rtol=1e-5)
    assert NeuronDeepLiftShap(model, "3").attribute(x, (1, 0, 1), baselines).shape == x.shape


def test_explain_knows_the_methods() -> None:
    for method in ("lrp", "guided_backprop", "deconvolution"):
        assert explain(cnn(), draw(2, 2, 8, 8), method=method).attributions.shape == (2, 2, 8, 8)
