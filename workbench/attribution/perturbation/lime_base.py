"""LIME in general: a small model that agrees with the large one near an input, by functions that the caller gives."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.base import Answer, PerturbationAttribution
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.linear_models import LinearModel
from workbench.attribution.perturbation.trials import check_count
from workbench.attribution.target import select
from workbench.base.errors import DimensionError
from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["LimeBase", "fitted"]

Array = np.ndarray[Any, Any]


def fitted(model: Any, features: Array, outputs: Array, weights: Array) -> Array:
    """Fit an interpretable model to samples [samples, features], and return its coefficients, [features]."""
    if isinstance(model, LinearModel):
        model.fit_arrays(features, outputs, weights)
        return model.coefficients
    batch = tuple(new(np.asarray(one, np.float32)) for one in (features, outputs, weights))
    model.fit([batch])
    found = model.representation()
    return np.asarray(found.detach().numpy(force=True) if isinstance(found, Tensor) else found).reshape(-1)


class LimeBase(PerturbationAttribution):
    r"""The coefficients of a small model that agrees with the large one on perturbed inputs near the one explained.

    .. math:: \min_g \sum_z \pi(x, z) \left(F(z) - g(z')\right)^2 + \Omega(g)

    Samples :math:`z` are made by `perturb_func` ``(original, **kwargs)``, a function or a generator. If
    `perturb_interpretable_space`, it makes features :math:`z'` [1, features], and `from_interp_rep_transform`
    ``(z', original, **kwargs)`` makes the model's input of them; otherwise it makes the input, and
    `to_interp_rep_transform` ``(z, original, **kwargs)`` the features. `similarity_func` ``(original, z, z',
    **kwargs)`` is the weight :math:`\pi`, and `interpretable_model` the small one, with ``fit(batches)`` and
    ``representation()`` (`LinearModel`). ``original`` is the input as it was given.

    Source: Ribeiro, Singh, Guestrin: "Why Should I Trust You?" (2016).

    Raises:
        TypeError: a function that is needed is missing.
    """

    name = "LIME"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        interpretable_model: Any,
        similarity_func: Callable[..., Any],
        perturb_func: Callable[..., Any],
        perturb_interpretable_space: bool,
        from_interp_rep_transform: Callable[..., Any] | None,
        to_interp_rep_transform: Callable[..., Any] | None,
    ) -> None:
        super().__init__(forward_func)
        for word in ("fit", "representation"):
            if not callable(getattr(interpretable_model, word, None)):
                raise TypeError(
                    f"{type(self).__name__}: the interpretable model has fit(batches) and representation(), such as "
                    f"Lasso(alpha=0.01); {type(interpretable_model).__name__} has no {word}"
                )
        name = "from_interp_rep_transform" if perturb_interpretable_space else "to_interp_rep_transform"
        transform = from_interp_rep_transform if perturb_interpretable_space else to_interp_rep_transform
        if transform is None:
            raise TypeError(
                f"{type(self).__name__}: perturb_interpretable_space={perturb_interpretable_space} needs {name}, which "
                f"makes {'an input of features' if perturb_interpretable_space else 'features of an input'}"
            )
        self.interpretable_model = interpretable_model
        self.similarity_func = similarity_func
        self.perturb_func = perturb_func
        self.perturb_interpretable_space = perturb_interpretable_space
        self.from_interp_rep_transform = from_interp_rep_transform
        self.to_interp_rep_transform = to_interp_rep_transform
        self._transform = transform

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        n_samples: int = 50,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        *,
        memory: int | str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the coefficients of the interpretable model, float32 [1, features].

        `inputs` are one sample, or a batch of which the model makes one number. `kwargs` go to the functions.
        With `perturbations_per_eval` above 1 so many perturbed inputs, of equal shapes, go through the model together.

        Raises:
            DimensionError: the model does not return one number for each perturbed input.
            ValueError: `n_samples` or `perturbations_per_eval` is below 1, or what is fitted is NaN or infinite.
        """
        question = ask_any(type(self).__name__, inputs, None, target, additional_forward_args)
        answer = self.answer(
            question,
            n_samples=n_samples,
            perturbations_per_eval=perturbations_per_eval,
            show_progress=show_progress,
            memory=memory,
            options=kwargs,
        )
        return self.respond(question, answer)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        n_samples: int = 50,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        memory: int | str | None = None,
        options: dict[str, Any] | None = None,
    ) -> Answer:
        check_count(question.method, "perturbations_per_eval", perturbations_per_eval)
        evaluation = self.evaluation(question, memory, perturbations_per_eval, show_progress)
        found = self._coefficients(evaluation, n_samples, options or {})
        return Answer([found.astype(np.float32)[None]], names=((None, None),), **evaluation.state())

    def _coefficients(self, evaluation: Evaluation, n_samples: int, options: dict[str, Any]) -> Array:
        """Return the coefficients for the question's inputs taken as one."""
        method = evaluation.question.method
        check_count(method, "n_samples", n_samples)
        drawn = _Drawn(self, evaluation.question, n_samples, options)
        outputs = []
        for batch in evaluation.stream(n_samples, drawn.rows, drawn.run):
            outputs.append(batch.result)
            if drawn.ended:
                break
        count = sum(map(len, outputs))
        if drawn.ended and count < n_samples:
            warnings.warn(f"{method}: perturb_func ended after {count} of {n_samples} samples", stacklevel=6)
        features = np.concatenate(drawn.features[:count]).astype(np.float32)
        weights = np.array(drawn.weights[:count], np.float32)
        return fitted(self.interpretable_model, features, np.concatenate(outputs), weights)


class _Drawn:
    """Samples as the caller's functions make them, one after the other."""

    def __init__(self, lime: LimeBase, question: Question, count: int, options: dict[str, Any]) -> None:
        self.lime, self.question, self.count, self.options = lime, question, count, options
        self.original: Any = question.inputs[0] if question.single else question.inputs
        self.features: list[Array] = []
        self.weights: list[float] = []
        self.ended = False
        self._inputs: dict[int, tuple[Tensor, ...]] = {}
        self._made: Iterator[Any] | None = None
        if inspect.isgeneratorfunction(lime.perturb_func):
            self._made = lime.perturb_func(self.original, **options)

    def rows(self, start: int, stop: int) -> tuple[Any, Array]:
        """Return the model's inputs of samples `start` to `stop`, fewer where a generator ends."""
        for number in [one for one in self._inputs if one < start]:
            del self._inputs[number]
        # One ahead, so that the end of a generator is known before there is nothing to run.
        while len(self.features) < min(stop + 1, self.count) and not self.ended:
            self._draw()
        parts = [self._inputs[number] for number in range(start, min(stop, len(self.features)))]
        if not parts:
            raise ValueError(f"{self.question.method}: perturb_func made no sample to begin with")
        return parts, np.tile(np.arange(self.question.samples), len(parts))

    def run(self, parts: Sequence[Any], rows: Array) -> Array:
        """Return one number for each of the samples, float64."""
        question = self.question
        joined = [_joined(question.method, one) for one in zip(*parts, strict=True)]
        with no_grad():
            output = self.lime.forward(*joined, *question.arguments(rows))
        found = np.asarray(output.numpy(force=True) if isinstance(output, Tensor) else output)
        target = question.target
        if target is not None and isinstance(output, Tensor):
            # Of rows of their own only as many as went in; what a batch gives has the first sample's target.
            whole = rows if len(output) == len(rows) else np.zeros(len(output), np.int64)
            found = found[select(output, target, whole, question.method, gradients=False)]
        if found.size != len(parts):
            raise DimensionError(
                f"{len(parts)} perturbed inputs went into the model and {found.size} numbers came out: it must return "
                "one for each; give a target, or one sample at a time",
                op=question.method,
            )
        return found.reshape(-1).astype(np.float64)

    def _draw(self) -> None:
        lime, options = self.lime, self.options
        try:
            made = next(self._made) if self._made is not None else lime.perturb_func(self.original, **options)
        except StopIteration:
            self.ended = True
            return
        other = lime._transform(made, self.original, **options)
        features, model_input = (made, other) if lime.perturb_interpretable_space else (other, made)
        weight = lime.similarity_func(self.original, model_input, features, **options)
        self._inputs[len(self.features)] = model_input if isinstance(model_input, tuple) else (model_input,)
        self.features.append(np.asarray(features.detach().numpy(force=True)).reshape(1, -1))
        self.weights.append(float(weight.item() if isinstance(weight, Tensor) else weight))


def _joined(method: str, parts: Sequence[Tensor]) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    if any(one.shape[1:] != parts[0].shape[1:] for one in parts):
        raise DimensionError(
            "perturbed inputs of different shapes cannot go through the model together; leave perturbations_per_eval "
            "at 1",
            op=method,
        )
    joined: Tensor = new(np.concatenate([one.detach().numpy(force=True) for one in parts]), parts[0]._names)
    return joined
