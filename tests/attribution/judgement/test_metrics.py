"""Metrics of attributions: what they are for models whose answer is known, their algebra, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.attribution import InterruptedWarning, Saliency, TrainingModeWarning
from workbench.attribution.metrics import (
    MEASURES,
    Judged,
    complexity,
    deletion_curve,
    infidelity,
    infidelity_perturb_func_decorator,
    insertion_curve,
    measure,
    parameter_randomization,
    pointing_game,
    road_curve,
    sensitivity_max,
    sensitivity_n,
    sparseness,
)
from workbench.attribution.metrics.imputation import impute
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.random import Generator

NUMBERS = st.floats(-4, 4, allow_nan=False, width=32)
VECTORS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=6)


def linear(weights: Any) -> Any:
    return lambda x: (x * wb.tensor(weights, dtype=wb.float64)).sum(1)


def moved(x: Any) -> Any:
    return x - wb.rand_like(x)


@given(VECTORS)
@settings(deadline=None)
def test_attributions_of_a_linear_model_are_never_unfaithful(pairs: list[tuple[float, float]]) -> None:
    values, weights = np.array(pairs).T[:, None]
    inputs, slopes = wb.tensor(values, names=("N", "F")), wb.tensor(weights, names=("N", "F"))
    model, shares = linear(weights), slopes * inputs
    plain = infidelity_perturb_func_decorator(False)(moved)
    divided = infidelity_perturb_func_decorator(True)(moved)
    assert infidelity(model, plain, inputs, slopes).abs().max() < 1e-12
    # Where the input is 0 there is nothing that it could be multiplied with.
    if (values != 0).all():
        assert infidelity(model, divided, inputs, shares).abs().max() < 1e-6
    assert sensitivity_max(Saliency(model).attribute, inputs).tolist() == [0.0]
    agreement = sensitivity_n(model, inputs, shares, 1, n_subsets=64).item()
    assert np.isnan(agreement) or agreement > 1 - 1e-6
    found = deletion_curve(model, inputs, shares, steps=len(pairs))
    expected = (weights * values).sum() - np.append(0, np.cumsum(-np.sort(-(weights * values)[0])))
    np.testing.assert_allclose(found.scores.numpy()[0], expected, atol=1e-12)


@given(VECTORS, st.permutations(range(6)))
@settings(deadline=None)
def test_no_order_deletes_faster_than_that_of_a_linear_models_shares(
    pairs: list[tuple[float, float]], order: list[int]
) -> None:
    values, weights = np.array(pairs).T[:, None]
    inputs, shares = wb.tensor(values), wb.tensor(values * weights)
    other = wb.tensor(np.array([order[: len(pairs)]], np.float64))
    model = linear(weights)
    assert deletion_curve(model, inputs, shares).areas <= deletion_curve(model, inputs, other).areas + 1e-9
    assert insertion_curve(model, inputs, shares).areas >= insertion_curve(model, inputs, other).areas - 1e-9


@given(st.lists(NUMBERS, min_size=2, max_size=8), st.floats(0.5, 4))
@settings(deadline=None)
def test_complexity_and_sparseness_know_no_unit(values: list[float], scale: float) -> None:
    attributions = wb.tensor([values], dtype=wb.float64)
    for metric in (complexity, sparseness):
        np.testing.assert_allclose(metric(attributions * scale), metric(attributions), atol=1e-9)
        np.testing.assert_allclose(metric(attributions.flip(1)), metric(attributions), atol=1e-9)
    assert -1e-12 <= sparseness(attributions).item() < 1
    assert 0 <= complexity(attributions).item() <= np.log(len(values)) + 1e-9


def test_normalized_infidelity_knows_no_unit() -> None:
    inputs, slopes, noise = wb.rand(3, 4), wb.rand(3, 4), wb.rand(30, 4)

    def asked(scale: float) -> Any:
        perturb = infidelity_perturb_func_decorator(False)(lambda x: x * 0.5 - noise)
        return infidelity(lambda x: (x**3).sum(1), perturb, inputs, slopes * scale, normalize=True)

    np.testing.assert_allclose(asked(100), asked(1), rtol=1e-4, atol=1e-5)
    assert (asked(1) > 0).all()


def test_infidelity_without_attributions_is_the_change_squared() -> None:
    perturb = infidelity_perturb_func_decorator(False)(lambda x: x - 1)
    found = infidelity(lambda x: (x * x).sum(1), perturb, wb.tensor([[1.0, 2.0]]), wb.zeros(1, 2))
    assert found.tolist() == [16.0]
    assert infidelity(
        lambda x: (x * x).sum(1), perturb, wb.tensor([[1.0, 2.0]]), wb.zeros(1, 2), normalize=True
    ).tolist() == [16.0]


def test_names_are_kept() -> None:
    images = wb.rand(N=2, C=3, H=4, W=4)
    model = linear_picture()
    curve = deletion_curve(model, images, images, target=1, steps=4)
    assert curve.scores.names == ("N", "fraction")
    assert curve.areas.names == ("N",)
    assert curve.fractions.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert complexity(images).names == ("N",)
    assert deletion_curve(lambda x: x.sum(1), wb.rand(2, 3), wb.rand(2, 3)).scores.names == (None, None)


def linear_picture() -> Any:
    weight = wb.rand(48, 3)
    return lambda x: x.rename(None).reshape(x.shape[0], 48) @ weight


def test_a_pixel_goes_with_all_its_channels() -> None:
    images, attributions = wb.ones(N=1, C=2, H=1, W=2), wb.tensor([[[[1.0, 2.0]], [[4.0, 2.0]]]])

    def sums(x: Any) -> Any:
        return x.rename(None).sum((1, 2, 3))

    def scores(over: Any) -> Any:
        return deletion_curve(sums, images, attributions, over=over).scores.tolist()[0]

    # Pixel 0 has 5 of attribution, pixel 1 has 4.
    assert scores(None) == scores("C") == [4.0, 2.0, 0.0]
    assert scores(()) == [4.0, 3.0, 2.0, 1.0, 0.0]
    seen: list[Any] = []
    deletion_curve(lambda x: seen.extend(x.tolist()) or sums(x), images, attributions, steps=2)
    assert seen[1] == [[[0.0, 1.0]], [[0.0, 1.0]]]


def test_two_inputs_are_ranked_together() -> None:
    inputs = (wb.tensor([[1.0, 1.0]]), wb.tensor([[1.0]]))
    curve = deletion_curve(
        lambda a, b: a.sum(1) + 10 * b.sum(1), inputs, (wb.tensor([[1.0, 3.0]]), wb.tensor([[2.0]]))
    )
    assert curve.scores.tolist() == [[12.0, 11.0, 1.0, 0.0]]


def test_baselines_and_probabilities() -> None:
    model = lambda x: wb.stack([x.sum(1), wb.zeros(x.shape[0])], 1)
    inputs = wb.tensor([[2.0, 0.0]])
    curve = insertion_curve(model, inputs, inputs, target=0, baselines=-1, steps=2)
    np.testing.assert_allclose(curve.scores, 1 / (1 + np.exp([[2.0, -1.0, -2.0]])), rtol=1e-6)
    plain = insertion_curve(model, inputs, inputs, target=0, baselines=-1, steps=2, score="output")
    assert plain.scores.tolist() == [[-2.0, 1.0, 2.0]]


def test_the_batch_does_not_matter() -> None:
    images = wb.rand(3, 1, 5, 5, dtype=wb.float64)
    model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(25, 4)).double().eval()

    def asked(memory: Any) -> list[Any]:
        return [
            deletion_curve(model, images, images, 2, memory=memory).scores,
            road_curve(model, images, images, 2, memory=memory, generator=Generator(1)).scores,
            sensitivity_n(model, images, images, 3, 2, memory=memory, generator=Generator(1)),
        ]

    for small, large in zip(asked("40 kB"), asked(None), strict=True):
        np.testing.assert_allclose(small, large, rtol=1e-12)


def test_a_limit_too_small_for_one_row_is_refused() -> None:
    with pytest.raises(ValueError, match=r"deletion_curve: memory=.* is too small for one example"):
        deletion_curve(lambda x: x.sum(1), wb.ones(2, 900), wb.ones(2, 900), memory=8)


def test_an_interruption_leaves_what_was_done() -> None:
    calls = []

    def model(x: Any) -> Any:
        calls.append(len(x))
        if len(calls) > 3:
            raise KeyboardInterrupt
        return x.sum(1)

    with pytest.warns(InterruptedWarning, match="deletion_curve was stopped before its last row"):
        curve = deletion_curve(model, wb.ones(40, 20), wb.ones(40, 20), steps=20)
    assert not np.isnan(curve.areas.numpy()[:12]).any()
    assert np.isnan(curve.areas.numpy()[-1])


def test_a_model_in_training_mode_is_named() -> None:
    model = wb.nn.Sequential(wb.nn.Linear(3, 1), wb.nn.Dropout()).train()
    with pytest.warns(TrainingModeWarning):
        deletion_curve(model, wb.ones(1, 3), wb.ones(1, 3))
    assert model.training


def test_a_filled_place_is_the_mean_of_its_neighbours() -> None:
    picture = np.arange(9.0).reshape(1, 3, 3)
    removed = np.zeros((3, 3), bool)
    removed[1, 1] = True
    np.testing.assert_allclose(impute(picture, removed, 0, None), picture)
    removed[:] = True
    removed[0, 0] = False
    np.testing.assert_allclose(impute(picture + 7, removed, 0, None), np.full((1, 3, 3), 7.0))
    # Two places that hold each other: x = (2/12 · …) solved by hand along one line.
    line = np.array([[3.0, 0.0, 0.0, 9.0]])
    np.testing.assert_allclose(impute(line, np.array([0, 1, 1, 0], bool), 0, None), [[3, 5, 7, 9]])
    noisy = impute(line, np.array([0, 1, 1, 0], bool), 0.5, np.random.default_rng(0))
    assert noisy[0, 0] == 3 and not np.allclose(noisy[0, 1:3], [5, 7])


@given(st.integers(1, 3), st.integers(2, 6), st.integers(2, 6), st.integers(0, 2**16))
@settings(deadline=None)
def test_imputation_solves_its_equations(channels: int, height: int, width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    picture = random.normal(size=(channels, height, width))
    removed = random.random((height, width)) < 0.6
    removed[0, 0] = False
    found = impute(picture, removed, 0, None)
    for row, column in np.argwhere(removed):
        total, weights = 0.0, 0.0
        for i in range(max(row - 1, 0), min(row + 2, height)):
            for j in range(max(column - 1, 0), min(column + 2, width)):
                weight = 0 if (i, j) == (row, column) else 1 / 6 if i == row or j == column else 1 / 12
                total, weights = total + weight * found[:, i, j], weights + weight
        np.testing.assert_allclose(found[:, row, column], total / weights, atol=1e-9)
    np.testing.assert_array_equal(found[:, ~removed], picture[:, ~removed])


@pytest.mark.parametrize(("features", "parts"), [(2, 7), (3, 8), (4, 8), (5, 9)])
def test_road_leaves_something_of_few_features(features: int, parts: int) -> None:
    x = wb.rand(2, features)
    assert road_curve(lambda x: x.sum(1), x, x).scores.shape == (2, parts)


def test_road_tells_where_the_output_rests() -> None:
    image = wb.zeros(1, 1, 6, 6)
    image[0, 0, 2, 3] = 1
    model = lambda x: x[:, 0, 2, 3]
    first = road_curve(model, image, image, fractions=(0.1, 0.5), noise=0)
    last = road_curve(model, image, image, fractions=(0.1, 0.5), noise=0, least_first=True)
    assert first.scores.abs().max() < 1e-12
    np.testing.assert_allclose(last.scores, 1)


def test_pointing_game() -> None:
    attributions = wb.zeros(2, 1, 4, 4)
    attributions[:, 0, 1, 1] = 1
    mask = wb.zeros(1, 1, 4, 4)
    mask[0, 0, 1, 3] = 1
    assert pointing_game(attributions, mask).tolist() == [False, False]
    assert pointing_game(attributions, mask, tolerance=1).tolist() == [False, False]
    assert pointing_game(attributions, mask, tolerance=2).tolist() == [True, True]
    mask[0, 0, 1, 1] = 1
    assert pointing_game(attributions, mask).tolist() == [True, True]


def test_randomization_tells_a_blind_explanation() -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(16, 16), wb.nn.Tanh(), wb.nn.Linear(16, 2)).eval()
    before = {name: value.tolist() for name, value in model.state_dict().items()}
    inputs = wb.rand(N=2, F=16)
    state = wb.get_rng_state()

    def explain(model: Any, x: Any) -> Any:
        return Saliency(model).attribute(x, target=0)

    check = parameter_randomization(model, explain, inputs)
    assert check.layers == ("2", "0")
    assert check.similarities.names == ("N", "layer")
    assert check.means.abs().max() < 0.8
    alone = parameter_randomization(model, explain, inputs, order="independent")
    np.testing.assert_array_equal(alone.similarities[:, 0], check.similarities[:, 0])
    assert (alone.similarities[:, 1] != check.similarities[:, 1]).all()
    blind = parameter_randomization(model, lambda model, x: x * 1, inputs, layers=["0"])
    np.testing.assert_allclose(blind.means, 1)
    assert {name: value.tolist() for name, value in model.state_dict().items()} == before
    assert str(wb.get_rng_state()) == str(state)


def judged(**more: Any) -> Judged:
    wb.manual_seed(1)
    model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(16, 3)).eval()
    images = wb.rand(N=2, C=1, H=4, W=4)

    def explain(model: Any, inputs: Any, target: Any) -> Any:
        return Saliency(model).attribute(inputs, target=target)

    fields: dict[str, Any] = {
        "target": [0, 2],
        "explain": explain,
        "multiply_by_inputs": False,
        "mask": wb.ones(1, 1, 4, 4),
        "delta": wb.tensor([0.5, -1.0]),
        **more,
    }
    return Judged(model, images, explain(model, images, [0, 2]), **fields)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_gives_one_number_a_sample(name: str) -> None:
    asked = judged()
    found = measure(name, asked)
    assert found.values.shape == (2,)
    assert found.values.dtype == wb.float64
    assert found.values.names == ("N",) or name == "delta"
    # A batch of another size may round otherwise.
    np.testing.assert_allclose(measure(name, asked).values, found.values, rtol=1e-5)
    assert np.isfinite(found.mean)
    assert (found.curve is not None) == (name in ("deletion", "insertion", "road"))
    cost = MEASURES[name].cost(asked)
    rows: list[int] = []
    model = asked.forward

    class Counting(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: Any) -> Any:
            rows.append(len(x))
            return self.inner(x)

    measure(name, Judged(Counting().eval(), **{k: v for k, v in vars(asked).items() if k != "forward"}))
    assert sum(rows) <= cost.forwards + cost.explanations
    assert sum(rows) > 0.7 * (cost.forwards + cost.explanations) or not rows


def test_measures_say_what_they_lack() -> None:
    with pytest.raises(
        ValueError, match=r"sensitivity: the attributions cannot be made anew: give Judged\(explain=…\)"
    ):
        measure("sensitivity", judged(explain=None))
    with pytest.raises(ValueError, match="pointing_game: there is no mask of the thing"):
        measure("pointing_game", judged(mask=None))
    with pytest.raises(ValueError, match="delta: the method promises no sum"):
        measure("delta", judged(delta=None))
    with pytest.raises(ValueError, match=r"there is no measure 'deletoin'; did you mean 'deletion'\?"):
        measure("deletoin", judged())


ONES = wb.ones(N=2, F=3)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (lambda: deletion_curve(sum_of, ONES, wb.ones(2, 4)), DimensionError, r"\[2, 4\] do not go with inputs"),
        (lambda: deletion_curve(sum_of, ONES, (ONES, ONES)), DimensionError, "2 attributions for 1 inputs"),
        (lambda: deletion_curve(sum_of, ONES, np.ones((2, 3))), TypeError, "attributions are tensors"),
        (lambda: deletion_curve(sum_of, ONES, ONES * float("nan")), ValueError, "6 NaN or infinite of 6"),
        (lambda: deletion_curve(sum_of, ONES, wb.ones(N=2, T=3)), DimensionError, "dim 'F' and dim 'T'"),
        (lambda: deletion_curve(sum_of, ONES, ONES, steps=0), ValueError, "steps is 1 or more, got 0"),
        (lambda: deletion_curve(sum_of, ONES, ONES, steps=1.5), TypeError, "steps is a whole number"),
        (lambda: deletion_curve(sum_of, ONES, ONES, over="N"), DimensionError, "samples .* cannot be summed"),
        (lambda: deletion_curve(sum_of, ONES, ONES, over="X"), DimensionError, "X"),
        (lambda: deletion_curve(sum_of, ONES, ONES, score="loss"), ValueError, 'score is "probability"'),
        (lambda: deletion_curve(sum_of, ONES, ONES, score="probability"), ValueError, "no list of classes"),
        (lambda: deletion_curve(lambda x: x / 0, wb.ones(2, 1), wb.ones(2, 1)), ValueError, "NaN or infinite for"),
        (lambda: road_curve(sum_of, ONES, ONES, fractions=(0.5, 1.0)), ValueError, "from 0 to below 1"),
        (lambda: road_curve(sum_of, wb.ones(2, 1), wb.ones(2, 1)), ValueError, "has only one"),
        (lambda: road_curve(sum_of, ONES, ONES, fractions=(0.99,)), ValueError, "left to fill it from"),
        (lambda: sensitivity_n(sum_of, ONES, ONES, 4), ValueError, "sets of n=4 features .* has 3"),
        (lambda: sensitivity_n(sum_of, ONES, ONES, 1, n_subsets=1), ValueError, "n_subsets is 2 or more"),
        (lambda: pointing_game(ONES, wb.zeros(N=2, F=3)), ValueError, "marks nothing for 2 of 2"),
        (lambda: pointing_game(ONES, wb.ones(3)), DimensionError, "mask of shape"),
        (lambda: pointing_game(ONES, True), TypeError, "mask is a tensor"),
        (lambda: complexity(wb.ones(2, 3).long()), DTypeError, "floating point"),
        (lambda: infidelity(sum_of, lambda x: x, ONES, ONES), TypeError, "perturbations, perturbed inputs"),
        (lambda: infidelity(sum_of, lambda x: (x, x[:1]), ONES, ONES), DimensionError, "keeps the shape"),
        (lambda: infidelity(sum_of, lambda x: (x, 1), ONES, ONES), TypeError, "returned int"),
        (lambda: infidelity(sum_of, moved, ONES, ONES, n_perturb_samples=0), ValueError, "1 or more"),
        (lambda: sensitivity_max(lambda x: 1, ONES), TypeError, "explanation_func returns tensors"),
        (lambda: sensitivity_max(lambda x: x[:1], ONES), DimensionError, "first dim must be the samples"),
        (lambda: sensitivity_max(sum_of, ONES, perturb_radius=-1.0), ValueError, "perturb_radius"),
        (lambda: sensitivity_max(sum_of, ONES, norm_ord="nuc"), ValueError, "norm_ord"),
        (lambda: parameter_randomization(sum_of, sum_of, ONES), TypeError, "model is a module"),  # type: ignore[arg-type]
        (lambda: parameter_randomization(wb.nn.ReLU(), pick, ONES), ValueError, "no parameters"),
        (lambda: parameter_randomization(wb.nn.Linear(3, 1), pick, ONES, order="up"), ValueError, "order is"),
        (
            lambda: parameter_randomization(wb.nn.Linear(3, 1), pick, ONES, layers=["conv"]),
            ValueError,
            "there is no layer 'conv' with parameters of its own",
        ),
    ],
)  # fmt: skip
def test_refusals(asked: Any, error: type[Exception], words: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(error, match=words):
        asked()


def sum_of(x: Any) -> Any:
    return x.sum(1)


def pick(model: Any, x: Any) -> Any:
    return x
