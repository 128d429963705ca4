"""Methods of gradients, of inputs, layers and neurons, agree with Captum's on the same weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

from tests.peers.attribution.pairs import Pair, pairs  # noqa: E402 -- needs torch

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Input Tensor .* did not already require gradients"),
    pytest.mark.filterwarnings("ignore:Multiple layers provided"),
]

PAIRS = pairs()
Ask = Callable[[Any, Any, Any, Pair], Any]
"""From the module of methods, the library, the model and the pair to attributions."""


def same(found: Any, expected: Any, tolerance: float = 1e-3) -> None:
    """Hold attributions to Captum's, within a share of their greatest value."""
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected) and len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, tolerance)
        return
    wanted = expected.detach().numpy()
    assert found.shape == tuple(wanted.shape)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance * scale * 0.1 + 1e-6)


def layered(name: str, **settings: Any) -> Ask:
    return lambda methods, library, model, pair: getattr(methods, name)(
        model, pair.module(library)
    ).attribute(pair.given(library), target=pair.target, **settings)


def on_path(name: str, **settings: Any) -> Ask:
    return lambda methods, library, model, pair: getattr(methods, name)(
        model, pair.module(library)
    ).attribute(pair.given(library), pair.baselines(library), target=pair.target, n_steps=12, **settings)


def of_neuron(name: str, **settings: Any) -> Ask:
    return lambda methods, library, model, pair: getattr(methods, name)(
        model, pair.module(library)
    ).attribute(pair.given(library), pair.neuron, **settings)


def of_neuron_on_path(name: str, target: bool = False, **settings: Any) -> Ask:
    def ask(methods: Any, library: Any, model: Any, pair: Pair) -> Any:
        method = getattr(methods, name)(model, pair.module(library))
        further = {"target": pair.target} if target else {}
        return method.attribute(
            pair.given(library),
            pair.neuron,
            baselines=pair.baselines(library),
            n_steps=12,
            **further,
            **settings,
        )

    return ask


def plain(name: str, **settings: Any) -> Ask:
    return lambda methods, library, model, pair: getattr(methods, name)(model).attribute(
        pair.given(library), target=pair.target, **settings
    )


def integrated(method: str) -> Ask:
    return lambda methods, library, model, pair: methods.IntegratedGradients(model).attribute(
        pair.given(library), pair.baselines(library), pair.target, n_steps=20, method=method,
        return_convergence_delta=True,
    )  # fmt: skip


ASKED: dict[str, Ask] = {
    "saliency": plain("Saliency"),
    "saliency signed": plain("Saliency", abs=False),
    "input x gradient": plain("InputXGradient"),
    "gausslegendre": integrated("gausslegendre"),
    "riemann_left": integrated("riemann_left"),
    "riemann_right": integrated("riemann_right"),
    "riemann_middle": integrated("riemann_middle"),
    "riemann_trapezoid": integrated("riemann_trapezoid"),
    "gradients along the path": lambda methods, library, model, pair: methods.IntegratedGradients(
        model, multiply_by_inputs=False
    ).attribute(pair.given(library), pair.baselines(library), pair.target, n_steps=12, internal_batch_size=5),
    "activation": lambda methods, library, model, pair: methods.LayerActivation(
        model, pair.module(library)
    ).attribute(pair.given(library)),
    "activation at input": lambda methods, library, model, pair: methods.LayerActivation(
        model, pair.module(library)
    ).attribute(pair.given(library), attribute_to_layer_input=True),
    "grad cam": layered("LayerGradCam"),
    "grad cam relu": layered("LayerGradCam", relu_attributions=True),
    "grad cam channels": layered("LayerGradCam", attr_dim_summation=False),
    "grad cam at input": layered("LayerGradCam", attribute_to_layer_input=True),
    "layer gradient": layered("LayerGradientXActivation"),
    "layer gradient at input": layered("LayerGradientXActivation", attribute_to_layer_input=True),
    "internal influence": on_path("InternalInfluence"),
    "internal influence trapezoid": on_path("InternalInfluence", method="riemann_trapezoid"),
    "conductance": on_path("LayerConductance", return_convergence_delta=True),
    "conductance in batches": on_path(
        "LayerConductance", attribute_to_layer_input=True, method="riemann_right"
    ),
    "layer integrated gradients": on_path("LayerIntegratedGradients", return_convergence_delta=True),
    "layer integrated gradients at input": on_path("LayerIntegratedGradients", attribute_to_layer_input=True),
    "neuron gradient": of_neuron("NeuronGradient"),
    "neuron gradient at input": of_neuron("NeuronGradient", attribute_to_neuron_input=True),
    "neuron integrated gradients": of_neuron_on_path("NeuronIntegratedGradients"),
    "neuron conductance": of_neuron_on_path("NeuronConductance", target=True),
    "neuron conductance gauss": of_neuron_on_path("NeuronConductance", target=True, method="gausslegendre"),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("asked", ASKED)
def test_agreement(asked: str, name: str) -> None:
    pair = PAIRS[name]
    found = ASKED[asked](wb.attribution, wb, pair.ours, pair)
    same(found, ASKED[asked](captum, torch, pair.theirs, pair))


# ------------------------------------------------------------------------------------------------ drawn


@pytest.mark.parametrize("name", ["convolutions", "two inputs", "lstm", "transformer"])
@pytest.mark.parametrize("layer", [False, True], ids=["inputs", "layer"])
def test_gradient_shap_has_captums_mean(name: str, layer: bool) -> None:
    pair = PAIRS[name]
    torch.manual_seed(0), np.random.seed(0), wb.manual_seed(0)
    results = []
    for methods, library in [(wb.attribution, wb), (captum, torch)]:
        model, baselines = pair.model(library), pair.baselines(library, rows=6)
        method = (
            methods.LayerGradientShap(model, pair.module(library)) if layer else methods.GradientShap(model)
        )
        found, delta = method.attribute(
            pair.given(library), baselines, n_samples=400, stdevs=0.05, target=pair.target,
            return_convergence_delta=True,
        )  # fmt: skip
        results.append((found, delta))
    (ours, delta), (theirs, other) = results
    assert delta.shape == tuple(other.shape)
    near(ours, theirs)
    np.testing.assert_allclose(
        delta.numpy().reshape(-1, 400).mean(1), other.numpy().reshape(-1, 400).mean(1), atol=0.1
    )


@pytest.mark.parametrize("kind", ["smoothgrad", "smoothgrad_sq", "vargrad"])
@pytest.mark.parametrize("inside", ["Saliency", "IntegratedGradients", "LayerGradCam"])
def test_noise_tunnels_have_captums_mean(kind: str, inside: str) -> None:
    pair = PAIRS["convolutions"]
    torch.manual_seed(0), wb.manual_seed(0)
    results = []
    for methods, library in [(wb.attribution, wb), (captum, torch)]:
        model = pair.model(library)
        further = (pair.module(library),) if inside.startswith("Layer") else ()
        settings: dict[str, Any] = {"n_steps": 5} if inside == "IntegratedGradients" else {}
        results.append(
            methods.NoiseTunnel(getattr(methods, inside)(model, *further)).attribute(
                pair.given(library),
                nt_type=kind,
                nt_samples=600,
                nt_samples_batch_size=100,
                stdevs=0.2,
                target=[0, 4, 2] if library is wb else torch.tensor([0, 4, 2]),
                **settings,
            )
        )
    near(*results)


def test_neuron_gradient_shap_has_captums_mean() -> None:
    pair = PAIRS["lstm"]
    torch.manual_seed(0), np.random.seed(0), wb.manual_seed(0)
    results = [
        methods.NeuronGradientShap(pair.model(library), pair.module(library)).attribute(
            pair.given(library), pair.neuron, pair.baselines(library, rows=6), n_samples=400
        )
        for methods, library in [(wb.attribution, wb), (captum, torch)]
    ]
    near(*results)


def near(found: Any, expected: Any) -> None:
    """Hold means of many draws to each other: within a tenth of their greatest value."""
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            near(one, other)
        return
    wanted = expected.detach().numpy()
    assert found.shape == tuple(wanted.shape)
    np.testing.assert_allclose(found.numpy(), wanted, atol=0.12 * np.abs(wanted).max())
    assert np.corrcoef(found.numpy().ravel(), wanted.ravel())[0, 1] > 0.98


# ----------------------------------------------------------------------------------------- several, twice


def test_lists_of_layers() -> None:
    pair = PAIRS["convolutions"]
    for name in ("LayerActivation", "LayerGradientXActivation"):
        results = []
        for methods, library in [(wb.attribution, wb), (captum, torch)]:
            model = pair.model(library)
            further = {"target": 1} if "Gradient" in name else {}
            results.append(
                getattr(methods, name)(model, [model[0], model[3]]).attribute(pair.given(library), **further)
            )
        same(*results)


def test_the_program_of_captum_runs_with_another_import() -> None:
    # As its documentation has it: interpolation, a function of baselines, a convergence delta asked for afterwards.
    pair = PAIRS["convolutions"]
    for methods, library in [(wb.attribution, wb), (captum, torch)]:
        model, x = pair.model(library), pair.given(library)
        method = methods.IntegratedGradients(forward_func=model, multiply_by_inputs=True)
        found = method.attribute(inputs=x, baselines=0, target=2)
        delta = method.compute_convergence_delta(found, 0, x, target=2)
        assert method.has_convergence_delta() and tuple(delta.shape) == (3,)
        assert np.abs(delta.detach().numpy()).max() < 0.05
        cam = methods.LayerGradCam(model, model[3]).attribute(x, target=2)
        assert tuple(methods.LayerAttribution.interpolate(cam, (10, 10)).shape) == (3, 1, 10, 10)
        shap = methods.GradientShap(model).attribute(x, baselines=lambda inputs: inputs * 0, target=2)
        assert tuple(shap.shape) == tuple(x.shape)
