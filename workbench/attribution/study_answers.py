"""How a study's questions are answered: from what a method starts, which targets it explains, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.attribution.asking import Ask, Shown
from workbench.attribution.background import Runs, attempt, own_copy
from workbench.attribution.blurring import blurred, spatial_dims
from workbench.attribution.explain import explain
from workbench.attribution.method_settings import parted
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.of_samples import rows_of, strongest
from workbench.attribution.result import AttributionResult

if TYPE_CHECKING:
    from workbench.attribution.study import Study

__all__ = ["answer", "for_explain", "targets_of"]


def answer(study: Study, asked: Ask, model: Callable[..., Any], runs: Runs) -> Shown:
    """Return what is found of a question by a copy of the asked model, and of the one that is asked beside.

    Raises as `explain` does, and whatever the model raises.
    """
    whole = _with_neuron(study, asked, model)
    found = _explained(study, whole, model, runs, targets_of(study, whole))
    beside, trouble = None, ""
    if whole.other is not None:
        beside, trouble = _beside(study, whole, whole.other, runs)
    return Shown(whole, found, tuple(range(len(asked.samples))), beside, trouble)


def targets_of(study: Study, asked: Ask) -> Any:
    """Return what is explained of the asked samples; None where a sample has one number only."""
    if isinstance(asked.target, int):
        return asked.target
    if asked.target == "given":
        assert study.given is not None  # checked when it was asked
        return [
            study.given[one] if len(study.given[one]) > 1 else study.given[one][0] for one in asked.samples
        ]
    chosen = study.labels if asked.target == "true" else study.known_predictions.get(asked.model)
    # Without classes there is one number a sample, and no target.
    return None if chosen is None else [int(chosen[one]) for one in asked.samples]


def for_explain(settings: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return settings as `explain` takes them: what some methods call their method is a rule there.

    >>> for_explain([("method", "riemann_left"), ("n_steps", 20)])
    {'rule': 'riemann_left', 'n_steps': 20}
    """
    return {"rule" if name == "method" else name: value for name, value in settings}


def _with_neuron(study: Study, asked: Ask, model: Callable[..., Any]) -> Ask:
    """Return a question about a neuron with one: where none was said, and one number says none, the strongest.

    A view asks for the method first, and for the neuron when there is an answer.
    """
    method = study.methods[asked.method]
    layer = method.held_layer if asked.layer is None else asked.layer
    if not issubclass(method.kind, NeuronAttribution) or layer is None:
        return asked
    if any(name == "neuron_selector" for name, _ in asked.settings):
        return asked
    inputs, extra = (_rows(study, one, asked) for one in (study.inputs, study.additional_forward_args))
    place = strongest(model, layer, inputs, extra)
    return asked if place is None else replace(asked, settings=(*asked.settings, ("neuron_selector", place)))


def _beside(study: Study, asked: Ask, other: str, runs: Runs) -> tuple[AttributionResult | None, str]:
    # The same classes as the first: two answers to two questions cannot be compared.
    fixed, targets = replace(asked, model=other), targets_of(study, asked)
    return attempt(
        f"a question about {other}",
        lambda: _explained(study, fixed, own_copy(study.models[other], runs), runs, targets),
    )


def _explained(
    study: Study, asked: Ask, model: Callable[..., Any], runs: Runs, targets: Any
) -> AttributionResult:
    method = study.methods[asked.method]
    settings = {name: _rows(study, value, asked) for name, value in asked.settings}
    given = {
        "inputs": _rows(study, study.inputs, asked),
        "targets": targets,
        "baselines": _baselines(study, asked) if method.takes("baselines") else None,
        "additional_forward_args": _rows(study, study.additional_forward_args, asked),
        "class_names": study.class_names,
        "title": study.title,
    }
    original = study.models[asked.model]
    function = method.function_of(original, study.models.values())
    made = method.of(model if function is original else own_copy(function, runs), asked.layer, settings)
    with runs.of(made):
        found = explain(
            model,
            method=made,
            publish=False,
            **given,
            **for_explain(parted(method.kind, settings)[1].items()),
        )
    text = found.settings
    if "baseline" in text and asked.baseline in ("mean", "blurred"):
        text = {**text, "baseline": _said(asked)}
    # With the study's own model: the copy would be kept alive.
    asked_again = {
        **given,
        **for_explain(settings.items()),
        "model": original,
        "method": method.ready or method.kind,
        **({"layer": asked.layer} if method.layer else {}),
    }
    return replace(found, asked=asked_again, settings=text)


def _said(asked: Ask) -> str:
    return "mean of the samples" if asked.baseline == "mean" else f"blurred by {asked.blur_width:g} pixels"


def _baselines(study: Study, asked: Ask) -> Any:
    """Return from where a method starts that starts somewhere, of the asked samples; None for zeros."""
    if asked.baseline == "zeros":
        return None
    if asked.baseline == "given":
        return _rows(study, study.baselines, asked)
    inputs = study.inputs if isinstance(study.inputs, tuple) else (study.inputs,)
    if asked.baseline == "mean":
        found = tuple(one.mean(0, keepdim=True) for one in inputs)
    else:
        assert asked.blur_width is not None  # there was one when it was asked
        # What is no picture starts from zeros.
        found = tuple(
            blurred(one, asked.blur_width) if spatial_dims(one) is not None else 0
            for one in (_rows(study, one, asked) for one in inputs)
        )
    return found if isinstance(study.inputs, tuple) else found[0]


def _rows(study: Study, values: Any, asked: Ask) -> Any:
    return rows_of(values, asked.samples, study.samples)
