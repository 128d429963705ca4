"""Feature ablation: what the output loses with each feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer, PerturbationAttribution
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.features import Features, features_of
from workbench.attribution.perturbation.trials import Trials
from workbench.base.errors import DimensionError

__all__ = ["FeatureAblation", "answer_of", "one_a_number", "shared_masks"]

Array = np.ndarray[Any, Any]


class FeatureAblation(PerturbationAttribution):
    r"""What the output loses when a feature is replaced by its baseline.

    .. math:: A_i = F(x) - F(x_{i \leftarrow b})

    Sources: Zeiler, Fergus: Visualizing and Understanding Convolutional Networks (2014); Captum's description.

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 2.0, 3.0]], names=("N", "features"))
    >>> model = lambda x: x.prod(1)
    >>> FeatureAblation(model).attribute(x, baselines=1.0).tolist()
    [[0.0, 3.0, 4.0]]
    >>> FeatureAblation(model).attribute(x, feature_mask=wb.tensor([[0, 1, 1]])).tolist()
    [[6.0, 6.0, 6.0]]
    """

    name = "Feature ablation"
    use_weights = False
    """Kept for programs that set it: here no value is in two features, so that there is nothing to weigh."""

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
        enable_cross_tensor_attribution: bool = True,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return for each value of the inputs what its feature contributes, of the inputs' shape and names.

        `feature_mask` numbers the features: one mask an input, whole numbers [1 or N, …] that broadcast to the input;
        without it each value is a feature. The same number in the masks of two inputs is one feature, unless
        `enable_cross_tensor_attribution` is False. Inputs may be whole numbers.

        Without a target, of a model with several numbers a sample, each of them is explained:
        the result is [numbers, …] with as many rows as the output has numbers. A model with one output of the whole
        batch is asked once a feature, and gives one row.

        As many perturbations go through the model at once as `memory` allows; `perturbations_per_eval` from 2 says
        how many at most.

        Raises as `features_of` and `Trials` do, and as all methods do for inputs, baselines and targets.
        """
        question = ask_any(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            feature_mask=feature_mask,
            perturbations_per_eval=perturbations_per_eval,
            enable_cross_tensor_attribution=enable_cross_tensor_attribution,
            show_progress=show_progress,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        feature_mask: Any = None,
        perturbations_per_eval: int = 1,
        enable_cross_tensor_attribution: bool = True,
        show_progress: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        features = features_of(question, feature_mask, enable_cross_tensor_attribution)
        evaluation = self.evaluation(question, memory, None, show_progress)
        trials = Trials(self.forward, evaluation, perturbations_per_eval)
        if not trials.by_row:
            shared_masks(features)
        before = trials.at_inputs()
        after = trials.outputs(features.count, features.without)
        lost = np.moveaxis(before - after, 0, -1)
        return answer_of(trials, one_a_number(question, features.spread(lost)))


def one_a_number(question: Question, attributions: list[Array]) -> list[Array]:
    """Return attributions [*output shape, *sizes] with one row for each number of the output."""
    pairs = zip(attributions, question.inputs, strict=True)
    return [found.reshape(-1, *value.shape[1:]) for found, value in pairs]


def shared_masks(features: Features) -> None:
    """Raise where samples have features of their own, for a model that makes one output of all samples."""
    if any(len(mask) > 1 for mask in features.masks):
        raise DimensionError(
            "the model makes one output of the whole batch: the samples cannot have different feature masks; give one "
            "of shape [1, …]",
            op=features.question.method,
        )


def answer_of(trials: Trials, attributions: list[Array]) -> Answer:
    """Return attributions [outputs, …, *sizes] as an answer whose dims are named as those of the inputs."""
    question = trials.question
    state = trials.evaluation.state()
    if all(found.ndim == value.ndim for found, value in zip(attributions, question.inputs, strict=True)):
        return Answer(attributions, **state)
    # The output's own dims stand between, and have no names.
    names = [
        (value.names[0], *(None,) * (found.ndim - value.ndim), *value.names[1:])
        for found, value in zip(attributions, question.inputs, strict=True)
    ]
    return Answer(attributions, names=tuple(names), **state)
