"""Cases with known answers that Captum's own tests name, for methods of gradients; and axioms, as properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.attribution import (
    GradientShap,
    InputXGradient,
    IntegratedGradients,
    InternalInfluence,
    LayerActivation,
    LayerConductance,
    LayerGradCam,
    LayerGradientShap,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    NeuronConductance,
    NeuronGradient,
    NeuronGradientShap,
    NeuronIntegratedGradients,
    NoiseTunnel,
    Saliency,
)


class Layers(wb.nn.Module):
    """Identity, a sum of three with four biases, ReLU, a sum of four: numbers that can be worked out by hand."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.linear0, self.linear1 = wb.nn.Linear(3, 3), wb.nn.Linear(3, 4)
        self.relu, self.linear2 = wb.nn.ReLU(inplace=inplace), wb.nn.Linear(4, 2)
        with wb.no_grad():
            self.linear0.weight.copy_(wb.eye(3))
            self.linear0.bias.zero_()
            self.linear1.weight.fill_(1)
            self.linear1.bias.copy_(wb.tensor([-10.0, 1.0, 1.0, 1.0]))
            self.linear2.weight.fill_(1)
            self.linear2.bias.copy_(wb.tensor([-1.0, 1.0]))

    def forward(self, x: Any, more: Any = None) -> Any:
        x = x if more is None else x + more
        return self.linear2(self.relu(self.linear1(self.linear0(x))))


X = wb.tensor([[0.0, 100.0, 0.0]])


def layers(inplace: bool = False) -> Layers:
    return Layers(inplace).eval()


def close(found: wb.Tensor, expected: Any, tolerance: float = 1e-3) -> None:
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------------------- layers and neurons


@pytest.mark.parametrize("inplace", [False, True])
def test_activation_of_a_relu(inplace: bool) -> None:
    model = layers(inplace)
    close(
        LayerActivation(model, model.relu).attribute(X, attribute_to_layer_input=True), [[90, 101, 101, 101]]
    )
    close(LayerActivation(model, model.linear1).attribute(X), [[90, 101, 101, 101]])
    close(LayerActivation(model, model.linear2).attribute(X), [[392, 394]])


@pytest.mark.parametrize("inplace", [False, True])
def test_conductance(inplace: bool) -> None:
    model = layers(inplace)
    close(LayerConductance(model, model.linear0).attribute(X, target=0, n_steps=500), [[0, 390, 0]], 0.01)
    found, delta = LayerConductance(model, model.linear1).attribute(
        X, wb.tensor([[0.0, 1.0, 0.0]]), target=1, n_steps=500, return_convergence_delta=True
    )
    close(found, [[90, 99, 99, 99]], 0.02)
    assert abs(delta.item()) < 3
    close(NeuronConductance(model, model.relu).attribute(X, 3, target=0), [[0, 98, 0]], 0.03)
    close(
        NeuronConductance(model, model.relu).attribute(X, (1,), target=0, method="gausslegendre"),
        [[0, 100, 0]],
    )


def test_influence_and_gradients() -> None:
    model = layers()
    close(InternalInfluence(model, model.linear1).attribute(X, target=0), [[0.9, 1, 1, 1]], 0.02)
    close(InternalInfluence(model, model.linear2).attribute(X, target=1), [[0, 1]])
    close(LayerGradientXActivation(model, model.linear0).attribute(X, target=0), [[0, 400, 0]])
    close(
        LayerGradientXActivation(model, model.linear0, multiply_by_inputs=False).attribute(X, target=0),
        [[4, 4, 4]],
    )
    close(NeuronGradient(model, model.linear2).attribute(X, 0), [[4, 4, 4]])
    close(NeuronGradient(model, model.linear1).attribute(X, (slice(0, 2),)), [[2, 2, 2]])


def test_integrals_of_layers_and_neurons() -> None:
    model = layers()
    found, delta = LayerIntegratedGradients(model, model.linear0).attribute(
        X, target=0, n_steps=200, return_convergence_delta=True
    )
    close(found, [[0, 390, 0]], 0.01)
    assert abs(delta.item()) < 1
    close(NeuronIntegratedGradients(model, model.relu).attribute(X, 0, n_steps=200), [[0, 90, 0]], 0.01)


def test_distributions() -> None:
    model = layers()
    wb.manual_seed(0)
    baselines = wb.zeros(5, 3)
    for found in (
        GradientShap(model).attribute(X, baselines, n_samples=400, target=0),
        LayerGradientShap(model, model.linear0).attribute(X, baselines, n_samples=400, target=0),
    ):
        close(found, [[0, 390, 0]], 0.02)
    found = NeuronGradientShap(model, model.linear1).attribute(X, 1, baselines)
    close(found, [[0, 100, 0]])


def test_grad_cam_of_channels() -> None:
    weight = wb.tensor([[[[1.0]]], [[[2.0]]]])
    convolution = wb.nn.Conv2d(1, 2, 1, bias=False)
    convolution.load_state_dict({"weight": weight})
    model = wb.nn.Sequential(convolution, wb.nn.Flatten(), wb.nn.Linear(8, 1, bias=False)).eval()
    model[2].load_state_dict({"weight": wb.tensor([[1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]])})
    x = wb.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    close(LayerGradCam(model, "0").attribute(x), [[[[-1, -2], [-3, -4]]]])
    close(LayerGradCam(model, "0").attribute(x, relu_attributions=True), np.zeros((1, 1, 2, 2)))
    whole = LayerGradCam(model, "0").attribute(x, attr_dim_summation=False)
    close(whole, [[[[1, 2], [3, 4]], [[-2, -4], [-6, -8]]]])
    with pytest.raises(TypeError, match=r"grad_kwargs are further arguments of PyTorch's autograd\.grad"):
        LayerGradCam(model, "0").attribute(x, grad_kwargs={"create_graph": True})


def test_whole_numbers_are_explained_by_the_layer_that_looks_them_up() -> None:
    class Words(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.last = wb.nn.Embedding(9, 4), wb.nn.Linear(4, 3)

        def forward(self, tokens: Any) -> Any:
            return self.last(self.embedding(tokens).tanh().mean(1))

    model = Words().eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    tokens = wb.tensor([[1, 2, 3], [4, 5, 6]])
    found, delta = LayerIntegratedGradients(model, "embedding").attribute(
        tokens, wb.zeros(2, 3).long(), target=1, return_convergence_delta=True
    )
    assert found.shape == (2, 3, 4) and np.abs(delta.numpy()).max() < 1e-5
    with pytest.raises(wb.DTypeError, match="need floating point inputs"):
        IntegratedGradients(model).attribute(tokens, target=1)
    with pytest.raises(wb.DTypeError, match="the baseline holds values that int64"):
        LayerIntegratedGradients(model, "embedding").attribute(tokens, 0.5, target=1)


# --------------------------------------------------------------------------------------------------- noise


def test_noise_tunnels() -> None:
    model = lambda x: (x * x).sum(1)
    x = wb.tensor([[1.0, -2.0], [0.5, 3.0]])
    wb.manual_seed(0)
    mean = NoiseTunnel(InputXGradient(model)).attribute(x, nt_samples=4000, stdevs=0.1)
    close(mean, 2 * x.numpy() ** 2 + 0.02, 0.03)
    square = NoiseTunnel(Saliency(model)).attribute(x, "smoothgrad_sq", nt_samples=4000, stdevs=0.1)
    close(square, 4 * x.numpy() ** 2 + 0.04, 0.05)
    spread = NoiseTunnel(Saliency(model)).attribute(x, "vargrad", nt_samples=4000, stdevs=0.1)
    close(spread, np.full((2, 2), 0.04), 0.01)
    found, delta = NoiseTunnel(IntegratedGradients(model)).attribute(
        x, nt_samples=3, nt_samples_batch_size=2, baselines=wb.zeros(2, 2), return_convergence_delta=True
    )
    assert found.shape == (2, 2) and delta.shape == (6,)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"nt_type": "smooth"}, ValueError, "there is no nt_type 'smooth'"),
        ({"nt_samples": 0}, ValueError, "nt_samples is a number from 1"),
        ({"nt_samples": 1.5}, TypeError, "nt_samples is a whole number"),
        ({"stdevs": -1.0}, ValueError, "a standard deviation is a number from 0"),
        ({"stdevs": (1.0, 2.0)}, ValueError, "2 stdevs for 1 inputs"),
    ],
)
def test_noise_that_cannot_be(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        NoiseTunnel(Saliency(lambda x: x.sum(1))).attribute(wb.ones(2, 2), **options)
    with pytest.raises(TypeError, match="attribution_method is a method of attribution"):
        NoiseTunnel(3)  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------- axioms

numbers = st.floats(-3, 3, width=32)


@settings(deadline=None)
@given(st.lists(numbers, min_size=3, max_size=3), st.lists(numbers, min_size=3, max_size=3))
def test_linear_models_have_the_exact_weights(weights: list[float], values: list[float]) -> None:
    w, x = np.array(weights), wb.tensor([values], dtype=wb.float64)
    model = lambda x: (x * wb.from_numpy(w)).sum(1)
    expected = [w * np.array(values)]
    for method in (IntegratedGradients, InputXGradient):
        np.testing.assert_allclose(method(model).attribute(x).numpy(), expected, atol=1e-12)
    shap = GradientShap(model).attribute(x, wb.zeros(2, 3, dtype=wb.float64), n_samples=2)
    np.testing.assert_allclose(shap.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(Saliency(model).attribute(x, abs=False).numpy(), [w], atol=1e-12)


@settings(deadline=None)
@given(numbers, numbers)
def test_symmetry_and_implementation_invariance(value: float, other: float) -> None:
    x = wb.tensor([[value, value, other]], dtype=wb.float64)
    model = lambda x: (x[:, 0] * x[:, 1]).sin() + x[:, 2]
    # The same function, written otherwise.
    again = lambda x: x[:, 2] - (-(x[:, 1] * x[:, 0])).sin()
    found = IntegratedGradients(model).attribute(x, n_steps=10).numpy()
    np.testing.assert_allclose(found[0, 0], found[0, 1], atol=1e-12)
    np.testing.assert_allclose(IntegratedGradients(again).attribute(x, n_steps=10).numpy(), found, atol=1e-12)


def test_integrated_gradients_of_a_small_network_add_up() -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(
        wb.nn.Conv2d(1, 8, 3, padding=1),
        wb.nn.ReLU(),
        wb.nn.MaxPool2d(2),
        wb.nn.Flatten(),
        wb.nn.Linear(1568, 10),
    ).eval()
    x = wb.rand(4, 1, 28, 28)
    _, delta = IntegratedGradients(model).attribute(x, target=3, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() <= 1e-3
