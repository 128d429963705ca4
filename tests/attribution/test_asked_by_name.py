"""Every method by its name: explained, asked of a study, drawn, and found again by the code that is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import Study, explain
from workbench.attribution.method_settings import offered, settings_of, takes, takes_layer
from workbench.attribution.methods import METHODS
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.live.messages import SettingEvent
from workbench.widgets.heatmap import HeatmapModel

pytestmark = pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")


def net() -> Any:
    wb.manual_seed(0)
    layers = [nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 3 * 3, 3)]
    return nn.Sequential(*layers).eval()


class Weighed(nn.Module):
    """Scores by their own softmax: its weights are what rules of relevance differ about."""

    def forward(self, x: Any) -> Any:
        return x * wb.softmax(x, 1)


def images() -> Any:
    wb.manual_seed(1)
    return wb.rand(N=3, C=1, H=8, W=8)


def mask() -> Any:
    return (wb.arange(8).reshape(8, 1) // 4 * 2 + wb.arange(8) // 4).reshape(1, 1, 8, 8)


def own_settings(name: str) -> dict[str, Any]:
    """What makes a run short, or sure to give the same again."""
    kind = METHODS[name]
    known = {one.name for one in settings_of(kind)}
    found: dict[str, Any] = {}
    if takes_layer(kind):
        found["layer"] = "0"
    if issubclass(kind, NeuronAttribution):
        found["neuron_selector"] = (1, 2, 3)
    if "feature_mask" in known:
        found["feature_mask"] = mask()
    if "n_samples" in known:
        found["n_samples"] = 6
    return found


def again(code: str, **names: Any) -> Any:
    wb.manual_seed(7)
    return eval(code, {"wb": wb, **names})


def same(found: Any, result: Any) -> None:
    """Rows go through a model in batches of another size as a machine is busy: but for rounding."""
    np.testing.assert_allclose(found.attributions.numpy(), result.attributions.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_explain_by_name_draws_and_writes_code_that_runs(name: str) -> None:
    model, x, settings = net(), images(), own_settings(name)
    wb.manual_seed(7)
    result = explain(model, x, [0, 1, 2], name, publish=False, **settings)
    assert result.method == METHODS[name].name and offered(METHODS[name])
    found = again(result.code, model=model, inputs=x, targets=[0, 1, 2], **settings)
    same(found, result)
    assert found.settings == result.settings
    drawn = HeatmapModel(result)
    assert drawn.snapshot().state.method == METHODS[name].name
    assert drawn.study is not None and drawn.study.asked.method == name


@pytest.mark.parametrize("name", METHODS)
def test_a_study_asks_by_name_and_writes_code_that_runs(name: str) -> None:
    model, x, settings = net(), images(), own_settings(name)
    layer = settings.pop("layer", None)
    study = Study(model, x, publish=False, method=name, layer=layer, **settings)
    study.ask(samples=[1, 2] if "permutation" in name else [1])
    wb.manual_seed(7)
    result = study.wait(60)
    same(again(study.code(), model=model, inputs=x, **settings), result)


MADE: list[tuple[str, dict[str, Any], str]] = [
    ("lrp", {"composite": "epsilon_plus"}, "epsilon_plus"),
    ("lrp", {"softmax": "taylor"}, "taylor"),
    ("layer_lrp", {"composite": "epsilon_plus"}, "epsilon_plus"),
    ("integrated_gradients", {"multiply_by_inputs": False}, "False"),
    ("deep_lift", {"eps": 0.25}, "0.25"),
    ("layer_gradient_x_activation", {"multiply_by_inputs": False}, "False"),
]


@pytest.mark.parametrize(
    ("name", "made", "text"), MADE, ids=[f"{one[0]}-{next(iter(one[1]))}" for one in MADE]
)
def test_what_a_method_is_made_with_is_a_setting_like_any_other(
    name: str, made: dict[str, Any], text: str
) -> None:
    model, x = nn.Sequential(*net(), Weighed()).eval(), images()
    layer = {"layer": "0"} if takes_layer(METHODS[name]) else {}
    result = explain(model, x, 1, name, publish=False, **layer, **made)
    ((setting, value),) = made.items()
    assert result.settings[setting] == text
    expected = METHODS[name](model, *layer.values(), **made).attribute(x, target=1).numpy()
    if not layer:
        np.testing.assert_array_equal(result.attributions.numpy(), expected)
    usual = METHODS[name](model, *layer.values()).attribute(x, target=1).numpy()
    assert not np.array_equal(usual, expected), "it counts"
    assert again(result.code, model=model, inputs=x, targets=1).settings == result.settings
    ready = explain(model, x, 1, METHODS[name](model, *layer.values(), **made), publish=False)
    assert ready.settings == result.settings
    drawn = HeatmapModel(result)
    assert drawn.study is not None and dict(drawn.study.asked.settings) == made
    controls = drawn.snapshot().state.controls
    assert controls is not None
    assert {one.name: one.value for one in controls.settings}[setting] == str(value)


def test_a_view_sets_what_a_method_is_made_with_a_neuron_and_a_baseline() -> None:
    model, x = net(), images()
    view = HeatmapModel(Study(model, x, publish=False, method="lrp"))
    study = view.study
    assert study is not None
    view.handle(SettingEvent("setting", "composite", "epsilon_alpha2_beta1"))
    expected = wb.attribution.LRP(model, composite="epsilon_alpha2_beta1").attribute(
        x[:1], target=study.wait(60).targets[0]
    )
    np.testing.assert_array_equal(study.wait(60).attributions.numpy(), expected.numpy())
    study.ask(method="neuron_gradient", layer="0")
    view.handle(SettingEvent("setting", "neuron_selector", "3, 4, 5"))
    found = study.wait(60).attributions.numpy()
    np.testing.assert_array_equal(
        found, wb.attribution.NeuronGradient(model, "0").attribute(x[:1], (3, 4, 5)).numpy()
    )
    study.ask(method="deep_lift")
    view.handle(SettingEvent("setting", "baseline", "mean"))
    result = study.wait(60)
    assert result.settings["baseline"] == "mean of the samples"
    mean = x.mean(0, keepdim=True)
    expected = wb.attribution.DeepLift(model).attribute(x[:1], mean, target=result.targets[0])
    np.testing.assert_array_equal(result.attributions.numpy(), expected.numpy())
    np.testing.assert_array_equal(
        again(study.code(), model=model, inputs=x).attributions.numpy(), expected.numpy()
    )
    with pytest.raises(ValueError, match="there is no baseline 'blurred'; there are zeros, mean, given"):
        study.ask(baseline="blurred")
    with pytest.raises(
        ValueError, match="no baselines were given; ask for 'zeros' or 'mean', or give baselines="
    ):
        study.ask(baseline="given")


def test_the_code_of_two_models_finds_both() -> None:
    wb.manual_seed(0)
    models = {"one": net(), "two": nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()}
    x = images()
    study = Study(models, x, publish=False, other="two", method="saliency", additional_forward_args=None)
    result = study.wait(60)
    assert study.shown is not None and study.shown.beside is not None
    found = again(study.code(), models=models, inputs=x)
    assert found["one"].targets == found["two"].targets == result.targets
    np.testing.assert_array_equal(found["one"].attributions.numpy(), result.attributions.numpy())
    np.testing.assert_array_equal(found["two"].attributions.numpy(), study.shown.beside.attributions.numpy())


def test_masks_and_arguments_of_all_samples_go_with_the_sample() -> None:
    wb.manual_seed(2)
    x, scale = wb.rand(3, 4), wb.rand(3, 1)
    masks = wb.tensor([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
    study = Study(
        lambda x, scale, power: x * scale**power,
        x,
        publish=False,
        method="feature_ablation",
        target=1,
        additional_forward_args=(scale, 2),
        feature_mask=masks,
    )
    study.ask(samples=[2])
    found = (
        again(
            study.code(),
            model=study.models["model"],
            inputs=x,
            feature_mask=masks,
            additional_forward_args=(scale, 2),
        )
        if study.wait(60)
        else None
    )
    assert study.shown is not None and found is not None
    np.testing.assert_array_equal(found.attributions.numpy(), study.shown.result.attributions.numpy())
    assert (found.attributions.numpy()[0, 0], found.attributions.numpy()[0, 3]) == (0, 0)


def test_a_distribution_of_baselines_is_taken_by_name_and_by_class() -> None:
    model, x, many = net(), images(), wb.rand(2, 1, 8, 8)
    for name in ("layer_deep_lift_shap", "neuron_deep_lift_shap", "deep_lift_shap"):
        settings = own_settings(name)
        result = explain(model, x, 1, METHODS[name], baselines=many, publish=False, **settings)
        assert takes(METHODS[name], "baselines") and result.settings["baseline"] == "tensor"
        found = again(result.code, model=model, inputs=x, targets=1, baselines=many, **settings)
        np.testing.assert_array_equal(found.attributions.numpy(), result.attributions.numpy())
