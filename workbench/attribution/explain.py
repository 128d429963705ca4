"""`explain`: ask a model why, and show the answer."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import Attribution, warn_of
from workbench.attribution.deep_lift import DeepLift, DeepLiftShap
from workbench.attribution.evaluation import Evaluation, run_rows
from workbench.attribution.gradient_shap import GradientShap
from workbench.attribution.input_x_gradient import InputXGradient
from workbench.attribution.integrated_gradients import IntegratedGradients
from workbench.attribution.modes import evaluating
from workbench.attribution.noise_tunnel import SmoothGrad
from workbench.attribution.perturbation.ablation import FeatureAblation
from workbench.attribution.perturbation.kernel_shap import KernelShap
from workbench.attribution.perturbation.lime import Lime
from workbench.attribution.perturbation.occlusion import Occlusion
from workbench.attribution.perturbation.permutation import FeaturePermutation
from workbench.attribution.perturbation.shapley import ShapleyValues, ShapleyValueSampling
from workbench.attribution.quadrature import METHODS as RULES
from workbench.attribution.result import AttributionResult, check_class_names
from workbench.attribution.saliency import Saliency
from workbench.base import events
from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError
from workbench.core.value import new

__all__ = ["METHODS", "explain"]

METHODS: dict[str, type[Attribution]] = {
    "integrated_gradients": IntegratedGradients,
    "saliency": Saliency,
    "input_x_gradient": InputXGradient,
    "gradient_shap": GradientShap,
    "smooth_grad": SmoothGrad,
    "occlusion": Occlusion,
    "feature_ablation": FeatureAblation,
    "feature_permutation": FeaturePermutation,
    "shapley_values": ShapleyValues,
    "shapley_value_sampling": ShapleyValueSampling,
    "lime": Lime,
    "kernel_shap": KernelShap,
    "deep_lift": DeepLift,
    "deep_lift_shap": DeepLiftShap,
}
"""The methods that `explain` knows by name."""

DEFAULT_RULE = "gausslegendre"
"""How Integrated Gradients integrates unless told otherwise."""


def explain(
    model: Callable[..., Any],
    inputs: Any,
    targets: Any = None,
    method: str | type[Attribution] | None = None,
    *,
    baselines: Any = None,
    additional_forward_args: Any = None,
    class_names: Sequence[Any] | None = None,
    title: str = "",
    publish: bool = True,
    **settings: Any,
) -> AttributionResult:
    """Ask `model` why it answers as it does for `inputs` [N, …], publish the result, and return it.

    Without `targets` the class that the model prefers is explained, for each sample its own; without `method` it
    is explained by Integrated Gradients, whose rules of integration (``riemann_left``, …) are names of methods
    too. `settings` are those of the method, such as ``n_steps``. The result is published to
    the views that show such results, unless `publish` is False.

    Warns with `ConvergenceWarning` where a delta is over its tolerance.

    Raises as `IntegratedGradients.attribute` does; TypeError for a setting that the method does not have, ValueError
    for a method that there is not, or too few or too many class names.

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 2.0]], names=("N", "C"))
    >>> result = explain(lambda x: x * x, x, targets=1, class_names=["cat", "dog"])
    >>> result.attributions.tolist(), result.target_name(0)
    ([[0.0, 4.0]], 'dog')
    """
    asked = {
        "model": model,
        "inputs": inputs,
        "targets": targets,
        "method": method,
        "baselines": baselines,
        "additional_forward_args": additional_forward_args,
        "class_names": class_names,
        "title": title,
        **settings,
    }
    kind = _method(method)
    attribution = kind(model)
    chosen = _settings(kind, settings)
    if method in RULES:
        chosen["method"] = method
    if isinstance(inputs, tuple):
        raise TypeError(
            "explain shows attributions of one tensor; for a tuple of inputs use the method itself, e.g. "
            "IntegratedGradients(model).attribute((a, b))"
        )
    if baselines is not None and "baselines" not in inspect.signature(kind.attribute).parameters:
        raise TypeError(f"{kind.__name__} starts from no baseline; Integrated Gradients does")
        raise TypeError(f"{kind.__name__} starts from no baseline; only Integrated Gradients does")
    question = ask(kind.__name__, inputs, baselines, targets, additional_forward_args)
    start = time.perf_counter()
    # Asked anew, for only now it is known which classes.
    if targets is None:
        targets = _preferred(model, question)
        question = ask(kind.__name__, inputs, baselines, targets, additional_forward_args)
    answer = attribution.answer(question, **chosen)
    warn_of(kind.__name__, answer)
    seconds = time.perf_counter() - start
    # Methods that go back from the output have not kept it.
    scores = answer.scores
    if scores is None:
        scores = _scores(model, question)
    result = AttributionResult(
        method=kind.name,
        settings=_text(chosen, baselines, kind),
        inputs=question.inputs[0],
        attributions=question.named(answer.attributions),
        targets=_targets(question),
        scores=new(scores),
        class_names=check_class_names(class_names, scores),
        delta=None if answer.delta is None else new(answer.delta),
        tolerance=None if answer.tolerance is None else new(answer.tolerance),
        seconds=seconds,
        title=title or _name_of(model),
        code=_code(kind, chosen, baselines is not None),
        asked=asked,
    )
    if publish:
        events.publish(result)
    return result


def _method(method: Any) -> type[Attribution]:
    if method is None:
        return IntegratedGradients
    if isinstance(method, str):
        if method in RULES:
            return IntegratedGradients
        if method not in METHODS:
            near = near_miss(method, (*METHODS, *RULES))
            raise ValueError(
                f"there is no attribution method {method!r}"
                + (f"; did you mean {near!r}?" if near else f"; there are {', '.join(METHODS)}")
            )
        return METHODS[method]
    if isinstance(method, type) and issubclass(method, Attribution):
        return method
    raise TypeError(
        f"method is the name of an attribution method ({', '.join(METHODS)}) or its class, got "
        f"{type(method).__name__}"
    )


def _settings(kind: type[Attribution], given: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a method: those given, and what the others are without."""
    # From the signature, so that a method's settings are written down once.
    known = {
        name: one.default
        for name, one in inspect.signature(kind._compute).parameters.items()
        if one.default is not inspect.Parameter.empty
    }
    unknown = [name for name in given if name not in known]
    if unknown:
        has = ", ".join(known) if known else "none"
        raise TypeError(f"{kind.__name__} has no setting {unknown[0]!r}; its settings are: {has}")
    return {**known, **given}


def _preferred(model: Callable[..., Any], question: Question) -> Any:
    """Return the class that the model prefers for each sample; None where it gives one number only."""
    scores = _scores(model, question)
    # One number a sample needs no target.
    if scores[0].size == 1:
        return None
    if scores.ndim != 2:
        raise DimensionError(
            f"the model returns {list(scores.shape)}, which is no list of classes a sample; say which number is to be "
            f"explained: targets={(0,) * (scores.ndim - 1)}",
            op=question.method,
        )
    return [int(one) for one in scores.argmax(axis=1)]


def _scores(model: Callable[..., Any], question: Question) -> Any:
    """Return the model's whole output for the inputs."""
    evaluation = Evaluation(question, model)

    def run(values: Any, rows: Any) -> list[Any]:
        return [run_rows(model, question, values, rows).numpy(force=True)]

    with evaluating(model):
        return evaluation.gather(evaluation.stream(question.samples, question.part, run, "outputs"))[0]


def _targets(question: Question) -> tuple[tuple[int, ...], ...]:
    if question.target is None:
        return ((),) * question.samples
    return tuple(tuple(int(one) for one in row) for row in question.target)


def _text(chosen: dict[str, Any], baselines: Any, kind: type[Attribution]) -> dict[str, str]:
    """Return the settings that matter to a reader, as text."""
    text = {name: str(value) for name, value in _telling(chosen).items()}
    if kind is IntegratedGradients:
        text["baseline"] = (
            "zeros"
            if baselines is None
            else f"{baselines:g}"
            if isinstance(baselines, int | float)
            else "tensor"
        )
    return text


def _telling(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that say something: not those that are off, of how a run goes on."""
    return {
        name: value
        for name, value in chosen.items()
        if value is not None and not (name == "show_progress" and not value)
    }


def _name_of(model: Any) -> str:
    return str(getattr(model, "__name__", type(model).__name__))


def _code(kind: type[Attribution], chosen: dict[str, Any], baselines: bool) -> str:
    name = next((key for key, value in METHODS.items() if value is kind), None)
    if name is None:
        return ""
    chosen = dict(chosen)
    rule = chosen.pop("method", DEFAULT_RULE)
    name = name if rule == DEFAULT_RULE else rule
    settings = "".join(f", {key}={value!r}" for key, value in _telling(chosen).items())
    settings += ", baselines=baselines" if baselines else ""
    return f"wb.attribution.explain(model, inputs, targets, method={name!r}{settings})"
