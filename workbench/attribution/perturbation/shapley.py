"""Shapley values: what a feature adds to the output on average over all orders of the features."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer, PerturbationAttribution
from workbench.attribution.perturbation.ablation import answer_of, shared_masks
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.features import Features, features_of
from workbench.attribution.perturbation.trials import Trials, check_count
from workbench.base.random import default_generator

__all__ = ["ShapleyValueSampling", "ShapleyValues"]

Array = np.ndarray[Any, Any]

MANY_FEATURES = 16
"""From so many features on exact values are warned of: 65,536 evaluations."""

MOST_FEATURES = 24
"""More than so many features are refused: 16.8 million evaluations."""


class _Shapley(PerturbationAttribution):
    """What both ways share: attributions by coalitions of features, the others being at their baselines."""

    def _prepared(
        self,
        question: Question,
        feature_mask: Any,
        perturbations_per_eval: int,
        show_progress: bool,
        memory: Any,
    ) -> tuple[Features, Trials]:
        features = features_of(question, feature_mask)
        evaluation = self.evaluation(question, memory, None, show_progress)
        trials = Trials(self.forward, evaluation, perturbations_per_eval)
        if not trials.by_row:
            shared_masks(features)
        return features, trials


def _answer(features: Features, trials: Trials, values: Array) -> Answer:
    """Return Shapley values of features [features, *output shape] as attributions [*output shape, *sizes]."""
    moved = np.moveaxis(values, 0, -1)
    # One output of a batch has a dim for the samples, too, of size 1.
    if not trials.output_shape:
        moved = moved[None]
    kind = np.float64 if trials.dtype == np.float64 else np.float32
    return answer_of(trials, [one.astype(kind) for one in features.spread(moved)])


class ShapleyValueSampling(_Shapley):
    r"""Shapley values, from orders of the features that are drawn at random.

    .. math:: A_i = \frac{1}{S} \sum_{\pi} F(x_{\{j : \pi_j \le \pi_i\}}) - F(x_{\{j : \pi_j < \pi_i\}})

    where :math:`x_T` has the inputs' values in the features of T and baselines in the others. They add up to the
    output's change exactly, whatever the number of orders.

    Source: Castro, Gómez, Tejada: Polynomial calculation of the Shapley value based on sampling (2009).

    >>> import workbench as wb
    >>> x = wb.tensor([[2.0, 3.0, 5.0]])
    >>> ShapleyValueSampling(lambda x: x[:, 0] + 2 * x[:, 1]).attribute(x).tolist()
    [[2.0, 6.0, 0.0]]
    """

    name = "Shapley value sampling"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        n_samples: int = 25,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, float32 or float64, from `n_samples` orders drawn from the default generator.

        Masks, targets and further arguments are `FeatureAblation`'s. Of a model with several numbers a sample and
        no target the result is [N, …, *sizes]: the output's dims, then the input's.

        Raises as `FeatureAblation.attribute` does; ValueError: `n_samples` is below 1.
        """
        question = ask_any(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            feature_mask=feature_mask,
            n_samples=n_samples,
            perturbations_per_eval=perturbations_per_eval,
            show_progress=show_progress,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        feature_mask: Any = None,
        n_samples: int = 25,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        check_count(question.method, "n_samples", n_samples)
        features, trials = self._prepared(
            question, feature_mask, perturbations_per_eval, show_progress, memory
        )
        count = features.count
        orders = self._orders(count, n_samples)
        # Where each feature stands in each order.
        ranks = np.argsort(orders, axis=1)
        empty, full = trials.at_baselines(), trials.at_inputs()
        # The last of an order is the input itself, which is known.
        steps = count - 1

        def rows(numbers: Array, samples: Array) -> list[Array]:
            which, last = np.divmod(numbers, steps)
            return features.kept(ranks[which] <= last[:, None], samples)

        between = trials.outputs(n_samples * steps, rows) if steps else np.zeros((0, *empty.shape))
        between = between.reshape(n_samples, steps, *empty.shape)
        total, done = np.zeros((count, *empty.shape)), 0
        for order, values in zip(orders, between, strict=True):
            if np.isnan(values).any():  # not reached: whole orders only, so that sums stay exact
                break
            path = np.concatenate([empty[None], values, full[None]]).astype(np.float64)
            total[order] += np.diff(path, axis=0)
            done += 1
        return _answer(features, trials, total / done if done else np.full_like(total, np.nan))

    def _orders(self, count: int, n_samples: int) -> Array:
        """Return orders of the features, int64 [n_samples, count]."""
        return default_generator.numpy.permuted(np.tile(np.arange(count), (n_samples, 1)), axis=1)  # type: ignore[no-any-return]


class ShapleyValues(_Shapley):
    r"""Exact Shapley values, from all sets of features.

    .. math:: A_i = \sum_{T \not\ni i} \frac{|T|! \, (n - |T| - 1)!}{n!} \left(F(x_{T \cup i}) - F(x_T)\right)

    which is the mean over all :math:`n!` orders, for :math:`2^n` evaluations.

    Source: Shapley: A Value for n-Person Games (1953).

    >>> import workbench as wb
    >>> x = wb.tensor([[2.0, 3.0, 5.0]])
    >>> ShapleyValues(lambda x: x[:, 0] * x[:, 1]).attribute(x).tolist()
    [[3.0, 3.0, 0.0]]
    """

    name = "Shapley values"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, float32 or float64; arguments are `ShapleyValueSampling`'s.

        Warns from 16 features on: each one more doubles the work.

        Raises as `FeatureAblation.attribute` does; ValueError: there are more than 24 features.
        """
        question = ask_any(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            feature_mask=feature_mask,
            perturbations_per_eval=perturbations_per_eval,
            show_progress=show_progress,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        feature_mask: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        features, trials = self._prepared(
            question, feature_mask, perturbations_per_eval, show_progress, memory
        )
        count = features.count
        _check_features(question.method, count)
        ends = trials.at_baselines(), trials.at_inputs()
        bits = np.arange(count)

        def rows(numbers: Array, samples: Array) -> list[Array]:
            # The bits of a set's number say which features are in it; 0 is the baseline, known as the last is.
            return features.kept((numbers[:, None] + 1) >> bits & 1 == 1, samples)

        inner = 2**count - 2
        between = trials.outputs(inner, rows) if inner else np.zeros((0, *ends[0].shape))
        values = np.concatenate([ends[0][None], between, ends[1][None]]).astype(np.float64)
        return _answer(features, trials, _exact(values, count))


def _exact(values: Array, count: int) -> Array:
    """Return the Shapley values [count, …] of a game, given its values [2**count, …] by the bits of each set."""
    sizes = np.array([bin(number).count("1") for number in range(2 ** (count - 1))])
    factorials = [math.factorial(one) for one in range(count + 1)]
    by_size = [factorials[size] * factorials[count - size - 1] / factorials[count] for size in range(count)]
    weights = np.array(by_size)[sizes]
    found = []
    for bit in range(count):
        # Sets without the bit and with it, in the order of their other bits.
        pairs = values.reshape(-1, 2, 2**bit, *values.shape[1:])
        without, within = (pairs[:, one].reshape(-1, *values.shape[1:]) for one in (0, 1))
        found.append(np.tensordot(weights, within - without, 1))
    return np.stack(found)


def _check_features(method: str, count: int) -> None:
    if count > MOST_FEATURES:
        raise ValueError(
            f"{method}: {count} features have 2**{count} sets, and each would be evaluated; group them with a "
            f"feature_mask to at most {MOST_FEATURES}, or use ShapleyValueSampling or KernelShap"
        )
    if count >= MANY_FEATURES:
        warnings.warn(
            f"{method}: {count} features take {2**count:,} evaluations a sample; ShapleyValueSampling and KernelShap "
            "take as many as they are given",
            stacklevel=5,
        )
