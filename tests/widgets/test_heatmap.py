"""The heatmap's view model: what it draws of a result, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import AttributionResult, IntegratedGradients, NoiseTunnel, Study, explain
from workbench.attribution.method_settings import offered, settings_of
from workbench.attribution.methods import METHODS
from workbench.live.answer import answering
from workbench.live.encode import encode_snapshot
from workbench.live.messages import (
    AskEvent,
    HeatmapControls,
    HeatmapState,
    SampleEvent,
    SelectPointsEvent,
    SettingEvent,
)
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets import heatmap_parts
from workbench.widgets.heatmap import HeatmapModel


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    renderers.stop()
    for model in registry.models():
        registry.withdraw(model)
    selection.clear()


def scores(images: wb.Tensor) -> wb.Tensor:
    """Three classes: the sum of the squares, its double, and minus it."""
    total = (images * images).sum(["C", "H", "W"]).rename(None)
    return wb.stack([total, total * 2, total * -1], 1)


def result(**more: Any) -> AttributionResult:
    images = wb.rand(N=3, C=3, H=4, W=5)
    return explain(scores, images, [1, 1, 2], class_names=["<a>", "b", "c"], title="digits", **more)


def state(model: HeatmapModel) -> tuple[HeatmapState, np.ndarray, np.ndarray]:
    """The state, the input, and the attributions as a page reads them."""
    found, buffers = encode_snapshot(model.view, model.snapshot())
    drawn = model.snapshot().state
    assert isinstance(drawn, HeatmapState)
    json.dumps(found)
    (part,) = drawn.parts
    assert part.attribution_buffer is not None
    image = np.frombuffer(buffers[part.input_buffer], "<f4").reshape(part.height, part.width, -1)
    heat = np.frombuffer(buffers[part.attribution_buffer], "<f4").reshape(part.height, part.width)
    return drawn, image, heat


def test_a_sample_is_drawn_with_everything_that_is_known_of_it() -> None:
    made = result()
    model = HeatmapModel(made)
    model.handle(SampleEvent("sample", 2))
    drawn, image, heat = state(model)
    np.testing.assert_array_equal(image, made.inputs.numpy()[2].transpose(1, 2, 0))
    np.testing.assert_allclose(heat, made.attributions.numpy()[2].sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(heat, -(image**2).sum(axis=2), rtol=1e-3)
    assert (drawn.parts[0].row_dim.name, drawn.parts[0].row_dim.size) == ("H", 4)
    assert (drawn.parts[0].column_dim.name, drawn.parts[0].column_dim.size) == ("W", 5)
    assert drawn.parts[0].channels == 3
    assert (drawn.head.title, drawn.target, drawn.method) == ("digits", "c", "Integrated Gradients")
    assert ["n_steps", "50", "steps"] in drawn.settings
    assert [score.label for score in drawn.predictions] == ["b", "<a>", "c"]
    assert sum(score.probability for score in drawn.predictions) == pytest.approx(1)
    assert drawn.delta is not None and drawn.tolerance is not None
    assert abs(drawn.delta) <= drawn.tolerance
    assert (drawn.sample, drawn.samples, drawn.seconds) == (2, 3, made.seconds)
    assert drawn.parts[0].input_low <= image.min() and drawn.parts[0].input_high >= image.max()
    assert "explain(" in drawn.head.code


def test_a_method_that_promises_no_sum_has_no_delta() -> None:
    drawn, _, heat = state(HeatmapModel(result(method="saliency")))
    assert drawn.delta is None and drawn.tolerance is None
    assert (heat >= 0).all()


def test_relevance_that_was_lost_is_told() -> None:
    x = wb.tensor([[1e8, 3.0, -1e8, 1e-3]])
    with pytest.warns(wb.attribution.ConvergenceWarning):
        made = explain(lambda x: x @ wb.ones(4, 1), x, method="lrp")
    drawn, _, _ = state(HeatmapModel(made))
    assert drawn.note.startswith("relevance of") and "was lost on the way" in drawn.note


def test_other_shapes_of_samples() -> None:
    rows = explain(lambda x: x * 2, wb.ones(N=2, features=6), 4)
    drawn, _, _ = state(HeatmapModel(rows))
    assert (
        drawn.parts[0].height,
        drawn.parts[0].width,
        drawn.parts[0].channels,
        drawn.parts[0].column_dim.name,
    ) == (1, 6, 1, "features")
    assert drawn.parts[0].input_high > drawn.parts[0].input_low
    last = explain(lambda x: x.sum(["H", "W", "C"]), wb.ones(N=2, H=4, W=3, C=5))
    drawn, drawn_input, _ = state(HeatmapModel(last))
    assert (drawn.parts[0].height, drawn.parts[0].width, drawn.parts[0].channels) == (4, 3, 1)
    assert (drawn_input == 1).all()
    assert drawn.target == "output"
    assert drawn.predictions == []
    drawn, _, _ = state(HeatmapModel(explain(lambda x: x * 3, wb.ones(N=2))))
    assert (drawn.parts[0].height, drawn.parts[0].width) == (1, 1)


def test_what_is_no_picture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    volume = explain(lambda x: x.flatten(1).sum(1), wb.ones(2, 2, 2, 2, 2))
    with pytest.raises(wb.DimensionError, match="a heatmap draws pictures"):
        HeatmapModel(volume)
    monkeypatch.setattr(heatmap_parts, "MOST_CELLS", 10)
    with pytest.raises(wb.DimensionError, match="a picture of 60 values is more than the 10 that are drawn"):
        HeatmapModel(result())


def test_another_sample_is_drawn_at_once_and_a_wrong_one_is_refused() -> None:
    model = HeatmapModel(result())
    told: list[Any] = []
    model.listen(told.append)
    model.handle(SampleEvent("sample", 1))
    model.handle(SampleEvent("sample", 1))
    assert (len(told), state(model)[0].sample) == (1, 1)
    for wrong in (3, -1):
        with pytest.raises(Refused, match=f"the samples are 0 to 2; there is no sample {wrong}"):
            model.handle(SampleEvent("sample", wrong))
    with pytest.raises(Refused, match="one asks for samples, classes and methods"):
        model.handle(SelectPointsEvent("select_points", [0]))
    with pytest.raises(IndexError, match="there is no sample 9"):
        model.sample = 9
    assert model.sample == 1
    alone = HeatmapModel(explain(lambda x: x.sum("C"), wb.ones(N=1, C=2)))
    with pytest.raises(Refused, match="there is one sample, number 0; there is no sample 1"):
        alone.handle(SampleEvent("sample", 1))


def wait_for(study: Study) -> None:
    """Until nothing is worked on any more."""
    try:
        study.wait(60)
    except RuntimeError:
        return


def asked(**more: Any) -> tuple[HeatmapModel, Study]:
    study = Study(
        wb.nn.Sequential(wb.nn.Conv2d(1, 4, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(144, 3)).eval(),
        wb.rand(N=4, C=1, H=8, W=8),
        labels=[0, 1, 2, 0],
        class_names=["a", "b", "c"],
        publish=False,
        **more,
    )
    model = HeatmapModel(study)
    study.ask()
    wait_for(study)
    return model, study


def ask_event(**parts: str) -> AskEvent:
    return AskEvent("ask", **parts)


def test_a_click_on_a_class_a_method_and_a_setting_are_asked_and_answered() -> None:
    model, study = asked()
    model.handle(ask_event(target="2"))
    wait_for(study)
    assert (state(model)[0].target, state(model)[0].target_index) == ("c", 2)
    model.handle(ask_event(target="true"))
    model.handle(ask_event(method="integrated_gradients"))
    model.handle(SettingEvent("setting", "n_steps", "7"))
    wait_for(study)
    drawn = state(model)[0]
    assert (drawn.target, drawn.truth, drawn.method) == ("a", "a", "Integrated Gradients")
    assert ["n_steps", "7", "steps"] in drawn.settings
    assert drawn.controls is not None and drawn.controls.target == "true"
    assert [one.value for one in drawn.controls.settings if one.name == "n_steps"] == ["7"]
    assert drawn.wrong == (drawn.predictions[0].label != "a")
    assert drawn.strip is not None and len(drawn.strip.samples) == 4
    assert [one.wrong for one in drawn.strip.samples] == [
        one.predicted != one.truth for one in drawn.strip.samples
    ]
    assert drawn.strip.wrong == sum(one.wrong for one in drawn.strip.samples)


def test_an_answer_is_told_in_a_hurry_and_progress_is_not() -> None:
    model, study = asked()
    told: list[tuple[bool, bool]] = []
    model.listen(lambda one: told.append((study.shown is before, answering())))
    before = study.shown
    study.ask(target="2")
    wait_for(study)
    # What the program asks is known to be under way without a hurry; the answer comes from another thread.
    assert told[0] == (True, False)
    assert told[-1] == (False, True)
    told.clear()
    study._listeners.tell()
    assert told == [(False, False)]


def test_what_cannot_be_asked_is_refused_in_words_and_the_picture_stays() -> None:
    model, study = asked()
    before = state(model)
    for event, words in (
        (ask_event(method="magic"), "there is no attribution method 'magic'"),
        (ask_event(layer="conv9"), "IntegratedGradients: the model has no layer 'conv9'"),
        (ask_event(target="seven"), "a target is a class's number, 'predicted' or 'true'; got 'seven'"),
        (SettingEvent("setting", "n_steps", "many"), "n_steps is a whole number; got 'many'"),
        (SettingEvent("setting", "steps", "3"), "there is no setting 'steps'"),
    ):
        with pytest.raises(Refused, match=words):
            model.handle(event)
        assert model.snapshot().state.refusal.reason.startswith(words)  # type: ignore[attr-defined]
    # What only the method can refuse comes with the answer.
    model.handle(ask_event(target="9"))
    wait_for(study)
    after = state(model)
    assert after[0].refusal is not None and "target 9 of sample 0 is out of range" in after[0].refusal.reason
    np.testing.assert_array_equal(after[2], before[2])
    assert after[0].controls == before[0].controls
    model.handle(ask_event(target="1"))
    wait_for(study)
    assert state(model)[0].refusal is None


def test_the_mean_of_points_that_are_picked_elsewhere() -> None:
    model, study = asked()
    heats = []
    for sample in (1, 3):
        model.show_sample(sample)
        wait_for(study)
        heats.append(state(model)[2])
    model.show_points((1, 3))
    wait_for(study)
    drawn, _, mean = state(model)
    assert (drawn.averaged, drawn.averaged_samples) == (2, [1, 3])
    np.testing.assert_allclose(mean, (heats[0] + heats[1]) / 2, atol=1e-6)
    with pytest.raises(Refused, match="there is no sample 77"):
        model.show_points((1, 77))
    model.show_sample(1)
    wait_for(study)
    assert (state(model)[0].averaged, state(model)[0].averaged_samples) == (0, [])


def test_a_layer_that_is_picked_in_the_graph_is_explained_by() -> None:
    model, study = asked()
    model.show_place(("conv2d_1", "0"))
    wait_for(study)
    drawn, _, heat = state(model)
    assert drawn.controls is not None
    assert (drawn.controls.layer, drawn.controls.method, drawn.method) == ("0", "layer_grad_cam", "Grad-CAM")
    assert heat.shape == (8, 8)
    with pytest.raises(Refused, match="no layer lies at nowhere"):
        model.show_place(("nowhere",))
    model.show_place(("3",))
    wait_for(study)
    assert "Grad-CAM" in str(state_of(model).refusal) or state_of(model).parts[0].channels == 0


def state_of(model: HeatmapModel) -> HeatmapState:
    found = model.snapshot().state
    assert isinstance(found, HeatmapState)
    return found


def test_two_models_beside_each_other() -> None:
    first = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(64, 3)).eval()
    second = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(64, 3)).eval()
    study = Study(
        {"float": first, "int8": second}, wb.rand(N=2, C=1, H=8, W=8), publish=False, method="saliency"
    )
    model = HeatmapModel(study)
    model.handle(ask_event(other="int8"))
    wait_for(study)
    drawn = state_of(model)
    (part,) = drawn.parts
    assert part.other_buffer is not None and drawn.other is not None and drawn.other.name == "int8"
    other = np.frombuffer(model.snapshot().buffers[part.other_buffer], "<f4")
    target = drawn.target_index
    np.testing.assert_allclose(other, np.abs(second[1].weight.detach().numpy()[target]), rtol=1e-5)
    study.models["int8"] = lambda x: second(x).detach()
    model.handle(ask_event(method="input_x_gradient"))
    wait_for(study)
    other_answer = state_of(model).other
    assert other_answer is not None and "leaves the tape" in other_answer.trouble
    model.handle(ask_event(other=""))
    wait_for(study)
    assert state_of(model).other is None


def test_words_lines_and_several_inputs() -> None:
    embed = wb.rand(N=2, T=3, E=4)
    texts = Study(
        lambda x: x.sum(["T", "E"]),
        embed,
        tokens=[["not", "so", "bad"], ["fine"]],
        publish=False,
        method="saliency",
    )
    model = HeatmapModel(texts)
    texts.ask(samples=[1])
    wait_for(texts)
    (part,) = state_of(model).parts
    assert (part.form, part.tokens, part.width, part.height) == ("tokens", ["fine", "", ""], 3, 1)
    lines = HeatmapModel(explain(lambda x: x.sum(["C", "T"]), wb.rand(N=2, C=2, T=9), publish=False))
    assert [(one.form, one.height, one.width) for one in state_of(lines).parts] == [("series", 2, 9)]
    both = explain(
        lambda a, b: a.sum(["C", "H", "W"]) + b.sum("features"),
        (wb.rand(N=2, C=1, H=4, W=4), wb.rand(N=2, features=3)),
        publish=False,
    )
    assert [(one.name, one.width) for one in state_of(HeatmapModel(both)).parts] == [
        ("input 0", 4),
        ("input 1", 3),
    ]


@pytest.mark.parametrize("dtype", [wb.uint8, wb.int64])
def test_inputs_of_whole_numbers_are_drawn(dtype: Any) -> None:
    words = wb.tensor([[1, 5, 7], [2, 3, 9]], dtype=dtype)
    found = explain(
        lambda x: x.float().sum(1), words, method="occlusion", sliding_window_shapes=(1,), publish=False
    )
    (part,) = state_of(HeatmapModel(found)).parts
    assert (part.width, part.input_low, part.input_high) == (3, 1.0, 9.0)


def test_pictures_are_blurred_for_a_baseline_as_wide_as_one_says() -> None:
    model, study = asked()
    model.handle(ask_event(method="integrated_gradients"))
    model.handle(SettingEvent("setting", "baseline", "blurred"))
    wait_for(study)
    shown = {one.name: one for one in controls_of(model).settings}
    assert (shown["baseline"].value, shown["baseline"].choices) == ("blurred", ["zeros", "mean", "blurred"])
    assert "or each picture blurred" in shown["baseline"].meaning
    assert (shown["blur_width"].value, shown["blur_width"].label) == ("1.0", "blur, pixels")
    model.handle(SettingEvent("setting", "blur_width", "2.5"))
    wait_for(study)
    assert ["baseline", "blurred by 2.5 pixels", "baseline"] in state(model)[0].settings
    for typed, words in (
        ("wide", "blur_width is a number; got 'wide'"),
        ("0", "above 0 and finite; got 0.0"),
    ):
        with pytest.raises(Refused, match=words):
            model.handle(SettingEvent("setting", "blur_width", typed))
    model.handle(SettingEvent("setting", "baseline", "zeros"))
    wait_for(study)
    assert "blur_width" not in [one.name for one in controls_of(model).settings]
    table = HeatmapModel(Study(lambda x: x, wb.rand(2, 3), publish=False))
    (baseline,) = [one for one in controls_of(table).settings if one.name == "baseline"]
    assert baseline.choices == ["zeros", "mean"] and "blurred" not in baseline.meaning


def controls_of(model: HeatmapModel) -> HeatmapControls:
    found = state_of(model).controls
    assert found is not None
    return found


def test_a_result_of_a_method_made_ready_has_controls_and_says_what_is_not_set_here() -> None:
    net = wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3), wb.nn.Flatten(), wb.nn.Linear(72, 3)).eval()
    made = NoiseTunnel(IntegratedGradients(net, multiply_by_inputs=False))
    model = HeatmapModel(explain(net, wb.rand(N=2, C=1, H=8, W=8), method=made, nt_samples=2, publish=False))
    controls = controls_of(model)
    assert (controls.method, controls.made) == ("Noise Tunnel", "Integrated Gradients · times inputs False")
    assert [one.title for one in controls.methods if one.name == "Noise Tunnel"] == [
        "Noise Tunnel, made ready"
    ]
    values = {one.name: one.value for one in controls.settings}
    assert values == {"nt_type": "smoothgrad", "nt_samples": "2", "stdevs": "1.0"}
    model.handle(SettingEvent("setting", "nt_samples", "3"))
    assert model.study is not None
    wait_for(model.study)
    assert ["nt_samples", "3", "noisy copies"] in state_of(model).settings
    model.handle(ask_event(method="saliency"))
    wait_for(model.study)
    assert controls_of(model).made == ""


def test_attributions_of_several_layers_are_drawn_each_and_say_why_no_more_is_asked() -> None:
    net = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(12, 3)).eval()
    layers = [net[0], net[1]]
    found = explain(net, wb.rand(N=2, C=1, H=3, W=4), method="layer_activation", layer=layers, publish=False)
    drawn = state_of(HeatmapModel(found))
    assert [(part.name, part.width) for part in drawn.parts] == [("layer 0", 12), ("layer 1", 3)]
    assert drawn.controls is None
    assert drawn.alone.startswith(
        "It explains by a layer that has no name in the model, or by several: to ask more"
    )
    assert state_of(HeatmapModel(result())).alone == ""


def test_a_layer_of_two_inputs_is_drawn_alone() -> None:
    class Both(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = wb.nn.Linear(4, 3)

        def forward(self, image: Any, table: Any) -> Any:
            return self.fc(table) * image.rename(None).sum((1, 2, 3)).unsqueeze(1)

    inputs = (wb.rand(N=2, C=1, H=3, W=3), wb.rand(2, 4))
    study = Study(Both().eval(), inputs, publish=False)
    model = HeatmapModel(study)
    study.ask(method="layer_activation", layer="fc")
    study.wait(60)
    (part,) = state_of(model).parts
    assert (part.name, part.width, part.channels) == ("layer fc", 3, 0)


def test_a_result_alone_is_only_looked_at() -> None:
    alone = replace(result(), asked=None)
    model = HeatmapModel(alone)
    assert state(model)[0].controls is None
    assert "run wb.attribution.explain(model, inputs) again to ask more" in state(model)[0].alone
    model.handle(SampleEvent("sample", 2))
    assert state(model)[0].sample == 2
    with pytest.raises(Refused, match="does not say what was asked"):
        model.handle(ask_event(target="1"))


def test_cells_without_an_attribution_travel_as_such() -> None:
    made = result()
    made.attributions.numpy()[0, 0, 1, 2] = np.nan
    _, _, heat = state(HeatmapModel(made))
    assert np.argwhere(np.isnan(heat)).tolist() == [[1, 2]]


def test_what_explain_publishes_reaches_the_panel() -> None:
    renderers.start()
    made = result()
    (model,) = registry.models("heatmap")
    assert isinstance(model, HeatmapModel)
    assert model.result is made


def test_long_names_do_not_fill_the_page() -> None:
    named = explain(
        scores, wb.rand(N=1, C=2, H=4, W=5), 0, class_names=["x" * 10_000, "b", "c"], title="t" * 5000
    )
    drawn, _, _ = state(HeatmapModel(named))
    assert (len(drawn.target), len(drawn.head.title)) == (200, 200)


def test_every_setting_that_is_offered_is_called_something_that_people_read() -> None:
    for method in METHODS.values():
        for one in settings_of(method) if offered(method) else ():
            if one.kind != "other":
                assert one.meaning.endswith(".") and "_" not in one.label, one.name
