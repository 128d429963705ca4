"""Feature permutation: what the outputs lose when a feature is dealt anew among the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer, PerturbationAttribution
from workbench.attribution.perturbation.ablation import answer_of, one_a_number, shared_masks
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.features import Features, features_of
from workbench.attribution.perturbation.trials import Trials
from workbench.base.errors import DimensionError
from workbench.base.random import default_generator
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["FeaturePermutation", "permute_feature"]

Array = np.ndarray[Any, Any]


def permute_feature(x: Tensor, feature_mask: Tensor) -> Tensor:
    """Return `x` [N, …] with the values under a mask, bool [1 or N, …], dealt anew among the samples.

    At least one sample gets another's values. Draws from the default generator.

    Raises:
        DimensionError: there is one sample only.
    """
    count = x.shape[0]
    if count < 2:
        raise DimensionError(
            "one sample has nobody to exchange values with: features are permuted among samples; give several",
            op="permute_feature",
        )
    order = np.arange(count)
    while (order == np.arange(count)).all():
        order = default_generator.numpy.permutation(count)
    mask = feature_mask.detach().numpy(force=True)
    found: Tensor = new(np.where(mask, x.payload[order], x.payload), x._names)
    return found


class FeaturePermutation(PerturbationAttribution):
    r"""What each output loses when a feature's values are permuted among the samples of the batch.

    .. math:: A_{n,i} = F(x)_n - F(x_{i \leftarrow \pi(x_i)})_n

    `perm_func` makes of an input [N, …] and a mask, bool [1 or N, …], the input with the values under the
    mask permuted; it is called once a feature for each input that has some of it.

    Source: Breiman: Random Forests (2001); Fisher, Rudin, Dominici: All Models are Wrong, but Many are Useful (2019).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 5.0], [2.0, 5.0]])
    >>> FeaturePermutation(lambda x: x.sum(1)).attribute(x).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    name = "Feature permutation"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        perm_func: Callable[[Tensor, Tensor], Tensor] = permute_feature,
    ) -> None:
        super().__init__(forward_func)
        self.perm_func = perm_func

    def attribute(
        self,
        inputs: Any,
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
        """Return for each value of the inputs what its feature contributes; arguments are `FeatureAblation`'s.

        Raises:
            DimensionError: there is one sample only, or what `perm_func` returns has another shape.
        """
        question = ask_any(type(self).__name__, inputs, None, target, additional_forward_args)
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
        if question.samples < 2:
            raise DimensionError(
                "there is one sample, and features are permuted among samples: give several, or use FeatureAblation",
                op=question.method,
            )
        features = features_of(question, feature_mask, enable_cross_tensor_attribution)
        trials = Trials(
            self.forward, self.evaluation(question, memory, None, show_progress), perturbations_per_eval
        )
        if not trials.by_row:
            shared_masks(features)
        before = trials.at_inputs()
        after = trials.outputs(features.count, _Permuted(features, self.perm_func).rows)
        lost = np.moveaxis(before - after, 0, -1)
        return answer_of(trials, one_a_number(question, features.spread(lost)))


class _Permuted:
    """The inputs with one feature permuted, made once a feature, from which rows are taken as batches fall."""

    def __init__(self, features: Features, perm_func: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.features, self.perm_func = features, perm_func
        self.number = -1
        self.current: list[Array] = []

    def rows(self, numbers: Array, samples: Array) -> list[Array]:
        """Return rows of features `numbers` permuted, of `samples`."""
        parts = []
        for number in range(int(numbers[0]), int(numbers[-1]) + 1):
            whole = self._of(number)
            parts.append([one[samples[numbers == number]] for one in whole])
        return [np.concatenate(one) if len(one) > 1 else one[0] for one in zip(*parts, strict=True)]

    def _of(self, number: int) -> list[Array]:
        if number != self.number:
            question = self.features.question
            pairs = zip(self.features.masks, question.inputs, strict=True)
            self.current = [self._permuted(mask == number, value) for mask, value in pairs]
            self.number = number
        return self.current

    def _permuted(self, mask: Array, value: Tensor) -> Array:
        if not mask.any():
            return np.asarray(value.payload)
        found: Any = self.perm_func(value, new(mask))
        if not isinstance(found, Tensor) or found.shape != value.shape:
            shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise DimensionError(
                f"perm_func made {shape} of an input of shape {list(value.shape)}: it returns a tensor of that shape",
                op=self.features.question.method,
            )
        return np.asarray(found.detach().numpy(force=True))
