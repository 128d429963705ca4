"""Draws have the distribution that the density says: against SciPy, by moments, and by their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import workbench as wb
from tests.distributions.cases import CASES, CONTINUOUS, DISCRETE, Case, build, identify, leaves

MANY = 20_000
KNOWN = [case for case in CONTINUOUS + DISCRETE if case.scipy is not None]


def tensor(array: Any) -> wb.Tensor:
    return wb.tensor(np.array(array, np.float64, order="C"))


def parameters(case: Case) -> dict[str, Any]:
    shape = build(wb, case, tensor).batch_shape
    return {name: np.broadcast_to(np.asarray(value), shape) for name, value in case.parameters.items()}


@pytest.fixture(autouse=True)
def _float64() -> Any:
    wb.set_default_dtype(wb.float64)
    yield
    wb.set_default_dtype(wb.float32)


@pytest.mark.parametrize("case", KNOWN, ids=identify)
def test_densities_and_moments_are_scipys(case: Case) -> None:
    d = build(wb, case, tensor)
    with np.errstate(invalid="ignore", divide="ignore"):
        judge = case.scipy(scipy.stats, **parameters(case))  # type: ignore[misc]
        discrete = d.support.is_discrete
        expected = judge.logpmf(case.values) if discrete else judge.logpdf(case.values)
        np.testing.assert_allclose(d.log_prob(tensor(case.values)).numpy(), expected, rtol=1e-10, atol=1e-10)
        if type(d)._cdf is not wb.distributions.Distribution._cdf:
            found = d.cdf(tensor(case.values)).numpy()
            np.testing.assert_allclose(found, judge.cdf(case.values), rtol=1e-10)
        if type(d)._icdf not in (
            wb.distributions.Distribution._icdf,
            wb.distributions.TransformedDistribution._icdf,
        ):
            share = np.linspace(0.02, 0.98, 9).reshape(9, 1, 1)
            np.testing.assert_allclose(d.icdf(tensor(share)).numpy(), judge.ppf(share), rtol=1e-8, atol=1e-12)
        if case.name == "VonMises":
            return
        for found, expected in ((d.mean, judge.mean()), (d.variance, judge.var())):
            finite = np.isfinite(expected) & np.isfinite(found.numpy())
            np.testing.assert_allclose(found.numpy()[finite], np.asarray(expected)[finite], rtol=1e-9)


@pytest.mark.parametrize("draw", ["sample", "rsample"])
@pytest.mark.parametrize("case", KNOWN, ids=identify)
def test_draws_are_scipys(case: Case, draw: str) -> None:
    d = build(wb, case, tensor)
    if draw == "rsample" and not d.has_rsample:
        with pytest.raises(NotImplementedError, match="write sample"):
            d.rsample()
        return
    judge = case.scipy(scipy.stats, **parameters(case))  # type: ignore[misc]
    wb.manual_seed(7)
    drawn = getattr(d, draw)((MANY,)).numpy()
    if case.name == "VonMises":
        # SciPy's angles go around from their mean.
        loc = case.parameters["loc"]
        drawn = loc + (drawn - loc + np.pi) % (2 * np.pi) - np.pi
    for place in np.ndindex(d.batch_shape):
        one = type(judge)(judge.dist, *[np.broadcast_to(a, d.batch_shape)[place] for a in judge.args])
        if d.support.is_discrete:
            counts, expected = _binned(drawn[(slice(None), *place)], one)
            assert scipy.stats.chisquare(counts, expected).pvalue > 1e-5
        else:
            assert scipy.stats.kstest(drawn[(slice(None), *place)], one.cdf).pvalue > 1e-5


def _binned(values: Any, judge: Any) -> tuple[Any, Any]:
    """Counts of whole numbers, the last of them together, and what they are expected to be."""
    most = int(judge.ppf(1 - 20 / MANY))
    counts = [np.sum(values == k) for k in range(most)] + [np.sum(values >= most)]
    expected = [MANY * judge.pmf(k) for k in range(most)] + [MANY * judge.sf(most - 1)]
    # Rare ones are taken with their neighbour: the statistic wants some of each.
    merged: list[list[float]] = []
    for count, share in zip(counts, expected, strict=True):
        if merged and merged[-1][1] < 10:
            merged[-1][0] += count
            merged[-1][1] += share
        else:
            merged.append([float(count), share])
    if len(merged) > 1 and merged[-1][1] < 10:
        count, share = merged.pop()
        merged[-1] = [merged[-1][0] + count, merged[-1][1] + share]
    found = np.array(merged).T
    return (found[0], found[1]) if found.shape[1] > 1 else (np.array([1.0, 1.0]), np.array([1.0, 1.0]))


def _has(d: Any, name: str) -> bool:
    try:
        value = getattr(d, name)
    except NotImplementedError:
        return False
    return bool(np.isfinite(value.numpy()).all())


@pytest.mark.parametrize("case", CASES, ids=identify)
def test_draws_have_the_moments_that_are_said(case: Case) -> None:
    d = build(wb, case, tensor)
    wb.manual_seed(3)
    drawn = d.sample((MANY,)).numpy().astype(np.float64)
    assert drawn.shape == (MANY, *d.batch_shape, *d.event_shape)
    if case.name in ("VonMises", "Independent") or not (_has(d, "mean") and _has(d, "variance")):
        return
    mean, variance = d.mean.numpy(), d.variance.numpy()
    # Seven standard errors; where fourth moments are large the variance is not looked at.
    assert (np.abs(drawn.mean(0) - mean) <= 7 * np.sqrt(variance / MANY) + 1e-12).all()


@pytest.mark.parametrize("case", [case for case in CASES if case.values is not None], ids=identify)
def test_entropy_is_that_of_draws(case: Case) -> None:
    d = build(wb, case, tensor)
    try:
        entropy = d.entropy().numpy()
    except NotImplementedError:
        return
    wb.manual_seed(5)
    logs = d.log_prob(d.sample((MANY,))).numpy()
    assert (np.abs(entropy + logs.mean(0)) <= 7 * logs.std(0) / np.sqrt(MANY) + 1e-9).all()


def test_correlations_of_lkj_draws_have_their_marginal_distribution() -> None:
    wb.manual_seed(4)
    for dim, eta in ((2, 0.7), (3, 1.5), (5, 1.0)):
        factor = wb.distributions.LKJCholesky(dim, eta).sample((MANY,))
        correlation = (factor @ factor.mT).numpy()
        shape = eta + (dim - 2) / 2
        judge = scipy.stats.beta(shape, shape, -1, 2)
        for row in range(1, dim):
            for column in range(row):
                assert scipy.stats.kstest(correlation[:, row, column], judge.cdf).pvalue > 1e-5


@pytest.mark.parametrize("count", [3, 40])
def test_categories_come_as_often_as_they_are_likely(count: int) -> None:
    weights = np.arange(count) % 3 + np.array([0.0, *[0.5] * (count - 2), 0.0])
    wb.manual_seed(4)
    drawn = wb.distributions.Categorical(tensor(np.stack([weights, weights[::-1]]))).sample((MANY,)).numpy()
    for row, expected in enumerate((weights, weights[::-1])):
        counts = np.bincount(drawn[:, row], minlength=count)
        some = expected > 0
        assert counts[~some].sum() == 0
        assert scipy.stats.chisquare(counts[some], MANY * (expected / expected.sum())[some]).pvalue > 1e-5


UNFIT = {
    "OneHotCategoricalStraightThrough": "its gradient is a stand-in",
    "Uniform": "its support moves with its parameters, which the density's gradient does not see",
    "Pareto": "as above",
    "GeneralizedPareto": "as above",
}


# For a test function f: d/dθ E[f(x)] is E[f'(x)·dx/dθ], by draws that are differentiable, and E[f(x)·d ln p(x)/dθ],
# by the density alone.
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if any(leaves(case)) and build(wb, case, tensor).has_rsample and case.name not in UNFIT
    ],
    ids=identify,
)
def test_gradients_of_draws_are_those_of_the_density(case: Case) -> None:
    names = list(leaves(case))
    made = {name: tensor(case.parameters[name]).requires_grad_() for name in names}
    by_array = {id(case.parameters[name]): made[name] for name in names}

    def built() -> Any:
        return build(wb, case, lambda array: by_array.get(id(array), tensor(array)), validate_args=False)

    directions = {name: np.random.default_rng(1).uniform(0.5, 1.5, made[name].shape) for name in names}
    if "covariance_matrix" in names or "precision_matrix" in names:
        # Along symmetric changes: a matrix that is not symmetric is none of these.
        directions = {name: np.ones(made[name].shape) for name in names}
    wb.manual_seed(11)
    count = 4000

    def each(function: Any) -> np.ndarray[Any, Any]:
        return np.array([function() for _ in range(40)])

    def along(total: wb.Tensor) -> float:
        found = wb.autograd.grad(total, list(made.values()), allow_unused=True)
        return sum(
            float((gradient.numpy() * directions[name]).sum())
            for name, gradient in zip(names, found, strict=True)
            if gradient is not None
        )

    def bounded(x: wb.Tensor) -> wb.Tensor:
        value = (x * 0.7 + 0.2).tanh()
        return value.reshape(count // 40, *built().batch_shape, -1).sum(-1)

    def by_path() -> float:
        return along(bounded(built().rsample((count // 40,))).mean(0).sum())

    def by_density() -> float:
        d = built()
        x = d.sample((count // 40,))
        f = bounded(x)
        return along(((f - f.mean(0)) * d.log_prob(x)).sum(0).sum() / (count // 40 - 1))

    first, second = each(by_path), each(by_density)
    error = np.sqrt(first.var() / 40 + second.var() / 40)
    assert abs(first.mean() - second.mean()) < 6 * error + 1e-9, (first.mean(), second.mean(), error)
