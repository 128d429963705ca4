"""Distributions, transforms, constraints and divergences against PyTorch's, in float64 and float32."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.distributions.cases import CASES, Case, build, identify, leaves
from tests.distributions.pairs import FAMILIES
from workbench.core.op import ops

torch: Any = pytest.importorskip("torch")

DTYPES = ["float64", "float32"]


@pytest.mark.parametrize(
    "module", ["", ".constraints", ".transforms", ".utils", ".kl", ".constraint_registry"]
)
def test_every_name_of_pytorchs_is_there(module: str) -> None:
    ours, theirs = (importlib.import_module(f"{one}.distributions{module}") for one in ("workbench", "torch"))
    assert [name for name in theirs.__all__ if not hasattr(ours, name)] == []


def test_every_file_of_pytorchs_is_there() -> None:
    for found in pkgutil.iter_modules(torch.distributions.__path__):
        theirs = importlib.import_module(f"torch.distributions.{found.name}")
        ours = importlib.import_module(f"workbench.distributions.{found.name}")
        assert [name for name in theirs.__all__ if not hasattr(ours, name)] == [], found.name


@pytest.mark.parametrize("name", [name for name in torch.distributions.__all__ if name[0].isupper()])
def test_every_class_takes_what_pytorchs_takes(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(one.distributions, name)) for one in (wb, torch))
    assert list(ours.parameters) == list(theirs.parameters)
    assert [one.default for one in ours.parameters.values()] == [
        one.default for one in theirs.parameters.values()
    ]


ELSEWHERE = {
    (
        "Binomial",
        "second gradient",
    ): "PyTorch's has |logit| in it: at a logit of 0 its second derivative is that of a kink",
    ("Kumaraswamy", "mode"): "PyTorch takes the logarithm of a negative number: it is NaN everywhere",
    (
        "Weibull",
        "mode",
    ): "below a concentration of 1 the density is largest at 0, PyTorch's formula gives NaN",
    (
        "relaxed_bernoulli.LogitRelaxedBernoulli",
        "has_rsample",
    ): "PyTorch has its rsample, and does not say so",
}
"""Where PyTorch's answer is known to be another, and why."""

ROUGH = {"VonMises": 1e-6, "RelaxedBernoulli": 1e-6}
"""Tolerances in float64 where PyTorch computes with fewer digits: Bessel functions by polynomials, clamped sigmoids."""


@pytest.fixture(autouse=True)
def _precise(request: Any) -> Any:
    """Constants that a library makes on its way are of the default type, and are to be no rougher than the rest."""
    dtype = getattr(request.node, "callspec", None) and request.node.callspec.params.get("dtype")
    _set_default(dtype or "float64")
    yield
    _set_default("float32")


def _set_default(name: str) -> None:
    torch.set_default_dtype(getattr(torch, name))
    wb.set_default_dtype(getattr(wb, name))


def _makers(dtype: str) -> tuple[Any, Any]:
    return (
        lambda array: wb.tensor(np.array(array, dtype, order="C")),
        lambda array: torch.tensor(np.array(array, dtype, order="C")),
    )


def _numbers(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.detach().numpy(), np.float64)


def _same(ours: Any, theirs: Any, dtype: str, *, what: str, rough: float = 1e-9) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape), what
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    tolerance = rough if dtype == "float64" else 2e-4
    np.testing.assert_allclose(_numbers(ours), _numbers(theirs), rtol=tolerance, atol=tolerance, err_msg=what)


def _asked(function: Any) -> Any:
    """The value, or the exception where the distribution does not have it."""
    try:
        return function()
    except NotImplementedError as error:
        return error


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=identify)
def test_values(case: Case, dtype: str) -> None:
    ours_of, theirs_of = _makers(dtype)
    ours, theirs = build(wb, case, ours_of), build(torch, case, theirs_of)
    assert ours.batch_shape == tuple(theirs.batch_shape)
    assert ours.event_shape == tuple(theirs.event_shape)
    rough = ROUGH.get(case.name, 1e-9)
    if (case.name, "has_rsample") not in ELSEWHERE:
        assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    value, target = ours_of(case.values), theirs_of(case.values)
    _same(ours.log_prob(value), theirs.log_prob(target), dtype, what="log_prob", rough=rough)
    for name in ("mean", "mode", "variance", "stddev"):
        found, expected = (_asked(lambda d=d, name=name: getattr(d, name)) for d in (ours, theirs))
        if not isinstance(expected, NotImplementedError) and (case.name, name) not in ELSEWHERE:
            _same(found, expected, dtype, what=name, rough=rough)
    for name in ("entropy", "perplexity", "enumerate_support"):
        found, expected = (_asked(lambda d=d, name=name: getattr(d, name)()) for d in (ours, theirs))
        if not isinstance(expected, NotImplementedError):
            _same(found, expected, dtype, what=name, rough=rough)
    # A distribution function of several numbers there is none, though PyTorch may return something.
    if ours.event_shape == () and not ours.support.is_discrete:
        found, expected = _asked(lambda: ours.cdf(value)), _asked(lambda: theirs.cdf(target))
        if not isinstance(expected, NotImplementedError):
            _same(found, expected, dtype, what="cdf", rough=rough)
        share = (
            np.broadcast_to(np.array([0.1, 0.5, 0.8]), ours.batch_shape)
            if ours.batch_shape[-1:] == (3,)
            else 0.3
        )
        found = _asked(lambda: ours.icdf(ours_of(share)))
        expected = _asked(lambda: theirs.icdf(theirs_of(share)))
        if not isinstance(expected, NotImplementedError):
            _same(found, expected, dtype, what="icdf", rough=rough)


@pytest.mark.parametrize("case", [case for case in CASES if any(leaves(case))], ids=identify)
def test_gradients_of_densities(case: Case) -> None:
    found = []
    for library, make in zip((wb, torch), _makers("float64"), strict=True):
        kept: dict[int, Any] = {}

        def leaf(array: Any, make: Any = make, kept: dict[int, Any] = kept) -> Any:
            return kept.setdefault(id(array), make(array).requires_grad_())

        names = list(leaves(case))
        value = make(case.values)
        discrete = build(library, case, make).support.is_discrete
        if not discrete:
            value.requires_grad_()
        build(library, case, leaf, validate_args=False).log_prob(value).sum().backward()
        wanted = [kept[id(case.parameters[name])] for name in names] + ([] if discrete else [value])
        found.append([one.detach() * 0 if one.grad is None else one.grad for one in wanted])
    for ours, theirs in zip(*found, strict=True):
        _same(ours, theirs, "float64", what="gradient", rough=ROUGH.get(case.name, 1e-9))


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if any(leaves(case)) and (case.name, "second gradient") not in ELSEWHERE],
    ids=identify,
)
def test_second_gradients_of_densities(case: Case) -> None:
    found = []
    for library, make in zip((wb, torch), _makers("float64"), strict=True):
        kept: dict[int, Any] = {}

        def leaf(array: Any, make: Any = make, kept: dict[int, Any] = kept) -> Any:
            return kept.setdefault(id(array), make(array).requires_grad_())

        # Twice as steep somewhere, so that no two places cancel.
        d = build(library, case, leaf, validate_args=False)
        total = (d.log_prob(make(case.values)) ** 2).sum()
        wanted = [kept[id(case.parameters[name])] for name in leaves(case)]
        slopes = library.autograd.grad(total, wanted, create_graph=True, allow_unused=True)
        steep = sum((slope**2).sum() for slope in slopes if slope is not None)
        found.append(library.autograd.grad(steep, wanted, allow_unused=True))
    for ours, theirs in zip(*found, strict=True):
        if theirs is None:
            assert ours is None or not ours.any()
            continue
        scale = max(1.0, float(theirs.abs().max()))
        _same(
            ours / scale, theirs / scale, "float64", what="second gradient", rough=ROUGH.get(case.name, 1e-8)
        )


# -------------------------------------------------------------------------------------------- divergences


def test_every_registered_pair_is_registered_here() -> None:
    theirs = {(left.__name__, right.__name__) for left, right in torch.distributions.kl._KL_REGISTRY}
    ours = {
        (left.__name__, right.__name__)
        for left, right in wb.distributions.kl._KL_REGISTRY
        if hasattr(wb.distributions, left.__name__)
    }
    assert ours == theirs
    assert {name for pair in theirs for name in pair} == set(FAMILIES)


@pytest.mark.parametrize(
    ("left", "right"),
    sorted((left.__name__, right.__name__) for left, right in torch.distributions.kl._KL_REGISTRY),
)
def test_divergences(left: str, right: str) -> None:
    ours_of, theirs_of = _makers("float64")
    compared = 0
    for p in FAMILIES[left]:
        for q in FAMILIES[right]:
            if left == right == "ExponentialFamily" and p.name != q.name:
                continue
            pair = [build(wb, one, ours_of) for one in (p, q)]
            expected = _asked(
                lambda p=p, q=q: torch.distributions.kl_divergence(
                    *(build(torch, one, theirs_of) for one in (p, q))
                )
            )
            if isinstance(expected, NotImplementedError):
                with pytest.raises(NotImplementedError):
                    wb.distributions.kl_divergence(*pair)
                continue
            _same(
                wb.distributions.kl_divergence(*pair),
                expected,
                "float64",
                what=f"{identify(p)} to {identify(q)}",
            )
            compared += 1
    assert compared


# --------------------------------------------------------------------------------------------- transforms

VECTOR = np.array([[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]])
MATRIX = np.array([[0.3, -1.2], [0.8, 0.5]])
TRANSFORMS: list[tuple[str, Any, Any]] = [
    ("Exp", lambda m, of: m.ExpTransform(), VECTOR),
    ("Power", lambda m, of: m.PowerTransform(of(np.array([2.0, -0.5, 0.3]))), np.abs(VECTOR)),
    ("Sigmoid", lambda m, of: m.SigmoidTransform(), VECTOR),
    ("Softplus", lambda m, of: m.SoftplusTransform(), VECTOR * 10),
    ("Tanh", lambda m, of: m.TanhTransform(), VECTOR),
    ("Abs", lambda m, of: m.AbsTransform(), VECTOR),
    (
        "Affine",
        lambda m, of: m.AffineTransform(of(np.array([1.0, 2.0, 3.0])), of(np.array([-1.0, 2.0, 0.5]))),
        VECTOR,
    ),
    ("Affine of events", lambda m, of: m.AffineTransform(0.5, -2.0, event_dim=1), VECTOR),
    ("Softmax", lambda m, of: m.SoftmaxTransform(), VECTOR),
    ("StickBreaking", lambda m, of: m.StickBreakingTransform(), VECTOR),
    ("LowerCholesky", lambda m, of: m.LowerCholeskyTransform(), MATRIX),
    ("PositiveDefinite", lambda m, of: m.PositiveDefiniteTransform(), MATRIX),
    ("CorrCholesky", lambda m, of: m.CorrCholeskyTransform(), np.tile(VECTOR, (1, 2))),
    (
        "Compose",
        lambda m, of: m.ComposeTransform([m.AffineTransform(0.5, 2.0), m.StickBreakingTransform()]),
        VECTOR,
    ),
    ("Independent", lambda m, of: m.IndependentTransform(m.TanhTransform(), 1), VECTOR),
    ("Reshape", lambda m, of: m.ReshapeTransform((3,), (3, 1)), VECTOR),
    (
        "Cat",
        lambda m, of: m.CatTransform([m.ExpTransform(), m.TanhTransform()], dim=-1, lengths=[1, 2]),
        VECTOR,
    ),
    (
        "Stack",
        lambda m, of: m.StackTransform([m.ExpTransform(), m.TanhTransform(), m.identity_transform], dim=1),
        VECTOR,
    ),
    (
        "CDF",
        lambda m, of: m.CumulativeDistributionTransform(m.Normal(of(np.array(0.5)), of(np.array(2.0)))),
        VECTOR,
    ),
]


@pytest.mark.parametrize(("name", "make", "array"), TRANSFORMS, ids=[one[0] for one in TRANSFORMS])
def test_transforms(name: str, make: Any, array: Any) -> None:
    ours_of, theirs_of = _makers("float64")
    ours, theirs = make(wb.distributions, ours_of), make(torch.distributions, theirs_of)
    assert ours.bijective == theirs.bijective
    for side in ("domain", "codomain"):
        assert getattr(ours, side).event_dim == getattr(theirs, side).event_dim
    sign = _asked(lambda: theirs.sign)
    if not isinstance(sign, NotImplementedError):
        np.testing.assert_array_equal(np.asarray(ours.sign), np.asarray(sign))
    x, target = ours_of(array).requires_grad_(), theirs_of(array).requires_grad_()
    y, expected = ours(x), theirs(target)
    _same(y, expected, "float64", what="forward")
    _same(ours.inv(y), theirs.inv(expected), "float64", what="inverse")
    assert ours.forward_shape(x.shape) == tuple(theirs.forward_shape(target.shape))
    assert ours.inverse_shape(y.shape) == tuple(theirs.inverse_shape(expected.shape))
    size = _asked(lambda: theirs.log_abs_det_jacobian(target, expected))
    if isinstance(size, NotImplementedError):
        with pytest.raises(NotImplementedError):
            ours.log_abs_det_jacobian(x, y)
        return
    found = ours.log_abs_det_jacobian(x, y)
    _same(found, size, "float64", what="log_abs_det_jacobian")
    (found.sum() + y.sum()).backward()
    (size.sum() + expected.sum()).backward()
    _same(x.grad, target.grad, "float64", what="gradient")


CONSTRAINTS: list[tuple[str, Any, Any]] = [
    ("boolean", lambda c: c.boolean, [0.0, 1.0, 0.5]),
    ("integer_interval", lambda c: c.integer_interval(0, 3), [0.0, 3.0, 4.0, 1.5]),
    ("real", lambda c: c.real, [0.0, np.nan, np.inf]),
    ("positive", lambda c: c.positive, [0.0, 1e-30, -1.0]),
    ("nonnegative", lambda c: c.nonnegative, [0.0, 1e-30, -1.0]),
    ("greater_than", lambda c: c.greater_than(2.0), [2.0, 3.0]),
    ("less_than", lambda c: c.less_than(2.0), [2.0, 1.0]),
    ("unit_interval", lambda c: c.unit_interval, [0.0, 1.0, 1.1]),
    ("half_open_interval", lambda c: c.half_open_interval(0.0, 1.0), [0.0, 1.0, 0.9]),
    ("nonnegative_integer", lambda c: c.nonnegative_integer, [0.0, 0.5, -1.0]),
    ("positive_integer", lambda c: c.positive_integer, [0.0, 1.0]),
    ("real_vector", lambda c: c.real_vector, [[0.0, np.nan], [1.0, 2.0]]),
    ("simplex", lambda c: c.simplex, [[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]]),
    ("one_hot", lambda c: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    ("multinomial", lambda c: c.multinomial(3), [[1.0, 2.0], [1.0, 3.0], [-1.0, 2.0]]),
    ("square", lambda c: c.square, [[0.5, 0.5]]),
    ("symmetric", lambda c: c.symmetric, [[0.5, 0.5], [0.4, 0.5]]),
    ("lower_triangular", lambda c: c.lower_triangular, [[[0.5, 0.0], [0.4, 0.5]], [[0.5, 0.1], [0.4, 0.5]]]),
    ("lower_cholesky", lambda c: c.lower_cholesky, [[[0.5, 0.0], [0.4, 0.5]], [[-0.5, 0.0], [0.4, 0.5]]]),
    ("corr_cholesky", lambda c: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.7]]]),
    (
        "positive_definite",
        lambda c: c.positive_definite,
        [[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]],
    ),
    (
        "positive_semidefinite",
        lambda c: c.positive_semidefinite,
        [[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]],
    ),
    ("cat", lambda c: c.cat([c.positive, c.real], 0, [1, 2]), [-1.0, -1.0, 2.0]),
    ("stack", lambda c: c.stack([c.positive, c.real], 0), [-1.0, -1.0]),
    ("independent", lambda c: c.independent(c.positive, 1), [[1.0, 2.0], [0.0, 1.0]]),
]


@pytest.mark.parametrize(("name", "make", "values"), CONSTRAINTS, ids=[one[0] for one in CONSTRAINTS])
def test_constraints(name: str, make: Any, values: Any) -> None:
    ours, theirs = make(wb.distributions.constraints), make(torch.distributions.constraints)
    ours_of, theirs_of = _makers("float64")
    found, expected = ours.check(ours_of(values)), theirs.check(theirs_of(values))
    assert found.tolist() == expected.tolist()
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)
    if name not in ("cat", "stack", "independent", "real_vector", "multinomial"):
        assert repr(ours) == repr(theirs)
    for registry in ("biject_to", "transform_to"):
        reached = _asked(lambda registry=registry: getattr(torch.distributions, registry)(theirs))
        if isinstance(reached, NotImplementedError):
            with pytest.raises(NotImplementedError, match="register"):
                getattr(wb.distributions, registry)(ours)
            continue
        way = getattr(wb.distributions, registry)(ours)
        sizes = (6,) if name == "corr_cholesky" else np.shape(values)
        start = np.random.default_rng(3).normal(size=sizes)
        _same(way(ours_of(start)), reached(theirs_of(start)), "float64", what=registry)


# ------------------------------------------------------------------------------------------------- draws


def test_the_implicit_gradient_of_gamma_draws() -> None:
    shapes = np.broadcast_to(np.geomspace(0.05, 500, 40), (50, 40)).copy()
    draws = np.random.default_rng(0).gamma(shapes)
    expected = torch._standard_gamma_grad(torch.tensor(shapes), torch.tensor(draws)).numpy()
    found = ops.gamma_quantile_slope(wb.tensor(shapes), wb.tensor(draws)).numpy()
    # PyTorch approximates by rational functions, to three digits.
    np.testing.assert_allclose(found, expected, rtol=3e-3)


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in ("LKJCholesky",)], ids=identify)
@pytest.mark.parametrize("dtype", ["float32"])
@pytest.mark.filterwarnings("ignore:Singular sample detected")
def test_draws_have_the_shape_and_type_of_pytorchs(case: Case, dtype: str) -> None:
    ours_of, theirs_of = _makers(dtype)
    # Not checked: float32 rounds some draws onto the edge of their support, where a transform has no inverse.
    ours = build(wb, case, ours_of, validate_args=False)
    theirs = build(torch, case, theirs_of, validate_args=False)
    for sizes in ((), (4,), (2, 3)):
        found, expected = ours.sample(sizes), theirs.sample(sizes)
        assert tuple(found.shape) == tuple(expected.shape)
        assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
        if case.name != "TransformedDistribution":
            assert ours.log_prob(found).shape == tuple(theirs.log_prob(expected).shape)
    batch = (2, *ours.batch_shape)
    stretched = ours.expand(batch)
    assert stretched.batch_shape == batch
    assert stretched.sample().shape == tuple(theirs.expand(batch).sample().shape)
    assert type(stretched) is type(ours)
