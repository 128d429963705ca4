"""Some distributions of each family that the table of divergences names."""

from __future__ import annotations

import numpy as np

from tests.distributions.cases import CASES, Case

UNIT = np.array([0.2, 0.6])
FAMILIES: dict[str, list[Case]] = {
    "Bernoulli": [
        Case("Bernoulli", {"probs": np.array([0.3, 0.0])}, None),
        Case("Bernoulli", {"probs": np.array([0.6, 0.4])}, None),
        Case("Bernoulli", {"probs": np.array([0.0, 1.0])}, None),
    ],
    "Binomial": [
        Case("Binomial", {"total_count": 5, "probs": np.array([0.3, 0.9])}, None),
        Case("Binomial", {"total_count": 5, "probs": np.array([0.6, 0.4])}, None),
        Case("Binomial", {"total_count": 3, "probs": np.array([0.6, 0.4])}, None),
    ],
    "Poisson": [Case("Poisson", {"rate": np.array([0.3, 4.0])}, None)],
    "Geometric": [
        Case("Geometric", {"probs": UNIT}, None),
        Case("Geometric", {"probs": UNIT[::-1]}, None),
    ],
    "Categorical": [
        Case("Categorical", {"probs": np.array([0.2, 0.3, 0.5])}, None),
        Case("Categorical", {"probs": np.array([0.0, 0.5, 0.5])}, None),
    ],
    "OneHotCategorical": [
        Case("OneHotCategorical", {"probs": np.array([0.2, 0.3, 0.5])}, None),
        Case("OneHotCategorical", {"logits": np.array([0.0, 0.5, 2.5])}, None),
    ],
    "ContinuousBernoulli": [
        Case("ContinuousBernoulli", {"probs": np.array([0.2, 0.7])}, None),
        Case("ContinuousBernoulli", {"logits": np.array([0.4, -2.0])}, None),
    ],
    "Beta": [
        Case("Beta", {"concentration1": np.array([0.7, 2.0]), "concentration0": np.array([3.0, 1.2])}, None),
        Case("Beta", {"concentration1": np.array([2.7, 0.5]), "concentration0": np.array([1.0, 4.2])}, None),
    ],
    "Dirichlet": [
        Case("Dirichlet", {"concentration": np.array([0.7, 2.0, 3.0])}, None),
        Case("Dirichlet", {"concentration": np.array([[1.7, 2.0, 0.3], [1.0, 1.0, 4.0]])}, None),
    ],
    "Exponential": [Case("Exponential", {"rate": np.array([0.7, 2.0])}, None)],
    "Gamma": [
        Case("Gamma", {"concentration": np.array([0.7, 2.0]), "rate": np.array([3.0, 1.2])}, None),
        Case("Chi2", {"df": np.array([0.7, 2.0])}, None),
    ],
    "Gumbel": [
        Case("Gumbel", {"loc": np.array([0.7, -2.0]), "scale": np.array([3.0, 1.2])}, None),
        Case("Gumbel", {"loc": np.array([-0.2, 0.5]), "scale": np.array([0.8, 2.1])}, None),
    ],
    "HalfNormal": [
        Case("HalfNormal", {"scale": np.array([3.0, 1.2])}, None),
        Case("HalfNormal", {"scale": np.array([0.4, 2.2])}, None),
    ],
    "Laplace": [
        Case("Laplace", {"loc": np.array([0.7, -2.0]), "scale": np.array([3.0, 1.2])}, None),
        Case("Laplace", {"loc": np.array([-0.2, 0.5]), "scale": np.array([0.8, 2.1])}, None),
    ],
    "Normal": [
        Case("Normal", {"loc": np.array([0.7, -2.0]), "scale": np.array([3.0, 1.2])}, None),
        Case("Normal", {"loc": np.array([-0.2, 0.5]), "scale": np.array([0.8, 2.1])}, None),
    ],
    "Pareto": [
        Case("Pareto", {"scale": np.array([0.7, 2.0]), "alpha": np.array([3.0, 4.2])}, None),
        Case("Pareto", {"scale": np.array([0.9, 1.0]), "alpha": np.array([2.5, 0.8])}, None),
    ],
    "Uniform": [
        Case("Uniform", {"low": np.array([0.1, 0.3]), "high": np.array([0.9, 0.4])}, None),
        Case("Uniform", {"low": np.array([-1.0, 0.2]), "high": np.array([2.0, 3.0])}, None),
        Case("Uniform", {"low": np.array([1.5, 2.2]), "high": np.array([2.0, 3.0])}, None),
    ],
    "Cauchy": [
        Case("Cauchy", {"loc": np.array([0.7, -2.0]), "scale": np.array([3.0, 1.2])}, None),
        Case("Cauchy", {"loc": np.array([-0.2, 0.5]), "scale": np.array([0.8, 2.1])}, None),
    ],
    "MultivariateNormal": [one for one in CASES if one.name == "MultivariateNormal"],
    "LowRankMultivariateNormal": [
        *(one for one in CASES if one.name == "LowRankMultivariateNormal"),
        Case(
            "LowRankMultivariateNormal",
            {"loc": np.zeros(2), "cov_factor": np.array([[0.5], [1.0]]), "cov_diag": np.array([0.3, 2.0])},
            None,
        ),
    ],
    "ExponentialFamily": [
        Case("Wishart", {"df": np.array(4.5), "covariance_matrix": np.array([[2.0, 0.3], [0.3, 1.0]])}, None),
        Case("Wishart", {"df": np.array(3.1), "scale_tril": np.array([[1.2, 0.0], [-0.5, 0.8]])}, None),
    ],
    "TransformedDistribution": [
        Case("LogNormal", {"loc": np.array([0.7, -2.0]), "scale": np.array([3.0, 1.2])}, None),
        Case("LogNormal", {"loc": np.array([-0.2, 0.5]), "scale": np.array([0.8, 2.1])}, None),
    ],
    "Independent": [one for one in CASES if one.name == "Independent"],
}
