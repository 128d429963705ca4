"""Every distribution with parameters and values, as arrays: built in either library by `build`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

POSITIVE = np.array([[0.3, 1.7, 4.2], [2.6, 0.9, 12.5]])
OTHER = np.array([1.4, 0.6, 3.3])
REALS = np.array([[-1.3, 0.4, 2.2], [0.1, -3.0, 1.1]])
SHARES = np.array([[0.15, 0.5, 0.85], [0.3, 0.97, 0.62]])
LOGITS = np.array([[-2.0, 0.3, 1.2], [0.0, 4.0, -0.7]])
WEIGHTS = np.array([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])
SPREADS = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.5, -0.4], [-0.4, 0.7]]])
FACTOR = np.array([[1.2, 0.0], [-0.5, 0.8]])
VECTORS = np.array([[0.5, -1.0], [2.0, 0.3]])
COUNTS = np.array([[0.0, 1.0, 3.0], [2.0, 5.0, 0.0]])


@dataclass(frozen=True)
class Case:
    """A distribution: its class, its parameters (arrays, numbers, or other cases), and values of its support."""

    name: str
    parameters: dict[str, Any]
    values: np.ndarray[Any, Any] | None
    scipy: Callable[..., Any] | None = None
    """SciPy's distribution of the parameters, as ``scipy(stats, **parameters)``."""
    fixed: tuple[str, ...] = field(default=())
    """Parameters that no gradient goes to."""


def build(library: Any, case: Case, make: Callable[[Any], Any], **keywords: Any) -> Any:
    """Return the distribution of a library; `make` makes its tensors of arrays."""
    given = {}
    for name, value in case.parameters.items():
        if isinstance(value, Case):
            given[name] = build(library, value, make)
        elif isinstance(value, np.ndarray):
            given[name] = make(value)
        elif callable(value):
            given[name] = value(library)
        else:
            given[name] = value
    owner: Any = library.distributions
    for part in case.name.split("."):
        owner = getattr(owner, part)
    return owner(**given, **keywords)


def _gpd(s: Any, loc: Any, scale: Any, concentration: Any) -> Any:
    return s.genpareto(concentration, loc, scale)


def _normal(**parameters: Any) -> Case:
    return Case("Normal", {"loc": REALS, "scale": POSITIVE} | parameters, REALS + 0.5)


CONTINUOUS = [
    Case(
        "Normal",
        {"loc": REALS, "scale": POSITIVE},
        REALS[::-1] * 2,
        lambda s, loc, scale: s.norm(loc, scale),
    ),
    Case(
        "Laplace",
        {"loc": REALS, "scale": POSITIVE},
        REALS[::-1] * 2,
        lambda s, loc, scale: s.laplace(loc, scale),
    ),
    Case(
        "Cauchy",
        {"loc": REALS, "scale": POSITIVE},
        REALS[::-1] * 2,
        lambda s, loc, scale: s.cauchy(loc, scale),
    ),
    Case(
        "Gumbel",
        {"loc": REALS, "scale": POSITIVE},
        REALS[::-1] * 2,
        lambda s, loc, scale: s.gumbel_r(loc, scale),
    ),
    Case(
        "Uniform",
        {"low": REALS, "high": REALS + POSITIVE},
        REALS + POSITIVE * SHARES,
        lambda s, low, high: s.uniform(low, high - low),
    ),
    Case("Exponential", {"rate": POSITIVE}, OTHER, lambda s, rate: s.expon(0, 1 / rate)),
    Case(
        "Gamma",
        {"concentration": POSITIVE, "rate": OTHER},
        POSITIVE[::-1] / 2,
        lambda s, concentration, rate: s.gamma(concentration, 0, 1 / rate),
    ),
    Case("Chi2", {"df": POSITIVE}, POSITIVE[::-1] / 2, lambda s, df: s.chi2(df)),
    Case(
        "InverseGamma",
        {"concentration": POSITIVE, "rate": OTHER},
        POSITIVE[::-1] / 2,
        lambda s, concentration, rate: s.invgamma(concentration, 0, rate),
    ),
    Case(
        "Beta",
        {"concentration1": POSITIVE, "concentration0": OTHER},
        SHARES,
        lambda s, concentration1, concentration0: s.beta(concentration1, concentration0),
    ),
    Case("Kumaraswamy", {"concentration1": POSITIVE, "concentration0": OTHER}, SHARES),
    Case(
        "StudentT",
        {"df": POSITIVE, "loc": REALS, "scale": OTHER},
        REALS[::-1] * 2,
        lambda s, df, loc, scale: s.t(df, loc, scale),
    ),
    Case(
        "FisherSnedecor",
        {"df1": POSITIVE, "df2": POSITIVE[::-1]},
        OTHER,
        lambda s, df1, df2: s.f(df1, df2),
    ),
    Case("HalfNormal", {"scale": POSITIVE}, OTHER, lambda s, scale: s.halfnorm(0, scale)),
    Case("HalfCauchy", {"scale": POSITIVE}, OTHER, lambda s, scale: s.halfcauchy(0, scale)),
    Case(
        "LogNormal",
        {"loc": REALS, "scale": OTHER},
        POSITIVE,
        lambda s, loc, scale: s.lognorm(scale, 0, np.exp(loc)),
    ),
    Case(
        "Pareto",
        {"scale": OTHER, "alpha": POSITIVE},
        OTHER + SHARES,
        lambda s, scale, alpha: s.pareto(alpha, 0, scale),
    ),
    Case(
        "Weibull",
        {"scale": OTHER, "concentration": POSITIVE},
        POSITIVE[::-1] / 4,
        lambda s, scale, concentration: s.weibull_min(concentration, 0, scale),
    ),
    Case(
        "GeneralizedPareto",
        {"loc": REALS, "scale": POSITIVE, "concentration": np.array([0.3, -0.2, 1.3])},
        REALS + POSITIVE * SHARES,
        _gpd,
    ),
    Case(
        "VonMises",
        {"loc": REALS, "concentration": POSITIVE},
        REALS / 2,
        lambda s, loc, concentration: s.vonmises(concentration, loc),
    ),
    Case("ContinuousBernoulli", {"probs": SHARES}, SHARES[::-1]),
    Case("ContinuousBernoulli", {"logits": LOGITS}, SHARES[::-1]),
    Case(
        "RelaxedBernoulli",
        {"temperature": np.array(0.7), "probs": SHARES},
        SHARES[::-1],
        fixed=("temperature",),
    ),
    Case(
        "relaxed_bernoulli.LogitRelaxedBernoulli",
        {"temperature": np.array(0.7), "logits": LOGITS},
        REALS,
    ),
]
"""Of one number, with a density."""

DISCRETE = [
    Case(
        "Bernoulli",
        {"probs": SHARES},
        np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]),
        lambda s, probs: s.bernoulli(probs),
    ),
    Case("Bernoulli", {"logits": LOGITS}, np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])),
    Case("Geometric", {"probs": SHARES}, COUNTS, lambda s, probs: s.geom(probs, -1)),
    Case("Geometric", {"logits": LOGITS}, COUNTS),
    Case("Poisson", {"rate": POSITIVE}, COUNTS, lambda s, rate: s.poisson(rate)),
    Case(
        "Binomial",
        {"total_count": 6, "probs": SHARES},
        COUNTS,
        lambda s, total_count, probs: s.binom(total_count, probs),
    ),
    Case("Binomial", {"total_count": np.array(6.0), "logits": LOGITS}, COUNTS, fixed=("total_count",)),
    Case(
        "NegativeBinomial",
        {"total_count": POSITIVE, "probs": SHARES},
        COUNTS,
        lambda s, total_count, probs: s.nbinom(total_count, 1 - probs),
    ),
    Case("NegativeBinomial", {"total_count": POSITIVE, "logits": LOGITS}, COUNTS),
]
"""Of one whole number."""

_MIXTURE = {
    "mixture_distribution": Case("Categorical", {"probs": WEIGHTS}, None),
    "component_distribution": Case("Normal", {"loc": REALS, "scale": POSITIVE}, None),
}
OTHERS = [
    Case("Categorical", {"probs": WEIGHTS}, np.array([2.0, 0.0])),
    Case("Categorical", {"logits": LOGITS}, np.array([2.0, 0.0])),
    Case("OneHotCategorical", {"probs": WEIGHTS}, np.eye(3)[:2]),
    Case("OneHotCategorical", {"logits": LOGITS}, np.eye(3)[1:]),
    Case("OneHotCategoricalStraightThrough", {"logits": LOGITS}, np.eye(3)[1:]),
    Case("Multinomial", {"total_count": 6, "probs": WEIGHTS}, np.array([[1.0, 2.0, 3.0], [6.0, 0.0, 0.0]])),
    Case("Multinomial", {"total_count": 6, "logits": LOGITS}, np.array([[1.0, 2.0, 3.0], [6.0, 0.0, 0.0]])),
    Case("Dirichlet", {"concentration": POSITIVE}, WEIGHTS),
    Case(
        "RelaxedOneHotCategorical",
        {"temperature": np.array(0.7), "probs": WEIGHTS},
        WEIGHTS[::-1],
        fixed=("temperature",),
    ),
    Case(
        "relaxed_categorical.ExpRelaxedCategorical",
        {"temperature": np.array(0.7), "logits": LOGITS},
        np.log(WEIGHTS),
        fixed=("temperature",),
    ),
    Case("LogisticNormal", {"loc": VECTORS, "scale": VECTORS**2 + 0.1}, WEIGHTS),
    Case("MultivariateNormal", {"loc": VECTORS, "covariance_matrix": SPREADS}, VECTORS[::-1]),
    Case("MultivariateNormal", {"loc": VECTORS[0], "precision_matrix": SPREADS}, VECTORS[0]),
    Case("MultivariateNormal", {"loc": VECTORS, "scale_tril": FACTOR}, VECTORS[::-1]),
    Case(
        "LowRankMultivariateNormal",
        {"loc": VECTORS, "cov_factor": VECTORS[:, :, None] / 2, "cov_diag": VECTORS**2 + 0.3},
        VECTORS[::-1],
    ),
    Case("Wishart", {"df": np.array([3.5, 2.2]), "covariance_matrix": SPREADS}, SPREADS[::-1]),
    Case("Wishart", {"df": np.array(4.5), "precision_matrix": SPREADS}, SPREADS[::-1]),
    Case("Wishart", {"df": np.array(4.5), "scale_tril": FACTOR}, SPREADS[0]),
    Case(
        "LKJCholesky", {"dim": 2, "concentration": np.array([0.7, 3.0])}, np.array([[1.0, 0.0], [0.6, 0.8]])
    ),
    Case(
        "LKJCholesky",
        {"dim": 3, "concentration": 1.5},
        np.linalg.cholesky(np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0]])),
    ),
    Case("MixtureSameFamily", _MIXTURE, np.array([0.7, -1.2])),
    Case(
        "Independent",
        {"base_distribution": _normal(), "reinterpreted_batch_ndims": 1},
        REALS,
    ),
    Case(
        "TransformedDistribution",
        {
            "base_distribution": _normal(),
            "transforms": lambda m: [
                m.distributions.AffineTransform(0.5, -2.0),
                m.distributions.TanhTransform(),
                m.distributions.SigmoidTransform(),
            ],
        },
        SHARES * 0.3 + 0.3,
    ),
    Case(
        "TransformedDistribution",
        {
            "base_distribution": _normal(),
            "transforms": lambda m: [m.distributions.StickBreakingTransform()],
        },
        np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.1, 0.25, 0.25]]),
    ),
]
"""Of several numbers, or made of other distributions."""

CASES = [*CONTINUOUS, *DISCRETE, *OTHERS]


def identify(case: Case) -> str:
    """Name a case for pytest."""
    return f"{case.name}({', '.join(case.parameters)})"


def leaves(case: Case) -> Iterator[str]:
    """Names of the parameters that gradients go to."""
    for name, value in case.parameters.items():
        if isinstance(value, np.ndarray) and name not in case.fixed:
            yield name
