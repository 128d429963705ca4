"""Methods that perturb inputs: models whose answer is known, masks, one output of a batch, limits and refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.attribution import (
    FeatureAblation,
    FeatureMaskWarning,
    FeaturePermutation,
    InterruptedWarning,
    KernelShap,
    Lasso,
    Lime,
    LimeBase,
    LinearRegression,
    Occlusion,
    ShapleyValues,
    ShapleyValueSampling,
)

NAMES = ("N", "features")
NUMBERS = st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4)


def rows(*values: list[float]) -> wb.Tensor:
    return wb.tensor([[float(one) for one in row] for row in values], names=NAMES)


def close(found: Any, expected: Any, **tolerance: float) -> None:
    np.testing.assert_allclose(found.numpy(), expected, **(tolerance or {"rtol": 1e-5, "atol": 1e-5}))


def attributed(name: str, model: Any, x: wb.Tensor, start: Any) -> Any:
    """Attribute by a method with as many samples as make it exact for a linear model."""
    wb.manual_seed(0)
    if name == "Occlusion":
        return Occlusion(model).attribute(x, (1,), baselines=start)
    if name == "Lime":
        return Lime(model, LinearRegression()).attribute(x, start, n_samples=60)
    method = getattr(wb.attribution, name)(model)
    return method.attribute(x, start, **({"n_samples": 60} if name == "KernelShap" else {}))


EXACT = ["FeatureAblation", "Occlusion", "ShapleyValues", "ShapleyValueSampling", "KernelShap", "Lime"]


# ------------------------------------------------------------------------------------------ known answers


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=25, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_linear_model_has_its_weights(
    name: str, weights: list[float], end: list[float], start: list[float]
) -> None:
    model = lambda x: (x * wb.tensor(weights)).sum("features")
    found = attributed(name, model, rows(end, start), rows(start, end))
    change = np.array(weights) * (np.array([end, start]) - [start, end])
    close(found, change, rtol=1e-3, atol=1e-3)
    assert found.names == NAMES


def game(x: Any) -> Any:
    return x[:, 0] * x[:, 1] + x[:, 2].sin() * x[:, 3] - x[:, 1] * x[:, 2]


@settings(max_examples=25, deadline=None)
@given(NUMBERS, NUMBERS)
def test_shapley_values_are_the_mean_over_all_orders(end: list[float], start: list[float]) -> None:
    x, b = (wb.tensor([one], dtype=wb.float64) for one in (end, start))
    expected = np.zeros(4)
    for order in itertools.permutations(range(4)):
        current = b.numpy().copy()
        for feature in order:
            before = game(wb.from_numpy(current)).item()
            current[0, feature] = x.numpy()[0, feature]
            expected[feature] += (game(wb.from_numpy(current)).item() - before) / 24
    found = ShapleyValues(game).attribute(x, b)
    np.testing.assert_allclose(found.numpy()[0], expected, atol=1e-9)


@pytest.mark.parametrize("method", [ShapleyValues, ShapleyValueSampling])
@settings(max_examples=25, deadline=None)
@given(NUMBERS, NUMBERS)
def test_efficiency(method: Any, end: list[float], start: list[float]) -> None:
    x, b = (wb.tensor([one], dtype=wb.float64) for one in (end, start))
    change = game(x).item() - game(b).item()
    np.testing.assert_allclose(method(game).attribute(x, b).sum().item(), change, atol=1e-9)


def test_symmetry_and_dummy() -> None:
    x = rows([2, 2, 5, 7])
    found = ShapleyValues(lambda x: x[:, 0] * x[:, 1] + x[:, 2]).attribute(x)
    close(found, [[2, 2, 5, 0]])


def test_kernel_shap_comes_to_shapley_values() -> None:
    wb.manual_seed(1)
    x = rows([1, 2, 1.5, -1])
    found = KernelShap(game).attribute(x, n_samples=4000)
    close(found, ShapleyValues(game).attribute(x).numpy(), atol=0.15)
    np.testing.assert_allclose(found.sum().item(), game(x).item(), atol=1e-3)


def test_what_is_drawn_comes_from_the_default_generator() -> None:
    for name in ("KernelShap", "Lime", "ShapleyValueSampling"):
        found = []
        for _ in range(2):
            wb.manual_seed(5)
            found.append(
                getattr(wb.attribution, name)(game).attribute(rows([1, 2, 3, 4]), n_samples=3).tolist()
            )
        assert found[0] == found[1]


def test_occlusion_takes_the_mean_over_windows() -> None:
    model = lambda x: x.prod("features")
    # Windows {0, 1} and {1, 2} each lose all of 6.
    close(Occlusion(model).attribute(rows([1, 2, 3]), (2,)), [[6, 6, 6]])
    close(Occlusion(model).attribute(rows([1, 2, 3]), (2,), baselines=1.0), [[3, 4, 5]])
    # The last window is cut at the end.
    close(Occlusion(lambda x: x.sum(1)).attribute(rows([1, 2, 3]), (2,), 2), [[3, 3, 3]])


def test_windows_by_name() -> None:
    x = wb.rand(N=1, C=2, H=4, W=4)
    model = lambda x: (x * x).sum(("C", "H", "W"))
    by_name = Occlusion(model).attribute(x, {"H": 2, "W": 2}, {"H": 2, "W": 2})
    close(by_name, Occlusion(model).attribute(x, (2, 2, 2), (1, 2, 2)).numpy())
    assert Occlusion(model).attribute(x, {"H": 2, "W": 2}, over="C").names == ("N", "H", "W")


def test_permutation_deals_values_anew() -> None:
    wb.manual_seed(3)
    x = wb.rand(N=8, features=3)
    for _ in range(5):
        found = FeaturePermutation(lambda x: x[:, 0] * 2).attribute(x)
        # What one gains another loses, and what the model does not read counts for nothing.
        np.testing.assert_allclose(found.sum("N").numpy(), 0, atol=1e-5)
        assert (found.numpy()[:, 1:] == 0).all() and (found.numpy()[:, 0] != 0).any()


# -------------------------------------------------------------------------------------------------- masks


def test_a_mask_goes_over_several_inputs() -> None:
    a, b = rows([1, 2], [3, 4]), rows([10, 20], [30, 40])
    masks = (wb.tensor([[0, 1]]), wb.tensor([[1, 2]]))
    model = lambda a, b: a.sum(1) + b.sum(1)
    first, second = FeatureAblation(model).attribute((a, b), feature_mask=masks)
    close(first, [[1, 12], [3, 34]])
    close(second, [[12, 20], [34, 40]])
    first, second = FeatureAblation(model).attribute(
        (a, b), feature_mask=masks, enable_cross_tensor_attribution=False
    )
    close(first, [[1, 2], [3, 4]])
    close(second, [[10, 20], [30, 40]])


def test_a_mask_goes_by_its_names() -> None:
    x = wb.rand(N=2, C=3, H=2, W=2)
    mask = wb.tensor([0, 1, 2], names=("C",))
    found = FeatureAblation(lambda x: x.sum(("C", "H", "W"))).attribute(x, feature_mask=mask)
    close(found, np.broadcast_to(x.numpy().sum((2, 3), keepdims=True), x.shape))
    with pytest.raises(wb.DimensionError, match="a dim D, which the inputs have not"):
        FeatureAblation(lambda x: x.sum((1, 2, 3))).attribute(x, feature_mask=mask.rename("D"))


@pytest.mark.parametrize("name", ["FeatureAblation", "ShapleyValues", "KernelShap"])
def test_gaps_in_a_mask_are_named_and_change_nothing(name: str) -> None:
    x, method = rows([1, 2, 3]), getattr(wb.attribution, name)(lambda x: x.sum(1))
    with pytest.warns(FeatureMaskWarning, match=r"run from 1 to 5, and no value has 2, 3, 4"):
        found = method.attribute(x, feature_mask=wb.tensor([[1, 1, 5]]))
    close(found, [[3, 3, 3]], atol=1e-4)


def test_coefficients_leave_a_place_for_gaps() -> None:
    with pytest.warns(FeatureMaskWarning):
        found = KernelShap(lambda x: x.sum(1)).attribute(
            rows([1, 2, 3]), feature_mask=wb.tensor([[1, 1, 3]]), return_input_shape=False
        )
    close(found, [[3, 0, 3]], atol=1e-4)


@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        (
            lambda: wb.tensor([[0, 1]]),
            wb.DimensionError,
            r"a feature mask of shape \[1, 2\] does not go with",
        ),
        (lambda: wb.tensor([[0.0, 1.0, 1.5]]), wb.DTypeError, "its values are whole numbers; got float32"),
        (lambda: [[0, 1, 2]], TypeError, "a feature mask is a tensor of whole numbers, got list"),
        (lambda: (wb.tensor([0]), wb.tensor([0])), wb.DimensionError, "2 feature masks for 1 inputs"),
    ],
)
@pytest.mark.parametrize("method", [FeatureAblation, ShapleyValues, Lime])
def test_masks_that_do_not_fit(method: Any, mask: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        method(lambda x: x.sum(1)).attribute(rows([1, 2, 3]), feature_mask=mask())


# ------------------------------------------------------------------------------------- kinds of inputs and models


def test_inputs_of_whole_numbers_and_truth_values() -> None:
    table = wb.tensor([0.0, 10.0, 20.0, 30.0])
    tokens = wb.tensor([[3, 1, 2]])
    found = FeatureAblation(lambda tokens: table[tokens].sum(1)).attribute(tokens)
    assert found.tolist() == [[30, 10, 20]]
    close(ShapleyValues(lambda tokens: table[tokens].sum(1)).attribute(tokens), [[30, 10, 20]])
    truth = wb.tensor([[True, False, True]])
    model = lambda x: x.float().sum(1)
    assert FeatureAblation(model).attribute(truth, True).tolist() == [[0, -1, 0]]
    assert FeatureAblation(lambda x: x.sum(1)).attribute(tokens).dtype == wb.int64


@pytest.mark.parametrize("name", EXACT)
def test_one_output_of_a_batch_is_asked_a_perturbation_at_a_time(name: str) -> None:
    seen = []

    def model(x: wb.Tensor) -> Any:
        seen.append(x.shape[0])
        return float(x.sum())

    found = attributed(name, model, rows([1, 2, 3], [4, 5, 6]), 0.0)
    close(found, [[5, 7, 9]], atol=1e-3)
    # The first shows that one sample gives no row of its own.
    assert set(seen[1:]) == {2}


def test_a_model_of_one_number_of_rows_is_asked_one_at_a_time() -> None:
    model = lambda x: x.reshape(1, 3).sum(1)
    close(FeatureAblation(model).attribute(rows([1, 2, 3])), [[1, 2, 3]])


def test_several_perturbations_need_rows() -> None:
    with pytest.raises(ValueError, match="makes one output of a whole batch, and perturbations_per_eval=2"):
        FeatureAblation(lambda x: x.sum()).attribute(rows([1, 2]), perturbations_per_eval=2)


def test_samples_of_one_output_share_their_mask() -> None:
    with pytest.raises(wb.DimensionError, match="cannot have different feature masks"):
        FeatureAblation(lambda x: x.sum()).attribute(
            rows([1, 2], [3, 4]), feature_mask=wb.tensor([[0, 1], [1, 0]])
        )


@pytest.mark.parametrize("target", [1, [(1,), (0,)]])
def test_fewer_indices_than_dims_explain_the_rest(target: Any) -> None:
    x = rows([1, 2], [3, 4])
    model = lambda x: wb.stack([x, 10 * x, 100 * x], 2)
    found = ShapleyValues(model).attribute(x, target=target)
    assert found.shape == (2, 3, 2)
    place = [1, 1] if target == 1 else [1, 0]
    for sample in range(2):
        expected = np.zeros((3, 2))
        expected[:, place[sample]] = [x.numpy()[sample, place[sample]] * scale for scale in (1, 10, 100)]
        np.testing.assert_allclose(found.numpy()[sample], expected, rtol=1e-5)


# ------------------------------------------------------------------------------------------ limits and ends


@pytest.mark.parametrize("name", EXACT)
def test_batches_change_nothing(name: str) -> None:
    x = wb.rand(N=5, features=400)
    seen = []

    def model(x: wb.Tensor) -> Any:
        seen.append(x.shape[0])
        return game(x.rename(None)[:, ::100])

    options: dict[str, Any] = {"feature_mask": wb.arange(400) // 100}
    if name in ("KernelShap", "Lime"):
        options["n_samples"] = 40
    if name == "Occlusion":
        options = {"sliding_window_shapes": (200,), "strides": 20}
    method = getattr(wb.attribution, name)(model)
    found = []
    for limit in (None, "100 kB"):
        wb.manual_seed(0)
        seen.clear()
        found.append(method.attribute(x, memory=limit, **options).numpy())
        assert limit is None or max(seen) < 30
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_a_run_that_is_stopped_says_so_and_keeps_what_it_has() -> None:
    method: Any = None
    calls = []

    def model(x: wb.Tensor) -> Any:
        calls.append(x.shape[0])
        if len(calls) == 5:
            method.stop()
        return x.sum("features")

    method = FeatureAblation(model)
    x = wb.rand(N=2, features=8)
    with pytest.warns(InterruptedWarning, match="FeatureAblation was stopped after"):
        found = method.attribute(x, perturbations_per_eval=2).numpy()
    known = ~np.isnan(found)
    assert 0 < known.sum() < found.size
    np.testing.assert_allclose(found[known], x.numpy()[known], rtol=1e-4)


def test_forecasts() -> None:
    forecast = Occlusion(lambda x: x.sum(1)).forecast(wb.rand(3, 10), (2,))
    assert forecast.rows == 3 * (9 + 1)


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("window", "strides", "words"),
    [
        ((2, 2), None, "the window of input 0 is .2, 2.: it has one size for each of the 1 dims"),
        (((2,), (2,)), None, "is not one tuple of sizes for each of 1 inputs"),
        ((5,), None, "a window of 5 is larger than features of input 0, which has 4"),
        ((1,), 2, "a stride of 2 is larger than the window of 1 along features"),
        ((0,), None, "whole numbers from 1, got 0"),
        ((2,), (1, 1), "the strides of input 0"),
        ({"H": 2}, None, "names a dim 'H', which no input has"),
    ],
)
def test_windows_that_cannot_be(window: Any, strides: Any, words: str) -> None:
    with pytest.raises(wb.DimensionError, match=words):
        Occlusion(lambda x: x.sum(1)).attribute(rows([1, 2, 3, 4]), window, strides)


def test_too_many_features_for_exact_values() -> None:
    with pytest.raises(ValueError, match=r"30 features have 2\*\*30 sets"):
        ShapleyValues(lambda x: x.sum(1)).attribute(wb.ones(1, 30))


@pytest.mark.parametrize("name", ["Lime", "KernelShap", "ShapleyValueSampling"])
def test_numbers_of_samples(name: str) -> None:
    method = getattr(wb.attribution, name)(lambda x: x.sum(1))
    with pytest.raises(ValueError, match="n_samples is at least 1, got 0"):
        method.attribute(rows([1, 2]), n_samples=0)
    with pytest.raises(TypeError, match=r"perturbations_per_eval is a whole number, got 1\.5"):
        method.attribute(rows([1, 2]), perturbations_per_eval=1.5)


def test_more_refusals() -> None:
    x = rows([1, 2, 3])
    with pytest.raises(wb.DimensionError, match="features are permuted among samples"):
        FeaturePermutation(lambda x: x.sum(1)).attribute(x)
    with pytest.raises(wb.DimensionError, match="returns 3 numbers for 1 samples"):
        Lime(lambda x: x * 2).attribute(x)
    with pytest.raises(TypeError, match="must return a tensor or a number, it returned tuple"):
        FeatureAblation(lambda x: (x, x)).attribute(x)
    with pytest.raises(wb.DimensionIndexError, match="target 7 of sample 0 is out of range"):
        FeatureAblation(lambda x: x * 2).attribute(x, target=7)
    with pytest.raises(ValueError, match="alpha is a number above 0"):
        Lasso(alpha=0)


# ------------------------------------------------------------------------------------- functions of the caller's


def test_lime_by_functions_of_the_callers() -> None:
    wb.manual_seed(0)
    sentence = wb.tensor([[4, 1, 2, 3]])
    scores = wb.tensor([0.0, 5.0, -1.0, 0.5, 2.0])

    def transform(kept: Any, original: Any, **kwargs: Any) -> Any:
        # Words that are left out make the sentence shorter.
        return wb.from_numpy(original.numpy()[:, kept.numpy()[0].astype(bool)])

    method = LimeBase(
        lambda tokens: scores[tokens].sum(1),
        LinearRegression(),
        lambda original, perturbed, kept, **kwargs: 1.0,
        lambda original, **kwargs: (wb.rand(1, original.shape[1]) < 0.5).long(),
        True,
        transform,
        None,
    )
    close(method.attribute(sentence, n_samples=30), [[2, 5, -1, 0.5]], atol=1e-4)


def test_lime_with_a_generator_that_ends() -> None:
    def draw(original: Any, **kwargs: Any) -> Any:
        for bits in itertools.product([0, 1], repeat=3):
            yield wb.tensor([list(bits)])

    method = Lime(lambda x: x.sum(1), LinearRegression(), perturb_func=draw)
    with pytest.warns(UserWarning, match="perturb_func ended after 8 of 20 samples"):
        close(method.attribute(rows([1, 2, 3]), n_samples=20), [[1, 2, 3]], atol=1e-4)


def test_lime_with_an_interpretable_model_of_the_callers() -> None:
    class Counting:
        def fit(self, batches: Any) -> None:
            ((self.x, self.y, self.weights),) = list(batches)

        def representation(self) -> Any:
            return wb.tensor([[float(self.x.shape[0]), float(self.weights.max().item() <= 1)]])

    assert Lime(lambda x: x.sum(1), Counting()).attribute(rows([1, 2]), n_samples=7).tolist() == [[7, 1]]
    with pytest.raises(TypeError, match="int has no fit"):
        Lime(lambda x: x.sum(1), 3)


@pytest.mark.parametrize(
    "name", ["occlusion", "feature_ablation", "shapley_value_sampling", "lime", "kernel_shap"]
)
def test_explain_knows_them_by_name(name: str) -> None:
    model, x = wb.models.DigitsNet().eval(), wb.rand(N=2, C=1, H=28, W=28)
    settings = {} if name == "occlusion" else {"feature_mask": wb.arange(28).reshape(28, 1) // 4}
    result = wb.attribution.explain(model, x, method=name, baselines=0.0, **settings)
    assert result.attributions.shape == x.shape and result.attributions.names == x.names


@pytest.mark.parametrize(("samples", "features"), [(20, 3), (200, 784)])
def test_least_squares_of_samples_that_depend_on_each_other(
    samples: int, features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets that come twice, or with all the others, as few samples of Kernel SHAP do; of weights far apart."""
    draws = np.random.default_rng(1)
    x = (draws.random((samples, features)) < 0.5).astype(float)
    some = samples // 20
    x[0], x[1] = 1, 0
    x[2 : 2 + some], x[-some:] = x[-2 * some : -some], 1 - x[-3 * some : -2 * some]
    weights = np.ones(samples)
    weights[:2] = 1e6
    # Which disagree, too: the same set has several values.
    values = draws.standard_normal(samples)
    model = LinearRegression()
    with monkeypatch.context() as patched:
        patched.delattr(np.linalg, "lstsq")  # which is many times as slow on several threads
        model.fit_arrays(x, values, weights)
    root = np.sqrt(weights)
    means = np.average(x, axis=0, weights=weights), np.average(values, weights=weights)
    solved = np.linalg.lstsq((x - means[0]) * root[:, None], (values - means[1]) * root, rcond=None)[0]
    np.testing.assert_allclose(model.coefficients, solved, rtol=1e-7, atol=1e-7 * np.abs(solved).max())


def test_least_squares_without_a_solution_of_few_steps_are_those_of_lapack() -> None:
    x = np.vander(np.linspace(0, 1, 30), 12)
    model = LinearRegression()
    model.fit_arrays(x, np.sin(np.arange(30.0)), np.ones(30))
    centred, values = x - x.mean(0), np.sin(np.arange(30.0))
    solved = np.linalg.lstsq(centred, values - values.mean(), rcond=None)[0]
    np.testing.assert_allclose(model.coefficients, solved, rtol=1e-6)
