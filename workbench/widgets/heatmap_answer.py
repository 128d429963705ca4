"""What a result says of the samples that are drawn, in words and figures, and why it is all that can be said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.attribution import AttributionResult
from workbench.attribution.method_settings import label_of
from workbench.attribution.study import Study
from workbench.live.messages import ClassScore
from workbench.tensor import Tensor
from workbench.widgets.heatmap_parts import LONGEST

__all__ = ["classes_of", "names_of_layers", "told_of", "why_alone", "worst"]

MOST_CLASSES = 10
"""Most classes whose probabilities are shown."""


def told_of(result: AttributionResult | None, rows: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields of a state that tell of an answer, if there is one: method, target, delta and the like."""
    if result is None:
        return {
            "method": "",
            "settings": [],
            "target": "",
            "target_index": None,
            "delta": None,
            "tolerance": None,
            "seconds": 0.0,
            "note": "",
        }
    return {
        "method": result.method,
        "settings": [
            [name, value[:LONGEST], label_of(name)[:LONGEST]] for name, value in result.settings.items()
        ],
        "target": _target_name(result, rows)[:LONGEST],
        "target_index": _target_index(result, rows),
        "delta": worst(result.delta, rows),
        "tolerance": worst(result.tolerance, rows),
        "seconds": result.seconds,
        "note": _note(result),
    }


def classes_of(
    result: AttributionResult | None, rows: tuple[int, ...], study: Study | None, samples: tuple[int, ...]
) -> dict[str, Any]:
    """Return the fields of a state that tell what the model predicts and what is true, of one sample."""
    truth = None
    if study is not None and study.labels is not None and len(samples) == 1:
        truth = int(study.labels[samples[0]])
    scores = [] if result is None or len(samples) > 1 else result.scored(rows[0], MOST_CLASSES)
    return {
        "predictions": [
            ClassScore(result.class_name(index)[:LONGEST], probability, index)  # type: ignore[union-attr]
            for index, probability in scores
        ],
        "truth": None if truth is None or study is None else study.class_name(truth)[:LONGEST],
        "wrong": bool(truth is not None and scores and scores[0][0] != truth),
    }


def names_of_layers(result: AttributionResult) -> list[str]:
    """Return what attributions of layers are called, one for each that is drawn."""
    names = [f"layer {one}" for one in result.settings.get("layer", "").split(", ") if one]
    count = len(result.pairs)
    # A layer that gives several tensors has as many pictures.
    return names if len(names) == count else [f"value {at}" for at in range(count)]


def why_alone(result: AttributionResult) -> str:
    """Return why nothing else can be asked about a result of which there is no study."""
    if not result.asked:
        return "This result does not say what was asked: run wb.attribution.explain(model, inputs) again to ask more"
    return (
        "It explains by a layer that has no name in the model, or by several: to ask more, give explain one by its "
        "dotted name, layer='features.3'"
    )


def worst(values: Tensor | None, rows: Sequence[int]) -> float | None:
    """Return the value of greatest size; None where there are none."""
    return None if values is None else max((float(values.numpy()[row]) for row in rows), key=abs)


def _target_name(result: AttributionResult, rows: tuple[int, ...]) -> str:
    names = dict.fromkeys(result.target_name(row) for row in rows)
    few = list(names)[:3]
    return ", ".join(few) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _target_index(result: AttributionResult, rows: tuple[int, ...]) -> int | None:
    found = {result.targets[row] for row in rows}
    (first, *others) = found
    return first[0] if not others and len(first) == 1 else None


def _note(result: AttributionResult) -> str:
    said = (
        [f"stopped after {result.progress:.0%} of its rows: this is of those alone"]
        if result.interrupted
        else []
    )
    lost = "" if result.absorbed is None else result.absorbed.trouble()
    return "; ".join(filter(None, [*said, *result.doubts, lost]))[:1000]
