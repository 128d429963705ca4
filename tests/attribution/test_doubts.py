"""What is said of attributions that are not what they seem; targets from the end; ends before the first row."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    LRP,
    ConvergenceWarning,
    DeepLift,
    DoubtfulWarning,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    InterruptedWarning,
    KernelShap,
    LayerActivation,
    NoiseTunnel,
    Saliency,
    ShapleyValues,
    explain,
)
from workbench.widgets.heatmap import HeatmapModel

WEIGHT = wb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
X = wb.tensor([[1.3, -2.1, 0.4], [0.2, 0.7, -0.6]])


# -------------------------------------------------------------------------------------------- not finite


def tall(x: Any) -> Any:
    return wb.log(x[:, :1]) + x[:, 1:2]


@pytest.mark.parametrize("method", [FeatureAblation, ShapleyValues])
def test_attributions_that_are_not_finite_are_warned_of(method: Any) -> None:
    # Of the second sample the logarithm of 0, or its slope, is no number.
    x = wb.tensor([[1.0, 2.0], [0.0, 2.0]])
    words = r"\d of 4 attributions \(of \d of 2 samples\) are NaN or infinite; look at what the model gives"
    with pytest.warns(DoubtfulWarning, match=f"{method.__name__}: {words}"):
        found = method(tall).attribute(x, target=0)
    assert not np.isfinite(found.numpy()).all()


def test_a_layer_and_a_result_say_so_as_well() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    with wb.no_grad():
        model[0].weight.fill_(3e38)
    with pytest.warns(DoubtfulWarning, match=r"4 of 4 attributions \(of 2 of 2 samples\)"):
        LayerActivation(model, "0").attribute(wb.ones(2, 2) * 9)
    result = explain(tall, wb.tensor([[0.0, 2.0]]), None, "feature_ablation", publish=False)
    assert len(result.doubts) == 1 and result.doubts[0].startswith("2 of 2 attributions")
    assert "are NaN or infinite" in HeatmapModel(result).snapshot().state.note


def test_finite_ones_are_not_warned_of() -> None:
    for method in (Saliency, IntegratedGradients, DeepLift, FeatureAblation):
        method(lambda x: x @ WEIGHT).attribute(X, target=0)


# ------------------------------------------------------------------------------------------------- steps


@pytest.mark.parametrize("op", [wb.round, wb.floor, wb.ceil, wb.trunc, wb.sign], ids=lambda op: op.__name__)
@pytest.mark.parametrize("method", [Saliency, InputXGradient, GuidedBackprop, IntegratedGradients])
@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
def test_a_call_that_changes_in_steps_is_named_with_its_line(op: Any, method: Any) -> None:
    def model(x: Any) -> Any:
        return op(x * 2) @ WEIGHT

    words = rf"no slope leads from the output to the inputs: {op.__name__} at .*test_doubts\.py:\d+ changes in steps"
    with pytest.warns(DoubtfulWarning, match=words) as said:
        found = method(model).attribute(X, target=0)
    assert not found.numpy().any()
    # Nobody is told to take more steps, which would change nothing.
    assert not any("n_steps" in str(one.message) for one in said)


@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
def test_another_way_to_the_inputs_is_enough() -> None:
    Saliency(lambda x: (wb.round(x) + x) @ WEIGHT).attribute(X, target=0)
    Saliency(lambda x: (wb.sign(x) * x) @ WEIGHT).attribute(X, target=0)
    # A sample for which nothing speaks is none where something changes in steps.
    assert not Saliency(lambda x: wb.relu(x - 10) @ WEIGHT).attribute(X, target=0).numpy().any()
    assert not IntegratedGradients(lambda x: (0 * x) @ WEIGHT).attribute(X, target=0).numpy().any()
    FeatureAblation(lambda x: wb.round(x) @ WEIGHT).attribute(X, target=0)
    # DeepLift compares outputs, and has an answer.
    assert DeepLift(lambda x: wb.round(x) @ WEIGHT).attribute(X, target=0).numpy().any()


def test_a_comparison_on_the_way_counts_where_the_tape_goes_on() -> None:
    def model(x: Any) -> Any:
        return ((x > 0) * wb.sign(x)) @ WEIGHT

    with pytest.warns(DoubtfulWarning, match=r"gt at .* changes in steps"):
        Saliency(model).attribute(X, target=0)
    result = explain(model, X, 0, "saliency", publish=False)
    assert "changes in steps" in HeatmapModel(result).snapshot().state.note


def test_slopes_alone_are_not_said_to_add_up() -> None:
    IntegratedGradients(lambda x: (x * x) @ WEIGHT, multiply_by_inputs=False).attribute(X, target=0)
    with pytest.warns(ConvergenceWarning, match="take more steps"):
        IntegratedGradients(lambda x: wb.sigmoid(40 * x) @ WEIGHT).attribute(X, target=0, n_steps=2)


# ----------------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    "method", [Saliency, IntegratedGradients, DeepLift, LRP, FeatureAblation, KernelShap]
)
def test_targets_count_from_the_end(method: Any) -> None:
    model = nn.Linear(3, 4).eval()
    settings = {"n_samples": 40} if method is KernelShap else {}
    for given, same in ((-1, 3), ([-4, -2], [0, 2]), ((-3,), 1)):
        wb.manual_seed(0)
        found = method(model).attribute(X, target=given, **settings).numpy()
        wb.manual_seed(0)
        np.testing.assert_allclose(
            found, method(model).attribute(X, target=same, **settings).numpy(), rtol=1e-5
        )


def test_targets_below_the_beginning_are_refused_as_given() -> None:
    with pytest.raises(
        wb.DimensionIndexError, match=r"target -5 of sample 0 is out of range: .* 4 entries, 0 to 3"
    ):
        Saliency(nn.Linear(3, 4).eval()).attribute(X, target=-5)
    result = explain(nn.Linear(3, 4).eval(), X, -1, "saliency", class_names="abcd", publish=False)
    assert result.targets == ((3,), (3,)) and result.target_name(0) == "d"


# -------------------------------------------------------------------------------------------------- ends


def test_an_end_that_is_asked_for_while_something_is_made_ready_counts() -> None:
    drawn = threading.Event()

    def baselines() -> Any:
        drawn.set()
        return wb.zeros(4, 3)

    class Slow(GradientShap):
        def evaluation(self, *arguments: Any, **settings: Any) -> Any:
            self.stop()  # as a person would, before the first row
            return super().evaluation(*arguments, **settings)

    method = Slow(lambda x: x @ WEIGHT)
    with pytest.warns(InterruptedWarning, match=r"was stopped after \d+%"):
        method.attribute(X, baselines(), target=0, n_samples=20_000, memory="64KB")
    assert method.interrupted and method.progress < 1 and drawn.is_set()


def test_a_tunnel_that_is_ended_says_which_share_is_done() -> None:
    calls: list[int] = []

    def model(x: Any) -> Any:
        calls.append(x.shape[0])
        if len(calls) == 2:
            tunnel.stop()
        return x @ WEIGHT

    tunnel = NoiseTunnel(Saliency(model))
    with pytest.warns(InterruptedWarning, match=r"Noise ?Tunnel was stopped after (\d|[1-9]\d)% of its rows"):
        # All copies at once: what is ended is the method inside.
        tunnel.attribute(X, nt_samples=400, nt_samples_batch_size=400, target=0, memory="64KB")
    assert tunnel.interrupted
