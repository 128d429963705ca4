"""A study: one question after the other about a model, beside whatever else runs."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import Study
from workbench.attribution.integrated_gradients import IntegratedGradients
from workbench.attribution.layers import first_layer_to_ask
from workbench.attribution.method_settings import settings_of


def net() -> Any:
    return wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(72, 3)).eval()


def images() -> Any:
    return wb.rand(N=3, C=1, H=8, W=8)


def study(**more: Any) -> Study:
    return Study(net(), images(), labels=[0, 1, 2], publish=False, **more)


@pytest.mark.parametrize(
    "ask",
    [
        {"method": "saliency"},
        {"target": 1, "settings": {"n_steps": 5}},
        {"target": "true", "settings": {"method": "riemann_left"}},
        {"method": "layer_grad_cam", "layer": "0"},
        {"samples": [2, 0], "settings": {"n_steps": 3}},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
def test_the_code_that_is_written_gives_the_same_result(ask: dict[str, Any]) -> None:
    made = study()
    made.ask(**ask)
    found = made.wait(60)
    again = eval(made.code(), {"wb": wb, "model": made.models["model"], "inputs": made.inputs})
    np.testing.assert_array_equal(again.attributions.numpy(), found.attributions.numpy())
    assert again.targets == found.targets


def test_a_study_goes_on_from_a_result_without_asking_again() -> None:
    model, x = net(), images()
    result = wb.attribution.explain(model, x, [2, 2, 1], n_steps=4, publish=False)
    made = Study.of(result)
    assert made is not None and made.shown is not None
    assert (made.asked.target, dict(made.asked.settings)) == ("given", {"n_steps": 4})
    made.ask(samples=[2])
    assert made.shown.result is result and made.shown.rows == (2,)
    made.ask(target="predicted")
    assert made.wait(60) is not result


def test_the_last_answer_stays_while_a_question_is_worked_on_and_the_newest_question_wins() -> None:
    gate, entered = threading.Event(), threading.Event()

    def slow(x: Any) -> Any:
        if slow.held:  # type: ignore[attr-defined]
            entered.set()
            gate.wait(30)
        return x.sum(["C", "H", "W"])

    slow.held = False  # type: ignore[attr-defined]
    made = Study(slow, images(), publish=False, method="saliency")
    made.ask()
    first = made.wait(60)
    slow.held = True  # type: ignore[attr-defined]
    made.ask(method="input_x_gradient")
    assert entered.wait(30)
    assert made.shown is not None and made.shown.result is first and made.runs is not None
    made.ask(method="integrated_gradients", settings={"n_steps": 3})
    gate.set()
    assert made.wait(60).method == "Integrated Gradients"
    assert made.runs is None and made.failure == ""


def test_a_stop_keeps_what_was_there() -> None:
    entered = threading.Event()
    gate = threading.Event()

    def model(x: Any) -> Any:
        if model.held:  # type: ignore[attr-defined]
            entered.set()
            gate.wait(30)
        return x.sum(["C", "H", "W"])

    model.held = False  # type: ignore[attr-defined]
    made = Study(model, images(), publish=False, method="saliency")
    made.ask()
    first, before = made.wait(60), made.asked
    model.held = True  # type: ignore[attr-defined]
    made.ask(method="integrated_gradients", settings={"n_steps": 40})
    assert entered.wait(30)
    made.stop()
    gate.set()
    with pytest.raises(RuntimeError, match="stopped before there was anything to show"):
        made.wait(60)
    assert made.shown is not None and made.shown.result is first
    assert made.asked == before


def test_a_module_in_training_is_not_touched() -> None:
    model = wb.nn.Sequential(
        wb.nn.Flatten(), wb.nn.BatchNorm1d(64), wb.nn.Dropout(0.5), wb.nn.Linear(64, 2)
    ).train()
    made = Study(model, images(), publish=False, method="saliency")
    before = model[1].running_mean.numpy().copy()
    made.ask()
    made.wait(60)
    assert all(part.training for part in model.modules())
    np.testing.assert_array_equal(model[1].running_mean.numpy(), before)
    assert made.shown is not None and made.shown.result.asked is not None
    assert made.shown.result.asked["model"] is model  # not the copy, which it would keep alive
    assert all(one.grad is None for one in model.parameters())


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"model": "int8"}, "there is no model 'int8'"),
        ({"method": "saliancy"}, "did you mean 'saliency'"),
        ({"layer": "9"}, "the model has no layer '9'"),
        ({"settings": {"steps": 3}}, "IntegratedGradients has no setting 'steps'"),
        ({"samples": [9]}, "the samples are 0 to 2; got \\[9\\]"),
        ({"target": "given"}, "no targets were given"),
    ],
    ids=str,
)
def test_what_there_is_not_is_refused_and_changes_nothing(ask: dict[str, Any], words: str) -> None:
    made = study()
    before = made.asked
    with pytest.raises(ValueError, match=words):
        made.ask(**ask)
    assert made.asked == before
    with pytest.raises(TypeError, match="there is no 'colour' to ask for"):
        made.ask(colour=1)


def test_a_method_of_layers_begins_with_one_and_says_where_there_is_none() -> None:
    made = study()
    made.ask(method="layer_grad_cam")
    made.wait(60)
    assert made.asked.layer == first_layer_to_ask(net()) and made.failure == ""
    made.ask(method="saliency")
    made.ask(method="layer_activation", layer="1")
    assert made.asked.layer == "1"
    without = Study(lambda x: x.flatten(1), images(), publish=False)
    without.ask(method="layer_grad_cam")
    with pytest.raises(
        RuntimeError, match="Grad-CAM explains by a layer, and none can be seen in this model"
    ):
        without.wait(60)


def test_labels_and_texts_are_one_for_each_sample() -> None:
    with pytest.raises(ValueError, match="2 labels for 3 samples"):
        Study(net(), images(), labels=[0, 1], publish=False)
    with pytest.raises(ValueError, match="labels are whole numbers"):
        Study(net(), images(), labels=[0.5, 1, 2], publish=False)
    with pytest.raises(TypeError, match="a study takes a model"):
        Study({}, images(), publish=False)
    with pytest.raises(TypeError, match="a study takes inputs"):
        Study(net(), [1, 2], publish=False)


def test_settings_are_read_as_they_are_typed() -> None:
    times, steps, rule, *rest = settings_of(IntegratedGradients)
    assert times.made and times.parse("False") is False
    assert all(one.kind == "other" for one in rest)
    assert (steps.parse(" 12 "), rule.parse("riemann_left")) == (12, "riemann_left")
    for setting, text, words in (
        (steps, "1.5", "n_steps is a whole number; got '1.5'"),
        (steps, "", "n_steps has no value; without one of yours it is 50"),
        (rule, "best", "method is one of a few words .*; got 'best'"),
    ):
        with pytest.raises(ValueError, match=words):
            setting.parse(text)


def test_questions_are_told_apart_by_whose_mask_it_is() -> None:
    one, two = wb.tensor([[0, 0, 1, 1]]), wb.tensor([[0, 1, 0, 1]])
    entered, gate, slow = threading.Event(), threading.Event(), False

    def model(x: Any) -> Any:
        if slow:
            entered.set()
            gate.wait(30)
        return x.sum([1])

    made = Study(model, wb.rand(3, 4), publish=False, method="feature_ablation", feature_mask=one)
    first = made.wait(30)
    slow = True
    made.ask(settings={"feature_mask": two})
    assert entered.wait(30)
    # What is known takes the place of what goes on, and its end says nothing about it.
    made.ask(settings={"feature_mask": one})
    gate.set()
    assert made.wait(30) is first and made.failure == "" and dict(made.asked.settings)["feature_mask"] is one


def test_settings_without_a_hash_are_asked_like_others() -> None:
    made = study(method="feature_ablation", perturbations_per_eval=2)
    asked = replace(made.asked, settings=(("places", [1, slice(2)]),))
    assert asked == replace(asked, settings=(("places", [1, slice(2)]),)) and len({asked, made.asked}) == 2
    assert asked != replace(asked, settings=(("places", [1, slice(3)]),)) and asked != "places"
    made = study(method="occlusion", sliding_window_shapes=[1, 2, 2])
    with pytest.raises(RuntimeError, match=r"sliding_window_shapes=\[1, 2, 2\] is not one tuple of sizes"):
        made.wait(30)


@pytest.mark.parametrize("kind", ["traced", "scripted", "followed", "opened"])
def test_every_layer_that_is_offered_of_a_graph_is_explained(kind: str, tmp_path: Path) -> None:
    model, x = net(), wb.rand(2, 1, 8, 8)
    wb.onnx.save(model, tmp_path / "model.onnx", x)
    ways: dict[str, Any] = {
        "traced": lambda: wb.jit.trace(model, x),
        "scripted": lambda: wb.jit.script(model),
        "followed": lambda: wb.graph.trace(model, x),
        "opened": lambda: wb.onnx.load(tmp_path / "model.onnx"),
    }
    made = Study(ways[kind](), x, publish=False, method="layer_activation")
    assert len(made.layers()) == 4
    for name in made.layers():
        made.ask(layer=name)
        assert made.wait(60).settings["layer"] == name
    with pytest.raises(ValueError, match="the model has no layer 'convv'"):
        made.ask(layer="convv")
