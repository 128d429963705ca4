"""Models of 16-bit numbers: each method agrees with itself in float32, and says no more than rounding explains."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution, nn
from workbench.attribution import (
    LRP,
    ConvergenceWarning,
    DeepLift,
    DoubtfulWarning,
    FeatureAblation,
    InputXGradient,
    IntegratedGradients,
    KernelShap,
    NoiseTunnel,
    Saliency,
    explain,
    metrics,
)

F = nn.functional
HALVES = {"float16": 2e-2, "bfloat16": 1e-1}
"""How far attributions may be from those in float32, as a share of the greatest."""


class Network(nn.Module):
    """A convolution, a residual sum, a normalization and a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.second, self.gate = nn.Conv2d(6, 6, 3, padding=1), nn.Conv2d(6, 6, 1)
        self.last = nn.Linear(24, 3)

    def forward(self, x: Any) -> Any:
        x = F.gelu(self.norm(self.first(x)))
        x = x + self.second(x) * wb.sigmoid(self.gate(x))
        return self.last(F.adaptive_avg_pool2d(x, 2).flatten(1))


def made() -> tuple[Any, Any, Any]:
    wb.manual_seed(2)
    model = Network().eval()
    for one in (model.norm.bias, model.norm.running_mean):
        one.data.copy_(wb.randn(6) * 0.3)
    return model, wb.randn(2, 2, 6, 6), wb.randn(2, 2, 6, 6) * 0.5


MASK = wb.arange(4).reshape(1, 1, 2, 2).repeat_interleave(3, 2).repeat_interleave(3, 3)

METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: lambda m, x, b, name=name: getattr(attribution, name)(m).attribute(x, b, 1)
        for name in ("IntegratedGradients", "DeepLift", "DeepLiftShap", "FeatureAblation")
    },
    **{
        name: lambda m, x, b, name=name: getattr(attribution, name)(m).attribute(x, 1)
        for name in ("Saliency", "InputXGradient", "GuidedBackprop", "Deconvolution")
    },
    **{
        name: lambda m, x, b, name=name: getattr(attribution, name)(m).attribute(x, b, 1, feature_mask=MASK)
        for name in ("ShapleyValues", "ShapleyValueSampling", "KernelShap")
    },
    **{
        name: lambda m, x, b, name=name: getattr(attribution, name)(m, m.second).attribute(x, b, 1)
        for name in ("LayerIntegratedGradients", "LayerDeepLift", "LayerDeepLiftShap", "LayerConductance",
                     "InternalInfluence")
    },
    **{
        name: lambda m, x, b, name=name: getattr(attribution, name)(m, m.second).attribute(x, 1)
        for name in ("LayerGradCam", "LayerGradientXActivation", "LayerLRP", "GuidedGradCam")
    },
    **{
        name: lambda m, x, b, name=name: getattr(attribution, name)(m, m.second).attribute(x, (2, 3, 3), b)
        for name in ("NeuronIntegratedGradients", "NeuronDeepLift", "NeuronFeatureAblation")
    },
    # Where a sum nearly cancels, its shares are as large as its last digits say, unless ε is larger than these.
    "LRP": lambda m, x, b: LRP(m, composite=attribution.EpsilonRule(1e-2)).attribute(x, 1),
    "NeuronConductance": lambda m, x, b: attribution.NeuronConductance(m, m.second).attribute(
        x, (2, 3, 3), b, 1
    ),
    "NeuronGradient": lambda m, x, b: attribution.NeuronGradient(m, m.second).attribute(x, (2, 3, 3)),
    "LayerActivation": lambda m, x, b: attribution.LayerActivation(m, m.second).attribute(x),
    "LayerFeatureAblation": lambda m, x, b: attribution.LayerFeatureAblation(m, m.second).attribute(
        x, target=1
    ),
    "GradientShap": lambda m, x, b: attribution.GradientShap(m).attribute(x, b, 20, target=1),
    "LayerGradientShap": lambda m, x, b: attribution.LayerGradientShap(m, m.second).attribute(
        x, b, 20, target=1
    ),
    "Occlusion": lambda m, x, b: attribution.Occlusion(m).attribute(x, (1, 3, 3), baselines=b, target=1),
    "NoiseTunnel": lambda m, x, b: NoiseTunnel(IntegratedGradients(m)).attribute(x, stdevs=0.1, target=1),
    "Lime": lambda m, x, b: attribution.Lime(m).attribute(x, b, 1, feature_mask=MASK, n_samples=40),
}  # fmt: skip

FLOAT32 = {"ShapleyValues", "ShapleyValueSampling", "KernelShap", "Lime", "Occlusion"}
"""What is a mean of many outputs comes in float32, as Captum's."""

# The layers have ways past them, so that what they share is not the output's change.
PASSED = pytest.mark.filterwarnings("ignore:Layer.* do not add up")


@PASSED
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", METHODS)
def test_agrees_with_float32(name: str, dtype: str) -> None:
    model, x, b = made()
    wb.manual_seed(0)
    expected = METHODS[name](model, x, b).detach().numpy()
    # What is a difference of outputs is known to their last digit.
    close = HALVES[dtype] * np.abs(expected).max() + 2 * wb.finfo(dtype).eps * float(model(x).abs().max())
    wb.manual_seed(0)
    found = METHODS[name](model.to(dtype), x.to(dtype), b.to(dtype))
    assert found.dtype.name == ("float32" if name in FLOAT32 else dtype)
    np.testing.assert_allclose(found.detach().float().numpy(), expected, rtol=0, atol=close)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("method", [IntegratedGradients, DeepLift])
def test_a_sum_that_only_rounding_misses_is_not_warned_of(method: Any, dtype: str) -> None:
    """A change that is small beside the outputs is known to their last digit, and no better."""
    x, b = wb.tensor([[1.5, -0.5]]).to(dtype), wb.tensor([[1.0, -1.0]]).to(dtype)
    found, delta = method(lambda x: (x * 0.02).sum(1) + 10).attribute(x, b, return_convergence_delta=True)
    method(lambda x: (x * 0.02).sum(1) + 10).attribute(x, b)  # a warning is an error
    np.testing.assert_allclose(found.float().numpy(), [[0.01, 0.01]], rtol=1e-2)
    # The delta itself is what it is.
    change = float(np.diff(wb.tensor([9.999999, 10.02]).to(dtype).double().numpy())[0])
    np.testing.assert_allclose(delta.numpy(), found.double().numpy().sum() - change, atol=2e-4)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("method", [IntegratedGradients, DeepLift])
def test_a_sum_that_is_missed_is_warned_of(method: Any, dtype: str) -> None:
    x = wb.tensor([[1.0, 2.0]]).to(dtype)
    with pytest.warns(ConvergenceWarning, match="do not add up"):
        method(lambda x: (x + x.detach() ** 2).sum(1)).attribute(x)


def test_an_output_of_16_bits_is_judged_by_these() -> None:
    """As under autocast: the inputs are of float32."""
    x, b = wb.tensor([[1.5, -0.5]]), wb.tensor([[1.0, -1.0]])
    found = IntegratedGradients(lambda x: ((x * 0.02).sum(1) + 10).bfloat16()).attribute(x, b)
    assert found.dtype is wb.float32
    np.testing.assert_allclose(found.numpy(), [[0.01, 0.01]], rtol=1e-2)


@pytest.mark.parametrize("method", [LRP, DeepLift])
def test_shares_are_computed_in_float32(method: Any) -> None:
    """A sum of 0 has no relevance, though float16 has no number as small as what keeps it from dividing by 0."""
    x = wb.tensor([[1.0, -1.0, 2.0]], dtype=wb.float16)
    weight = wb.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=wb.float16)
    found = method(lambda x: wb.relu(x @ weight).sum(1)).attribute(x)
    np.testing.assert_allclose(found.numpy(), [[1.0, 0.0, 2.0]])


def test_long_sums_keep_small_addends() -> None:
    """In bfloat16 256 + 1 is 256: what is spread over a thousand places is added up in float32."""
    x = wb.ones(1, 1024, dtype=wb.bfloat16)
    one = wb.ones(1, 1, dtype=wb.bfloat16)

    def model(given: Any) -> Any:
        return (given.expand(1, 1024) * x).sum(1)

    np.testing.assert_allclose(LRP(model).attribute(one).float().numpy(), [[1024.0]])
    np.testing.assert_allclose(IntegratedGradients(lambda x: x.sum(1)).attribute(x).float().sum(), 1024.0)


@pytest.mark.parametrize("method", [InputXGradient, FeatureAblation])
def test_what_float16_does_not_hold_is_said(method: Any) -> None:
    x = wb.tensor([[1.0, 2.0]], dtype=wb.float16)
    with pytest.warns(DoubtfulWarning, match=r"NaN or infinite; .*; float16 ends at 65,504: bfloat16, model"):
        method(lambda x: (x * 60000).sum(1)).attribute(x)
    found = method(lambda x: (x * 60000).sum(1)).attribute(x.bfloat16())
    np.testing.assert_allclose(found.float().numpy(), [[60000.0, 120000.0]], rtol=1e-2)


def test_gradients_that_float16_does_not_hold_are_refused_with_the_reason() -> None:
    x = wb.tensor([[1.0]], dtype=wb.float16)
    with pytest.raises(ValueError, match=r"gradients .* NaN or infinite.*; float16 ends at 65,504"):
        Saliency(lambda x: (x * 300 * 300 * 1e-3).sum(1) * 1000).attribute(x)


def test_explained_and_drawn() -> None:
    model, x, _ = made()
    result = explain(model.bfloat16(), x.bfloat16(), 1, "lrp", publish=False)
    assert result.within_tolerance() and "absorbed: biases" in repr(result)
    assert result.attributions.dtype is wb.bfloat16


def test_metrics() -> None:
    model, x, _ = made()
    given = Saliency(model).attribute(x, 1)

    def noise(x: Any) -> Any:
        wb.manual_seed(1)
        step = (wb.randn(*x.shape) * 0.1).to(x.dtype)
        return step, x - step

    whole = metrics.infidelity(model, noise, x, given, target=1, n_perturb_samples=4)
    sensitivity = metrics.sensitivity_max(Saliency(model).attribute, x, target=1)
    half = copy.deepcopy(model).bfloat16()
    found = metrics.infidelity(half, noise, x.bfloat16(), given.bfloat16(), target=1, n_perturb_samples=4)
    np.testing.assert_allclose(found.numpy(), whole.numpy(), rtol=0.1, atol=2e-3)
    assert (
        sensitivity.shape == metrics.sensitivity_max(Saliency(half).attribute, x.bfloat16(), target=1).shape
    )


@pytest.mark.parametrize("dtype", ["float8_e5m2", "int64"])
def test_what_is_not_computed_with_is_refused(dtype: str) -> None:
    with pytest.raises(wb.DTypeError, match=f"need floating point inputs, input 0 is {dtype}"):
        Saliency(lambda x: x.sum(1)).attribute(wb.ones(1, 2).to(dtype))


def test_kernel_shap_of_whole_numbers_stays() -> None:
    found = KernelShap(lambda x: x.float().sum(1)).attribute(wb.tensor([[1, 2]]))
    np.testing.assert_allclose(found.numpy(), [[1.0, 2.0]], atol=1e-4)
