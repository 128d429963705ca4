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
from workbench.attribution.propagation.composites import COMPOSITES
from workbench.live.messages import SettingEvent
from workbench.live.model import Refused
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
    # Without a neuron it is the strongest, and the view says which.
    strongest = np.unravel_index(np.argmax(model[0](x[:1]).detach().numpy()[0]), (4, 6, 6))
    assert study.wait(60).settings["neuron_selector"] == str(tuple(map(int, strongest)))
    assert dict(study.asked.settings) == {"neuron_selector": tuple(map(int, strongest))}
    again_found = again(study.code(), model=model, inputs=x).attributions.numpy()
    np.testing.assert_array_equal(again_found, study.wait(60).attributions.numpy())
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
    with pytest.raises(
        ValueError, match="there is no baseline 'noise'; there are zeros, mean, blurred, given"
    ):
        study.ask(baseline="noise")
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


def backwards(x: Any, mask: Any) -> Any:
    """Deals nothing out by chance: what is found can be found again."""
    return wb.where(mask, x.flip(0), x)


def only_plus(op: Any, first: bool) -> Any:
    return COMPOSITES["epsilon_plus"](op, first)


class Own(wb.attribution.Saliency):
    """A method of somebody's own."""

    name = "Own saliency"


OWN: list[tuple[Any, dict[str, Any], str]] = [
    ("feature_permutation", {"perm_func": backwards}, "# Your own: perm_func (backwards)"),
    ("lrp", {"composite": only_plus}, "# Your own: composite (only_plus)"),
    ("feature_ablation", {"feature_mask": mask()}, "# Your own: feature_mask (tensor)"),
    ("deep_lift", {"baselines": wb.zeros(1, 1, 8, 8)}, "# Your own: baselines (tensor)"),
    (Own, {}, "# Your own: method (Own)"),
]


@pytest.mark.parametrize(("method", "given", "line"), OWN, ids=[one[2].split()[3] for one in OWN])
def test_code_says_which_variables_are_the_reader_s(method: Any, given: dict[str, Any], line: str) -> None:
    model, x = net(), images()
    result = explain(model, x, [0, 1, 2], method, publish=False, **given)
    for name in given:
        assert result.settings[name.replace("baselines", "baseline")] == line.partition("(")[2].strip(")")
        assert f"{name}={name}" in result.code
    assert result.code.splitlines()[0] == line
    same(again(result.code, model=model, inputs=x, targets=[0, 1, 2], **{"method": method, **given}), result)
    assert HeatmapModel(result).snapshot().state.head.code.startswith(line)


def test_code_asks_a_method_that_was_made_ready_for_the_same() -> None:
    model, x = net(), images()
    ready = wb.attribution.NoiseTunnel(wb.attribution.LRP(model, composite="epsilon_plus"))
    wb.manual_seed(7)
    result = explain(model, x, 1, ready, nt_samples=3, stdevs=0.1, publish=False)
    assert result.code.splitlines()[0] == "# Your own: method (NoiseTunnel)"
    same(again(result.code, model=model, inputs=x, targets=1, method=ready), result)
    layer = wb.attribution.LayerLRP(model, "0", composite="epsilon_plus")
    result = explain(model, x, 1, layer, publish=False)
    assert "layer=" not in result.code and "composite=" not in result.code, "it has both"
    same(again(result.code, model=model, inputs=x, targets=1, method=layer), result)


def test_no_name_gets_behind_the_line_of_variables() -> None:
    def perm(x: Any, mask: Any) -> Any:
        return backwards(x, mask)

    perm.__name__ = "perm\nraise SystemExit\r#" + "x" * 500
    result = explain(net(), images(), 1, "feature_permutation", perm_func=perm, publish=False)
    first, second = result.code.splitlines()
    assert first.startswith("# Your own: perm_func (perm raise SystemExit") and len(first) == 200
    assert second.startswith("wb.attribution.explain(model")


def test_a_view_shows_a_rule_that_was_set_in_python_by_its_name() -> None:
    view = HeatmapModel(Study(net(), images(), publish=False, method="lrp", composite=only_plus))
    study = view.study
    assert study is not None

    def drawn() -> Any:
        controls = view.snapshot().state.controls
        assert controls is not None
        return next(one for one in controls.settings if one.name == "composite")

    assert (drawn().value, drawn().choices[:2]) == ("only_plus", ["only_plus", "epsilon"])
    view.handle(SettingEvent("setting", "composite", "epsilon"))
    assert study.wait(60) and (drawn().value, drawn().choices[0]) == ("epsilon", "epsilon")


def test_a_neuron_is_also_the_sum_of_several() -> None:
    model, x = net(), images()
    view = HeatmapModel(Study(model, x, publish=False, method="neuron_gradient", layer="0"))
    study = view.study
    assert study is not None
    view.handle(SettingEvent("setting", "neuron_selector", "3, 0:2, :"))
    result = study.wait(60)
    expected = wb.attribution.NeuronGradient(model, "0").attribute(x[:1], (3, slice(0, 2), slice(None)))
    np.testing.assert_array_equal(result.attributions.numpy(), expected.numpy())
    assert result.settings["neuron_selector"] == "(3, 0:2, :)"
    same(again(study.code(), model=model, inputs=x), result)
    controls = view.snapshot().state.controls
    assert controls is not None
    (typed,) = [one.value for one in controls.settings if one.name == "neuron_selector"]
    assert typed == "3, 0:2, :", "what is shown can be typed again"
    for wrong in ("3, x", "1:2:3:4", "3,,4"):
        with pytest.raises(
            Refused, match=r"neuron_selector is whole numbers or slices, e\.g\. 3, 0:2, 5; got"
        ):
            view.handle(SettingEvent("setting", "neuron_selector", wrong))
    drawn = HeatmapModel(
        explain(model, x, None, "neuron_gradient", layer="0", neuron_selector=(3, slice(2), 1))
    )
    assert drawn.study is not None and drawn.study.asked.method == "neuron_gradient"


def test_a_study_is_asked_by_class_as_by_name() -> None:
    study = Study(net(), images(), publish=False, method=wb.attribution.LRP)
    assert study.asked.method == "lrp"
    study.ask(method=wb.attribution.DeepLift)
    assert study.wait(60).method == "DeepLift" and study.asked.method == "deep_lift"
    known = list(study.methods)
    with pytest.raises(ValueError, match="there is no attribution method 'dict'"):
        study.ask(method=dict)
    with pytest.raises(ValueError, match="the samples are 0 to"):
        study.ask(method=Own, samples=[99])
    assert study.asked.method == "deep_lift" and list(study.methods) == known
    study.ask(method=Own)
    assert study.wait(60).method == Own.get_name() and Own.get_name() not in known


@pytest.mark.filterwarnings("error::workbench.attribution.ConvergenceWarning")
@pytest.mark.parametrize("name", ["integrated_gradients", "layer_integrated_gradients", "deep_lift"])
def test_slopes_alone_are_not_said_to_miss_a_sum(name: str) -> None:
    model, x, kind = net(), images(), METHODS[name]
    layer = {"layer": "0"} if takes_layer(kind) else {}
    ready = kind(model, *layer.values(), multiply_by_inputs=False)
    for method, given in ((name, {"multiply_by_inputs": False, **layer}), (ready, {})):
        result = explain(model, x, 1, method, **given)
        assert result.delta is None and result.tolerance is None and result.within_tolerance()
    assert explain(model, x, 1, name, publish=False, **layer).delta is not None
