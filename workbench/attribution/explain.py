"""`explain`: ask a model why, and show the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import Attribution, named, warn_of
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.integrated_gradients import IntegratedGradients
from workbench.attribution.layer.base import LayerAttribution
from workbench.attribution.layers import find_layer
from workbench.attribution.method_settings import made_with, parted, settings_of, takes, takes_layer
from workbench.attribution.methods import METHODS, name_of
from workbench.attribution.model_runs import run_rows
from workbench.attribution.modes import evaluating
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.quadrature import METHODS as RULES
from workbench.attribution.result import AttributionResult, check_class_names
from workbench.attribution.wording import said, with_own, written
from workbench.base import events
from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["explain"]

DEFAULT_RULE = "gausslegendre"
"""How Integrated Gradients integrates unless told otherwise."""


def explain(
    model: Callable[..., Any],
    inputs: Any,
    targets: Any = None,
    method: str | type[Attribution] | Attribution | None = None,
    *,
    baselines: Any = None,
    additional_forward_args: Any = None,
    class_names: Sequence[Any] | None = None,
    title: str = "",
    publish: bool = True,
    rule: str | None = None,
    **settings: Any,
) -> AttributionResult:
    """Ask `model` why it answers as it does for `inputs` [N, …], publish the result, and return it.

    Without `targets` the class that the model prefers is explained, for each sample its own; without `method` it
    is explained by Integrated Gradients, whose rules of integration (``riemann_left``, …) are names of methods
    too; a method with another inside, such as a noise tunnel, is given itself. `settings` are those of the method, such
    as ``n_steps``, and ``layer`` for the methods of layers, whose maps of an image are resized to it. The result is
    published to the views that show such results, of a tuple of inputs part by part, unless `publish` is False: then
    nothing is warned of either. `rule` is what some methods call their method: how they integrate.

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
        "rule": rule,
        **settings,
    }
    kind, attribution, made = _asked_for(method, model, settings)
    chosen = _settings(kind, settings if rule is None else {**settings, "method": rule})
    if isinstance(method, str) and method in RULES:
        chosen["method"] = method
    if baselines is not None and not takes(kind, "baselines"):
        raise TypeError(f"{kind.__name__} starts from no baseline; Integrated Gradients does")
    how = {"any_type": kind.takes_any_type, "distribution": kind.draws_baselines}
    question = ask(kind.__name__, inputs, baselines, targets, additional_forward_args, **how)
    start = time.perf_counter()
    # Asked anew, for only now it is known which classes.
    if targets is None:
        targets = _preferred(model, question)
        question = ask(kind.__name__, inputs, baselines, targets, additional_forward_args, **how)
    answered = question
    if issubclass(kind, NeuronAttribution) and not takes(kind, "target"):
        # Not an output is explained but a neuron; which class comes out is told beside it.
        answered = ask(kind.__name__, inputs, baselines, None, additional_forward_args, **how)
    answer = attribution.answer(answered, **chosen)
    if not made.get("multiply_by_inputs", True):
        # Slopes alone are not meant to add up: how far they are from it says nothing.
        answer = replace(answer, delta=None, tolerance=None)
    if publish:
        warn_of(kind, answer)
    attributions = over_inputs(named(question, answer), question)
    seconds = time.perf_counter() - start
    # Methods that go back from the output have not kept it.
    scores = answer.scores if answered is question else None  # a neuron's are no class's
    if scores is None:
        scores = _scores(model, question)
    result = AttributionResult(
        method=kind.get_name(),
        settings=_text({**made, **chosen}, baselines, attribution),
        inputs=question.inputs[0] if question.single else question.inputs,
        attributions=attributions,
        targets=_targets(question, scores),
        scores=new(scores),
        class_names=check_class_names(class_names, scores),
        delta=None if answer.delta is None else new(answer.delta),
        tolerance=None if answer.tolerance is None else new(answer.tolerance),
        seconds=seconds,
        title=title or _name_of(model),
        code=_code(made, chosen, asked, attribution),
        asked=asked,
        interrupted=answer.interrupted,
        progress=answer.progress,
        doubts=answer.doubts,
        absorbed=answer.absorbed,
    )
    if publish:
        # Of several inputs views draw each by itself.
        for one in result.parts():
            events.publish(one)
    return result


def over_inputs(found: Any, question: Question) -> Any:
    """Return a layer's attributions [N, C, h, w] resized to the input's [N, C, H, W]; others as they are."""
    if not question.single or not isinstance(found, Tensor):
        return found
    (value,) = question.inputs
    if found.ndim != 4 or value.ndim != 4 or found.shape[2:] == value.shape[2:]:
        return found
    return LayerAttribution.interpolate(found, tuple(value.shape[2:]))


def _asked_for(
    method: Any, model: Any, settings: dict[str, Any]
) -> tuple[type[Attribution], Attribution, dict[str, Any]]:
    """Return a method's class, the method, and what it was made with; that is taken out of the settings."""
    if isinstance(method, Attribution):
        return type(method), method, made_with(method)
    kind = _method(method)
    made, _ = parted(kind, settings)
    for name in made:
        del settings[name]
    if not takes_layer(kind):
        return kind, kind(model, **made), made
    if "layer" not in settings:
        raise TypeError(f"{kind.__name__} explains a layer: say which, layer='features.3'")
    return kind, _of_layer(kind, model, settings.pop("layer"), made), made


def _of_layer(kind: Any, model: Any, layer: Any, made: dict[str, Any]) -> Attribution:
    """Return a method of a layer: it is made with one."""
    method: Attribution = kind(model, layer, **made)
    return method


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
    known = {one.name: one.default for one in settings_of(kind) if not one.made}
    unknown = [name for name in given if name not in known]
    if unknown:
        has = ", ".join(one.name for one in settings_of(kind)) or "none"
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


def _targets(question: Question, scores: Any) -> tuple[tuple[int, ...], ...]:
    """Return what is explained of each sample, counted from the beginning."""
    if question.target is None:
        return ((),) * question.samples
    sizes = scores.shape[1:]
    return tuple(
        tuple(int(one) + (size if one < 0 else 0) for one, size in zip(row, sizes, strict=False))
        for row in question.target
    )


def _text(chosen: dict[str, Any], baselines: Any, made: Attribution) -> dict[str, str]:
    """Return the settings that matter to a reader, as text."""
    text = {name: said(value) for name, value in _telling(chosen).items()}
    layers = _layers(made)
    if layers:
        text = {"layer": ", ".join(layers), **text}
    if takes(type(made), "baselines"):
        text["baseline"] = "zeros" if baselines is None else said(baselines)
    return text


def _telling(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that say something: not those that are off, of how a run goes on."""
    return {
        name: value
        for name, value in chosen.items()
        if value is not None and not (name == "show_progress" and not value)
    }


def _layers(made: Attribution) -> list[str]:
    """Return the names of the layers that a method explains by, none if it explains by none."""
    if not isinstance(made, LayerAttribution | NeuronAttribution):
        return []
    wanted = made.layer if isinstance(made.layer, list) else [made.layer]
    return [
        one if isinstance(one, str) else find_layer(type(made).__name__, made.forward_func, one).name
        for one in wanted
    ]


def _name_of(model: Any) -> str:
    return str(getattr(model, "__name__", type(model).__name__))


def _code(made: dict[str, Any], chosen: dict[str, Any], asked: dict[str, Any], attribution: Any) -> str:
    """Return Python that asks again; what cannot be written is a variable that a line above it names."""
    kind, ready = type(attribution), isinstance(asked["method"], Attribution)
    # One that is made ready has its layer, and what it was made with.
    chosen = dict(chosen) if ready else {**made, **chosen}
    method: Any = kind if name_of(kind) is None or ready else name_of(kind)
    rule = chosen.pop("method", DEFAULT_RULE)
    if rule != DEFAULT_RULE:
        if method == "integrated_gradients":
            method = rule
        else:
            chosen = {"rule": rule, **chosen}
    layers = [] if ready else _layers(attribution)
    given = {
        "method": method,
        "layer": layers if len(layers) != 1 or isinstance(attribution.layer, list) else layers[0],
        **chosen,
        "baselines": asked["baselines"],
        "additional_forward_args": asked["additional_forward_args"],
    }
    given = _telling({name: value for name, value in given.items() if name != "layer" or layers})
    targets = "" if asked["targets"] is None else "targets, "
    settings = ", ".join(f"{name}={written(name, value)}" for name, value in given.items())
    return with_own(f"wb.attribution.explain(model, inputs, {targets}{settings})", given)
