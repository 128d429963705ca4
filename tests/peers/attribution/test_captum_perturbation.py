"""Methods that perturb inputs agree with Captum's, on the same weights, masks, baselines and targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

RANDOM = np.random.default_rng(0)
IMAGES, BASELINES = RANDOM.normal(size=(2, 3, 2, 6, 6)).astype(np.float32)
KERNEL = RANDOM.normal(size=(4, 2, 3, 3)).astype(np.float32)
WEIGHT = RANDOM.normal(size=(5, 144)).astype(np.float32)
SCALE = RANDOM.normal(size=(3, 1)).astype(np.float32)
TARGETS = [2, [0, 1, 4], None]
MASKS = {
    "values": None,
    "own": RANDOM.integers(0, 7, (3, 2, 6, 6)),
    "shared": np.arange(36).reshape(1, 1, 6, 6) // 4,
}
FEW = {"own": RANDOM.integers(0, 4, (3, 2, 6, 6)), "shared": np.arange(36).reshape(1, 1, 6, 6) // 9}


def ours(x: Any, scale: Any = None) -> Any:
    hidden = wb.relu(wb.conv2d(x, wb.from_numpy(KERNEL), padding=1))
    scores = hidden.reshape(x.shape[0], -1) @ wb.from_numpy(WEIGHT).t()
    return scores if scale is None else scores * scale


def theirs(x: Any, scale: Any = None) -> Any:
    hidden = torch.relu(torch.conv2d(x, torch.tensor(KERNEL), padding=1))
    scores = hidden.reshape(x.shape[0], -1) @ torch.tensor(WEIGHT).T
    return scores if scale is None else scores * scale


def both(name: str, models: Any = (ours, theirs), **arguments: Any) -> tuple[Any, Any]:
    """Attribute by ours and by Captum's, arrays among the arguments being tensors of either."""
    found = []
    for module, make, model in (
        (wb.attribution, wb.from_numpy, models[0]),
        (captum, torch.tensor, models[1]),
    ):
        given = {key: make(one) if isinstance(one, np.ndarray) else one for key, one in arguments.items()}
        found.append(getattr(module, name)(model).attribute(make(IMAGES), **given))
    return found[0].numpy(), found[1].detach().numpy()


def close(pair: tuple[Any, Any], rtol: float = 1e-3, atol: float = 1e-4) -> None:
    assert pair[0].shape == pair[1].shape and pair[0].dtype == pair[1].dtype
    np.testing.assert_allclose(*pair, rtol=rtol, atol=atol)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("together", [1, 4])
def test_feature_ablation(target: Any, mask: str, together: int) -> None:
    if mask == "own" and target is None:
        pytest.skip("Captum raises for masks a sample of models with several numbers")
    options = {"target": target, "feature_mask": MASKS[mask], "perturbations_per_eval": together}
    close(both("FeatureAblation", baselines=BASELINES, additional_forward_args=SCALE, **options))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("window", "strides"),
    [((2, 3, 3), (1, 2, 3)), ((1, 4, 4), (1, 3, 3)), ((2, 6, 6), None), ((1, 5, 2), (1, 4, 2))],
)
def test_occlusion(target: Any, window: Any, strides: Any) -> None:
    close(
        both(
            "Occlusion",
            sliding_window_shapes=window,
            strides=strides,
            baselines=BASELINES,
            target=target,
            perturbations_per_eval=3,
        )
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mask", FEW)
def test_exact_shapley_values(target: Any, mask: str) -> None:
    close(both("ShapleyValues", baselines=BASELINES, target=target, feature_mask=FEW[mask]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mask", FEW)
def test_sampled_shapley_values_on_the_same_orders(
    target: Any, mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = np.array([[2, 0, 3, 1], [1, 3, 0, 2], [0, 1, 2, 3]])
    monkeypatch.setattr(
        wb.attribution.ShapleyValueSampling, "_orders", lambda self, count, n_samples: orders[:n_samples]
    )
    theirs_of = captum.ShapleyValueSampling(theirs)
    theirs_of.permutation_generator = lambda count, n_samples: iter(orders.tolist())
    found = wb.attribution.ShapleyValueSampling(ours).attribute(
        wb.from_numpy(IMAGES),
        wb.from_numpy(BASELINES),
        target,
        feature_mask=wb.from_numpy(FEW[mask]),
        n_samples=3,
    )
    expected = theirs_of.attribute(
        torch.tensor(IMAGES),
        torch.tensor(BASELINES),
        target,
        feature_mask=torch.tensor(FEW[mask]),
        n_samples=3,
    )
    close((found.numpy(), expected.numpy()))


@pytest.mark.parametrize("mask", FEW)
def test_feature_permutation_by_the_same_permutation(mask: str) -> None:
    found = wb.attribution.FeaturePermutation(ours, lambda x, mask: wb.where(mask, x.roll(1, 0), x))
    expected = captum.FeaturePermutation(theirs, lambda x, mask: torch.where(mask, x.roll(1, 0), x))
    close(
        (
            found.attribute(wb.from_numpy(IMAGES), 1, feature_mask=wb.from_numpy(FEW[mask])).numpy(),
            expected.attribute(torch.tensor(IMAGES), 1, feature_mask=torch.tensor(FEW[mask])).numpy(),
        )
    )


@pytest.mark.parametrize("name", ["FeatureAblation", "ShapleyValues", "Occlusion"])
@pytest.mark.parametrize("kind", ["0-d", "1-d", "number"])
def test_models_with_one_output_of_a_batch(name: str, kind: str) -> None:
    make = {
        "0-d": lambda scores: scores[:, 1].sum(),
        "1-d": lambda scores: scores[:, 1].sum().reshape(1),
        "number": lambda scores: scores[:, 1].sum().item(),
    }[kind]
    options: dict[str, Any] = {"feature_mask": FEW["shared"]}
    if name == "Occlusion":
        options = {"sliding_window_shapes": (2, 3, 3), "strides": 3}
        options["strides"] = (1, 3, 3)
    models = (lambda x: make(ours(x)), lambda x: make(theirs(x)))
    found, expected = both(name, models, baselines=BASELINES, **options)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore:You are providing multiple inputs")
def test_lime_on_the_same_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = np.random.default_rng(1).random((1, 60, 4)) < 0.5
    monkeypatch.setattr(
        wb.attribution.Lime, "_draw", lambda self, count, shape: np.tile(chosen, (shape[0], 1, 1))
    )

    def draw(original: Any, **kwargs: Any) -> Any:
        yield from (torch.tensor(one[None].astype(np.int64)) for one in chosen[0])

    options: dict[str, Any] = {"target": 1, "n_samples": 60}
    found = wb.attribution.Lime(ours).attribute(
        wb.from_numpy(IMAGES), wb.from_numpy(BASELINES), feature_mask=wb.from_numpy(FEW["shared"]), **options
    )
    expected = captum.Lime(theirs, perturb_func=draw).attribute(
        torch.tensor(IMAGES), torch.tensor(BASELINES), feature_mask=torch.tensor(FEW["shared"]), **options
    )
    close((found.numpy(), expected.numpy()))


@pytest.mark.filterwarnings("ignore:You are providing multiple inputs")
@pytest.mark.parametrize("whole", [True, False])
def test_kernel_shap_on_the_same_samples(whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = np.random.default_rng(1).random((40, 4)) < 0.5
    chosen[0], chosen[1] = True, False
    monkeypatch.setattr(
        wb.attribution.KernelShap, "_draw", lambda self, count, shape: np.tile(chosen, (shape[0], 1, 1))
    )

    def draw(self: Any, original: Any, **kwargs: Any) -> Any:
        yield from (torch.tensor(one[None].astype(np.int64)) for one in chosen)

    monkeypatch.setattr(captum.KernelShap, "kernel_shap_perturb_generator", draw)
    options: dict[str, Any] = {"target": 1, "n_samples": 40, "return_input_shape": whole}
    found, expected = both("KernelShap", baselines=BASELINES, feature_mask=FEW["shared"], **options)
    # Captum fits in float32, and two of its weights are a million.
    close((found, expected), rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize("name", ["Lasso", "Ridge", "LinearRegression"])
@pytest.mark.parametrize(("samples", "features"), [(60, 5), (20, 40), (25, 300)])
def test_linear_models_agree_with_scikit_learn(name: str, samples: int, features: int) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(samples)
    x = (random.random((samples, features)) < 0.5).astype(np.float64)
    y = x[:, :3] @ [3.0, -2.0, 1.0] + 0.3 * random.normal(size=samples)
    weights = random.random(samples) + 0.1
    options: dict[str, Any] = {} if name == "LinearRegression" else {"alpha": 0.05}
    found = getattr(wb.attribution, name)(**options)
    found.fit([(wb.from_numpy(x), wb.from_numpy(y), wb.from_numpy(weights))])
    if name == "Lasso":
        options |= {"tol": 1e-12, "max_iter": 1_000_000}
    expected = getattr(linear_model, name)(**options).fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(found.coefficients, expected.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.bias().item(), expected.intercept_, rtol=1e-4)
