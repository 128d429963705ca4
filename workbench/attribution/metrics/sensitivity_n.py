"""Sensitivity-n: do attributions of n features together say what taking them away does?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.arguments import ask
from workbench.attribution.base import check_finite
from workbench.attribution.checks import check_count
from workbench.attribution.metrics.features import Features, features
from workbench.attribution.metrics.scoring import Scorer, per_sample
from workbench.base.random import Generator, default_generator
from workbench.tensor import Tensor

__all__ = ["sensitivity_n"]

Array = np.ndarray[Any, Any]
NAME = "sensitivity_n"


def sensitivity_n(
    forward_func: Callable[..., Any],
    inputs: Any,
    attributions: Any,
    n: int,
    target: Any = None,
    baselines: Any = None,
    additional_forward_args: Any = None,
    *,
    n_subsets: int = 100,
    over: Any = None,
    score: str | None = "output",
    generator: Generator | None = None,
    memory: int | str | None = None,
    show_progress: bool = False,
) -> Tensor:
    """Return how attributions of `n` features together go along with the output's change without them, float64 [N].

    The correlation of ``Σ_{i ∈ S} a_i`` with ``F(x) − F(x without S)`` over `n_subsets` random sets S of n features,
    replaced by `baselines`; 1 is best. NaN where one of the two does not change, as for ``n`` equal to the number of
    features. `over` and `score` are as in `deletion_curve`.

    Raises as `deletion_curve` does; ValueError for an `n` that is not 1 to the number of features, or fewer than 2
    subsets.

    Source: Ancona, Ceolini, Öztireli, Gross: Towards better understanding of gradient-based attribution methods (2018).

    >>> import workbench as wb
    >>> weights = wb.tensor([[3.0, 1.0, -2.0]])
    >>> round(sensitivity_n(lambda x: x @ weights.T, wb.ones(1, 3), weights, 1).item(), 6)
    1.0
    """
    question = ask(NAME, inputs, baselines, target, additional_forward_args, any_type=True)
    check_finite(question)
    n = check_count(NAME, "n", n)
    n_subsets = check_count(NAME, "n_subsets", n_subsets, 2)
    found = features(question, attributions, over)
    if n > found.count:
        raise ValueError(f"{NAME}: sets of n={n} features are asked for, and a sample has {found.count}")
    scorer = Scorer(forward_func, question, score, memory, show_progress)
    seed = (default_generator if generator is None else generator).numpy.integers(2**62)
    sums = np.empty((question.samples, n_subsets))
    changes = scorer.at_inputs()[:, None] - _without(scorer, found, n, sums, int(seed))
    return per_sample(question, _correlation(sums, changes))


def _without(scorer: Scorer, found: Features, n: int, sums: Array, seed: int) -> Array:
    """Return [N, subsets]: the scores without random sets of `n` features, and write the sums of their attributions."""
    question = scorer.question
    baselines = question.full_baselines()

    def make(start: int, stop: int) -> tuple[list[Array], Array]:
        rows, subsets = np.divmod(np.arange(start, stop), sums.shape[1])
        # A set is drawn from its own stream, so that it does not depend on the batches.
        draws = [Generator(seed + int(one)).numpy.permutation(found.count) for one in range(start, stop)]
        chosen = np.stack(draws) < n
        sums[rows, subsets] = np.where(chosen, found.attributions[rows], 0).sum(axis=1)
        values = [
            np.where(mask, baseline[rows], value.payload[rows])
            for mask, value, baseline in zip(
                found.spread(chosen, rows), question.inputs, baselines, strict=True
            )
        ]
        return values, rows

    return scorer.scores(sums.size, make).reshape(sums.shape)


def _correlation(a: Array, b: Array) -> Array:
    """Return the correlation of each row of `a` with that of `b`; NaN where one of them stays as it is."""
    centred = [one - one.mean(axis=1, keepdims=True) for one in (a, b)]
    # What differs by rounding alone stays as it is.
    still = [
        np.abs(one).max(axis=1) <= 1e-12 * np.abs(whole).max(axis=1)
        for one, whole in zip(centred, (a, b), strict=True)
    ]
    product = np.linalg.norm(centred[0], axis=1) * np.linalg.norm(centred[1], axis=1)
    none = still[0] | still[1]
    return np.where(none, np.nan, (centred[0] * centred[1]).sum(axis=1) / np.where(none, 1, product))
