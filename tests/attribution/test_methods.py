"""The methods of attribution: models whose answer is known, what they leave behind, and what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.attribution import (
    AttributionResult,
    ConvergenceWarning,
    InputXGradient,
    IntegratedGradients,
    Saliency,
    TrainingModeWarning,
    deep_lift,
    explain,
)
from workbench.attribution.quadrature import METHODS, quadrature
from workbench.base import events
from workbench.models import DigitsNet

METHOD_CLASSES = [IntegratedGradients, Saliency, InputXGradient]


def images(count: int = 2) -> wb.Tensor:
    values = np.random.default_rng(1).random((count, 1, 28, 28), np.float32)
    return wb.from_numpy(values, names=("N", "C", "H", "W"))


def squares(x: Any) -> Any:
    """[N, features] → [N]"""
    return (x * x).sum("features")


def rows(*values: list[float]) -> wb.Tensor:
    return wb.tensor([[float(one) for one in row] for row in values], names=("N", "features"))


# ------------------------------------------------------------------------------------------ known answers


def test_a_linear_model_is_explained_exactly_by_its_weights() -> None:
    weights = np.array([2.0, -1.0, 0.5], np.float32)
    x, start = rows([1, 2, 3], [-1, 0, 4]), rows([0.5, 0.5, 0.5])
    model = lambda x: (x * wb.from_numpy(weights)).sum("features")
    found, delta = IntegratedGradients(model).attribute(x, start, n_steps=1, return_convergence_delta=True)
    np.testing.assert_allclose(found.numpy(), weights * (x.numpy() - 0.5), rtol=1e-6)
    np.testing.assert_allclose(delta.numpy(), 0, atol=1e-6)
    np.testing.assert_array_equal(Saliency(model).attribute(x).numpy(), np.abs([weights] * 2))
    np.testing.assert_array_equal(InputXGradient(model).attribute(x).numpy(), weights * x.numpy())


@given(
    st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4),
    st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4),
)
def test_completeness(end: list[float], start: list[float]) -> None:
    x, b = wb.tensor([end], dtype=wb.float64), wb.tensor([start], dtype=wb.float64)
    model = lambda x: x[:, 0] * x[:, 1] + x[:, 2].sin() * x[:, 3]
    found, delta = IntegratedGradients(model).attribute(x, b, return_convergence_delta=True)
    change = model(x).item() - model(b).item()
    np.testing.assert_allclose(found.numpy().sum(), change, atol=1e-9)
    np.testing.assert_allclose(delta.numpy(), [found.numpy().sum() - change], atol=1e-12)


def test_the_sign_of_the_delta() -> None:
    # The gradient of x² grows along the path: its left ends are too low, its right ends too high.
    x = rows([1.0])
    for method, sign in [("riemann_left", -1), ("riemann_right", 1)]:
        _, delta = IntegratedGradients(squares).attribute(
            x, method=method, n_steps=4, return_convergence_delta=True
        )
        np.testing.assert_allclose(delta.numpy(), [sign * 0.25], atol=1e-6)


def test_a_tuple_of_inputs_is_answered_by_a_tuple() -> None:
    a, b = wb.tensor([[1.0], [2.0]]), wb.tensor([[3.0], [5.0]])
    found = InputXGradient(lambda a, b: a * b).attribute((a, b))
    assert isinstance(found, tuple)
    assert [one.tolist() for one in found] == [[[3.0], [10.0]]] * 2


@pytest.mark.parametrize(
    "target", [(1, 0), [(1, 0), (1, 0)], wb.tensor([[1, 0], [1, 0]])], ids=["tuple", "list", "tensor"]
)
def test_targets_in_an_output_of_several_dims(target: Any) -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    model = lambda x: (x * x).reshape(2, 2, 1)
    assert Saliency(model).attribute(x, target=target).tolist() == [[0, 4], [0, 8]]


@pytest.mark.parametrize("target", [[1, 0], wb.tensor([1, 0])], ids=["list", "tensor"])
def test_a_target_a_sample(target: Any) -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert Saliency(lambda x: x * x).attribute(x, target=target).tolist() == [[0, 4], [6, 0]]


def test_weights_of_the_quadrature() -> None:
    for method in METHODS:
        weights, places = quadrature(method, 7)
        assert places.min() >= 0 and places.max() <= 1
        expected = 6 / 7 if method == "riemann_trapezoid" else 1
        np.testing.assert_allclose(weights.sum(), expected)


# ---------------------------------------------------------------------------------------- what is left behind


@pytest.mark.parametrize("kind", METHOD_CLASSES)
def test_parameters_get_no_gradient_and_each_module_keeps_its_mode(kind: Any) -> None:
    model = DigitsNet()
    model.bn1.eval()
    before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    x = images()
    with pytest.warns(
        TrainingModeWarning, match=r"DigitsNet\) is in training mode.*Call model.eval\(\) first"
    ):
        found = kind(model).attribute(x, target=3)
    assert (found.shape, found.names, found.requires_grad) == (x.shape, x.names, False)
    assert all(one.grad is None for one in model.parameters())
    assert (x.grad, x.requires_grad) == (None, False)
    assert (model.training, model.bn1.training, model.bn2.training) == (True, False, True)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])


def test_the_mode_is_put_back_after_an_error() -> None:
    model = DigitsNet()
    with pytest.raises(wb.DimensionIndexError), pytest.warns(TrainingModeWarning):
        Saliency(model).attribute(images(), target=10)
    assert model.training and model.bn2.training


@pytest.mark.parametrize("kind", METHOD_CLASSES)
def test_no_grad_around_does_not_matter(kind: Any) -> None:
    with wb.no_grad():
        inside = kind(squares).attribute(rows([1, 2]))
    np.testing.assert_array_equal(inside.numpy(), kind(squares).attribute(rows([1, 2])).numpy())


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("kind", METHOD_CLASSES)
@pytest.mark.parametrize(
    ("inputs", "target", "error", "words"),
    [
        (lambda: images(), 10, wb.DimensionIndexError, "target 10 of sample 0 is out of range"),
        (lambda: images(), [3, -11], wb.DimensionIndexError, "target -11 of sample 1 is out of range"),
        (lambda: images(), 10**30, wb.DimensionIndexError, "no output has so many entries"),
        (lambda: images(), None, wb.DimensionError, "several numbers a sample"),
        (lambda: images(), (1, 2), wb.DimensionError, "a target of 2 indices does not pick one number"),
        (lambda: images(), [1, 2, 3], wb.DimensionError, "3 targets for 2 samples"),
        (lambda: images(), 1.0, wb.DTypeError, "a whole number; got float"),
        (lambda: images(), True, wb.DTypeError, "a whole number; got bool"),
        (lambda: images().long(), 1, wb.DTypeError, "need floating point inputs, input 0 is int64"),
        (lambda: [1.0], 1, TypeError, "inputs are tensors, input 0 is a list"),
        (lambda: images()[:0], 1, wb.DimensionError, "there is nothing to explain"),
    ],
)
def test_refusals(kind: Any, inputs: Any, target: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        kind(DigitsNet().eval()).attribute(inputs(), target=target)


@pytest.mark.parametrize("kind", METHOD_CLASSES)
def test_values_that_are_not_finite_are_counted(kind: Any) -> None:
    values = images().numpy().copy()
    values[0, 0, 0, :3], values[1, 0, 5, 5] = np.nan, np.inf
    with pytest.raises(ValueError, match="input 0 holds 3 NaN and 1 infinite of 1,568 values"):
        kind(DigitsNet().eval()).attribute(wb.from_numpy(values), target=1)


@pytest.mark.parametrize(
    ("baselines", "error", "words"),
    [
        (lambda: wb.zeros(3, 4), wb.DimensionError, r"baselines of shape \[3, 4\] do not go with inputs"),
        (lambda: wb.zeros(4), wb.DimensionError, r"try: baselines.unsqueeze\(0\)"),
        (lambda: wb.zeros(N=2, time=4), wb.DimensionError, "the names of the baselines do not match"),
        (lambda: (0, 0), TypeError, "a baseline is a number or a tensor, got tuple"),
        (lambda: "zero", TypeError, "a baseline is a number or a tensor, got str"),
        (lambda: float("nan"), ValueError, "baseline 0 holds 1 NaN"),
    ],
)
def test_baselines_that_do_not_fit(baselines: Any, error: type[Exception], words: str) -> None:
    x = rows([1, 2, 3, 4], [5, 6, 7, 8])
    with pytest.raises(error, match=words):
        IntegratedGradients(squares).attribute(x, baselines())


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"method": "simpson"}, ValueError, "no integration method 'simpson'"),
        ({"n_steps": 0}, ValueError, "n_steps is 0"),
        ({"n_steps": 2.0}, TypeError, "n_steps is a whole number, got 2.0"),
        ({"internal_batch_size": 0}, ValueError, "a number of rows from 1, got 0"),
        ({"internal_batch_size": 1.5}, ValueError, "a number of rows from 1, got 1.5"),
    ],
)
def test_settings_that_cannot_be(settings: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        IntegratedGradients(squares).attribute(rows([1, 2]), **settings)


def test_models_that_cannot_be_explained() -> None:
    x = rows([1, 2], [3, 4])
    with pytest.raises(
        wb.AutogradError, match="does not depend on the inputs through ops that have gradients"
    ):
        Saliency(lambda x: squares(x.detach())).attribute(x)
    with pytest.raises(wb.DimensionError, match="its first dim must be the samples"):
        Saliency(lambda x: squares(x).sum()).attribute(x)
    with pytest.raises(TypeError, match="must return a tensor, it returned tuple"):
        Saliency(lambda x: (x, x)).attribute(x)
    with pytest.raises(wb.DTypeError, match="the model's output is int64"):
        Saliency(lambda x: x.argmax(1)).attribute(x)
    with pytest.raises(TypeError, match="a int cannot be called"):
        Saliency(3)  # type: ignore[arg-type]


def test_outputs_that_are_not_finite_are_warned_of() -> None:
    words = (
        "whether the attributions of 2 of 2 samples add up: their outputs are NaN or infinite; look at what"
    )
    with pytest.warns(ConvergenceWarning, match=words):
        IntegratedGradients(lambda x: x.sum(1) + float("nan")).attribute(rows([1.0], [2.0]))


def test_neurons_are_explained_beside_the_class_that_comes_out() -> None:
    model, x = wb.models.DigitsNet().eval(), wb.rand(N=2, C=1, H=28, W=28)
    for name in (
        "neuron_gradient",
        "neuron_integrated_gradients",
        "neuron_gradient_shap",
        "neuron_conductance",
    ):
        given = {"baselines": x * 0} if name == "neuron_gradient_shap" else {}
        found = explain(model, x, method=name, layer="fc1", neuron_selector=1, publish=False, **given)
        assert (found.attributions.shape, found.scores.shape) == (x.shape, (2, 10))
    expected = wb.attribution.NeuronGradient(model, "fc1").attribute(x, neuron_selector=1)
    found = explain(model, x, method="neuron_gradient", layer="fc1", neuron_selector=1, publish=False)
    np.testing.assert_array_equal(found.attributions.numpy(), expected.numpy())


@pytest.mark.parametrize("over", [1, (1,)])
def test_dims_to_sum_over_go_by_name(over: Any) -> None:
    with pytest.raises(TypeError, match="Saliency: over= is the name of a dim, or a tuple of names, got 1"):
        Saliency(squares).attribute(rows([1.0]), over=over)


def test_attributions_that_do_not_add_up_are_warned_of() -> None:
    with pytest.warns(
        ConvergenceWarning, match="of 1 of 1 samples do not add up .* take more steps, e.g. n_steps=200"
    ):
        IntegratedGradients(squares).attribute(rows([1.0]), method="riemann_left", n_steps=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IntegratedGradients(squares).attribute(rows([1.0]))


def test_what_takes_no_steps_is_told_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_lift, "TOLERANCE", -1.0)
    with pytest.warns(ConvergenceWarning, match=r"do not add up to the output's change, off by up to \S+$"):
        wb.attribution.DeepLift(lambda x: (2 * x).relu()).attribute(rows([1.0]))


# -------------------------------------------------------------------------------------------------- explain


def test_explain_says_what_was_predicted_and_publishes_once() -> None:
    wb.manual_seed(0)
    model, x, seen = DigitsNet().eval().eval(), images(3), []
    stop = events.subscribe(AttributionResult, lambda source: seen.append(source))
    result = explain(model, x, class_names=[f"digit {i}" for i in range(10)])
    stop()
    assert seen == [result]
    with wb.no_grad():
        scores = model(x).numpy()
    assert [one[0] for one in result.targets] == scores.argmax(1).tolist()
    predictions = result.predictions(1)
    assert predictions[0][0] == f"digit {scores[1].argmax()}" == result.target_name(1)
    assert sum(probability for _, probability in predictions) == pytest.approx(1)
    assert [p for _, p in predictions] == sorted((p for _, p in predictions), reverse=True)
    assert result.attributions.names == x.names
    assert result.delta is not None and result.tolerance is not None and len(result) == 3
    assert result.settings["n_steps"] == "50" and result.settings["baseline"] == "zeros"
    again = eval(result.code, {"wb": wb, "model": model, "inputs": x, "targets": None})
    # Now that it is known what a row takes, batches end elsewhere: the last bits may differ.
    np.testing.assert_allclose(again.attributions.numpy(), result.attributions.numpy(), rtol=1e-4, atol=1e-8)
    assert result.seconds > 0 and result.within_tolerance()


def test_a_result_knows_what_was_asked_so_that_it_can_be_asked_otherwise_without_telling_anybody() -> None:
    seen: list[object] = []
    result = explain(squares, rows([1.0, 2.0]), n_steps=3)
    assert result.asked is not None
    stop = events.subscribe(AttributionResult, seen.append)
    again = explain(**{**result.asked, "n_steps": 4}, publish=False)
    stop()
    assert (seen, result.settings["n_steps"], again.settings["n_steps"]) == ([], "3", "4")
    assert again.inputs.tolist() == result.inputs.tolist()


def test_explain_takes_targets_and_methods() -> None:
    x = images(2)
    for method in ("saliency", "input_x_gradient"):
        result = explain(DigitsNet().eval(), x, [4, 5], method=method)
        assert (result.targets, result.delta, result.tolerance) == (((4,), (5,)), None, None)
    with pytest.warns(ConvergenceWarning, match="off by up to 2"):
        rough = explain(squares, rows([2.0]), n_steps=2, method="riemann_left")
    assert not rough.within_tolerance()
    assert "method='riemann_left', n_steps=2)" in rough.code
    loose = explain(squares, rows([1.0, 2.0]), n_steps=2, method="integrated_gradients")
    assert (loose.targets, loose.predictions(0), loose.target_name(0)) == (((),), [], "output")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "saliencey"}, ValueError, "did you mean 'saliency'"),
        ({"method": "rieman_left"}, ValueError, "did you mean 'riemann_left'"),
        ({"method": 3}, TypeError, "got int"),
        ({"steps": 3}, TypeError, "IntegratedGradients has no setting 'steps'"),
        ({"method": "saliency", "baselines": 0}, TypeError, "Saliency starts from no baseline"),
        ({"class_names": ["a"]}, ValueError, "1 class names for 10 classes"),
        ({"targets": 11}, wb.DimensionIndexError, "target 11 of sample 0 is out of range"),
    ],
)
def test_explain_refuses_and_publishes_nothing(options: Any, error: type[Exception], words: str) -> None:
    seen: list[object] = []
    stop = events.subscribe(AttributionResult, lambda source: seen.append(source))
    try:
        with pytest.raises(error, match=words):
            explain(DigitsNet().eval(), images(), **options)
    finally:
        stop()
    assert seen == []


@pytest.mark.parametrize("room", ["concept", "influence", "metrics", "robust", "visualization"])
def test_rooms_are_there_by_their_names(room: str) -> None:
    assert room in dir(wb.attribution)
    assert getattr(wb.attribution, room).__all__
