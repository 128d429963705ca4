"""LIME with features switched on and off: the weights of a sparse linear model near the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.perturbation.ablation import answer_of, shared_masks
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.features import Features, features_of
from workbench.attribution.perturbation.lime_base import LimeBase, fitted
from workbench.attribution.perturbation.linear_models import Lasso
from workbench.attribution.perturbation.similarity import ExponentialKernel
from workbench.attribution.perturbation.trials import Trials, check_count
from workbench.base.errors import DimensionError
from workbench.base.random import default_generator
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["Lime", "default_from_interp_rep_transform", "default_perturb_func"]

Array = np.ndarray[Any, Any]


def default_perturb_func(original_inp: Any, **kwargs: Any) -> Tensor:
    """Return features drawn evenly, int64 [1, ``num_interp_features``] of 0 and 1, from the default generator."""
    count = _needed(kwargs, "num_interp_features")
    drawn: Tensor = new((default_generator.numpy.random((1, count)) < 0.5).astype(np.int64))
    return drawn


def default_from_interp_rep_transform(curr_sample: Tensor, original_inputs: Any, **kwargs: Any) -> Any:
    """Return the original inputs where `curr_sample` [1, features] has their feature, ``baselines`` elsewhere.

    ``feature_mask`` numbers the features of the inputs from 0.
    """
    masks, baselines = _needed(kwargs, "feature_mask"), _needed(kwargs, "baselines")
    chosen = curr_sample.detach().numpy(force=True)[0] != 0
    single = isinstance(original_inputs, Tensor)
    values, starts, numbers = (
        ((original_inputs,), (baselines,), (masks,)) if single else (original_inputs, baselines, masks)
    )
    found = []
    for value, start, mask in zip(values, starts, numbers, strict=True):
        keep = chosen[mask.numpy(force=True)]
        other = start.numpy(force=True) if isinstance(start, Tensor) else np.asarray(start)
        found.append(new(np.where(keep, value.payload, other.astype(value.payload.dtype)), value._names))
    return found[0] if single else tuple(found)


def _needed(options: dict[str, Any], name: str) -> Any:
    if name not in options:
        raise TypeError(f"the default functions of LIME need {name}=, which Lime and KernelShap give them")
    return options[name]


class Lime(LimeBase):
    r"""The coefficients of a sparse linear model of which features are there, fitted near the input.

    Samples have each feature of the input or its baseline by a fair coin. They weigh by `similarity_func`, an
    `ExponentialKernel` of cosine distance without it; the model is `interpretable_model`, ``Lasso(alpha=0.01)``
    without it. Samples are drawn from the default generator. `LimeBase` says what functions are given.

    Source: Ribeiro, Singh, Guestrin: "Why Should I Trust You?" (2016).

    >>> import workbench as wb
    >>> _ = wb.manual_seed(0)
    >>> x = wb.tensor([[1.0, 2.0]])
    >>> model = lambda x: 3 * x[:, 0] + x[:, 1]
    >>> Lime(model, wb.attribution.LinearRegression()).attribute(x, n_samples=20).tolist()
    [[3.0, 2.0]]
    """

    takes_any_type = True
    name = "LIME"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        interpretable_model: Any = None,
        similarity_func: Callable[..., Any] | None = None,
        perturb_func: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(
            forward_func,
            Lasso(alpha=0.01) if interpretable_model is None else interpretable_model,
            ExponentialKernel() if similarity_func is None else similarity_func,
            default_perturb_func if perturb_func is None else perturb_func,
            True,
            default_from_interp_rep_transform,
            None,
        )

    def attribute(  # type: ignore[override]
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        n_samples: int = 25,
        perturbations_per_eval: int = 1,
        return_input_shape: bool = True,
        show_progress: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return for each value of the inputs the coefficient of its feature, float32, of their shape and names.

        Each sample of a batch has a model of its own, fitted to `n_samples` perturbed inputs; a model of which a
        batch has one number has one for the whole batch, and gives one row. Without `return_input_shape` the
        result is the coefficients, [N or 1, features], in the order of the mask's numbers, 0 for those that it
        leaves out.

        Masks, baselines and further arguments are `FeatureAblation`'s.

        Raises as `FeatureAblation.attribute` does; DimensionError: the model returns several numbers a sample;
        ValueError: `n_samples` is below 1.
        """
        question = ask_any(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            feature_mask=feature_mask,
            n_samples=n_samples,
            perturbations_per_eval=perturbations_per_eval,
            return_input_shape=return_input_shape,
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
        return_input_shape: bool = True,
        show_progress: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        check_count(question.method, "n_samples", n_samples)
        features = features_of(question, feature_mask)
        trials = Trials(
            self.forward, self.evaluation(question, memory, None, show_progress), perturbations_per_eval
        )
        if not trials.by_row:
            shared_masks(features)
        if self._is_drawn_here():
            found = self._of_all(features, trials, n_samples)
        else:
            found = self._one_by_one(features, trials, n_samples, perturbations_per_eval)
        if return_input_shape:
            return answer_of(trials, [one.astype(np.float32) for one in features.spread(found)])
        low = int(features.numbers[0])
        whole = np.zeros((len(found), int(features.numbers[-1]) - low + 1), np.float32)
        whole[:, features.numbers - low] = found
        return Answer([whole], names=((None, None),), **trials.evaluation.state())

    def _is_drawn_here(self) -> bool:
        """Say whether all functions are those of this file, for which all samples are drawn at once."""
        known = self.perturb_func is default_perturb_func and isinstance(
            self.similarity_func, ExponentialKernel
        )
        return known and self._transform is default_from_interp_rep_transform

    def _draw(self, count: int, shape: tuple[int, int]) -> Array:
        """Return which features samples have, bool [*shape, count]."""
        return np.asarray(default_generator.numpy.random((*shape, count)) < 0.5)

    def _weigh(self, chosen: Array, sums: Sums) -> Array:
        """Return the weights of samples [groups, samples]."""
        kernel = self.similarity_func
        assert isinstance(kernel, ExponentialKernel)
        return kernel.of_sums(*sums.by_group())

    def _of_all(self, features: Features, trials: Trials, n_samples: int) -> Array:
        """Return coefficients [groups, features], a group being a sample, or the batch where it has one number."""
        samples = features.question.samples
        groups = samples if trials.by_row else 1
        chosen = self._draw(features.count, (groups, n_samples))
        sums = Sums(features.question, n_samples, trials.by_row)

        def rows(numbers: Array, which: Array) -> list[Array]:
            group = which if trials.by_row else np.zeros_like(which)
            made = features.kept(chosen[group, numbers], which)
            sums.note(made, numbers, which)
            return made

        outputs = trials.outputs(n_samples, rows)
        values = _one_each(features.question.method, outputs, groups).astype(np.float64)
        weights = self._weigh(chosen, sums)
        found = []
        for group in range(groups):
            reached = ~np.isnan(values[:, group])
            found.append(
                fitted(self.interpretable_model, chosen[group][reached].astype(np.float32), values[reached, group],
                       weights[group][reached])
                if reached.any() else np.full(features.count, np.nan)
            )  # fmt: skip
        return np.stack(found)

    def _one_by_one(self, features: Features, trials: Trials, n_samples: int, together: int) -> Array:
        """Return coefficients [groups, features] of samples that the caller's functions make."""
        whole, outer = features.question, trials.evaluation
        found = []
        for group in range(whole.samples if trials.by_row else 1):
            question = _sample(whole, group) if trials.by_row else whole
            masks = [mask[group : group + 1] if len(mask) > 1 else mask for mask in features.masks]
            starts = question.tensors(question.full_baselines())
            shaped = [new(mask.astype(np.int64)) for mask in masks]
            options: dict[str, Any] = {
                "baselines": starts[0] if question.single else tuple(starts),
                "feature_mask": shaped[0] if question.single else tuple(shaped),
                "num_interp_features": features.count,
            }
            evaluation = Evaluation(question, self.forward, outer.memory, together, outer.show_progress)
            self._running.append(evaluation)
            found.append(self._coefficients(evaluation, n_samples, options))
            outer.done, outer.planned = outer.done + evaluation.done, outer.planned + evaluation.planned
            outer.interrupted = outer.interrupted or evaluation.interrupted
        return np.stack(found)


class Sums:
    """The squares of inputs and of perturbed inputs, and their products, noted as rows are made."""

    def __init__(self, question: Question, count: int, by_row: bool) -> None:
        self._question, self._by_row = question, by_row
        self._values = [one.payload.reshape(question.samples, -1) for one in question.inputs]
        # [perturbed squares or products, perturbations, samples]
        self._sums = np.zeros((2, count, question.samples))

    def note(self, rows: list[Array], numbers: Array, samples: Array) -> None:
        """Note what a batch of rows adds."""
        squares, products = np.zeros(len(samples)), np.zeros(len(samples))
        for made, value in zip(rows, self._values, strict=True):
            flat = made.reshape(len(made), -1).astype(np.float64)
            own = value[samples] if len(value) > 1 else np.broadcast_to(value, flat.shape)
            squares += np.einsum("ij,ij->i", flat, flat)
            products += np.einsum("ij,ij->i", flat, own.astype(np.float64))
        self._sums[:, numbers, samples] = squares, products

    def by_group(self) -> tuple[Array, Array, Array]:
        """Return squares of the inputs, squares of the perturbed ones, and products, each [groups, perturbations]."""
        first = sum((one.astype(np.float64) ** 2).sum(axis=1) for one in self._values)
        own = np.broadcast_to(first, self._sums.shape[1:])
        parts = [own, *self._sums]
        if not self._by_row:
            parts = [one.sum(axis=1, keepdims=True) for one in parts]
        return parts[0].T, parts[1].T, parts[2].T


def _one_each(method: str, outputs: Array, groups: int) -> Array:
    """Return the model's values as [perturbations, groups]."""
    if outputs[0].size != groups:
        raise DimensionError(
            f"the model returns {outputs[0].size} numbers for {groups} samples, and a linear model explains one of "
            "each: give a target",
            op=method,
        )
    return outputs.reshape(len(outputs), groups)


def _sample(question: Question, sample: int) -> Question:
    """Return the question about one sample only."""
    pick = slice(sample, sample + 1)
    return Question(
        method=question.method,
        inputs=tuple(one[pick] for one in question.inputs),
        baselines=tuple(one[pick] if len(one) > 1 else one for one in question.baselines),
        target=None if question.target is None else question.target[pick],
        extra=question.arguments(np.array([sample])),
        single=question.single,
    )
