"""Layers: how they are found, what of them is taken and replaced, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution
from workbench.attribution import IntegratedGradients, LayerActivation, Saliency
from workbench.attribution.layer_values import LayerForward
from workbench.attribution.layers import find_layer
from workbench.attribution.neuron.forward import NeuronForward
from workbench.models import DigitsNet


def images(count: int = 2) -> wb.Tensor:
    return wb.from_numpy(
        np.random.default_rng(1).random((count, 1, 28, 28), np.float32), names=("N", "C", "H", "W")
    )


def twice() -> Any:
    relu = wb.nn.ReLU()
    return wb.nn.Sequential(wb.nn.Linear(4, 4), relu, wb.nn.Linear(4, 4), relu).eval()


@pytest.mark.parametrize("at_input", [False, True])
def test_a_layer_is_found_by_module_name_and_node(at_input: bool) -> None:
    model, x = DigitsNet().eval(), images()
    with wb.no_grad():
        before = model.relu1(model.bn1(model.conv1(x)))
        expected = (before if at_input else model.pool1(before)).numpy()
    module = wb.fx.symbolic_trace(model)
    graph = wb.graph.trace(model, x)
    # Of two values, the greatest and their places.
    pooling = next(node for node in graph.nodes if node.scope[-1:] == ("pool1",))
    convolution = graph.nodes[0]
    np.testing.assert_allclose(
        LayerActivation(graph, convolution).attribute(x).numpy(),
        LayerActivation(model, "conv1").attribute(x).numpy(),
        rtol=1e-5,
        atol=1e-6,
    )
    places = [
        (model, "pool1"),
        (model, model.pool1),
        (lambda x: model(x).exp(), "pool1"),
        (module, next(node for node in module.graph.nodes if node.name == "pool1")),
        (graph, pooling.outputs[0]),
    ]
    for forward, layer in places:
        found = LayerActivation(forward, layer).attribute(x, attribute_to_layer_input=at_input)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert (
        not model.pool1._hooks.forward
        and not model.pool1._hooks.forward_pre
        and "forward" not in vars(module)
    )


def test_names_of_a_layer_are_kept_and_summed_over() -> None:
    model, x = DigitsNet().eval(), images()
    found = LayerActivation(model, "conv1").attribute(x)
    assert found.names == ("N", "C", "H", "W")
    summed = LayerActivation(model, "conv1").attribute(x, over="C")
    np.testing.assert_allclose(summed.numpy(), found.numpy().sum(1), rtol=1e-5, atol=1e-5)
    with pytest.raises(wb.DimensionError, match="no dim 'c' to sum over; did you mean 'C'"):
        LayerActivation(model, "conv1").attribute(x, over="c")


def test_what_changes_in_place_behind_a_layer_does_not_change_what_was_taken() -> None:
    model = wb.nn.Sequential(wb.nn.Linear(4, 4), wb.nn.ReLU(inplace=True)).eval()
    x = wb.from_numpy(np.random.default_rng(0).standard_normal((3, 4), np.float32))
    found = LayerActivation(model, "0").attribute(x)
    assert found.numpy().min() < 0
    with wb.no_grad():
        np.testing.assert_array_equal(found.numpy(), model[0](x).numpy())


@pytest.mark.filterwarnings("ignore:LayerIntegratedGradients. the attributions of")  # of few steps
@pytest.mark.parametrize("kind", ["LayerIntegratedGradients", "LayerFeatureAblation", "LayerDeepLift"])
def test_a_layer_in_front_of_a_change_in_place(kind: str) -> None:
    x, first, last = wb.rand(2, 4), wb.nn.Linear(4, 5), wb.nn.Linear(5, 2)
    aside, in_place = (
        wb.nn.Sequential(first, wb.nn.LeakyReLU(inplace=inside), last).eval() for inside in (False, True)
    )
    expected, found = (
        getattr(attribution, kind)(model, "0").attribute(x, target=1) for model in (aside, in_place)
    )
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


def test_a_list_of_layers_and_a_layer_of_a_tuple() -> None:
    model, x = DigitsNet().eval(), images()
    first, second = LayerActivation(model, ["conv1", model.fc1]).attribute(x)
    assert (first.shape, second.shape) == ((2, 32, 28, 28), (2, 128))
    lstm = wb.nn.LSTM(4, 5, batch_first=True).eval()
    assert LayerActivation(lambda x: lstm(x)[0], lstm).attribute(wb.rand(2, 3, 4)).shape == (2, 3, 5)

    class Pair(wb.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1, x * 2

    pair = Pair().eval()
    found = LayerActivation(lambda x: pair(x)[0], pair).attribute(wb.ones(2, 3))
    assert isinstance(found, tuple) and [one.numpy().mean() for one in found] == [2, 2]


def test_a_layer_that_runs_twice_is_named_by_its_call() -> None:
    model, x = twice(), wb.rand(2, 4)
    with wb.no_grad():
        expected = model[1](model[0](x)), model(x)
    for call in (0, 1):
        found = LayerActivation(model, f"1#{call}").attribute(x)
        np.testing.assert_allclose(found.numpy(), expected[call].numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "error", "words"),
    [
        ("2.0", ValueError, "the model has no layer '2.0'; its layers are 0, 1, 2"),
        ("1", ValueError, "layer '1' runs 2 times .* say which: '1#0' to '1#1'"),
        ("1#5", ValueError, "layer '1' runs 2 times when the model does"),
        ("1#a", ValueError, "after # comes the number of a call"),
        (wb.nn.ReLU(), ValueError, "this ReLU is not in the model, a Sequential; its layers are 0, 1, 2"),
        (3, TypeError, "a layer is a module, its dotted name or a node of a graph, got int"),
    ],
)
def test_layers_that_are_not_there(layer: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        LayerActivation(twice(), layer).attribute(wb.rand(2, 4))


def test_near_misses_and_layers_that_do_not_run() -> None:
    with pytest.raises(ValueError, match="no layer 'convv1'; did you mean 'conv1'"):
        LayerActivation(DigitsNet().eval(), "convv1")
    model = DigitsNet().eval()
    with pytest.raises(ValueError, match="layer 'fc2' runs not at all"):
        LayerActivation(lambda x: model.conv1(x), model.fc2).attribute(images())
    linear = wb.nn.Linear(4, 2).eval()
    with pytest.raises(wb.DimensionError, match="its first dim must be the samples"):
        LayerActivation(lambda x: linear(x.reshape(1, 2, 4))[0], linear).attribute(wb.rand(2, 4))


def test_a_model_as_a_function_of_its_layer() -> None:
    model, x = DigitsNet().eval(), images()
    layer = find_layer("Example", model, "pool2")
    with wb.no_grad():
        value = LayerActivation(model, "pool2").attribute(x)
        again = LayerForward("Example", model, [layer], [1])(value, x)
        np.testing.assert_allclose(again.numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)
        changed = LayerForward("Example", model, [layer], [1])(value * 0, x)
        assert not np.allclose(changed.numpy(), again.numpy())


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (1, lambda value: value[:, 1]),
        ((2,), lambda value: value[:, 2]),
        (slice(0, 2), lambda value: value[:, :2].sum(1)),
        (lambda value: value[:, 0] + value[:, 1], lambda value: value[:, :2].sum(1)),
    ],
)
def test_a_model_as_a_function_to_a_neuron(selector: Any, expected: Any) -> None:
    model, x = twice(), wb.rand(3, 4)
    with wb.no_grad():
        found = NeuronForward("Example", model, find_layer("Example", model, "0"), selector)(x)
        np.testing.assert_allclose(found.numpy(), expected(model[0](x).numpy()), rtol=1e-6)


@pytest.mark.parametrize(
    ("selector", "error", "words"),
    [
        (9, wb.DimensionError, "neuron 9 is out of range: dim 1 of layer '0' has 4 entries"),
        ((1, 2), wb.DimensionError, "a neuron_selector of 2 indices does not pick a neuron"),
        (1.5, TypeError, "neuron_selector is a whole number, a tuple"),
        (lambda value: value, wb.DimensionError, "the selector of a neuron returns one number a row"),
    ],
)
def test_neurons_that_are_not_there(selector: Any, error: type[Exception], words: str) -> None:
    model = twice()
    with pytest.raises(error, match=words):
        NeuronForward("Example", model, find_layer("Example", model, "0"), selector)(wb.rand(3, 4))


@pytest.mark.parametrize(
    "kind", ["LayerIntegratedGradients", "LayerActivation", "NeuronGradient", "LayerLRP"]
)
def test_a_layer_may_be_chosen_later(kind: str) -> None:
    model, x = twice(), wb.rand(2, 4)
    method = getattr(attribution, kind)(model, None)
    asked = (0,) if kind == "NeuronGradient" else ()
    with pytest.raises(ValueError, match=f"{kind}: no layer is chosen yet: set its layer to a module of the"):
        method.attribute(x, *asked)
    assert method.on(model).layer is None
    method.layer = "0"
    target = {} if kind in ("NeuronGradient", "LayerActivation") else {"target": 1}
    expected = getattr(attribution, kind)(model, "0").attribute(x, *asked, **target)
    assert method.attribute(x, *asked, **target).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "selector", [[1, 2, 3], (-3, -4, -3), (1, slice(2, 3), 3), lambda value: value[:, 1, 2, 3]]
)
@pytest.mark.parametrize("kind", ["NeuronGradient", "NeuronDeepLift", "NeuronFeatureAblation"])
def test_one_neuron_in_several_words(kind: str, selector: Any) -> None:
    model, x = wb.nn.Sequential(wb.nn.Conv2d(1, 4, 3, padding=1), wb.nn.ReLU()).eval(), wb.rand(2, 1, 6, 6)
    method = getattr(attribution, kind)(model, "0")
    expected = method.attribute(x, (1, 2, 3))
    np.testing.assert_allclose(method.attribute(x, selector).numpy(), expected.numpy(), rtol=1e-5)


def test_modules_and_tensors_of_another_library_are_refused_with_what_helps() -> None:
    """As they look from outside: PyTorch need not be there."""
    theirs = type("Module", (), {"__module__": "torch.nn.modules.module", "forward": lambda self, x: x})
    model: Any = type("Net", (theirs,), {"__call__": lambda self, x: x})()
    tensor: Any = type("Tensor", (), {"__module__": "torch"})()
    makes = r"wb.interop.torch.from_module\(module\) makes one of it that runs here"
    for forward in (model, model.forward):
        with pytest.raises(TypeError, match=f"Saliency: the model, a .*, does not run here; .*{makes}"):
            Saliency(forward)
    with pytest.raises(TypeError, match=f"a layer is a module, .* got Net; .*{makes}"):
        LayerActivation(twice(), model)
    copies = r"torch.Tensor; it is PyTorch's own, of another library: .* wb.tensor\(x\) copies it"
    x, method = wb.rand(2, 4), IntegratedGradients(twice())
    for words, call in {
        "input 0 is a": lambda: method.attribute(tensor, target=0),
        "a baseline is a number or a tensor, got": lambda: method.attribute(x, tensor, target=0),
        "the target is a": lambda: method.attribute(x, target=tensor),
        "the model must return a tensor, it returned": lambda: Saliency(lambda x: tensor).attribute(x),
    }.items():
        with pytest.raises(TypeError, match=f"{words} {copies}"):
            call()
