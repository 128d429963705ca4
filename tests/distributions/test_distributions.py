"""What distributions promise besides their numbers: names, checks with their words, edges, traces, batches."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.distributions.cases import CASES, Case, build, identify
from workbench.core.op import ops
from workbench.graph import run, trace

D = wb.distributions
C = D.constraints


def tensor(array: Any) -> wb.Tensor:
    return wb.tensor(np.array(array, np.float64, order="C"))


def named(array: Any) -> wb.Tensor:
    """Name dims from the left; those that are common to a batch come first in all parameters."""
    made = tensor(array)
    return made.rename(*("N", "K", "L")[: made.ndim]) if made.ndim > 1 else made


SAMPLED = [case for case in CASES if case.parameters and case.values is not None]


@pytest.mark.parametrize("case", SAMPLED, ids=identify)
def test_names_of_parameters_are_those_of_draws_and_densities(case: Case) -> None:
    d = build(wb, case, named)
    batch = len(d.batch_shape)
    x = d.sample(S=4)
    assert x.shape == (4, *d.batch_shape, *d.event_shape)
    assert x.names[0] == "S"
    ahead = d._dim_names()[:batch]
    assert x.names[1 : 1 + batch] == ahead
    if any(array.ndim > 1 for array in case.parameters.values() if isinstance(array, np.ndarray)):
        assert (
            "N" in ahead
            or case.name in ("MultivariateNormal", "Wishart", "TransformedDistribution")
            or batch == 0
        )
    plain = build(wb, case, tensor)
    assert not any(plain.sample((4,)).names)
    assert not any(plain.log_prob(tensor(case.values)).names)


def test_names_meet_from_the_right() -> None:
    d = D.Normal(wb.zeros(N=2, C=3), wb.ones(C=3))
    assert d.log_prob(wb.zeros(S=4, N=2, C=3)).names == ("S", "N", "C")
    with pytest.raises(wb.DimensionError, match="do not match"):
        d.log_prob(wb.zeros(N=2, H=3))
    with pytest.raises(TypeError, match="not both"):
        d.sample((3,), S=3)
    picked = D.Categorical(logits=wb.zeros(N=2, classes=3))
    assert picked.sample(S=4).names == ("S", "N")
    assert picked.log_prob(wb.zeros(S=4, N=2)).names == ("S", "N")
    vectors = D.MultivariateNormal(wb.zeros(N=2, D=3), wb.eye(3))
    assert vectors.sample(S=4).names == ("S", "N", "D")
    assert vectors.log_prob(wb.zeros(N=2, D=3)).names == ("N",)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: D.Normal(0.0, -1.0), ValueError, r"Expected parameter scale .* GreaterThan\(lower_bound=0.0\)"),
    (
        lambda: D.Normal(math.nan, 1.0),
        ValueError,
        r"Expected parameter loc .* Real\(\).*invalid values:\nnan",
    ),
    (lambda: D.Normal([0.0], 1.0), ValueError, "numbers or tensors, got list: wb.tensor"),
    (lambda: D.Bernoulli(), ValueError, "`probs`.*`logits`.*got none of them"),
    (lambda: D.Bernoulli(0.5, 0.5), ValueError, "but not both.: got probs and logits"),
    (lambda: D.Bernoulli(1.5), ValueError, "Expected parameter probs"),
    (lambda: D.Categorical(wb.tensor(1.0)), ValueError, "at least one-dimensional"),
    (lambda: D.Uniform(1.0, 0.0), ValueError, "Expected parameter low"),
    (lambda: D.Dirichlet(wb.tensor(1.0)), ValueError, "at least one-dimensional"),
    (lambda: D.Geometric(0.0), ValueError, "never succeeds"),
    (lambda: D.LKJCholesky(1), ValueError, "one variable correlates with nothing"),
    (lambda: D.MultivariateNormal(wb.zeros(2)), ValueError, "exactly one of `covariance_matrix`"),
    (
        lambda: D.MultivariateNormal(wb.zeros(2), -wb.eye(2)),
        ValueError,
        "Expected parameter covariance_matrix",
    ),
    (lambda: D.Wishart(0.5, wb.eye(2)), ValueError, "Expected parameter df"),
    (lambda: D.Normal(0.0, 1.0).log_prob(0.5), ValueError, "must be a Tensor, got float: wb.tensor"),
    (
        lambda: D.Normal(wb.zeros(3), 1.0).log_prob(wb.zeros(2)),
        ValueError,
        "not broadcastable with batch_shape",
    ),
    (lambda: D.Dirichlet(wb.ones(3)).log_prob(wb.ones(2)), ValueError, "right-most size of value must match"),
    (lambda: D.Gamma(1.0, 1.0).log_prob(wb.tensor(-1.0)), ValueError, "to be within the support"),
    (lambda: D.Poisson(1.0).log_prob(wb.tensor(0.5)), ValueError, "to be within the support"),
    (lambda: D.Poisson(1.0).rsample(), NotImplementedError, "write sample"),
    (lambda: D.Gamma(1.0, 1.0).icdf(wb.tensor(0.5)), NotImplementedError, "Gamma has no icdf"),
    (lambda: D.Normal(0.0, 1.0).sample(3), TypeError, "sample_shape is a tuple of sizes"),
    (lambda: D.Normal(0.0, 1.0).enumerate_support(), NotImplementedError, "cannot be listed"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError, "Expected reinterpreted_batch_ndims"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), ValueError, "must be a Transform"),
    (
        lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
        ValueError,
        "shape with size at least 1",
    ),
    (
        lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)),
        NotImplementedError,
        "register_kl enters one",
    ),
    (lambda: D.register_kl(int, D.Normal), TypeError, "type_p to be a Distribution subclass"),
    (lambda: D.biject_to(C.boolean), NotImplementedError, "register what makes a transform"),
    (lambda: D.ReshapeTransform((2,), (3,)), ValueError, "different numbers of elements"),
    (lambda: D.AffineTransform(0.0, 1.0, cache_size=2), ValueError, "must be 0 or 1"),
    (
        lambda: D.Multinomial(wb.ones(2), wb.ones(2)),
        NotImplementedError,
        "one whole number for the whole batch",
    ),
    (lambda: D.Distribution.set_default_validate_args(3), ValueError, "True or False"),
    (
        lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)),
        ValueError,
        "instance of distributions.Cat",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        call()


def test_checks_can_be_left_out() -> None:
    assert math.isnan(D.Normal(0.0, -1.0, validate_args=False).log_prob(wb.tensor(0.0)).item())
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(wb.tensor(math.nan), 1.0).sample().isnan().item()
    finally:
        D.Distribution.set_default_validate_args(True)


@pytest.mark.parametrize("case", CASES, ids=identify)
def test_a_distribution_is_stretched_copied_and_printed(case: Case) -> None:
    d = build(wb, case, tensor)
    _ = [getattr(d, name) for name in d.arg_constraints]
    stretched = d.expand((5, *d.batch_shape))
    assert stretched.batch_shape == (5, *d.batch_shape)
    value = tensor(case.values)
    wide = stretched.log_prob(value.expand((5, *d.batch_shape, *d.event_shape)))
    np.testing.assert_allclose(wide[0].numpy(), d.log_prob(value).expand(d.batch_shape).numpy(), rtol=1e-12)
    again = pickle.loads(pickle.dumps(d))
    np.testing.assert_array_equal(again.log_prob(value).numpy(), d.log_prob(value).numpy())
    assert repr(d).startswith(type(d).__name__)


def test_printed_forms() -> None:
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Normal(wb.zeros(2), 1.0)) == "Normal(loc: Tensor of (2,), scale: Tensor of (2,))"
    assert repr(D.HalfNormal(2.0)) == "HalfNormal(scale: 2.0)"
    assert repr(C.interval(0, 1)) == "Interval(lower_bound=0, upper_bound=1)"
    assert repr(D.biject_to(C.less_than(2.0))) == "ComposeTransform([ExpTransform(), AffineTransform()])"


# ---------------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize("dtype", [wb.float32, wb.float64])
def test_densities_at_the_edge(dtype: Any) -> None:
    def t(value: float) -> wb.Tensor:
        return wb.tensor(value, dtype=dtype)

    huge = 1e30
    expected = {
        "Cauchy": (D.Cauchy(t(0.0), t(1.0)).log_prob(t(huge)), -math.log(math.pi) - 2 * math.log(huge)),
        "StudentT": (
            D.StudentT(t(1.0)).log_prob(t(huge)),
            -math.log(math.pi) - 2 * math.log(huge),
        ),
        "VonMises": (D.VonMises(t(0.0), t(1e6)).log_prob(t(0.0)), 0.5 * math.log(1e6 / (2 * math.pi))),
        "Bernoulli": (D.Bernoulli(logits=t(200.0)).log_prob(t(0.0)), -200.0),
        "Bernoulli of 1": (D.Bernoulli(logits=t(200.0)).log_prob(t(1.0)), 0.0),
        "Beta at 0": (D.Beta(t(1.0), t(2.0)).log_prob(t(0.0)), math.log(2)),
        "Gamma at 0": (D.Gamma(t(1.0), t(3.0)).log_prob(t(0.0)), math.log(3)),
        "Gamma of 2 at 0": (D.Gamma(t(2.0), t(3.0)).log_prob(t(0.0)), -math.inf),
        "Uniform at its end": (D.Uniform(t(0.0), t(1.0)).log_prob(t(1.0)), -math.inf),
        "Geometric of 1": (D.Geometric(t(1.0)).log_prob(t(0.0)), 0.0),
        "ContinuousBernoulli": (D.ContinuousBernoulli(logits=t(300.0)).log_prob(t(1.0)), math.log(300)),
        "of equal chances": (D.ContinuousBernoulli(t(0.5)).log_prob(t(0.3)), 0.0),
        "Normal far out": (
            D.Normal(t(0.0), t(1e-20)).log_prob(t(0.0)),
            20 * math.log(10) - 0.5 * math.log(2 * math.pi),
        ),
        "NegativeBinomial of 0": (D.NegativeBinomial(t(0.0), t(0.5)).log_prob(t(0.0)), 0.0),
        "Poisson of 0": (D.Poisson(t(0.0)).log_prob(t(0.0)), 0.0),
        "GeneralizedPareto": (D.GeneralizedPareto(t(0.0), t(1.0), t(1e-12)).log_prob(t(2.0)), -2.0),
    }
    for name, (found, value) in expected.items():
        assert found.item() == pytest.approx(value, rel=2e-5 if dtype == wb.float32 else 1e-9, abs=1e-6), name


def test_draws_at_the_edge_stay_inside() -> None:
    wb.manual_seed(0)
    for concentration in (1e-3, 1e-2, 1.0, 1e4, 1e8):
        a = wb.tensor(concentration)
        for d in (D.Gamma(a, 1.0), D.Beta(a, a), D.Dirichlet(a.expand(3)), D.Chi2(a)):
            x = d.rsample((2000,))
            assert d.support.check(x).all().item(), d
            assert x.isfinite().all().item()
            assert (x > 0).all().item()
    shares = D.Dirichlet(wb.full((3,), 1e-3, dtype=wb.float64)).sample((3000,))
    # Nearly all of it in one share, each as often: float32's smallest number is no share of a draw.
    assert (shares.max(-1).values > 0.99).float().mean().item() > 0.95
    assert np.abs(shares.mean(0).numpy() - 1 / 3).max() < 0.05


def test_a_gradient_goes_through_small_draws() -> None:
    a = wb.tensor([1e-3, 0.5, 30.0, 1e5], dtype=wb.float64, requires_grad=True)
    wb.manual_seed(1)
    x = D.Gamma(a, 1.0).rsample((100,))
    x.sum().backward()
    assert a.grad.isfinite().all().item()
    # E[x] = a
    assert a.grad[3].item() / 100 == pytest.approx(1.0, abs=0.01)


def test_a_second_derivative_of_draws_is_there() -> None:
    a = wb.tensor([0.7, 3.0, 20.0], dtype=wb.float64, requires_grad=True)
    wb.manual_seed(2)
    drawn = D.Gamma(a, 1.0).rsample((50,))
    # The quantiles of these even draws are the same draws, and smooth in the shape as a sampler by rejection is not.
    even = wb.special.gammainc(a.detach().expand(50, 3), drawn.detach())

    def slope(shape: wb.Tensor) -> wb.Tensor:
        return wb.autograd.grad((ops.gammaincinv(shape, even) ** 2).sum(), shape)[0]

    first = wb.autograd.grad((drawn**2).sum(), a, create_graph=True)[0]
    np.testing.assert_allclose(first.detach().numpy(), slope(a).numpy(), rtol=1e-9)
    second = wb.autograd.grad(first.sum(), a)[0]
    ends = [slope((a.detach() + step).requires_grad_()) for step in (1e-5, -1e-5)]
    np.testing.assert_allclose(second.numpy(), (ends[0] - ends[1]).numpy() / 2e-5, rtol=1e-6)


# ---------------------------------------------------------------------------------------- traces and batches


@pytest.mark.parametrize(
    "make",
    [
        lambda x: D.Normal(x, 1.0),
        lambda x: D.Gamma(x.exp(), 2.0),
        lambda x: D.Beta(x.exp(), 2.0),
        lambda x: D.StudentT(x.exp() + 2),
        lambda x: D.Poisson(x.exp()),
        lambda x: D.Bernoulli(logits=x),
        lambda x: D.Binomial(5, logits=x),
        lambda x: D.Laplace(x, x.exp()),
        lambda x: D.Gumbel(x, x.exp()),
        lambda x: D.VonMises(x, x.exp()),
        lambda x: D.Categorical(logits=x),
        lambda x: D.OneHotCategorical(logits=x),
        lambda x: D.Dirichlet(x.exp()),
        lambda x: D.LogNormal(x, 1.0),
    ],
    ids=lambda make: type(make(wb.zeros(3))).__name__,
)
def test_a_trace_draws_what_the_function_draws(make: Any) -> None:
    def function(x: wb.Tensor) -> Any:
        d = make(x)
        y = d.sample((2,))
        return y, d.log_prob(y)

    x = wb.tensor([0.3, -0.5, 1.0])
    graph = trace(function, x)
    wb.manual_seed(9)
    expected = function(x)
    wb.manual_seed(9)
    for found, value in zip(run(graph, x), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), value.numpy(), rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=identify)
def test_a_trace_computes_the_density_of_parameters_and_values(case: Case) -> None:
    arrays = {name: value for name, value in case.parameters.items() if isinstance(value, np.ndarray)}
    by_array = {id(array): place for place, array in enumerate(arrays.values())}

    def function(value: wb.Tensor, *parameters: wb.Tensor) -> wb.Tensor:
        def given(array: Any) -> wb.Tensor:
            return parameters[by_array[id(array)]] if id(array) in by_array else tensor(array)

        return build(wb, case, given).log_prob(value)

    operands = [tensor(one) for one in (case.values, *arrays.values())]
    found = run(trace(function, *operands), *operands)
    np.testing.assert_allclose(found.numpy(), function(*operands).numpy(), rtol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=identify)
def test_densities_of_a_batch_are_those_of_its_entries(case: Case) -> None:
    d = build(wb, case, tensor, validate_args=False)
    value = tensor(case.values).expand((*d.batch_shape, *d.event_shape))
    both = wb.stack([value, value * 1.0])
    found = wb.vmap(d.log_prob)(both)
    np.testing.assert_allclose(found.numpy(), d.log_prob(both).numpy(), rtol=1e-12)


def test_a_distribution_is_made_under_vmap() -> None:
    loc, scale = wb.randn(4), wb.rand(4) + 0.5
    value = wb.randn(4)
    found = wb.vmap(lambda m, s, x: D.Normal(m, s).log_prob(x))(loc, scale, value)
    np.testing.assert_allclose(found.numpy(), D.Normal(loc, scale).log_prob(value).numpy(), rtol=1e-6)
    slopes = wb.vmap(wb.func.grad(lambda a, x: D.Gamma(a, 1.0).log_prob(x)))(scale, value.abs())
    assert slopes.shape == (4,)


# ------------------------------------------------------------------------------------------------ transforms


def test_a_cache_gives_back_the_very_operand() -> None:
    t = D.TanhTransform(cache_size=1)
    x = wb.tensor(9.5)
    y = t(x)
    assert t.inv(y) is x
    assert D.TanhTransform().inv(y).item() != 9.5
    d = D.TransformedDistribution(D.Normal(0.0, 10.0), [D.TanhTransform(cache_size=1)])
    wb.manual_seed(0)
    assert d.log_prob(d.rsample((100,))).isfinite().all().item()
    assert t.with_cache(0)._cache_size == 0
    assert t.inv.inv is t


LED_TO = [
    *(C.positive, C.unit_interval, C.simplex, C.less_than(2.0), C.interval(-1.0, 3.0), C.corr_cholesky),
    *(
        C.lower_cholesky,
        C.positive_definite,
        C.real_vector,
        C.greater_than(1.0),
        C.half_open_interval(0.0, 2.0),
    ),
    C.nonnegative,
]


@pytest.mark.parametrize("constraint", LED_TO, ids=repr)
def test_registered_transforms_lead_into_their_constraint(constraint: Any) -> None:
    x = wb.randn(3, 3, generator=wb.Generator(0), dtype=wb.float64)
    for registry in (D.biject_to, D.transform_to):
        if registry is D.biject_to and constraint in (C.lower_cholesky, C.positive_definite):
            continue
        t = registry(constraint)
        y = t(x)
        assert t.codomain.check(y).all().item()
        assert constraint.check(y).all().item()
        if t.bijective:
            np.testing.assert_allclose(t.inv(y).numpy(), x.numpy(), rtol=1e-6, atol=1e-8)


BIJECTIVE: list[Any] = [
    D.StickBreakingTransform(),
    D.CorrCholeskyTransform(),
    D.ComposeTransform([D.AffineTransform(0.3, -2.0), D.TanhTransform()]),
    D.IndependentTransform(D.SigmoidTransform(), 1),
    D.SoftplusTransform(),
    D.PowerTransform(0.5),
]


@pytest.mark.parametrize("t", BIJECTIVE, ids=repr)
def test_jacobian_determinants_are_those_of_derivatives(t: Any) -> None:
    x = wb.tensor([0.3, 1.2, 0.8], dtype=wb.float64)
    y = t(x)
    # Coordinates that determine the rest: of a simplex all but the last, of a factor those below the diagonal.
    if isinstance(t, D.StickBreakingTransform):
        flat = lambda v: t(v)[..., :-1]
    elif isinstance(t, D.CorrCholeskyTransform):
        flat = lambda v: D.utils.tril_matrix_to_vec(t(v), diag=-1)
    else:
        flat = t
    jacobian = wb.func.jacrev(flat)(x)
    expected = wb.linalg.slogdet(jacobian)[1].item()
    found = t.log_abs_det_jacobian(x, y).sum().item()
    assert found == pytest.approx(expected, rel=1e-9)


def test_triangles_are_taken_apart_and_put_together() -> None:
    for diag in (-2, -1, 0, 1):
        matrix = wb.tensor(np.tril(np.arange(1.0, 17).reshape(4, 4), diag))
        vec = D.utils.tril_matrix_to_vec(matrix, diag)
        if diag <= 0:
            np.testing.assert_array_equal(D.utils.vec_to_tril_matrix(vec, diag).numpy(), matrix.numpy())
    with pytest.raises(ValueError, match="fill no lower triangle"):
        D.utils.vec_to_tril_matrix(wb.zeros(4))
