"""Gradient SHAP: gradients at random points between the inputs and a distribution of baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, total_of
from workbench.attribution.drawing import check_count, normals, numbers_below, spreads, uniforms
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.precision import widened

__all__ = ["Draws", "GradientShap", "deltas_of_draws", "draw", "means_of_draws"]

Array = np.ndarray[Any, Any]


class GradientShap(GradientAttribution):
    """The mean of ``(x + ε − b) · ∂F(b + α (x + ε − b)) / ∂x`` over draws of a baseline b, noise ε and α in [0, 1).

    It approximates SHAP values, of a model that is linear in its inputs exactly: the attributions of a sample sum, in
    the mean over many draws, to ``F(x) − E F(b)``. With `multiply_by_inputs` False it is the mean gradient.

    Source: Lundberg, Lee: A Unified Approach to Interpreting Model Predictions (2017); Erion et al.: Improving
    performance of deep learning models with axiomatic attribution priors and expected gradients (2021).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> method = GradientShap(lambda x: (x * 2).sum("features"))
    >>> method.attribute(x, baselines=wb.zeros(N=4, features=2)).tolist()
    [[2.0, -6.0]]
    """

    draws_baselines = True
    name = "Gradient SHAP"

    def __init__(self, forward_func: Callable[..., Any], multiply_by_inputs: bool = True) -> None:
        super().__init__(forward_func)
        self.multiplies_by_inputs = multiply_by_inputs

    def has_convergence_delta(self) -> bool:
        """Return True: in the mean attributions sum to the output's change."""
        return True

    def attribute(
        self,
        inputs: Any,
        baselines: Any,
        n_samples: int = 5,
        stdevs: float | tuple[float, ...] = 0.0,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names; with `return_convergence_delta` the draws' deltas.

        `baselines` hold any number of samples, of which one is drawn for each of the `n_samples` draws, or are a
        function that returns them. The deltas [N · n_samples] are those of each draw, sample by sample.

        Raises as `IntegratedGradients.attribute` does.
        """
        question = ask(
            type(self).__name__, inputs, baselines, target, additional_forward_args, distribution=True
        )
        answer = self.answer(
            question,
            n_samples=n_samples,
            stdevs=stdevs,
            return_convergence_delta=return_convergence_delta,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over, return_convergence_delta)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        n_samples: int = 5,
        stdevs: float | tuple[float, ...] = 0.0,
        return_convergence_delta: bool = True,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        evaluation = self.evaluation(question, memory, None, show_progress)
        draws = draw(question, n_samples, stdevs)
        parts: list[list[Array]] = []
        for batch in evaluation.gradients(draws.count, draws.points):
            gradients = batch.result[0]
            if self.multiplies_by_inputs:
                changes = draws.changes(batch.start, batch.stop)
                gradients = [change * one for change, one in zip(changes, gradients, strict=True)]
            parts.append(gradients)
        each = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        deltas = None
        if return_convergence_delta and not evaluation.interrupted:
            deltas = deltas_of_draws(evaluation, draws, each)
        return Answer(
            means_of_draws(each, draws),
            delta=None if deltas is None else deltas.reshape(-1, draws.each).mean(1),
            draw_deltas=deltas,
            **evaluation.state(),
        )


@dataclass(frozen=True)
class Draws:
    """Random points for each sample of a question: `each` of the first, then of the second, and so on."""

    question: Question
    each: int
    ends: list[Array]
    """Inputs with noise, one array an input; without noise the inputs themselves."""
    noisy: bool
    chosen: Array
    """Which baseline each draw has, as a number that is read modulo the number of an input's baselines."""
    alphas: Array
    """How far each draw is on the way from its baseline to its end."""

    @property
    def count(self) -> int:
        """Number of all draws."""
        return self.question.samples * self.each

    def rows(self, start: int, stop: int) -> Array:
        """Return the number of the sample of each draw."""
        return np.arange(start, stop) // self.each

    def end(self, start: int, stop: int) -> tuple[list[Array], Array]:
        """Return the inputs with their noise, as rows."""
        rows = self.rows(start, stop)
        return [one[start:stop] if self.noisy else one[rows] for one in self.ends], rows

    def begin(self, start: int, stop: int) -> tuple[list[Array], Array]:
        """Return the baselines that were drawn, as rows."""
        rows = self.rows(start, stop)
        chosen = self.chosen[start:stop]
        drawn = [
            np.ascontiguousarray(np.broadcast_to(one[chosen % len(one)], (len(rows), *end.shape[1:])))
            for one, end in zip(self.question.baselines, self.ends, strict=True)
        ]
        return drawn, rows

    def points(self, start: int, stop: int) -> tuple[list[Array], Array]:
        """Return the points at which gradients are taken, as rows."""
        ends, rows = self.end(start, stop)
        begins, _ = self.begin(start, stop)
        return [_mixed(*both, self.alphas[start:stop]) for both in zip(begins, ends, strict=True)], rows

    def changes(self, start: int, stop: int) -> list[Array]:
        """Return the ends less the baselines."""
        pairs = zip(self.begin(start, stop)[0], self.end(start, stop)[0], strict=True)
        return [end - begin for begin, end in pairs]


def _mixed(begin: Array, end: Array, alphas: Array) -> Array:
    kind, begin, end = end.dtype, widened(begin), widened(end)
    at = alphas.astype(end.dtype).reshape(-1, *(1,) * (end.ndim - 1))
    return np.asarray(at * end + (1 - at) * begin, kind)


def draw(question: Question, n_samples: Any, stdevs: Any) -> Draws:
    """Draw points for a question.

    Raises:
        TypeError: settings that are no numbers.
        ValueError: settings out of their ranges.
    """
    check_count(n_samples, "n_samples", question.method)
    spread = spreads(stdevs, len(question.inputs), question.method)
    count = question.samples * n_samples
    baselines = max(len(one) for one in question.baselines)
    ends = [one.payload for one in question.inputs]
    noisy = any(spread)
    if noisy:
        ends = [_with_noise(end, n_samples, one) for end, one in zip(ends, spread, strict=True)]
    return Draws(question, n_samples, ends, noisy, numbers_below(baselines, count), uniforms(count))


def _with_noise(values: Array, each: int, spread: float) -> Array:
    """Return `values` repeated `each` times, sample by sample, with noise."""
    repeated = np.repeat(values, each, axis=0)
    return repeated + normals(repeated.shape, spread, repeated.dtype) if spread else repeated


def means_of_draws(each: Sequence[Array], draws: Draws) -> list[Array]:
    """Return the means over the draws of each sample; NaN where none was reached."""
    return [_mean(one, draws.each, draws.question.samples) for one in each]


def _mean(each: Array, count: int, samples: int) -> Array:
    if len(each) == samples * count:
        whole = each.reshape(samples, count, *each.shape[1:])
        return np.asarray(whole.mean(axis=1, dtype=np.float64).astype(each.dtype))
    # After an interruption: of the last sample that was begun, those draws that there are.
    means = [
        each[first : first + count].mean(axis=0, dtype=np.float64) for first in range(0, len(each), count)
    ]
    missing = [np.full(each.shape[1:], np.nan)] * (samples - len(means))
    return np.stack([*means, *missing]).astype(each.dtype)


def deltas_of_draws(evaluation: Evaluation, draws: Draws, each: Sequence[Array]) -> Array:
    """Return ``Σ attributions − (F(x + ε) − F(b))`` of each draw, float64 [N · draws]."""
    if draws.noisy:
        after = _picked(evaluation, draws, draws.end)
    else:
        after = np.repeat(evaluation.at_inputs()[0], draws.each).astype(np.float64)
    return np.asarray(total_of(list(each)) - (after - _picked(evaluation, draws, draws.begin)))


def _picked(evaluation: Evaluation, draws: Draws, make: Any) -> Array:
    parts = [batch.result for batch in evaluation.outputs(draws.count, make)]
    found = np.full(draws.count, np.nan)
    known = np.concatenate(parts)
    found[: len(known)] = known
    return found
