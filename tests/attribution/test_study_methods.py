"""Methods of the caller's own in a study: made ready, or classes that go by no name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import (
    GuidedGradCam,
    IntegratedGradients,
    LayerGradCam,
    NeuronGradient,
    NoiseTunnel,
    Saliency,
    Study,
    compare,
    explain,
)


def net() -> Any:
    wb.manual_seed(0)
    return wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(72, 3)).eval()


def images() -> Any:
    return wb.rand(N=3, C=1, H=8, W=8)


class Doubled(Saliency):
    """A method of a user's, which goes by no name and is called by its class."""


READY: dict[str, Any] = {
    "slopes": (lambda model: IntegratedGradients(model, multiply_by_inputs=False), {"n_steps": 4}),
    "tunnel": (lambda model: NoiseTunnel(IntegratedGradients(model)), {"nt_samples": 2, "stdevs": 0.0}),
    "of a layer": (lambda model: LayerGradCam(model, model[0]), {}),
    "guided": (lambda model: GuidedGradCam(model, model[0]), {}),
    "of a neuron": (lambda model: NeuronGradient(model, model[3]), {"neuron_selector": 1}),
    "a user's": (Doubled, {}),
}


@pytest.mark.parametrize("kind", READY)
def test_a_result_of_a_method_made_ready_is_asked_on(kind: str) -> None:
    make, settings = READY[kind]
    model, x = net(), images()
    ready = make(model)
    result = explain(model, x, method=ready, publish=False, **settings)
    made = Study.of(result)
    assert made is not None and made.shown is not None and made.shown.result is result
    name = made.asked.method
    assert made.methods[name].ready is ready and made.methods[name].offered
    made.ask(samples=[1], target=2)
    found = made.wait(60)
    expected = explain(model, x[1:2], 2, make(model), publish=False, **settings)
    np.testing.assert_array_equal(found.attributions.numpy(), expected.attributions.numpy())
    again = eval(made.code(), {"wb": wb, "model": model, "inputs": x, "method": ready})
    np.testing.assert_array_equal(found.attributions.numpy(), again.attributions.numpy())
    made.ask(method="saliency")
    assert made.wait(60).method == "Saliency"
    made.ask(method=name)
    assert made.wait(60).method == ready.get_name()


def test_its_settings_are_set_but_not_what_it_was_made_with() -> None:
    model = net()
    made = Study(model, images(), publish=False, method=IntegratedGradients(model, multiply_by_inputs=False))
    made.ask(settings={"n_steps": 3})
    assert made.wait(60).settings["n_steps"] == "3"
    before = made.asked
    with pytest.raises(
        ValueError, match="IntegratedGradients, made ready, has no setting 'multiply_by_inputs'"
    ):
        made.ask(settings={"multiply_by_inputs": True})
    assert made.asked is before
    assert made.methods[made.asked.method].made == "times inputs False"
    tunnel = Study(model, images(), publish=False, method=NoiseTunnel(Saliency(model)))
    assert tunnel.methods["Noise Tunnel"].made == "Saliency"
    layer = Study(model, images(), publish=False, method=LayerGradCam(model, model[0]))
    assert layer.methods["Grad-CAM"].made == "layer 0"


def test_two_of_a_kind_are_told_apart_and_one_is_known_again() -> None:
    model = net()
    first, second = Saliency(model), Saliency(model)
    made = Study(model, images(), publish=False, method=first)
    for method, name in ((second, "Saliency #2"), (first, "Saliency"), (second, "Saliency #2")):
        made.ask(method=method)
        assert made.asked.method == name


def test_of_two_models_it_explains_the_one_that_is_asked() -> None:
    models, x = {"one": net(), "two": wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(64, 3)).eval()}, images()
    ready = Saliency(models["one"])
    made = Study(models, x, publish=False, method=ready, target=1)
    made.ask(other="two")
    made.wait(60)
    assert made.shown is not None and made.shown.beside is not None
    expected = Saliency(models["two"]).attribute(x[:1], target=1)
    np.testing.assert_array_equal(made.shown.beside.attributions.numpy(), expected.numpy())
    both = eval(made.code(), {"wb": wb, "models": models, "inputs": x, "method": ready})
    np.testing.assert_array_equal(both["two"].attributions.numpy(), expected.numpy())


def test_one_for_a_function_of_its_own_explains_nothing_else() -> None:
    models, x = {"one": net(), "two": net()}, images()
    own = Saliency(lambda x: models["one"](x) * 2)
    made = Study(models, x, publish=False, method=own, target=1)
    found = made.wait(60)
    np.testing.assert_allclose(
        found.attributions.numpy(), Saliency(models["one"]).attribute(x[:1], target=1).numpy() * 2, atol=1e-6
    )
    before = made.asked
    for parts in ({"model": "two"}, {"other": "two"}):
        with pytest.raises(
            ValueError, match="Saliency, made ready for a function that is none of the models"
        ):
            made.ask(**parts)
    assert made.asked is before


@pytest.mark.parametrize("given", ["module", "name"])
def test_a_layer_that_was_given_as_a_module_is_asked_by_its_name(given: str) -> None:
    model, x = net(), images()
    layer = model[0] if given == "module" else "0"
    made = Study.of(explain(model, x, method="layer_grad_cam", layer=layer, publish=False))
    assert made is not None and made.asked.layer == "0"
    hidden = [model]
    result = explain(lambda x: hidden[0](x), x, method="layer_grad_cam", layer=[model[0]], publish=False)
    assert Study.of(result) is None


def test_what_a_study_and_a_board_found_is_asked_on() -> None:
    model, x = net(), images()
    made = Study(model, x, publish=False, method="layer_grad_cam", layer="0", target=2)
    made.ask(samples=[1])
    again = Study.of(made.wait(60))
    assert again is not None and (again.asked.method, again.asked.layer, again.samples) == (
        "layer_grad_cam",
        "0",
        1,
    )
    methods = ["integrated_gradients", NoiseTunnel(Saliency(model))]
    settings = {"integrated_gradients": {"n_steps": 3}}
    board = compare(model, x, 1, methods, [], settings=settings, publish=False).wait(60)
    for row in board.rows:
        assert row.result is not None
        opened = Study.of(row.result)
        assert opened is not None and opened.models["model"] is model
        opened.ask(target=2)
        assert opened.wait(60).target_name(0) == "2"
        assert dict(opened.asked.settings) == board.settings.get(row.method, {})
