"""DeepLift: what differs from a baseline, shared out call by call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, total_of
from workbench.attribution.evaluation import Make
from workbench.attribution.precision import rounding_of, widened
from workbench.attribution.propagation.runs import multipliers_of

__all__ = ["Custom", "DeepLift", "DeepLiftShap", "ends_of", "made_of", "means_of", "paired", "rounding"]

Array = np.ndarray[Any, Any]
Custom = Callable[..., Any] | None
"""``function(multipliers)``, ``(multipliers, inputs)`` or ``(multipliers, inputs, baselines)``, each a tuple of
tensors; returns a tuple of attributions."""

TOLERANCE = 1e-3
"""Share of the numbers that were added up which a delta may be: rounding."""


class DeepLift(GradientAttribution):
    """What each value's difference from a baseline contributed to the output's difference.

    ``m · (x − x')``, with multipliers m that go back through the model call by call, each op by its own rule: the
    Rescale rule for functions of one value, the exact split for products, the mean gradient along the straight line
    for what is smooth (`workbench.attribution.propagation.multipliers`). A sample's attributions sum to
    ``F(x) − F(x')`` to rounding. A call without a rule is refused, with the line of the program.

    With `multiply_by_inputs` False the multipliers themselves are returned. `eps` is the difference up to which the
    slope stands for the quotient.

    Source: Shrikumar, Greenside, Kundaje: Learning Important Features Through Propagating Activation Differences
    (2017).

    >>> import workbench as wb
    >>> x = wb.tensor([[3.0, -1.0]], names=("N", "features"))
    >>> DeepLift(lambda x: wb.relu(x).sum("features")).attribute(x).tolist()
    [[3.0, 0.0]]
    """

    name = "DeepLift"
    reads_slopes = False

    def __init__(
        self, model: Callable[..., Any], multiply_by_inputs: bool = True, eps: float = 1e-10
    ) -> None:
        super().__init__(model)
        self.multiplies_by_inputs = bool(multiply_by_inputs)
        self.eps = eps

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        custom_attribution_func: Custom = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names, and with `return_convergence_delta` the deltas [N].

        Raises:
            TypeError: inputs or baselines are not tensors.
            DTypeError: values that have no gradients, or targets that are not whole numbers.
            DimensionError: sizes or names that do not go together, or a target that does not fit the output.
            ValueError: values that are not finite.
            AutogradError: a call has no rule; with the baseline the model makes other calls; or the output does not
                depend on the inputs.
        """
        question = ask(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(question, memory=memory, custom_attribution_func=custom_attribution_func)
        return self.respond(question, answer, over, return_convergence_delta)

    def has_convergence_delta(self) -> bool:
        """Return that attributions add up."""
        return True

    def _compute(  # type: ignore[override]
        self, question: Question, memory: int | str | None = None, custom_attribution_func: Custom = None
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        count, make = paired(question, self.draws_baselines)

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            ends, starts = values[: len(question.inputs)], values[len(question.inputs) :]
            found, after, before = multipliers_of(self.forward, question, ends, starts, rows, self.eps)
            given = [question.tensors(one) for one in (found, ends, starts)]
            shares = made_of(given, custom_attribution_func, self.multiplies_by_inputs)
            return [*shares, *ends_of(after, before, shares, ends)]

        batches = evaluation.stream(question.samples * count, make, run, "differences")
        *shares, change, rounded = evaluation.gather(batches, question.samples * count)
        # What somebody makes of the multipliers need not add up.
        plain = self.multiplies_by_inputs and custom_attribution_func is None
        return Answer(
            means_of(
                shares,
                count,
                None if custom_attribution_func else [one.payload.dtype for one in question.inputs],
            ),
            delta=total_of(shares) - change,
            tolerance=rounding(shares, change) + rounded if plain else None,
            **evaluation.state(),
        )


class DeepLiftShap(DeepLift):
    """DeepLift from many baselines, and the mean of what it says: an estimate of the Shapley values.

    Every sample is compared with every baseline of a distribution ``[count, …]``.

    Source: Lundberg, Lee: A Unified Approach to Interpreting Model Predictions (2017).

    >>> import workbench as wb
    >>> x, baselines = wb.tensor([[3.0, -1.0]]), wb.tensor([[0.0, 0.0], [2.0, 0.0]])
    >>> DeepLiftShap(lambda x: wb.relu(x).sum(1)).attribute(x, baselines).tolist()
    [[2.0, 0.0]]
    """

    draws_baselines = True
    name = "DeepLiftShap"

    def __init__(self, model: Callable[..., Any], multiply_by_inputs: bool = True) -> None:
        super().__init__(model, multiply_by_inputs)

    def attribute(  # type: ignore[override]  # a distribution has to be given
        self,
        inputs: Any,
        baselines: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        custom_attribution_func: Custom = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the means, of the inputs' shape and names, and with `return_convergence_delta` the deltas.

        `baselines` are tensors with samples along dim 0, two or more, or a function that returns them; the deltas are
        one for each sample and baseline, sample by sample. Raises as `DeepLift.attribute` does.
        """
        question = ask(
            type(self).__name__, inputs, baselines, target, additional_forward_args, distribution=True
        )
        answer = self.answer(question, memory=memory, custom_attribution_func=custom_attribution_func)
        return self.respond(question, answer, over, return_convergence_delta)


def paired(question: Question, distribution: bool) -> tuple[int, Make]:
    """Return with how many references each sample is compared, and the rows of it: inputs beside their references."""
    count = max(len(one) for one in question.baselines) if distribution else 1

    def make(start: int, stop: int) -> tuple[list[Array], Array]:
        pairs = np.arange(start, stop)
        rows, places = (pairs // count, pairs % count) if distribution else (pairs, pairs)
        values = [one.payload[rows] for one in question.inputs]
        return [*values, *_references(question, places)], rows

    return count, make


def _references(question: Question, places: Array) -> list[Array]:
    """Return the baselines at some places, written out in the sizes of the inputs."""
    found = []
    for value, baseline in zip(question.inputs, question.baselines, strict=True):
        chosen = baseline if len(baseline) == 1 else baseline[places]
        found.append(np.ascontiguousarray(np.broadcast_to(chosen, (len(places), *value.shape[1:]))))
    return found


def made_of(given: Sequence[Sequence[Any]], custom: Custom, multiply: bool) -> list[Array]:
    """Return the attributions that are made of multipliers, values and references."""
    tuples = [tuple(one.detach() for one in several) for several in given]
    if custom is not None:
        made = custom(*tuples[: min(3, len(inspect.signature(custom).parameters))])
        return [one.detach().numpy(force=True) for one in (made if isinstance(made, tuple) else (made,))]
    arrays = [[one.payload for one in several] for several in tuples]
    if not multiply:
        return arrays[0]
    return [widened(m) * (widened(x) - widened(b)) for m, x, b in zip(*arrays, strict=True)]


def means_of(shares: list[Array], count: int, kinds: Sequence[Any] | None) -> list[Array]:
    """Return the means over the references of each sample, of these types; without them of their own."""
    if count > 1:
        sizes = [(-1, count, *one.shape[1:]) for one in shares]
        means = [
            one.reshape(size).mean(axis=1, dtype=np.float64) for one, size in zip(shares, sizes, strict=True)
        ]
    else:
        means = shares
    kinds = kinds or [one.dtype for one in shares]
    return [one.astype(kind, copy=False) for one, kind in zip(means, kinds, strict=True)]


def ends_of(after: Array, before: Array, shares: list[Array], values: Sequence[Array]) -> list[Array]:
    """Return the output's change, and how far rounding to the type of the values and outputs may put a sum off it."""
    here, there = after.astype(np.float64), before.astype(np.float64)
    size = np.abs(here) + np.abs(there) + total_of([np.abs(one) for one in shares])
    return [here - there, rounding_of(size, after.dtype, *[one.dtype for one in values])]


def rounding(shares: list[Array], change: Array) -> Array:
    """Return how large a delta rounding may leave: a share of the numbers that were added up, float64 [N]."""
    size = total_of([np.abs(one) for one in shares])
    return np.asarray(TOLERANCE * np.maximum(np.abs(change), 1e-2 * size) + 1e-6)
