"""Deletion and insertion: how the output falls or rises while features are taken or given, the greatest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import check_finite
from workbench.attribution.checks import check_count
from workbench.attribution.metrics.features import Features, features
from workbench.attribution.metrics.scoring import Scorer, per_sample
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["Curve", "area", "deletion_curve", "insertion_curve"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Curve:
    """A number that changes along with how much was changed, for each sample."""

    fractions: Tensor
    """float64 [fraction]: which part of the features was changed, 0 to 1."""
    scores: Tensor
    """float64 [N, fraction]: the model's number for each sample there."""
    areas: Tensor
    """float64 [N]: the area below, over the fractions that were looked at: a mean height."""

    def __repr__(self) -> str:
        areas = ", ".join(f"{one:.4g}" for one in self.areas.tolist()[:4])
        more = ", …" if len(self.areas) > 4 else ""
        return f"Curve({self.fractions.shape[0]} points of {len(self.areas)} samples, areas {areas}{more})"


def deletion_curve(
    forward_func: Callable[..., Any],
    inputs: Any,
    attributions: Any,
    target: Any = None,
    baselines: Any = None,
    additional_forward_args: Any = None,
    *,
    steps: int = 32,
    over: Any = None,
    score: str | None = None,
    memory: int | str | None = None,
    show_progress: bool = False,
) -> Curve:
    """Return how the target's score falls while the greatest features are replaced by `baselines`.

    The smaller the area, the better were the features found that the output rests on. A feature is a place along all
    dims but the samples and those named by `over` (see `features`): a pixel with all its channels. `steps` is in how
    many about equal parts they go. `score` is ``"probability"`` of the target's class, ``"output"`` as it is, or None
    for probability where the output is a list of classes [N, 2 or more].

    Raises as `attribute` of the methods does for inputs, baselines and target; DimensionError where attributions do not
    go with the inputs; ValueError for NaN or infinite values, fewer than 1 step, or a `score` that there is not.

    Source: Petsiuk, Das, Saenko: RISE (2018).

    >>> import workbench as wb
    >>> weights = wb.tensor([[3.0, 1.0]])
    >>> curve = deletion_curve(lambda x: x @ weights.T, wb.ones(1, 2), weights, steps=2)
    >>> curve.scores.tolist(), curve.areas.tolist()
    ([[4.0, 1.0, 0.0]], [1.5])
    """
    question = ask("deletion_curve", inputs, baselines, target, additional_forward_args, any_type=True)
    return _curve(
        Scorer(forward_func, question, score, memory, show_progress), attributions, steps, over, False
    )


def insertion_curve(
    forward_func: Callable[..., Any],
    inputs: Any,
    attributions: Any,
    target: Any = None,
    baselines: Any = None,
    additional_forward_args: Any = None,
    *,
    steps: int = 32,
    over: Any = None,
    score: str | None = None,
    memory: int | str | None = None,
    show_progress: bool = False,
) -> Curve:
    """Return how the target's score rises while the greatest features are put into `baselines`.

    The greater the area, the better were the features found that suffice. The paper starts from blurred pictures, given
    as `baselines`; everything else is as in `deletion_curve`.

    Source: Petsiuk, Das, Saenko: RISE (2018).

    >>> import workbench as wb
    >>> weights = wb.tensor([[3.0, 1.0]])
    >>> insertion_curve(lambda x: x @ weights.T, wb.ones(1, 2), weights, steps=2).scores.tolist()
    [[0.0, 3.0, 4.0]]
    """
    question = ask("insertion_curve", inputs, baselines, target, additional_forward_args, any_type=True)
    return _curve(
        Scorer(forward_func, question, score, memory, show_progress), attributions, steps, over, True
    )


def _curve(scorer: Scorer, attributions: Any, steps: int, over: Any, inserting: bool) -> Curve:
    question = scorer.question
    check_finite(question)
    steps = check_count(question.method, "steps", steps)
    found = features(question, attributions, over)
    # No step without a feature.
    counts = np.unique(np.round(np.linspace(0, found.count, steps + 1)).astype(np.int64))
    scores = _scores_along(scorer, found, found.ranks(), counts, inserting)
    return curve(question, counts / found.count, scores)


def curve(question: Question, fractions: Array, scores: Array) -> Curve:
    """Return arrays [fraction] and [N, fraction] as a curve with the samples' name."""
    named = question.inputs[0]._names is not None
    return Curve(
        fractions=new(fractions.astype(np.float64), ("fraction",) if named else None),
        scores=per_sample(question, scores, "fraction"),
        areas=per_sample(question, area(fractions, scores)),
    )


def area(fractions: Array, scores: Array) -> Array:
    """Return [N]: the areas below curves [N, fraction] by trapezoids, over the length of their stretch.

    >>> area(np.array([0.0, 0.5, 1.0]), np.array([[4.0, 1.0, 0.0]])).tolist()
    [1.5]
    """
    if len(fractions) == 1:
        return scores[:, 0]
    widths = np.diff(fractions)
    return np.asarray((scores[:, 1:] + scores[:, :-1]) @ widths / 2 / widths.sum())


def _scores_along(scorer: Scorer, found: Features, ranks: Array, counts: Array, inserting: bool) -> Array:
    """Return [N, counts]: the score with the `counts` features of the lowest ranks taken, or given."""
    question = scorer.question
    baselines = question.full_baselines()

    def make(start: int, stop: int) -> tuple[list[Array], Array]:
        rows, places = np.divmod(np.arange(start, stop), len(counts))
        first = ranks[rows] < counts[places][:, None]
        values = [
            np.where(mask != inserting, baseline[rows], value.payload[rows])
            for mask, value, baseline in zip(
                found.spread(first, rows), question.inputs, baselines, strict=True
            )
        ]
        return values, rows

    return scorer.scores(question.samples * len(counts), make).reshape(question.samples, len(counts))
