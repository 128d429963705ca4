"""ROAD: remove features in the order of attributions, and debias by filling them from what is around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import check_finite
from workbench.attribution.metrics.curves import Curve, curve
from workbench.attribution.metrics.features import Features, features
from workbench.attribution.metrics.imputation import impute
from workbench.attribution.metrics.scoring import Scorer
from workbench.base.random import Generator, default_generator

__all__ = ["FRACTIONS", "road_curve"]

Array = np.ndarray[Any, Any]
NAME = "road_curve"
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Which parts of the features are removed unless told otherwise: of few features those that leave one."""


def road_curve(
    forward_func: Callable[..., Any],
    inputs: Any,
    attributions: Any,
    target: Any = None,
    additional_forward_args: Any = None,
    *,
    fractions: Sequence[float] | None = None,
    least_first: bool = False,
    noise: float = 0.01,
    over: Any = None,
    score: str | None = None,
    generator: Generator | None = None,
    memory: int | str | None = None,
    show_progress: bool = False,
) -> Curve:
    """Return the target's score with `fractions` of the features removed and filled in from their neighbours.

    Without `fractions` they are the tenths that leave a feature. Those of the greatest attribution go first, where a
    lower curve is better; if `least_first` those of the least, where a higher one is. Each removed place becomes the
    weighted mean of its neighbours (weights 1/6 and 1/12 in the plane, the linear system of all removed places is
    solved), and normal draws times `noise` are added, so that the shape of what was removed tells the model nothing.
    `over` and `score` are as in `deletion_curve`.

    Raises as `deletion_curve` does; ValueError for fractions that are not between 0 and 1, inputs that have no
    neighbours, or where nothing of an input is left to fill from.

    Source: Rong, Leemann, Borisov, Kasneci, Kasneci: A Consistent and Efficient Evaluation Strategy for Attribution
    Methods (2022).

    >>> import workbench as wb
    >>> images = wb.ones(1, 1, 4, 4)
    >>> mean = lambda x: x.mean((1, 2, 3))
    >>> road_curve(mean, images, images, fractions=(0.25, 0.5), noise=0).scores.tolist()
    [[1.0, 1.0]]
    """
    question = ask(NAME, inputs, None, target, additional_forward_args)
    check_finite(question)
    found = features(question, attributions, over)
    if fractions is None:
        parts = np.array([one for one in FRACTIONS if np.round(one * found.count) < found.count])
    else:
        parts = _fractions(fractions)
    if any(int(np.prod(shape[1:])) < 2 for shape in found.shapes):
        raise ValueError(f"{NAME}: a feature is filled in from its neighbours, and an input has only one")
    scorer = Scorer(forward_func, question, score, memory, show_progress)
    seed = int((default_generator if generator is None else generator).numpy.integers(2**62))
    counts = np.round(parts * found.count).astype(np.int64)
    ranks = found.ranks(least_first)

    def make(start: int, stop: int) -> tuple[list[Array], Array]:
        rows, places = np.divmod(np.arange(start, stop), len(counts))
        # A row's noise is drawn from its own stream, so that it does not depend on the batches.
        streams = [Generator(seed + row).numpy for row in range(start, stop)]
        return _filled(question, found, ranks[rows] < counts[places][:, None], rows, noise, streams), rows

    scores = scorer.scores(question.samples * len(counts), make)
    return curve(question, parts, scores.reshape(question.samples, len(counts)))


def _fractions(fractions: Sequence[float]) -> Array:
    parts = np.asarray(fractions, np.float64)
    if (
        parts.ndim != 1
        or len(parts) == 0
        or not ((parts >= 0) & (parts < 1)).all()
        or (np.diff(parts) <= 0).any()
    ):
        raise ValueError(
            f"{NAME}: fractions are growing numbers from 0 to below 1, such as (0.1, 0.5, 0.9); got {fractions!r}"
        )
    return parts


def _filled(
    question: Question, found: Features, chosen: Array, rows: Array, noise: float, streams: Sequence[Any]
) -> list[Array]:
    """Return the inputs of `rows` with the chosen features filled in from what is around them."""
    arrays = []
    for position, (mask, value, axes) in enumerate(
        zip(found.spread(chosen, rows), question.inputs, found.axes, strict=True)
    ):
        # Dims that are summed over are what each place has several numbers of.
        back = [0, *axes, *(axis for axis in range(1, value.ndim) if axis not in axes)]
        moved = np.transpose(value.payload[rows], back)
        masks = np.transpose(mask, back)
        for _ in axes:
            masks = masks[:, 0]
        new = np.empty_like(moved)
        for row, removed in enumerate(masks):
            if removed.all():
                raise ValueError(
                    f"{NAME}: nothing of input {position} of sample {rows[row]} is left to fill it from; remove less"
                )
            lines = moved[row].reshape(-1, *removed.shape).astype(np.float64)
            new[row] = impute(lines, removed, noise, streams[row]).reshape(moved[row].shape)
        arrays.append(np.transpose(new, np.argsort(back)))
    return arrays
