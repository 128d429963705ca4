"""Distributions: PyTorch's `torch.distributions`, on named tensors and differentiable.

>>> import workbench as wb
>>> scale = wb.tensor(2.0, requires_grad=True)
>>> d = wb.distributions.Normal(0.0, scale)
>>> d.log_prob(wb.tensor(1.0)).backward()
>>> scale.grad
tensor(-0.3750)
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.distributions import (
    constraints,
    kl_between_families,  # noqa: F401  enters its pairs
    kl_multivariate,  # noqa: F401  enters its pairs
    kl_same_family,  # noqa: F401  enters its pairs
    transforms,
    utils,
)
from workbench.distributions.bernoulli import Bernoulli
from workbench.distributions.beta import Beta
from workbench.distributions.binomial import Binomial
from workbench.distributions.categorical import Categorical
from workbench.distributions.cauchy import Cauchy
from workbench.distributions.chi2 import Chi2
from workbench.distributions.constraint_registry import biject_to, transform_to
from workbench.distributions.continuous_bernoulli import ContinuousBernoulli
from workbench.distributions.dirichlet import Dirichlet
from workbench.distributions.distribution import Distribution
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.exponential import Exponential
from workbench.distributions.fishersnedecor import FisherSnedecor
from workbench.distributions.gamma import Gamma
from workbench.distributions.generalized_pareto import GeneralizedPareto
from workbench.distributions.geometric import Geometric
from workbench.distributions.gumbel import Gumbel
from workbench.distributions.half_cauchy import HalfCauchy
from workbench.distributions.half_normal import HalfNormal
from workbench.distributions.independent import Independent
from workbench.distributions.inverse_gamma import InverseGamma
from workbench.distributions.kl import kl_divergence, register_kl
from workbench.distributions.kumaraswamy import Kumaraswamy
from workbench.distributions.laplace import Laplace
from workbench.distributions.lkj_cholesky import LKJCholesky
from workbench.distributions.log_normal import LogNormal
from workbench.distributions.logistic_normal import LogisticNormal
from workbench.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from workbench.distributions.mixture_same_family import MixtureSameFamily
from workbench.distributions.multinomial import Multinomial
from workbench.distributions.multivariate_normal import MultivariateNormal
from workbench.distributions.negative_binomial import NegativeBinomial
from workbench.distributions.normal import Normal
from workbench.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from workbench.distributions.pareto import Pareto
from workbench.distributions.poisson import Poisson
from workbench.distributions.relaxed_bernoulli import RelaxedBernoulli
from workbench.distributions.relaxed_categorical import RelaxedOneHotCategorical
from workbench.distributions.studentT import StudentT
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from workbench.distributions.uniform import Uniform
from workbench.distributions.von_mises import VonMises
from workbench.distributions.weibull import Weibull
from workbench.distributions.wishart import Wishart

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy",
    "Chi2", "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "Dirichlet", "Distribution", "ExpTransform", "Exponential",
    "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy",
    "HalfNormal", "Independent", "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky",
    "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform",
    "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform", "PowerTransform",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints",
    "identity_transform", "kl_divergence", "register_kl", "transform_to", "transforms", "utils",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
